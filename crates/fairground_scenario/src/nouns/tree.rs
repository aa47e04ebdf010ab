//! `tree:NAME`: the library of a kernel tree, by the name that its user gave it.
//!
//! A scenario holds the whole name, with the tree's release and the digest of what the library was built from: when the
//! name stands for another library, the scenario is another one.

use fairground_sched::profile::{Profile, ProfileError, TREE_PREFIX};

/// So many digits of the digest stand in the name of a profile.
#[cfg(target_os = "linux")]
const DIGITS: usize = 12;

/// Reads the name of a profile, be it that of a tree.
pub fn named(name: &str) -> Result<Profile, ProfileError> {
    match name.trim().strip_prefix(TREE_PREFIX) {
        Some(tree) if !tree.contains('@') => Profile::parse(&whole_name(tree)?),
        _ => Profile::parse(name),
    }
}

#[cfg(target_os = "linux")]
fn whole_name(tree: &str) -> Result<String, ProfileError> {
    let library = library(tree, None)?;
    let digest: String = library.identity.chars().take(DIGITS).collect();
    Ok(fairground_sched::profile::Tree { name: tree, release: &library.release, digest: &digest }.profile_name())
}

#[cfg(not(target_os = "linux"))]
fn whole_name(tree: &str) -> Result<String, ProfileError> {
    Err(refused(format!("`{TREE_PREFIX}{tree}`: kernels can be built and run on Linux only")))
}

/// The library of that name; with a digest, only one that was built from that.
#[cfg(target_os = "linux")]
pub fn library(tree: &str, digest: Option<&str>) -> Result<fairground_kcore::build::Named, ProfileError> {
    use fairground_kcore::build::Store;
    let named = Store::of_user().and_then(|store| store.named(tree)).map_err(refused)?;
    match digest.filter(|digest| !named.identity.starts_with(digest)) {
        None => Ok(named),
        Some(digest) => {
            let is: String = named.identity.chars().take(DIGITS).collect();
            Err(refused(format!("kernel `{tree}` was built anew: it is {is} now, and {digest} was asked for")))
        }
    }
}

fn refused(message: String) -> ProfileError {
    ProfileError { message, hint: "docs/your-patch.md shows how to build one and to run over it.".to_string() }
}
