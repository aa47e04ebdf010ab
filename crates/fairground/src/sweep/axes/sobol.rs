//! Points that fill a cube evenly: the Sobol sequence (Sobol 1967) with the direction numbers of Joe and Kuo (2008), in the order of
//! the Gray code (Antonov and Saleev 1979). It is a table of 19 rows and two loops, so no library is used for it.

/// For each dimension from the second on: degree and coefficients of a primitive polynomial, and the first direction numbers.
const ROWS: [(u32, u32, &[u32]); 19] = [
    (1, 0, &[1]),
    (2, 1, &[1, 3]),
    (3, 1, &[1, 3, 1]),
    (3, 2, &[1, 1, 1]),
    (4, 1, &[1, 1, 3, 3]),
    (4, 4, &[1, 3, 5, 13]),
    (5, 2, &[1, 1, 5, 5, 17]),
    (5, 4, &[1, 1, 5, 5, 5]),
    (5, 7, &[1, 1, 7, 11, 19]),
    (5, 11, &[1, 1, 5, 1, 1]),
    (5, 13, &[1, 1, 1, 3, 11]),
    (5, 14, &[1, 3, 5, 5, 31]),
    (6, 1, &[1, 3, 3, 9, 7, 49]),
    (6, 13, &[1, 1, 1, 15, 21, 21]),
    (6, 16, &[1, 3, 1, 13, 27, 49]),
    (6, 19, &[1, 1, 1, 15, 7, 5]),
    (6, 22, &[1, 3, 1, 15, 13, 25]),
    (6, 25, &[1, 1, 5, 5, 19, 61]),
    (7, 1, &[1, 3, 7, 11, 23, 15, 103]),
];

/// Most axes that are sampled together.
pub(crate) const MAX_DIMENSIONS: usize = ROWS.len() + 1;

/// The direction numbers of a dimension, as fractions of 2^32.
fn directions(dimension: usize) -> [u32; 32] {
    let mut found = [0u32; 32];
    let Some(&(degree, coefficients, first)) = dimension.checked_sub(1).and_then(|row| ROWS.get(row)) else {
        found.iter_mut().enumerate().for_each(|(bit, row)| *row = 1 << (31 - bit));
        return found;
    };
    let degree = degree as usize;
    for bit in 0..32 {
        found[bit] = if bit < degree {
            first[bit] << (31 - bit)
        } else {
            let mut next = found[bit - degree] ^ (found[bit - degree] >> degree);
            for k in 1..degree {
                next ^= ((coefficients >> (degree - 1 - k)) & 1) * found[bit - k];
            }
            next
        };
    }
    found
}

/// The first `count` coordinates of a dimension, each from 0 up to 1.
pub(crate) fn coordinates(dimension: usize, count: u32) -> Vec<f64> {
    let directions = directions(dimension);
    let mut state = 0u32;
    (0..count)
        .map(|number| {
            let place = f64::from(state) / 4_294_967_296.0;
            state ^= directions[number.trailing_ones() as usize % 32];
            place
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_points_are_the_published_ones() {
        // The first ten points in three dimensions, as printed with the direction numbers new-joe-kuo-6.21201.
        let wanted = [
            [0.0, 0.0, 0.0],
            [0.5, 0.5, 0.5],
            [0.75, 0.25, 0.25],
            [0.25, 0.75, 0.75],
            [0.375, 0.375, 0.625],
            [0.875, 0.875, 0.125],
            [0.625, 0.125, 0.875],
            [0.125, 0.625, 0.375],
            [0.1875, 0.3125, 0.9375],
            [0.6875, 0.8125, 0.4375],
        ];
        for (dimension, column) in [0, 1, 2].into_iter().map(|dimension| (dimension, coordinates(dimension, 10))) {
            assert_eq!(column, wanted.map(|row| row[dimension]), "{dimension}");
        }
    }

    /// The tenth point in all dimensions, and the 256th, in sixteenths and in 256ths, as scipy.stats.qmc.Sobol 1.17.1 has them unscrambled.
    #[test]
    fn all_dimensions_are_those_of_another_library() {
        let tenth = [11, 13, 7, 15, 1, 13, 15, 7, 7, 13, 3, 9, 7, 7, 5, 7, 5, 5, 7, 13];
        let last = [1, 255, 197, 147, 157, 251, 227, 45, 113, 91, 35, 43, 51, 163, 157, 133, 103, 109, 187, 65];
        for (dimension, (tenth, last)) in tenth.into_iter().zip(last).enumerate() {
            let column = coordinates(dimension, 256);
            assert_eq!((column[9] * 16.0, column[255] * 256.0), (f64::from(tenth), f64::from(last)), "{dimension}");
        }
    }

    #[test]
    fn every_dimension_has_one_point_in_each_of_many_equal_parts() {
        for dimension in 0..MAX_DIMENSIONS {
            let mut parts: Vec<u32> = coordinates(dimension, 1024).iter().map(|part| (part * 1024.0) as u32).collect();
            parts.sort_unstable();
            assert_eq!(parts, (0..1024).collect::<Vec<u32>>(), "{dimension}");
        }
    }

    #[test]
    fn no_two_dimensions_are_alike() {
        let all: Vec<Vec<f64>> = (0..MAX_DIMENSIONS).map(|dimension| coordinates(dimension, 256)).collect();
        for (place, one) in all.iter().enumerate() {
            assert!(all[place + 1..].iter().all(|other| other != one), "{place}");
        }
    }
}
