//! Who may use whom in the library, and what its pure modules may not touch; the picture is in ARCHITECTURE.md.
//!
//! The tables here are the rule. Each test names every place that breaks it.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::{Context, Result};
use storage_check_tests::source;

/// Each module of the library, and what it may name of the others: a module, or one path in it.
///
/// `units`, `sample` and `environment` are the types that all share.
const MAY_USE: &[(&str, &[&str])] = &[
    ("units", &[]),
    ("sample", &["units"]),
    ("environment", &["units"]),
    ("plan", &["units"]),
    // The aligned buffer is memory and no engine: the guard's last check writes one block with it. Stamps tell whether
    // data on a device are ours. What a probe reads is a fact of an interval, as a sample is.
    ("target", &["units", "sample", "environment", "engine::buffers", "engine::stamp"]),
    ("engine", &["units", "sample", "target::space"]),
    // Of the target only the words that a header carries.
    ("journal", &["units", "sample", "environment", "plan", "target::facts"]),
    ("analysis", &["units", "sample"]),
    // Of the analysis only what it is handed: series, and what is known of their drive.
    ("import", &["units", "sample", "analysis::series", "analysis::known", "journal::record", "journal::replay"]),
    ("verdict", &["units", "environment", "analysis"]),
    // A report says what was judged; it measures nothing again.
    // The checks before a run stand in it as they were made.
    ("report", &["units", "environment", "plan", "verdict", "analysis::metric"]),
    ("run", &["units", "sample", "plan", "target", "engine", "journal"]),
    (
        "session",
        &[
            "units",
            "sample",
            "environment",
            "plan",
            "target",
            "engine",
            "journal",
            "analysis",
            "import",
            "verdict",
            "report",
            "run",
        ],
    ),
];

/// The same data in, the same data out, on every machine: no file, clock, thread, environment or system call.
const PURE: &[&str] = &[
    "units/",
    "sample.rs",
    "sample/",
    "environment.rs",
    "plan/",
    "analysis/",
    "import/",
    "verdict/",
    "report/",
    "engine/content.rs",
    "engine/sim/",
    "engine/stamp.rs",
    "journal/mod.rs",
    "journal/record.rs",
    "journal/replay.rs",
    "run/merge.rs",
    "session/compose/",
    "target/facts/contents.rs",
    "target/facts/dm.rs",
    "target/facts/mounts.rs",
    "target/facts/nvme.rs",
    "target/facts/nvme/",
    "target/facts/reservation.rs",
    "target/facts/smartctl.rs",
    "target/facts/text.rs",
    "target/preflight.rs",
    "target/guard.rs",
    "target/guard/",
];

/// What pure code may name of the standard library. Paths are data; asking the disk about one is not.
const PURE_STD: &[&str] = &[
    "borrow",
    "cmp",
    "collections",
    "convert",
    "error",
    "f64",
    "ffi",
    "fmt",
    "hash",
    "iter",
    "mem",
    "num",
    "ops",
    // Names of files as bytes, both ways.
    "os::unix::ffi",
    "path",
    "slice",
    "str",
    "string",
    "sync::Arc",
    "u64",
    "vec",
];

/// Libraries that only compute; `junit_report` and `time` are handed their times.
const PURE_LIBRARIES: &[&str] = &[
    "base64",
    "hdrhistogram",
    "time",
    "junit_report",
    "libm",
    "maud",
    "plotters",
    "serde",
    "serde_json",
    "sha2",
    "strsim",
    "thiserror",
    "toml",
];

/// Methods of paths that ask the disk.
const ASKS_THE_DISK: &[&str] =
    &["exists", "try_exists", "is_file", "is_dir", "is_symlink", "canonicalize", "metadata", "read_dir", "read_link"];

/// A source file of the library that is not a test's.
struct Module {
    /// Below `harness/src`.
    path: String,
    /// Without comments, strings and tests.
    code: String,
}

impl Module {
    /// First name of its module path: `engine` for `engine/sync.rs`.
    fn stage(&self) -> &str {
        self.path.split('/').next().unwrap_or_default().trim_end_matches(".rs")
    }

    /// Names in its module path: 2 for `engine/sync.rs`, 1 for `engine/mod.rs`.
    fn depth(&self) -> usize {
        self.path.split('/').count() - usize::from(self.path.ends_with("/mod.rs"))
    }

    fn is_pure(&self) -> bool {
        PURE.iter().any(|pure| self.path == *pure || pure.ends_with('/') && self.path.starts_with(pure))
    }
}

fn modules() -> Result<Vec<Module>> {
    let sources = source::tracked()?.into_iter().filter(|path| path.ends_with(".rs"));
    let paths: Vec<_> = sources.filter_map(|path| path.strip_prefix("harness/src/").map(str::to_owned)).collect();
    let mut modules = Vec::new();
    let mut tests = BTreeSet::new();
    for path in paths {
        let text = source::read(&format!("harness/src/{path}"))?;
        tests.extend(test_files(&path, &text));
        let code = source::without_tests(&source::without_comments_and_strings(&text));
        modules.push(Module { path, code });
    }
    modules.retain(|module| !tests.contains(&module.path));
    Ok(modules)
}

/// Files that `text` declares as modules under `#[cfg(test)]`.
fn test_files(path: &str, text: &str) -> Vec<String> {
    let path = Path::new(path);
    let stem = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
    let parent = path.parent().unwrap_or(Path::new(""));
    let folder = if matches!(stem, "mod" | "lib") { parent.to_owned() } else { parent.join(stem) };
    let declared = text.split("#[cfg(test)]\n").skip(1).filter_map(|after| {
        let mut lines = after.lines();
        let first = lines.next()?;
        if let Some(named) = first.strip_prefix("#[path = \"") {
            return Some(parent.join(named.strip_suffix("\"]")?));
        }
        Some(folder.join(format!("{}.rs", first.strip_suffix(';')?.rsplit_once("mod ")?.1)))
    });
    declared.map(|path| path.display().to_string()).collect()
}

#[track_caller]
fn holds(violations: &[String]) {
    assert!(violations.is_empty(), "\n{}\n", violations.join("\n"));
}

fn within(path: &str, allowed: &[&str]) -> bool {
    allowed.iter().any(|module| path == *module || path.starts_with(&format!("{module}::")))
}

#[test]
fn the_table_names_every_module_of_the_library() -> Result<()> {
    let stages: BTreeSet<_> = modules()?.iter().map(|module| module.stage().to_owned()).collect();
    let named: BTreeSet<_> = MAY_USE.iter().map(|(stage, _)| (*stage).to_owned()).chain(["lib".to_owned()]).collect();
    assert_eq!(stages, named);
    Ok(())
}

#[test]
fn a_module_uses_only_what_the_table_lets_it() -> Result<()> {
    let mut violations = Vec::new();
    for module in modules()?.iter().filter(|module| module.stage() != "lib") {
        let (stage, allowed) =
            MAY_USE.iter().find(|(stage, _)| *stage == module.stage()).context("not in the table")?;
        for path in source::paths(&module.code, "crate") {
            if !within(&path, &[stage]) && !within(&path, allowed) {
                violations.push(format!("{} uses {path}; {stage} may use {}", module.path, allowed.join(", ")));
            }
        }
    }
    holds(&violations);
    Ok(())
}

#[test]
fn no_module_leaves_itself_by_super() -> Result<()> {
    let mut violations = Vec::new();
    for module in modules()? {
        let out = "super::".repeat(module.depth());
        if module.code.contains(&out) {
            violations.push(format!("{} reaches the library's root by {out}: say crate::", module.path));
        }
    }
    holds(&violations);
    Ok(())
}

#[test]
fn each_pure_path_exists() -> Result<()> {
    let modules = modules()?;
    let there = |pure: &&str| modules.iter().any(|module| module.path.starts_with(pure));
    let absent: Vec<_> = PURE.iter().filter(|pure| !there(pure)).map(|pure| (*pure).to_owned()).collect();
    holds(&absent);
    Ok(())
}

#[test]
fn what_calls_itself_pure_is_held_to_it() -> Result<()> {
    let mut violations = Vec::new();
    for module in modules()?.iter().filter(|module| !module.is_pure()) {
        let text = source::read(&format!("harness/src/{}", module.path))?;
        let says = text.lines().take_while(|line| line.starts_with("//!")).any(|line| {
            let line = line.trim_start_matches("//!").trim();
            line.starts_with("PURE") || line.starts_with("Pure")
        });
        if says {
            violations.push(format!("{} says that it is pure and is not in the list", module.path));
        }
    }
    holds(&violations);
    Ok(())
}

#[test]
fn a_pure_module_names_no_part_of_std_that_does_io() -> Result<()> {
    let mut violations = Vec::new();
    for module in modules()?.iter().filter(|module| module.is_pure()) {
        for path in source::paths(&module.code, "std") {
            if !within(&path, PURE_STD) {
                violations.push(format!("{} is pure and names std::{path}", module.path));
            }
        }
    }
    holds(&violations);
    Ok(())
}

#[test]
fn a_pure_module_names_no_library_that_does_io() -> Result<()> {
    let manifest: toml::Table = source::read("harness/Cargo.toml")?.parse()?;
    let dependencies = manifest["dependencies"].as_table().context("no dependencies")?;
    let names = dependencies.keys().map(|name| name.replace('-', "_"));
    let impure: Vec<_> = names.filter(|name| !PURE_LIBRARIES.contains(&name.as_str())).collect();
    let mut violations = Vec::new();
    for module in modules()?.iter().filter(|module| module.is_pure()) {
        for library in &impure {
            for path in source::paths(&module.code, library) {
                violations.push(format!("{} is pure and names {library}::{path}", module.path));
            }
        }
    }
    holds(&violations);
    Ok(())
}

#[test]
fn a_pure_module_asks_the_disk_of_no_path() -> Result<()> {
    let mut violations = Vec::new();
    for module in modules()?.iter().filter(|module| module.is_pure()) {
        for method in ASKS_THE_DISK {
            if module.code.contains(&format!(".{method}()")) {
                violations.push(format!("{} is pure and calls {method}()", module.path));
            }
        }
    }
    holds(&violations);
    Ok(())
}
