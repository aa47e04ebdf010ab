//! Truths of an earlier exam, kept in a file: brute force takes most of the time, and what is true does not depend on who answers.

use super::draw::Service;
use super::truth::{Truth, truth};
use fairground_scenario::Error;
use fairground_stdx::Ns;
use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

/// Truths by kind and seed; none inside where it is unclear whether the goal can be met.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Truths {
    file: Option<PathBuf>,
    known: BTreeMap<(String, u64), Option<Truth>>,
}

const HEAD: &str = "kind,seed,goal_us,met_percent,quota_us\n";

impl Truths {
    /// Those of a file, which need not be there yet. They hold for the version of the model that found them.
    pub fn of_file(file: Option<PathBuf>) -> Result<Truths, Error> {
        let text = match &file {
            Some(path) if path.exists() => fs::read_to_string(path).map_err(|cause| Error::world("read", path, cause))?,
            _ => String::new(),
        };
        let mut known = BTreeMap::new();
        for (number, line) in text.lines().enumerate().skip(1) {
            let row = of_line(line).ok_or_else(|| {
                let place = format!("{}:{}", file.as_ref().map_or(String::new(), |path| path.display().to_string()), number + 1);
                Error::one(place, format!("`{line}` is no truth"), format!("Columns are {}", HEAD.trim()))
            })?;
            known.insert(row.0, row.1);
        }
        Ok(Truths { file, known })
    }

    /// What is true of a service: known, or else found and kept.
    pub(super) fn of(&mut self, service: &Service) -> Result<Option<Truth>, Error> {
        let key = (service.kind.to_string(), service.seed);
        if let Some(known) = self.known.get(&key) {
            return Ok(known.clone());
        }
        let found = truth(service)?;
        self.known.insert(key, found.clone());
        if let Some(path) = &self.file {
            let lines: String = self.known.iter().map(|(key, truth)| line(key, truth.as_ref())).collect();
            fs::write(path, format!("{HEAD}{lines}")).map_err(|cause| Error::world("write", path, cause))?;
        }
        Ok(found)
    }
}

fn line((kind, seed): &(String, u64), truth: Option<&Truth>) -> String {
    match truth {
        None => format!("{kind},{seed},,,\n"),
        Some(truth) => {
            let quota = truth.quota.map_or("none".to_string(), |quota| (quota.0 / 1_000).to_string());
            format!("{kind},{seed},{},{},{quota}\n", truth.goal.0 / 1_000, truth.free_percent)
        }
    }
}

fn of_line(line: &str) -> Option<((String, u64), Option<Truth>)> {
    let cells: Vec<&str> = line.split(',').collect();
    let [kind, seed, goal, met, quota] = cells[..] else { return None };
    let key = (kind.to_string(), seed.parse().ok()?);
    if goal.is_empty() {
        return Some((key, None));
    }
    let quota = if quota == "none" { None } else { Some(Ns::from_us(quota.parse().ok()?)) };
    Some((key, Some(Truth { goal: Ns::from_us(goal.parse().ok()?), free_percent: met.parse().ok()?, quota })))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn truths_are_read_as_they_were_written() {
        let truth = |quota| Some(Truth { goal: Ns::from_us(500), free_percent: 98, quota });
        for (found, text) in [
            (truth(Some(Ns::from_ms(7))), "light,3,500,98,7000\n"),
            (truth(None), "light,3,500,98,none\n"),
            (None, "light,3,,,\n"),
        ] {
            let key = ("light".to_string(), 3);
            assert_eq!(line(&key, found.as_ref()), text);
            assert_eq!(of_line(text.trim()), Some((key, found)));
        }
        for wrong in ["", "light,3", "light,x,500,98,7", "light,3,500,98,many"] {
            assert_eq!(of_line(wrong), None, "{wrong}");
        }
    }
}
