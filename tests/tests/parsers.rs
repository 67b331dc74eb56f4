//! Hostile text: no parser panics, whatever the lines, and what follows from a journal does not either.
//!
//! Random bytes, and valid texts with parts cut, doubled, moved or replaced by numbers at the edge of their types.

use std::process::ExitCode;

use anyhow::{Result, ensure};
use harness::journal::file;
use harness::journal::record::{LineError, Preamble, Record};
use harness::journal::replay::Replay;
use harness::plan::builtin;
use harness::plan::phase::{Capacity, Plan};
use harness::plan::profile::{Profile, level_share};
use harness::report::{json, junit, markdown};
use harness::session::compose;
use harness::target::facts::Device;
use harness::units::{Bytes, GIB, Ppm, parse_bytes, parse_nanos, parse_ppm};
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use storage_check_tests::dice::{self, Dice};
use storage_check_tests::rig;

/// A whole run: killed, resumed, with two bad blocks, a burst and random writes.
const JOURNAL: &str = include_str!("../data/journal.jsonl");

fn main() -> ExitCode {
    rig::main(vec![
        rig::trial("no profile makes the parser or the plan panic (30,000 cases)", &[], || {
            hostile(30_000, &profiles(), |text| {
                if let Ok(profile) = Profile::parse(text) {
                    check_profile(&profile);
                }
            })
        }),
        rig::trial("no line makes the journal's parsers panic (40,000 cases)", &[], || {
            hostile(40_000, &lines(), |line| {
                let _ = Preamble::parse(line);
                if let Ok(record) = Record::parse(line) {
                    let again = harness::journal::record::line(&record);
                    assert_eq!(Record::parse(&again).ok(), Some(record), "not the same when read back");
                }
            })
        }),
        rig::trial("no journal makes the replay, the analysis or a report panic (20,000 cases)", &[], || {
            hostile(20_000, &[JOURNAL.to_owned()], |text| check_journal(text.as_bytes()))
        }),
        rig::trial("no word makes the parsers of units panic (20,000 cases)", &[], || {
            let words =
                ["4KiB", "1.5GB", "10s", "250ms", "0.6%", "100pct", "scratch", "259:1", "18446744073709551615B"];
            hostile(20_000, &words.map(str::to_owned), |word| {
                let _ = (parse_bytes(word), parse_nanos(word), parse_ppm(word, Ppm(10_000_000)), level_share(word));
                let _ = word.parse::<Device>();
            })
        }),
        rig::trial("a journal cut at every byte of its last two lines is read", &[], cut_anywhere),
        rig::trial("a journal that is damaged before its end names the line", &[], damaged_inside),
        rig::trial("a journal of a newer program is refused by its name", &[], newer),
    ])
}

fn profiles() -> Vec<String> {
    let names = ["quick", "ci", "acceptance", "fill-volume", "space-throughput", "snia-wsat"];
    names.iter().filter_map(|name| builtin::text(name)).map(str::to_owned).collect()
}

fn lines() -> Vec<String> {
    JOURNAL.lines().map(str::to_owned).collect()
}

/// What may follow once a profile is accepted.
fn check_profile(profile: &Profile) {
    let text = profile.to_toml();
    let again = Profile::parse(&text).unwrap_or_else(|why| panic!("its own TOML is refused: {why}\n{text}"));
    assert_eq!(again.fingerprint(), profile.fingerprint(), "{text}");
    for usable in [0, 1 << 20, 100 * GIB, u64::MAX] {
        let (drive, in_use) = (Some(Bytes(usable)), Some(Bytes(usable / 3)));
        let _ = Plan::new(profile, Capacity { usable: Bytes(usable), drive, in_use });
    }
}

/// What may follow once a journal is read: everything that makes a report of it.
fn check_journal(bytes: &[u8]) {
    let Ok((records, whole)) = file::parse(bytes) else { return };
    assert!(whole <= bytes.len() as u64);
    let Ok(replay) = Replay::new(records) else { return };
    let report = compose::report(&replay);
    let (_, _) = (replay.conservation(), replay.bytes_written());
    let _ = (json::render(&report), markdown::render(&report), junit::render(&report));
}

/// Feeds `cases` hostile variants of `valid` to `check`.
fn hostile(cases: u32, valid: &[String], check: impl Fn(&str)) -> Result<()> {
    let seed = Dice::new().seed();
    rig::note(&format!("{}={seed}", dice::SEED));
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    let random = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
    let config = Config { cases, failure_persistence: None, ..Config::default() };
    let mut runner = TestRunner::new_with_rng(config, random);
    let change = (any::<u8>(), any::<u32>(), any::<u16>(), any::<u16>());
    let noise = prop_oneof![
        1 => proptest::collection::vec(any::<u8>(), 0..200).prop_map(Err),
        9 => (any::<u32>(), proptest::collection::vec(change, 1..6)).prop_map(Ok),
    ];
    let outcome = runner.run(&noise, |noise| {
        let text = match noise {
            Err(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
            Ok((which, changes)) => {
                let text = valid[which as usize % valid.len()].clone();
                changes.into_iter().fold(text, changed)
            }
        };
        check(&text);
        Ok(())
    });
    outcome.map_err(|why| anyhow::anyhow!("{}={seed}: {why}", dice::SEED))
}

/// Texts at the edge of what fields hold.
const EDGES: [&str; 24] = [
    "0",
    "-1",
    "1",
    "9007199254740993",
    "18446744073709551615",
    "18446744073709551616",
    "4294967295",
    "4294967296",
    "9223372036854775807",
    "1e308",
    "1e-308",
    "nan",
    "null",
    "true",
    "\"\"",
    "[]",
    "{}",
    "]",
    "}",
    "\n",
    "\u{0}",
    "\"",
    "9999999999999999TiB",
    "\u{1f4be}",
];

/// One change: cut, doubled, moved, replaced by an edge, or a number replaced by one.
fn changed(text: String, (kind, place, length, edge): (u8, u32, u16, u16)) -> String {
    let chars: Vec<char> = text.chars().collect();
    if chars.is_empty() {
        return text;
    }
    let from = place as usize % chars.len();
    let to = (from + 1 + usize::from(length) % 40).min(chars.len());
    let edge = EDGES[usize::from(edge) % EDGES.len()];
    let part: String = chars[from..to].iter().collect();
    let (before, after): (String, String) = (chars[..from].iter().collect(), chars[to..].iter().collect());
    match kind % 10 {
        0 => before + &after,
        1 => before + &part + &part + &after,
        2 => after + &part + &before,
        3 => before + edge + &after,
        4 => before + &part,
        _ => number_replaced(&chars, from, edge),
    }
}

/// The first number at or after `from`, wrapping around, replaced.
fn number_replaced(chars: &[char], from: usize, with: &str) -> String {
    let at = |i: usize| (from + i) % chars.len();
    let Some(start) = (0..chars.len()).map(at).find(|&i| chars[i].is_ascii_digit()) else {
        return chars.iter().collect();
    };
    let end = (start..chars.len()).find(|&i| !chars[i].is_ascii_digit()).unwrap_or(chars.len());
    chars[..start].iter().chain(with.chars().collect::<Vec<_>>().iter()).chain(&chars[end..]).collect()
}

fn cut_anywhere() -> Result<()> {
    let bytes = JOURNAL.as_bytes();
    let (all, whole) = file::parse(bytes).map_err(|(number, why)| anyhow::anyhow!("line {number}: {why}"))?;
    ensure!(whole == bytes.len() as u64, "the journal itself is not whole");
    let ends: Vec<usize> = bytes.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at + 1).collect();
    let [.., third_last, second_last, _] = ends[..] else { anyhow::bail!("a journal of {} lines", ends.len()) };
    for cut in third_last..=bytes.len() {
        let (records, whole) = file::parse(&bytes[..cut])
            .map_err(|(number, why)| anyhow::anyhow!("cut at {cut}: line {number}: {why}"))?;
        let (lines, end) = match cut {
            cut if cut == bytes.len() => (all.len(), cut),
            cut if cut >= second_last => (all.len() - 1, second_last),
            _ => (all.len() - 2, third_last),
        };
        ensure!(
            whole == end as u64 && records == all[..lines],
            "cut at {cut}: {} records, {whole} bytes",
            records.len()
        );
        let replay = Replay::new(records)?;
        ensure!(replay.conservation().is_empty(), "cut at {cut}: {:?}", replay.conservation());
        ensure!(replay.end.is_some() == (cut == bytes.len()), "cut at {cut}: {:?}", replay.end);
    }
    Ok(())
}

fn damaged_inside() -> Result<()> {
    for number in 1..lines().len() {
        let mut lines = lines();
        lines[number - 1].truncate(10);
        let text = lines.join("\n") + "\n";
        match file::parse(text.as_bytes()) {
            Err((found, LineError::Damaged(_))) => ensure!(found == number, "line {found} instead of {number}"),
            other => anyhow::bail!("line {number} is damaged: {other:?}"),
        }
    }
    Ok(())
}

fn newer() -> Result<()> {
    let text = JOURNAL.replacen(
        "\"schema\":1,\"program\":\"storage-check 0.1.0\"",
        "\"schema\":2,\"program\":\"storage-check 9.9\"",
        1,
    );
    match file::parse(text.as_bytes()) {
        Err((1, why @ LineError::Newer { found: 2, .. })) => {
            ensure!(why.to_string().contains("storage-check 9.9"), "{why}");
            Ok(())
        }
        other => anyhow::bail!("{other:?}"),
    }
}
