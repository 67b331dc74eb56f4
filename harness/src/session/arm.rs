//! From facts to a target that is held: plan, guard, open, in this order.

use super::Request;
use super::target::{Held, Site};
use crate::engine::real::Concurrency;
use crate::plan::phase::{Capacity, Phase, Plan, PlanError, Work};
use crate::target::guard::{Armed, Consent, Need};
use crate::target::open::{OpenError, Purpose};
use crate::target::{self, Facts};
use crate::units::{Bytes, Nanos, Size};

/// Why a target gets no run; nothing was written to it.
#[derive(Debug, thiserror::Error)]
pub(super) enum Refused {
    #[error(transparent)]
    Facts(#[from] target::FactsError),
    #[error(transparent)]
    Guard(#[from] target::Refusal),
    #[error(transparent)]
    Plan(#[from] PlanError),
    #[error(transparent)]
    Open(#[from] OpenError),
    #[error("{0}")]
    Other(String),
    /// The user would not wait for the drive.
    #[error("{0}")]
    Interrupted(String),
}

/// Whether any plan at all may run here: what a target is goes before how much room it has.
pub(super) fn place(facts: &Facts, consent: &Consent) -> Result<(), Refused> {
    target::guard(facts.clone(), &Need { space: Bytes(0), writes: Bytes(0) }, consent)?;
    Ok(())
}

/// What the profile means on this target.
pub(super) fn plan(request: &Request, facts: &Facts) -> Result<Plan, PlanError> {
    let mut profile = request.profile.clone();
    let budget = profile.write_budget.map(|budget| budget.0);
    let budget = [budget, request.max_write].into_iter().flatten().min();
    profile.write_budget = budget.map(Size);
    let drive = facts.drive.as_ref().and_then(|drive| drive.size);
    let in_use = drive.map(|size| size.saturating_sub(facts.free()));
    let mut plan = Plan::new(&profile, Capacity { usable: facts.usable(&request.consent), drive, in_use })?;
    if facts.block().is_some() {
        purge_first(&mut plan);
    }
    // What is to be kept is what the last suite leaves.
    plan.phases.pop_if(|last| request.keep && last.work == Work::Remove);
    Ok(plan)
}

/// Why the profile has no plan here. Where it is for want of room, the guard says what the room ends at: a pool, a quota, a
/// reserve; and what a target is goes before its room.
pub(super) fn no_plan(why: PlanError, facts: &Facts, consent: &Consent) -> Refused {
    let needs = if let PlanError::Space { needs, .. } = why { needs } else { Bytes(0) };
    let refusal = target::guard(facts.clone(), &Need { space: needs, writes: needs }, consent).err();
    refusal.map_or_else(|| why.into(), Refused::from)
}

/// A device begins empty: what was on it is nobody's any more, and the drive is told so. A folder's filesystem has others'
/// files, and is as it is.
fn purge_first(plan: &mut Plan) {
    if let Some(first) = plan.phases.first().filter(|first| first.work != Work::Purge) {
        let purge = Phase { id: "purge".to_owned(), rest_ns: Nanos(0), work: Work::Purge, ..first.clone() };
        plan.phases.insert(0, purge);
    }
}

/// Guard and open: from facts to a target that is held.
pub(super) fn arm<S: Site>(
    site: &S,
    facts: &Facts,
    plan: &Plan,
    consent: &Consent,
    run: &str,
    purpose: Purpose,
    there_already: Bytes,
) -> Result<(Armed, S::Held), Refused> {
    let need = Need { space: plan.space.saturating_sub(there_already), writes: plan.writes };
    let armed = target::guard(facts.clone(), &need, consent)?;
    let held = site.open(&armed, run, purpose)?;
    for phase in &plan.phases {
        let alignment = held.alignment().0;
        let unaligned = |bytes: Bytes| alignment > 0 && !bytes.0.is_multiple_of(alignment);
        if purpose == Purpose::New && (unaligned(phase.io.block) || unaligned(phase.layout.segment_bytes)) {
            let why = Refused::Other(format!(
                "the blocks of {} are {} bytes, and direct I/O on this drive needs multiples of {} bytes: choose a larger block",
                phase.id, phase.io.block.0, alignment
            ));
            return Err(undo(&held, why));
        }
    }
    Ok((armed, held))
}

/// A refusal after the scratch folder was made: it goes again.
fn undo(held: &impl Held, why: Refused) -> Refused {
    match held.remove() {
        Ok(_) => why,
        Err(errno) => {
            Refused::Other(format!("{why}; and removing {} failed: {}", held.name(), std::io::Error::from(errno)))
        }
    }
}

/// The most that any phase has in flight.
pub(super) fn concurrency(plan: &Plan) -> Concurrency {
    let phases = plan.phases.iter();
    let all = phases.map(|phase| Concurrency { workers: phase.io.workers, queue_depth: phase.io.queue_depth });
    // Of phases that have no queue none needs a ring.
    let most = all.max_by_key(|most| (most.queue_depth > 1, u64::from(most.workers) * u64::from(most.queue_depth)));
    most.unwrap_or(Concurrency { workers: 1, queue_depth: 1 })
}
