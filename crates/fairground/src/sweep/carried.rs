//! A sweep on its way to another machine: all texts of which it is made there, without a file of this one.

use super::{AxisKind, AxisValue, Sweep, SweepText};
use fairground_scenario::text_file::{Texts, read_text};
use std::path::{Path, PathBuf};
use toml_edit::Item;

/// Keys of a workload that name a text file beside the scenario.
const FILES: [&str; 2] = ["rtapp", "recorded"];

impl Sweep {
    /// The sweep as texts: its own, its base's, and those of the rt-app, recorded and machine files that they name. Traces of `replay`
    /// and libraries of `tree:` are left where they are. `set_seeds_apart` and `set_until` are to be said again.
    pub fn carried(&self) -> SweepText {
        let is_inside = self.base.source.name == self.name && self.base.source.text == self.text;
        let mut texts = (*self.base.texts).clone();
        for path in self.files() {
            // A file that cannot be read is a mistake of its run, there as here.
            if let (false, Ok(text)) = (texts.contains_key(&path), read_text(&path)) {
                texts.insert(path, text);
            }
        }
        SweepText {
            name: self.name.clone(),
            text: self.text.clone(),
            folder: self.base.folder.clone(),
            base: (!is_inside).then(|| self.base.source.clone()),
            journal: None,
            texts: Texts::new(texts),
        }
    }
    /// The text files that the base or a value of an axis names.
    fn files(&self) -> Vec<PathBuf> {
        let mut paths = Vec::new();
        let workloads = self.base.table.get("workload").and_then(Item::as_array_of_tables);
        for workload in workloads.into_iter().flatten() {
            let named = FILES.iter().filter_map(|key| workload.get(key)?.as_str());
            paths.extend(named.map(|file| self.base.folder.join(file)));
        }
        let inline = self.base.table.get("workload").and_then(Item::as_array);
        for workload in inline.into_iter().flatten().filter_map(|value| value.as_inline_table()) {
            let named = FILES.iter().filter_map(|key| workload.get(key)?.as_str());
            paths.extend(named.map(|file| self.base.folder.join(file)));
        }
        for axis in &self.spec.axes {
            let texts = axis.values.iter().filter_map(|value| if let AxisValue::Text(text) = value { Some(text) } else { None });
            match &axis.kind {
                AxisKind::Machine => paths.extend(texts.map(PathBuf::from).filter(|path| is_machine_file(path))),
                AxisKind::Path(path) if FILES.iter().any(|key| path.rsplit('.').next() == Some(key)) => {
                    paths.extend(texts.map(|file| self.base.folder.join(file)));
                }
                _ => {}
            }
        }
        paths
    }
}

fn is_machine_file(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending == "toml" || ending == "xml")
}
