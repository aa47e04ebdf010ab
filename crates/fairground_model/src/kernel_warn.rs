//! What a kernel warns of by itself (WARN_ON_ONCE, SCHED_WARN_ON): it has found a state that its authors took for impossible, says so in its log,
//! and goes on.

macro_rules! kernel_warns {
    ($($name:ident $slug:literal $function:literal $condition:literal;)*) => {
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
        }
    };
}

kernel_warns! {
    ThrottledLimboList "throttled-limbo-list" "fair.c tg_throttle_down()"
        "a queue is throttled, and its throttled_limbo_list is not empty";
}
