//! What `/proc` says while a run goes on: rebuilds of arrays, and where the processors' time goes.
//!
//! Source: Linux `Documentation/admin-guide/md.rst`, `proc_pid_stat(5)`, `proc_stat(5)`.

use std::fs;
use std::path::Path;

/// A resync, recovery, check or reshape of an array that one of the drives `names` is a member of: `md0 resync`.
pub(super) fn rebuild(mdstat: &str, names: &[String]) -> Option<String> {
    let mut array = None;
    for line in mdstat.lines() {
        if let Some((name, members)) = line.split_once(" : ") {
            // `md0 : active raid1 sdb1[1] nvme0n1p2[0](F)`
            let member = |word: &str| word.split('[').next().unwrap_or_default().to_owned();
            let ours =
                members.split_whitespace().map(member).any(|member| names.iter().any(|name| is_part(&member, name)));
            array = ours.then(|| name.trim().to_owned());
        }
        let working = ["resync", "recovery", "check", "reshape"].iter().find(|word| {
            let (begin, delayed) = (format!("{word} ="), format!("{word}="));
            line.contains(&begin) || line.contains(&delayed)
        });
        if let (Some(array), Some(working)) = (&array, working) {
            return Some(format!("{array} {working}"));
        }
    }
    None
}

/// Whether `member` is the drive itself or a partition of it.
fn is_part(member: &str, drive: &str) -> bool {
    let digits = |rest: &str| rest.bytes().all(|byte| byte.is_ascii_digit());
    member.strip_prefix(drive).is_some_and(|rest| {
        let rest =
            if drive.ends_with(|c: char| c.is_ascii_digit()) { rest.strip_prefix('p').unwrap_or(rest) } else { rest };
        digits(rest) && (rest.is_empty() || member.len() > drive.len())
    })
}

/// Processor time so far, in clock ticks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Cpu {
    /// Of this process.
    own: u64,
    /// Of all processors, whatever they did.
    all: u64,
    /// That the hypervisor gave to others.
    stolen: u64,
    /// How many processors there are.
    processors: u64,
}

impl Cpu {
    pub(super) fn read(proc: &Path) -> Option<Cpu> {
        let read = |name: &str| fs::read_to_string(proc.join(name)).ok();
        Cpu::parse(&read("self/stat")?, &read("stat")?)
    }

    fn parse(own: &str, all: &str) -> Option<Cpu> {
        // The name in parentheses may hold anything; user and system time are the 12th and 13th field behind it.
        let fields: Vec<&str> = own.rsplit_once(')')?.1.split_whitespace().collect();
        let ticks = |at: usize| fields.get(at)?.parse::<u64>().ok();
        let line = all.lines().find_map(|line| line.strip_prefix("cpu "))?;
        let times: Vec<u64> = line.split_whitespace().map_while(|field| field.parse().ok()).collect();
        Some(Cpu {
            own: ticks(11)?.saturating_add(ticks(12)?),
            // The last two, guests' time, are part of the first two.
            all: times.iter().take(8).fold(0_u64, |sum, time| sum.saturating_add(*time)),
            stolen: *times.get(7)?,
            processors: all.lines().filter(|line| line.starts_with("cpu") && !line.starts_with("cpu ")).count() as u64,
        })
    }

    /// What was spent since `earlier`.
    pub(super) fn since(self, earlier: Cpu) -> Cpu {
        Cpu {
            own: self.own.saturating_sub(earlier.own),
            all: self.all.saturating_sub(earlier.all),
            stolen: self.stolen.saturating_sub(earlier.stolen),
            processors: self.processors,
        }
    }

    /// This process' share, in thousandths of one processor; none over a span too short for the clock's ticks.
    pub(super) fn own_permille(self) -> Option<u64> {
        const TOO_FEW: u64 = 20;
        (self.all >= TOO_FEW * self.processors.max(1))
            .then(|| self.own.saturating_mul(1000 * self.processors) / self.all)
    }

    pub(super) fn steal_permille(self) -> Option<u64> {
        (self.all >= 20).then(|| self.stolen.saturating_mul(1000) / self.all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MDSTAT: &str = "\
Personalities : [raid1]
md1 : active raid1 sdc1[0] sdd1[1]
      1000 blocks super 1.2 [2/2] [UU]

md0 : active raid1 nvme1n1[1] nvme0n1p2[0]
      976630464 blocks super 1.2 [2/2] [UU]
      [=>...................]  resync =  9.3% (91/976) finish=75.1min speed=196K/sec

unused devices: <none>
";

    #[test]
    fn a_rebuild_of_an_array_of_ours_is_seen_and_of_others_is_not() {
        let check = |names: &[&str], expect: Option<&str>| {
            let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
            assert_eq!(rebuild(MDSTAT, &names).as_deref(), expect, "{names:?}");
        };
        check(&["nvme0n1"], Some("md0 resync"));
        check(&["nvme1n1"], Some("md0 resync"));
        check(&["sdc"], None);
        check(&["nvme0n10", "sd"], None);
    }

    #[test]
    fn processor_time_becomes_shares() {
        let stat = |own: u64, idle: u64, stolen: u64| {
            let line = format!("cpu 0 0 0 {idle} 0 0 0 {stolen} 0 0\ncpu0 1\ncpu1 1\nintr 5\n");
            Cpu::parse(&format!("7 (a ) b) R 1 1 1 0 -1 4 1 0 0 0 {own} 50 0 0"), &line).unwrap()
        };
        let spent = stat(100, 900, 200).since(stat(0, 0, 0));
        assert_eq!((spent.own_permille(), spent.steal_permille()), (Some(181), Some(181)));
        assert_eq!(stat(1, 10, 0).since(stat(0, 0, 0)).own_permille(), None);
        assert_eq!(Cpu::parse("", ""), None);
    }
}
