//! Whether the files of groups are those of cgroup v1 or of v2: a machine has the CPU controller in one of both.

use crate::nouns::at::{Act, At};
use crate::nouns::cgroup::{GroupAct, WeightFile};
use crate::nouns::groups::Groups;
use crate::nouns::limits::{self, LimitFile};
use crate::text::fields::Spanned;
use fairground_model::Mistakes;
use std::ops::Range;
/// The files of which each is in cgroup v1 or in v2: the name, whether that is v1, and where it stands.
fn versioned<'a>(groups: &'a Groups, at: &'a [Spanned<At>]) -> impl Iterator<Item = (&'static str, bool, &'a Range<usize>)> {
    let weight = |file: WeightFile| (file.name(), file == WeightFile::Shares);
    let limit = |file: LimitFile| (file.name(), file.is_v1());
    let declared = groups.rows.iter().flat_map(move |row| {
        let weights = row.files.weight.iter().map(move |row| (weight(row.value.file), &row.span));
        weights.chain(row.files.limits.iter().map(move |row| (limit(row.value.file()), &row.span)))
    });
    let written = at.iter().filter_map(move |row| match &row.value.act {
        Act::Group(GroupAct::Weight(_, written)) => Some((weight(written.file), &row.span)),
        Act::Group(GroupAct::Limit(_, written)) => Some((limit(written.file()), &row.span)),
        _ => None,
    });
    declared.chain(written).map(|((name, v1), span)| (name, v1, span))
}

/// Whether the files of a scenario are those of cgroup v1.
pub(crate) fn is_v1(groups: &Groups, at: &[Spanned<At>]) -> bool {
    versioned(groups, at).next().is_some_and(|row| row.1)
}

/// Finds names of cgroup v1 and v2 in one scenario (a machine has the controller in one of both), and limits at the start that v1
/// refuses.
pub(crate) fn check(groups: &Groups, at: &[Spanned<At>], m: &mut Mistakes) {
    let Some((known, v1, _)) = versioned(groups, at).next() else { return };
    if let Some((name, _, span)) = versioned(groups, at).find(|row| row.1 != v1) {
        let message = format!("`{name}` beside `{known}`: cgroup v1 and v2 in one scenario");
        let hint =
            "The CPU controller is in one of both: cpu.shares and cpu.cfs_*_us, or cpu.weight, cpu.weight.nice and cpu.max.";
        m.at(span.clone(), message, hint);
    } else if v1 && let Some(child) = limits::above_parent(&groups.specs) {
        let path = &groups.specs[child].name;
        let row = groups.rows.iter().find(|row| row.path.value == *path);
        let span = row.and_then(|row| row.files.limits.first()).map(|limit| limit.span.clone());
        let (message, hint) = limits::too_much(path);
        m.at(span.expect("invariant: who has a limit was given it"), format!("{message} (EINVAL)"), hint);
    }
}
