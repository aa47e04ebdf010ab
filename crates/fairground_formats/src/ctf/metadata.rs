//! The file `metadata`: text, in packets or not.

use crate::import::event_format::ByteOrder;

/// The first bytes of a packet of text.
const MAGIC: u64 = 0x75d1_1d57;
/// Length of a packet's header: magic, uuid (16), checksum, content and packet size (bits, 4 each), packing, ciphering, kind of
/// checksum, version (2).
const HEADER: usize = 37;
const CONTENT_SIZE: std::ops::Range<usize> = 24..28;
const PACKET_SIZE: std::ops::Range<usize> = 28..32;
/// Packing and ciphering.
const SCHEMES: std::ops::Range<usize> = 32..34;

/// The byte order of packets that begin so.
fn order_of(head: &[u8]) -> Option<ByteOrder> {
    let magic = head.get(..4)?;
    [ByteOrder::Little, ByteOrder::Big].into_iter().find(|order| order.unsigned(magic) == MAGIC)
}

/// Whether a file of this beginning is the description of a trace.
pub(super) fn looks_so(head: &[u8]) -> bool {
    order_of(head).is_some() || head.starts_with(b"/* CTF 1")
}

/// The text of a description, and the byte order of its packets; what is wrong with it as the rest of a sentence about the trace.
pub(super) fn text(bytes: &[u8]) -> Result<(String, Option<ByteOrder>), String> {
    if bytes.first() == Some(&0x1e) {
        return Err("is of CTF 2, which is not modelled yet (CTF 1.8 is)".to_string());
    }
    let Some(order) = order_of(bytes) else { return Ok((String::from_utf8_lossy(bytes).into_owned(), None)) };
    let mut text = Vec::new();
    let mut rest = bytes;
    while let Some(header) = rest.get(..HEADER).filter(|header| order_of(header) == Some(order)) {
        let length = |place: std::ops::Range<usize>| order.unsigned(&header[place]) as usize / 8;
        if header[SCHEMES] != [0, 0] {
            return Err("has a packed or ciphered description, which is not modelled yet".to_string());
        }
        let (content, packet) = (length(CONTENT_SIZE), length(PACKET_SIZE));
        text.extend_from_slice(rest.get(HEADER..content.min(rest.len())).unwrap_or(&[]));
        rest = rest.get(packet.max(HEADER)..).unwrap_or(&[]);
    }
    Ok((String::from_utf8_lossy(&text).into_owned(), Some(order)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(order: ByteOrder, text: &[u8], padding: u32) -> Vec<u8> {
        let number = |number: u32| if order == ByteOrder::Little { number.to_le_bytes() } else { number.to_be_bytes() };
        let content = (HEADER + text.len()) as u32;
        let mut packet = number(MAGIC as u32).to_vec();
        packet.extend([7; 16]);
        packet.extend(number(0));
        packet.extend(number(content * 8));
        packet.extend(number((content + padding) * 8));
        packet.extend([0, 0, 0, 1, 8]);
        packet.extend_from_slice(text);
        packet.resize((content + padding) as usize, 0);
        packet
    }

    #[test]
    fn text_in_packets_of_both_byte_orders() {
        for order in [ByteOrder::Little, ByteOrder::Big] {
            let whole = [packet(order, b"/* CTF 1.8 */ tra", 5), packet(order, b"ce {}", 0)].concat();
            assert!(looks_so(&whole));
            assert_eq!(text(&whole), Ok(("/* CTF 1.8 */ trace {}".to_string(), Some(order))));
            for length in 0..whole.len() {
                let cut = text(&whole[..length]).unwrap_or_default().0;
                assert!(length < 4 || "/* CTF 1.8 */ trace {}".starts_with(&cut), "{length}: {cut}");
            }
            let mut packed = whole;
            packed[32] = 1;
            assert!(text(&packed).is_err());
        }
        assert_eq!(text(b"/* CTF 1.8 */"), Ok(("/* CTF 1.8 */".to_string(), None)));
        assert!(text(b"\x1e{\"type\": \"preamble\"}").is_err_and(|why| why.contains("CTF 2")));
        assert!(looks_so(b"/* CTF 1.8 */") && !looks_so(b"PERFILE2"));
    }
}
