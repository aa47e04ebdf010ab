//! Loops of the guest's shell, written out.
//!
//! ```text
//! i=0; while [ $i -lt 3 ]; do mk G$i 100; i=$((i+1)); done    ─►    mk G0 100; mk G1 100; mk G2 100
//! ```

/// So often is a loop gone through at most.
const MOST_TURNS: u64 = 10_000;

/// Writes out the loops of a script that count a variable up, each on its line. All others stay as they are.
pub fn unrolled(text: &str) -> String {
    text.split_inclusive('\n').map(|line| loop_of(line).unwrap_or_else(|| line.to_string())).collect()
}

/// What a line with one such loop stands for.
pub(super) fn loop_of(line: &str) -> Option<String> {
    let parts: Vec<&str> = line.split('#').next()?.split(';').map(str::trim).collect();
    let at = |word: &str| parts.iter().position(|part| part.split_whitespace().next() == Some(word));
    let (head, end) = (at("while")?, at("done").filter(|&end| parts[end] == "done")?);
    let (before, body) = (parts.get(..head)?, parts.get(head + 1..end)?);
    let [_, "[", variable, "-lt", limit, "]"] = *parts[head].split_whitespace().collect::<Vec<_>>() else { return None };
    let name = variable.strip_prefix('$')?;
    let (first, rest) = body.split_first()?;
    let (step, others) = rest.split_last()?;
    let commands: Vec<&str> = [first.strip_prefix("do ")?].into_iter().chain(others.iter().copied()).collect();
    let assigned = |part: &&&str| part.split_once('=').is_some_and(|row| row.0 == name);
    let start: u64 = before.iter().rfind(assigned)?.split_once('=')?.1.parse().ok()?;
    let step: u64 =
        step.strip_prefix(name)?.strip_prefix("=$((")?.strip_suffix("))")?.strip_prefix(name)?.strip_prefix('+')?.parse().ok()?;
    let limit: u64 = limit.parse().ok()?;
    if step == 0 || limit.saturating_sub(start).div_ceil(step) > MOST_TURNS {
        return None;
    }
    let turns = (start..limit).step_by(usize::try_from(step).ok()?);
    let turn = |value: u64| commands.iter().map(move |command| with_value(command, variable, value));
    let kept = before.iter().filter(|part| !assigned(part)).map(|part| part.to_string());
    let after = parts[end + 1..].iter().map(|part| part.to_string());
    let all: Vec<String> = kept.chain(turns.flat_map(turn)).chain(after).filter(|part| !part.is_empty()).collect();
    Some(format!("{}{}", all.join("; "), if line.ends_with('\n') { "\n" } else { "" }))
}

/// A command with the value of a variable in its place, unless what stands there is a longer name.
fn with_value(command: &str, variable: &str, value: u64) -> String {
    let mut pieces = command.split(variable);
    let mut text = pieces.next().unwrap_or_default().to_string();
    for piece in pieces {
        let longer = piece.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_');
        text.push_str(&if longer { variable.to_string() } else { value.to_string() });
        text.push_str(piece);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loop_that_counts_up_is_written_out_and_others_stay() {
        let groups =
            "cgon; i=0; while [ $i -lt 5 ]; do mk G$i 100 \"50000 100000\"; mk G$i/$ix $i; i=$((i+2)); done; trace_on 9\n";
        let mks = [0, 2, 4].map(|i| format!("mk G{i} 100 \"50000 100000\"; mk G{i}/$ix {i}")).join("; ");
        assert_eq!(unrolled(groups), format!("cgon; {mks}; trace_on 9\n"));
        assert_eq!(unrolled("wl hog\nn=7; while [ $n -lt 7 ]; do mk A 1; n=$((n+1)); done\nwait"), "wl hog\n\nwait");
        for other in [
            "while true; do wait; done",
            "for i in 1 2; do mk G$i 100; done",
            "i=0; while [ $i -lt 5 ]; do mk G$i 100; done",
            "i=0; while [ $i -lt 5 ]; do mk G$i 100; i=$((i+0)); done",
            "i=0; while [ $i -lt 99999 ]; do mk G$i 100; i=$((i+1)); done",
            "i=0; while [ $i -le 5 ]; do mk G$i 100; i=$((i+1)); done",
            "while [ $i -lt 5 ]; do mk G$i 100; i=$((i+1)); done",
            "done; while [ $i -lt 5 ]; do",
        ] {
            assert_eq!(unrolled(other), other);
        }
    }
}
