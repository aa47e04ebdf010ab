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

/// The last minor number of each series; what follows begins the next one with 0.
const LAST_MINORS: [KernelVersion; 3] = [v(4, 20), v(5, 19), v(6, 19)];

impl KernelVersion {
    /// The version that came out after this one.
    pub fn next(self) -> KernelVersion {
        if LAST_MINORS.contains(&self) { v(self.major + 1, 0) } else { v(self.major, self.minor + 1) }
    }

    /// The version that came out before this one; nothing before v4.0.
    pub fn previous(self) -> Option<KernelVersion> {
        match self.minor.checked_sub(1) {
            Some(minor) => Some(v(self.major, minor)),
            None => LAST_MINORS.into_iter().find(|last| last.major + 1 == self.major),
        }
    }

    /// Whether there is, or may come, such a version.
    pub fn exists(self) -> bool {
        self.major >= 4 && LAST_MINORS.iter().all(|last| last.major != self.major || self.minor <= last.minor)
    }

    /// Reads `v5.19` or `5.19`; nothing if the text has another form.
    pub fn parse(text: &str) -> Option<KernelVersion> {
        let (major, minor) = text.strip_prefix('v').unwrap_or(text).split_once('.')?;
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
    fn versions_follow_one_another() {
        let mut version = v(4, 12);
        let mut seen = 1;
        while version < v(7, 2) {
            assert!(version.exists() && version.next().previous() == Some(version) && version.next() > version);
            (version, seen) = (version.next(), seen + 1);
        }
        // 4.12 to 4.20, 5.0 to 5.19, 6.0 to 6.19, 7.0 to 7.2.
        assert_eq!(seen, 9 + 20 + 20 + 3);
        assert!(!v(4, 21).exists() && !v(5, 20).exists() && !v(3, 10).exists() && v(4, 0).previous().is_none());
    }

    #[test]
    fn reads_only_its_own_form() {
        assert_eq!(["v5.19", "5.19"].map(KernelVersion::parse), [Some(v(5, 19)); 2]);
        for bad in ["v5", "v5.", "v.1", "v+5.1", "v5.300", "v5.1.2", "v5.1 ", ""] {
            assert_eq!(KernelVersion::parse(bad), None, "{bad}");
        }
    }
}
