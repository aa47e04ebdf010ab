//! Searches over services whose smallest limits are known.

use super::Seeds;
use super::hunt::{Hunt, Seed, Trial, Tried, unproved};
use crate::seeds::{Aim, Confidence};
use fairground_scenario::Error;
use fairground_stdx::{RngStream, StreamKind};
use std::sync::atomic::{AtomicU64, Ordering};

/// Seeds whose own smallest limits are drawn. A seed holds from its own on; one at `PLACES` holds nowhere.
struct Known {
    own: Vec<usize>,
    runs: AtomicU64,
}

const PLACES: usize = 900;
/// Many more than a search takes.
const SEEDS: u64 = 2_000;

impl Trial for &Known {
    fn places(&self) -> usize {
        PLACES
    }
    fn run(&self, seed: Seed, place: usize) -> Result<Tried, Error> {
        self.runs.fetch_add(1, Ordering::Relaxed);
        Ok(Tried { holds: place >= self.own[seed.nr as usize], most: None, digest: 1, events: 1, interrupted: false })
    }
    fn stopped(&self) -> bool {
        false
    }
}

/// How limits are spread: steep above and below, with a long tail, in clumps, and some that hold nowhere.
#[derive(Clone, Copy)]
enum Spread {
    Even,
    Tail,
    Clumps,
    Never { percent: u64 },
}

impl Known {
    /// Around place 500, with a spread of `wide` places.
    fn draw(nr: u64, spread: Spread, wide: u64) -> Known {
        let mut stream = RngStream::new(nr, StreamKind::Exam, 0);
        let mut own = || {
            let half = |stream: &mut RngStream| (0..64).take_while(|_| stream.below(4) > 0).count() as u64;
            let place = match spread {
                Spread::Even => stream.below(wide * 4 + 1),
                // Thins out by a fourth with each third of the spread.
                Spread::Tail => half(&mut stream) * wide / 3 + stream.below(wide / 3 + 1),
                Spread::Clumps => stream.below(3) * wide,
                Spread::Never { percent } if stream.below(100) < percent => return PLACES,
                Spread::Never { .. } => stream.below(wide + 1),
            };
            (500 + place as usize).min(PLACES - 2)
        };
        Known { own: (0..SEEDS).map(|_| own()).collect(), runs: AtomicU64::new(0) }
    }
    /// The smallest limit that at most so many of the first seeds miss.
    fn full(&self, seeds: u64, misses: u64) -> usize {
        let mut first = self.own[..seeds as usize].to_vec();
        first.sort_unstable_by(|one, other| other.cmp(one));
        first[misses as usize]
    }
    fn runs(&self) -> u64 {
        self.runs.load(Ordering::Relaxed)
    }
}

fn all() -> impl Iterator<Item = (u64, Known)> {
    let spreads = [Spread::Even, Spread::Tail, Spread::Clumps, Spread::Never { percent: 1 }, Spread::Never { percent: 30 }];
    let each = spreads.into_iter().flat_map(|spread| [0, 1, 3, 8, 30].map(|wide| (spread, wide)));
    each.flat_map(|(spread, wide)| (0..6).map(move |nr| (nr, Known::draw(nr, spread, wide))))
}

/// As good as no bound on what it may cost.
const ANY: Seeds = Seeds::Events(u64::MAX);

#[test]
fn the_answer_is_that_of_the_full_search_and_no_lower_limit_is_enough() {
    for (nr, known) in all() {
        let proof = |percent| Aim::Proof(Confidence::percent(percent).unwrap());
        for (aim, count) in [
            (Aim::Next, ANY),
            (Aim::Next, Seeds::Exactly(100)),
            (Aim::Next, Seeds::Exactly(10)),
            (proof(80), ANY),
            (proof(95), ANY),
            (proof(80), Seeds::Exactly(100)),
            (proof(50), Seeds::Exactly(40)),
            (proof(80), Seeds::Exactly(10)),
        ] {
            // From too low, about right, too high.
            let found = Hunt::new(&known, aim).smallest([20, 505, 880][nr as usize % 3], count).unwrap();
            let (seeds, bounds) = (found.seeds, aim.bounds());
            assert_eq!(found.proved, known.full(seeds, bounds.allowed(seeds).unwrap_or(0)), "{nr} {seeds}");
            let wanted = aim.allowed(seeds).unwrap_or(0);
            let unmet = known.own[..seeds as usize].iter().filter(|own| **own == PLACES).count() as u64;
            let is_near = known.full(seeds, wanted) < PLACES - 1;
            let allowed = if is_near { wanted } else { unproved(seeds, wanted, unmet) };
            assert_eq!(found.place, known.full(seeds, allowed), "{nr} {seeds}");
            let refuted = bounds.refuted(seeds);
            assert_eq!(found.below, known.full(seeds, refuted - 1).checked_sub(1), "{nr} {seeds}");
            let shown = found.place.min(PLACES - 1);
            assert_eq!(found.misses, known.own[..seeds as usize].iter().filter(|own| **own > shown).count() as u64);
            let (decided, own) = found.deciding[0];
            assert_eq!((own, known.own[decided as usize]), (found.place, found.place));
        }
    }
}

/// Where 30 of 100 hold nowhere there is no answer; where one does there is.
#[test]
fn none_is_said_where_too_many_hold_nowhere_and_only_there() {
    for nr in 0..60 {
        let wide = 5 + nr % 20;
        let answer = |percent: u64| {
            Hunt::new(&Known::draw(nr, Spread::Never { percent }, wide), Aim::default()).smallest(510, ANY).unwrap()
        };
        let (none, some) = (answer(30), answer(1));
        assert!(none.place == PLACES && none.confidence >= 95, "{nr}: {none:?}");
        assert!(some.place < PLACES, "{nr}: {some:?}");
    }
}

/// The same seeds and more: the answer lies nearer, in the mean over services, from the fewest on that prove a limit.
#[test]
fn more_seeds_are_never_worse() {
    let near = |count: u64| -> u64 {
        let off = (0..40).map(|nr| {
            let known = Known::draw(nr, Spread::Tail, 12);
            let found = Hunt::new(&known, Aim::default()).smallest(505, Seeds::Exactly(count)).unwrap();
            assert!(found.seeds <= count);
            found.place.abs_diff(known.full(SEEDS, SEEDS / 20)) as u64
        });
        off.sum()
    };
    let all = [49, 109, 209, 409].map(near);
    assert!(all.windows(2).all(|pair| pair[1] <= pair[0]) && all[3] * 3 < all[0], "{all:?}");
    // Between two counts that help, the smaller one is taken.
    let known = Known::draw(1, Spread::Tail, 12);
    let of = |count| Hunt::new(&known, Aim::default()).smallest(505, Seeds::Exactly(count)).unwrap();
    assert_eq!(of(88), of(69));
}

/// As many seeds as the spread needs: an answer lies within 5 places (5 %) of the true limit in 95 of 100 services.
/// Limits thin out by a fourth with each third of the spread: they lie about 1.2 times the spread beyond the true one.
#[test]
fn seeds_are_as_many_as_the_spread_needs_and_runs_few() {
    let (mut near, mut tried) = (0, 0);
    for (wide, most_runs) in [(0, 110), (1, 110), (3, 150), (6, 440)] {
        let mut runs: Vec<u64> = Vec::new();
        for nr in 0..50 {
            let known = Known::draw(nr, Spread::Tail, wide);
            let found = Hunt::new(&known, Aim::default()).smallest(505, ANY).unwrap();
            runs.push(known.runs());
            near += u64::from(found.place.abs_diff(known.full(SEEDS, SEEDS / 20)) <= 5);
            tried += 1;
        }
        runs.sort_unstable();
        assert!(runs[25] <= most_runs, "{wide}: {runs:?}");
    }
    assert!(near * 100 >= tried * 95, "{near} of {tried}");
}

/// Seeds beyond those that were tried need more than the answer in 5 of 100 cases, in the mean over services. A proof of 80 % leaves too much room:
/// its answers lie above the true limit.
#[test]
fn the_next_seed_holds_with_95_of_100() {
    // A share of 5 % that rests on 19 seeds scatters by 5 %, its mean over the services by 0.25 %.
    const SERVICES: u64 = 400;
    // To hand out runs that take no time would take most of it.
    let alone = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    let missed_permille = |aim: Aim, count: Seeds, wide: u64| -> u64 {
        let each = (0..SERVICES).map(|nr| {
            let known = Known::draw(nr, Spread::Tail, wide);
            let found = alone.install(|| Hunt::new(&known, aim).smallest(505, count).unwrap());
            let next = &known.own[found.seeds as usize..];
            next.iter().filter(|own| **own > found.place).count() as u64 * 1_000 / next.len() as u64
        });
        each.sum::<u64>() / SERVICES
    };
    // The rank is half a rank on the safe side: the next one lies above the answer with (k + 1) of n + 1, 33, 40 and 47 of 1000.
    let fixed = [29, 49, 149].map(|count| missed_permille(Aim::Next, Seeds::Exactly(count), 30));
    assert!(fixed.iter().zip([33, 40, 47]).all(|(missed, exact)| missed.abs_diff(exact) <= 5), "{fixed:?}");
    // That makes up for searches that end since the tail looks short. Where several seeds need the same place, the answer has all.
    let found = [2, 6, 12].map(|wide| missed_permille(Aim::Next, ANY, wide));
    assert!(found.iter().all(|missed| (25..=50).contains(missed)), "{found:?}");
    let proof = missed_permille(Aim::Proof(Confidence::default()), Seeds::Exactly(157), 30);
    assert!(proof < 40, "{proof}");
}

#[test]
fn runs_that_miss_the_goal_anyhow_leave_the_limit_some_room() {
    // 59 seeds prove a limit with 95 % if none misses, 361 if at most 11 do; 5 of 100 are 18.
    for (count, wanted, unmet, may) in [(59, 0, 1, 2), (59, 0, 3, 0), (361, 11, 12, 15), (361, 11, 18, 18), (361, 11, 19, 11)] {
        assert_eq!(unproved(count, wanted, unmet), may, "{count} {unmet}");
    }
}
