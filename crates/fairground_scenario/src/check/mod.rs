//! What can only be checked on the whole: a noun beside the other nouns, the machine and the kernel.

pub(crate) mod autogroups;
pub(crate) mod cgroup_version;
pub(crate) mod changes;
pub(crate) mod clamps;
pub(crate) mod deadline;
pub(crate) mod group_life;
pub(crate) mod group_states;
pub(crate) mod pools;
pub(crate) mod run;
pub(crate) mod size;
pub(crate) mod slices;
