//! What makes two samples of the same drive differ: jitter an I/O, slow wandering, rare stalls.
//!
//! Spans of the outer world: no scale changes them.

use serde::Deserialize;

use super::dice::Dice;
use crate::units::{Share, Span};

/// Noise as a drive's file describes it.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct NoiseSpec {
    /// Service times are uniform within this share of their mean, each on its own.
    pub jitter: Share,
    /// Service times of neighbouring I/Os rise and fall together.
    pub wander: Option<WanderSpec>,
    /// The drive stops now and then.
    pub stall: Option<StallSpec>,
}

impl NoiseSpec {
    /// # Errors
    /// Says which figure makes no sense.
    pub fn check(&self) -> Result<(), String> {
        if self.jitter.0.fraction() >= 1.0 {
            return Err("a jitter of 100 % or more would let I/Os take no time".to_owned());
        }
        let often = self.wander.as_ref().is_some_and(|wander| wander.every.0.0 == 0)
            || self.stall.as_ref().is_some_and(|stall| stall.every.0.0 == 0);
        if often { Err("wander and stall need an \"every\" that is not zero".to_owned()) } else { Ok(()) }
    }
}

/// A log-normal factor on service times that stays for a while.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WanderSpec {
    /// Its coefficient of variation.
    pub cv: Share,
    /// How long one draw holds.
    pub every: Span,
}

/// Stalls at exponential distances.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StallSpec {
    /// Mean time between two.
    pub every: Span,
    /// How long one lasts.
    pub time: Span,
}

/// Where the noise stands.
#[derive(Debug)]
pub(super) struct Noise {
    jitter: f64,
    jitter_dice: Dice,
    wander: Option<(WanderSpec, Dice)>,
    stall: Option<(StallSpec, Dice)>,
    factor: f64,
    /// When the wandering factor is drawn again.
    turn: f64,
    /// When the next stall comes.
    next_stall: f64,
}

impl Noise {
    pub(super) fn new(spec: &NoiseSpec, seed: u64) -> Noise {
        let mut stall_dice = Dice::new(seed, "stall");
        let never = f64::INFINITY;
        Noise {
            jitter: spec.jitter.0.fraction(),
            jitter_dice: Dice::new(seed, "jitter"),
            factor: 1.0,
            turn: if spec.wander.is_some() { 0.0 } else { never },
            next_stall: spec.stall.as_ref().map_or(never, |stall| stall_dice.exponential(stall.every.0.0 as f64)),
            wander: spec.wander.clone().map(|wander| (wander, Dice::new(seed, "wander"))),
            stall: spec.stall.clone().map(|stall| (stall, stall_dice)),
        }
    }

    /// What becomes of a service time of `ns` that begins at `now`.
    #[inline]
    pub(super) fn pass(&mut self, now: f64, ns: f64) -> f64 {
        if now >= self.turn {
            self.draw_factor(now);
        }
        let spread = if self.jitter > 0.0 { 1.0 + self.jitter * (2.0 * self.jitter_dice.uniform() - 1.0) } else { 1.0 };
        let stalled = if now >= self.next_stall { self.stalled(now) } else { 0.0 };
        ns * self.factor * spread + stalled
    }

    fn draw_factor(&mut self, now: f64) {
        if let Some((wander, dice)) = &mut self.wander {
            self.factor = dice.factor(wander.cv.0.fraction());
            self.turn = now + wander.every.0.0 as f64;
        }
    }

    fn stalled(&mut self, now: f64) -> f64 {
        let Some((stall, dice)) = &mut self.stall else { return 0.0 };
        let time = stall.time.0.0 as f64;
        self.next_stall = now + time + dice.exponential(stall.every.0.0 as f64);
        time
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::{Nanos, Ppm};

    #[test]
    fn jitter_keeps_the_mean_and_stalls_come_as_often_as_stated() {
        for seed in 0..5 {
            let spec = NoiseSpec {
                jitter: Share(Ppm(300_000)),
                wander: None,
                stall: Some(StallSpec { every: Span(Nanos::from_secs(10)), time: Span(Nanos::from_millis(200)) }),
            };
            let mut noise = Noise::new(&spec, seed);
            let (mut now, mut work, mut count, mut stalls) = (0.0, 0.0, 0_u32, 0_u32);
            while now < 10_000e9 {
                let ns = noise.pass(now, 10e6);
                now += ns;
                if ns > 100e6 {
                    stalls += 1;
                } else {
                    (work, count) = (work + ns, count + 1);
                }
            }
            assert!((work / f64::from(count) / 10e6 - 1.0).abs() < 0.002, "seed {seed}: {work}, {count}");
            // 10,000 s / 10.2 s, with a Poisson count's spread of 3 %.
            assert!((880..1080).contains(&stalls), "seed {seed}: {stalls} stalls");
        }
    }

    #[test]
    fn wandering_has_the_spread_it_says_and_holds_for_its_span() {
        let wander = WanderSpec { cv: Share(Ppm(50_000)), every: Span(Nanos::from_secs(1)) };
        let mut noise = Noise::new(&NoiseSpec { wander: Some(wander), ..NoiseSpec::default() }, 3);
        let factors: Vec<f64> = (0..20_000).map(|n| noise.pass(f64::from(n) * 0.5e9, 1.0)).collect();
        assert!(factors.chunks(2).all(|pair| pair[0] == pair[1]));
        let square = factors.iter().map(|f| (f - 1.0) * (f - 1.0)).sum::<f64>() / factors.len() as f64;
        assert!((libm::sqrt(square) / 0.05 - 1.0).abs() < 0.05, "{square}");
    }
}
