//! Whether the files of groups are those of cgroup v1 or of v2: a machine has the CPU controller in one of both.

use crate::check::group_states::{above_parent, too_much};
use crate::nouns::at::{Act, At};
use crate::nouns::cgroup::GroupAct;
use crate::nouns::groups::Groups;
use crate::text::fields::Spanned;
use fairground_model::Mistakes;
use fairground_model::cgroup::Version;
use fairground_model::cgroup::files::FILES;
use std::ops::Range;

/// The files of which each is in cgroup v1 or in v2: the name, which, and where it stands.
fn versioned<'a>(groups: &'a Groups, at: &'a [Spanned<At>]) -> impl Iterator<Item = (&'static str, Version, &'a Range<usize>)> {
    let declared = groups.writes().map(|row| (row.value.file(), &row.span));
    let written = at.iter().filter_map(|row| match &row.value.act {
        Act::Group(GroupAct::Write(_, write)) => Some((write.file(), &row.span)),
        _ => None,
    });
    declared.chain(written).filter_map(|(file, span)| Some((file.name, file.version?, span)))
}

/// The version of a scenario's files; none if all of them are in both.
pub(crate) fn of(groups: &Groups, at: &[Spanned<At>]) -> Option<Version> {
    versioned(groups, at).next().map(|row| row.1)
}

/// Finds names of cgroup v1 and v2 in one scenario (a machine has the controller in one of both), and limits at the start that v1
/// refuses.
pub(crate) fn check(groups: &Groups, at: &[Spanned<At>], m: &mut Mistakes) {
    let Some((known, version, _)) = versioned(groups, at).next() else { return };
    if let Some((name, _, span)) = versioned(groups, at).find(|row| row.1 != version) {
        let message = format!("`{name}` beside `{known}`: cgroup v1 and v2 in one scenario");
        let names =
            |of| FILES.iter().filter(|file| file.version == Some(of)).map(|file| file.name).collect::<Vec<_>>().join(", ");
        let (v1, v2) = (names(Version::V1), names(Version::V2));
        m.at(span.clone(), message, format!("The CPU controller is in one of both. Files of v1 are {v1}; of v2 {v2}."));
    } else if version == Version::V1
        && let Some(child) = above_parent(&groups.specs)
    {
        let path = &groups.specs[child].name;
        let row = groups.rows.iter().find(|row| row.path.value == *path);
        let span =
            row.and_then(|row| row.files.iter().find(|file| file.value.write().is_limit())).map(|limit| limit.span.clone());
        let (message, hint) = too_much(path);
        m.at(span.expect("invariant: who has a limit was given it"), format!("{message} (EINVAL)"), hint);
    }
}
