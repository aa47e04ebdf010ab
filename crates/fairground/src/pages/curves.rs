//! Curves of percentiles.

use fairground_metrics::Histogram;
use fairground_report::page::{Axis, Chart, Point, Quantity, Scale, Series};

/// The curve of one distribution of times. `runs` are the distributions of single runs: where there are several, the band goes from the
/// lowest of them to the highest, as far as each has enough values to tell.
#[allow(clippy::cast_precision_loss, reason = "for display only")]
pub(crate) fn percentile_series(name: impl Into<String>, all: &Histogram, runs: &[&Histogram]) -> Series {
    let mut points: Vec<Point> = Vec::new();
    for level in all.distribution() {
        // The last level, the largest value, stands where one value of all is beyond.
        let x = if level.parts < level.of { level.of as f64 / (level.of - level.parts) as f64 } else { all.len() as f64 };
        if points.last().is_some_and(|last| last.x >= x) || x > all.len() as f64 {
            continue;
        }
        let told = runs.len() > 1 && runs.iter().all(|run| run.len() as f64 >= x);
        let each = || runs.iter().map(|run| run.at(level.parts, level.of) as f64);
        let band = told.then(|| (each().fold(f64::INFINITY, f64::min), each().fold(0.0, f64::max)));
        points.push(Point { x, y: level.value as f64, band });
    }
    Series { name: name.into(), points }
}

/// Curves of percentiles of times, on axes on which equal ratios are equally long.
pub(crate) fn latency_chart(title: impl Into<String>, series: Vec<Series>, note: impl Into<String>) -> Chart {
    let has_times = series.iter().flat_map(|series| &series.points).any(|point| point.y > 0.0);
    Chart {
        title: title.into(),
        x: Axis::new("percentile", Scale::Log, Quantity::OneOf),
        y: Axis::new("time", if has_times { Scale::Log } else { Scale::Linear }, Quantity::Time),
        series,
        lines: Vec::new(),
        note: note.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(values: impl IntoIterator<Item = u64>) -> Histogram {
        let mut histogram = Histogram::new();
        values.into_iter().for_each(|value| histogram.record(value));
        histogram
    }

    #[test]
    fn curves_end_with_the_largest_value() {
        let all = of(1..=100);
        let series = percentile_series("a", &all, &[&all]);
        let last = series.points.last().unwrap();
        assert_eq!((last.x, last.y, last.band), (100.0, 100.0, None));
        assert!(series.points.windows(2).all(|pair| pair[0].x < pair[1].x && pair[0].y <= pair[1].y));
        assert!(percentile_series("none", &of([]), &[]).points.is_empty());
        assert_eq!(percentile_series("one", &of([5]), &[]).points.len(), 1);
    }

    #[test]
    fn bands_end_where_a_run_has_no_values_to_tell() {
        let (few, many) = (of([1, 1, 1, 5]), of([2; 96]));
        let mut all = few.clone();
        all.merge(&many);
        let series = percentile_series("a", &all, &[&few, &many]);
        assert_eq!(series.points[0].band, Some((1.0, 2.0)));
        let told: Vec<bool> = series.points.iter().map(|point| point.band.is_some()).collect();
        assert!(told.iter().zip(&series.points).all(|(told, point)| *told == (point.x <= 4.0)));
    }
}
