use super::*;
use crate::{Args, build, testing};
use expect_test::expect_file;
use fairground_model::{Step, TaskSet};
use fairground_stdx::{Distribution, Ns};

fn service(pairs: &[(&str, &str)]) -> TaskSet {
    let set = build("service", &Args::of(pairs)).unwrap();
    testing::check(&set);
    set
}

/// When the first client makes requests.
fn requests(set: &TaskSet, count: usize) -> Vec<u64> {
    let rows = testing::steps(&set.programs[set.tasks.iter().next().unwrap().program], count);
    rows.iter().filter(|row| matches!(row.1, Step::Write { .. })).map(|row| row.0).collect()
}

#[test]
fn golden() {
    let set = service(&[("workers", "1"), ("queue", "1"), ("waits", "2"), ("timeout", "50ms"), ("gc-threads", "2")]);
    expect_file!["golden/one-worker.txt"].assert_eq(&testing::dump(&set));
}

#[test]
fn requests_come_at_a_fixed_rate_or_in_batches_or_at_the_mean_rate() {
    assert_eq!(requests(&service(&[("arrivals", "fixed"), ("every", "5ms")]), 16)[..3], [5_000_000, 10_000_000, 15_000_000]);
    let batches = requests(&service(&[("arrivals", "fixed"), ("every", "5ms"), ("batch", "3")]), 30);
    assert_eq!(batches[..4], [5_000_000, 5_000_000, 5_000_000, 10_000_000]);
    for args in [&[("every", "5ms")][..], &[("every", "25ms"), ("batch", "5"), ("batch-sizes", "geometric")][..]] {
        let times = requests(&service(args), 60_000);
        let mean = times.last().unwrap() / times.len() as u64;
        assert!(mean.abs_diff(5_000_000) < 200_000, "{mean}");
    }
}

#[test]
fn two_states_have_their_rates() {
    // A tenth of the time at 1000 per s, the rest at 100: 190 per s.
    let times = requests(&service(&[("arrivals", "mmpp")]), 300_000);
    let per_second = times.len() as u64 * 1_000_000_000 / times.last().unwrap();
    assert!((170..210).contains(&per_second), "{per_second}");
    // Gaps of less than 2 ms: 86 % of those in bursts (100 of 190), 18 % of the others.
    let short = times.windows(2).filter(|pair| pair[1] - pair[0] < 2_000_000).count() * 100 / times.len();
    assert!((50..58).contains(&short), "{short}");
}

#[test]
fn lists_of_arrivals_and_demands_are_followed() {
    let listed = Service {
        arrivals: Arrivals::Listed(vec![Ns(5), Ns(5), Ns(70)]),
        demand: Demand::Listed(vec![Ns(1), Ns(2)]),
        workers: 1,
        queue: 10,
        waits: 0,
        wait: Distribution::Fixed(0),
        timeout: None,
        background: Vec::new(),
        cpus: None,
        client_cpus: None,
    };
    let set = listed.tasks();
    testing::check(&set);
    // In the interpreter of these tests words begin at 0: all arrivals fall on the start.
    assert_eq!(requests(&set, 20).len(), 3);
    let lists: Vec<u64> = set.words.iter().copied().filter(|&word| word > 0).collect();
    assert_eq!(lists, [1, 2, 5, 5, 70]);
}

#[test]
fn clients_draw_the_same_whatever_the_workers() {
    let few = service(&[("workers", "2")]);
    let many = service(&[("workers", "2"), ("gc-threads", "4")]);
    let first = |set: &TaskSet| set.programs.iter().next().unwrap().clone();
    assert_eq!(first(&few), first(&many));
    assert_eq!((few.tasks.iter().next().unwrap().name.as_str(), few.tasks.len()), ("clients", 3));
}

#[test]
fn what_cannot_be_is_said() {
    let wrong = |pairs: &[(&str, &str)]| build("service", &Args::of(pairs)).unwrap_err().to_string();
    assert!(wrong(&[("every", "0ms")]).contains("never ends"));
    assert!(wrong(&[("think", "1ms")]).contains("means nothing with `arrivals` = poisson"));
    assert!(wrong(&[("cv-percent", "10")]).contains("lognormal"));
    assert!(wrong(&[("service", "2000s")]).contains("more than"));
    let five = wrong(&[("every", "0ms"), ("batch", "0"), ("clients", "1"), ("workers", "0"), ("spread", "pareto")]);
    assert!(five.contains("batch") && five.contains("workers"), "{five}");
}
