//! The answer as a page for a browser.

use crate::Bisected;
use crate::show::{document, summary, tables, value};
use fairground::output::ResultKind;
use fairground::pages;
use fairground_report::Page;
use fairground_report::page::{Bar, Bars, Block};
use fairground_report::paragraph::wrapped;
use fairground_scenario::Scenario;

/// Columns of the answer.
const WIDTH: usize = 110;

/// The content of a file of this kind.
pub fn file(scenario: &Scenario, found: &Bisected, kind: ResultKind) -> Vec<u8> {
    match kind {
        ResultKind::Html => page(scenario, found).to_string().into_bytes(),
        _ => document(scenario, found).to_string().into_bytes(),
    }
}

/// The answer in words, the metric of each kernel as bars, and the tables.
fn page(scenario: &Scenario, found: &Bisected) -> Page {
    let name = &found.metric.name;
    let mut page = pages::page(&format!("What moved {name}"), "bisect", scenario);
    page.fact("from", found.a.full_name())
        .fact("to", found.b.full_name())
        .fact("first seed", scenario.seed.to_string())
        .fact("runs", found.made.to_string())
        .fact("scenario", format!("{:032x}", scenario.digest()));
    page.heading("Answer").push(Block::Snippet(scenario.title.clone(), wrapped(&summary(found), WIDTH)));
    if !found.steps.is_empty() {
        page.heading("History").push(Block::Bars(history(found)));
    }
    tables(found).into_iter().for_each(|table| {
        page.push(Block::Table(table));
    });
    page
}

/// The metric of each kernel; those that move it are pointed out.
fn history(found: &Bisected) -> Bars {
    let bar = |name: &str, mean: i128, marked: bool| Bar {
        name: name.to_string(),
        amount: u64::try_from(mean.max(0)).unwrap_or(u64::MAX),
        text: value(found, mean),
        marked,
    };
    let first = found.steps.first().map(|step| bar(&step.from, step.effect.before(), false));
    let rest = found.steps.iter().map(|step| bar(&step.to, step.effect.after(), step.moves));
    Bars {
        title: format!("{} of each kernel", found.metric.name),
        bars: first.into_iter().chain(rest).collect(),
        note: "Between two kernels that are profiles stand those that changed a row. A kernel in bold moved the metric."
            .to_string(),
    }
}
