//! Claims about plans.

use super::*;
use crate::plan::builtin;
use crate::units::GIB;

fn capacity(usable: u64) -> Capacity {
    Capacity { usable: Bytes(usable), drive: Some(Bytes(1_000_000_000_000)), in_use: Some(Bytes(0)) }
}

fn plan(text: &str, usable: u64) -> Result<Plan, PlanError> {
    Plan::new(&Profile::parse(text).unwrap(), capacity(usable))
}

#[test]
fn a_fill_is_written_read_back_and_removed() {
    let plan = plan("name = 'x'\nversion = 1\n[fill]\nsize = '1GiB'\nsegments = 4", 2 * GIB).unwrap();
    let ids: Vec<&str> = plan.phases.iter().map(|phase| phase.id.as_str()).collect();
    assert_eq!(ids, ["fill.purge", "fill.write", "fill.read", "fill.remove"]);
    assert_eq!((plan.space, plan.writes, plan.reads), (Bytes(GIB), Bytes(GIB), Bytes(GIB)));
}

#[test]
fn the_founding_fill_leaves_six_tenths_of_a_percent_in_a_thousand_equal_files() {
    let profile = builtin::profile("fill-volume").unwrap();
    let usable = Bytes(1_100_000_000_000);
    let plan = Plan::new(&profile, Capacity { usable, drive: Some(usable), in_use: None }).unwrap();
    let layout = &plan.phases[0].layout;
    assert_eq!(layout.segments, 1000);
    let left = (usable - layout.bytes()).0 as f64 / usable.0 as f64;
    assert!((0.006..0.0065).contains(&left) || left < 0.01, "left {left}");
    assert_eq!(layout.segment_bytes.0 % (4 << 20), 0);
}

#[test]
fn a_budget_bounds_random_writes_that_only_time_would_end() {
    let text = "name = 'x'\nversion = 1\nwrite_budget = '3GiB'\n[random_write]\nlevels = ['scratch']\n\
                scratch = '1GiB'\nduration = '20s'\nleast_bytes = '0B'";
    let plan = plan(text, 4 * GIB).unwrap();
    assert_eq!((plan.writes, plan.most_writes), (Bytes(GIB), Some(Bytes(3 * GIB))));
}

#[test]
fn too_little_room_and_too_small_a_budget_are_refused() {
    let text = "name = 'x'\nversion = 1\n[fill]\nsize = '1GiB'\nsegments = 4";
    assert!(matches!(plan(text, GIB - 1), Err(PlanError::Space { .. })));
    let text = "name = 'x'\nversion = 1\nwrite_budget = '1GiB'\n[fill]\nsize = '2GiB'\nsegments = 4";
    assert!(matches!(plan(text, 4 * GIB), Err(PlanError::Budget { .. })));
}

#[test]
fn a_level_that_others_exceed_is_skipped_with_the_reason() {
    let profile = Profile::parse(
        "name = 'x'\nversion = 1\n[random_write]\nlevels = ['10pct', '50pct']\nduration = '1min'\nleast_bytes = '1GiB'",
    )
    .unwrap();
    let capacity = Capacity {
        usable: Bytes(600_000_000_000),
        drive: Some(Bytes(1_000_000_000_000)),
        in_use: Some(Bytes(200_000_000_000)),
    };
    let plan = Plan::new(&profile, capacity).unwrap();
    assert_eq!(plan.skipped[0].what, "random_write.10pct");
    assert!(plan.phase("random_write.50pct.write").is_some());
}

#[test]
fn a_plan_survives_the_journal() {
    let plan = plan("name = 'x'\nversion = 1\n[fill]\nsize = '1GiB'\nsegments = 4", 2 * GIB).unwrap();
    let text = serde_json::to_string(&plan).unwrap();
    assert_eq!(serde_json::from_str::<Plan>(&text).unwrap(), plan);
}
