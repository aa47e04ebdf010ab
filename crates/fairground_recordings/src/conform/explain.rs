//! A disagreement in words.

use super::Conformance;
use super::tables::{choice, mismatch_table};
use fairground_conform::Mismatch;
use fairground_model::{Decision, IdKind};
use fairground_stdx::TaskId;

/// Time, CPU, kind, both choices, the rule, what is in doubt, and the queue.
pub fn explain(conformance: &Conformance, mismatch: &Mismatch) -> String {
    let mut text = format!(
        "at {}.{:09} s on CPU {}: {}\n  recorded: {}\n  model:    {}\n",
        mismatch.at.ns() / 1_000_000_000,
        mismatch.at.ns() % 1_000_000_000,
        mismatch.cpu,
        mismatch.kind.name(),
        choice(conformance, mismatch.recorded),
        choice(conformance, mismatch.core),
    );
    if let Some(reason) = mismatch.reason {
        text.push_str(&format!("  rule:     {}: {}\n", reason.reason.slug(), sentence(conformance, reason)));
    }
    if !mismatch.unknown_lag.is_empty() {
        let names: Vec<String> = mismatch.unknown_lag.iter().map(|&task| conformance.task_name(task)).collect();
        text.push_str(&format!("  in doubt: {} slept before the record: with what lag is not known\n", names.join(", ")));
    }
    if let Some(task) = mismatch.kernel_mode {
        let name = conformance.task_name(task);
        text.push_str(&format!("  in doubt: {name} is a kernel thread: it gives way at its next preemption point only\n"));
    }
    text.push_str(&mismatch_table(conformance, &mismatch.queue).to_string());
    text
}

/// The rule as a sentence about this recording's tasks.
pub(super) fn sentence(conformance: &Conformance, decision: Decision) -> String {
    let (kind_a, kind_b) = decision.reason.ids();
    let shown = |kind: IdKind, id: u32| match kind {
        IdKind::Task => conformance.task_name(TaskId::new(id)),
        IdKind::Cpu | IdKind::Ns => id.to_string(),
        IdKind::None => String::new(),
    };
    let text = decision.reason.sentence().replace("{b}", &shown(kind_b, decision.b));
    text.replace("{a}", &shown(kind_a, decision.a))
}
