//! Claims about the collector: its write amplification is that of the published formula.

use super::*;
use crate::engine::sim::Request;
use crate::engine::sim::model::bench::random_writes;
use crate::units::{GIB, KIB, Nanos, Span};

const PAGE: u32 = 4096;
const BLOCK_PAGES: u64 = 256;

fn flash(logical_pages: u64, raw_blocks: u64) -> Flash {
    let spec = FlashSpec {
        raw: Size(Bytes(raw_blocks * BLOCK_PAGES * u64::from(PAGE))),
        page: Size(Bytes(u64::from(PAGE))),
        block: Size(Bytes(BLOCK_PAGES * u64::from(PAGE))),
        lanes: 1,
        program: Span(Nanos(1000)),
        read: Span(Nanos(100)),
        erase: Span(Nanos(10_000)),
    };
    let capacity = Bytes(logical_pages * u64::from(PAGE));
    assert_eq!(spec.check(capacity, &Setting::default()), Ok(()));
    Flash::new(&spec, capacity, &Setting::default())
}

fn write(flash: &mut Flash, pages: impl Iterator<Item = Request>) {
    for request in pages {
        let Request::Write { offset, len } = request else { unreachable!("only writes") };
        flash.write(offset, len);
    }
}

/// Xiang & Kurkoski 2012: with ρ = (raw − user) / user, the write amplification of greedy cleaning is
/// (−1 − ρ) / (−1 − ρ − W((−1 − ρ) e^(−1 − ρ))), W being Lambert's function, its principal branch.
fn formula(raw_over_user: f64) -> f64 {
    let x = -raw_over_user * libm::exp(-raw_over_user);
    // Newton's method on w·e^w = x; −1 < w < 0.
    let mut w = x;
    for _ in 0..100 {
        let e = libm::exp(w);
        w -= (w * e - x) / (e * (1.0 + w));
    }
    raw_over_user / (raw_over_user + w)
}

#[track_caller]
fn check_write_amplification(spare: f64) {
    let blocks = 2000;
    // The open block and the reserve hold nothing that can be collected.
    let raw = (blocks - 1 - RESERVE as u64) * BLOCK_PAGES;
    let user = (raw as f64 / (1.0 + spare)) as u64;
    let mut flash = flash(user, blocks);
    let range = user * u64::from(PAGE);
    write(&mut flash, (0..user).map(|page| Request::Write { offset: page * u64::from(PAGE), len: PAGE }));
    write(&mut flash, random_writes(1, range, PAGE).take(4 * raw as usize));
    (flash.host_pages, flash.copied_pages) = (0, 0);
    write(&mut flash, random_writes(2, range, PAGE).take(2 * raw as usize));
    let (measured, expected) = (flash.write_amplification(), formula(raw as f64 / user as f64));
    assert!((measured / expected - 1.0).abs() < 0.05, "spare {spare}: {measured:.3}, formula {expected:.3}");
}

#[test]
fn write_amplification_is_the_formulas_with_7_percent_spare() {
    check_write_amplification(0.07);
}

#[test]
fn write_amplification_is_the_formulas_with_20_percent_spare() {
    check_write_amplification(0.20);
}

#[test]
fn write_amplification_is_the_formulas_with_50_percent_spare() {
    check_write_amplification(0.50);
}

/// A mapped page is valid and knows its owner; a block counts its valid pages; nothing else is valid.
fn check_consistent(flash: &Flash) {
    let mut mapped = 0;
    for (logical, &physical) in flash.map.iter().enumerate().filter(|(_, physical)| **physical != NONE) {
        mapped += 1;
        assert_eq!(flash.owner[physical as usize] as usize, logical);
        assert_ne!(flash.valid[(physical / 64) as usize] & 1 << (physical % 64), 0, "page {logical} is lost");
    }
    assert_eq!(flash.valid.iter().map(|word| word.count_ones()).sum::<u32>(), mapped);
    assert_eq!(flash.blocks.valid_pages(), u64::from(mapped));
}

#[test]
fn no_page_is_lost_whatever_is_written_and_discarded() {
    for seed in 0..5 {
        let mut flash = flash(20 * BLOCK_PAGES, 26);
        let range = 20 * BLOCK_PAGES * u64::from(PAGE);
        for round in 0..20 {
            write(&mut flash, random_writes(seed * 100 + round, range, 3 * PAGE).take(2000));
            flash.discard(seed * 10_000, round * 200_000);
            check_consistent(&flash);
        }
        flash.discard(0, range);
        check_consistent(&flash);
        assert_eq!(flash.blocks.valid_pages(), 0);
        assert!(flash.free.len() >= 25, "seed {seed}: a purge erases all but the open block");
    }
}

#[test]
fn what_is_discarded_is_spare_space() {
    let pages = 400 * BLOCK_PAGES;
    let amplification = |used: u64| {
        let mut flash = flash(pages, 430);
        write(&mut flash, (0..pages).map(|page| Request::Write { offset: page * u64::from(PAGE), len: PAGE }));
        flash.discard(used * u64::from(PAGE), pages * u64::from(PAGE));
        write(&mut flash, random_writes(3, used * u64::from(PAGE), PAGE).take(4 * pages as usize));
        flash.write_amplification()
    };
    assert!(amplification(pages) > 3.0);
    assert!(amplification(pages / 2) < 1.3);
}

#[test]
fn a_map_that_memory_could_not_hold_is_refused_with_the_scale_that_would_do() {
    let spec = FlashSpec {
        raw: Size(Bytes(1075 * GIB)),
        page: Size(Bytes(4 * KIB)),
        block: Size(Bytes(4 * MIB)),
        lanes: 256,
        program: Span(Nanos(723_000)),
        read: Span(Nanos(126_000)),
        erase: Span(Nanos(13_000_000)),
    };
    let why = spec.check(Bytes(894 * GIB), &Setting::default()).unwrap_err();
    assert!(why.contains("use scale=5 or more"), "{why}");
    let why = spec.check(Bytes(1075 * GIB / 8), &Setting { scale: 8.0, ..Setting::default() }).unwrap_err();
    assert!(why.contains("no spare blocks"), "{why}");
}
