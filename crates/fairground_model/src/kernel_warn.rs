//! What a kernel warns of by itself (WARN_ON_ONCE, SCHED_WARN_ON): it has found a state that its authors took for impossible, says so in its log,
//! and goes on.

use crate::version::{KernelVersion, v};

macro_rules! kernel_warns {
    ($($name:ident $since:expr, $slug:literal $function:literal $condition:literal;)*) => {
        /// A condition that a kernel warns of. Order and numbers are part of the digest: new rows go to the end.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
        #[repr(u8)]
        pub enum KernelWarn {
            $(#[doc = $condition] $name,)*
        }
        impl KernelWarn {
            /// All of them in order.
            pub const ALL: &'static [KernelWarn] = &[$(KernelWarn::$name),*];
            /// Short name for files and scripts.
            pub const fn slug(self) -> &'static str {
                match self { $(KernelWarn::$name => $slug),* }
            }
            /// The kernel's file and function in which the condition stands.
            pub const fn function(self) -> &'static str {
                match self { $(KernelWarn::$name => $function),* }
            }
            /// The condition in words, with the kernel's names.
            pub const fn condition(self) -> &'static str {
                match self { $(KernelWarn::$name => $condition),* }
            }
            /// Whether a kernel asks for the condition, if it has what the condition is about.
            pub fn is_in(self, kernel: KernelVersion) -> bool {
                kernel >= match self { $(KernelWarn::$name => $since),* }
            }
        }
    };
}

kernel_warns! {
    ThrottledLimboList v(4, 12), "throttled-limbo-list" "fair.c tg_throttle_down()"
        "a queue is throttled, and its throttled_limbo_list is not empty";
    TmpAloneBranch v(5, 1), "tmp-alone-branch" "fair.c assert_list_leaf_cfs_rq()"
        "tmp_alone_branch is not leaf_cfs_rq_list: the last branch of the list of queues with load has no parent there";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slugs_are_unique() {
        let mut slugs: Vec<_> = KernelWarn::ALL.iter().map(|warn| warn.slug()).collect();
        slugs.sort_unstable();
        slugs.dedup();
        assert_eq!(slugs.len(), KernelWarn::ALL.len());
    }
}
