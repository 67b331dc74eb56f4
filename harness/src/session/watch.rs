//! Watches random writes for their steady state, so that a level may end as soon as it is reached.
//!
//! Owns what the run loop asks once an interval; when a series is steady is the analysis' to say.

use super::compose;
use crate::analysis::claim::Observer;
use crate::analysis::series::Step;
use crate::plan::phase::{Phase, Plan};
use crate::sample::Sample;

/// Whether a level is steady, sample by sample; each level from its own start.
pub(super) fn until_steady(plan: &Plan) -> impl FnMut(&Phase, &Sample) -> bool {
    let mut level: Option<(String, u32, Observer)> = None;
    move |phase, sample| {
        let (_, _, observer) = match &mut level {
            Some(level) if level.0 == phase.id && level.1 == sample.attempt => level,
            other => {
                let known = compose::known(plan, phase);
                other.insert((phase.id.clone(), sample.attempt, Observer::new(&known)))
            }
        };
        observer.push(Step { elapsed_ns: sample.elapsed_ns, bytes: sample.bytes }).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::phase::Capacity;
    use crate::plan::profile::Profile;
    use crate::units::{Bytes, Nanos};

    /// Samples of this many bytes until the watch has seen enough, at most 1000.
    fn samples(watch: &mut impl FnMut(&Phase, &Sample) -> bool, phase: &Phase, bytes: impl Fn(u64) -> u64) -> u64 {
        let sample = |n| Sample { elapsed_ns: Nanos::from_secs(1), bytes: Bytes(bytes(n)), ..Sample::default() };
        (0..1000).find(|&n| watch(phase, &sample(n))).unwrap_or(1000)
    }

    #[test]
    fn each_level_ends_when_it_is_steady_and_none_on_its_plateau() {
        let text = "name = 'x'\nversion = 1\n[random_write]\nlevels = ['50pct', '80pct']\nstop = 'steady'";
        let capacity =
            Capacity { usable: Bytes(95 << 30), drive: Some(Bytes(100 << 30)), in_use: Some(Bytes(1 << 30)) };
        let plan = Plan::new(&Profile::parse(text).unwrap(), capacity).unwrap();
        let mut watch = until_steady(&plan);
        for level in ["50pct", "80pct"] {
            let phase = plan.phase(&format!("random_write.{level}.write")).unwrap();
            let range = phase.layout.bytes().0 >> 30;
            // The flash, 110 GiB, is used up after this many samples of 1 GiB; then each is of half a GiB.
            let cliff = 109 - range;
            let seen = samples(&mut watch, phase, |n| if n < cliff { 1 << 30 } else { 1 << 29 });
            assert!((cliff + 2 * range..cliff + 5 * range / 2).contains(&seen), "{level}: {seen}, cliff at {cliff}");
        }
    }
}
