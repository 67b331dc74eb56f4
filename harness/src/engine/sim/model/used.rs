//! How much of a drive holds data: one bit for each grain of its address space.

use crate::units::Bytes;

/// Bytes a bit stands for: small enough for the first touch of any file, few enough bits for terabytes.
const GRAIN: u64 = 64 << 10;

/// The grains that hold data.
#[derive(Debug)]
pub(super) struct Used {
    bits: Vec<u64>,
    grains: u64,
    capacity: u64,
}

impl Used {
    /// None of `capacity` bytes.
    pub(super) fn new(capacity: Bytes) -> Used {
        let words = capacity.0.div_ceil(GRAIN).div_ceil(64);
        Used { bits: vec![0; usize::try_from(words).unwrap_or(usize::MAX)], grains: 0, capacity: capacity.0 }
    }

    /// Bytes that hold data.
    #[inline]
    pub(super) fn bytes(&self) -> u64 {
        self.grains * GRAIN
    }

    /// Whether nothing holds data.
    pub(super) fn is_empty(&self) -> bool {
        self.grains == 0
    }

    /// Puts data into a range; gives the bytes that held none before.
    #[inline]
    pub(super) fn write(&mut self, offset: u64, len: u64) -> u64 {
        let before = self.grains;
        for grain in offset / GRAIN..(offset + len).div_ceil(GRAIN) {
            let Some(word) = self.bits.get_mut((grain / 64) as usize) else { break };
            let bit = 1 << (grain % 64);
            self.grains += u64::from(*word & bit == 0);
            *word |= bit;
        }
        (self.grains - before) * GRAIN
    }

    /// Forgets what lies wholly in a range; gives the bytes that held data.
    pub(super) fn discard(&mut self, offset: u64, len: u64) -> u64 {
        let before = self.grains;
        let end = offset.saturating_add(len);
        // The last grain may be longer than the drive.
        let last = if end >= self.capacity { self.capacity.div_ceil(GRAIN) } else { end / GRAIN };
        for grain in offset.div_ceil(GRAIN)..last {
            let Some(word) = self.bits.get_mut((grain / 64) as usize) else { break };
            let bit = 1 << (grain % 64);
            self.grains -= u64::from(*word & bit != 0);
            *word &= !bit;
        }
        (before - self.grains) * GRAIN
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_counted_once_and_forgotten_once() {
        let mut used = Used::new(Bytes(10 * GRAIN + 4096));
        assert_eq!(used.write(0, 3 * GRAIN), 3 * GRAIN);
        assert_eq!(used.write(GRAIN, 4096), 0);
        assert_eq!(used.write(10 * GRAIN, 4096), GRAIN, "the last grain counts whole");
        assert_eq!(used.discard(1, 2 * GRAIN - 1), GRAIN, "a grain that is only touched keeps its data");
        assert_eq!(used.bytes(), 3 * GRAIN);
        assert_eq!(used.discard(0, 10 * GRAIN + 4096), 3 * GRAIN);
        assert!(used.is_empty());
    }
}
