//! Events as lines of CSV.

use crate::csv::HEADER;
use crate::export::{Output, TraceWriter};
use crate::flat::{Column, Row};
use fairground_model::{Sink, TaskInfo, TraceEvent};
use fairground_stdx::outside::{harmless_cell, shown};
use fairground_stdx::{CpuId, Instant, TaskId};
use std::io::{self, Write};

/// Writes our own CSV.
pub(crate) struct CsvWriter<'w> {
    output: Output<'w>,
}

impl<'w> CsvWriter<'w> {
    pub(crate) fn new(out: Box<dyn Write + 'w>) -> CsvWriter<'w> {
        let mut output = Output::new(out);
        output.write(HEADER.as_bytes());
        output.write(b"\n");
        CsvWriter { output }
    }
    fn row(&mut self, row: &Row) {
        let number = |column: Column| row.numbers[column as usize].map_or(String::new(), |number| number.to_string());
        let [t_ns, cpu, task, other, from, to, value, value2, value3] = Column::ALL.map(number);
        let what = row.what.as_deref().map_or(String::new(), quoted);
        let event = &row.event;
        self.output
            .write(format!("{t_ns},{cpu},{event},{task},{other},{from},{to},{what},{value},{value2},{value3}\n").as_bytes());
    }
}

/// Quotes a field where CSV asks for it. One line is one record: line breaks and other control characters are escapes.
fn quoted(text: &str) -> String {
    let text = harmless_cell(&shown(text)).into_owned();
    if text.contains([',', '"']) { format!("\"{}\"", text.replace('"', "\"\"")) } else { text }
}

impl Sink for CsvWriter<'_> {
    fn task(&mut self, task: TaskId, info: &TaskInfo) {
        self.row(&Row::of_task(task, info));
    }
    fn record(&mut self, at: Instant, cpu: CpuId, event: &TraceEvent) {
        self.row(&Row::of_event(at.ns(), cpu, event));
    }
    fn wants_samples(&self) -> bool {
        true
    }
}

impl TraceWriter for CsvWriter<'_> {
    fn finish(self: Box<Self>) -> io::Result<()> {
        self.output.finish()
    }
}
