use fairground::replay::Replay;
use fairground::run::{self, RunOptions};
use fairground_scenario::{Control, Overrides};
use std::path::Path;
fn main() {
    let mut over = Overrides { profile: Some(std::env::var("P").unwrap_or("v6.18".into())), ..Overrides::default() };
    if let Ok(m) = std::env::var("M") { over.machine = Some(m); }
    over.set = std::env::var("S").map(|s| s.split(' ').map(str::to_string).collect()).unwrap_or_default();
    for path in std::env::args().skip(1) {
        let replay = Replay::load_across_gaps(Path::new(&path), &over, false).unwrap();
        let outcome = run::run(&replay.scenario, &RunOptions::default(), &mut fairground_metrics::RunStats::new(fairground_stdx::Instant::ZERO, 2), Control::none()).unwrap();
        if let Ok(out) = std::env::var("OUT") {
            let mut outputs = fairground::output::Outputs::for_run(&[out.into()], &replay.scenario).unwrap();
            let (outcome, _) = run::run_with_copy(&replay.scenario, &RunOptions::default(), &mut outputs, Control::none()).unwrap();
            outputs.finish_run(&replay.scenario, &outcome).unwrap();
        }
        println!("== {path}");
        println!("{}", replay.scenario.notes.join("\n"));
        println!("length {} {}", outcome.simulated.0, replay.statistics.length.0);
        println!("{}", replay.null_test(&outcome).table(false).to_csv());
    }
}
