//! What an independent reader finds in our files.

use super::*;
use crate::export::{TraceWriter, WriterOptions};
use ::parquet::file::reader::{FileReader, SerializedFileReader};
use ::parquet::record::Field as Cell;
use bytes::Bytes;
use fairground_model::{Decision, MarkerSpec, MarkerUnit, PrevState, Reason, Sink, TaskInfo, TraceEvent};
use fairground_stdx::{CpuId, IndexVec, Instant, MarkerId, Ns, TaskId, Vruntime};
use proptest::prelude::*;
use serde_json::{Map, json};

fn file(rows: &[Vec<Value<'_>>], kinds: &[Kind]) -> Vec<u8> {
    let fields = kinds.iter().enumerate().map(|(index, &kind)| Field::new(format!("c{index}"), kind)).collect();
    let mut bytes = Vec::new();
    write_table(Box::new(&mut bytes), fields, rows, vec![("key".into(), "value".into())]).unwrap();
    bytes
}

fn reader(bytes: &[u8]) -> SerializedFileReader<Bytes> {
    SerializedFileReader::new(Bytes::copy_from_slice(bytes)).unwrap()
}

/// The rows, each with its columns in order.
fn rows(bytes: &[u8]) -> Vec<Map<String, serde_json::Value>> {
    let value = |cell: &Cell| match cell {
        Cell::Null => json!(null),
        Cell::Long(int) => json!(int),
        Cell::Double(double) => json!(double),
        Cell::Str(text) => json!(text),
        other => panic!("{other:?}"),
    };
    let reader = reader(bytes);
    let read = reader.get_row_iter(None).unwrap().map(Result::unwrap);
    read.map(|row| row.get_column_iter().map(|(name, cell)| (name.clone(), value(cell))).collect()).collect()
}

#[test]
fn names_kinds_and_metadata_are_in_the_footer() {
    let bytes = file(&[vec![Value::Int(1)]], &[Kind::Int, Kind::Double, Kind::Text]);
    let reader = reader(&bytes);
    let meta = reader.metadata().file_metadata();
    let columns: Vec<String> = meta.schema_descr().columns().iter().map(|column| format!("{column:?}")).collect();
    for (column, part) in columns.iter().zip(["INT64", "DOUBLE", "String"]) {
        assert!(column.contains(part), "{column}");
    }
    assert_eq!(meta.num_rows(), 1);
    let pair = &meta.key_value_metadata().unwrap()[0];
    assert_eq!((pair.key.as_str(), pair.value.as_deref()), ("key", Some("value")));
    assert!(meta.created_by().unwrap().starts_with("fairground "));
}

#[test]
fn a_file_without_rows_can_be_read() {
    assert!(rows(&file(&[], &[Kind::Int, Kind::Text])).is_empty());
}

#[test]
fn a_long_table_has_several_row_groups() {
    let table: Vec<Vec<Value<'_>>> = (0..(1 << 17) + 3).map(|number| vec![Value::Int(number), Value::Text("x")]).collect();
    let bytes = file(&table, &[Kind::Int, Kind::Text]);
    assert_eq!(reader(&bytes).metadata().num_row_groups(), 2);
    let found = rows(&bytes);
    assert_eq!(found.len(), table.len());
    assert_eq!((&found[1 << 17]["c0"], &found[1 << 17]["c1"]), (&json!(131_072), &json!("x")));
}

type Cells = (Option<i64>, Option<f64>, Option<String>);

proptest! {
    /// Whatever the cells hold, the reader finds it.
    #[test]
    fn tables_are_read_back(cells in prop::collection::vec((any::<Option<i64>>(), any::<Option<f64>>(), any::<Option<String>>()), 0..200)) {
        let row = |cells: &'_ Cells| vec![
            cells.0.map_or(Value::Null, Value::Int),
            cells.1.map_or(Value::Null, Value::Double),
            cells.2.as_deref().map_or(Value::Null, |text| Value::Text(Box::leak(text.to_string().into_boxed_str()))),
        ];
        let table: Vec<Vec<Value<'_>>> = cells.iter().map(row).collect();
        let bytes = file(&table, &[Kind::Int, Kind::Double, Kind::Text]);
        prop_assert_eq!(&bytes, &file(&table, &[Kind::Int, Kind::Double, Kind::Text]));
        let found = rows(&bytes);
        prop_assert_eq!(found.len(), cells.len());
        for (found, (int, double, text)) in found.iter().zip(&cells) {
            let wanted = json!({ "c0": int, "c1": double, "c2": text });
            prop_assert_eq!(json!(found), wanted);
        }
    }
}

#[test]
fn events_are_rows_with_names() {
    let markers: IndexVec<MarkerId, MarkerSpec> =
        [MarkerSpec { name: "loops".into(), unit: MarkerUnit::Count }].into_iter().collect();
    let inputs = vec![("a.toml".into(), "ab".into())];
    let options = WriterOptions { command: "run".into(), inputs, seed: Some(7), markers, ..WriterOptions::default() };
    let mut bytes = Vec::new();
    let mut writer = Box::new(ParquetWriter::new(Box::new(&mut bytes), &options));
    let (a, b) = (TaskId::new(0), TaskId::new(1));
    writer.task(a, &TaskInfo { name: "hog".into(), pid: 1001, prio: 120 });
    writer.task(b, &TaskInfo { name: "player".into(), pid: 1002, prio: 120 });
    let events = [
        TraceEvent::SchedSwitch { prev: Some(a), prev_state: PrevState::Running, next: Some(b) },
        TraceEvent::SchedSwitch { prev: Some(b), prev_state: PrevState::Sleeping, next: None },
        TraceEvent::SchedStatRuntime { task: a, runtime: Ns(5), vruntime: Some(Vruntime(u64::MAX)) },
        TraceEvent::Marker { task: b, marker: MarkerId::new(0), value: 3 },
        TraceEvent::Decision(Decision { reason: Reason::PickIdle, a: 0, b: 0 }),
    ];
    for (number, event) in events.iter().enumerate() {
        writer.record(Instant::from_ns(number as u64), CpuId::new(2), event);
    }
    (writer as Box<dyn TraceWriter>).finish().unwrap();
    let shown: Vec<String> = rows(&bytes)
        .iter()
        .map(|object| {
            assert_eq!((object.len(), &object["cpu"]), (15, &2.into()));
            let words = object.iter().filter(|(name, value)| !value.is_null() && *name != "cpu");
            words.map(|(name, value)| format!("{name}={}", value.to_string().trim_matches('"'))).collect::<Vec<_>>().join(" ")
        })
        .collect();
    assert_eq!(
        shown,
        [
            "t_ns=0 event=sched_switch task=1 comm=player pid=1002 other_task=0 other_comm=hog other_pid=1001 what=R",
            "t_ns=1 event=sched_switch other_task=1 other_comm=player other_pid=1002 what=S",
            "t_ns=2 event=sched_stat_runtime task=0 comm=hog pid=1001 value=5 value2=-1",
            "t_ns=3 event=marker task=1 comm=player pid=1002 what=loops value=3 value2=0",
            "t_ns=4 event=decision what=pick-idle value=0 value2=0",
        ]
    );
    let reader = reader(&bytes);
    let pairs = reader.metadata().file_metadata().key_value_metadata().unwrap();
    let shown: Vec<String> = pairs.iter().map(|pair| format!("{}={}", pair.key, pair.value.as_deref().unwrap_or(""))).collect();
    assert_eq!(shown, ["fairground.command=run", "fairground.inputs=a.toml ab", "fairground.seed=7"]);
}
