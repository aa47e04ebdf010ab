//! Limits as people write them: CPUs, and the lines of the files where they are set.

use super::bootstrap::NEVER;
use fairground_model::CpuMax;
use fairground_report::Cell;
use fairground_report::units::{fixed, format_ns};
use fairground_stdx::Ns;
use serde_json::Value;

/// Quota by period, with two digits behind the point.
pub(super) fn cpus_of(limit: CpuMax) -> String {
    limit.quota.map_or("no limit".to_string(), |quota| fixed(quota.0, limit.period.0, 2))
}

/// Thousandths of a CPU, rounded up: Kubernetes takes whole ones, and the limit is not to be below the answer.
pub(super) fn milli_cpus(limit: CpuMax) -> u128 {
    limit.quota.map_or(0, |quota| (u128::from(quota.0) * 1000).div_ceil(u128::from(limit.period.0.max(1))))
}

/// A text of others, so that a terminal shows it as it is: no control characters, and not too long.
pub(super) fn printable(text: &str) -> String {
    const LONGEST: usize = 200;
    let mut shown: String = text.chars().take(LONGEST).map(|letter| if letter.is_control() { '?' } else { letter }).collect();
    if text.chars().nth(LONGEST).is_some() {
        shown += "…";
    }
    shown
}

/// Thousandths as `1.05`.
pub(super) fn ratio_text(permille: u64) -> String {
    fixed(permille, 1000, 2)
}

/// How the limit is set: for cgroup v2, Kubernetes and systemd.
pub fn snippet(path: &str, limit: CpuMax) -> Vec<String> {
    let Some(quota) = limit.quota else {
        return vec![format!("cgroup v2    echo max > /sys/fs/cgroup{path}/cpu.max")];
    };
    let mut lines = vec![format!("cgroup v2    echo \"{limit}\" > /sys/fs/cgroup{path}/cpu.max")];
    if limit.burst.0 > 0 {
        lines.push(format!("             echo {} > /sys/fs/cgroup{path}/cpu.max.burst", limit.burst.0 / 1000));
    }
    lines.push(format!("Kubernetes   resources: {{ limits: {{ cpu: {}m }} }}", milli_cpus(limit)));
    if limit.period != CpuMax::DEFAULT_PERIOD {
        lines.push(format!("             the period is one for the node: kubelet cpuCFSQuotaPeriod: {}", limit.period));
    }
    if limit.burst.0 > 0 {
        lines.push("             it has no field for the burst: an agent must write cpu.max.burst".to_string());
    }
    // systemd takes hundredths of a percent; rounded up.
    let basis_points = (u128::from(quota.0) * 10_000).div_ceil(u128::from(limit.period.0));
    let (whole, rest) = (basis_points / 100, basis_points % 100);
    let percent = if rest == 0 { whole.to_string() } else { format!("{whole}.{rest:02}") };
    lines.push(format!("systemd      CPUQuota={percent}%"));
    if limit.period != CpuMax::DEFAULT_PERIOD {
        lines.push(format!("             CPUQuotaPeriodSec={}", limit.period));
    }
    if limit.burst.0 > 0 {
        lines.push("             it has no setting for the burst".to_string());
    }
    lines
}

/// A time that may be that of an answer which never came.
pub(super) fn time(ns: u64) -> Cell {
    match ns {
        NEVER => Cell::new("never", Value::Null),
        ns => Cell::new(format_ns(Ns(ns)), ns),
    }
}

/// A confidence in percent: nothing is certain by runs.
pub(crate) fn confidence(percent: u64) -> String {
    if percent > 99 { "over 99".to_string() } else { percent.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;
    use fairground_stdx::Ns;

    #[test]
    fn limits_are_written_for_each_place() {
        let limit = CpuMax { quota: Some(Ns::from_us(293_150)), ..CpuMax::UNLIMITED };
        expect![[r#"
            cgroup v2    echo "293150 100000" > /sys/fs/cgroup/service/cpu.max
            Kubernetes   resources: { limits: { cpu: 2932m } }
            systemd      CPUQuota=293.15%"#]]
        .assert_eq(&snippet("/service", limit).join("\n"));
        let burst = CpuMax { quota: Some(Ns::from_ms(10)), period: Ns::from_ms(50), burst: Ns::from_ms(10) };
        expect![[r#"
            cgroup v2    echo "10000 50000" > /sys/fs/cgroup/a/b/cpu.max
                         echo 10000 > /sys/fs/cgroup/a/b/cpu.max.burst
            Kubernetes   resources: { limits: { cpu: 200m } }
                         the period is one for the node: kubelet cpuCFSQuotaPeriod: 50ms
                         it has no field for the burst: an agent must write cpu.max.burst
            systemd      CPUQuota=20%
                         CPUQuotaPeriodSec=50ms
                         it has no setting for the burst"#]]
        .assert_eq(&snippet("/a/b", burst).join("\n"));
        assert_eq!(snippet("/x", CpuMax::UNLIMITED), ["cgroup v2    echo max > /sys/fs/cgroup/x/cpu.max"]);
        assert_eq!((cpus_of(burst), ratio_text(1049)), ("0.20".to_string(), "1.05".to_string()));
    }

    #[test]
    fn nothing_is_certain_by_runs() {
        assert_eq!([40, 99, 100].map(confidence), ["40", "99", "over 99"]);
    }
}
