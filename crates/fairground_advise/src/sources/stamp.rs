//! The time of a sample, on a line before it.

use super::time::moment;

/// How samples get a time.
pub(super) const HINT: &str = "Write the time before each sample: `while sleep 1; do echo \"# time $(date +%s.%N)\"; cat cpu.max cpu.stat; done > samples.txt`.";

/// The time that a line tells: `# time 1700000000.5`, or a moment alone.
pub(super) fn of_line(line: &str) -> Option<u64> {
    let line = line.trim();
    let text = match line.strip_prefix("# time ") {
        Some(text) => text,
        // A number alone could be anything but for its size: this is after 2001.
        None if line.len() >= 10 && line.starts_with(|letter: char| letter.is_ascii_digit()) => line,
        None => return None,
    };
    moment(text).map(|moment| moment.ns)
}
