//! Student's t distribution, and what a prior on variances needs of the gamma function.
//!
//! Pure, on `libm`: the same bits everywhere, in debug and in release. Own code because a statistics library's
//! rests on the platform's `ln` and `exp`; held to printed tables by its tests.

/// P(T > t) with `df` degrees of freedom, which need not be whole; accurate to about ten digits.
///
/// By the regularised incomplete beta function, P(T > t) = ½ I(df/2, ½; df/(df + t²)) for t ≥ 0 (Abramowitz &
/// Stegun 26.5.27 and 26.7.1). NaN where `t` or `df` makes no sense.
#[must_use]
pub fn upper_tail(t: f64, df: f64) -> f64 {
    if t.is_nan() || df.is_nan() || df <= 0.0 {
        return f64::NAN;
    }
    if t < 0.0 {
        return 1.0 - upper_tail(-t, df);
    }
    if t.is_infinite() {
        return 0.0;
    }
    let square = t * t;
    0.5 * incomplete_beta(df / 2.0, 0.5, df / (df + square), square / (df + square))
}

/// The `t` that a variable exceeds with probability `tail`, from 0 to 1 exclusive: `quantile(0.05, df)` bounds one side at 95 %.
///
/// Newton's method on the tail, kept within a bracket.
#[must_use]
pub fn quantile(tail: f64, df: f64) -> f64 {
    if tail.is_nan() || df.is_nan() || df <= 0.0 || !(0.0..=1.0).contains(&tail) {
        return f64::NAN;
    }
    if tail > 0.5 {
        return -quantile(1.0 - tail, df);
    }
    if tail == 0.0 {
        return f64::INFINITY;
    }
    let (mut low, mut high) = (0.0, 2.0);
    while upper_tail(high, df) > tail && high < 1e300 {
        (low, high) = (high, high * 2.0);
    }
    let mut t = (low + high) / 2.0;
    for _ in 0..200 {
        let over = upper_tail(t, df) - tail;
        if over > 0.0 {
            low = t;
        } else {
            high = t;
        }
        let newton = t + over / density(t, df);
        let next = if newton > low && newton < high { newton } else { (low + high) / 2.0 };
        if (next - t).abs() <= 1e-13 * (1.0 + t.abs()) {
            return next;
        }
        t = next;
    }
    t
}

fn density(t: f64, df: f64) -> f64 {
    let scale = libm::lgamma((df + 1.0) / 2.0) - libm::lgamma(df / 2.0);
    let scale = libm::exp(scale) / libm::sqrt(df * std::f64::consts::PI);
    scale * libm::pow(1.0 + t * t / df, -(df + 1.0) / 2.0)
}

/// I(a, b; x) where `y` is 1 − x, given apart so that no digit of a small one is lost.
fn incomplete_beta(a: f64, b: f64, x: f64, y: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    if y <= 0.0 {
        return 1.0;
    }
    let beta = libm::lgamma(a) + libm::lgamma(b) - libm::lgamma(a + b);
    let front = libm::exp(a * libm::log(x) + b * libm::log(y) - beta);
    // The fraction converges fast on this side of the mean.
    if x < (a + 1.0) / (a + b + 2.0) {
        front * continued_fraction(a, b, x) / a
    } else {
        1.0 - front * continued_fraction(b, a, y) / b
    }
}

/// Abramowitz & Stegun 26.5.8, by the modified method of Lentz (Thompson & Barnett 1986).
fn continued_fraction(a: f64, b: f64, x: f64) -> f64 {
    const TINY: f64 = 1e-300;
    let away = |value: f64| if value.abs() < TINY { TINY } else { value };
    let mut d = 1.0 / away(1.0 - (a + b) * x / (a + 1.0));
    let (mut c, mut value) = (1.0, d);
    for m in 1..1000 {
        let m = f64::from(m);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        for step in [even, odd] {
            d = 1.0 / away(1.0 + step * d);
            c = away(1.0 + step / c);
            value *= d * c;
        }
        if (d * c - 1.0).abs() < 1e-15 {
            break;
        }
    }
    value
}

/// The logarithmic derivative of the gamma function at `x` > 0 (Abramowitz & Stegun 6.3.5 and 6.3.18).
#[must_use]
pub fn digamma(x: f64) -> f64 {
    let (mut x, mut below) = (x, 0.0);
    while x < 10.0 {
        below += 1.0 / x;
        x += 1.0;
    }
    let square = 1.0 / (x * x);
    let series = square * (1.0 / 12.0 - square * (1.0 / 120.0 - square / 252.0));
    libm::log(x) - 0.5 / x - series - below
}

/// Its derivative at `x` > 0 (Abramowitz & Stegun 6.4.6 and 6.4.12).
#[must_use]
pub fn trigamma(x: f64) -> f64 {
    let (mut x, mut below) = (x, 0.0);
    while x < 10.0 {
        below += 1.0 / (x * x);
        x += 1.0;
    }
    let square = 1.0 / (x * x);
    let series = square * (1.0 / 6.0 - square * (1.0 / 30.0 - square / 42.0)) / x;
    below + 1.0 / x + square / 2.0 + series
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tables of Student's t, upper tails (Abramowitz & Stegun, table 26.10; Fisher & Yates 1963, table III).
    #[test]
    fn quantiles_are_those_of_the_printed_tables() {
        let check = |tail, df, expect: f64, digits: f64| {
            let t = quantile(tail, df);
            assert!((t - expect).abs() < 0.5 * digits, "t({tail}, {df}) = {t}, printed {expect}");
        };
        check(0.05, 1.0, 6.314, 1e-3);
        check(0.01, 1.0, 31.821, 1e-3);
        check(0.0005, 1.0, 636.619, 1e-3);
        check(0.05, 2.0, 2.920, 1e-3);
        check(0.025, 4.0, 2.776, 1e-3);
        check(0.05, 10.0, 1.812, 1e-3);
        check(0.001, 10.0, 4.144, 1e-3);
        check(0.01, 24.0, 2.492, 1e-3);
        check(0.0005, 30.0, 3.646, 1e-3);
        check(0.025, 120.0, 1.980, 1e-3);
        check(0.025, 1e9, 1.959_964, 1e-6);
    }

    /// Bencher's example of a lower limit: 25 results, mean 100, standard deviation 10, boundary 0.977.
    #[test]
    fn a_prediction_interval_of_25_results_is_the_published_one() {
        let (mean, deviation, n) = (100.0, 10.0, 25.0);
        let spread = deviation * libm::sqrt(1.0 + 1.0 / n);
        let t_limit = mean - quantile(1.0 - 0.977, n - 1.0) * spread;
        assert_eq!(format!("{t_limit:.2}"), "78.54");
        let z_limit = mean - quantile(1.0 - 0.977, 1e12) * deviation;
        assert_eq!(format!("{z_limit:.2}"), "80.05");
    }

    #[test]
    fn the_tail_is_exact_where_it_has_a_closed_form() {
        for t in [-30.0, -1.0, 0.0, 0.3, 1.0, 4.0, 1e4] {
            let cauchy = 0.5 - libm::atan(t) / std::f64::consts::PI;
            assert!((upper_tail(t, 1.0) / cauchy - 1.0).abs() < 1e-9, "{t}");
            let two = 0.5 * (1.0 - t / libm::sqrt(2.0 + t * t));
            assert!((upper_tail(t, 2.0) - two).abs() < 1e-12, "{t}");
        }
        assert_eq!((upper_tail(f64::INFINITY, 3.0), upper_tail(f64::NEG_INFINITY, 3.0)), (0.0, 1.0));
        assert!(upper_tail(f64::NAN, 3.0).is_nan() && upper_tail(1.0, 0.0).is_nan() && quantile(1.5, 3.0).is_nan());
    }

    #[test]
    fn the_quantile_is_the_inverse_of_the_tail() {
        for df in [0.7, 1.0, 2.5, 6.5, 40.0, 1e5] {
            for tail in [1e-9, 1e-4, 0.01, 0.3, 0.5, 0.8, 0.999] {
                let back = upper_tail(quantile(tail, df), df);
                assert!((back / tail - 1.0).abs() < 1e-7, "{tail} with {df}: {back}");
            }
        }
    }

    #[test]
    fn derivatives_of_the_gamma_function_are_the_known_ones() {
        const EULER: f64 = 0.577_215_664_901_532_9;
        let square = std::f64::consts::PI * std::f64::consts::PI;
        let check = |is: f64, expect: f64| assert!((is - expect).abs() < 1e-8, "{is} {expect}");
        check(digamma(1.0), -EULER);
        check(digamma(0.5), -EULER - 2.0 * std::f64::consts::LN_2);
        check(trigamma(1.0), square / 6.0);
        check(trigamma(0.5), square / 2.0);
        check(trigamma(2.0), square / 6.0 - 1.0);
    }
}
