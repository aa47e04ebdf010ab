//! `cargo bench`: events per second and instructions per event of every case.
//!
//! Instructions come from callgrind at two lengths, so that start-up cancels; without valgrind that
//! column stays empty. `cargo bench -- CASE MILLISECONDS` runs one case once.

use fairground_bench::{CASES, Case, Goal};
use fairground_stdx::Ns;
use std::process::Command;
use std::time::Instant;

/// The two counted runs, in tenths of the timed one: callgrind is slow.
const COUNTED_TENTHS: [u64; 2] = [1, 3];
const ROUNDS: usize = 20;

fn main() {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with("--")).collect();
    if let [name, ms] = &words[..] {
        let case = CASES.iter().find(|case| case.name == name).expect("the name of a case");
        println!("{}", case.run(Ns::from_ms(ms.parse().expect("milliseconds"))).events());
        return;
    }
    println!("{:<17} {:>12} {:>12} {:>8} {:>10}  case", "name", "events/s", "sim-s/s", "Ir/event", "goal");
    for case in CASES {
        measure(case);
    }
}

fn measure(case: &Case) {
    let mut best = f64::MAX;
    let mut events = 0;
    for _ in 0..ROUNDS {
        let start = Instant::now();
        events = case.run(case.timed).events();
        best = best.min(start.elapsed().as_secs_f64());
    }
    let simulated = case.timed.ns() as f64 / 1e9;
    let goal = match case.goal {
        Goal::EventsPerSecond(millions) => format!("{millions} M ev/s"),
        Goal::SimulatedPerSecond(seconds) => format!("{seconds} s/s"),
    };
    println!(
        "{:<17} {:>10.2} M {:>12.1} {:>8} {:>10}  {}",
        case.name,
        events as f64 / best / 1e6,
        simulated / best,
        instructions_per_event(case).map_or("-".into(), |count| count.to_string()),
        goal,
        case.what
    );
}

fn instructions_per_event(case: &Case) -> Option<u64> {
    let [short, long] = COUNTED_TENTHS.map(|tenths| counted(case, tenths * case.timed.ns() / 10_000_000));
    let ((ir_short, events_short), (ir_long, events_long)) = (short?, long?);
    Some((ir_long - ir_short) / (events_long - events_short))
}

/// Instructions and events of one run under callgrind.
fn counted(case: &Case, ms: u64) -> Option<(u64, u64)> {
    let this = std::env::current_exe().ok()?;
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(this)
        .args([case.name, &ms.to_string()])
        .output()
        .ok()?;
    let events = String::from_utf8_lossy(&output.stdout).trim().parse().ok()?;
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    let line = text.lines().find(|line| line.contains("Collected"))?;
    let instructions = line.rsplit(' ').next()?.parse().ok()?;
    Some((instructions, events))
}
