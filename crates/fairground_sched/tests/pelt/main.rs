//! Load tracking, number by number.
#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

mod arithmetic;
mod clock;
mod entities;
mod sequences;
mod speed;

use fairground_sched::pelt::{PeltFamily, Scale, SchedAvg, SeLoad};

const PERIOD_NS: u64 = 1 << 20;
const MS: u64 = 1_000_000;
const FULL: Scale = Scale::FULL;
const HALF_FREQ: Scale = Scale { freq: 512, cpu: 1024 };
const HALF_CPU: Scale = Scale { freq: 1024, cpu: 512 };

/// An always queued nice-0 entity that runs or waits, on a clock that the test moves.
#[derive(Clone, Copy)]
struct Signal {
    family: PeltFamily,
    scale: Scale,
    now: u64,
    sa: SchedAvg,
}

impl Signal {
    fn new(family: PeltFamily, scale: Scale) -> Signal {
        Signal { family, scale, now: 0, sa: SchedAvg::default() }
    }
    fn step(&mut self, ns: u64, running: bool) -> u32 {
        self.now += ns;
        let runnable = if running { 1 } else { 0 };
        self.family.update_se(self.now, &mut self.sa, SeLoad { on_rq: running, runnable, running, weight: 1024 }, self.scale);
        self.sa.util_avg
    }
}
