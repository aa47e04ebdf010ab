//! Kernel versions, as far as the scheduler's history needs them.

use std::fmt;

/// A mainline kernel version. Stable releases belong to the version that they maintain.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct KernelVersion {
    /// The number before the dot.
    pub major: u8,
    /// The number behind the dot.
    pub minor: u8,
}

/// Short form for tables: `v(5, 19)` is Linux 5.19.
pub const fn v(major: u8, minor: u8) -> KernelVersion {
    KernelVersion { major, minor }
}

impl KernelVersion {
    /// Reads `v5.19`; nothing if the text has another form.
    pub fn parse(text: &str) -> Option<KernelVersion> {
        let (major, minor) = text.strip_prefix('v')?.split_once('.')?;
        let number = |digits: &str| match digits.bytes().all(|b| b.is_ascii_digit()) {
            true => digits.parse::<u8>().ok(),
            false => None,
        };
        Some(v(number(major)?, number(minor)?))
    }
}

impl fmt::Display for KernelVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "v{}.{}", self.major, self.minor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_and_prints() {
        assert!(v(4, 20) < v(5, 1) && v(5, 9) < v(5, 10));
        assert_eq!(v(5, 19).to_string(), "v5.19");
    }

    #[test]
    fn reads_only_its_own_form() {
        assert_eq!(KernelVersion::parse("v5.19"), Some(v(5, 19)));
        for bad in ["5.19", "v5", "v5.", "v.1", "v+5.1", "v5.300", "v5.1.2", "v5.1 ", ""] {
            assert_eq!(KernelVersion::parse(bad), None, "{bad}");
        }
    }
}
