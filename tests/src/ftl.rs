//! A small flash translation layer that collects garbage greedily: random writes on a purged, once filled range have a
//! plateau, a cliff, an undershoot, an overshoot and a steady state, and nobody drew them.
//!
//! Page-mapped, one block open for the host and one for the collector, victims with the fewest valid pages (Desnoyers
//! 2012; the design's model of a drive is far richer). Knows nothing of what the analysis finds.

use harness::analysis::known::{Known, Workload};
use harness::analysis::series::{Series, Step};
use harness::units::{Bytes, Nanos};

use crate::dice::Dice;

/// Pages of a block.
const PAGES: usize = 64;
/// Bytes of a page of the model, which stands for many of a drive.
const PAGE: u64 = 16 << 20;
/// Erased blocks that are kept for the collector.
const SPARE: usize = 3;
/// No block, no page.
const NONE: u32 = u32::MAX;

/// A drive and what is done to it.
#[derive(Clone, Copy, Debug)]
pub struct Ftl {
    /// Blocks of raw flash.
    pub blocks: usize,
    /// The drive's size as a share of its flash.
    pub offered: f64,
    /// The range as a share of the drive.
    pub range: f64,
    /// How often the range is overwritten.
    pub times: f64,
    /// Samples of one overwriting.
    pub samples: f64,
    /// Deviation of the rate from sample to sample.
    pub noise: f64,
}

/// The drive's state.
struct Drive {
    /// Physical page of each logical one.
    map: Vec<u32>,
    /// Logical page of each physical one.
    owner: Vec<u32>,
    /// Valid pages of each block.
    valid: Vec<u32>,
    full: Vec<bool>,
    erased: Vec<u32>,
    /// The blocks that are open, and pages programmed in each.
    host: (u32, usize),
    collector: (u32, usize),
    /// Pages programmed.
    programmed: u64,
}

impl Ftl {
    /// What is known of the drive.
    #[must_use]
    pub fn known(&self) -> Known {
        let bytes = |share: f64| Bytes((self.blocks * PAGES) as u64 * PAGE).0 as f64 * share;
        Known {
            workload: Workload::RandomWrite,
            drive: Some(Bytes(bytes(self.offered) as u64)),
            range: Some(Bytes(bytes(self.offered * self.range) as u64)),
            others: Bytes(0),
        }
    }

    /// The series of random writes after the range was filled once.
    #[must_use]
    pub fn series(&self, seed: u64) -> Series {
        let mut dice = Dice::of(seed);
        let pages = (self.blocks as f64 * PAGES as f64 * self.offered * self.range) as u32;
        let mut drive = Drive::new(self.blocks, pages);
        (0..pages).for_each(|page| drive.write(page));
        // Flash and host programme 1 GB/s; a sample is as long as on the plateau takes its share of the range.
        let page_ns = PAGE as f64;
        let sample_ns = f64::from(pages) / self.samples * page_ns;
        let (mut now, mut last, mut bytes) = (0.0, 0.0, 0);
        let mut steps = Vec::new();
        for _ in 0..(f64::from(pages) * self.times) as u64 {
            let before = drive.programmed;
            drive.write(dice.below(u64::from(pages)) as u32);
            now += (drive.programmed - before) as f64 * page_ns;
            bytes += PAGE;
            if now >= last + sample_ns {
                let luck = (1.0 + self.noise * dice.normal()).max(0.1);
                let elapsed_ns = Nanos(((now - last) / luck) as u64);
                steps.push(Step { elapsed_ns, bytes: Bytes(std::mem::take(&mut bytes)) });
                last = now;
            }
        }
        Series::new(steps)
    }
}

impl Drive {
    fn new(blocks: usize, pages: u32) -> Drive {
        let mut erased: Vec<u32> = (0..blocks as u32).collect();
        let mut open = || (erased.pop().unwrap_or(NONE), 0);
        let (host, collector) = (open(), open());
        Drive {
            map: vec![NONE; pages as usize],
            owner: vec![NONE; blocks * PAGES],
            valid: vec![0; blocks],
            full: vec![false; blocks],
            erased,
            host,
            collector,
            programmed: 0,
        }
    }

    /// Writes a logical page.
    fn write(&mut self, page: u32) {
        if self.host.1 == PAGES {
            self.full[self.host.0 as usize] = true;
            while self.erased.len() <= SPARE {
                self.collect();
            }
            self.host = (self.erased.pop().unwrap_or(NONE), 0);
        }
        let at = self.host;
        self.host.1 += 1;
        self.program(page, at);
    }

    /// Moves what is valid in the emptiest full block, and erases it.
    fn collect(&mut self) {
        let full = (0..self.full.len()).filter(|&block| self.full[block]);
        let Some(victim) = full.min_by_key(|&block| self.valid[block]) else { return };
        for physical in victim * PAGES..(victim + 1) * PAGES {
            if self.owner[physical] == NONE {
                continue;
            }
            if self.collector.1 == PAGES {
                self.full[self.collector.0 as usize] = true;
                self.collector = (self.erased.pop().unwrap_or(NONE), 0);
            }
            let at = self.collector;
            self.collector.1 += 1;
            self.program(self.owner[physical], at);
        }
        self.full[victim] = false;
        self.erased.push(victim as u32);
    }

    fn program(&mut self, page: u32, (block, at): (u32, usize)) {
        let old = std::mem::replace(&mut self.map[page as usize], block * PAGES as u32 + at as u32);
        if old != NONE {
            self.owner[old as usize] = NONE;
            self.valid[old as usize / PAGES] -= 1;
        }
        self.owner[block as usize * PAGES + at] = page;
        self.valid[block as usize] += 1;
        self.programmed += 1;
    }
}
