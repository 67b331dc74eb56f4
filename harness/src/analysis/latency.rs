//! Latency percentiles from the histograms of a journal's rounds.
//!
//! Histograms merge exactly, which percentiles of intervals do not. Knows nothing of rates.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::Deserializer;

/// Percentiles of all I/Os of some rounds, in microseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Percentiles {
    /// I/Os counted.
    pub count: u64,
    /// Median.
    pub p50_us: f64,
    /// 99th percentile.
    pub p99_us: f64,
    /// 99.9th percentile.
    pub p999_us: f64,
    /// 99.99th percentile.
    pub p9999_us: f64,
    /// Slowest.
    pub max_us: f64,
}

/// Merges histograms (nanoseconds; HdrHistogram V2, deflated, base64); none where there is no I/O.
///
/// # Errors
/// Which histogram, counted from zero, is damaged, and how.
pub fn percentiles<'a>(histograms: impl IntoIterator<Item = &'a str>) -> Result<Option<Percentiles>, String> {
    let mut all: Option<Histogram<u64>> = None;
    for (at, text) in histograms.into_iter().enumerate() {
        let damaged = |why: String| format!("the histogram of round {at} is damaged: {why}");
        let bytes = BASE64.decode(text).map_err(|why| damaged(why.to_string()))?;
        let next: Histogram<u64> =
            Deserializer::new().deserialize(&mut bytes.as_slice()).map_err(|why| damaged(format!("{why:?}")))?;
        match &mut all {
            Some(sum) => sum.add(next).map_err(|why| damaged(why.to_string()))?,
            None => all = Some(next),
        }
    }
    Ok(all.filter(|all| !all.is_empty()).map(|all| {
        let at = |quantile| all.value_at_quantile(quantile) as f64 / 1e3;
        Percentiles {
            count: all.len(),
            p50_us: at(0.5),
            p99_us: at(0.99),
            p999_us: at(0.999),
            p9999_us: at(0.9999),
            max_us: all.max() as f64 / 1e3,
        }
    }))
}

#[cfg(test)]
mod tests {
    use hdrhistogram::serialization::{Serializer, V2DeflateSerializer};

    use super::*;

    fn histogram(values_us: std::ops::Range<u64>) -> String {
        let mut histogram = Histogram::<u64>::new_with_bounds(1, 3_600_000_000_000, 2).unwrap();
        values_us.for_each(|us| histogram.record(us * 1000).unwrap());
        let mut bytes = Vec::new();
        V2DeflateSerializer::new().serialize(&histogram, &mut bytes).unwrap();
        BASE64.encode(bytes)
    }

    #[test]
    fn rounds_merge_to_what_one_histogram_would_say() {
        let (first, second, whole) = (histogram(1..501), histogram(501..1001), histogram(1..1001));
        let merged = percentiles([first.as_str(), second.as_str()]).unwrap().unwrap();
        assert_eq!(merged, percentiles([whole.as_str()]).unwrap().unwrap());
        assert!((merged.p99_us - 990.0).abs() <= 990.0 * 0.01, "{merged:?}");
        assert_eq!(merged.count, 1000);
    }

    #[test]
    fn damage_is_an_error_and_nothing_is_none() {
        assert!(percentiles(["not base64!"]).is_err());
        assert!(percentiles(["AAAA"]).is_err());
        assert_eq!(percentiles([]), Ok(None));
    }
}
