//! Constants of the geometric series, computed in integers by the compiler.

/// Periods after which a contribution has halved.
pub(super) const HALF_LIFE_PERIODS: u64 = 32;
/// Number of entries of [`RUNNABLE_AVG_YN_INV`].
const ENTRIES: usize = HALF_LIFE_PERIODS as usize;

/// floor((2^32 - 1) * y^n) for n = 0 to 31, where y^32 = 1/2.
///
/// Kernel: sched-pelt.h runnable_avg_yN_inv, v4.12–
pub const RUNNABLE_AVG_YN_INV: [u32; ENTRIES] = inverse_table();

/// The largest sum that one unit per unit of time can reach: the fixed point of x -> 1024 + floor(x * y).
///
/// Kernel: sched-pelt.h LOAD_AVG_MAX, v4.12–
pub const LOAD_AVG_MAX: u64 = load_avg_max();

/// The largest sum that is possible when a period has just begun.
///
/// Kernel: pelt.h PELT_MIN_DIVIDER, v5.13–
pub const PELT_MIN_DIVIDER: u64 = LOAD_AVG_MAX - 1024;

const fn inverse_table() -> [u32; ENTRIES] {
    let base = (1u128 << 32) - 1;
    let mut table = [0; ENTRIES];
    let mut n = 0;
    while n < ENTRIES {
        table[n] = ((base * two_to_minus(n as u32)) >> 62) as u32;
        n += 1;
    }
    table
}

/// 2^(-n/32) with 62 binary places, as a product of the square roots 2^(-1/2), 2^(-1/4) … 2^(-1/32).
const fn two_to_minus(n: u32) -> u128 {
    let mut result = 1u128 << 62;
    let mut root = 1u128 << 61;
    let mut bit = 5;
    while bit > 0 {
        bit -= 1;
        root = square_root(root << 62);
        if n >> bit & 1 == 1 {
            result = (result * root) >> 62;
        }
    }
    result
}

/// floor(sqrt(value)), bit by bit from the top.
const fn square_root(value: u128) -> u128 {
    let mut root = 0u128;
    let mut bit = 1u128 << 63;
    while bit > 0 {
        let candidate = root | bit;
        if candidate * candidate <= value {
            root = candidate;
        }
        bit >>= 1;
    }
    root
}

const fn load_avg_max() -> u64 {
    let (mut sum, mut last) = (1024, 0);
    while sum != last {
        last = sum;
        sum = 1024 + ((last * RUNNABLE_AVG_YN_INV[1] as u64) >> 32);
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn table_and_maximum() {
        let known = [(0, 0xffff_ffff), (1, 0xfa83_b2da), (16, 0xb504_f333), (31, 0x82cd_8698)];
        for (n, value) in known {
            assert_eq!(RUNNABLE_AVG_YN_INV[n], value, "y^{n}");
        }
        assert_eq!((LOAD_AVG_MAX, PELT_MIN_DIVIDER), (47_742, 46_718));
    }

    #[test]
    fn roots_leave_room_for_the_floor() {
        // Each product loses less than 5 units of 2^-62; no entry may lie that near to an integer.
        for (n, &entry) in RUNNABLE_AVG_YN_INV.iter().enumerate().skip(1) {
            let fraction = (u128::from(u32::MAX) * two_to_minus(n as u32)) & ((1 << 62) - 1);
            let margin = 16 << 32;
            assert!(fraction > margin && fraction < (1 << 62) - margin, "{n}: {entry}");
        }
    }
}
