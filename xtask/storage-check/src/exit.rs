//! The exit codes: a contract with scripts and CI.

use std::process::ExitCode;

/// How the program ends. Nothing but a regression ends with 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    /// Held, improved, or a first run without a baseline.
    Held = 0,
    /// Regressed, verify errors, or a limit broken.
    Regressed = 1,
    /// Wrong arguments or an unusable file.
    Usage = 2,
    /// The target was refused; nothing was written to it.
    Refused = 3,
    /// The run failed or was interrupted, or the program itself failed.
    RunFailed = 4,
    /// Not decided.
    Inconclusive = 5,
    /// There is no baseline, and one is required.
    NoBaseline = 6,
}

impl Exit {
    /// The exit of a report's code.
    #[must_use]
    pub fn of(code: u8) -> Exit {
        match code {
            0 => Exit::Held,
            1 => Exit::Regressed,
            2 => Exit::Usage,
            3 => Exit::Refused,
            5 => Exit::Inconclusive,
            6 => Exit::NoBaseline,
            _ => Exit::RunFailed,
        }
    }
}

impl Exit {
    /// The gravest of several: 4 before 1 before 5 before 6; what could not be judged at all before everything.
    #[must_use]
    pub fn gravest(exits: impl IntoIterator<Item = Exit>) -> Exit {
        const ORDER: [Exit; 7] = [
            Exit::Held,
            Exit::NoBaseline,
            Exit::Inconclusive,
            Exit::Regressed,
            Exit::Refused,
            Exit::RunFailed,
            Exit::Usage,
        ];
        let rank = |exit: &Exit| ORDER.iter().position(|known| known == exit);
        exits.into_iter().max_by_key(rank).unwrap_or(Exit::Held)
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        ExitCode::from(exit as u8)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_gravest_is_4_before_1_before_5_before_6() {
        let order = [Exit::RunFailed, Exit::Regressed, Exit::Inconclusive, Exit::NoBaseline, Exit::Held];
        for (at, exit) in order.into_iter().enumerate() {
            assert_eq!(Exit::gravest(order[at..].iter().rev().copied()), exit);
        }
        assert_eq!(Exit::gravest([]), Exit::Held);
    }
}
