//! The clamps of a CPU, slowly: after each step from the list of all that came and went.

use super::rq::UclampRq;
use super::{ClampId, Clamps};
use proptest::prelude::*;

/// Who came (true) or went, with what.
type History = Vec<(Clamps, bool)>;

/// The value of a CPU: of the highest of five buckets in which somebody is, the greatest that came into it since it was last empty.
/// With nobody left the least is 0, and the most what the last one had.
fn value(history: &History, id: ClampId) -> u32 {
    let (mut here, mut peak) = ([0_u32; 5], [0_u32; 5]);
    for &(clamps, came) in history {
        let bucket = (0..4).take_while(|bucket| clamps.get(id) >= 205 * (bucket + 1)).count();
        if !came {
            here[bucket] -= 1;
        } else {
            let before = if here[bucket] == 0 { 0 } else { peak[bucket] };
            (here[bucket], peak[bucket]) = (here[bucket] + 1, before.max(clamps.get(id)));
        }
    }
    match (0..5).rev().find(|&bucket| here[bucket] > 0) {
        Some(bucket) => peak[bucket],
        None => match (id, history.last()) {
            (ClampId::Min, _) => 0,
            (ClampId::Max, last) => last.map_or(1024, |row| row.0.max),
        },
    }
}

fn some_clamps() -> impl Strategy<Value = Clamps> {
    (0..=1024_u32, 0..=1024_u32).prop_map(|(min, max)| Clamps { min, max })
}

proptest! {
    #[test]
    fn clamps_of_a_cpu_are_those_of_the_slow_model(steps in prop::collection::vec((any::<bool>(), any::<usize>(), some_clamps()), 1..60)) {
        let (mut rq, mut history, mut here) = (UclampRq::default(), History::new(), Vec::new());
        for (comes, place, clamps) in steps {
            let (clamps, comes) = match comes || here.is_empty() {
                true => (clamps, true),
                false => (here.swap_remove(place % here.len()), false),
            };
            if comes {
                here.push(clamps);
            }
            history.push((clamps, comes));
            rq.count(clamps, comes);
            let expected = Clamps { min: value(&history, ClampId::Min), max: value(&history, ClampId::Max) };
            prop_assert_eq!(rq.values(), (expected, here.is_empty()));
        }
    }
}
