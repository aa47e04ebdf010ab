//! Keys of a scenario file by dotted paths: `workload.0.tasks.0.nice`, `workload.press.processes`, `group.web.cpu.max`.
//!
//! A path goes down the tables of the file, by these rules:
//!
//! - an entry of a list is named by its place, from 0, or by its `name` or `path` (with or without the first `/`);
//! - a key that has dots itself is written as it is, and dots of a group's files may be underscores;
//! - of a workload of the list, arguments may stand without `args`;
//! - `groups`, `workloads` and `costs` are `group`, `workload` and `machine.costs`.
//!
//! Tables that the file lacks are made; a key that the scenario does not know is reported by the reader of the scenario.

use super::AxisValue;
use fairground_model::Wrong;
use fairground_model::cgroup::files::FILES;
use fairground_stdx::nearest;
use toml_edit::{InlineTable, Item, Table, TableLike, Value};

/// Sets the key at a path.
pub(crate) fn set(scenario: &mut Table, path: &str, value: &AxisValue) -> Result<(), Wrong> {
    let segments: Vec<&str> = path.split('.').collect();
    if segments.iter().any(|segment| segment.trim().is_empty()) {
        return Err((format!("`{path}` is no path"), "Write names with dots between them: `workload.0.tasks.0.nice`.".into()));
    }
    match segments.as_slice() {
        ["costs", rest @ ..] => put(scenario, &[&["machine", "costs"], rest].concat(), "", value),
        ["groups", rest @ ..] => put(scenario, &[&["group"], rest].concat(), "", value),
        ["workloads", rest @ ..] => put(scenario, &[&["workload"], rest].concat(), "", value),
        segments => put(scenario, segments, "", value),
    }
}

/// Keys of a workload of the list that are no arguments of it.
const BESIDE_ARGS: [&str; 4] = ["name", "args", "group", "session"];

/// Sets a key of the table that is called `inside`.
fn put(table: &mut dyn TableLike, segments: &[&str], inside: &str, value: &AxisValue) -> Result<(), Wrong> {
    if inside == "[[group]]" {
        let joined = segments.join(".");
        let plain = |name: &str| name.replace('.', "_");
        let file = FILES.iter().find(|file| plain(file.name) == plain(&joined)).map_or(joined.as_str(), |file| file.name);
        table.insert(file, Item::Value(value.toml()));
        return Ok(());
    }
    let is_argument = inside == "[[workload]]" && table.contains_key("name") && !BESIDE_ARGS.contains(&segments[0]);
    if is_argument {
        return put(table, &[&["args"], segments].concat(), "", value);
    }
    // The longest key that is there, as keys may have dots themselves.
    let there = (1..=segments.len()).rev().find(|&count| table.contains_key(&segments[..count].join(".")));
    let count = there.unwrap_or(1);
    let (key, rest) = (segments[..count].join("."), &segments[count..]);
    if rest.is_empty() {
        table.insert(&key, Item::Value(value.toml()));
        return Ok(());
    }
    // A price list by its name becomes the table that is based on it.
    let list = table.get(&key).and_then(Item::as_str).filter(|_| key == "costs").map(str::to_string);
    if there.is_none() || list.is_some() {
        let mut costs = InlineTable::new();
        costs.extend(list.map(|list| ("preset", list)));
        table.insert(&key, Item::Value(Value::InlineTable(costs)));
    }
    let Some(item) = table.get_mut(&key) else { return Ok(()) };
    if let Some(list) = item.as_array_of_tables_mut() {
        let names: Vec<Vec<String>> = list.iter().map(|row| names_of(row)).collect();
        let (place, rest) = entry(&key, &names, rest)?;
        return match list.get_mut(place) {
            Some(row) if !rest.is_empty() => put(row, rest, &format!("[[{key}]]"), value),
            _ => Err(no_value(&key)),
        };
    }
    if let Some(list) = item.as_array_mut() {
        let names: Vec<Vec<String>> =
            list.iter().map(|row| row.as_inline_table().map_or_else(Vec::new, |row| names_of(row))).collect();
        let (place, rest) = entry(&key, &names, rest)?;
        let Some(row) = list.get_mut(place) else { return Err(no_value(&key)) };
        return match row.as_inline_table_mut() {
            Some(row) if !rest.is_empty() => put(row, rest, &format!("[[{key}]]"), value),
            None if rest.is_empty() => {
                *row = value.toml();
                Ok(())
            }
            _ => Err(no_value(&key)),
        };
    }
    match item.as_table_like_mut() {
        Some(inner) => put(inner, rest, &key, value),
        None => Err((format!("`{key}` is no table, so there is no `{}` in it", rest.join(".")), "End the path here.".into())),
    }
}

fn no_value(list: &str) -> Wrong {
    (format!("the path ends at an entry of `{list}`, or goes on behind a value"), "Name a key of the entry.".into())
}

fn names_of(row: &dyn TableLike) -> Vec<String> {
    ["name", "path"].iter().filter_map(|key| row.get(key).and_then(Item::as_str)).map(str::to_string).collect()
}

/// The entry of a list that the first segments name, and the segments behind them.
fn entry<'s, 'n>(list: &str, names: &[Vec<String>], segments: &'s [&'n str]) -> Result<(usize, &'s [&'n str]), Wrong> {
    if let Ok(place) = segments[0].parse::<usize>() {
        return if place < names.len() {
            Ok((place, &segments[1..]))
        } else {
            let hint = format!("Entries are counted from 0, and there are {}.", names.len());
            Err((format!("there is no entry {place} in `{list}`"), hint))
        };
    }
    let without = |name: &str| name.trim_start_matches('/').to_string();
    for count in (1..=segments.len()).rev() {
        let wanted = without(&segments[..count].join("."));
        if let Some(place) = names.iter().position(|row| row.iter().any(|name| without(name) == wanted)) {
            return Ok((place, &segments[count..]));
        }
    }
    let known: Vec<&str> = names.iter().flatten().map(String::as_str).collect();
    let hint = match known.is_empty() {
        true => format!("Name it by its place: `{list}.0`."),
        false => nearest::hint(segments[0], "Entries", known.iter().copied()),
    };
    Err((format!("there is no entry `{}` in `{list}`", segments[0]), hint))
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairground_model::Mistakes;
    use fairground_scenario::text::fields::parse_toml;

    const BASE: &str = "duration = \"1s\"\n[machine]\npreset = \"smp-2\"\ncosts = \"xeon-spr\"\n[[group]]\npath = \"/web\"\n[[workload]]\n\
        tasks = [{ name = \"a\", hog = true }, { name = \"b\", hog = true, nice = 1 }]\n[[workload]]\nname = \"press\"\n\
        [expect]\n\"tasks.a.max_wait_ms\" = { max = 5 }\n";

    fn after(path: &str) -> Result<Table, Wrong> {
        let mut table = parse_toml(BASE, &mut Mistakes::default());
        set(&mut table, path, &AxisValue::Int(7)).map(|()| table)
    }

    #[test]
    fn entries_are_found_by_place_and_by_name() {
        let nice = |table: Table, task: usize| {
            table["workload"][0]["tasks"].as_array().unwrap().get(task).unwrap().as_inline_table().unwrap()["nice"].as_integer()
        };
        assert_eq!(nice(after("workload.0.tasks.0.nice").unwrap(), 0), Some(7));
        assert_eq!(nice(after("workloads.0.tasks.b.nice").unwrap(), 1), Some(7));
        for path in ["workload.1.args.processes", "workload.press.processes"] {
            assert_eq!(after(path).unwrap()["workload"][1]["args"]["processes"].as_integer(), Some(7), "{path}");
        }
        for path in ["group.web.cpu.max", "groups.web.cpu_max", "group./web.cpu.max", "group.0.cpu_max"] {
            assert_eq!(after(path).unwrap()["group"][0]["cpu.max"].as_integer(), Some(7), "{path}");
        }
        assert_eq!(after("profile.tunables.x_ns").unwrap()["profile"]["tunables"]["x_ns"].as_integer(), Some(7));
        let costs = after("costs.tick").unwrap();
        assert_eq!(costs["machine"]["costs"]["tick"].as_integer(), Some(7));
        assert_eq!(costs["machine"]["costs"]["preset"].as_str(), Some("xeon-spr"));
        assert_eq!(
            after("expect.tasks.a.max_wait_ms.max").unwrap()["expect"]["tasks.a.max_wait_ms"]["max"].as_integer(),
            Some(7)
        );
    }

    #[test]
    fn what_is_not_there_is_named() {
        for (path, part, hint) in [
            ("workload.5.name", "no entry 5", "there are 2"),
            ("workload.0.tasks.player.nice", "no entry `player`", "`a`, `b`"),
            ("workload.pres.processes", "no entry `pres`", "Did you mean `press`"),
            ("workload.0", "ends at an entry", "Name a key"),
            ("duration.x", "is no table", "End the path"),
            ("a..b", "is no path", "dots"),
        ] {
            let (message, found) = after(path).unwrap_err();
            assert!(message.contains(part) && found.contains(hint), "{path}: {message} {found}");
        }
    }
}
