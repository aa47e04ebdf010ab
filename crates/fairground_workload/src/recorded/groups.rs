//! The control groups that a `workload.txt` makes: `mk NAME WEIGHT ['QUOTA PERIOD']`, below the mount point `/cg`.

use super::script::Word;
use fairground_model::cgroup::files;
use fairground_model::{Mistakes, TaskGroupSpec};
use fairground_stdx::{IndexVec, TgId};

/// Groups, parents first.
pub(super) type Groups = IndexVec<TgId, TaskGroupSpec>;

/// What a script has made so far.
#[derive(Default)]
pub(super) struct Made {
    pub(super) groups: Groups,
    /// A part of the script that was refused may have made others.
    pub(super) and_others: bool,
}

/// Where the shell mounts the file system of groups.
const MOUNT: &str = "/cg";

/// Reads what stands behind `mk`.
pub(super) fn make(name: Word<'_>, args: &[Word<'_>], made: &mut Made, mistakes: &mut Mistakes) {
    const FORM: &str =
        "Write `mk NAME WEIGHT`, as in `mk A/1 100`, or with a quota and a period in us: `mk A 100 '20000 100000'`.";
    let groups = &mut made.groups;
    let [path, weight, quota @ ..] = args else {
        mistakes.at(name.span(), "`mk` needs a name and a weight", FORM);
        return;
    };
    let mut group = TaskGroupSpec::new(format!("/{}", path.text), None);
    let max: Vec<&str> = quota.iter().map(|word| word.text.trim_matches(['\'', '"'])).collect();
    let max = quota.first().map(|first| (first, "cpu.max", max.join(" ")));
    for (word, file, text) in [(weight, "cpu.weight", weight.text.to_string())].into_iter().chain(max) {
        mistakes.keep(files::read(file, &text).and_then(|write| write.on(&mut group)), &word.span());
    }
    if path.text.split('/').any(|part| matches!(part, "" | "." | "..")) {
        mistakes.at(path.span(), format!("`{}` is no name of a group", path.text), FORM);
        return;
    }
    group.parent = match path.text.rsplit_once('/') {
        None => None,
        Some((above, _)) => match row(groups, above) {
            Some(parent) => Some(parent),
            None => {
                mistakes.at(path.span(), format!("there is no group `{above}`"), format!("Make it first: `mk {above} 100`."));
                return;
            }
        },
    };
    if row(groups, path.text).is_some() {
        mistakes.at(path.span(), format!("group `{}` is made twice", path.text), "Keep one of them.");
    } else {
        groups.push(group);
    }
}

/// The group of a folder such as `/cg/A/1`; `Some(None)` is the root group.
pub(super) fn find(path: Word<'_>, made: &Made, mistakes: &mut Mistakes) -> Option<Option<TgId>> {
    let below = path.text.strip_prefix(MOUNT).filter(|below| below.is_empty() || below.starts_with('/'));
    let found = match below.map(|below| below.trim_matches('/')) {
        Some("") => Some(None),
        Some(name) => row(&made.groups, name).map(Some),
        None => None,
    };
    if found.is_none() && !made.and_others {
        let known: Vec<String> = made.groups.iter().map(|group| format!("{MOUNT}{}", group.name)).collect();
        let hint = match known.is_empty() {
            true => "Groups are made before: `cgon; mk A 100`.".into(),
            false => format!("The groups are {MOUNT} (the root group), {}.", known.join(", ")),
        };
        mistakes.at(path.span(), format!("there is no group `{}`", path.text), hint);
    }
    found
}

fn row(groups: &Groups, name: &str) -> Option<TgId> {
    groups.iter_enumerated().find(|row| row.1.name.strip_prefix('/') == Some(name)).map(|row| row.0)
}
