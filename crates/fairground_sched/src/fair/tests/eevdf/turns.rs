//! Turns that hogs take, slices, and yielding.

use super::{DELAYING, EEVDF, with_slice};
use crate::Profile;
use crate::fair::tests::bench::{Bench, Decisions, MS};
use fairground_model::Reason;
use fairground_stdx::{Ns, TaskId};

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

fn check_hogs(profile: &str, rows: &[Row]) {
    for &(nices, hz, turns, cpu_ms, waits_ms) in rows {
        let set: Vec<_> = nices.iter().map(|&nice| (nice, Ns(3 * MS))).collect();
        let shares = hogs(profile, hz, &set);
        assert!(shares.turns.starts_with(turns), "{profile} {nices:?} at {hz}: {}", &shares.turns[..60]);
        assert_eq!(shares.cpu_ms, cpu_ms, "{profile} {nices:?} at {hz}");
        assert_eq!(shares.longest_wait_ms, waits_ms, "{profile} {nices:?} at {hz}");
    }
}

/// Model: 02 T14
#[test]
fn hogs_take_turns_by_request_and_weight() {
    for profile in DELAYING {
        check_hogs(
            profile,
            &[
                (&[0, 0], 1000, "A2 B2 A3 B3 A3 B3", &[5000, 5000], &[3, 3]),
                (&[0, 0], 250, "A4 B4 A4 B4", &[5000, 5000], &[4, 4]),
                (&[0, 5], 1000, "A2 B2 A5 B4 A12 B4 A12 B4 A12 B4 A13 B4", &[7534, 2466], &[4, 13]),
                (&[0, 5], 250, "A4 B4 A12 B4 A12 B4", &[7532, 2468], &[4, 16]),
                (&[0, 0, 0], 1000, "A2 B2 C2 A3 B3 C3 A3 B3 C3", &[3335, 3333, 3332], &[6, 6, 6]),
                (&[0, 0, 0], 250, "A4 B4 C4 A4 B4 C4", &[3336, 3332, 3332], &[8, 8, 8]),
                (&[0, 0, 5], 1000, "A2 B2 C2 A3 B3 A3 B3 C4 A3 B3", &[4298, 4296, 1406], &[7, 7, 30]),
                (&[-5, 0], 1000, "A2 B2 A5 B3 A9 B3 A9 B3", &[7529, 2471], &[3, 10]),
            ],
        );
        let shares = hogs(profile, 1000, &[(0, Ns(3 * MS)), (0, Ns(700_000))]);
        // From v6.17 on a picked entity is protected for the shortest request of its queue only.
        let turns = if profile == "v6.18" { "B1 A2 B2 A1 B1 A1 B1" } else { "B1 A2 B2 A3 B3 A3 B3" };
        assert!(shares.turns.starts_with(turns), "{profile}: {}", &shares.turns[..60]);
        assert_eq!(shares.cpu_ms, [5000, 5000], "{profile}");
    }
}

/// The same for v6.6, computed with the reference model changed in three places: no half first request,
/// the running entity wins a tie of deadlines, other ties go by virtual time.
///
/// Model: 02 T14
#[test]
fn hogs_of_v6_6_begin_with_a_whole_request() {
    check_hogs(
        "v6.6",
        &[
            (&[0, 0], 1000, "A3 B6 A6 B6 A6 B6", &[5001, 4999], &[6, 6]),
            (&[0, 0], 250, "A4 B8 A8 B8 A8 B8", &[5000, 5000], &[8, 8]),
            (&[0, 5], 1000, "A3 B4 A12 B4 A12 B4 A12 B4 A12 B4 A12 B4", &[7533, 2467], &[4, 15]),
            (&[0, 5], 250, "A4 B4 A12 B4 A12 B4", &[7532, 2468], &[4, 16]),
            (&[0, 0, 0], 1000, "A3 B3 C6 A3 B6 C3 A6 B3 C6 A3 B6 C3", &[3333, 3333, 3334], &[9, 9, 9]),
            (&[0, 0, 0], 250, "A4 B4 C8 A4 B8 C4 A8 B4 C8 A4 B8 C4", &[3332, 3336, 3332], &[12, 12, 12]),
            (&[0, 0, 5], 1000, "A3 B3 C4 A3 B6 A6 B6 A3 C4 B3 A6 B6", &[4296, 4296, 1408], &[7, 7, 30]),
            (&[-5, 0], 1000, "A4 B3 A8 B3 A8 B3 A8 B3 A12 B3 A8 B3", &[7528, 2472], &[3, 12]),
        ],
    );
}

/// Kernels before v6.18 move the deadline of whoever yields; v6.18 and the recorded 6.12 move an eligible one to its deadline.
///
/// Model: 02 T19
#[test]
fn yield_moves_the_deadline_and_in_v6_18_an_eligible_tasks_vruntime() {
    for kernel in EEVDF {
        let mut bench = Bench::new(with_slice(kernel, "3ms"));
        let (a, b) = (bench.normal(0), bench.normal(0));
        assert_eq!(bench.schedule(), a);
        let start = bench.vruntime(b);
        let deadline = bench.sched.se(a).deadline.0;
        let yields = |bench: &mut Bench| {
            let mut decisions = Decisions::default();
            bench.call_with(&mut decisions, |sched, cx| sched.sched_yield(cx));
            (decisions.0.pop(), bench.vruntime(a).wrapping_sub(start), bench.sched.se(a).deadline.0.wrapping_sub(deadline))
        };
        // At the start A is eligible.
        let first = yields(&mut bench);
        let request = deadline.wrapping_sub(start);
        match kernel {
            "v6.12" | "v6.18" => assert_eq!(first, (Some(Reason::YieldForfeit), request, 3 * MS)),
            _ => assert_eq!(first, (Some(Reason::YieldDeadline), 0, 3 * MS), "{kernel}"),
        }
        bench.sched.check().unwrap();
        // 100 us later it is ahead of the average.
        bench.at(100_000);
        let second = yields(&mut bench);
        match kernel {
            "v6.12" | "v6.18" => assert_eq!(second, (Some(Reason::YieldNotEligible), request + 100_000, 3 * MS)),
            _ => assert_eq!(second, (Some(Reason::YieldDeadline), 100_000, 6 * MS), "{kernel}"),
        }
        assert_eq!(bench.schedule(), b, "{kernel}");
    }
}

/// Base slices as recorded and as in the source, and who has which tunables.
#[test]
fn each_kernel_has_its_base_slice_and_refuses_tunables_of_others() {
    for (kernel, base_us) in [("v6.6", 750), ("v6.12", 700), ("v6.14", 750), ("v6.18", 700)] {
        let profile = Profile::parse(kernel).unwrap();
        for (cpus, factor) in [(1, 1), (2, 2), (3, 2), (4, 3), (8, 4), (64, 4)] {
            assert_eq!(profile.tunables.at(cpus).base_slice_ns, base_us * 1000 * factor, "{kernel} at {cpus} CPUs");
        }
        for name in ["sched_latency_ns", "sched_min_granularity_ns", "sched_wakeup_granularity_ns", "sched_child_runs_first"] {
            let error = profile.clone().with_tunable(name, "1").unwrap_err();
            assert!(error.message.contains(&format!("profile `{kernel}` has no tunable `{name}`")), "{error}");
            assert!(error.hint.contains("sched_base_slice_ns"), "{error}");
        }
        for value in ["99us", "101ms"] {
            assert!(profile.clone().with_tunable("base_slice_ns", value).unwrap_err().message.contains("out of range"));
        }
    }
}

/// A slice of one's own is cut to what the kernel allows, and v6.6 knows none.
#[test]
fn a_slice_of_ones_own_is_cut_to_the_allowed_range() {
    for (kernel, slice, kept) in [("v6.12", 50_000, 100_000), ("v6.12", 200 * MS, 100 * MS), ("v6.18", 5 * MS, 5 * MS)] {
        let mut bench = Bench::new(with_slice(kernel, "3ms"));
        let task = bench.queued_with_slice(0, Ns(slice));
        assert_eq!((bench.sched.se(task).slice, bench.sched.se(task).custom_slice), (kept, true), "{kernel} {slice}");
        bench.call(|sched, cx| sched.set_slice(cx, task, None));
        assert_eq!((bench.sched.se(task).slice, bench.sched.se(task).custom_slice), (3 * MS, false), "{kernel} {slice}");
        bench.sched.check().unwrap();
    }
    let mut bench = Bench::new(with_slice("v6.6", "3ms"));
    let task = bench.queued_with_slice(0, Ns(MS));
    assert_eq!(bench.sched.se(task).slice, 3 * MS);
}
