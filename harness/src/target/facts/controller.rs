//! Asks drives themselves: NVMe by admin commands, others through smartctl where it is installed.
//!
//! Both need root, or a kernel and node that let others ask; what was not answered is noted in words and stays
//! unknown. Sends only questions, never anything that changes a drive; parses nothing (`nvme`, `smartctl`).

use std::fs::File;
use std::os::fd::AsFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rustix::io::Errno;
use xshell::{Shell, cmd};

use super::reservation::{self, Reservation, Reserved, ScsiMeaning};
use super::sysfs::{self, attribute, number};
use super::{Condition, Drive, nvme, smartctl, text};
use crate::target::ioctl::nvme::{NvmeQuestion, nvme_ask};
use crate::target::ioctl::scsi::{self, Question};

/// Bytes of an Identify page, of a log page, and of what is said of reservations.
const IDENTIFY: usize = 4096;
const LOG: usize = 512;
const RESERVATIONS: usize = 4096;
/// NVMe: the features, and log pages, that are asked for.
const POWER: u8 = 0x02;
const VOLATILE_WRITE_CACHE: u8 = 0x06;
const AUTONOMOUS_POWER: u8 = 0x0C;
const SMART: u8 = 0x02;
const OCP_SMART: u8 = 0xC0;
const HEALTH_LOG: &str = "the health log";

/// Adds to `drive` what the physical drive at `source` answers.
pub(super) fn ask(drive: &mut Drive, source: &Path) {
    let name = sysfs::name(source);
    if name.starts_with("nvme") {
        ask_nvme(drive, source);
    } else if matches!(drive.transport.as_deref(), Some("sata" | "sas" | "scsi" | "usb")) {
        ask_others(drive, source);
    }
}

/// Whether the drive has OCP's log page. One that has not may count the question as an error.
pub(in crate::target) fn has_ocp(source: &Path) -> bool {
    let page = |file: File| nvme_page(&file, NvmeQuestion::Log(OCP_SMART), LOG).ok().and_then(|page| nvme::ocp(&page));
    sysfs::name(source).starts_with("nvme") && open(&node(source)).ok().and_then(page).is_some()
}

/// How the drive is now: log pages only, and OCP's only from a drive that has it.
pub(in crate::target) fn condition(source: &Path, ocp: bool) -> Condition {
    let mut condition = super::details::temperature(source);
    condition.counters = super::details::counters(source);
    if sysfs::name(source).starts_with("nvme") {
        if let Ok(file) = open(&node(source)) {
            // A drive that does not answer now was named when the run began.
            let _ = add_logs(&mut condition, &file, ocp);
        }
    } else if let Ok(answer) = smartctl_answer(&node(source)) {
        condition.add(answer.condition);
    }
    condition
}

/// Why the drive's own counters of errors cannot be read, if so; none of a drive that has no such counters.
pub(in crate::target) fn unread(source: &Path) -> Option<String> {
    let node = node(source);
    match super::drive::transport(source).as_deref() {
        Some("nvme") => {
            let asked = open(&node).and_then(|file| Ok(nvme_page(&file, NvmeQuestion::Log(SMART), LOG)?));
            asked.err().map(|why| refused(HEALTH_LOG, &node, why))
        }
        Some("sata" | "sas" | "scsi" | "usb") => match smartctl_answer(&node) {
            Ok(answer) => answer.refused.map(|why| health_of(&node, &why)),
            Err(why) => Some(why),
        },
        _ => None,
    }
}

fn ask_nvme(drive: &mut Drive, source: &Path) {
    let node = node(source);
    let file = match open(&node) {
        Ok(file) => file,
        Err(why) => return drive.details.unread.push(refused("what the drive says of itself", &node, why)),
    };
    match nvme_page(&file, NvmeQuestion::Controller, IDENTIFY).map(|page| nvme::controller(&page)) {
        Ok(Some(controller)) => add_controller(drive, &file, &controller),
        Ok(None) => {}
        Err(why) => drive.details.unread.push(refused("Identify Controller", &node, why)),
    }
    let number = number(source, "nsid").and_then(|number| u32::try_from(number).ok());
    let page = number.map(|number| nvme_page(&file, NvmeQuestion::Namespace(number), IDENTIFY));
    if let Some(namespace) = page.and_then(Result::ok).and_then(|page| nvme::namespace(&page)) {
        let details = &mut drive.details;
        details.lba_format = Some(namespace.lba_format);
        details.used = namespace.used;
        details.nguid = namespace.nguid.or(details.nguid.take());
        details.eui64 = namespace.eui64.or(details.eui64.take());
        details.reads_after_discard = namespace.after_discard.map(str::to_owned);
    }
    if add_logs(&mut drive.details.condition, &file, true).is_err() {
        drive.details.unread.push(format!("{HEALTH_LOG} of {}", node.display()));
    }
}

fn add_controller(drive: &mut Drive, file: &File, controller: &nvme::Controller) {
    drive.model = text::clean(&controller.model).or(drive.model.take());
    drive.serial = text::clean(&controller.serial).or(drive.serial.take());
    drive.firmware = text::clean(&controller.firmware).or(drive.firmware.take());
    let feature = |number| nvme_ask(file.as_fd(), NvmeQuestion::Feature(number), &mut []).ok();
    let on_off = |value: u32| if value & 1 == 1 { "on" } else { "off" }.to_owned();
    let details = &mut drive.details;
    details.namespaces = Some(u64::from(controller.namespaces)).filter(|&most| most > 0);
    details.power_state = feature(POWER).map(|value| u64::from(value & 0x1f));
    let kept = |there: bool, number| if there { feature(number).map(on_off) } else { Some("absent".to_owned()) };
    details.device_write_cache = kept(controller.write_cache, VOLATILE_WRITE_CACHE);
    details.apst = kept(controller.apst, AUTONOMOUS_POWER);
    details.condition.warning_c = controller.warning_c.or(details.condition.warning_c);
    details.condition.critical_c = controller.critical_c.or(details.condition.critical_c);
}

/// The health log, and OCP's where the drive has it.
fn add_logs(condition: &mut Condition, file: &File, ocp: bool) -> Result<(), Errno> {
    let smart = nvme_page(file, NvmeQuestion::Log(SMART), LOG)?;
    condition.add(nvme::smart(&smart).unwrap_or_default());
    if ocp {
        let page = nvme_page(file, NvmeQuestion::Log(OCP_SMART), LOG).ok();
        condition.add(page.and_then(|page| nvme::ocp(&page)).unwrap_or_default());
    }
    Ok(())
}

fn nvme_page(file: &File, question: NvmeQuestion, size: usize) -> Result<Vec<u8>, Errno> {
    let mut page = vec![0; size];
    nvme_ask(file.as_fd(), question, &mut page).map(|_| page)
}

fn ask_others(drive: &mut Drive, source: &Path) {
    let node = node(source);
    let answer = match smartctl_answer(&node) {
        Ok(answer) => answer,
        Err(why) => return drive.details.unread.push(why),
    };
    drive.details.unread.extend(answer.refused.map(|why| health_of(&node, &why)));
    // SCSI's inquiry cuts a SATA drive's model and firmware short.
    let clean = |answered: Option<String>| answered.and_then(|answered| text::clean(answered.as_bytes()));
    drive.serial = drive.serial.take().or(clean(answer.serial));
    drive.firmware = clean(answer.firmware).or(drive.firmware.take());
    let details = &mut drive.details;
    details.link_most = details.link_most.take().or(clean(answer.link_most));
    details.device_write_cache = answer.write_cache.map(|on| if on { "on" } else { "off" }.to_owned());
    details.condition.add(answer.condition);
}

/// What smartctl says of a drive, or why it says nothing.
fn smartctl_answer(node: &Path) -> Result<smartctl::Answer, String> {
    let text = smartctl_output(node).map_err(|why| health_of(node, &why))?;
    smartctl::parse(&text).ok_or_else(|| health_of(node, "smartctl has no answer"))
}

fn health_of(node: &Path, why: &str) -> String {
    format!("the health of {}: {why}", node.display())
}

/// What smartctl prints of a drive; one that sleeps is left asleep.
fn smartctl_output(node: &Path) -> Result<String, String> {
    let shell = Shell::new().map_err(|why| why.to_string())?;
    let questions = ["--json=c", "-i", "-A", "-H", "-l", "error", "-g", "wcache", "-n", "standby"];
    let mut last = "smartctl is not installed (package smartmontools)".to_owned();
    // An ordinary user's PATH often lacks the sbin folders.
    for program in ["smartctl", "/usr/sbin/smartctl"] {
        let asked = cmd!(shell, "{program} {questions...} {node}").quiet().ignore_status().ignore_stderr().read();
        match asked {
            Ok(text) if !text.is_empty() => return Ok(text),
            Ok(_) => last = "smartctl says nothing".to_owned(),
            Err(_) => {}
        }
    }
    Err(last)
}

/// A partition's or disk's node; the kernel's names need no escaping but for `!`, which stands for `/`.
fn node(source: &Path) -> PathBuf {
    Path::new("/dev").join(sysfs::name(source).replace('!', "/"))
}

/// Who has reserved the physical drive at `source`; none where nobody has, or the drive knows no reservations. Those of
/// SATA and USB do not, and some of the latter fall silent when they are asked.
///
/// # Errors
/// In words, where this user may not ask.
pub(super) fn reservation(source: &Path, transport: Option<&str>) -> Result<Option<Reservation>, String> {
    let ask = match transport {
        Some("scsi" | "sas" | "fc" | "iscsi") => scsi_reservation,
        Some(nvme) if nvme.starts_with("nvme") => nvme_reservation,
        _ => return Ok(None),
    };
    let node = node(source);
    let state = open(&node).and_then(|file| Ok(ask(&file, source)?));
    let state = state.map_err(|why| refused("who has reserved it", &node, why))?;
    Ok(state.map(|state| Reservation { drive: sysfs::name(source), state }))
}

/// What cannot be known of a drive that knows reservations.
fn unknown(why: impl ToString) -> Option<Reserved> {
    Some(Reserved::Unknown { why: why.to_string() })
}

fn scsi_reservation(file: &File, _: &Path) -> Result<Option<Reserved>, Errno> {
    let mut pages = [[0; RESERVATIONS]; 2];
    for (page, question) in pages.iter_mut().zip([Question::Reservation, Question::Keys]) {
        let mut ask = || match scsi::ask(file.as_fd(), question, page) {
            Ok(answer) => Ok(reservation::meaning(&answer)),
            // No SCSI device, whatever its name.
            Err(Errno::NOTTY | Errno::INVAL) => Ok(ScsiMeaning::NotSupported),
            Err(why @ (Errno::PERM | Errno::ACCESS)) => Err(why),
            Err(why) => Ok(ScsiMeaning::Failed(std::io::Error::from(why).to_string())),
        };
        // Several things may have happened to the drive; each is told once, and before any answer.
        let mut meaning = ask()?;
        for _ in 0..3 {
            if meaning == ScsiMeaning::Again {
                meaning = ask()?;
            }
        }
        match meaning {
            ScsiMeaning::Good => {}
            ScsiMeaning::NotSupported => return Ok(None),
            ScsiMeaning::Conflict => return Ok(Some(Reserved::ByAnother)),
            ScsiMeaning::Again => return Ok(unknown("it is being reset")),
            ScsiMeaning::Failed(why) => return Ok(unknown(why)),
        }
    }
    let [reservation, keys] = pages;
    Ok(reservation::scsi(&reservation, &keys).unwrap_or_else(unknown))
}

fn nvme_reservation(file: &File, source: &Path) -> Result<Option<Reserved>, Errno> {
    let controller = match nvme_page(file, NvmeQuestion::Controller, IDENTIFY) {
        Ok(page) => nvme::controller(&page).unwrap_or_default(),
        Err(why @ (Errno::PERM | Errno::ACCESS)) => return Err(why),
        // It was named as silent when it was asked what it is.
        Err(_) => return Ok(None),
    };
    let number = number(source, "nsid").and_then(|number| u32::try_from(number).ok());
    let Some(number) = number.filter(|_| controller.reservations) else { return Ok(None) };
    // A host says by a feature which of the two forms it takes; the other one is refused.
    let answer =
        |long| nvme_page(file, NvmeQuestion::Reservations(number, long), RESERVATIONS).map(|page| (page, long));
    Ok(match answer(true).or_else(|_| answer(false)) {
        Ok((page, long)) => reservation::nvme(&page, long).unwrap_or_else(unknown),
        Err(why) => unknown(std::io::Error::from(why)),
    })
}

/// Opens without waiting for a medium; reading is all that a question needs.
fn open(node: &Path) -> std::io::Result<File> {
    let flags = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
    File::options().read(true).custom_flags(flags).open(node)
}

fn refused(what: &str, node: &Path, why: impl Into<std::io::Error>) -> String {
    let why: std::io::Error = why.into();
    let way_out = if why.kind() == std::io::ErrorKind::PermissionDenied { " (ask as root)" } else { "" };
    format!("{what}: {}: {why}{way_out}", node.display())
}

/// The kernel's own names of a drive in its log: `nvme0`, `nvme0n1`, `sda`, `ata3`, `2:0:0:0`.
pub(in crate::target) fn names(source: &Path) -> Vec<String> {
    let mut names = vec![sysfs::name(source)];
    let controller = super::drive::controller(source);
    let above = controller.iter().flat_map(|dir| dir.ancestors().take_while(|at| at.components().count() > 2));
    for at in above {
        let name = sysfs::name(at);
        let port = name.strip_prefix("ata").is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_digit()));
        let lun = name.matches(':').count() == 3 && attribute(at, "vendor").is_some();
        let nvme = name.starts_with("nvme") && name != "nvme";
        if port || lun || nvme {
            names.push(name);
        }
    }
    names
}
