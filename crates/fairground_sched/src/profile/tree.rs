//! Kernel trees that decide in place of our rules.
//!
//! `tree:NAME@RELEASE-DIGEST` names a library that was built from a tree: what its user calls it, the tree's release, and the
//! beginning of the digest of what it was built from. So equal names are equal kernels, and a scenario with such a name says
//! all that decides its run. Where it lies this crate does not know.
//!
//! Its rows are those of the mainline kernel of that release. They say what the engine and the tables around the other core
//! need to know; no rule of them decides.

use super::{Profile, ProfileError};
use fairground_model::version::KernelVersion;

/// What the names of trees begin with.
pub const PREFIX: &str = "tree:";

/// The commands that take a tree.
const TAKERS: &str = "`run`, `compare`, `judge`, `sweep` and `explain`";

/// The library of a tree, as its profile names it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Tree<'a> {
    /// What its user calls it.
    pub name: &'a str,
    /// The release of the tree: `6.12.117`.
    pub release: &'a str,
    /// The beginning of the digest of what it was built from.
    pub digest: &'a str,
}

impl<'a> Tree<'a> {
    fn parse(text: &'a str) -> Option<Tree<'a>> {
        let (name, rest) = text.strip_prefix(PREFIX)?.split_once('@')?;
        let (release, digest) = rest.rsplit_once('-')?;
        (!name.is_empty() && !release.is_empty() && !digest.is_empty()).then_some(Tree { name, release, digest })
    }
    /// The profile's name of it.
    pub fn profile_name(&self) -> String {
        format!("{PREFIX}{}@{}-{}", self.name, self.release, self.digest)
    }
    /// The mainline kernel of its release.
    fn series(&self) -> Option<KernelVersion> {
        let mut numbers = self.release.split(|c: char| !c.is_ascii_digit());
        KernelVersion::parse(&format!("v{}.{}", numbers.next()?, numbers.next()?))
    }
}

impl Profile {
    /// The tree that decides in place of this profile's rules.
    pub fn tree(&self) -> Option<Tree<'_>> {
        Tree::parse(&self.name)
    }

    /// Reads the whole name of a tree.
    pub(super) fn of_tree(text: &str) -> Result<Profile, ProfileError> {
        let Some(tree) = Tree::parse(text) else {
            return Err(ProfileError {
                message: format!("`{text}` is a kernel tree, which is not taken here"),
                hint: format!("{TAKERS} take trees; all else asks our own rules: name a kernel, such as `v6.12`."),
            });
        };
        let base = tree.series().ok_or_else(|| ProfileError::unknown_profile(tree.release)).and_then(Profile::kernel);
        let base = base.map_err(|wrong| ProfileError {
            message: format!("`{text}`: the engine has no rows for release {}: {}", tree.release, wrong.message),
            hint: wrong.hint,
        })?;
        Ok(Profile { name: text.to_string(), ..base })
    }

    /// An error if a tree decides, where our own rules are asked.
    pub fn rules_are_ours(&self) -> Result<(), ProfileError> {
        match self.tree() {
            None => Ok(()),
            Some(tree) => Err(ProfileError {
                message: format!("`{}`: a kernel tree decides in {TAKERS} only, and this asks our own rules", tree.name),
                hint: "Name a kernel of ours, such as `v6.12`.".to_string(),
            }),
        }
    }

    /// Our rules do not decide in a tree: nothing of them can be changed there.
    pub(super) fn refuse_in_tree(&self, what: &str) -> Result<(), ProfileError> {
        match self.tree() {
            None => Ok(()),
            Some(tree) => Err(ProfileError {
                message: format!("`{what}` changes a rule of ours, and tree `{}` decides by its own", tree.name),
                hint: "Change the tree, and build it under another name.".to_string(),
            }),
        }
    }
}
