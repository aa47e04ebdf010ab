//! The verdict as a page: the mail, then each case with all its metrics and the decisions behind them.

use super::Judged;
use crate::compare::shifts_table;
use fairground_report::page::{Block, Page};

impl Judged {
    /// The verdict as a page for a browser.
    pub fn page(&self) -> Page {
        let [a, b] = &self.sides;
        let mut page = Page::new(format!("{b} judged against {a}"));
        page.fact("made by", concat!("fairground ", env!("CARGO_PKG_VERSION"), " judge"))
            .fact("baseline", a)
            .fact("compare", b)
            .fact("battery", self.battery.name())
            .fact("pairs of each case", self.pairs.to_string())
            .fact("digest", format!("{:032x}", self.digest));
        page.push(Block::Snippet("The verdict as a mail".to_string(), self.mail()));
        for case in &self.cases {
            page.heading(&case.title).push(Block::Table(case.report.table())).push(Block::Table(case.report.values_table()));
            if !case.shifts.is_empty() {
                page.push(Block::Table(shifts_table(&case.shifts)));
            }
        }
        page
    }
}
