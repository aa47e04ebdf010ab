//! Draws of a planted delay: numbers, lengths of time, and names that give nothing away.

use fairground_stdx::prng::{RngStream, StreamKind};

/// Names of programs, in which no cause can be read.
const NAMES: &[&str] = &[
    "nginx", "postgres", "java", "node", "rsync", "python", "redis", "envoy", "mysqld", "ruby", "haproxy", "squid", "cron",
    "bash", "sshd", "etcd", "kafka", "php", "perl", "tar", "gzip", "make", "cc1", "ld", "git", "vim", "emacs", "dbus", "chrome",
    "firefox", "ffmpeg", "mpd", "bind", "ntpd", "samba", "qemu", "awk", "sed", "find", "rsyslogd",
];

/// A random stream, and the names that are left.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Dice {
    stream: RngStream,
    names: Vec<&'static str>,
}

impl Dice {
    /// The dice of a family for one seed. A family has a stream of its own, so a new family changes no other.
    pub(crate) fn new(seed: u64, family: &str) -> Dice {
        // FNV-1a of 32 bits.
        let row = family.bytes().fold(0x811c_9dc5_u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
        Dice { stream: RngStream::new(seed, StreamKind::Exam, row), names: NAMES.to_vec() }
    }
    /// The same stream with all names again, for the next draw.
    pub(crate) fn again(self) -> Dice {
        Dice { stream: self.stream, names: NAMES.to_vec() }
    }
    /// A number from `low` to `high`, both included.
    pub(crate) fn between(&mut self, low: u64, high: u64) -> u64 {
        self.stream.between(low, high)
    }
    /// Whether a thing happens that does so in `percent` of all draws.
    pub(crate) fn chance(&mut self, percent: u64) -> bool {
        self.stream.below(100) < percent
    }
    /// One of a list.
    pub(crate) fn one_of<T: Copy>(&mut self, list: &[T]) -> T {
        list[self.stream.below(list.len() as u64) as usize]
    }
    /// A length of time from `low` to `high` us, as a scenario has it.
    pub(crate) fn us(&mut self, low: u64, high: u64) -> String {
        format!("{}us", self.between(low, high))
    }
    /// A name that nobody has yet.
    pub(crate) fn name(&mut self) -> String {
        let at = self.stream.below(self.names.len() as u64) as usize;
        self.names.swap_remove(at).to_string()
    }
}
