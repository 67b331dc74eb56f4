//! Binds the thread of a run to processors: the workers that it starts inherit them, and the buffers that it touches
//! first lie in their memory.
//!
//! Source: `sched_setaffinity(2)`; `numa(7)` (the default policy allocates on the node of the processor that first
//! touches a page). What the control groups forbid is not in what the kernel says is allowed. Decides nothing:
//! `facts/numa` does.

use std::io;
use std::marker::PhantomData;

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use super::facts::{Cpus, Placement};

/// The processors that the calling thread may use; none where the kernel does not say.
#[must_use]
pub fn allowed() -> Cpus {
    sched_getaffinity(None).map(|set| (0..CpuSet::MAX_CPU).filter(|&cpu| set.is_set(cpu)).collect()).unwrap_or_default()
}

/// The calling thread is bound as long as this lives, and afterwards may use what it could before.
#[derive(Debug)]
#[must_use = "dropping it ends the binding"]
pub struct Bound {
    before: CpuSet,
    /// A thread's own: dropped elsewhere it would unbind another.
    _thread: PhantomData<*const ()>,
}

impl Bound {
    /// Binds the calling thread as `placement` says; gives none where that is to bind nothing.
    ///
    /// # Errors
    /// The kernel refuses: nothing is bound.
    pub fn by(placement: &Placement) -> io::Result<Option<Bound>> {
        let Placement::On { cpus, .. } = placement else { return Ok(None) };
        let before = sched_getaffinity(None)?;
        let mut set = CpuSet::new();
        // More processors than the set has room for are left to others.
        cpus.iter().filter(|&&cpu| cpu < CpuSet::MAX_CPU).for_each(|&cpu| set.set(cpu));
        sched_setaffinity(None, &set)?;
        Ok(Some(Bound { before, _thread: PhantomData }))
    }
}

impl Drop for Bound {
    fn drop(&mut self) {
        // What was allowed before is allowed still, or the kernel takes what is left of it.
        let _ = sched_setaffinity(None, &self.before);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_that_a_bound_one_starts_are_bound_as_well_and_it_is_free_again_afterwards() {
        // A thread of its own: the test runner's stay as they are.
        std::thread::spawn(|| {
            let before = allowed();
            let last = before.last().copied().unwrap();
            let bound = Bound::by(&Placement::On { node: 1, cpus: Cpus::from([last]) }).unwrap();
            assert!(bound.is_some());
            assert_eq!(allowed(), Cpus::from([last]));
            assert_eq!(std::thread::spawn(allowed).join().unwrap(), Cpus::from([last]), "a worker");
            drop(bound);
            assert_eq!(allowed(), before);
        })
        .join()
        .unwrap();
    }

    #[test]
    fn nothing_is_bound_without_a_node_and_what_the_kernel_refuses_is_an_error() {
        std::thread::spawn(|| {
            let before = allowed();
            for placement in [Placement::OneNode, Placement::Unknown, Placement::Away { node: 1 }] {
                assert!(Bound::by(&placement).unwrap().is_none(), "{placement}");
            }
            let absent = Placement::On { node: 1, cpus: Cpus::from([CpuSet::MAX_CPU - 1]) };
            assert!(Bound::by(&absent).is_err() && allowed() == before);
        })
        .join()
        .unwrap();
    }
}
