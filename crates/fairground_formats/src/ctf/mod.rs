#![doc = include_str!("README.md")]

mod bits;
mod clock;
mod current;
mod event;
mod import;
mod metadata;
mod packet;
mod stream;
mod tsdl;

pub(crate) use import::{holds, read};

/// The format's name in the registry.
pub(crate) const NAME: &str = "ctf";

/// Whether a file of this beginning is one of the folder of a CTF trace: its description, or a stream of events.
pub(crate) fn is_part(head: &[u8]) -> bool {
    metadata::looks_so(head) || head.get(..4).is_some_and(packet::begins_packet)
}
