//! A virtual machine with drives of our choice: another kernel, NVMe and SCSI drives with identity and firmware.
//!
//! QEMU without hardware virtualisation, Debian's kernel, and an initramfs of busybox, the kernel's modules and the static
//! program. What goes in and comes out travels as a tar archive on a raw disk of its own, `/dev/vda` in the guest. All of
//! it lies in one folder, which is removed when dropped; a boot that hangs is killed.

use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use tempfile::TempDir;
use xshell::{Shell, cmd};

use crate::rig::command;
use crate::{folder, wait};

/// A boot with all it does takes tens of seconds; a longer one hangs.
const LIMIT: Duration = Duration::from_secs(600);
/// Room for what travels.
const CARRIER: u64 = 64 << 20;
/// What every guest has loaded when its script begins.
const MODULES: [&str; 7] = ["virtio_pci", "virtio_blk", "virtio_scsi", "sd_mod", "vmw_pvscsi", "loop", "dm_mod"];
/// What a script may load with `modprobe`.
const LOADABLE: [&str; 13] = [
    "ext4",
    "dm_flakey",
    "dm_thin_pool",
    "dm_writecache",
    "dm_crypt",
    "xts",
    "raid1",
    "scsi_debug",
    "null_blk",
    "brd",
    "target_core_mod",
    "target_core_file",
    "tcm_loop",
];

/// A kernel, its modules and a program, ready to boot with any drives.
#[derive(Debug)]
pub struct Vm {
    folder: TempDir,
    kernel: PathBuf,
}

/// What a boot left.
#[derive(Debug)]
pub struct Booted {
    /// The script's exit code.
    pub code: i32,
    /// What it printed.
    pub said: String,
    /// The folder with all files that the guest's `/carried` held at the end.
    pub work: PathBuf,
}

/// A drive of a guest: its image, and the arguments that attach it.
#[derive(Clone, Debug)]
pub struct Drive(Vec<String>);

/// Where `.ci/run` unpacks Debian's kernel: `boot/vmlinuz-*` and `lib/modules/*`.
#[must_use]
pub fn kernel_folder() -> PathBuf {
    let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let home = || PathBuf::from(std::env::var_os("HOME").unwrap_or_else(|| "/root".into())).join(".cache");
    cache.unwrap_or_else(home).join("storage-check-ci/vm/kernel")
}

/// What the machine lacks for this rig.
#[must_use]
pub fn missing() -> Option<String> {
    let commands = ["qemu-system-x86_64", "busybox", "cpio", "modprobe"];
    let program = commands.into_iter().find(|name| command(name).is_none()).map(|name| format!("no {name}"));
    let kernel =
        || kernel().err().map(|_| format!("no kernel in {}: .ci/run puts one there", kernel_folder().display()));
    program.or_else(kernel)
}

/// The kernel's image and version.
fn kernel() -> Result<(PathBuf, String)> {
    let names = folder::names(&kernel_folder().join("boot"));
    let image = names.iter().find_map(|name| Some((name, name.strip_prefix("vmlinuz-")?)));
    let (image, version) = image.context("no kernel")?;
    Ok((kernel_folder().join("boot").join(image), version.to_owned()))
}

impl Vm {
    /// Makes the initramfs, with the static program `binary` as `storage-check` and these other programs of the host.
    ///
    /// # Errors
    /// A step failed.
    pub fn new(binary: &Path, programs: &[&str]) -> Result<Vm> {
        let folder = folder::folder()?;
        let root = folder.path().join("root");
        for dir in ["bin", "dev", "proc", "sys", "carried", "tmp", "etc", "mnt", "run"] {
            fs::create_dir_all(root.join(dir))?;
        }
        let busybox = command("busybox").context("no busybox")?;
        fs::copy(busybox, root.join("bin/busybox"))?;
        fs::copy(binary, root.join("bin/storage-check")).context("copying the static program")?;
        for program in programs {
            carry(&root, program)?;
        }
        let (kernel, version) = kernel()?;
        let modules = modules(&root, &version)?;
        fs::write(root.join("init"), init(&modules))?;
        fs::set_permissions(root.join("init"), std::os::unix::fs::PermissionsExt::from_mode(0o755))?;
        let shell = Shell::new()?;
        shell.change_dir(&root);
        let initrd = folder.path().join("initrd");
        cmd!(shell, "sh -c 'find . | cpio --quiet -o -H newc > \"$0\"' {initrd}").quiet().run()?;
        fs::remove_dir_all(&root)?;
        fs::create_dir(folder.path().join("work"))?;
        Ok(Vm { folder, kernel })
    }

    /// Puts a file into the guest's `/carried`, beside what earlier boots left there.
    ///
    /// # Errors
    /// It could not be written.
    pub fn put(&self, name: &str, text: &str) -> Result<()> {
        Ok(fs::write(self.work().join(name), text)?)
    }

    /// The guest's `/carried` between boots.
    #[must_use]
    pub fn work(&self) -> PathBuf {
        self.folder.path().join("work")
    }

    /// An image of so many bytes, all holes, that keeps what guests write.
    ///
    /// # Errors
    /// It could not be made.
    pub fn image(&self, name: &str, bytes: u64) -> Result<PathBuf> {
        let path = self.folder.path().join(name);
        File::create(&path)?.set_len(bytes)?;
        Ok(path)
    }

    /// Boots with these drives, runs `script` by busybox's shell in `/carried`, and powers off.
    ///
    /// # Errors
    /// It did not come to an end in time.
    pub fn boot(&self, drives: &[Drive], script: &str) -> Result<Booted> {
        let carrier = self.folder.path().join("carrier");
        self.put("script", script)?;
        let _ = fs::remove_file(self.work().join("code"));
        let work = self.work();
        let shell = Shell::new()?;
        cmd!(shell, "tar -cf {carrier} -C {work} .").quiet().run()?;
        File::options().write(true).open(&carrier)?.set_len(CARRIER)?;
        let console = self.folder.path().join("console");
        let mut qemu = Command::new("qemu-system-x86_64");
        qemu.args(["-accel", "tcg", "-cpu", "max", "-m", "768", "-display", "none", "-no-reboot", "-nodefaults"]);
        qemu.arg("-kernel").arg(&self.kernel).arg("-initrd").arg(self.folder.path().join("initrd"));
        qemu.args(["-append", "console=ttyS0 panic=-1 quiet"]);
        qemu.args(["-serial", &format!("file:{}", console.display())]);
        let file = format!("file={},format=raw,if=none,id=carrier,cache=unsafe", carrier.display());
        qemu.args(["-drive", &file, "-device", "virtio-blk-pci,drive=carrier,serial=CARRIER"]);
        qemu.args(["-device", "virtio-scsi-pci,id=virtio", "-device", "pvscsi,id=pv"]);
        qemu.args(drives.iter().flat_map(|drive| &drive.0));
        qemu.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut machine = Machine(qemu.spawn().context("starting qemu-system-x86_64")?);
        let said = || fs::read(&console).map(|said| String::from_utf8_lossy(&said).into_owned()).unwrap_or_default();
        let over = wait::until("the virtual machine's end", LIMIT, || Ok(machine.0.try_wait()?));
        let over = over.with_context(|| format!("its console said:\n{}", said()))?;
        if !over.success() {
            let mut why = String::new();
            machine.0.stderr.take().context("no stderr")?.read_to_string(&mut why)?;
            bail!("qemu ended with {over}: {why}");
        }
        cmd!(shell, "tar -xf {carrier} -C {work}").quiet().run().with_context(|| format!("console:\n{}", said()))?;
        let code =
            fs::read_to_string(work.join("code")).with_context(|| format!("no exit code; console:\n{}", said()))?;
        let said = fs::read(work.join("said")).map(|said| String::from_utf8_lossy(&said).into_owned())?;
        Ok(Booted { code: code.trim().parse().context("reading the exit code")?, said, work })
    }
}

impl Booted {
    /// Makes sure that the script ended with 0.
    ///
    /// # Errors
    /// It did not.
    pub fn well(self) -> Result<Booted> {
        ensure!(self.code == 0, "the guest's script ended with {}; it said:\n{}", self.code, self.said);
        Ok(self)
    }
}

impl Drive {
    /// A SCSI disk on a controller, `virtio` or `pv`; `device` are its properties, `throttle` those of its speed.
    #[must_use]
    pub fn scsi(image: &Path, controller: &str, device: &str, throttle: &str) -> Drive {
        let id = image.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let throttle = if throttle.is_empty() { String::new() } else { format!(",{throttle}") };
        let file = format!("file={},format=raw,if=none,id={id},cache=none,discard=unmap{throttle}", image.display());
        let device = format!("scsi-hd,bus={controller}.0,drive={id},{device}");
        Drive(["-drive", &file, "-device", &device].map(str::to_owned).to_vec())
    }

    /// The same drive, its images held to these speeds.
    #[must_use]
    pub fn throttled(mut self, throttle: &str) -> Drive {
        for file in self.0.iter_mut().filter(|argument| argument.starts_with("file=")) {
            file.push(',');
            file.push_str(throttle);
        }
        self
    }

    /// An NVMe drive with a namespace an image; more than one share the controller and the serial number.
    #[must_use]
    pub fn nvme(images: &[&Path], serial: &str) -> Drive {
        let mut arguments = vec!["-device".to_owned(), format!("nvme,id=nvme-{serial},serial={serial}")];
        for (number, image) in images.iter().enumerate() {
            let id = format!("{serial}-{}", number + 1);
            let file = format!("file={},format=raw,if=none,id={id},cache=none,discard=unmap", image.display());
            let device = format!("nvme-ns,bus=nvme-{serial},nsid={},drive={id}", number + 1);
            arguments.extend(["-drive".to_owned(), file, "-device".to_owned(), device]);
        }
        Drive(arguments)
    }

    /// An NVMe drive behind a port of its own on the second of two NUMA nodes, which have a processor each. The machine has
    /// them for its sake: one such drive a boot.
    #[must_use]
    pub fn nvme_on_second_node(image: &Path, serial: &str) -> Drive {
        let file = format!("file={},format=raw,if=none,id={serial},cache=none,discard=unmap", image.display());
        let device = format!("nvme,bus=farport,serial={serial},drive={serial}");
        let memory = |node: u8| format!("memory-backend-ram,id=m{node},size=384M");
        let node = |node: u8| format!("node,nodeid={node},cpus={node},memdev=m{node}");
        let arguments = [
            ["-machine", "q35"].map(str::to_owned),
            ["-smp", "2"].map(str::to_owned),
            ["-object".to_owned(), memory(0)],
            ["-object".to_owned(), memory(1)],
            ["-numa".to_owned(), node(0)],
            ["-numa".to_owned(), node(1)],
            ["-device", "pxb-pcie,id=far,bus_nr=32,numa_node=1,bus=pcie.0"].map(str::to_owned),
            ["-device", "pcie-root-port,id=farport,bus=far,chassis=1"].map(str::to_owned),
            ["-drive".to_owned(), file],
            ["-device".to_owned(), device],
        ];
        Drive(arguments.concat())
    }
}

/// QEMU; killed when dropped.
struct Machine(Child);

impl Drop for Machine {
    fn drop(&mut self) {
        // Over already, in the good case.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Copies a program of the host with its libraries.
fn carry(root: &Path, program: &str) -> Result<()> {
    let path = command(program).with_context(|| format!("no {program}"))?;
    fs::copy(&path, root.join("bin").join(program))?;
    let shell = Shell::new()?;
    let libraries = cmd!(shell, "ldd {path}").quiet().ignore_status().ignore_stderr().read()?;
    for library in libraries.split_whitespace().filter(|word| word.starts_with('/')) {
        let target = root.join(library.trim_start_matches('/'));
        fs::create_dir_all(target.parent().context("a library without a folder")?)?;
        fs::copy(library, target)?;
    }
    Ok(())
}

/// Copies the modules and all they need; gives those that are loaded at the start, in order.
fn modules(root: &Path, version: &str) -> Result<Vec<String>> {
    let (shell, base) = (Shell::new()?, kernel_folder());
    let mut load: Vec<String> = Vec::new();
    for name in MODULES.iter().chain(&LOADABLE) {
        let needed = cmd!(shell, "modprobe -d {base} -S {version} --show-depends {name}").quiet().read()?;
        for path in needed.lines().filter_map(|line| line.strip_prefix("insmod ")) {
            let path = Path::new(path.split_whitespace().next().unwrap_or_default());
            let within = path.strip_prefix(&base).with_context(|| format!("{} is elsewhere", path.display()))?;
            fs::create_dir_all(root.join(within).parent().context("no folder")?)?;
            fs::copy(path, root.join(within))?;
            let within = within.display().to_string();
            if MODULES.contains(name) && !load.contains(&within) {
                load.push(within);
            }
        }
    }
    for list in ["modules.order", "modules.builtin", "modules.builtin.modinfo"] {
        let within = Path::new("lib/modules").join(version).join(list);
        fs::copy(base.join(&within), root.join(&within))?;
    }
    cmd!(shell, "depmod -b {root} {version}").quiet().run()?;
    Ok(load)
}

/// The guest's first program: loads the modules, unpacks, runs the script, packs, powers off.
fn init(modules: &[String]) -> String {
    let load: String = modules.iter().map(|module| format!("insmod /{module}\n")).collect();
    format!(
        "#!/bin/busybox sh\n\
         /bin/busybox --install -s /bin\n\
         export PATH=/bin:/sbin HOME=/carried\n\
         mount -t proc proc /proc; mount -t sysfs sys /sys; mount -t devtmpfs dev /dev\n\
         {load}\
         for n in 1 2 3 4 5 6 7 8 9 10; do [ -b /dev/vda ] && break; sleep 0.2; done\n\
         sleep 1\n\
         mount -t tmpfs -o size=80% none /carried; cd /carried; tar -xf /dev/vda\n\
         sh /carried/script > /carried/said 2>&1; echo $? > /carried/code\n\
         cd /carried; tar -cf /dev/vda .; sync\n\
         poweroff -f\n"
    )
}

/// Hashes of images, to show that nothing changed.
///
/// # Errors
/// One cannot be read.
pub fn digest(image: &Path) -> Result<u64> {
    let mut file = File::open(image)?;
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    let mut buffer = vec![0; 1 << 20];
    loop {
        let n = file.read(&mut buffer)?;
        if n == 0 {
            return Ok(hash);
        }
        for word in buffer[..n].chunks(8) {
            let word = word.iter().fold(0_u64, |word, byte| word << 8 | u64::from(*byte));
            hash = (hash ^ word).wrapping_mul(0x0000_0100_0000_01b3).rotate_left(23);
        }
    }
}

/// Writes bytes into an image.
///
/// # Errors
/// It cannot be written.
pub fn write_at(image: &Path, at: u64, bytes: &[u8]) -> Result<()> {
    let mut file = File::options().write(true).open(image)?;
    file.seek(SeekFrom::Start(at))?;
    Ok(file.write_all(bytes)?)
}
