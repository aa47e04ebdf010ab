//! The scheduler of real kernel trees, held against ours: the feature `trees` switches these tests on, and they fail
//! without the trees. `cargo xtask kernel-sources` fetches them.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test stops where it fails")]

mod trees {
    pub(crate) mod beside;
    pub(crate) mod boots;
    pub(crate) mod builds;
    pub(crate) mod copies;
    pub(crate) mod differ;
    pub(crate) mod driver;
    pub(crate) mod ours;
    pub(crate) mod patches;
    pub(crate) mod seen;
    pub(crate) mod switches;
}
