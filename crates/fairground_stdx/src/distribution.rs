//! Distributions of whole numbers: lengths of time and sizes that are drawn from a random stream, in integers alone.
//!
//! Logarithms, powers of two and roots are fixed point in units of 2^−32 (`Q32`), so that a draw is the same on every machine.

use crate::prng::{LN_2_Q32, RngStream, minus_log2_q32};

/// 1 in units of 2^−32.
const ONE_Q32: u128 = 1 << 32;

/// From what a number is drawn.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Distribution {
    /// Always this number.
    Fixed(u64),
    /// Each number from the first to the second, both included, equally likely.
    Uniform(u64, u64),
    /// Exponential with this mean, see [`RngStream::exponential`].
    Exponential(u64),
    /// The logarithm is normal.
    Lognormal(Lognormal),
    /// Pareto between two bounds.
    Pareto(Pareto),
}

/// A lognormal distribution: mean · exp(σ z − σ²/2) with z standard normal.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Lognormal {
    mean: u64,
    /// σ = sqrt(ln(1 + cv²)).
    sigma_q32: u64,
}

impl Lognormal {
    /// The one of this mean whose standard deviation is so many hundredths of the mean, at most 100 times the mean.
    pub fn new(mean: u64, cv_percent: u64) -> Lognormal {
        let cv = u128::from(cv_percent.min(10_000));
        // 1 + cv² in Q32, rounded down.
        let square_q32 = ONE_Q32 + ((cv * cv) << 32) / 10_000;
        let variance_q32 = (log2_q32(square_q32) * LN_2_Q32) >> 32;
        Lognormal { mean, sigma_q32: narrow((variance_q32 << 32).isqrt()) }
    }
    fn draw(self, stream: &mut RngStream) -> u64 {
        let sigma = i128::from(self.sigma_q32);
        let exponent_ln = ((sigma * normal_q32(stream)) >> 32) - ((sigma * sigma) >> 33);
        scaled_by_exp2(self.mean, (exponent_ln << 32) / LN_2_Q32.cast_signed())
    }
}

/// A Pareto distribution cut off at a largest value: P(X > x) = ((low/x)^α − (low/high)^α) / (1 − (low/high)^α).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pareto {
    low: u64,
    high: u64,
    alpha_percent: u64,
    /// (low/high)^α, rounded down.
    rest_q32: u64,
}

impl Pareto {
    /// The one from `low` to `high` with the exponent α in hundredths, at least 1. A `high` below `low` counts as `low`.
    pub fn new(low: u64, high: u64, alpha_percent: u64) -> Pareto {
        let (low, alpha_percent) = (low.max(1), alpha_percent.clamp(1, 10_000));
        let high = high.max(low);
        let ratio_log2_q32 = log2_q32((u128::from(high) << 32) / u128::from(low));
        let exponent = ratio_log2_q32 * u128::from(alpha_percent) / 100;
        let rest_q32 = scaled_by_exp2(1 << 32, -exponent.cast_signed());
        Pareto { low, high, alpha_percent, rest_q32 }
    }
    fn draw(self, stream: &mut RngStream) -> u64 {
        // w evenly between (low/high)^α and 1, in units of 2^−64; x = low · w^(−1/α).
        let span_q32 = ONE_Q32 - u128::from(self.rest_q32);
        let cut = (u128::from(stream.next_u64()) * span_q32) >> 32;
        let level = u64::MAX - narrow(cut);
        let exponent = u128::from(minus_log2_q32(level)) * 100 / u128::from(self.alpha_percent);
        scaled_by_exp2(self.low, exponent.cast_signed()).min(self.high)
    }
}

impl Distribution {
    /// The next number.
    pub fn draw(&self, stream: &mut RngStream) -> u64 {
        match *self {
            Distribution::Fixed(value) => value,
            Distribution::Uniform(low, high) => stream.between(low, high),
            Distribution::Exponential(mean) => stream.exponential(mean),
            Distribution::Lognormal(lognormal) => lognormal.draw(stream),
            Distribution::Pareto(pareto) => pareto.draw(stream),
        }
    }
}

/// The mean of the exponential distribution, in units of 2^−20, whose draws cut to whole numbers and 1 added are geometric
/// with this mean: 1 / −ln(1 − 1/mean). 0 for a mean of 1 or less, where every draw is 1.
pub fn geometric_scale_q20(mean: u64) -> u64 {
    if mean <= 1 {
        return 0;
    }
    // −log2((mean − 1)/mean) = log2(mean/(mean − 1)).
    let log2 = log2_q32((u128::from(mean) << 32) / u128::from(mean - 1));
    let ln_q32 = (log2 * LN_2_Q32) >> 32;
    narrow((1 << 52) / ln_q32.max(1))
}

/// A standard normal draw: Marsaglia's polar method, which needs no sine. About a fifth of the pairs is thrown away.
fn normal_q32(stream: &mut RngStream) -> i128 {
    loop {
        // Two numbers evenly between −1 and 1, in units of 2^−31.
        let bits = stream.next_u64();
        let [u, v] = [bits >> 32, bits & 0xffff_ffff].map(|half| i128::from(half) - (1 << 31));
        let s = (u * u + v * v).unsigned_abs();
        if s == 0 || s >= 1 << 62 {
            continue;
        }
        // s is in units of 2^−62, so that s·4 − 1 is the draw of `minus_log2_q32` that stands for it.
        let minus_ln_q32 = (u128::from(minus_log2_q32(narrow(s * 4 - 1))) * LN_2_Q32) >> 32;
        let square_q32 = ((2 * minus_ln_q32) << 62) / s;
        let factor_q32 = (square_q32 << 32).isqrt().cast_signed();
        return (u * factor_q32) >> 31;
    }
}

/// log2 of a number in Q32 that is at least 1 and below 2^32, in Q32.
fn log2_q32(value_q32: u128) -> u128 {
    let value = narrow(value_q32.max(ONE_Q32));
    // −log2(value / 2^64) = 64 − log2(value), and value is 2^32 times the number.
    (32 << 32) - u128::from(minus_log2_q32(value - 1))
}

/// 2^(2^−(k+1)) in units of 2^−62, for k from 0: each is the root of the one before.
const ROOTS_OF_TWO_Q62: [u64; 32] = {
    let mut roots = [0; 32];
    let mut last: u128 = 2 << 62;
    let mut row = 0;
    while row < 32 {
        last = (last << 62).isqrt();
        roots[row] = last as u64;
        row += 1;
    }
    roots
};

/// value · 2^exponent with the exponent in Q32, rounded down; at most 2^64 − 1.
fn scaled_by_exp2(value: u64, exponent_q32: i128) -> u64 {
    let (whole, fraction) = (exponent_q32 >> 32, exponent_q32 & 0xffff_ffff);
    let mut power_q62: u128 = 1 << 62;
    for (bit, &root) in (0..32).rev().zip(&ROOTS_OF_TWO_Q62) {
        if fraction >> bit & 1 == 1 {
            power_q62 = (power_q62 * u128::from(root)) >> 62;
        }
    }
    // value · power < 2^64 · 2^63.
    let product = u128::from(value) * power_q62;
    let shift = 62 - whole;
    match shift {
        128.. => 0,
        0..128 => narrow(product >> shift),
        _ if product == 0 => 0,
        _ => u64::MAX,
    }
}

fn narrow(wide: u128) -> u64 {
    u64::try_from(wide).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prng::StreamKind;

    fn draws(from: Distribution, count: usize) -> Vec<u64> {
        let mut stream = RngStream::new(5, StreamKind::TaskBehavior, 0);
        (0..count).map(|_| from.draw(&mut stream)).collect()
    }
    #[allow(clippy::float_arithmetic, reason = "tests compare with formulas")]
    fn mean(draws: &[u64]) -> f64 {
        draws.iter().map(|&draw| draw as f64).sum::<f64>() / draws.len() as f64
    }
    /// The share of draws above a number.
    #[allow(clippy::float_arithmetic, reason = "tests compare with formulas")]
    fn above(draws: &[u64], bound: f64) -> f64 {
        draws.iter().filter(|&&draw| draw as f64 > bound).count() as f64 / draws.len() as f64
    }

    #[test]
    fn powers_of_two_are_right_in_their_first_nine_digits() {
        for exponent in [-40.25, -1.0, -0.3, 0.0, 0.5, 0.999, 3.7, 20.1] {
            let q32 = (exponent * 2f64.powi(32)) as i128;
            let ours = scaled_by_exp2(1 << 40, q32) as f64;
            let exact = 2f64.powf(exponent + 40.0);
            assert!((ours - exact).abs() <= exact * 2e-9 + 1.0, "{exponent}: {ours} for {exact}");
        }
        assert_eq!([scaled_by_exp2(1, 64 << 32), scaled_by_exp2(0, 99 << 32), scaled_by_exp2(9, -(99 << 32))], [u64::MAX, 0, 0]);
        assert_eq!(scaled_by_exp2(u64::MAX, 0), u64::MAX);
    }

    #[test]
    fn lognormal_draws_have_their_mean_their_spread_and_their_median() {
        for cv_percent in [50, 100, 200] {
            let draws = draws(Distribution::Lognormal(Lognormal::new(1_000_000, cv_percent)), 400_000);
            let cv = cv_percent as f64 / 100.0;
            assert!((mean(&draws) / 1e6 - 1.0).abs() < 0.02, "{cv}: {}", mean(&draws));
            let median = 1e6 / (1.0 + cv * cv).sqrt();
            assert!((above(&draws, median) - 0.5).abs() < 0.004, "{cv}");
            // One sigma above the median: 15.87 % lie beyond.
            let sigma = (1.0 + cv * cv).ln().sqrt();
            assert!((above(&draws, median * sigma.exp()) - 0.1587).abs() < 0.004, "{cv}");
        }
        assert!(draws(Distribution::Lognormal(Lognormal::new(700, 0)), 10).iter().all(|&draw| draw == 700));
    }

    #[test]
    fn pareto_draws_follow_their_law_between_their_bounds() {
        let draws = draws(Distribution::Pareto(Pareto::new(1_000, 1_000_000, 150)), 300_000);
        assert!(draws.iter().all(|draw| (999..=1_000_000).contains(draw)));
        let (alpha, rest) = (1.5, 1000f64.powf(-1.5));
        for x in [1_500.0, 4_000.0, 50_000.0] {
            let exact = ((1000.0f64 / x).powf(alpha) - rest) / (1.0 - rest);
            assert!((above(&draws, x) - exact).abs() < 0.004, "{x}: {} for {exact}", above(&draws, x));
        }
    }

    #[test]
    fn an_exponential_that_is_cut_is_geometric() {
        let scale = geometric_scale_q20(5);
        let draws = draws(Distribution::Exponential(scale), 200_000);
        let sizes: Vec<u64> = draws.iter().map(|draw| (draw >> 20) + 1).collect();
        assert!((mean(&sizes) - 5.0).abs() < 0.05, "{}", mean(&sizes));
        // P(1) = 1/mean.
        assert!((1.0 - above(&sizes, 1.0) - 0.2).abs() < 0.005);
        assert_eq!(geometric_scale_q20(1), 0);
    }

    #[test]
    fn extreme_settings_draw_without_a_panic() {
        for from in [
            Distribution::Lognormal(Lognormal::new(u64::MAX, u64::MAX)),
            Distribution::Pareto(Pareto::new(0, 0, 0)),
            Distribution::Pareto(Pareto::new(1, u64::MAX, 1)),
            Distribution::Pareto(Pareto::new(u64::MAX, 1, u64::MAX)),
            Distribution::Exponential(u64::MAX),
            Distribution::Uniform(9, 3),
        ] {
            draws(from, 1000);
        }
    }
}
