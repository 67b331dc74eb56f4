//! The guard on real block devices: each situation is refused in the right words, and every byte of every device is as
//! it was.

mod machine;
mod races;
mod rights;
mod scene;
mod situations;

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use libtest_mimic::Trial;
use storage_check_tests::rig::{Need as Rig, note, trial};
use storage_check_tests::{folder, run};
use xshell::{Shell, cmd};

use super::plain;
use rights::Nobody;
use scene::{Detach, Scene};
use situations::{BTRFS, SITUATIONS, Situation};

pub(crate) fn trials() -> Vec<Trial> {
    let one = |&(what, arrange, says): &Situation, needs: &[Rig]| {
        trial(format!("a device is refused, and no byte changes: {what}"), needs, move || check(arrange, says))
    };
    let on_two = [Rig::LoopFs, Rig::Command("mkfs.btrfs")];
    let refused = SITUATIONS.iter().map(|row| one(row, &[Rig::LoopFs]));
    let refused = refused.chain(BTRFS.iter().map(|row| one(row, &on_two)));
    let others = [
        trial("the guide has a table of all situations, with their words", &[], in_the_guide),
        trial(
            "an empty device is taken by its name, also one with spaces, and through a symbolic link",
            &[Rig::LoopFs],
            taken,
        ),
        trial("the disk that carries / is refused", &[Rig::LoopFs], the_systems_own),
    ];
    refused.chain(others).chain(races::trials()).chain(rights::trials()).chain(machine::trials()).collect()
}

/// The tables of the tests as the guide has them.
fn in_the_guide() -> Result<()> {
    let row = |what: &str, says: &str| format!("| {what} | {says} |\n");
    let loops = SITUATIONS.iter().chain(BTRFS).map(|(what, _, says)| row(what, &says.join(" … ")));
    let table = |rows: &[machine::Row]| rows.iter().map(|(what, _, _, says)| row(what, says)).collect::<String>();
    let machine: String = [machine::DRIVES, machine::ACTIVE, machine::IDLE].into_iter().map(table).collect();
    let guide = fs::read_to_string(folder::workspace().join("docs/guide/refused.md"))?;
    for table in [loops.collect::<String>(), machine] {
        ensure!(guide.contains(&table), "docs/guide/refused.md has not this table:\n{table}");
    }
    let all = guide.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| Situation")).count();
    note(&format!("{all} situations in the guide's tables"));
    Ok(())
}

/// Exit 3, the words, and the same bytes everywhere.
fn check(arrange: fn(&mut Scene) -> Result<()>, says: &[&str]) -> Result<()> {
    let mut scene = Scene::new()?;
    arrange(&mut scene)?;
    let (folder, nobody) = (folder::folder()?, scene.as_nobody.then(Nobody::new).transpose()?);
    let (tool, home) = match &nobody {
        Some(nobody) => (nobody.tool(), nobody.home().to_owned()),
        None => (plain(), folder.path().to_owned()),
    };
    let out = scene.out.clone().unwrap_or_else(|| home.join("out"));
    let profile = home.join("rig.toml");
    fs::copy(scene.disk.beside_image("profile/rig.toml"), &profile)?;
    let mut arguments = ["run", "--target"].map(str::to_owned).to_vec();
    arguments.push(scene.target.display().to_string());
    arguments.extend(scene.erase.iter().flat_map(|identity| ["--erase".to_owned(), identity.clone()]));
    arguments.extend(["--profile".to_owned(), profile.display().to_string()]);
    arguments.extend(scene.arguments.clone());
    arguments.extend(["--out".to_owned(), out.display().to_string()]);
    let before = scene.digests()?;
    let ended = tool.call(&home, arguments).end()?.with_code(3)?;
    ended.says(says)?;
    ensure!(scene.digests()? == before, "bytes changed");
    let report = run::report(&run::only(&out)?)?;
    ensure!(report["failure"]["kind"] == "refused", "{report}");
    Ok(())
}

/// As far as `plan` goes, which writes nothing.
fn taken() -> Result<()> {
    let scene = Scene::new()?;
    let spaced = scene.disk.beside_image("disk  of two  spaces");
    fs::copy(scene.disk.image(), &spaced)?;
    let device = cmd!(scene.shell, "losetup -f --show {spaced}").quiet().read()?;
    let spaced_disk = Detach(device);
    let link = scene.disk.beside_image("by-id");
    symlink(&spaced_disk.0, &link)?;
    let profile = scene.disk.beside_image("profile/rig.toml").display().to_string();
    for (target, identity) in
        [(scene.disk.path(), scene.disk.image()), (Path::new(&spaced_disk.0), &spaced), (&link, &spaced)]
    {
        let (target, identity) = (target.display().to_string(), identity.display().to_string());
        let arguments = ["plan", "--target", &target, "--erase", &identity, "--profile", &profile];
        plain()
            .call(scene.disk.beside_image("").as_path(), arguments)
            .end()?
            .with_code(0)?
            .says(&["ALL of /dev/loop"])?;
    }
    Ok(())
}

/// Only looked at: `plan` opens it to read.
fn the_systems_own() -> Result<()> {
    let shell = Shell::new()?;
    let source = cmd!(shell, "findmnt -n -o SOURCE /").quiet().read()?;
    let Some(name) = source.strip_prefix("/dev/") else { return Ok(()) };
    // Of a partition or a volume the whole disk beneath.
    let found = cmd!(shell, "lsblk -n -s -l -o NAME /dev/{name}").quiet().read()?;
    let disk = found.lines().last().context("lsblk says nothing")?.trim().to_owned();
    let home = folder::folder()?;
    let target = format!("/dev/{disk}");
    let ended =
        plain().call(home.path(), ["plan", "--target", &target, "--erase", "whatever", "--erase-contents"]).end()?;
    // Also where a sandbox keeps root itself from its disk: the mounts tell.
    ended.with_code(3)?.says(&["the system itself", "never erased"])
}
