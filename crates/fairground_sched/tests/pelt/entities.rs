//! Averages of entities: new ones, estimated ones, those that come to a queue, and those of groups.

use fairground_sched::pelt::{GroupEntity, PELT_MIN_DIVIDER, PeltClockRule, PeltFamily, PostInit, SchedAvg, UtilEstRule};

/// Model: 01 T11
#[test]
fn a_new_task_begins_with_half_of_the_spare_capacity_at_most() {
    // Capacity, queue's utilisation and load, weight; estimate from v6.12 on and before.
    let table = [
        (1024, 0, 0, 1024, 512, 512),
        (1024, 512, 1024, 1024, 256, 256),
        (1024, 512, 1024, 15, 7, 256),
        (1024, 900, 2048, 1024, 62, 62),
        (1024, 1024, 4096, 1024, 0, 0),
        (512, 100, 1024, 1024, 99, 206),
        (446, 0, 0, 1024, 223, 223),
        (1024, 200, 100, 1024, 412, 412),
    ];
    for (capacity, util_avg, load_avg, weight, small, large) in table {
        let cfs = SchedAvg { util_avg, load_avg, ..SchedAvg::default() };
        let born = |rule| {
            let mut sa = SchedAvg::default();
            PeltFamily::D.init_task(&mut sa, weight);
            PeltFamily::D.post_init(rule, &mut sa, &cfs, capacity, weight << 10);
            assert_eq!((sa.load_avg, sa.runnable_avg), (weight, u64::from(sa.util_avg)));
            sa.util_avg
        };
        assert_eq!(born(PostInit::ScaledDownWeight), small);
        assert_eq!((born(PostInit::FairOnly), born(PostInit::CpuCapacity)), (large, large));
        if capacity == 1024 {
            assert_eq!(born(PostInit::FullScale), large);
        }
    }
    let mut cfs = SchedAvg::default();
    let forks: Vec<u32> = (0..10)
        .map(|_| {
            let mut sa = SchedAvg::default();
            PeltFamily::D.init_task(&mut sa, 1024);
            PeltFamily::D.post_init(PostInit::CpuCapacity, &mut sa, &cfs, 1024, 1024 << 10);
            PeltFamily::D.attach(&mut cfs, &mut sa, 1024);
            sa.util_avg
        })
        .collect();
    assert_eq!(forks, [512, 256, 128, 64, 32, 16, 8, 4, 2, 1]);
}

/// Model: 01 T11
#[test]
fn a_new_task_of_an_older_family_begins_with_its_own_sums() {
    let (mut a, mut b, mut c) = (SchedAvg::default(), SchedAvg::default(), SchedAvg::default());
    PeltFamily::A.init_task(&mut a, 1024);
    PeltFamily::A.post_init(PostInit::FullScale, &mut a, &SchedAvg::default(), 512, 1024 << 10);
    assert_eq!((a.load_avg, a.load_sum, a.period_contrib, a.runnable_avg), (1024, 1024 * 47_742, 1023, 0));
    assert_eq!((a.util_avg, a.util_sum), (512, 512 * 47_742));
    PeltFamily::B.init_task(&mut b, 1024);
    assert_eq!((b.load_avg, b.load_sum, b.period_contrib, b.runnable_avg), (1024, 0, 1023, 1024));
    PeltFamily::C.init_task(&mut c, 1024);
    assert_eq!((c.load_avg, c.load_sum, c.period_contrib, c.runnable_avg), (1024, 0, 0, 1024));
}

/// Values stored after each activation that ends with the utilisation of a sample.
fn samples(rule: UtilEstRule, samples: impl IntoIterator<Item = (u32, usize)>) -> Vec<u32> {
    let mut task = SchedAvg::default();
    let mut stored = Vec::new();
    for (util, times) in samples {
        for _ in 0..times {
            task.util_avg = util;
            task.util_est.unchanged = false;
            rule.update(&mut task, 1024, true);
            stored.push(task.util_est.ewma);
        }
    }
    stored
}

/// Model: 01 T11
#[test]
fn estimated_utilisation_follows_its_samples_by_the_rule_of_each_kernel() {
    let one = samples(UtilEstRule::SingleValue, [(400, 2), (300, 14), (500, 1), (100, 8)]);
    assert_eq!(one[..11], [400, 400, 375, 356, 342, 331, 323, 317, 312, 309, 309]);
    assert!(one[11..16].iter().all(|&value| value == 309));
    assert_eq!(one[16..], [500, 400, 325, 268, 226, 194, 170, 152, 139]);

    let two = samples(UtilEstRule::FlagInSample, [(400, 14), (300, 9)]);
    assert_eq!(two[..14], [100, 175, 231, 273, 305, 329, 347, 360, 370, 377, 383, 387, 390, 392]);
    assert_eq!(two[14..], [369, 352, 339, 329, 322, 316, 312, 309, 309]);
}

/// Model: 01 T17
#[test]
fn attaching_computes_sums_by_the_divider_of_the_queue() {
    for (load_avg, weight, load_sum) in [(1024, 1024, 47_218), (10, 88_761, 5), (1, 88_761, 1)] {
        let mut cfs = SchedAvg { period_contrib: 500, last_update_time: 77, ..SchedAvg::default() };
        let mut se = SchedAvg { util_avg: 300, load_avg, runnable_avg: 310, ..SchedAvg::default() };
        assert_eq!(PeltFamily::D.attach(&mut cfs, &mut se, weight), load_sum);
        assert_eq!((se.util_sum, se.load_sum, se.runnable_sum), (14_165_400, load_sum as u64, 310 * 47_218));
        assert_eq!((se.last_update_time, se.period_contrib), (77, 500));
        assert_eq!((cfs.load_sum, cfs.util_sum, cfs.runnable_avg), (weight * se.load_sum, 14_165_400, 310));
    }
}

/// Model: 01 T17
#[test]
fn a_group_entity_takes_over_the_utilisation_of_its_queue() {
    let mut parent = SchedAvg { period_contrib: 200, util_avg: 400, util_sum: 20_000_000, ..SchedAvg::default() };
    let mut se = SchedAvg { util_avg: 100, util_sum: 4_691_800, ..SchedAvg::default() };
    let group = SchedAvg { util_avg: 250, ..SchedAvg::default() };
    PeltFamily::D.propagate_util(&mut parent, &mut se, &group);
    assert_eq!((se.util_avg, se.util_sum), (250, 11_729_500));
    assert_eq!((parent.util_avg, parent.util_sum), (550, 27_037_700));
}

/// Model: 01 T17
#[test]
fn a_group_entity_takes_over_the_load_of_its_queue() {
    let rows = [(PeltFamily::D, 20_000, 46_918, 512), (PeltFamily::B, 20_000, 47_742, 512), (PeltFamily::C, 20_000, 47_742, 512)];
    for (family, sum, time, load_avg) in rows {
        let mut parent = SchedAvg { period_contrib: 200, ..SchedAvg::default() };
        let mut se = SchedAvg { load_sum: 30_000, util_sum: 10_000_000, ..SchedAvg::default() };
        let entity = GroupEntity { se: &mut se, weight: 512, runnable_weight: 512, on_rq: true };
        family.propagate_load(PeltClockRule::RqClockPelt, &mut parent, entity, (&SchedAvg::default(), 1024), sum, 1024);
        assert_eq!((se.load_sum, se.load_avg), (time, load_avg), "{family:?}");
        let moved = if family == PeltFamily::D { 512 * PELT_MIN_DIVIDER } else { 512 * (time - 30_000) };
        assert_eq!((parent.load_avg, parent.load_sum), (load_avg, moved), "{family:?}");
    }
    for (family, load_avg) in [(PeltFamily::D, 272), (PeltFamily::B, 268), (PeltFamily::C, 268)] {
        let mut parent = SchedAvg { period_contrib: 200, load_avg: 1000, load_sum: 47_000_000, ..SchedAvg::default() };
        let mut se = SchedAvg { load_sum: 46_918, load_avg: 512, util_sum: 10_000_000, ..SchedAvg::default() };
        let group = SchedAvg { load_sum: 1024 * 25_000, ..SchedAvg::default() };
        let entity = GroupEntity { se: &mut se, weight: 512, runnable_weight: 512, on_rq: true };
        family.propagate_load(PeltClockRule::RqClockPelt, &mut parent, entity, (&group, 1024), -20_000, 1024);
        assert_eq!((se.load_sum, se.load_avg), (25_000, load_avg), "{family:?}");
        assert_eq!(parent.load_avg, 1000 - 512 + load_avg, "{family:?}");
    }
}
