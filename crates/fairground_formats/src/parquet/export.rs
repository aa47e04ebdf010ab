//! Events as rows.

use super::field::{Field, Kind, Value};
use super::file::ParquetFile;
use crate::export::{TaskTable, TraceWriter, WriterOptions};
use crate::flat::{self, Row};
use fairground_model::{Sink, TaskInfo, TraceEvent};
use fairground_stdx::{CpuId, Instant, TaskId};
use std::io::{self, Write};

/// The columns; see the README.
const FIELDS: [(&str, Kind); 15] = [
    ("t_ns", Kind::Int),
    ("cpu", Kind::Int),
    ("event", Kind::Text),
    ("task", Kind::Int),
    ("comm", Kind::Text),
    ("pid", Kind::Int),
    ("other_task", Kind::Int),
    ("other_comm", Kind::Text),
    ("other_pid", Kind::Int),
    ("from_cpu", Kind::Int),
    ("to_cpu", Kind::Int),
    ("what", Kind::Text),
    ("value", Kind::Int),
    ("value2", Kind::Int),
    ("value3", Kind::Int),
];

/// Writes one row per event.
pub(crate) struct ParquetWriter<'w> {
    file: ParquetFile<'w>,
    options: WriterOptions,
    tasks: TaskTable,
    failure: Option<io::Error>,
}

impl<'w> ParquetWriter<'w> {
    pub(crate) fn new(out: Box<dyn Write + 'w>, options: &WriterOptions) -> ParquetWriter<'w> {
        let fields = FIELDS.iter().map(|&(name, kind)| Field::new(name, kind)).collect();
        let inputs = options.inputs.iter().map(|(name, digest)| format!("{name} {digest}")).collect::<Vec<_>>().join("\n");
        let mut metadata =
            vec![("fairground.command".to_string(), options.command.clone()), ("fairground.inputs".to_string(), inputs)];
        metadata.extend(options.seed.map(|seed| ("fairground.seed".to_string(), seed.to_string())));
        let file = ParquetFile::new(out, fields, metadata);
        ParquetWriter { file, options: options.clone(), tasks: TaskTable::default(), failure: None }
    }
    fn push(&mut self, at: Instant, cpu: CpuId, event: &TraceEvent) -> io::Result<()> {
        let row = Row::of_event(at.ns(), cpu, event);
        // A virtual time that is larger than the largest signed number is negative: so the kernel compares them.
        let number = |column: flat::Column| row.numbers[column as usize].map_or(Value::Null, |number| Value::Int(number as i64));
        let task = |column: flat::Column| row.numbers[column as usize].and_then(|task| u32::try_from(task).ok()).map(TaskId::new);
        let shown = |column: flat::Column| {
            task(column).map_or([Value::Null; 2], |task| {
                let task = self.tasks.get(task);
                [Value::Text(task.name), Value::Int(task.pid.into())]
            })
        };
        let marker = match *event {
            TraceEvent::Marker { marker, .. } => Some(self.options.marker_name(marker)),
            _ => None,
        };
        let what = marker.as_deref().or(row.what.as_deref());
        let [comm, pid] = shown(flat::Column::Task);
        let [other_comm, other_pid] = shown(flat::Column::OtherTask);
        self.file.push(&[
            number(flat::Column::TNs),
            number(flat::Column::Cpu),
            Value::Text(&row.event),
            number(flat::Column::Task),
            comm,
            pid,
            number(flat::Column::OtherTask),
            other_comm,
            other_pid,
            number(flat::Column::FromCpu),
            number(flat::Column::ToCpu),
            what.map_or(Value::Null, Value::Text),
            number(flat::Column::Value),
            number(flat::Column::Value2),
            number(flat::Column::Value3),
        ])
    }
}

impl Sink for ParquetWriter<'_> {
    fn task(&mut self, task: TaskId, info: &TaskInfo) {
        self.tasks.set(task, info);
    }
    fn record(&mut self, at: Instant, cpu: CpuId, event: &TraceEvent) {
        if self.failure.is_none() {
            self.failure = self.push(at, cpu, event).err();
        }
    }
    fn wants_samples(&self) -> bool {
        true
    }
}

impl TraceWriter for ParquetWriter<'_> {
    fn finish(self: Box<Self>) -> io::Result<()> {
        match self.failure {
            Some(failure) => Err(failure),
            None => self.file.finish(),
        }
    }
}
