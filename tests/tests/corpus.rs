//! Real series from real drives: the analysis says of each what a person sees on its plot.
//!
//! The series are nobody's here to publish, so they lie beside the repository, in `../shared/corpus`
//! (or where `STORAGE_CHECK_CORPUS` says). Where they are absent, the tests report themselves as ignored.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use harness::analysis::cliff;
use harness::analysis::series::{Series, Step};
use harness::units::{Bytes, GIB, MIB, Nanos, Rate};
use libtest_mimic::{Arguments, Trial};

fn main() -> Result<()> {
    let folder = std::env::var_os("STORAGE_CHECK_CORPUS")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/corpus"), PathBuf::from);
    libtest_mimic::run(&Arguments::from_args(), trials(&folder)?).exit()
}

fn trials(folder: &Path) -> Result<Vec<Trial>> {
    if !folder.join("truth.toml").is_file() {
        let absent = format!("corpus: absent, {} has no truth.toml", folder.display());
        return Ok(vec![Trial::test(absent, || Ok(())).with_ignored_flag(true)]);
    }
    let mut trials = Vec::new();
    for (name, truth) in truths(folder)? {
        for variant in Variant::ALL {
            let (truth, folder) = (truth.clone(), folder.to_owned());
            let claim = format!("cliff of {name}, {}", variant.name());
            trials.push(Trial::test(claim, move || Ok(check(&folder, &truth, variant)?)));
        }
    }
    trials.push(Trial::test("range in use and bytes at the cliff are one constant of a drive", {
        let folder = folder.to_owned();
        move || Ok(check_constant(&folder)?)
    }));
    Ok(trials)
}

/// Raw flash runs out for the first time after as many bytes, whatever the range in use: which
/// checks the cliffs without anybody's reading of a plot.
fn check_constant(folder: &Path) -> Result<()> {
    const SUM_GIB: (f64, f64) = (1067.0, 1082.0);
    let truths = truths(folder)?;
    let family: Vec<&Truth> =
        truths.iter().filter(|(name, _)| name.starts_with("rw-7450")).map(|(_, truth)| truth).collect();
    ensure!(family.len() > 3, "only {} series of the drive", family.len());
    for truth in family {
        let found = cliff::find(&Series::new(steps(&folder.join(&truth.file), truth.fill)?));
        let first = found.cliffs.first().with_context(|| format!("no cliff in {}", truth.file))?;
        let range = truth.range_gib.with_context(|| format!("no range_gib of {}", truth.file))?;
        let (low, high) = (range + gib(first.low), range + gib(first.high));
        ensure!(low <= SUM_GIB.1 && high >= SUM_GIB.0, "{}: {low:.0} to {high:.0} GiB", truth.file);
    }
    Ok(())
}

fn gib(bytes: Bytes) -> f64 {
    bytes.0 as f64 / GIB as f64
}

/// What a person sees on the plot.
#[derive(Clone, Debug)]
struct Truth {
    file: String,
    fill: bool,
    /// Whether there is a cliff; none where it is not scored.
    cliff: Option<bool>,
    /// Where it is, GiB.
    within: Option<(f64, f64)>,
    /// Rates before it, and at the end where they are steady, MiB/s.
    before: Option<f64>,
    steady: Option<f64>,
    /// Range in use, GiB.
    range_gib: Option<f64>,
}

fn truths(folder: &Path) -> Result<Vec<(String, Truth)>> {
    let path = folder.join("truth.toml");
    let text = std::fs::read_to_string(&path).with_context(|| format!("reading {}", path.display()))?;
    let table: toml::Table = text.parse().with_context(|| format!("parsing {}", path.display()))?;
    let series = table.get("series").and_then(toml::Value::as_table).context("truth.toml has no series")?;
    let truth = |value: &toml::Value| -> Result<Truth> {
        let text = |key: &str| value.get(key).and_then(toml::Value::as_str).with_context(|| format!("no {key}"));
        let within = value.get("cliff_gib").and_then(toml::Value::as_array).map(|ends| {
            let number = |i: usize| ends.get(i).and_then(toml::Value::as_float).unwrap_or(f64::NAN);
            (number(0), number(1))
        });
        let cliff = value.get("cliff").and_then(toml::Value::as_bool);
        let number = |key: &str| value.get(key).and_then(|v| v.as_float().or(v.as_integer().map(|whole| whole as f64)));
        Ok(Truth {
            file: text("file")?.to_owned(),
            fill: text("kind")? == "fill",
            cliff,
            within,
            before: number("before_mib_s"),
            steady: number("steady_mib_s"),
            range_gib: number("range_gib"),
        })
    };
    series.iter().map(|(name, value)| Ok((name.clone(), truth(value).context(name.clone())?))).collect()
}

/// A change to a series that leaves its answer what it was.
#[derive(Clone, Copy, Debug)]
enum Variant {
    AsMeasured,
    /// Two neighbouring samples as one, as at half the sampling rate.
    Paired,
    /// Every second sample left out.
    Halved,
    /// Noise of so many percent on every rate.
    Noisy(u32),
    /// One rate in a hundred is a half or a double.
    Outliers,
}

impl Variant {
    const ALL: [Variant; 6] = [
        Variant::AsMeasured,
        Variant::Paired,
        Variant::Halved,
        Variant::Noisy(2),
        Variant::Noisy(5),
        Variant::Outliers,
    ];

    fn name(self) -> String {
        match self {
            Variant::AsMeasured => "as measured".to_owned(),
            Variant::Paired => "samples paired".to_owned(),
            Variant::Halved => "every second sample dropped".to_owned(),
            Variant::Noisy(percent) => format!("{percent} % noise"),
            Variant::Outliers => "1 % outliers".to_owned(),
        }
    }

    /// How often it is tried, each time with another seed.
    fn tries(self) -> u64 {
        match self {
            Variant::AsMeasured | Variant::Paired | Variant::Halved => 1,
            Variant::Noisy(_) | Variant::Outliers => 5,
        }
    }

    fn of(self, steps: &[Step], seed: u64) -> Vec<Step> {
        let mut random = Random(seed);
        let slower = |step: &Step, times: f64| Step {
            elapsed_ns: Nanos((step.elapsed_ns.0 as f64 * times) as u64),
            bytes: step.bytes,
        };
        match self {
            Variant::AsMeasured => steps.to_vec(),
            Variant::Paired => steps
                .chunks(2)
                .map(|pair| Step {
                    elapsed_ns: pair.iter().fold(Nanos(0), |sum, step| sum + step.elapsed_ns),
                    bytes: pair.iter().map(|step| step.bytes).sum(),
                })
                .collect(),
            // What is left stands for what was dropped, so that places stay what they were.
            Variant::Halved => steps
                .chunks(2)
                .map(|pair| {
                    let bytes: Bytes = pair.iter().map(|step| step.bytes).sum();
                    let seconds = bytes.0 as f64 / pair[0].rate().map_or(1.0, |rate| rate.0);
                    Step { elapsed_ns: Nanos((seconds * 1e9) as u64), bytes }
                })
                .collect(),
            Variant::Noisy(percent) => steps
                .iter()
                .map(|step| slower(step, (1.0 + f64::from(percent) / 100.0 * random.normal()).max(0.1)))
                .collect(),
            Variant::Outliers => steps
                .iter()
                .map(|step| {
                    let hit = random.unit() < 0.01;
                    let times = if random.unit() < 0.5 { 0.5 } else { 2.0 };
                    slower(step, if hit { times } else { 1.0 })
                })
                .collect(),
        }
    }
}

fn check(folder: &Path, truth: &Truth, variant: Variant) -> Result<()> {
    let steps = steps(&folder.join(&truth.file), truth.fill)?;
    for seed in 0..variant.tries() {
        let series = Series::new(variant.of(&steps, seed));
        let found = cliff::find(&series);
        let first = found.cliffs.first();
        match (truth.cliff, truth.within) {
            (Some(false), _) => ensure!(first.is_none(), "seed {seed}: invented {first:?}"),
            (Some(true), Some((low, high))) => {
                let Some(first) = first else { bail!("seed {seed}: no cliff within [{low}, {high}] GiB") };
                // A cliff is known to a sample, and the variants' samples are up to two of the file's; the
                // labels are rounded to 0.01.
                let spare = match variant {
                    Variant::Paired | Variant::Halved => (high - low) / 2.0,
                    _ => 0.01,
                };
                let at = gib(first.at);
                ensure!(
                    at >= low - spare && at <= high + spare,
                    "seed {seed}: cliff at {at:.2} GiB, not within [{low}, {high}]: {first:?}"
                );
                ensure!(first.low <= first.at && first.at <= first.high, "seed {seed}: {first:?}");
                if matches!(variant, Variant::AsMeasured) {
                    near("before the cliff", first.before, truth.before)?;
                }
                if truth.fill && matches!(variant, Variant::AsMeasured) {
                    near("floor", found.levels[found.levels.len() - 1].rate, truth.steady)?;
                }
            }
            _ => {}
        }
    }
    Ok(())
}

/// Within 3 %.
fn near(what: &str, found: Rate, expect_mib_s: Option<f64>) -> Result<()> {
    let mib_s = found.0 / MIB as f64;
    let fits = expect_mib_s.is_none_or(|expect| (mib_s / expect - 1.0).abs() <= 0.03);
    ensure!(fits, "{what}: {mib_s:.0} MiB/s instead of {expect_mib_s:?}");
    Ok(())
}

/// The steps of a series file: `offset_mib,mib_s` of equal chunks, or `t_s,mib_s` of intervals.
fn steps(path: &Path, by_offset: bool) -> Result<Vec<Step>> {
    let text = std::fs::read_to_string(path).with_context(|| format!("reading {}", path.display()))?;
    let rows = text.lines().skip(1).map(|line| {
        let (x, rate) = line.split_once(',').with_context(|| format!("no comma in {line}"))?;
        Ok((x.parse::<f64>()?, rate.parse::<f64>()?))
    });
    let rows = rows.collect::<Result<Vec<(f64, f64)>>>()?;
    ensure!(rows.len() > 1, "{} has no rows", path.display());
    let mut last = 0.0;
    let steps = rows.iter().map(|&(x, rate)| {
        let (seconds, mib) = if by_offset {
            let mib = rows[1].0 - rows[0].0;
            (mib / rate, mib)
        } else {
            (x - last, rate * (x - last))
        };
        last = x;
        Step { elapsed_ns: Nanos((seconds * 1e9) as u64), bytes: Bytes((mib * MIB as f64) as u64) }
    });
    Ok(steps.collect())
}

/// SplitMix64 (Steele, Lea and Flood 2014): the same draws from a seed everywhere.
struct Random(u64);

impl Random {
    /// Uniform in `0.0..1.0`.
    fn unit(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Nearly standard normal: twelve uniform draws (Irwin and Hall).
    fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.unit()).sum::<f64>() - 6.0
    }
}
