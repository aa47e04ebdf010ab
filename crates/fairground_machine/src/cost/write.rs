//! A price list as a machine file has it.

use super::model::CostModel;
use crate::keys::{line, quoted};
use fairground_model::Op;

/// The line or the table that reads back as `costs`.
pub(crate) fn write(costs: &CostModel) -> String {
    let preset = CostModel::preset(&costs.name).ok();
    if preset.as_ref() == Some(costs) {
        return line("costs", &quoted(&costs.name));
    }
    let mut text = String::from("\n[costs]\n");
    text += &line(if preset.is_some() { "preset" } else { "name" }, &quoted(&costs.name));
    if preset.as_ref().is_none_or(|preset| preset.description != costs.description) {
        text += &line("description", &quoted(&costs.description));
    }
    for &op in Op::ALL {
        let same = |preset: &CostModel| preset.price_ps(op) == costs.price_ps(op) && preset.source(op) == costs.source(op);
        if !preset.as_ref().is_some_and(same) {
            let price = format!("{{ price = \"{}ps\", source = {} }}", costs.price_ps(op), quoted(costs.source(op)));
            text += &line(op.key(), &price);
        }
    }
    text
}
