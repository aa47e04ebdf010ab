//! The numbered tests of specification 02 that are of EEVDF.

use super::test_bench::{Bench, MS};
use crate::Profile;
use fairground_stdx::{Ns, TaskId};

fn with_slice(name: &str, slice: &str) -> Profile {
    Profile::parse(name).unwrap().with_tunable("sched_base_slice_ns", slice).unwrap()
}

/// What hogs got that are placed together at time 0 and accounted at exact ticks only.
struct Shares {
    /// Who ran for how many ms, in order.
    turns: String,
    cpu_ms: Vec<u64>,
    longest_wait_ms: Vec<u64>,
}

/// Ten seconds of hogs A, B, C with those nice values and slices.
fn hogs(profile: &str, hz: u64, hogs: &[(i8, Ns)]) -> Shares {
    let mut bench = Bench::new(with_slice(profile, "3ms"));
    bench.machine.tick = Ns(1_000_000_000 / hz);
    let tasks: Vec<TaskId> = hogs.iter().map(|&(nice, slice)| bench.queued_with_slice(nice, slice)).collect();
    let mut curr = bench.schedule();
    let mut shares = Shares { turns: String::new(), cpu_ms: vec![], longest_wait_ms: vec![0; tasks.len()] };
    let (mut since, mut left) = (0, vec![0; tasks.len()]);
    for tick in 1..=10 * hz {
        let now = tick * bench.machine.tick.0;
        let next = bench.tick(now);
        if next == curr {
            continue;
        }
        let row = |task| tasks.iter().position(|&other| other == task).unwrap();
        shares.turns += &format!("{}{} ", (b'A' + row(curr) as u8) as char, (now - since) / MS);
        left[row(curr)] = now;
        let wait = &mut shares.longest_wait_ms[row(next)];
        *wait = (*wait).max((now - left[row(next)]) / MS);
        (curr, since) = (next, now);
    }
    shares.cpu_ms = tasks.iter().map(|&task| bench.sched.se(task).sum_exec_runtime / MS).collect();
    shares
}

/// Nice values, HZ, the first turns, CPU time and longest waits in ms.
type Row = (&'static [i8], u64, &'static str, &'static [u64], &'static [u64]);

#[test]
fn spec_02_t14_hogs() {
    let rows: [Row; 8] = [
        (&[0, 0], 1000, "A2 B2 A3 B3 A3 B3", &[5000, 5000], &[3, 3]),
        (&[0, 0], 250, "A4 B4 A4 B4", &[5000, 5000], &[4, 4]),
        (&[0, 5], 1000, "A2 B2 A5 B4 A12 B4 A12 B4 A12 B4 A13 B4", &[7534, 2466], &[4, 13]),
        (&[0, 5], 250, "A4 B4 A12 B4 A12 B4", &[7532, 2468], &[4, 16]),
        (&[0, 0, 0], 1000, "A2 B2 C2 A3 B3 C3 A3 B3 C3", &[3335, 3333, 3332], &[6, 6, 6]),
        (&[0, 0, 0], 250, "A4 B4 C4 A4 B4 C4", &[3336, 3332, 3332], &[8, 8, 8]),
        (&[0, 0, 5], 1000, "A2 B2 C2 A3 B3 A3 B3 C4 A3 B3", &[4298, 4296, 1406], &[7, 7, 30]),
        (&[-5, 0], 1000, "A2 B2 A5 B3 A9 B3 A9 B3", &[7529, 2471], &[3, 10]),
    ];
    for profile in ["v6.12", "v6.14", "v6.18"] {
        for (nices, hz, turns, cpu_ms, waits_ms) in rows {
            let set: Vec<_> = nices.iter().map(|&nice| (nice, Ns(3 * MS))).collect();
            let shares = hogs(profile, hz, &set);
            assert!(shares.turns.starts_with(turns), "{profile} {nices:?} at {hz}: {}", &shares.turns[..60]);
            assert_eq!(shares.cpu_ms, cpu_ms, "{profile} {nices:?} at {hz}");
            assert_eq!(shares.longest_wait_ms, waits_ms, "{profile} {nices:?} at {hz}");
        }
        let shares = hogs(profile, 1000, &[(0, Ns(3 * MS)), (0, Ns(700_000))]);
        // From v6.17 on a picked entity is protected for the shortest request of its queue only.
        let turns = if profile == "v6.18" { "B1 A2 B2 A1 B1 A1 B1" } else { "B1 A2 B2 A3 B3 A3 B3" };
        assert!(shares.turns.starts_with(turns), "{profile}: {}", &shares.turns[..60]);
        assert_eq!(shares.cpu_ms, [5000, 5000], "{profile}");
    }
}
