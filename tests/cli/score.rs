//! The score: its totals on the corpus, and what it says without one.

use anyhow::{Result, ensure};
use libtest_mimic::Trial;
use storage_check_tests::rig::{Need, trial};
use storage_check_tests::{corpus, folder};
use xshell::{Shell, cmd};

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        trial("the score of the corpus is what it was", &[Need::Corpus], totals),
        trial("a folder without truths has no score", &[], no_truths),
    ]
}

/// What `cargo xtask score` of a folder prints, and whether it went well.
fn score(folder: &std::path::Path) -> Result<(String, bool)> {
    let program = env!("CARGO_BIN_EXE_xtask");
    let shell = Shell::new()?;
    let output = cmd!(shell, "{program} score {folder}").quiet().ignore_status().output()?;
    let text = [output.stdout, output.stderr].concat();
    Ok((String::from_utf8_lossy(&text).into_owned(), output.status.success()))
}

fn totals() -> Result<()> {
    const TOTALS: [&str; 6] = [
        "cliff in its interval, or none  16 of 16",
        "steady or not                   17 of 17",
        "steady level within 3 %         15 of 15",
        "first claim, ours               13 of 13, at 40.2 % of the run",
        "first claim, SNIA's rule        2 of 13, at 8.3 % of the run",
        "first claim, fio's slope rule   7 of 13, at 33.6 % of the run",
    ];
    let (text, _) = score(&corpus::folder())?;
    let totals: Vec<&str> = text.lines().skip_while(|line| !line.starts_with("totals")).skip(1).take(6).collect();
    ensure!(totals.iter().map(|line| line.trim()).eq(TOTALS), "{totals:#?}");
    Ok(())
}

fn no_truths() -> Result<()> {
    let home = folder::folder()?;
    let (text, well) = score(home.path())?;
    ensure!(!well && text.contains("has no truth.toml: name the folder of a corpus"), "{text}");
    Ok(())
}
