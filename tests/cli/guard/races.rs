//! What happens between the look at a device and its opening, and between the opening and the writing.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use anyhow::{Result, ensure};
use harness::target::open::{OpenError, Purpose, open_device};
use harness::target::{Consent, Facts, Need, guard};
use harness::units::Bytes;
use libtest_mimic::Trial;
use storage_check_tests::loop_device::LoopDevice;
use storage_check_tests::rig::{Need as Rig, trial};
use xshell::{Shell, cmd};

use super::scene::{EXT4, MIB, SIZE, Scene};

pub(super) fn trials() -> Vec<Trial> {
    vec![
        trial(
            "a symbolic link that is swapped between check and open leads nowhere else",
            &[Rig::LoopFs],
            swapped_link,
        ),
        trial("a device that is replaced under its name between check and open is noticed", &[Rig::LoopFs], replaced),
        trial("a device that is mounted between check and open is noticed", &[Rig::LoopFs], mounted_meanwhile),
    ]
}

/// Looks at a device, lets something happen, and opens it.
fn open_after(
    scene: &mut Scene,
    named: &Path,
    happens: impl FnOnce(&mut Scene) -> Result<()>,
) -> Result<Result<(), OpenError>> {
    let facts = Facts::read_device(named)?;
    let consent = Consent { erase: scene.erase.iter().cloned().collect(), ..Consent::default() };
    let armed = guard(facts, &Need { space: Bytes(8 * MIB), writes: Bytes(8 * MIB) }, &consent)?;
    happens(scene)?;
    Ok(open_device(&armed, "a-run", Purpose::New).map(|_| ()))
}

fn swapped_link() -> Result<()> {
    let mut scene = Scene::new()?;
    let other = LoopDevice::new(SIZE)?;
    let before = other.digest()?;
    let link = scene.disk.beside_image("by-id");
    symlink(scene.disk.path(), &link)?;
    open_after(&mut scene, &link, |scene| {
        fs::remove_file(scene.disk.beside_image("by-id"))?;
        Ok(symlink(other.path(), scene.disk.beside_image("by-id"))?)
    })??;
    ensure!(other.digest()? == before, "the other device was written");
    ensure!(scene.disk.digest()? != before, "the device that was checked carries no marker");
    Ok(())
}

fn replaced() -> Result<()> {
    let mut scene = Scene::new()?;
    let other = LoopDevice::new(SIZE)?;
    let before = other.digest()?;
    let device = scene.disk.path().to_owned();
    let opened = open_after(&mut scene, &device, |scene| {
        let (device, image) = (scene.disk.path().to_owned(), other.image().to_owned());
        let shell = Shell::new()?;
        cmd!(shell, "losetup -d {device}").quiet().run()?;
        Ok(cmd!(shell, "losetup --direct-io=on {device} {image}").quiet().run()?)
    })?;
    ensure!(matches!(opened, Err(OpenError::DeviceChanged { .. })), "{opened:?}");
    ensure!(other.digest()? == before, "the other device was written");
    // The same file again: another disk all the same, by the kernel's own count.
    let opened = open_after_the_same(&mut scene)?;
    ensure!(matches!(opened, Err(OpenError::DeviceChanged { .. })), "{opened:?}");
    Ok(())
}

fn open_after_the_same(scene: &mut Scene) -> Result<Result<(), OpenError>> {
    let again = |scene: &mut Scene| {
        let (device, image) = (scene.disk.path().to_owned(), scene.disk.image().to_owned());
        let shell = Shell::new()?;
        cmd!(shell, "losetup -d {device}").quiet().run()?;
        anyhow::Ok(cmd!(shell, "losetup --direct-io=on {device} {image}").quiet().run()?)
    };
    again(scene)?;
    let device = scene.disk.path().to_owned();
    open_after(scene, &device, again)
}

fn mounted_meanwhile() -> Result<()> {
    let mut scene = Scene::new()?;
    let device = scene.disk.path().to_owned();
    let opened = open_after(&mut scene, &device, |scene| {
        scene.disk.make("mkfs.ext4", EXT4)?;
        scene.mount(scene.disk.path().to_owned(), &[])
    })?;
    ensure!(matches!(opened, Err(OpenError::Claimed { .. })), "{opened:?}");
    Ok(())
}
