//! What a simulated drive holds: for every unit which write put it there, and no data.
//!
//! A drive is cut into chunks. Sequential writes leave a chunk in one or two parts, whatever the block; random writes
//! turn it into a table with an entry a block. So a terabyte that was filled takes megabytes, and a random write is
//! two look-ups. Knows neither files nor time.

/// What stamps say for each unit of this many bytes; also the drive's logical block.
pub const UNIT: u64 = 4096;
/// Bytes of a chunk.
const CHUNK: u64 = 4 << 20;
/// Units of a chunk.
const UNITS: u32 = (CHUNK / UNIT) as u32;

/// What one write, or many that belong together, put on the drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Written {
    /// Offset in the linear space less place on the drive, modulo 2^64: it gives each unit's own stamp.
    pub shift: u64,
    /// Of the run.
    pub seed: u64,
    /// Which writing of that place.
    pub generation: u32,
    /// Zeros, but for the last unit of every so many bytes of the linear space; none where every unit is stamped.
    pub zeros: Option<u64>,
}

/// Which write put a unit there: an index, or none for zeros that nobody wrote.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Id(u32);

/// Never written, or discarded since.
const NOTHING: Id = Id(0);

/// Part of the drive. Positions are units from its start.
#[derive(Clone, Debug)]
enum Chunk {
    Whole(Id),
    Split {
        at: u32,
        low: Id,
        high: Id,
    },
    /// An entry for each `1 << shift` units.
    Mixed {
        shift: u32,
        ids: Box<[Id]>,
    },
}

/// What all units hold.
#[derive(Debug)]
pub struct Contents {
    /// By id less one.
    known: Vec<Written>,
    /// The last one found in `known`.
    last: Option<(Written, Id)>,
    chunks: Vec<Chunk>,
}

impl Contents {
    /// A drive of `capacity` bytes on which nothing was ever written.
    #[must_use]
    pub fn new(capacity: u64) -> Contents {
        let chunks = vec![Chunk::Whole(NOTHING); usize::try_from(capacity.div_ceil(CHUNK)).unwrap_or(usize::MAX)];
        Contents { known: Vec::new(), last: None, chunks }
    }

    /// Puts `written` on `len` bytes from `place`, or takes away what was there. Both are whole units on the drive.
    #[inline]
    pub fn set(&mut self, place: u64, len: u64, written: Option<Written>) {
        let id = written.map_or(NOTHING, |written| self.id(written));
        for (chunk, from, to) in pieces(place, len) {
            if let Some(chunk) = self.chunks.get_mut(chunk) {
                chunk.set(from, to, id);
            }
        }
    }

    /// What lies on `len` bytes from `place`: runs of units that one write put there, in order.
    pub fn runs(&self, place: u64, len: u64, mut run: impl FnMut(u64, u64, Option<Written>)) {
        for (index, from, to) in pieces(place, len) {
            let Some(chunk) = self.chunks.get(index) else { continue };
            let mut at = from;
            while at < to {
                let (id, end) = chunk.run(at);
                let end = end.min(to);
                let written = (id.0 as usize).checked_sub(1).and_then(|known| self.known.get(known)).copied();
                run(index as u64 * CHUNK + u64::from(at) * UNIT, u64::from(end - at) * UNIT, written);
                at = end;
            }
        }
    }

    #[inline]
    fn id(&mut self, written: Written) -> Id {
        if let Some((last, id)) = self.last
            && last == written
        {
            return id;
        }
        // There are as many as a run has attempts, times the parts that a file lies in: few.
        let known = self.known.iter().position(|known| *known == written).unwrap_or_else(|| {
            self.known.push(written);
            self.known.len() - 1
        });
        let id = Id(u32::try_from(known + 1).unwrap_or(u32::MAX));
        self.last = Some((written, id));
        id
    }
}

/// The parts of a range by chunk: its index, first unit and one past the last.
#[inline]
fn pieces(place: u64, len: u64) -> impl Iterator<Item = (usize, u32, u32)> {
    let (mut at, end) = (place, place + len);
    std::iter::from_fn(move || {
        (at < end).then(|| {
            let chunk = at / CHUNK;
            let stop = end.min((chunk + 1) * CHUNK);
            let unit = |byte: u64| ((byte - chunk * CHUNK) / UNIT) as u32;
            let piece = (chunk as usize, unit(at), unit(stop));
            at = stop;
            piece
        })
    })
}

impl Chunk {
    #[inline]
    fn set(&mut self, from: u32, to: u32, id: Id) {
        if let Chunk::Mixed { shift, ids } = self
            && (from | to) & ((1 << *shift) - 1) == 0
            && to - from < UNITS
        {
            ids[(from >> *shift) as usize..(to >> *shift) as usize].fill(id);
            return;
        }
        *self = self.with(from, to, id);
    }

    /// The chunk after a write, in the simplest form that holds it.
    fn with(&self, from: u32, to: u32, id: Id) -> Chunk {
        let split = |at, low, high| match at {
            0 => Chunk::Whole(high),
            UNITS => Chunk::Whole(low),
            _ if low == high => Chunk::Whole(low),
            _ => Chunk::Split { at, low, high },
        };
        if to - from == UNITS {
            return Chunk::Whole(id);
        }
        match *self {
            Chunk::Whole(old) if from == 0 => split(to, id, old),
            Chunk::Whole(old) if to == UNITS => split(from, old, id),
            Chunk::Whole(old) if old == id => Chunk::Whole(id),
            Chunk::Split { at, high, .. } if from == 0 && to >= at => split(to, id, high),
            Chunk::Split { at, low, .. } if to == UNITS && from <= at => split(from, low, id),
            Chunk::Split { at, low, high } if low == id && from <= at => split(at.max(to), low, high),
            Chunk::Split { at, low, high } if high == id && to >= at => split(at.min(from), low, high),
            _ => self.mixed(from, to, id),
        }
    }

    fn mixed(&self, from: u32, to: u32, id: Id) -> Chunk {
        let borders = match *self {
            Chunk::Whole(_) => UNITS,
            Chunk::Split { at, .. } => at,
            Chunk::Mixed { shift, .. } => 1 << shift,
        };
        let shift = (borders | from | to | UNITS).trailing_zeros();
        let mut ids: Box<[Id]> = (0..UNITS >> shift).map(|entry| self.run(entry << shift).0).collect();
        ids[(from >> shift) as usize..(to >> shift) as usize].fill(id);
        Chunk::Mixed { shift, ids }
    }

    /// What lies at a unit, and where that ends.
    fn run(&self, at: u32) -> (Id, u32) {
        match self {
            Chunk::Whole(id) => (*id, UNITS),
            Chunk::Split { at: border, low, .. } if at < *border => (*low, *border),
            Chunk::Split { high, .. } => (*high, UNITS),
            Chunk::Mixed { shift, ids } => {
                let first = (at >> shift) as usize;
                let id = ids[first];
                let same = ids[first..].iter().take_while(|other| **other == id).count();
                (id, ((first + same) as u32) << shift)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn written(generation: u32) -> Written {
        Written { shift: 0, seed: 1, generation, zeros: None }
    }

    fn generations(contents: &Contents, units: u64) -> Vec<u32> {
        let mut all = Vec::new();
        contents.runs(0, units * UNIT, |place, len, found| {
            assert_eq!(place, all.len() as u64 * UNIT, "runs are in order and without gaps");
            all.extend(std::iter::repeat_n(found.map_or(0, |found| found.generation), (len / UNIT) as usize));
        });
        all
    }

    #[test]
    fn a_sequential_fill_leaves_no_table() {
        let mut contents = Contents::new(16 * CHUNK);
        for generation in 1..3 {
            for block in 0..16 * CHUNK / 16384 {
                contents.set(block * 16384, 16384, Some(written(generation)));
                assert!(!contents.chunks.iter().any(|chunk| matches!(chunk, Chunk::Mixed { .. })), "block {block}");
            }
        }
        assert_eq!(contents.known.len(), 2);
    }

    proptest! {
        /// The oracle: one entry a unit.
        #[test]
        fn every_unit_holds_what_was_written_last(
            writes in proptest::collection::vec((0_u32..2500, 1_u32..1200, 0_u32..6, 0_u32..4), 1..60)
        ) {
            const ALL: usize = 3 * UNITS as usize;
            let (mut contents, mut oracle) = (Contents::new(3 * CHUNK), vec![0; ALL]);
            for (from, count, align, generation) in writes {
                let from = from >> align << align;
                let to = (from + (count >> align << align).max(1 << align)).min(ALL as u32);
                let what = (generation > 0).then(|| written(generation));
                contents.set(u64::from(from) * UNIT, u64::from(to - from) * UNIT, what);
                oracle[from as usize..to as usize].fill(generation);
                prop_assert_eq!(&generations(&contents, ALL as u64), &oracle);
            }
        }
    }
}
