//! What the workloads that disturb CPUs share: when, and for how long.

use crate::param::{Param, Values};
use fairground_model::{Gap, Mistakes, NoiseKind, NoiseSpec};
use fairground_stdx::{Instant, Ns};

/// The parameters of a source.
pub(crate) const TIMES: [Param; 7] = [
    Param::cpus("cpus", "", "The CPUs; all where none is given."),
    Param::time("every", "10ms", "From one to the next on a CPU, on the average."),
    Param::time("jitter", "0ms", "That time is drawn evenly from every - jitter to every + jitter."),
    Param::switch("random", "That time is drawn from an exponential distribution instead."),
    Param::time("length", "100us", "How long one lasts, on the average."),
    Param::time("spread", "0us", "The length is drawn evenly from length - spread to length + spread."),
    Param::time("start", "0ms", "When the first time begins to run."),
];

/// The source that the parameters describe.
pub(crate) fn source(kind: NoiseKind, values: &Values, mistakes: &mut Mistakes) -> Option<NoiseSpec> {
    let [every, jitter, length, spread] = ["every", "jitter", "length", "spread"].map(|name| values.time(name));
    let random = values.switch("random");
    let before = mistakes.0.len();
    if every == Ns::ZERO {
        values.mistake(mistakes, "every", "`every` is 0: time would never pass", "Give a length such as 10ms.");
    } else if length + spread >= every {
        values.mistake(
            mistakes,
            "length",
            "as long as the time to the next: nothing of a CPU is left",
            "length + spread < every.",
        );
    }
    if jitter >= every && every > Ns::ZERO {
        values.mistake(mistakes, "jitter", "the jitter is as large as the time itself", "Time goes forward: jitter < every.");
    }
    if spread > length {
        values.mistake(
            mistakes,
            "spread",
            "the spread is larger than the length",
            "A length cannot be negative: spread <= length.",
        );
    }
    if random && jitter > Ns::ZERO {
        values.mistake(mistakes, "jitter", "`random` draws the time without jitter", "Give one of --random and --jitter.");
    }
    let gap = if random { Gap::Exponential(every) } else { Gap::Between(every.saturating_sub(jitter), every + jitter) };
    (mistakes.0.len() == before).then(|| NoiseSpec {
        kind,
        cpus: values.cpus("cpus"),
        start: Instant::ZERO + values.time("start"),
        gap,
        length: (length.saturating_sub(spread), length + spread),
    })
}
