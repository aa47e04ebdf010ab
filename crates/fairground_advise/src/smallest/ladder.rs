//! The quotas among which an answer is looked for.

use fairground_model::CpuMax;
use fairground_stdx::Ns;

/// The quotas that are tried, each a hundredth above the one before, in three digits: from the least that a kernel takes to
/// `high`, for a period of `period`. A quota of one period is the same number of CPUs in each.
pub(crate) fn quotas(period: Ns, high: Ns) -> Vec<Ns> {
    // Millionths of a CPU, so that small limits have three digits too.
    let mut micro = 1_000_u64;
    let quota =
        |micro: u64| Ns(u64::try_from(u128::from(micro) * u128::from(period.0) / 1_000_000).unwrap_or(u64::MAX) / 1000 * 1000);
    let mut quotas = Vec::new();
    while quota(micro) < high {
        quotas.extend(Some(quota(micro)).filter(|quota| *quota >= CpuMax::LEAST));
        micro = three_digits(micro + micro / 100);
    }
    quotas.push(high.max(CpuMax::LEAST));
    quotas
}

/// The number rounded to three digits.
fn three_digits(number: u64) -> u64 {
    let mut unit = 1;
    while number / unit >= 1000 {
        unit *= 10;
    }
    (number + unit / 2) / unit * unit
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotas_lie_one_percent_apart_have_three_digits_and_are_the_same_cpus_in_each_period() {
        let of = |ms: u64| quotas(Ns::from_ms(ms), Ns::from_ms(ms * 8));
        let (hundred, ten) = (of(100), of(10));
        assert!((CpuMax::LEAST..=Ns::from_us(1020)).contains(&hundred[0]), "{}", hundred[0]);
        assert_eq!(hundred[hundred.len() - 1], Ns::from_ms(800));
        assert!(hundred.windows(2).all(|pair| pair[0] < pair[1] && pair[1].0 * 1000 <= pair[0].0 * 1015));
        assert!(hundred.iter().all(|quota| quota.0 % 10_000 == 0));
        assert!(ten[0] >= CpuMax::LEAST && hundred.ends_with(&ten.iter().map(|quota| Ns(quota.0 * 10)).collect::<Vec<_>>()));
        assert_eq!(quotas(Ns::from_ms(100), Ns(7)), [CpuMax::LEAST]);
    }
}
