//! Random offsets: independent uniform draws with replacement, seeded and counter-based.
//!
//! Counter-based (draw `n` needs no draw before it), so that a worker can start anywhere and a sequence
//! repeats from its seed. Never a permutation: covering each block once a round halves a greedy
//! collector's write amplification, and is neither what applications do nor what SNIA or sysbench ask.

/// Draws of one worker.
#[derive(Clone, Copy, Debug)]
pub struct Offsets {
    key: u64,
    counter: u64,
    blocks: u64,
    block: u64,
}

impl Offsets {
    /// Draws of worker `worker` under `seed`, over whole blocks of `block` bytes in a range of `range` bytes.
    #[must_use]
    pub fn new(seed: u64, worker: u32, range: u64, block: u64) -> Offsets {
        let key = mix(seed ^ mix(u64::from(worker).wrapping_add(0x9e37_79b9_7f4a_7c15)));
        Offsets { key, counter: 0, blocks: (range / block.max(1)).max(1), block }
    }

    /// The same sequence from its `counter`-th draw on.
    #[must_use]
    pub fn starting_at(self, counter: u64) -> Offsets {
        Offsets { counter, ..self }
    }
}

impl Iterator for Offsets {
    type Item = u64;

    /// The next offset. Maps 64 bits to the range by multiplication (Lemire 2019), whose bias is below
    /// blocks / 2^64.
    #[inline]
    fn next(&mut self) -> Option<u64> {
        let draw = mix(self.key ^ self.counter.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        self.counter = self.counter.wrapping_add(1);
        let block = (u128::from(draw) * u128::from(self.blocks)) >> 64;
        Some(block as u64 * self.block)
    }
}

/// The finalizer of SplitMix64 (Steele, Lea, Flood 2014), twice: a keyed bijection of the counter.
#[inline]
fn mix(value: u64) -> u64 {
    let once = |mut z: u64| {
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    };
    once(once(value).wrapping_add(0x9e37_79b9_7f4a_7c15))
}

#[cfg(test)]
mod tests {
    use super::*;

    const BLOCKS: u64 = 1000;

    #[test]
    fn draws_are_uniform() {
        // Chi-square with 999 degrees of freedom: 99.9 % of uniform sources stay below 1144.
        for seed in 0..20 {
            let mut counts = [0_u32; BLOCKS as usize];
            Offsets::new(seed, 0, BLOCKS * 4096, 4096).take(100_000).for_each(|at| counts[(at / 4096) as usize] += 1);
            let chi: f64 = counts.iter().map(|&n| (f64::from(n) - 100.0).powi(2) / 100.0).sum();
            assert!((850.0..1170.0).contains(&chi), "seed {seed}: chi-square {chi}");
        }
    }

    #[test]
    fn the_same_seed_gives_the_same_sequence_from_anywhere() {
        let all: Vec<u64> = Offsets::new(7, 3, 1 << 40, 4096).take(1000).collect();
        let rest: Vec<u64> = Offsets::new(7, 3, 1 << 40, 4096).starting_at(600).take(400).collect();
        assert_eq!(all[600..], rest);
        assert_ne!(all, Offsets::new(7, 4, 1 << 40, 4096).take(1000).collect::<Vec<u64>>());
    }

    #[test]
    fn draws_repeat_blocks_because_a_permutation_would_flatter_the_drive() {
        // After as many draws as blocks, uniform draws leave 1/e of them untouched; a permutation leaves none.
        let mut seen = [false; BLOCKS as usize];
        Offsets::new(1, 0, BLOCKS * 4096, 4096).take(BLOCKS as usize).for_each(|at| seen[(at / 4096) as usize] = true);
        let untouched = seen.iter().filter(|&&s| !s).count();
        assert!((320..420).contains(&untouched), "{untouched} untouched");
    }
}
