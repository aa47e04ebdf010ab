//! Which wake-ups preempt, and the next buddy.

use super::{DELAYING, EEVDF, with_slice};
use crate::Profile;
use crate::fair::tests::bench::{Bench, CPU, MS};
use fairground_model::{Policy, PrevState, Reason};
use fairground_stdx::Ns;

/// What is decided when a task of that slice wakes at the average while A, of 3 ms, runs protected: A was
/// picked, ran 1 ms and is not eligible any more.
fn short_wakes(profile: Profile, slice_us: u64) -> Reason {
    let mut bench = Bench::new(profile);
    let wakee = bench.queued_with_slice(0, Ns::from_us(slice_us));
    assert_eq!(bench.schedule(), wakee);
    assert_eq!(bench.current_leaves(PrevState::Sleeping).0, None);
    let a = bench.normal(0);
    bench.normal(0);
    assert_eq!(bench.schedule(), a);
    bench.at(MS);
    *bench.wakes(wakee).last().unwrap()
}

#[test]
fn a_short_slice_may_break_protection() {
    for kernel in DELAYING {
        let stock = Profile::parse(kernel).unwrap().with_tunable("sched_base_slice_ns", "3ms").unwrap();
        assert_eq!(short_wakes(stock.clone(), 400), Reason::WakeShortPreempts, "{kernel}");
        assert_eq!(short_wakes(stock.clone(), 3000), Reason::WakeLaterDeadline, "{kernel}: A is not eligible, B is earlier");
        let without = stock.with_feature("NO_PREEMPT_SHORT").unwrap();
        assert_eq!(short_wakes(without, 400), Reason::WakeDeadlinePreempts, "{kernel}: a protected task must be eligible too");
    }
}

/// A runs 200 us of its request with B and a sleeper at the same virtual time; a wakee of nice -10, whose
/// deadline is early, meets its protection.
#[test]
fn protection_holds_while_eligible() {
    for kernel in EEVDF {
        for (feature, preempts) in [("RUN_TO_PARITY", false), ("NO_RUN_TO_PARITY", true)] {
            let mut bench = Bench::new(with_slice(kernel, "3ms").with_feature(feature).unwrap());
            let heavy = bench.normal(-10);
            assert_eq!(bench.schedule(), heavy);
            assert_eq!(bench.current_leaves(PrevState::Sleeping).0, None);
            let a = bench.normal(0);
            assert_eq!(bench.schedule(), a);
            // Alone it is eligible for ever, and has the mark as long as its first request lasts.
            let now = if kernel == "v6.18" && preempts { 1_000_000 } else { 200_000 };
            bench.at(now);
            let reason = *bench.wakes(heavy).last().unwrap();
            assert_eq!(reason, if preempts { Reason::WakeDeadlinePreempts } else { Reason::WakeProtected }, "{kernel} {feature}");
        }
    }
}

#[test]
fn the_next_buddy_is_picked_if_eligible() {
    for kernel in EEVDF {
        let mut bench = Bench::new(with_slice(kernel, "3ms").with_feature("NEXT_BUDDY").unwrap());
        let (a, b) = (bench.normal(0), bench.normal(0));
        assert_eq!(bench.schedule(), a);
        let buddy = bench.sched.se_of(b);
        bench.sched.set_next_buddy(buddy);
        // A is protected, but the buddy goes first, and only once.
        assert_eq!(bench.schedule(), b, "{kernel}");
        assert_eq!(bench.schedule(), b, "{kernel}: it is protected now");
        bench.tick(4 * MS);
        assert_eq!(bench.sched.rq(CPU).curr, Some(a), "{kernel}");
        // B is ahead of the average: not eligible.
        bench.sched.set_next_buddy(buddy);
        assert_eq!(bench.schedule(), a, "{kernel}");
    }
}

#[test]
fn idle_policy_gives_way() {
    for kernel in EEVDF {
        let wakes_against_idle = |feature: &str| {
            let mut bench = Bench::new(with_slice(kernel, "3ms").with_feature(feature).unwrap());
            let wakee = bench.normal(0);
            bench.schedule();
            assert_eq!(bench.current_leaves(PrevState::Sleeping).0, None);
            bench.queued(Policy::Idle, 0);
            bench.schedule();
            *bench.wakes(wakee).last().unwrap()
        };
        assert_eq!(wakes_against_idle("WAKEUP_PREEMPTION"), Reason::WakePolicy, "{kernel}");
        let off = if kernel == "v6.6" { Reason::WakePolicy } else { Reason::WakeFeatureOff };
        assert_eq!(wakes_against_idle("NO_WAKEUP_PREEMPTION"), off, "{kernel}");
        let mut bench = Bench::new(with_slice(kernel, "3ms"));
        let idle = bench.queued(Policy::Idle, 0);
        bench.schedule();
        assert_eq!(bench.current_leaves(PrevState::Sleeping).0, None);
        bench.normal(0);
        bench.schedule();
        assert_eq!(bench.wakes(idle).last(), Some(&Reason::WakeBatch), "{kernel}");
    }
}
