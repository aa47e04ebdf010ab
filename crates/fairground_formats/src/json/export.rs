//! Events as one JSON document, a record a line.

use crate::export::{Output, TraceWriter, WriterOptions};
use crate::flat::{Column, Row};
use crate::json::{KIND, SCHEMA};
use fairground_model::{Digest, Sink, TaskInfo, TraceEvent};
use fairground_stdx::{CpuId, Instant, TaskId};
use std::io::{self, Write};

/// Writes our own JSON.
pub(crate) struct JsonWriter<'w> {
    output: Output<'w>,
    digest: Digest,
    events: u64,
    rows: u64,
}

impl<'w> JsonWriter<'w> {
    pub(crate) fn new(out: Box<dyn Write + 'w>, options: &WriterOptions) -> JsonWriter<'w> {
        let mut writer = JsonWriter { output: Output::new(out), digest: Digest::default(), events: 0, rows: 0 };
        writer.output.write(head(options).as_bytes());
        writer
    }
    fn row(&mut self, row: &Row) {
        self.output.write(if self.rows == 0 { b"\n" } else { b",\n" });
        self.rows += 1;
        let number = |column: Column| row.numbers[column as usize].map(|number| format!("\"{}\":{number},", column.name()));
        let [t_ns, cpu, rest @ ..] = Column::ALL.map(|column| number(column).unwrap_or_default());
        let what = row.what.as_deref().map_or(String::new(), |what| format!("\"what\":{},", text(what)));
        let line = format!("{{{t_ns}{cpu}\"event\":{},{what}{}", text(&row.event), rest.concat());
        self.output.write(line.trim_end_matches(',').as_bytes());
        self.output.write(b"}");
    }
}

/// Everything before the records.
fn head(options: &WriterOptions) -> String {
    let inputs: Vec<String> = options
        .inputs
        .iter()
        .map(|(name, digest)| format!("{{\"name\": {}, \"digest\": {}}}", text(name), text(digest)))
        .collect();
    format!(
        "{{\"schema\": {SCHEMA}, \"tool\": {{\"name\": \"fairground\", \"version\": {}}}, \"command\": {}, \"inputs\": [{}],\n \
         \"seed\": {}, \"kind\": {}, \"records\": [",
        text(env!("CARGO_PKG_VERSION")),
        text(&options.command),
        inputs.join(", "),
        options.seed.map_or("null".to_string(), |seed| seed.to_string()),
        text(KIND),
    )
}

/// A JSON string.
fn text(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

impl Sink for JsonWriter<'_> {
    fn task(&mut self, task: TaskId, info: &TaskInfo) {
        self.row(&Row::of_task(task, info));
    }
    fn record(&mut self, at: Instant, cpu: CpuId, event: &TraceEvent) {
        self.digest.record(at, cpu, event);
        self.events += 1;
        self.row(&Row::of_event(at.ns(), cpu, event));
    }
    fn wants_samples(&self) -> bool {
        true
    }
}

impl TraceWriter for JsonWriter<'_> {
    fn finish(mut self: Box<Self>) -> io::Result<()> {
        let tail = format!("\n], \"events\": {}, \"digest\": \"{:032x}\"}}\n", self.events, self.digest.value());
        self.output.write(tail.as_bytes());
        self.output.finish()
    }
}
