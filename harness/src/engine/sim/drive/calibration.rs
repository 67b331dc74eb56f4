//! Claims about the named drives: each has the curve that its source tells of. Small scales: the same curve sooner.

use super::Drive;
use crate::engine::sim::model::DriveModel;
use crate::engine::sim::model::bench::{Bench, Curve, writes};
use crate::units::{GIB, KIB, MIB, Nanos};

/// Unit 1 without variation between runs.
fn drive(name: &str, scale: u32) -> (Bench<DriveModel>, u64) {
    let text = format!("{name}?cv=0%&scale={scale}");
    let drive = Drive::parse(&text, |_| Err::<String, _>("no files")).unwrap_or_else(|why| panic!("{text}: {why}"));
    (Bench::new(drive.model(1)), drive.capacity.0)
}

#[track_caller]
fn near(what: &str, measured: f64, expected: f64, within: f64) {
    let off = measured / expected - 1.0;
    assert!(off.abs() <= within, "{what}: {measured:.4} instead of {expected:.4}, {:+.1} %", off * 100.0);
}

/// Purges, fills so much of the drive, and writes at random for an hour; as at scale 1.
fn level(bench: &mut Bench<DriveModel>, capacity: u64, range: u64, block: u32, depth: usize, seconds: f64) -> Curve {
    let range = range - range % MIB;
    bench.purge(capacity);
    bench.rest(60.0);
    bench.fill(range, MIB as u32, 10.0);
    bench.random(range, block, depth, seconds)
}

#[test]
fn fusion_falls_once_at_121_gb_to_a_flat_floor_and_takes_bursts_of_8_gib_and_then_4() {
    let scale = 8;
    let (mut bench, capacity) = drive("fusion-1tb", scale);
    let scale = f64::from(scale);
    let mb_s = scale * MIB as f64 / 1e6;
    let gb = |bytes: u64| bytes as f64 * scale / 1e9;
    let fill = capacity / 1000 * 994;
    let curve = bench.fill(fill, 4 << 20, 10.0);
    near("cliff, GB", gb(curve.falls_below(230.0 / mb_s)), 121.0, 0.02);
    let tail: Vec<f64> =
        (3..25).map(|part| curve.rate_between(fill / 25 * part, fill / 25 * (part + 1)) * mb_s).collect();
    assert!(tail.iter().all(|rate| (130.0..145.0).contains(rate)), "{tail:?}");
    bench.rest(600.0);
    let burst = bench.run(writes(0, 4 * GIB, 4 << 20), 1, 1.0, 1e9);
    near("burst after sustained writes, GiB", gb(burst.falls_below(230.0 / mb_s)), 8.59, 0.03);
    bench.rest(3600.0);
    let burst = bench.run(writes(0, 4 * GIB, 4 << 20), 1, 1.0, 1e9);
    near("burst in normal use, GiB", gb(burst.falls_below(230.0 / mb_s)), 4.29, 0.06);
}

/// Steady MB/s, and bytes not in use in GB, of the founding levels.
fn space(name: &str, scale: u32) -> Vec<(f64, f64)> {
    let (mut bench, capacity) = drive(name, scale);
    let unscaled = |bytes: u64| bytes as f64 * f64::from(scale) / 1e9;
    let levels = [10, 25, 50, 75, 90, 100].into_iter().map(|percent| {
        let range = capacity / 100 * percent;
        let curve = level(&mut bench, capacity, range, 16 * KIB as u32, 16, 3600.0);
        let rates = [1500.0, 2000.0, 2500.0, 3000.0].map(|from| curve.rate(from, from + 500.0));
        let (low, high) = rates.iter().fold((f64::MAX, 0.0_f64), |(l, h), &r| (l.min(r), h.max(r)));
        assert!(high / low < 1.02, "{name} at {percent} % is not stable from 1500 s on: {rates:?}");
        let peak = curve.rates().iter().fold(0.0_f64, |most, &rate| most.max(rate)) * f64::from(scale);
        if name == "fusionio-320-mlc" {
            near("peak, MiB/s", peak, 500.0, 0.03);
        }
        (unscaled(capacity - range), curve.rate(1500.0, 3600.0) * f64::from(scale) * MIB as f64 / 1e6)
    });
    levels.collect()
}

#[test]
fn fusionio_has_its_peak_its_floor_and_its_slope() {
    let levels = space("fusionio-320-mlc", 256);
    let full = levels[5].1 * 1e6 / MIB as f64;
    assert!((110.0..120.0).contains(&full), "{full} MiB/s at full capacity");
    let n = levels.len() as f64;
    let (x, y) = (levels.iter().map(|l| l.0).sum::<f64>() / n, levels.iter().map(|l| l.1).sum::<f64>() / n);
    let slope = levels.iter().map(|l| (l.0 - x) * (l.1 - y)).sum::<f64>()
        / levels.iter().map(|l| (l.0 - x) * (l.0 - x)).sum::<f64>();
    near("free space erase factor, MB/s a GB", slope, 1.25, 0.05);
}

#[test]
fn intel_320_has_its_four_points() {
    let levels = space("intel-320", 128);
    let used: Vec<(f64, f64)> =
        levels.iter().map(|(free, rate)| ((160.0 - free) * 1e9 / GIB as f64, rate * 1e6 / MIB as f64)).collect();
    for (at, expected) in [(10.0, 100.0), (70.0, 40.0), (120.0, 20.0), (140.0, 15.0)] {
        // Between two levels, or the first two carried on.
        let above = used.partition_point(|level| level.0 < at).clamp(1, used.len() - 1);
        let (low, high) = (used[above - 1], used[above]);
        let rate = low.1 + (high.1 - low.1) * (at - low.0) / (high.0 - low.0);
        near(&format!("MiB/s with {at} GiB in use"), rate, expected, 0.10);
    }
}

#[test]
fn scale_alters_no_figure() {
    let rate = |scale: u32| {
        let (mut bench, capacity) = drive("fusionio-320-mlc", scale);
        level(&mut bench, capacity, capacity / 2, 16 * KIB as u32, 16, 2000.0).rate(1500.0, 2000.0) * f64::from(scale)
    };
    near("MiB/s at half the capacity", rate(256), rate(64), 0.01);
}

/// Range in use in GiB, and the steady MiB/s of the public series.
const DATACENTRE: [(u64, f64); 5] = [(372, 1224.0), (447, 1110.0), (596, 883.0), (745, 624.0), (894, 368.0)];

#[test]
fn the_datacentre_drive_falls_where_raw_flash_runs_out_dips_overshoots_and_settles() {
    let scale = 256;
    for (range, steady) in DATACENTRE {
        let (mut bench, capacity) = drive("dc-nvme-960", scale);
        let seconds = (4 * (1075 - range)) as f64 + 2e6 / steady;
        let curve = level(&mut bench, capacity, range * GIB / u64::from(scale), 4096, 128, seconds);
        let rates: Vec<f64> = curve.rates().iter().map(|rate| rate * f64::from(scale)).collect();
        let plateau = rates[..6].iter().sum::<f64>() / 6.0;
        near("plateau, MiB/s", plateau, 1390.0, 0.02);
        let trough = rates
            .iter()
            .copied()
            .enumerate()
            .fold((0, f64::MAX), |low, (at, rate)| if rate < low.1 { (at, rate) } else { low });
        let cliff = curve.falls_below((plateau + trough.1) / 2.0 / f64::from(scale)) as f64 * f64::from(scale);
        near("range + written at the cliff, GiB", range as f64 + cliff / GIB as f64, 1075.0, 0.03);
        let tail = &rates[rates.len() * 3 / 4..];
        let level = tail.iter().sum::<f64>() / tail.len() as f64;
        near(&format!("steady with {range} GiB in use, MiB/s"), level, steady, 0.05);
        assert!(trough.1 < 0.94 * level, "{range}: trough {:.0}, level {level:.0}", trough.1);
        let smooth: Vec<f64> = rates[trough.0..].windows(6).map(|part| part.iter().sum::<f64>() / 6.0).collect();
        let peak = smooth.iter().fold(0.0_f64, |most, &rate| most.max(rate));
        assert!(range < 400 || peak > 1.01 * level, "{range}: peak {peak:.0}, level {level:.0}");
        let halves =
            [&tail[..tail.len() / 2], &tail[tail.len() / 2..]].map(|half| half.iter().sum::<f64>() / half.len() as f64);
        near("second half of the tail over the first", halves[1], halves[0], 0.01);
    }
}

#[test]
fn the_consumer_drive_falls_past_42_gb_and_idle_time_brings_the_cache_back() {
    let (mut bench, capacity) = drive("consumer-tlc", 8);
    let curve = bench.fill(capacity / 2, MIB as u32, 0.5);
    let half = 1750.0 / 8.0 * 1e6 / MIB as f64;
    near("cliff, GB", curve.falls_below(half) as f64 * 8.0 / 1e9, 42.0, 0.03);
    near("floor, MB/s", curve.rate_between(capacity / 4, capacity / 2) * 8.0 * MIB as f64 / 1e6, 1200.0, 0.03);
    bench.rest(120.0);
    let burst = bench.run(writes(0, capacity / 8, MIB as u32), 1, 0.5, 1e9);
    near("burst, GB", burst.falls_below(half) as f64 * 8.0 / 1e9, 42.0, 0.03);
}

#[test]
fn the_qlc_drive_falls_at_220_and_at_440_gb() {
    let (mut bench, capacity) = drive("qlc-two-cliffs", 64);
    let curve = bench.fill(capacity / 10 * 9, MIB as u32, 1.0);
    let mb_s = 64.0 * MIB as f64 / 1e6;
    let gb = |mb: f64| curve.falls_below(mb / mb_s) as f64 * 64.0 / 1e9;
    near("first cliff, GB", gb(3200.0), 220.0, 0.03);
    near("second cliff, GB", gb(1200.0), 440.0, 0.02);
    near("third level, MB/s", curve.rate_between(capacity / 2, capacity / 10 * 8) * mb_s, 500.0, 0.03);
}

#[test]
fn the_disk_slides_from_200_to_100() {
    let (mut bench, capacity) = drive("hdd-zones", 64);
    let curve = bench.fill(capacity, MIB as u32, 60.0);
    let mb_s = 64.0 * MIB as f64 / 1e6;
    near("outer, MB/s", curve.rate_between(0, capacity / 50) * mb_s, 199.0, 0.03);
    near("inner, MB/s", curve.rate_between(capacity / 50 * 48, capacity / 50 * 49) * mb_s, 103.0, 0.03);
}

#[test]
fn the_smr_disk_falls_when_its_media_cache_runs_out() {
    let (mut bench, capacity) = drive("smr", 16);
    let curve = bench.fill(capacity / 50, MIB as u32, 10.0);
    near("cliff, GB", curve.falls_below(110.0 / 16.0) as f64 * 16.0 / 1e9, 25.0, 0.05);
}

#[test]
fn the_cloud_volume_falls_to_a_tenth_after_2000_s() {
    let (mut bench, capacity) = drive("cloud-burst", 16);
    bench.fill(capacity / 4, MIB as u32, 10.0);
    // The fill took 4 of 8 s' worth; the bucket is full again.
    bench.rest(3600.0);
    let curve = bench.random(capacity / 4, 16 * KIB as u32, 16, 3000.0);
    near("before, MiB/s", curve.rate(0.0, 1900.0) * 16.0, 46.9, 0.02);
    near("after, MiB/s", curve.rate(2100.0, 3000.0) * 16.0, 4.69, 0.02);
}

#[test]
fn the_never_steady_drive_swings_between_two_levels_for_ever() {
    let (mut bench, capacity) = drive("never-steady", 128);
    let curve = bench.random(capacity, 16 * KIB as u32, 32, 3600.0);
    let rates: Vec<f64> = curve.rates().iter().map(|rate| rate * 128.0).collect();
    let last = &rates[300..];
    let high = last.iter().filter(|&&rate| rate > 1800.0).count();
    let low = last.iter().filter(|&&rate| rate < 950.0).count();
    assert!(high > 18 && low > 18, "{last:?}");
}

/// A day of requests, one a second, leaves the clock in order.
#[test]
fn a_day_of_sparse_requests_keeps_its_time() {
    for name in Drive::names().filter(|name| *name != "dc-nvme-960") {
        let (mut bench, _) = drive(name, 64);
        let requests = writes(0, 86_400 * 4096, 4096);
        for request in requests {
            bench.rest(1.0);
            bench.run(std::iter::once(request), 1, 1.0, 1e9);
        }
        assert!(bench.now >= Nanos::from_secs(86_400), "{name}");
    }
}
