//! Whether a rate settled, for scripts: the same of a level and of an imported series.

use serde::Serialize;

use super::Number;
use crate::report::SteadyLine;

#[derive(Serialize)]
pub(super) struct Steady {
    state: &'static str,
    mb_s: Option<Number>,
    low_mb_s: Option<Number>,
    high_mb_s: Option<Number>,
    since_s: Option<Number>,
    decided_s: Option<Number>,
    decided_mb_s: Option<Number>,
    own: Option<Evidence>,
    snia: Option<Evidence>,
    oscillation: Option<Oscillation>,
}

/// What a rule saw over its last window.
#[derive(Serialize)]
struct Evidence {
    range: Number,
    excursion: Number,
}

#[derive(Serialize)]
struct Oscillation {
    period_s: Number,
    low_mb_s: Number,
    high_mb_s: Number,
}

pub(super) fn steady(found: &SteadyLine) -> Steady {
    let evidence = |(range, excursion)| Evidence { range: Number(range), excursion: Number(excursion) };
    Steady {
        state: found.state,
        mb_s: found.mb_s.map(Number),
        low_mb_s: found.bounds_mb_s.map(|(low, _)| Number(low)),
        high_mb_s: found.bounds_mb_s.map(|(_, high)| Number(high)),
        since_s: found.since_s.map(Number),
        decided_s: found.decided.map(|(seconds, _)| Number(seconds)),
        decided_mb_s: found.decided.map(|(_, mb_s)| Number(mb_s)),
        own: found.own.map(evidence),
        snia: found.snia.map(evidence),
        oscillation: found.oscillation.map(|wave| Oscillation {
            period_s: Number(wave.period_s),
            low_mb_s: Number(wave.low_mb_s),
            high_mb_s: Number(wave.high_mb_s),
        }),
    }
}
