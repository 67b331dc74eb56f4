//! How many valid pages each block has, and the closed block with the fewest, in constant time.
//!
//! Closed blocks stand in doubly linked lists, one for each number of valid pages. Losing a page moves a block one
//! list down, so the lowest list that is not empty falls by one at most; it rises only past lists that are empty.

/// No block.
const NONE: u32 = u32::MAX;

/// Where an open or erased block stands: in no list.
const LOOSE: u32 = u32::MAX - 1;

/// One block; its three words are used together.
#[derive(Clone, Copy, Debug)]
struct Block {
    /// Valid pages.
    valid: u32,
    /// Neighbours in its list; `previous` is `LOOSE` in no list.
    previous: u32,
    next: u32,
}

/// All blocks.
#[derive(Debug)]
pub(super) struct Blocks {
    pages_shift: u32,
    blocks: Vec<Block>,
    /// First block with this many valid pages.
    heads: Vec<u32>,
    /// No list below this one has a block.
    lowest: usize,
}

impl Blocks {
    /// `count` erased blocks of `pages` pages, a power of two.
    pub(super) fn new(count: u32, pages: u32) -> Blocks {
        Blocks {
            pages_shift: pages.trailing_zeros(),
            blocks: vec![Block { valid: 0, previous: LOOSE, next: NONE }; count as usize],
            heads: vec![NONE; pages as usize + 1],
            lowest: 0,
        }
    }

    /// Pages of a block.
    pub(super) fn pages(&self) -> u32 {
        1 << self.pages_shift
    }

    /// Valid pages of all blocks.
    #[cfg(test)]
    pub(super) fn valid_pages(&self) -> u64 {
        self.blocks.iter().map(|block| u64::from(block.valid)).sum()
    }

    /// So many pages from `page` on, in an open block, become valid.
    #[inline]
    pub(super) fn gain(&mut self, page: u32, count: u32) {
        self.blocks[(page >> self.pages_shift) as usize].valid += count;
    }

    /// A valid page becomes invalid.
    #[inline]
    pub(super) fn lose(&mut self, page: u32) {
        let block = page >> self.pages_shift;
        let listed = self.blocks[block as usize].previous != LOOSE;
        if listed {
            self.unlink(block);
        }
        self.blocks[block as usize].valid -= 1;
        if listed {
            self.link(block);
        }
    }

    /// The block takes no more pages; it may be collected.
    pub(super) fn close(&mut self, block: u32) {
        self.link(block);
    }

    /// Takes the closed block with the fewest valid pages out of the lists, unless all are full of them.
    pub(super) fn take_emptiest(&mut self) -> Option<u32> {
        while self.lowest < self.pages() as usize {
            let block = self.heads[self.lowest];
            if block != NONE {
                self.unlink(block);
                return Some(block);
            }
            self.lowest += 1;
        }
        None
    }

    /// Takes a closed block without valid pages out of the lists.
    pub(super) fn take_empty(&mut self) -> Option<u32> {
        let block = self.heads[0];
        (block != NONE).then(|| {
            self.unlink(block);
            block
        })
    }

    /// The block, which is in no list, holds nothing any more.
    pub(super) fn erase(&mut self, block: u32) {
        self.blocks[block as usize].valid = 0;
    }

    #[inline]
    fn unlink(&mut self, block: u32) {
        let Block { valid, previous, next } = self.blocks[block as usize];
        match previous {
            NONE => self.heads[valid as usize] = next,
            previous => self.blocks[previous as usize].next = next,
        }
        if next != NONE {
            self.blocks[next as usize].previous = previous;
        }
        self.blocks[block as usize].previous = LOOSE;
    }

    #[inline]
    fn link(&mut self, block: u32) {
        let valid = self.blocks[block as usize].valid as usize;
        let next = std::mem::replace(&mut self.heads[valid], block);
        let linked = &mut self.blocks[block as usize];
        linked.previous = NONE;
        linked.next = next;
        if next != NONE {
            self.blocks[next as usize].previous = block;
        }
        self.lowest = self.lowest.min(valid);
    }
}
