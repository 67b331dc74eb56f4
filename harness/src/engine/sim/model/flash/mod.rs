//! Flash behind a page-mapped translation layer: spare space, greedy garbage collection, trim.
//!
//! Every write goes to the next page of the open block; what it replaces becomes invalid where it lies. When free
//! blocks run out, the closed block with the fewest valid pages is collected: those are copied to the open block and
//! the block is erased (greedy cleaning). Nothing else is put in: the plateau until raw flash has run out once, the
//! trough after it (blocks of one age, so all victims are equally full), the overshoot (victims of which the first
//! turn left little) and the steady level follow from it.
//!
//! The collector works between the host's writes: what a victim costs is spread over the pages that it made free.
//!
//! Sources. Page mapping and greedy cleaning: Rosenblum & Ousterhout, "The Design and Implementation of a
//! Log-Structured File System", 1992; Hu et al., "Write Amplification Analysis in Flash-Based Solid State Drives",
//! SYSTOR 2009. Write amplification under uniform random writes, which the tests compare with: Xiang & Kurkoski, "An
//! Improved Analytic Expression for Write Amplification in NAND Flash", ICNC 2012 (greedy, blocks of many pages);
//! Desnoyers, "Analytic Models of SSD Write Performance", ACM Transactions on Storage 10(2), 2014, gives the same.

mod blocks;
#[cfg(test)]
mod tests;

use serde::Deserialize;

use super::Medium;
use super::setting::Setting;
use crate::units::{Bytes, MIB, Size, Span};
use blocks::Blocks;

/// Flash as a drive's file describes it.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FlashSpec {
    /// All flash that data can be in, spare space included.
    pub raw: Size,
    /// What the map maps.
    pub page: Size,
    /// What is erased at once.
    pub block: Size,
    /// Pages that are programmed or read at the same time: dies × planes × mapped pages a flash page.
    pub lanes: u32,
    /// Programs a page in each lane.
    pub program: Span,
    /// Reads a page in each lane.
    pub read: Span,
    /// Erases one block, its share of a superblock's time where all planes erase together; the map's upkeep too.
    pub erase: Span,
}

/// Free blocks that the collector keeps.
const RESERVE: usize = 2;

/// More would take more than half a gibibyte of the machine's memory.
const MOST_PAGES: u64 = 64 << 20;

impl FlashSpec {
    /// Physical pages a block, and blocks.
    fn geometry(&self, setting: &Setting) -> Option<(u32, u32)> {
        let pages = self.block.0.0.checked_div(self.page.0.0)?;
        let blocks = setting.bytes(self.raw).checked_div(self.block.0.0)?;
        Some((u32::try_from(pages).ok()?, u32::try_from(blocks).ok()?))
    }

    pub(super) fn check(&self, capacity: Bytes, setting: &Setting) -> Result<(), String> {
        let powers = |pages: u32| self.page.0.0.is_power_of_two() && pages.is_power_of_two() && pages >= 64;
        let Some((pages, blocks)) = self.geometry(setting).filter(|(pages, _)| powers(*pages)) else {
            return Err("flash needs a page and a block that are powers of two, the block 64 pages at least".to_owned());
        };
        let all = u64::from(pages) * u64::from(blocks);
        if all > MOST_PAGES {
            let least = (setting.scale * all as f64 / MOST_PAGES as f64).ceil();
            let mib = all * 8 / MIB;
            return Err(format!("a map of {all} pages would take {mib} MiB of memory: use scale={least} or more"));
        }
        if self.lanes == 0 {
            return Err("flash needs lanes, 1 at least".to_owned());
        }
        let room = u64::from(blocks).saturating_sub(RESERVE as u64 + 2) * self.block.0.0;
        if room <= capacity.0 {
            let raw = Bytes(u64::from(blocks) * self.block.0.0);
            return Err(format!("raw flash of {raw} leaves a capacity of {capacity} no spare blocks"));
        }
        Ok(())
    }
}

/// No page.
const NONE: u32 = u32::MAX;

/// The translation layer.
#[derive(Debug)]
pub(super) struct Flash {
    page_shift: u32,
    /// Physical page of each logical one.
    map: Vec<u32>,
    /// Logical page that each physical one was written with.
    owner: Vec<u32>,
    /// One bit a physical page: whether its owner is still mapped to it.
    valid: Vec<u64>,
    blocks: Blocks,
    /// Erased blocks.
    free: Vec<u32>,
    /// Next page of the open block, and the end of that block.
    open: u32,
    open_end: u32,
    program: f64,
    read: f64,
    /// A page moved by the collector: read and programmed.
    copy: f64,
    erase: f64,
    /// What the last victim adds to each page that the host writes.
    collecting: f64,
    host_pages: u64,
    copied_pages: u64,
}

impl Flash {
    pub(super) fn new(spec: &FlashSpec, capacity: Bytes, setting: &Setting) -> Flash {
        let (pages, count) = spec.geometry(setting).unwrap_or((1, 1));
        let page = spec.page.0.0;
        let logical = usize::try_from(capacity.0.div_ceil(page)).unwrap_or(usize::MAX);
        let physical = pages as usize * count as usize;
        let lanes = f64::from(spec.lanes.max(1));
        Flash {
            page_shift: page.trailing_zeros(),
            map: vec![NONE; logical],
            owner: vec![NONE; physical],
            valid: vec![0; physical.div_ceil(64)],
            blocks: Blocks::new(count, pages),
            free: (0..count).rev().collect(),
            open: 0,
            open_end: 0,
            program: setting.time(spec.program) / lanes,
            read: setting.time(spec.read) / lanes,
            copy: (setting.floor_time(spec.program) + setting.floor_time(spec.read)) / lanes,
            erase: setting.floor_time(spec.erase),
            collecting: 0.0,
            host_pages: 0,
            copied_pages: 0,
        }
    }

    /// Pages programmed over pages that the host wrote.
    pub(super) fn write_amplification(&self) -> f64 {
        1.0 + self.copied_pages as f64 / self.host_pages.max(1) as f64
    }

    /// Logical pages of a range: those that it touches.
    fn touched(&self, offset: u64, len: u64) -> std::ops::Range<usize> {
        let end = (offset + len).div_ceil(1 << self.page_shift) as usize;
        (offset >> self.page_shift) as usize..end.min(self.map.len())
    }

    /// The physical page is no longer anybody's.
    #[inline]
    fn invalidate(&mut self, physical: u32) {
        self.valid[(physical / 64) as usize] &= !(1 << (physical % 64));
        self.blocks.lose(physical);
    }

    /// Puts a logical page into the open block, which has room.
    #[inline]
    fn place(&mut self, logical: u32) {
        let physical = self.open;
        self.open += 1;
        self.map[logical as usize] = physical;
        self.owner[physical as usize] = logical;
        self.valid[(physical / 64) as usize] |= 1 << (physical % 64);
        self.blocks.gain(physical, 1);
    }

    /// Opens a free block, and keeps the reserve by collecting one.
    #[cold]
    fn open_block(&mut self) {
        if self.open_end > 0 {
            self.blocks.close((self.open_end - 1) / self.blocks.pages());
        }
        self.collecting = 0.0;
        let Some(block) = self.free.pop() else { unreachable!("the collector keeps {RESERVE} blocks") };
        self.open = block * self.blocks.pages();
        self.open_end = self.open + self.blocks.pages();
        if self.free.len() < RESERVE {
            self.collect();
        }
    }

    /// Copies what is valid in the emptiest closed block to the open one, and erases it.
    fn collect(&mut self) {
        let Some(victim) = self.blocks.take_emptiest() else { return };
        let pages = self.blocks.pages();
        let first = victim * pages;
        let to = self.open;
        for word in first / 64..(first + pages) / 64 {
            // Word by word: a branch a page, taken at random, would cost more than the copy.
            let mut left = std::mem::take(&mut self.valid[word as usize]);
            while left != 0 {
                let logical = self.owner[(word * 64 + left.trailing_zeros()) as usize];
                left &= left - 1;
                self.map[logical as usize] = self.open;
                self.owner[self.open as usize] = logical;
                self.valid[(self.open / 64) as usize] |= 1 << (self.open % 64);
                self.open += 1;
            }
        }
        let copied = self.open - to;
        self.blocks.gain(to, copied);
        self.blocks.erase(victim);
        self.free.push(victim);
        self.copied_pages += u64::from(copied);
        let freed = f64::from(pages - copied).max(1.0);
        self.collecting = (f64::from(copied) * self.copy + self.erase) / freed;
    }
}

impl Medium for Flash {
    #[inline]
    fn write(&mut self, offset: u64, len: u32) -> f64 {
        let mut ns = 0.0;
        for logical in self.touched(offset, u64::from(len)) {
            let old = self.map[logical];
            if old != NONE {
                self.invalidate(old);
            }
            if self.open == self.open_end {
                self.open_block();
            }
            self.place(logical as u32);
            self.host_pages += 1;
            ns += self.program + self.collecting;
        }
        ns
    }

    #[inline]
    fn read(&mut self, offset: u64, len: u32) -> f64 {
        self.touched(offset, u64::from(len)).len() as f64 * self.read
    }

    /// Blocks that hold nothing any more are erased when the drive has nothing else to do, so at no cost.
    fn discard(&mut self, offset: u64, len: u64) {
        let page = 1 << self.page_shift;
        let end = offset.saturating_add(len) >> self.page_shift;
        for logical in offset.div_ceil(page) as usize..(end as usize).min(self.map.len()) {
            let old = std::mem::replace(&mut self.map[logical], NONE);
            if old != NONE {
                self.invalidate(old);
            }
        }
        while let Some(empty) = self.blocks.take_empty() {
            self.free.push(empty);
        }
    }

    fn idle(&mut self, _: f64) {}
}
