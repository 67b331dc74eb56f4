//! For tests: drives models with a closed loop on a virtual clock, and reads rates off what came of it.

use std::collections::VecDeque;

use super::dice::Dice;
use crate::engine::sim::{Model, Request};
use crate::units::{MIB, Nanos};

/// A model and its clock.
pub(crate) struct Bench<M> {
    pub(crate) model: M,
    pub(crate) now: Nanos,
}

/// Bytes an interval.
pub(crate) struct Curve {
    interval_s: f64,
    bytes: Vec<u64>,
    pub(crate) elapsed_s: f64,
}

impl Curve {
    pub(crate) fn total(&self) -> u64 {
        self.bytes.iter().sum()
    }

    /// MiB/s from one second to another.
    pub(crate) fn rate(&self, from_s: f64, to_s: f64) -> f64 {
        let at = |s: f64| ((s / self.interval_s).round() as usize).min(self.bytes.len());
        let part = &self.bytes[at(from_s)..at(to_s)];
        part.iter().sum::<u64>() as f64 / MIB as f64 / (part.len() as f64 * self.interval_s)
    }

    /// MiB/s of each interval that is whole.
    pub(crate) fn rates(&self) -> Vec<f64> {
        let whole = (self.elapsed_s / self.interval_s) as usize;
        self.bytes[..whole].iter().map(|&bytes| bytes as f64 / MIB as f64 / self.interval_s).collect()
    }

    /// MiB/s while the bytes from one count to another were written.
    pub(crate) fn rate_between(&self, from: u64, to: u64) -> f64 {
        let mut sum = 0;
        let inside = self.bytes.iter().filter(|&&bytes| {
            sum += bytes;
            from < sum && sum <= to
        });
        let (count, bytes) = inside.fold((0_u32, 0), |(count, all), bytes| (count + 1, all + bytes));
        bytes as f64 / MIB as f64 / (f64::from(count) * self.interval_s)
    }

    /// Bytes until the rate of an interval first falls below `mib_s`, read in the middle of that interval.
    pub(crate) fn falls_below(&self, mib_s: f64) -> u64 {
        let mut sum = 0;
        for &bytes in &self.bytes {
            if (bytes as f64) < mib_s * MIB as f64 * self.interval_s {
                return sum + bytes / 2;
            }
            sum += bytes;
        }
        sum
    }
}

impl<M: Model> Bench<M> {
    pub(crate) fn new(model: M) -> Bench<M> {
        Bench { model, now: Nanos(0) }
    }

    /// Keeps `depth` requests in flight until they end or `most_s` seconds have passed.
    pub(crate) fn run(
        &mut self,
        requests: impl Iterator<Item = Request>,
        depth: usize,
        interval_s: f64,
        most_s: f64,
    ) -> Curve {
        let start = self.now;
        let mut curve = Curve { interval_s, bytes: Vec::new(), elapsed_s: 0.0 };
        let mut flying: VecDeque<(Nanos, u64)> = VecDeque::new();
        let end = start.0 + (most_s * 1e9) as u64;
        let mut count = |(at, len): (Nanos, u64)| {
            let interval = ((at - start).secs() / interval_s) as usize;
            if curve.bytes.len() <= interval {
                curve.bytes.resize(interval + 1, 0);
            }
            curve.bytes[interval] += len;
            at
        };
        for request in requests {
            if flying.len() == depth {
                self.now = count(flying.pop_front().expect("depth is not zero"));
            }
            if self.now.0 >= end {
                break;
            }
            let len = match request {
                Request::Write { len, .. } | Request::Read { len, .. } => u64::from(len),
                Request::Flush | Request::Discard { .. } => 0,
            };
            let done = self.model.serve(self.now, request);
            assert!(done >= self.now && flying.back().is_none_or(|&(last, _)| last <= done), "time ran backwards");
            flying.push_back((done, len));
        }
        while let Some(last) = flying.pop_front() {
            self.now = count(last);
        }
        curve.elapsed_s = (self.now - start).secs();
        curve
    }

    /// Writes `range` bytes once, in order.
    pub(crate) fn fill(&mut self, range: u64, block: u32, interval_s: f64) -> Curve {
        self.run(writes(0, range, block), 1, interval_s, 1e9)
    }

    /// Uniform random writes over `range` bytes for so many seconds.
    pub(crate) fn random(&mut self, range: u64, block: u32, depth: usize, seconds: f64) -> Curve {
        self.run(random_writes(7, range, block), depth, 10.0, seconds)
    }

    /// Discards everything below `capacity`.
    pub(crate) fn purge(&mut self, capacity: u64) {
        self.model.serve(self.now, Request::Discard { offset: 0, len: capacity });
    }

    /// Lets time pass.
    pub(crate) fn rest(&mut self, seconds: f64) {
        self.now = Nanos(self.now.0 + (seconds * 1e9) as u64);
    }
}

/// Sequential writes from `start` on.
pub(crate) fn writes(start: u64, len: u64, block: u32) -> impl Iterator<Item = Request> {
    (0..len / u64::from(block)).map(move |n| Request::Write { offset: start + n * u64::from(block), len: block })
}

/// Endless uniform random writes.
pub(crate) fn random_writes(seed: u64, range: u64, block: u32) -> impl Iterator<Item = Request> {
    let mut dice = Dice::new(seed, "offsets");
    let blocks = range / u64::from(block);
    std::iter::repeat_with(move || {
        let at = ((u128::from(dice.bits()) * u128::from(blocks)) >> 64) as u64;
        Request::Write { offset: at * u64::from(block), len: block }
    })
}
