//! `cargo xtask score [DIR]`: the analysis over a corpus with known truths, series by series and in totals.
//!
//! Owns what counts as right; the truths are read by the tests' rigs. Says nothing of how a finding is made.
#![expect(clippy::print_stdout, reason = "a chore's output is its result")]

mod rivals;
mod simulated;
mod space;

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use harness::analysis::analyze::{Analysis, analyze};
use harness::analysis::series::Series;
use harness::units::{GIB, MIB, Nanos, Rate};
pub(crate) use simulated::simulated;
use space::Level;
use storage_check_tests::corpus::{self, Truth};

/// A level is right within this share of the wanted one.
const LEVEL: f64 = 0.03;
/// Labels of places are rounded to so many GiB.
const ROUNDED: f64 = 0.01;

/// What is scored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Question {
    Cliff,
    Steady,
    Level,
    Claim,
    SniaClaim,
    FioClaim,
}

impl Question {
    fn words(self) -> &'static str {
        match self {
            Question::Cliff => "cliff in its interval, or none",
            Question::Steady => "steady or not",
            Question::Level => "steady level within 3 %",
            Question::Claim => "first claim, ours",
            Question::SniaClaim => "first claim, SNIA's rule",
            Question::FioClaim => "first claim, fio's slope rule",
        }
    }
}

/// The answer to one question about one series.
struct Answer {
    question: Question,
    right: bool,
    text: String,
    /// Share of the run's time after which a right claim was made on a series that is steady.
    after: Option<f64>,
}

/// Right answers and all answers, and what the right claims took.
#[derive(Debug, Default)]
struct Total {
    right: usize,
    all: usize,
    after: Vec<f64>,
}

impl Total {
    fn add(&mut self, answer: &Answer) {
        self.all += 1;
        self.right += usize::from(answer.right);
        self.after.extend(answer.after);
    }

    fn text(&self) -> String {
        let mean = self.after.iter().sum::<f64>() / self.after.len() as f64;
        let after =
            if self.after.is_empty() { String::new() } else { format!(", at {:.1} % of the run", 100.0 * mean) };
        format!("{} of {}{after}", self.right, self.all)
    }
}

/// Totals by question.
type Totals = BTreeMap<Question, Total>;

/// Prints the score of the corpus in `folder`.
pub(crate) fn score(folder: Option<&Path>) -> Result<()> {
    let folder = folder.map_or_else(corpus::folder, Path::to_path_buf);
    let truths = corpus::truths(&folder)?.with_context(|| {
        format!("{} has no truth.toml: name the folder of a corpus, as in cargo xtask score DIR", folder.display())
    })?;
    ensure!(!truths.is_empty(), "{} has no series in its truth.toml", folder.display());
    let (mut totals, mut platforms) = (Totals::new(), BTreeMap::<String, Totals>::new());
    let mut drives = BTreeMap::<(String, u64), Vec<Level>>::new();
    for (name, truth) in &truths {
        println!("{name}");
        let series = truth.series(&folder)?;
        let found = analyze(&series, &truth.known());
        let interval = series.steps().first().map_or(0, |step| step.elapsed_ns.0 / 1_000_000_000);
        drives.entry((platform(name), interval)).or_default().extend(Level::of(truth, &found));
        for answer in answers(truth, &series, &found) {
            let mark = if answer.right { "right" } else { "WRONG" };
            println!("  {mark}  {:<31} {}", answer.question.words(), answer.text);
            totals.entry(answer.question).or_default().add(&answer);
            platforms.entry(platform(name)).or_default().entry(answer.question).or_default().add(&answer);
        }
    }
    println!("\ntotals over {} series", truths.len());
    print(&totals);
    for (platform, totals) in &platforms {
        println!("{platform}");
        print(totals);
        for ((_, interval), levels) in
            drives.iter().filter(|((name, _), levels)| name == platform && !levels.is_empty())
        {
            println!("  at {interval} s:");
            space::print(levels);
        }
    }
    println!("\nall findings, to the bit: {:#018x}", corpus::digest(&folder, &truths)?);
    Ok(())
}

fn print(totals: &Totals) {
    for (question, total) in totals {
        println!("  {:<31} {}", question.words(), total.text());
    }
}

/// The drive model behind a series' name: `rw-7450pro` of `rw-7450pro-372`.
fn platform(name: &str) -> String {
    name.split('-').take(2).collect::<Vec<_>>().join("-")
}

/// All that is asked of one series.
fn answers(truth: &Truth, series: &Series, found: &Analysis) -> Vec<Answer> {
    let mut answers = Vec::new();
    answers.extend(cliff(truth, found));
    if let Some(steady) = truth.steady {
        let is = found.steady.rate().is_some();
        answers.push(Answer {
            question: Question::Steady,
            right: is == steady,
            text: format!("wanted {}, found {}", if steady { "steady" } else { "not steady" }, found.steady.word()),
            after: None,
        });
        if let Some(wanted) = truth.steady_mib_s {
            let rate = found.steady.rate().map(|rate| rate.0 / MIB as f64);
            answers.push(Answer {
                question: Question::Level,
                right: rate.is_some_and(|rate| near(rate, wanted)),
                text: format!("wanted {wanted:.0}, found {} MiB/s", or_none(rate)),
                after: None,
            });
        }
        if !truth.is_fill() {
            answers.push(claim(
                Question::Claim,
                truth,
                series,
                found.first_claim.map(|claim| (claim.decided, claim.rate)),
            ));
            answers.push(claim(Question::SniaClaim, truth, series, rivals::snia(series)));
            answers.push(claim(Question::FioClaim, truth, series, rivals::fio(series)));
        }
    }
    answers
}

fn cliff(truth: &Truth, found: &Analysis) -> Option<Answer> {
    let gib = |bytes: u64| bytes as f64 / GIB as f64;
    let first = found.cliffs.first().map(|cliff| gib(cliff.at.0));
    let (right, wanted) = match (truth.cliff?, truth.cliff_gib) {
        (true, Some([low, high])) => {
            (first.is_some_and(|at| (low - ROUNDED..=high + ROUNDED).contains(&at)), format!("{low:.2} to {high:.2}"))
        }
        (true, None) => (first.is_some(), "one".to_owned()),
        (false, _) => (first.is_none(), "none".to_owned()),
    };
    let at = first.map_or_else(|| "none".to_owned(), |at| format!("{at:.2}"));
    let text = format!("wanted {wanted}, found {at} GiB ({} in all)", found.cliffs.len());
    Some(Answer { question: Question::Cliff, right, text, after: None })
}

/// A claim is right within 3 % of the level at the end, and where there is none, when it is not made.
fn claim(question: Question, truth: &Truth, series: &Series, claim: Option<(Nanos, Rate)>) -> Answer {
    let wanted = truth.steady_mib_s.filter(|_| truth.steady == Some(true));
    let rate = claim.map(|(_, rate)| rate.0 / MIB as f64);
    let right = match (rate, wanted) {
        (Some(rate), Some(wanted)) => near(rate, wanted),
        (rate, wanted) => rate.is_none() && wanted.is_none(),
    };
    let share = claim.map(|(decided, _)| decided.secs() / series.elapsed().secs());
    let at = share.map_or_else(String::new, |share| format!(" at {:.1} % of the run", 100.0 * share));
    Answer {
        question,
        right,
        text: format!("wanted {}, found {}{at}", or_none(wanted), or_none(rate)),
        after: share.filter(|_| right),
    }
}

fn near(found: f64, wanted: f64) -> bool {
    (found / wanted - 1.0).abs() <= LEVEL
}

fn or_none(value: Option<f64>) -> String {
    value.map_or_else(|| "none".to_owned(), |value| format!("{value:.0}"))
}
