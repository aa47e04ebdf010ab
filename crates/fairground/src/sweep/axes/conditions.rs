//! Which combinations are run: `only = "workers <= cores and slice != 3ms"`.
//!
//! ```text
//! condition  = all { "or" all }
//! all        = comparison { "and" comparison }
//! comparison = operand ( "<" | "<=" | ">" | ">=" | "=" | "==" | "!=" ) operand
//! operand    = name of an axis | number | length of time | 'text' | true | false
//! ```
//!
//! An axis is named in full or by the last part of its path, if only one axis ends so. `and` binds closer than `or`.

use super::{Axis, AxisValue};
use fairground_stdx::nearest;
use std::cmp::Ordering;

/// A mistake in a condition: the byte at which it is, message and hint.
pub(crate) type WrongAt = (usize, String, String);

#[derive(Clone, PartialEq, Debug)]
enum Operand {
    Axis(usize),
    Constant(AxisValue),
}

#[derive(Clone, PartialEq, Debug)]
struct Comparison {
    left: Operand,
    operator: &'static str,
    right: Operand,
}

/// A condition: any of the rows, of which all comparisons must hold.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Condition(Vec<Vec<Comparison>>);

const OPERATORS: [&str; 7] = ["<=", ">=", "==", "!=", "<", ">", "="];

impl Condition {
    /// Reads a condition over these axes.
    pub(crate) fn parse(text: &str, axes: &[Axis]) -> Result<Condition, WrongAt> {
        let words = words(text)?;
        let end = (text.len(), "");
        let mut rows = vec![Vec::new()];
        let mut place = 0;
        loop {
            let next = |more: usize| words.get(place + more).copied().unwrap_or(end);
            let (left, operator, right) = (next(0), next(1), next(2));
            let known = OPERATORS.iter().find(|known| **known == operator.1);
            let Some(&known) = known else {
                let hint = "Write a comparison such as `workers <= 8`, with `and` or `or` between two.";
                return Err((operator.0, format!("`{}` is no comparison", text.trim()), hint.into()));
            };
            let comparison = Comparison { left: operand(left, axes)?, operator: known, right: operand(right, axes)? };
            comparison.check(left.0, axes)?;
            if let Some(row) = rows.last_mut() {
                row.push(comparison);
            }
            match next(3) {
                (_, "") => return Ok(Condition(rows)),
                (_, "and") => {}
                (_, "or") => rows.push(Vec::new()),
                (at, word) => {
                    return Err((at, format!("`{word}` is neither `and` nor `or`"), "Join comparisons by one of them.".into()));
                }
            }
            place += 4;
        }
    }
    /// Whether it holds for the values of the axes.
    pub(crate) fn holds(&self, values: &[&AxisValue]) -> bool {
        self.0.iter().any(|row| row.iter().all(|comparison| comparison.holds(values)))
    }
}

impl Comparison {
    fn holds(&self, values: &[&AxisValue]) -> bool {
        let value = |operand| match operand {
            &Operand::Axis(axis) => values[axis].clone(),
            Operand::Constant(value) => value.clone(),
        };
        let (left, right) = (value(&self.left), value(&self.right));
        let order = match (left.number(), right.number()) {
            (Some(left), Some(right)) => left.partial_cmp(&right),
            _ if left.to_string() == right.to_string() => Some(Ordering::Equal),
            _ => None,
        };
        match self.operator {
            "<=" => order.is_some_and(Ordering::is_le),
            ">=" => order.is_some_and(Ordering::is_ge),
            "<" => order == Some(Ordering::Less),
            ">" => order == Some(Ordering::Greater),
            "!=" => order != Some(Ordering::Equal),
            _ => order == Some(Ordering::Equal),
        }
    }
    /// Only numbers and lengths of time have an order.
    fn check(&self, at: usize, axes: &[Axis]) -> Result<(), WrongAt> {
        let has_order = |operand: &Operand| match operand {
            Operand::Axis(axis) => axes[*axis].values.iter().all(|value| value.number().is_some()),
            Operand::Constant(value) => value.number().is_some(),
        };
        if matches!(self.operator, "=" | "==" | "!=") || (has_order(&self.left) && has_order(&self.right)) {
            return Ok(());
        }
        let message = format!("`{}` compares text, which has no order", self.operator);
        Err((at, message, "Use `=` or `!=`, or compare numbers or lengths of time.".into()))
    }
}

/// Words, operators and quoted texts with their places.
fn words(text: &str) -> Result<Vec<(usize, &str)>, WrongAt> {
    let mut found = Vec::new();
    let mut rest = text;
    loop {
        rest = rest.trim_start();
        let at = text.len() - rest.len();
        let Some(first) = rest.chars().next() else { return Ok(found) };
        let is_word = |c: char| c.is_alphanumeric() || "._/-+".contains(c);
        let length = if first == '\'' {
            rest[1..].find('\'').map(|end| end + 2)
        } else if let Some(operator) = OPERATORS.iter().find(|operator| rest.starts_with(**operator)) {
            Some(operator.len())
        } else {
            Some(rest.find(|c| !is_word(c)).unwrap_or(rest.len())).filter(|&length| length > 0)
        };
        let Some(length) = length else {
            return Err((
                at,
                format!("`{first}` is not expected here"),
                "A condition is comparisons joined by `and` and `or`.".into(),
            ));
        };
        found.push((at, &rest[..length]));
        rest = &rest[length..];
    }
}

fn operand((at, word): (usize, &str), axes: &[Axis]) -> Result<Operand, WrongAt> {
    if let Some(text) = word.strip_prefix('\'') {
        return Ok(Operand::Constant(AxisValue::Text(text.trim_end_matches('\'').to_string())));
    }
    if let Ok(number) = word.parse::<i64>() {
        return Ok(Operand::Constant(AxisValue::Int(number)));
    }
    match word.parse::<f64>() {
        Ok(number) if number.is_finite() => return Ok(Operand::Constant(AxisValue::Float(number))),
        Ok(_) => return Err((at, format!("`{word}` is no number"), "NaN and infinity cannot be compared with.".into())),
        Err(_) => {}
    }
    let text = AxisValue::Text(word.to_string());
    if text.ns().is_some() {
        return Ok(Operand::Constant(text));
    }
    if let Some(axis) = axes.iter().position(|axis| axis.kind.name() == word) {
        return Ok(Operand::Axis(axis));
    }
    let short: Vec<usize> = (0..axes.len()).filter(|&axis| axes[axis].kind.name().rsplit('.').next() == Some(word)).collect();
    match (short.as_slice(), word) {
        (&[axis], _) => Ok(Operand::Axis(axis)),
        ([], "true" | "false") => Ok(Operand::Constant(AxisValue::Bool(word == "true"))),
        ([], "") => Err((at, "a comparison without its other side".into(), "Write a value or an axis behind it.".into())),
        ([], _) => {
            let names: Vec<&str> = axes.iter().map(|axis| axis.kind.name()).collect();
            let hint = nearest::hint(word, "Text stands in quotes, 'smp-4'. Axes", names.iter().copied());
            Err((at, format!("there is no axis `{word}`"), hint))
        }
        _ => Err((at, format!("more than one axis ends with `{word}`"), "Write the whole path.".into())),
    }
}

#[cfg(test)]
mod tests {
    use super::super::AxisKind;
    use super::*;

    fn axes() -> Vec<Axis> {
        let axis = |name: &str, values: Vec<AxisValue>| Axis {
            kind: AxisKind::Path(name.into()),
            spans: vec![0..0; values.len()],
            values,
        };
        let text = |text: &str| AxisValue::Text(text.into());
        vec![
            axis("workload.0.workers", vec![AxisValue::Int(1), AxisValue::Int(8)]),
            axis("machine.cpus", vec![AxisValue::Int(4)]),
            axis("slice", vec![text("3ms"), text("1us")]),
            axis("name", vec![text("a")]),
        ]
    }

    fn holds(condition: &str, workers: i64, slice: &str) -> bool {
        let (workers, cpus) = (AxisValue::Int(workers), AxisValue::Int(4));
        let (slice, name) = (AxisValue::Text(slice.into()), AxisValue::Text("a".into()));
        Condition::parse(condition, &axes()).unwrap().holds(&[&workers, &cpus, &slice, &name])
    }

    #[test]
    fn comparisons_of_axes_and_constants_are_joined() {
        assert!(holds("workers <= cpus", 4, "1us") && !holds("workers <= cpus", 5, "1us"));
        assert!(holds("slice < 2ms and workers=8", 8, "1us") && !holds("slice < 2ms and workers = 8", 8, "3ms"));
        assert!(holds("workers > 5 and slice = 3ms or name = 'a'", 1, "1us"));
        assert!(holds("machine.cpus >= 4.0", 1, "1us") && !holds("name != 'a'", 1, "1us"));
    }

    #[test]
    fn mistakes_have_a_place() {
        for (text, at, part) in [
            ("workers <= corse", 11, "no axis `corse`"),
            ("workers", 7, "no comparison"),
            ("workers <=", 10, "without its other side"),
            ("workers <= 4 xor cpus = 4", 13, "neither"),
            ("workers <= 4 ; cpus = 4", 13, "not expected"),
            ("name < 'b'", 0, "no order"),
            ("workers <= nan", 11, "no number"),
        ] {
            let wrong = Condition::parse(text, &axes()).unwrap_err();
            assert_eq!(wrong.0, at, "{text}: {wrong:?}");
            assert!(wrong.1.contains(part), "{text}: {wrong:?}");
        }
    }
}
