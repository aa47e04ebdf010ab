//! Prices of a class times a factor.
//!
//! ```toml
//! [costs]
//! preset = "xeon-spr"
//! scale  = { network = 2.4, switch = { factor = 0.5, source = "calibrated: …" } }
//! ```

use super::model::{CostModel, MAX_PRICE_PS};
use crate::fields::Fields;
use fairground_model::{CostClass, Mistakes, Op};
use fairground_stdx::Factor;
use toml_edit::Item;

/// Source of what a user's file sets without saying why.
pub(super) const SET_BY_USER: &str = "set in the machine file";

impl CostModel {
    /// Multiplies the prices of `ops` by `factor`; their sources say so, with the reason. A price that would be too expensive is a
    /// mistake, and no price is changed then.
    pub fn scale(&mut self, ops: impl IntoIterator<Item = Op>, factor: Factor, why: &str) -> Result<(), Mistakes> {
        let scaled: Vec<(Op, u64)> = ops.into_iter().map(|op| (op, factor.times(self.price_ps(op)))).collect();
        let mut mistakes = Mistakes::default();
        for (op, _) in scaled.iter().filter(|(_, ps)| *ps > MAX_PRICE_PS) {
            let message = format!("`{}` x {factor} is too expensive: its price is {} ps", op.key(), self.price_ps(*op));
            mistakes.whole(message, "No single operation costs more than 10ms.");
        }
        mistakes.or(())?;
        for (op, ps) in scaled {
            self.prices_ps[op as usize] = ps;
            self.sources[op as usize] = format!("{}; x {factor}: {why}", self.source(op));
        }
        Ok(())
    }
}

/// Multiplies as the table `scale` says what `fields` do not give a price of their own.
pub(super) fn read(fields: &Fields, model: &mut CostModel, mistakes: &mut Mistakes) {
    let Some(item) = fields.item("scale") else { return };
    let Some(table) = item.as_table_like() else {
        return fields.wrong("scale", item, "a table of factors by class, as in { network = 2.4 }", mistakes);
    };
    let scale = Fields::new(table, fields.span_of("scale"));
    scale.refuse_unknown(CostClass::ALL.iter().map(|class| class.key()), mistakes);
    for class in CostClass::ALL.iter().filter(|class| scale.has(class.key())) {
        let Some((factor, why)) = factor(&scale, class.key(), mistakes) else { continue };
        let ops: Vec<Op> = class.ops().filter(|op| !fields.has(op.key())).collect();
        if ops.is_empty() {
            let message = format!("`scale` has `{}`, but every price of that class is given here", class.key());
            mistakes.at(scale.span_of(class.key()), message, "A price that is given is taken as it is.");
        }
        let done = model.scale(ops, factor, why);
        let wrong = done.err().into_iter().flat_map(|wrong| wrong.0);
        wrong.for_each(|wrong| mistakes.at(scale.span_of(class.key()), wrong.message, wrong.hint));
    }
}

/// A factor and why: a number, or a table of `factor` and `source`.
fn factor<'a>(scale: &Fields<'a>, key: &str, mistakes: &mut Mistakes) -> Option<(Factor, &'a str)> {
    let item = scale.item(key)?;
    let Some(table) = item.as_table_like() else { return Some((number(scale, key, mistakes)?, SET_BY_USER)) };
    let inner = Fields::new(table, scale.span_of(key));
    inner.refuse_unknown(["factor", "source"], mistakes);
    if !inner.has("factor") {
        mistakes.at(inner.span(), format!("`{key}` has no factor"), "Write { factor = 2.4, source = \"…\" }.");
    }
    let why = inner.text("source", mistakes).unwrap_or(SET_BY_USER);
    Some((number(&inner, "factor", mistakes)?, why))
}

fn number(fields: &Fields, key: &str, mistakes: &mut Mistakes) -> Option<Factor> {
    let item = fields.item(key)?;
    let found = decimal(item).as_deref().and_then(Factor::parse);
    if found.is_none() {
        fields.wrong(key, item, "a factor from 0 to 1000 with at most six digits behind the point, as in 2.4", mistakes);
    }
    found
}

/// A number as it is written. A TOML decimal prints as the shortest that reads back as itself: with so few digits that is
/// what stands in the file.
fn decimal(item: &Item) -> Option<String> {
    item.as_integer().map(|number| number.to_string()).or_else(|| item.as_float().map(|number| number.to_string()))
}
