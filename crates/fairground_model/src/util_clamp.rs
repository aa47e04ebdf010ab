//! Utilization clamps: what a task, or a group, asks for.

/// The most that a clamp may be: the capacity of the biggest CPU.
///
/// Kernel: sched.h SCHED_CAPACITY_SCALE, v4.12–
pub const CLAMP_MAX: u32 = 1024;

/// Requests for clamps in 1/1024 of the biggest CPU; `None` where nothing is asked for.
///
/// Kernel: sched.h struct task_struct uclamp_req, v5.3–
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct UtilClamp {
    /// As if it used at least so much (sched_util_min, cpu.uclamp.min).
    pub min: Option<u32>,
    /// As if it used at most so much (sched_util_max, cpu.uclamp.max).
    pub max: Option<u32>,
}

impl UtilClamp {
    /// Nothing is asked for.
    pub const NONE: UtilClamp = UtilClamp { min: None, max: None };

    /// What is asked for after `other` was asked for too: what that leaves open stays.
    pub fn with(self, other: UtilClamp) -> UtilClamp {
        UtilClamp { min: other.min.or(self.min), max: other.max.or(self.max) }
    }

    /// Whether a task may ask for that: no value above 1024, and its least not above its most (EINVAL).
    ///
    /// Kernel: core.c uclamp_validate(), v5.3–
    pub fn is_valid(self) -> bool {
        let (min, max) = (self.min.unwrap_or(0), self.max.unwrap_or(CLAMP_MAX));
        min <= max && max <= CLAMP_MAX
    }
}

/// The clamp of a share as cpu.uclamp.min and cpu.uclamp.max take it, in hundredths of a percent: hundredths * 1024 / 10000 to nearest.
///
/// Kernel: core.c capacity_from_percent(), v5.4–
pub(crate) const fn clamp_of_percent(hundredths: u32) -> u32 {
    (hundredths * CLAMP_MAX + 5_000) / 10_000
}

/// The share of a clamp, as cpu.uclamp.min and cpu.uclamp.max show it.
pub(crate) fn percent_of_clamp(clamp: u32) -> String {
    let hundredths = (clamp * WHOLE + CLAMP_MAX / 2) / CLAMP_MAX;
    format!("{}.{:02}", hundredths / 100, hundredths % 100)
}

/// 100 %, in hundredths of a percent.
const WHOLE: u32 = 10_000;

/// Hundredths of a percent of what is written to cpu.uclamp.min or cpu.uclamp.max: `20`, `12.50` or `12.5%`, or `max`, which is all. Else
/// what is wrong with it.
///
/// Kernel: core.c capacity_from_percent(), v5.4–
pub(crate) fn percent(text: &str) -> Result<u32, &'static str> {
    let text = text.trim();
    if text == "max" {
        return Ok(WHOLE);
    }
    let number = text.strip_suffix('%').unwrap_or(text);
    let (whole, part) = number.split_once('.').unwrap_or((number, ""));
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || part.len() > 2 || !digits(whole) || !digits(part) {
        return Err("no percentage (EINVAL)");
    }
    let hundredths = format!("{whole}{part:0<2}").parse().ok().filter(|&hundredths: &u32| hundredths <= WHOLE);
    hundredths.ok_or("more than 100 % (ERANGE)")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Model: 04 T01
    #[test]
    fn percent_become_parts_of_1024() {
        assert_eq!([1, 1_250, 2_000, 5_000, 10_000].map(clamp_of_percent), [0, 128, 205, 512, 1024]);
    }

    #[test]
    fn later_requests_leave_open_what_they_do_not_name() {
        let both = UtilClamp { min: Some(100), max: Some(200) };
        assert_eq!(UtilClamp::NONE.with(both), both);
        assert_eq!(both.with(UtilClamp { min: Some(300), max: None }), UtilClamp { min: Some(300), max: Some(200) });
        assert!(both.is_valid() && UtilClamp::NONE.is_valid());
        assert!(!both.with(UtilClamp { min: Some(300), max: None }).is_valid());
        assert!(!UtilClamp { min: None, max: Some(1025) }.is_valid());
    }
}
