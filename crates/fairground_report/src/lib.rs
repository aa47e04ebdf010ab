//! Numbers to people and programs: tables that can be pasted into a mail, Markdown, CSV, JSON documents.
//!
//! Nothing here computes a result or decides anything; wall-clock time appears only where a caller
//! hands it in.

pub mod beside;
pub mod compare;
pub mod compare_traces;
pub mod document;
pub mod hgrm;
pub mod list;
pub mod page;
pub mod paragraph;
pub mod profile;
pub mod reproduce;
pub mod run;
pub mod schedstat;
pub mod searches;
pub mod table;
pub mod time_spent;
pub mod timehist;
pub mod units;
pub mod waits;

pub use beside::{Beside, Given, Side, SideRow};
pub use compare::{CompareReport, CompareRow};
pub use document::{Document, Input};
pub use fairground_stdx::outside;
pub use list::ListRow;
pub use page::Page;
pub use profile::ProfileChange;
pub use reproduce::{Band, Calibration, Claim, Kind, Quantity, Reproduction, ReproductionRow, Simulated};
pub use run::RunFacts;
pub use table::{Align, Cell, Column, Layout, Table, plain_html};
