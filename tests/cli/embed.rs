//! `examples/embed`: somebody else's workspace whose own xtask has `storage-check` in it.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use libtest_mimic::Trial;
use storage_check_tests::rig::trial;
use storage_check_tests::tool::Tool;
use storage_check_tests::{folder, run, source};
use xshell::{Shell, cmd};

pub(crate) fn trials() -> Vec<Trial> {
    vec![trial(
        "another workspace's xtask builds with the package, measures, and says that it is a debug build",
        &[],
        embedded,
    )]
}

/// Small enough for any disk.
const PROFILE: &str =
    "name = \"small\"\nversion = 1\n\n[fill]\nsize = \"64MiB\"\nsegments = 4\nblock = \"1MiB\"\ninterval = \"100ms\"\n";

fn embedded() -> Result<()> {
    let home = folder::folder()?;
    copy(&source::root().join("examples/embed"), home.path())?;
    let manifest = home.path().join("xtask/Cargo.toml");
    let ours = source::root().join("xtask/storage-check").display().to_string();
    let text = fs::read_to_string(&manifest)?;
    ensure!(text.contains("path = \"../../../xtask/storage-check\""), "{text}");
    fs::write(&manifest, text.replace("../../../xtask/storage-check", &ours))?;
    // The same versions, so that nothing is fetched and little is built again.
    fs::copy(source::root().join("Cargo.lock"), home.path().join("Cargo.lock"))?;
    let shell = Shell::new()?;
    shell.change_dir(home.path());
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let target = folder::target_dir();
    // What cargo builds on the way is shared with this workspace; the program is not, which has the same name.
    cmd!(shell, "{cargo} build --offline --quiet --package xtask --target-dir {target}/embed")
        .env("CARGO_BUILD_BUILD_DIR", &target)
        .quiet()
        .run()?;
    let program = target.join("embed/debug/xtask").display().to_string();
    let tool = Tool::new(&program);
    tool.call(home.path(), ["--version"]).end()?.with_code(0)?.says(&["storage-check 0."])?;
    tool.chore(home.path(), ["hello"]).end()?.with_code(0)?.says(&["of this workspace"])?;
    fs::write(home.path().join("small.toml"), PROFILE)?;
    let arguments = ["run", "--target", ".", "--profile", "small.toml", "--out", "runs"];
    tool.call(home.path(), arguments).end()?.with_code(0)?;
    let made = run::only(&home.path().join("runs"))?;
    let report = run::report(&made)?;
    ensure!(report["environment"]["build"] == "debug", "{}", report["environment"]);
    let notes = report["notes"].as_array().context("no notes")?;
    let said = notes.iter().filter_map(|note| note.as_str()).any(|note| note.contains("debug build: not comparable"));
    ensure!(said, "{notes:?}");
    let accept = ["baseline", "accept", "--reason", "no", &made.display().to_string()].map(str::to_owned);
    tool.call(home.path(), accept).end()?.with_code(2)?.says(&["measured by a debug build"])
}

/// Copies what is tracked of a folder.
fn copy(from: &Path, to: &Path) -> Result<()> {
    let files = source::tracked()?.into_iter().map(|path| source::root().join(path));
    for file in files.filter(|file| file.starts_with(from)) {
        let target = to.join(file.strip_prefix(from)?);
        fs::create_dir_all(target.parent().context("no folder")?)?;
        fs::copy(&file, &target)?;
    }
    Ok(())
}
