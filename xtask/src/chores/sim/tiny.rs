//! The drive of a seed: small, quick to simulate, and odd in every way that a model may be.

use harness::engine::sim::{Model, Request};
use harness::units::Nanos;

use super::draw::Dice;

/// How a tiny drive behaves.
#[derive(Clone, Debug)]
pub(super) struct Traits {
    /// Nanoseconds a byte in its cache, behind it, and to read.
    fast: f64,
    slow: f64,
    read: f64,
    /// Bytes that the cache takes.
    cache: u64,
    /// Besides the bytes.
    per_io_ns: u64,
    /// Latency that overlaps, at most: it makes requests overtake each other.
    jitter_ns: u64,
    /// One request in so many takes a pause, of so long.
    pause: Option<(u64, u64)>,
    seed: u64,
}

impl Traits {
    /// A drive that is written in about `all_ms`.
    pub(super) fn draw(dice: &mut Dice, capacity: u64, all_ms: u64) -> Traits {
        let fast = all_ms as f64 * 1e6 / capacity as f64;
        Traits {
            fast,
            slow: fast * dice.one_of(&[1.0, 1.0, 2.0, 10.0]),
            read: fast * dice.one_of(&[0.3, 1.0, 2.0]),
            cache: dice.between(0, capacity),
            per_io_ns: dice.one_of(&[500, 5_000, 50_000]),
            jitter_ns: dice.one_of(&[0, 0, 10_000, 3_000_000]),
            pause: dice.chance(30).then(|| (dice.between(20, 500), dice.between(1_000_000, 400_000_000))),
            seed: dice.roll(),
        }
    }

    /// The least that a write takes.
    pub(super) fn least_ns(&self, block: u64) -> u64 {
        self.per_io_ns + (block as f64 * self.fast) as u64
    }
}

/// A tiny drive at work.
#[derive(Debug)]
pub(super) struct Tiny {
    traits: Traits,
    dice: Dice,
    busy: Nanos,
    /// The last completion so far.
    last: Nanos,
    cached: f64,
    /// Up to when the cache was drained.
    drained: Nanos,
}

impl Tiny {
    pub(super) fn new(traits: &Traits, run_seed: u64) -> Tiny {
        let dice = Dice::new(traits.seed ^ run_seed, 3);
        Tiny { traits: traits.clone(), dice, busy: Nanos(0), last: Nanos(0), cached: 0.0, drained: Nanos(0) }
    }

    fn take(&mut self, now: Nanos, cost: f64) -> Nanos {
        let pause = match self.traits.pause {
            Some((one_in, pause)) if self.dice.roll().is_multiple_of(one_in) => pause,
            _ => 0,
        };
        self.busy = Nanos(self.busy.max(now).0 + self.traits.per_io_ns + cost as u64 + pause);
        let at = Nanos(self.busy.0 + self.dice.between(0, self.traits.jitter_ns));
        self.last = self.last.max(at);
        at
    }
}

impl Model for Tiny {
    fn serve(&mut self, now: Nanos, request: Request) -> Nanos {
        assert!(now >= self.drained, "time went back from {:?} to {now:?}", self.drained);
        self.cached = (self.cached - (now.0 - self.drained.0) as f64 / self.traits.slow).max(0.0);
        self.drained = now;
        match request {
            Request::Write { len, .. } => {
                self.cached += f64::from(len);
                let full = self.cached > self.traits.cache as f64;
                let rate = if full { self.traits.slow } else { self.traits.fast };
                self.take(now, f64::from(len) * rate)
            }
            Request::Read { len, .. } => self.take(now, f64::from(len) * self.traits.read),
            Request::Flush => self.last.max(now),
            Request::Discard { .. } => Nanos(now.0 + self.traits.per_io_ns),
        }
    }
}
