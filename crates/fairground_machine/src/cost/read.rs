//! Price lists as people write them.

use super::model::{CostModel, MAX_PRICE_PS};
use super::scale;
use crate::fields::{Fields, parse_document};
use crate::suggest::{self, clip};
use fairground_model::{Mistakes, Op};
use fairground_stdx::units::{UnitError, parse_ns};
use std::ops::Range;
use std::sync::OnceLock;
use toml_edit::{Item, TableLike};

/// The price list of a new machine.
const DEFAULT: &str = "xeon-spr";

/// The price lists that come with us, as files of the form that users write.
const PRESETS: [(&str, &str); 10] = [
    ("zero", include_str!("../prices/zero.toml")),
    ("icount", include_str!("../prices/icount.toml")),
    ("unit", include_str!("../prices/unit.toml")),
    ("xeon-spr", include_str!("../prices/xeon-spr.toml")),
    ("sis-util-box", include_str!("../prices/sis-util-box.toml")),
    ("task-throttle-box", include_str!("../prices/task-throttle-box.toml")),
    ("xeon-bdw", include_str!("../prices/xeon-bdw.toml")),
    ("a53", include_str!("../prices/a53.toml")),
    ("epyc", include_str!("../prices/epyc.toml")),
    ("kvm-guest", include_str!("../prices/kvm-guest.toml")),
];

/// The price lists that come with us, each read when it is first asked for: a scenario's digest asks with every run.
static READ: [OnceLock<Result<CostModel, Mistakes>>; PRESETS.len()] = [const { OnceLock::new() }; PRESETS.len()];

impl CostModel {
    /// The price list `name`.
    pub fn preset(name: &str) -> Result<CostModel, Mistakes> {
        match PRESETS.iter().position(|(preset, _)| *preset == name) {
            Some(place) => READ[place].get_or_init(|| parse(PRESETS[place].1)).clone(),
            None => {
                let names: Vec<&str> = CostModel::names().collect();
                Err(Mistakes::one(format!("unknown price list `{}`", clip(name)), suggest::hint(name, &names)))
            }
        }
    }
    /// The names of all price lists.
    pub fn names() -> impl Iterator<Item = &'static str> {
        PRESETS.iter().map(|(name, _)| *name)
    }
}

impl Default for CostModel {
    /// The prices of a current server, `xeon-spr`.
    fn default() -> CostModel {
        CostModel::preset(DEFAULT).expect("invariant: our own price lists are correct")
    }
}

/// Reads a price list of our own.
fn parse(text: &str) -> Result<CostModel, Mistakes> {
    let mut mistakes = Mistakes::default();
    let Some(document) = parse_document(text, &mut mistakes) else { return Err(mistakes) };
    match read_table(document.as_table(), 0..text.len(), &mut mistakes) {
        Some(model) => mistakes.or(model),
        None => Err(mistakes),
    }
}

/// Reads the value of a machine's `costs`: the name of a price list, or a table.
pub(crate) fn read_item(item: &Item, span: Range<usize>, mistakes: &mut Mistakes) -> Option<CostModel> {
    if let Some(name) = item.as_str() {
        return preset(name, span, mistakes);
    }
    match item.as_table_like() {
        Some(table) => read_table(table, span, mistakes),
        None => {
            mistakes.at(span, "`costs` is neither a name nor a table", "Write costs = \"xeon-spr\", or a [costs] table.");
            None
        }
    }
}

/// Reads a table of prices: all that differ from a `preset` and from its prices times `scale`, or all there are.
fn read_table(table: &dyn TableLike, span: Range<usize>, mistakes: &mut Mistakes) -> Option<CostModel> {
    let fields = Fields::new(table, span);
    let known = ["preset", "name", "description", "all", "scale"].into_iter().chain(Op::ALL.iter().map(|op| op.key()));
    fields.refuse_unknown(known, mistakes);
    let from = match fields.text("preset", mistakes) {
        Some(name) => Some(preset(name, fields.span_of("preset"), mistakes)?),
        None => None,
    };
    let all = price(&fields, "all", mistakes);
    let missing: Vec<&str> = Op::ALL.iter().map(|op| op.key()).filter(|key| !fields.has(key)).collect();
    if from.is_none() && !fields.has("preset") && !fields.has("all") && !missing.is_empty() {
        let hint = "Write preset = \"xeon-spr\" to take what is not given from there.";
        mistakes.at(fields.span(), format!("no price for {}", missing.join(", ")), hint);
    }
    let mut model = from.unwrap_or_else(|| CostModel {
        name: "custom".to_string(),
        description: String::new(),
        prices_ps: [0; Op::COUNT],
        sources: std::array::from_fn(|_| String::new()),
    });
    if let Some((ps, source)) = all {
        model.prices_ps = [ps; Op::COUNT];
        model.sources = std::array::from_fn(|_| source.clone());
    }
    for &op in Op::ALL {
        if let Some((ps, source)) = price(&fields, op.key(), mistakes) {
            (model.prices_ps[op as usize], model.sources[op as usize]) = (ps, source);
        }
    }
    scale::read(&fields, &mut model, mistakes);
    if let Some(name) = fields.text("name", mistakes) {
        model.name = name.to_string();
    }
    if let Some(description) = fields.text("description", mistakes) {
        model.description = description.to_string();
    }
    Some(model)
}

fn preset(name: &str, span: Range<usize>, mistakes: &mut Mistakes) -> Option<CostModel> {
    match CostModel::preset(name) {
        Ok(model) => Some(model),
        Err(unknown) => {
            unknown.0.into_iter().for_each(|mistake| mistakes.at(span.clone(), mistake.message, mistake.hint));
            None
        }
    }
}

/// The price at `key` in picoseconds with its source: a text, or a table of `price` and `source`.
fn price(fields: &Fields, key: &str, mistakes: &mut Mistakes) -> Option<(u64, String)> {
    let item = fields.item(key)?;
    let Some(table) = item.as_table_like() else {
        return Some((amount(fields, key, mistakes)?, scale::SET_BY_USER.to_string()));
    };
    let inner = Fields::new(table, fields.span_of(key));
    inner.refuse_unknown(["price", "source"], mistakes);
    if !inner.has("price") {
        mistakes.at(inner.span(), format!("`{key}` has no price"), "Write { price = \"1us\", source = \"…\" }.");
    }
    let source = inner.text("source", mistakes).unwrap_or(scale::SET_BY_USER);
    Some((amount(&inner, "price", mistakes)?, source.to_string()))
}

/// A length of time in picoseconds.
fn amount(fields: &Fields, key: &str, mistakes: &mut Mistakes) -> Option<u64> {
    let item = fields.item(key)?;
    let Some(text) = item.as_str() else {
        fields.wrong(key, item, "a price with its unit, as in \"1.8us\"", mistakes);
        return None;
    };
    match parse_ps(text) {
        Ok(ps) if ps <= MAX_PRICE_PS => Some(ps),
        Ok(_) => {
            let hint = "No single operation costs more than 10ms.";
            mistakes.at(fields.span_of(key), format!("`{key}` is \"{}\": too expensive", clip(text)), hint);
            None
        }
        Err(error) => {
            let message = format!("`{key}` is \"{}\": {error}", clip(text));
            mistakes.at(fields.span_of(key), message, "Write a number and one of ps, ns, us, ms, as in \"1.8us\".");
            None
        }
    }
}

/// Reads a length of time in picoseconds: the units of [`parse_ns`], and `ps`.
fn parse_ps(text: &str) -> Result<u64, UnitError> {
    match text.trim().strip_suffix("ps") {
        Some(number) if number.trim().starts_with('-') => Err(UnitError::Negative),
        Some(number) => number.trim().parse().map_err(|_| UnitError::NotANumber(number.trim().to_string())),
        None => parse_ns(text)?.ns().checked_mul(1000).ok_or(UnitError::OutOfRange),
    }
}
