//! Tidiness that reviewers need not look for: each test is one claim over the project's files.
//!
//! Knows no architecture: that is `layering.rs`.

use anyhow::{Context, Result};
use storage_check_tests::source;

/// Longest source file.
const LINES: usize = 400;

/// The only files with unsafe code.
const UNSAFE: &[&str] = &[
    "harness/src/engine/buffers.rs",
    "harness/src/engine/uring.rs",
    "harness/src/target/ioctl.rs",
    "harness/src/target/ioctl/nvme.rs",
    "harness/src/target/ioctl/scsi.rs",
];

/// All Rust files, with their text.
fn rust() -> Result<Vec<(String, String)>> {
    let paths = source::tracked()?.into_iter().filter(|path| path.ends_with(".rs"));
    paths.map(|path| source::read(&path).map(|text| (path, text))).collect()
}

/// No code has any of `words`, comments and strings aside.
fn check_absent(words: &[&str], except: &[&str]) -> Result<()> {
    let mut violations = Vec::new();
    for (path, text) in rust()?.into_iter().filter(|(path, _)| !except.contains(&path.as_str())) {
        let code = source::without_comments_and_strings(&text);
        for (number, line) in code.lines().enumerate() {
            violations.extend(
                words.iter().filter(|word| line.contains(*word)).map(|word| format!("{path}:{}: {word}", number + 1)),
            );
        }
    }
    holds(&violations);
    Ok(())
}

#[track_caller]
fn holds(violations: &[String]) {
    assert!(violations.is_empty(), "\n{}\n", violations.join("\n"));
}

#[test]
fn every_source_file_says_first_what_it_owns() -> Result<()> {
    let silent = rust()?.into_iter().filter(|(_, text)| !text.starts_with("//! ")).map(|(path, _)| path);
    holds(&silent.collect::<Vec<_>>());
    Ok(())
}

#[test]
fn every_source_file_fits_in_a_head() -> Result<()> {
    let long = rust()?.into_iter().map(|(path, text)| (path, text.lines().count()));
    let long = long.filter(|(_, lines)| *lines > LINES).map(|(path, lines)| format!("{path}: {lines} lines"));
    holds(&long.collect::<Vec<_>>());
    Ok(())
}

#[test]
fn lints_are_expected_and_never_allowed() -> Result<()> {
    check_absent(&["#[allow(", "#![allow(", "cfg_attr(not(test), allow"], &[])
}

#[test]
fn nothing_is_left_to_do() -> Result<()> {
    check_absent(&["todo!", "unimplemented!", "dbg!"], &[])
}

#[test]
fn unsafe_code_stays_in_its_files() -> Result<()> {
    check_absent(&["unsafe {", "unsafe fn", "unsafe impl", "unsafe trait", "unsafe extern", "(unsafe_code"], UNSAFE)
}

#[test]
fn every_unsafe_block_says_why_it_is_sound() -> Result<()> {
    let mut violations = Vec::new();
    for (path, text) in rust()?.into_iter().filter(|(path, _)| UNSAFE.contains(&path.as_str())) {
        let code = source::without_comments_and_strings(&text);
        let lines: Vec<_> = text.lines().collect();
        for (at, _) in code.lines().enumerate().filter(|(_, line)| line.contains("unsafe {")) {
            let said = lines[at.saturating_sub(6)..at].iter().any(|line| line.trim_start().starts_with("// SAFETY:"));
            if !said {
                violations.push(format!("{path}:{}", at + 1));
            }
        }
    }
    holds(&violations);
    Ok(())
}

#[test]
fn every_dependency_says_why_it_is_here() -> Result<()> {
    let manifest = source::read("Cargo.toml")?;
    let section = manifest.split("[workspace.dependencies]\n").nth(1).context("no workspace.dependencies")?;
    let lines = section.lines().take_while(|line| !line.starts_with('['));
    let others = lines.filter(|line| line.contains(" = ") && !line.contains("path = "));
    let silent = others.filter(|line| line.rsplit_once("# ").is_none_or(|(_, why)| why.trim().len() < 5));
    holds(&silent.map(str::to_owned).collect::<Vec<_>>());
    Ok(())
}

#[test]
fn dependencies_are_named_in_one_place() -> Result<()> {
    let mut violations = Vec::new();
    for member in ["harness", "xtask", "xtask/storage-check", "tests"] {
        let manifest: toml::Table = source::read(&format!("{member}/Cargo.toml"))?.parse()?;
        for section in ["dependencies", "dev-dependencies"] {
            for (name, value) in manifest.get(section).and_then(toml::Value::as_table).into_iter().flatten() {
                if value.get("workspace").and_then(toml::Value::as_bool) != Some(true) {
                    violations.push(format!("{member}: {name} has a version of its own"));
                }
            }
        }
    }
    holds(&violations);
    Ok(())
}

/// libc 1.0 and later pre-releases of xshell are other libraries under the same names.
#[test]
fn libc_and_xshell_stay_where_they_are() -> Result<()> {
    let manifest: toml::Table = source::read("Cargo.toml")?.parse()?;
    let dependencies = &manifest["workspace"]["dependencies"];
    assert_eq!(dependencies["libc"].as_str(), Some("0.2"));
    assert_eq!(dependencies["xshell"].as_str(), Some("0.2"));
    Ok(())
}

#[test]
fn the_lock_names_one_registry() -> Result<()> {
    let lock = source::read("Cargo.lock")?;
    let sources = lock.lines().filter(|line| line.starts_with("source = "));
    let ours = "source = \"registry+https://github.com/rust-lang/crates.io-index\"";
    holds(&sources.filter(|line| *line != ours).map(str::to_owned).collect::<Vec<_>>());
    Ok(())
}

/// Folders of a workplace that mean nothing elsewhere. Spelled apart, so that this file passes too.
const WORKPLACE: &[&str] =
    &[concat!("/wo", "rk/"), concat!("/home", "/runner"), concat!("/ro", "ot/"), concat!("/tmp", "/wt")];

#[test]
fn no_file_names_a_folder_of_some_machine() -> Result<()> {
    let mut violations = Vec::new();
    for path in source::tracked()? {
        // Not all that is tracked need be text.
        let Ok(text) = source::read(&path) else { continue };
        for (number, line) in text.lines().enumerate() {
            violations.extend(
                WORKPLACE
                    .iter()
                    .filter(|name| line.contains(*name))
                    .map(|name| format!("{path}:{}: {name}", number + 1)),
            );
        }
    }
    holds(&violations);
    Ok(())
}

#[test]
fn the_readme_names_the_two_commands_and_the_script_runs_the_second() -> Result<()> {
    let readme = source::read("README.md")?;
    for command in ["cargo xtask storage-check\n", "cargo xtask ci\n"] {
        assert!(readme.contains(command), "README.md does not have the line {command}");
    }
    assert!(source::read(".ci/run")?.contains("\ncargo xtask ci\n"));
    let alias = "xtask = \"run --release --locked --no-default-features --package xtask --\"";
    assert!(source::read(".cargo/config.toml")?.contains(alias));
    Ok(())
}

/// A command in a document that the program does not know is worse than none.
#[test]
fn every_option_that_a_document_names_exists() -> Result<()> {
    let ours = |path: &String| path.starts_with("xtask/storage-check/src/arguments");
    let arguments = source::tracked()?.into_iter().filter(ours).map(|path| source::read(&path));
    let arguments = arguments.collect::<Result<String>>()?;
    let mut violations = Vec::new();
    let is_one = |path: &String| {
        ["README.md", "CONTRIBUTING.md"].contains(&path.as_str())
            || path.starts_with("docs/guide/")
            || path.starts_with("docs/ci/")
    };
    let documents: Vec<String> = source::tracked()?.into_iter().filter(is_one).collect();
    assert!(documents.len() > 10, "{documents:?}");
    let calls =
        ["cargo xtask storage-check ", "storage-check run ", "storage-check baseline ", "storage-check export "];
    for document in documents {
        let text = source::read(&document)?;
        for line in text.lines().filter(|line| calls.iter().any(|call| line.contains(call))) {
            for option in
                line.split(|c: char| !(c.is_ascii_lowercase() || c == '-')).filter_map(|w| w.strip_prefix("--"))
            {
                let field = option.replace('-', "_");
                if !["help", "version", "locked"].contains(&option) && !arguments.contains(&format!("{field}:")) {
                    violations.push(format!("{document}: --{option}"));
                }
            }
        }
    }
    holds(&violations);
    Ok(())
}

#[test]
fn every_profile_is_in_the_readme() -> Result<()> {
    let readme = source::read("README.md")?;
    let profiles = source::tracked()?.into_iter();
    let names =
        profiles.filter_map(|path| Some(path.strip_prefix("harness/profiles/")?.strip_suffix(".toml")?.to_owned()));
    holds(&names.filter(|name| !readme.contains(&format!("| `{name}` |"))).collect::<Vec<_>>());
    Ok(())
}

#[test]
fn every_source_file_is_in_the_architecture() -> Result<()> {
    let architecture = source::read("ARCHITECTURE.md")?;
    let sources = source::tracked()?
        .into_iter()
        .filter(|path| path.ends_with(".rs") && (path.starts_with("harness/src/") || path.starts_with("xtask/")));
    holds(&sources.filter(|path| !architecture.contains(&format!("`{path}`"))).collect::<Vec<_>>());
    Ok(())
}

#[test]
fn the_architecture_names_no_file_that_is_not_there() -> Result<()> {
    let architecture = source::read("ARCHITECTURE.md")?;
    let named = architecture.split('`').skip(1).step_by(2).filter(|name| name.contains('/') && name.ends_with(".rs"));
    let absent = named.filter(|name| !name.contains('*') && !source::root().join(name).is_file());
    holds(&absent.map(str::to_owned).collect::<Vec<_>>());
    Ok(())
}
