//! fio's JSON and JSON+ output, also with messages around it or cut off, with its steady-state section.
//!
//! Source: `add_ddir_status_json` and the steady-state part of `show_thread_status_json` in fio's stat.c. Bytes are bytes
//! since 3.0 (`io_kbytes` stands beside them), KiB before; times are ms; `steadystate.data.bw` is in bytes a second, reads and
//! writes together, over the last `duration` seconds. Apart from that section the file has totals only: a series of one step.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

use super::{Bad, Imported, Latency, moved, rate};
use crate::analysis::series::Step;
use crate::units::{Bytes, Nanos};

/// The first key of every output of fio.
const MARK: &str = "\"fio version\"";

#[derive(Deserialize)]
struct Document {
    #[serde(default, alias = "client_stats")]
    jobs: Vec<Job>,
}

#[derive(Deserialize)]
struct Job {
    #[serde(default)]
    jobname: String,
    #[serde(default)]
    groupid: u64,
    #[serde(default, rename = "job options")]
    options: BTreeMap<String, String>,
    #[serde(default)]
    read: Direction,
    #[serde(default)]
    write: Direction,
    #[serde(default)]
    trim: Direction,
    steadystate: Option<SteadyState>,
}

#[derive(Default, Deserialize)]
struct Direction {
    #[serde(default)]
    io_bytes: u64,
    io_kbytes: Option<u64>,
    #[serde(default)]
    runtime: u64,
    clat_ns: Option<Times>,
    lat_ns: Option<Times>,
}

#[derive(Deserialize)]
struct Times {
    #[serde(default, rename = "N")]
    count: u64,
    #[serde(default)]
    mean: f64,
    #[serde(default)]
    max: f64,
    #[serde(default)]
    percentile: BTreeMap<String, f64>,
}

#[derive(Deserialize)]
struct SteadyState {
    #[serde(default)]
    ss: String,
    #[serde(default)]
    duration: u64,
    #[serde(default)]
    attained: u64,
    #[serde(default)]
    data: SteadyData,
}

#[derive(Default, Deserialize)]
struct SteadyData {
    #[serde(default)]
    bw: Vec<f64>,
}

pub(super) fn is_one(text: &str) -> bool {
    text.contains(MARK) || text.trim_start().starts_with('{')
}

pub(super) fn read(name: &str, text: &str) -> Result<Vec<Imported>, Bad> {
    let (mut series, mut from) = (Vec::new(), 0);
    while let Some(mark) = text[from..].find(MARK).map(|at| from + at) {
        let start = text[from..mark].rfind('{').map_or(mark, |at| from + at);
        let line = text[..start].matches('\n').count() + 1;
        let (document, end, cut) = document(name, &text[start..], line)?;
        let mut warnings: Vec<String> = cut.into_iter().collect();
        if text[from..start].lines().any(|line| !line.trim().is_empty()) {
            warnings.push(format!("{name}:{line}: what stands before the JSON is no part of it, and was passed over"));
        }
        series.extend(groups(name, &document.jobs, &warnings).map_err(|why| (Some(line), why))?);
        from = (start + end).max(mark + MARK.len());
    }
    if from == 0 {
        return Err((None, "JSON, but not fio's: no \"fio version\" in it".to_owned()));
    }
    if series.is_empty() {
        return Err((None, "fio's JSON without a job that moved bytes".to_owned()));
    }
    Ok(series)
}

/// The document, where it ends, and what a cut took; `line` is its first.
fn document(name: &str, text: &str, line: usize) -> Result<(Document, usize, Option<String>), Bad> {
    let mut whole = serde_json::Deserializer::from_str(text).into_iter::<Document>();
    match whole.next() {
        Some(Ok(document)) => Ok((document, whole.byte_offset(), None)),
        Some(Err(why)) if why.is_eof() => {
            let jobs = whole_jobs(text);
            let end = text.trim_end().lines().count() + line - 1;
            if jobs.is_empty() {
                return Err((
                    Some(end),
                    "the JSON is cut off before its first job ends: nothing of it can be used".to_owned(),
                ));
            }
            let cut =
                format!("{name}:{end}: the JSON is cut off: its first {} jobs are whole, the rest is lost", jobs.len());
            Ok((Document { jobs }, text.len(), Some(cut)))
        }
        Some(Err(why)) => Err((Some(why.line() + line - 1), format!("no JSON of fio's: {why}"))),
        None => Err((Some(line), "no JSON".to_owned())),
    }
}

/// The jobs of a document that is cut off, as far as they are whole.
fn whole_jobs(text: &str) -> Vec<Job> {
    let list = ["\"jobs\"", "\"client_stats\""].iter().find_map(|key| text.find(key).map(|at| at + key.len()));
    let Some(start) = list.and_then(|at| Some(at + text[at..].find('[')? + 1)) else { return Vec::new() };
    let (mut jobs, mut rest) = (Vec::new(), &text[start..]);
    loop {
        rest = rest.trim_start_matches(|c: char| c == ',' || c.is_whitespace());
        let mut next = serde_json::Deserializer::from_str(rest).into_iter::<Job>();
        let Some(Ok(job)) = next.next() else { return jobs };
        jobs.push(job);
        rest = &rest[next.byte_offset()..];
    }
}

/// A series for each group of jobs that ran together, and direction.
fn groups(name: &str, jobs: &[Job], warnings: &[String]) -> Result<Vec<Imported>, String> {
    let mut series = Vec::new();
    let mut warnings = warnings.to_vec();
    let clients = jobs.iter().any(|job| job.jobname == "All clients") && jobs.len() > 1;
    if clients {
        warnings.push(format!("{name}: \"All clients\" repeats the others, and was left out"));
    }
    let jobs: Vec<&Job> = jobs.iter().filter(|job| !clients || job.jobname != "All clients").collect();
    let ids: BTreeSet<u64> = jobs.iter().map(|job| job.groupid).collect();
    for id in &ids {
        let ours: Vec<&Job> = jobs.iter().filter(|job| job.groupid == *id).copied().collect();
        let part = (ids.len() > 1).then(|| format!("group {id}"));
        let kinds = [
            ("read", (|job| &job.read) as fn(&Job) -> &Direction),
            ("write", |job| &job.write),
            ("trim", |job| &job.trim),
        ];
        let moving: Vec<_> = kinds.into_iter().filter(|(_, of)| ours.iter().any(|job| of(job).io_bytes > 0)).collect();
        for (kind, of) in &moving {
            let random =
                *kind == "write" && ours.iter().all(|job| job.options.get("rw").is_some_and(|rw| rw == "randwrite"));
            let kind = if random { "random-write" } else { kind };
            let mut total = total(name, kind, &ours, *of)?;
            total.part.clone_from(&part);
            total.warnings.extend(warnings.iter().cloned());
            series.push(total);
            if let [_] = moving[..] {
                let window = steady_window(name, kind, &ours)?;
                series.extend(
                    window.map(|window| Imported { warnings: [window.warnings, warnings.clone()].concat(), ..window }),
                );
            }
        }
        if moving.len() > 1 && ours.iter().any(|job| job.steadystate.is_some()) {
            let said = format!("{name}: the steady-state section has reads and writes together: left out");
            if let Some(last) = series.last_mut() {
                last.warnings.push(said);
            }
        }
    }
    Ok(series)
}

/// What the jobs moved in one direction, as one step.
fn total(name: &str, kind: &'static str, jobs: &[&Job], of: fn(&Job) -> &Direction) -> Result<Imported, String> {
    let directions: Vec<&Direction> =
        jobs.iter().map(|job| of(job)).filter(|direction| direction.io_bytes > 0).collect();
    let mut warnings =
        vec![format!("{name}: totals and no series: one step; give the _bw logs for cliffs and steady state")];
    let old = directions.iter().any(|direction| direction.io_kbytes.is_none());
    if old {
        warnings
            .push(format!("{name}: no io_kbytes, as of fio before 3.0: io_bytes were taken as KiB, which they are"));
    }
    if directions.len() > 1 {
        warnings.push(format!("{name}: {} jobs of one group were summed", directions.len()));
    }
    let unit = if old { 1024 } else { 1 };
    let sum =
        directions.iter().try_fold(0_u64, |sum, direction| sum.checked_add(direction.io_bytes.checked_mul(unit)?));
    let bytes = sum.ok_or("io_bytes are too many")?;
    let millis = directions.iter().map(|direction| direction.runtime).max().unwrap_or(0);
    if millis == 0 {
        return Err(format!("{kind}s in no time: no rate"));
    }
    let elapsed_ns = Nanos::from_millis(millis);
    rate(bytes as f64 / elapsed_ns.secs())?;
    let latency = if let [only] = directions[..] {
        only.clat_ns.as_ref().or(only.lat_ns.as_ref()).and_then(latency)
    } else {
        None
    };
    let steps = vec![Step { elapsed_ns, bytes: Bytes(bytes) }];
    Ok(Imported { files: vec![name.to_owned()], kind, steps, latency, warnings, ..Imported::default() })
}

fn latency(times: &Times) -> Option<Latency> {
    let at = |key: &str| times.percentile.get(key).map(|ns| ns / 1e3);
    let (p50_us, p99_us) = (at("50.000000")?, at("99.000000")?);
    Some(Latency { of: "ios", count: times.count, mean_us: times.mean / 1e3, p50_us, p99_us, max_us: times.max / 1e3 })
}

/// The window that fio judged, summed over the jobs.
fn steady_window(name: &str, kind: &'static str, jobs: &[&Job]) -> Result<Option<Imported>, String> {
    let sections: Vec<&SteadyState> = jobs.iter().filter_map(|job| job.steadystate.as_ref()).collect();
    let Some(first) = sections.first() else { return Ok(None) };
    let count = first.data.bw.len();
    if count == 0 || first.duration == 0 {
        return Ok(None);
    }
    if sections.iter().any(|other| other.data.bw.len() != count || other.duration != first.duration) {
        return Err("the jobs' steady-state sections are of different lengths".to_owned());
    }
    let elapsed_ns = Nanos(Nanos::from_secs(first.duration).0 / count as u64);
    let sum = |at: usize| rate(sections.iter().map(|section| section.data.bw[at]).sum());
    let step = |at| Ok::<_, String>(Step { elapsed_ns, bytes: moved(sum(at)?, elapsed_ns) });
    let attained = if sections.iter().all(|section| section.attained == 1) { "attained" } else { "not attained" };
    let said =
        format!("{name}: the last {} s before the end, which fio's rule {} calls {attained}", first.duration, first.ss);
    Ok(Some(Imported {
        files: vec![name.to_owned()],
        kind,
        part: Some("steady-state window".to_owned()),
        steps: (0..count).map(step).collect::<Result<_, _>>()?,
        warnings: vec![said],
        ..Imported::default()
    }))
}
