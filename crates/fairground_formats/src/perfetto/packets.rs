//! The packets of a file, one after the other, in bounded memory.

use crate::perfetto::wire::{self, Fields, Value, WireError};
use std::io::{self, BufRead, Read};

/// Longest packet that is looked at. Recorders write packets of up to some hundred KiB.
const PACKET_MAX: u64 = 64 << 20;
/// What stands before each packet: field 1 of the message Trace, wire type 2.
const PACKET: (u32, u8) = (1, 2);
const PACKET_KEY: u8 = 0x0a;
/// Packets that [`sniff`] looks at.
const SNIFF_PACKETS: usize = 16;
/// The highest number of a field of TracePacket, extensions included.
const FIELD_MAX: u32 = 1000;
/// The fields of TracePacket that are numbers; all others are messages or bytes.
const NUMBERS: [u32; 10] = [3, 8, 10, 13, 41, 42, 58, 79, 87, 98];

/// Whether `head`, the beginning of a file, is a sequence of Perfetto's packets.
pub(super) fn sniff(head: &[u8]) -> bool {
    let mut rest = head;
    for packets in 0..SNIFF_PACKETS {
        let Some((&PACKET_KEY, behind)) = rest.split_first() else { return packets > 1 || packets == 1 && rest.is_empty() };
        rest = behind;
        let Ok(length) = wire::varint(&mut rest) else { return packets > 0 };
        match rest.split_at_checked(usize::try_from(length).unwrap_or(usize::MAX)) {
            Some((packet, behind)) if is_packet(packet, false) => rest = behind,
            Some(_) => return packets > 1,
            None => return is_packet(rest, true),
        }
    }
    true
}

/// Whether each field has a number and a type that TracePacket has; the last one may be cut off.
fn is_packet(packet: &[u8], cut_off: bool) -> bool {
    let known = |number: u32, is_number: bool| number <= FIELD_MAX && NUMBERS.contains(&number) == is_number;
    let begins_well = match wire::varint(&mut &packet[..]).and_then(wire::key) {
        Ok((number, wire_type)) => matches!(wire_type, 0 | 2) && known(number, wire_type == 0),
        Err(_) => false,
    };
    begins_well
        && Fields::of(packet).all(|field| match field {
            Ok((number, Value::Number(_))) => known(number, true),
            Ok((number, Value::Bytes(_))) => known(number, false),
            Ok((_, Value::Fixed)) | Err(WireError::Malformed) => false,
            Err(WireError::CutOff) => cut_off,
        })
}

/// What comes next in a file.
#[derive(PartialEq, Eq, Debug)]
pub(super) enum Next<'b> {
    /// A packet.
    Packet(&'b [u8]),
    /// A packet longer than [`PACKET_MAX`]; it was passed over.
    TooLong,
    /// A field that is no packet; it was passed over.
    NoPacket,
    /// The file ends within a packet.
    CutOff,
    /// These bytes are no field: where the next packet begins cannot be known.
    Broken,
    /// The source failed.
    Failed(String),
}

/// Splits a file into packets; never holds more than one of bounded length.
pub(super) struct Packets<R> {
    source: R,
    packet: Vec<u8>,
    ended: bool,
}

/// What was taken off the source.
enum Taken {
    Packet,
    TooLong,
    NoPacket,
}

/// Why nothing more can be taken.
enum Stop {
    Wire(WireError),
    Source(io::Error),
}

impl From<WireError> for Stop {
    fn from(error: WireError) -> Stop {
        Stop::Wire(error)
    }
}
impl From<io::Error> for Stop {
    fn from(error: io::Error) -> Stop {
        Stop::Source(error)
    }
}

impl<R: BufRead> Packets<R> {
    pub(super) fn new(source: R) -> Packets<R> {
        Packets { source, packet: Vec::new(), ended: false }
    }
    /// What comes next; nothing comes after one of the last three kinds.
    pub(super) fn next(&mut self) -> Option<Next<'_>> {
        if self.ended {
            return None;
        }
        let taken = self.take_field();
        self.ended = !matches!(taken, Ok(Some(_)));
        Some(match taken {
            Ok(None) => return None,
            Ok(Some(Taken::Packet)) => Next::Packet(&self.packet),
            Ok(Some(Taken::TooLong)) => Next::TooLong,
            Ok(Some(Taken::NoPacket)) => Next::NoPacket,
            Err(Stop::Wire(WireError::CutOff)) => Next::CutOff,
            Err(Stop::Wire(WireError::Malformed)) => Next::Broken,
            Err(Stop::Source(error)) => Next::Failed(error.to_string()),
        })
    }
    fn take_field(&mut self) -> Result<Option<Taken>, Stop> {
        let Some(first) = self.byte()? else { return Ok(None) };
        let key = wire::key(self.varint(first)?)?;
        match key.1 {
            0 => drop(self.number()?),
            1 => self.pass_over(8)?,
            2 => {
                let length = self.number()?;
                if key == PACKET && length <= PACKET_MAX {
                    self.take_packet(length)?;
                    return Ok(Some(Taken::Packet));
                }
                self.pass_over(length)?;
                if key == PACKET {
                    return Ok(Some(Taken::TooLong));
                }
            }
            5 => self.pass_over(4)?,
            _ => return Err(Stop::Wire(WireError::Malformed)),
        }
        Ok(Some(Taken::NoPacket))
    }
    /// Takes the next bytes. The buffer grows with what is there, not with what the length claims.
    fn take_packet(&mut self, length: u64) -> Result<(), Stop> {
        self.packet.clear();
        let taken = (&mut self.source).take(length).read_to_end(&mut self.packet)?;
        whole(taken as u64, length)
    }
    fn pass_over(&mut self, length: u64) -> Result<(), Stop> {
        let passed = io::copy(&mut (&mut self.source).take(length), &mut io::sink())?;
        whole(passed, length)
    }
    fn byte(&mut self) -> io::Result<Option<u8>> {
        (&mut self.source).bytes().next().transpose()
    }
    fn number(&mut self) -> Result<u64, Stop> {
        let first = self.byte()?.ok_or(WireError::CutOff)?;
        self.varint(first)
    }
    fn varint(&mut self, first: u8) -> Result<u64, Stop> {
        let mut bytes = [0; wire::VARINT_MAX];
        let mut byte = first;
        for index in 0..bytes.len() {
            bytes[index] = byte;
            if byte < 0x80 {
                return Ok(wire::varint(&mut &bytes[..=index])?);
            }
            byte = self.byte()?.ok_or(WireError::CutOff)?;
        }
        Err(Stop::Wire(WireError::Malformed))
    }
}

fn whole(found: u64, expected: u64) -> Result<(), Stop> {
    if found < expected { Err(Stop::Wire(WireError::CutOff)) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::BufReader;

    fn kinds(file: &[u8]) -> Vec<String> {
        let mut packets = Packets::new(BufReader::with_capacity(3, file));
        let mut kinds = Vec::new();
        while let Some(next) = packets.next() {
            kinds.push(match next {
                Next::Packet(bytes) => bytes.len().to_string(),
                other => format!("{other:?}"),
            });
        }
        kinds
    }

    #[test]
    fn packets_and_what_is_none() {
        assert_eq!(kinds(b""), [""; 0]);
        let file = [&[0x0a, 2, 8, 1, 0x0a, 0][..], &[0x10, 5, 0x12, 1, 9, 0x1d, 1, 2, 3, 4, 0x0a, 3, 1, 2, 3]].concat();
        assert_eq!(kinds(&file), ["2", "0", "NoPacket", "NoPacket", "NoPacket", "3"]);
        for length in 1..file.len() {
            let whole = [4, 6, 8, 11, 16].contains(&length);
            let cut = kinds(&file[..length]).last().is_some_and(|last| last == "CutOff");
            assert!(cut || whole, "{length}");
        }
        assert_eq!(kinds(&[0x0a, 1, 7, 0x0b, 1]), ["1", "Broken"]);
        assert_eq!(kinds(&[0x0a, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1]), ["Broken"]);
    }

    #[test]
    fn a_huge_packet_is_passed_over_and_a_lying_length_costs_nothing() {
        let mut file = vec![0x0a, 0x81, 0x80, 0x80, 0x20];
        file.resize(file.len() + PACKET_MAX as usize + 1, 0);
        file.extend([0x0a, 1, 7]);
        assert_eq!(kinds(&file), ["TooLong", "1"]);
        let mut packets = Packets::new(&[0x0a, 0x80, 0x80, 0x80, 0x20, 1, 2, 3][..]);
        assert_eq!(packets.next(), Some(Next::CutOff));
        assert!(packets.packet.capacity() < 4096);
    }

    #[test]
    fn a_source_that_fails() {
        struct Failing;
        impl io::Read for Failing {
            fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
                Err(io::Error::other("gone"))
            }
        }
        let mut packets = Packets::new(BufReader::new(Failing));
        assert_eq!(packets.next(), Some(Next::Failed("gone".to_string())));
        assert_eq!(packets.next(), None);
    }

    #[test]
    fn text_is_no_sequence_of_packets() {
        for text in
            ["", "\n", "\n\n", "\n# tracer: nop\n", "\n\t\tx", "\n          <idle>-0 [000] d.. 1.0: e: x\n", "\nbash 1\n", "\r\n"]
        {
            assert!(!sniff(text.as_bytes()), "{text:?}");
        }
        for bytes in [&[0x0a, 0][..], &[0x0a, 2, 8], &[0x0a, 3, 8, 1, 0x0b], &[0x0a, 2, 0x18, 1, 9]] {
            assert!(!sniff(bytes), "{bytes:?}");
        }
        assert!(
            sniff(&[0x0a, 2, 0x18, 1]) && sniff(&[0x0a, 4, 0x18, 1, 0x52]) && sniff(&[0x0a, 2, 0x18, 1, 0x0a, 2, 0x18, 1, 9])
        );
    }
}
