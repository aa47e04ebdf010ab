//! The CPU numbers that `indexes=` gives the PUs.

use super::{Kind, Level, kind_of};
use crate::suggest::clip;

/// One interleaving loop: `nb` PUs that stand `step` PUs apart get neighbouring numbers.
struct Loop {
    step: u64,
    nb: u64,
}

/// What is wrong, and what would be right.
type Wrong = (String, String);

/// The number of each PU, in the order in which the string describes them.
///
/// Three forms: a list `0,2,1,3`; loops of step*number `8*2:4*2`, of which the first counts fastest;
/// or kinds `numa:core`, which stand for the loops that go over their objects in turn.
pub(super) fn numbers(value: &str, levels: &[Level], pus: u64) -> Result<Vec<u32>, Wrong> {
    let loops = if value.contains('*') {
        given(value)?
    } else if value.chars().next().is_some_and(char::is_alphabetic) {
        by_kind(value, levels, pus)?
    } else {
        return list(value, pus);
    };
    let loops = complete(loops, pus)?;
    let number = |pu: u64| {
        let digits = loops.iter().scan(1, |weight, turn| {
            let digit = pu / turn.step % turn.nb * *weight;
            *weight *= turn.nb;
            Some(digit)
        });
        digits.sum::<u64>() as u32
    };
    Ok((0..pus).map(number).collect())
}

fn list(value: &str, pus: u64) -> Result<Vec<u32>, Wrong> {
    let number = |text: &str| {
        let hint = "Expected CPU numbers with commas, as in indexes=0,2,1,3.".to_string();
        text.parse().map_err(|_| (format!("`{}` is no CPU number", clip(text)), hint))
    };
    let numbers = value.split(',').map(number).collect::<Result<Vec<u32>, Wrong>>()?;
    if numbers.len() as u64 != pus {
        return Err((format!("{} indexes for {pus} CPUs", numbers.len()), "Give one number per CPU.".to_string()));
    }
    Ok(numbers)
}

fn given(value: &str) -> Result<Vec<Loop>, Wrong> {
    let turn = |text: &str| {
        let (step, nb) = text.split_once('*')?;
        let (step, nb) = (step.parse().ok()?, nb.parse().ok()?);
        (step > 0 && nb > 0).then_some(Loop { step, nb })
    };
    let hint = || "Expected loops of step*number, as in indexes=8*2:4*2.".to_string();
    value.split(':').map(|text| turn(text).ok_or_else(|| (format!("`{}` is no loop", clip(text)), hint()))).collect()
}

fn by_kind(value: &str, levels: &[Level], pus: u64) -> Result<Vec<Loop>, Wrong> {
    let find = |text: &str| {
        let kind = kind_of(&text.to_ascii_lowercase())?;
        levels.iter().position(|level| level.kind == kind && kind != Kind::Group)
    };
    let hint = || "Name levels of this string, as in indexes=numa:core.".to_string();
    let depths = value.split(':').map(|text| find(text).ok_or_else(|| (format!("`{}` is no level here", clip(text)), hint())));
    let depths = depths.collect::<Result<Vec<usize>, Wrong>>()?;
    let turn = |&depth: &usize| {
        // A loop goes over the objects that lie in one object of the next outer level that has a loop.
        let outer = depths.iter().filter(|other| **other < depth).max().map_or(1, |&outer| levels[outer].width);
        Loop { step: (pus / levels[depth].width).max(1), nb: (levels[depth].width / outer).max(1) }
    };
    Ok(depths.iter().map(turn).collect())
}

/// Adds the loop over what the given ones leave, and checks that together they reach each PU once.
fn complete(mut loops: Vec<Loop>, pus: u64) -> Result<Vec<Loop>, Wrong> {
    let wrong = || {
        let hint = "The numbers of all loops multiply to the number of CPUs, or to a divisor of it.".to_string();
        ("these loops do not reach each CPU once".to_string(), hint)
    };
    let product = |loops: &[Loop]| loops.iter().try_fold(1u64, |product, turn| product.checked_mul(turn.nb));
    let covered = product(&loops).filter(|product| pus.is_multiple_of(*product)).ok_or_else(wrong)?;
    if covered != pus {
        loops.push(Loop { step: 1, nb: pus / covered });
    }
    // Sorted by step, each loop begins where the loops below it end.
    let mut order: Vec<&Loop> = loops.iter().collect();
    order.sort_by_key(|turn| turn.step);
    let mut reach = 1;
    for turn in order.into_iter().filter(|turn| turn.nb > 1) {
        if turn.step != reach {
            return Err(wrong());
        }
        reach *= turn.nb;
    }
    Ok(loops)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nested_loops_count_the_first_fastest() {
        // 16 PUs: numbers 0 and 1 are 8 apart, numbers 0 and 2 are 4 apart.
        let numbers = numbers("8*2:4*2", &[], 16).unwrap();
        assert_eq!((numbers[0], numbers[8], numbers[4], numbers[1]), (0, 1, 2, 4));
        let mut sorted = numbers.clone();
        sorted.sort_unstable();
        assert!(sorted.into_iter().eq(0..16));
    }

    #[test]
    fn loops_that_miss_cpus_are_refused() {
        for value in ["3*2", "8*2:8*2", "3*8", "1*3", "18446744073709551615*2:1*18446744073709551615", "a*b", "*"] {
            assert!(numbers(value, &[], 16).is_err(), "{value}");
        }
        assert!(numbers("core", &[], 16).is_err());
        assert!(numbers("0,x", &[], 2).is_err());
    }
}
