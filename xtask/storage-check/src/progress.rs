//! Progress of a run: a bar on a terminal, a line now and then in a log.
//!
//! An observer of the journal's records; it knows what the plan still wants, and measures nothing.

use std::io::IsTerminal;
use std::time::{Duration, Instant};

use harness::journal::record::{FaultKind, FaultRecord, Header, Record, line};
use harness::journal::replay::Replay;
use harness::plan::phase::{Plan, Work};
use harness::session::folder::drive_line;
use harness::session::{Event, Observer};
use harness::units::{Bytes, Nanos, Rate};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::arguments::Format;
use crate::console::Console;

/// Without a terminal, a line at most this often.
const LINE_EVERY: Duration = Duration::from_secs(5);

/// Shows how far a run is.
pub(crate) struct Progress<'a> {
    console: &'a mut Console,
    verbose: bool,
    bar: Option<ProgressBar>,
    plan: Option<Plan>,
    phase: Phase,
    last_line: Instant,
    /// Faults so far.
    faults: u32,
}

/// What is known of the open phase.
#[derive(Default)]
struct Phase {
    id: String,
    start: Nanos,
    moved: Bytes,
    of_bytes: Bytes,
    of_time: Nanos,
}

impl<'a> Progress<'a> {
    pub(crate) fn new(console: &'a mut Console, verbose: bool) -> Progress<'a> {
        Progress {
            console,
            verbose,
            bar: None,
            plan: None,
            phase: Phase::default(),
            last_line: Instant::now(),
            faults: 0,
        }
    }

    fn begins(&mut self, folder: &std::path::Path, header: &Header, so_far: Option<&Replay>) {
        let facts = &header.facts;
        let again = so_far.map_or_else(String::new, |so_far| format!(", resumed after {}", so_far.last_ns));
        self.console.remark(&format!(
            "{} on {} ({}){again}",
            profile_name(header),
            facts.path.display(),
            drive_line(facts)
        ));
        self.console.remark(&format!(
            "writes {} and reads {}, journal in {}",
            crate::plan::writes(&header.plan),
            header.plan.reads,
            folder.display()
        ));
        self.plan = Some(header.plan.clone());
        if !self.console.quiet && self.console.format == Format::Text && std::io::stderr().is_terminal() {
            let bar = ProgressBar::with_draw_target(Some(0), ProgressDrawTarget::stderr());
            let style = ProgressStyle::with_template("{prefix:<26} {bar:30} {percent:>3}%  {msg}");
            bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
            self.console.attach(Some(bar.clone()));
            self.bar = Some(bar);
        }
    }

    fn record(&mut self, record: &Record) {
        if self.verbose {
            self.console.remark(&line(record));
        }
        match record {
            Record::PhaseStart { phase, at_ns } => self.phase_start(phase, *at_ns),
            Record::Sample(sample) => {
                self.phase.moved = self.phase.moved.saturating_add(sample.bytes);
                self.show(sample.bytes.per(sample.elapsed_ns), sample.end_ns());
            }
            Record::PhaseEnd { phase, at_ns, .. } => self.phase_end(phase, *at_ns),
            Record::Fault(fault) => self.fault(fault),
            Record::End { .. } => {
                if let Some(bar) = self.bar.take() {
                    bar.finish_and_clear();
                }
                self.console.attach(None);
            }
            _ => {}
        }
    }

    /// The first faults with their places; a drive that lost all of its data has too many to print.
    fn fault(&mut self, fault: &FaultRecord) {
        const MOST: u32 = 10;
        self.faults += 1;
        let place = match (fault.segment, fault.offset) {
            (Some(segment), Some(offset)) if matches!(fault.what, FaultKind::Verify(_)) => {
                format!("segment {segment} at byte {offset}: ")
            }
            _ => String::new(),
        };
        match self.faults {
            ..=MOST => self.console.remark(&format!("{place}{}", fault.message)),
            n if n == MOST + 1 => self.console.remark("… more faults: see the journal"),
            _ => {}
        }
    }

    fn phase_start(&mut self, id: &str, start: Nanos) {
        let planned = self.plan.as_ref().and_then(|plan| plan.phase(id));
        self.phase = Phase {
            id: id.to_owned(),
            start,
            moved: Bytes(0),
            of_bytes: planned.map_or(Bytes(0), |phase| match phase.work {
                Work::RandomWrite { least_bytes, .. } => least_bytes,
                _ => phase.moves(),
            }),
            of_time: planned.map_or(Nanos(0), harness::plan::phase::Phase::least_time),
        };
        if let Some(bar) = &self.bar {
            bar.set_prefix(id.to_owned());
            bar.set_length(1000);
            bar.set_position(0);
        }
    }

    fn show(&mut self, rate: Option<Rate>, now: Nanos) {
        let rate = rate.map_or_else(String::new, |rate| rate.to_string());
        let done = self.phase.done(now);
        if let Some(bar) = &self.bar {
            bar.set_position((done * 1000.0) as u64);
            bar.set_message(format!("{} {rate}", self.phase.moved));
        } else if self.last_line.elapsed() >= LINE_EVERY {
            self.last_line = Instant::now();
            self.console.remark(&format!("{} {:.0} %, {} at {rate}", self.phase.id, done * 100.0, self.phase.moved));
        }
    }

    fn phase_end(&mut self, id: &str, end: Nanos) {
        let span = end.saturating_sub(self.phase.start);
        if let Some(rate) = self.phase.moved.per(span).filter(|_| self.phase.moved.0 > 0) {
            self.console.remark(&format!("{id}: {} in {span}, {rate}", self.phase.moved));
            self.last_line = Instant::now();
        }
    }
}

impl Phase {
    /// The share that is done, by bytes and by time, whichever is less.
    fn done(&self, now: Nanos) -> f64 {
        let share = |part: u64, whole: u64| if whole == 0 { 1.0 } else { (part as f64 / whole as f64).min(1.0) };
        let time = share(now.saturating_sub(self.start).0, self.of_time.0);
        share(self.moved.0, self.of_bytes.0).min(time)
    }
}

impl Observer for Progress<'_> {
    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Begins { folder, header, so_far } => self.begins(folder, header, so_far),
            Event::Record(record) => self.record(record),
            Event::Note(text) => self.console.remark(&text),
        }
    }
}

fn profile_name(header: &Header) -> String {
    let profile = harness::plan::profile::Profile::parse(&header.profile);
    profile.map_or_else(|_| header.fingerprint.clone(), |profile| profile.name)
}
