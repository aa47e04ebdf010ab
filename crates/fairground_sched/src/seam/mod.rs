//! A seam is a place where kernels differ in structure: a closed set of variants with a history.

use fairground_model::version::KernelVersion;

mod balance;
mod bandwidth;
mod busiest;
mod capacity;
mod clock;
mod cpufreq;
mod deadline;
mod eevdf;
mod fair;
mod groups;
mod hrtick;
mod pelt;
mod pipe;
mod placement;
mod rebalance;
mod rt;
mod stats;
mod topology;
mod wakeup;

pub use balance::*;
pub use bandwidth::*;
pub use busiest::*;
pub use capacity::*;
pub use clock::*;
pub use cpufreq::*;
pub use deadline::*;
pub use eevdf::*;
pub use fair::*;
pub use groups::*;
pub use hrtick::*;
pub use pelt::*;
pub use pipe::*;
pub use placement::*;
pub use rebalance::*;
pub use rt::*;
pub use stats::*;
pub use topology::*;
pub use wakeup::*;

/// One structural difference between kernels.
pub trait Seam: Copy + PartialEq + Sized + 'static {
    /// Name on the command line and in scenario files.
    const NAME: &'static str;
    /// All variants with their names.
    const VARIANTS: &'static [(&'static str, Self)];
    /// From this version on this variant is what the kernel does; the first row also holds for all before it.
    const HISTORY: &'static [(KernelVersion, Self)];

    /// What this variant does, as a sentence.
    fn sentence(self) -> &'static str;

    /// The variant of a kernel.
    fn at(version: KernelVersion) -> Self {
        let mut found = Self::HISTORY[0].1;
        for &(since, variant) in Self::HISTORY {
            if since <= version {
                found = variant;
            }
        }
        found
    }

    /// Name of this variant.
    fn name(self) -> &'static str {
        Self::VARIANTS.iter().find(|row| row.1 == self).expect("invariant: each variant is listed").0
    }

    /// The variant of that name.
    fn by_name(name: &str) -> Option<Self> {
        Self::VARIANTS.iter().find(|row| row.0 == name).map(|row| row.1)
    }
}

/// Declares the seams of a file: each an enum with its names and sentences, its field of a profile, and its history.
macro_rules! seams {
    ($d:tt $file:ident; $(
        $(#[$doc:meta])* $type:ident = $field:ident {
            $($variant:ident $slug:literal $sentence:literal,)+
        }
        history { $(v($major:literal, $minor:literal) => $since:ident,)+ }
    )+) => {
        $(
            $(#[$doc])*
            #[derive(Clone, Copy, PartialEq, Eq, Debug)]
            pub enum $type {
                $(#[doc = $sentence] $variant,)+
            }

            impl $crate::seam::Seam for $type {
                const NAME: &'static str = stringify!($field);
                const VARIANTS: &'static [(&'static str, Self)] = &[$(($slug, $type::$variant)),+];
                const HISTORY: &'static [(fairground_model::version::KernelVersion, Self)] =
                    &[$((fairground_model::version::v($major, $minor), $type::$since)),+];

                fn sentence(self) -> &'static str {
                    match self { $($type::$variant => $sentence),+ }
                }
            }
        )+

        /// Adds the fields of this file to `done`, and goes on with the other files.
        macro_rules! $file {
            ($d then:ident [$d($d done:tt)*] $d($d others:ident)*) => {
                $crate::seam::fields! { $d then [$d($d done)* $($(#[$doc])* $field: $type;)+] $d($d others)* }
            };
        }
        pub(crate) use $file;
    };
}
use seams;

/// Collects the fields of all seams, file by file, and hands them to the macro `$then`.
macro_rules! fields {
    ($then:ident [$($done:tt)*]) => { $then! { $($done)* } };
    ($then:ident [$($done:tt)*] $file:ident $($others:ident)*) => {
        $crate::seam::$file! { $then [$($done)*] $($others)* }
    };
}
pub(crate) use fields;
