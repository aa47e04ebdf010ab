//! Numbers, strings and blocks of bytes as they follow each other in a file or section.

use crate::import::event_format::ByteOrder;
use std::io::{self, ErrorKind, Read};

/// Longest string (name of a buffer, a system, a clock) that is taken for one.
const STRING_MAX: usize = 4096;

/// Why something in the file's own description could not be read, as the rest of a sentence about
/// the file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Broken(pub(super) String);

impl From<io::Error> for Broken {
    fn from(error: io::Error) -> Broken {
        match error.kind() {
            ErrorKind::UnexpectedEof => Broken("is cut off in the description of its events".to_string()),
            _ => Broken(format!("cannot be read to the end of its description: {error}")),
        }
    }
}

/// A source from which values are taken one after the other.
pub(super) struct Fields<R> {
    source: R,
    pub(super) order: ByteOrder,
}

impl<R: Read> Fields<R> {
    pub(super) fn new(source: R, order: ByteOrder) -> Fields<R> {
        Fields { source, order }
    }
    fn bytes<const N: usize>(&mut self) -> Result<[u8; N], Broken> {
        let mut bytes = [0; N];
        self.source.read_exact(&mut bytes)?;
        Ok(bytes)
    }
    pub(super) fn u8(&mut self) -> Result<u8, Broken> {
        self.bytes::<1>().map(|[byte]| byte)
    }
    pub(super) fn u16(&mut self) -> Result<u16, Broken> {
        Ok(self.order.unsigned(&self.bytes::<2>()?) as u16)
    }
    pub(super) fn u32(&mut self) -> Result<u32, Broken> {
        Ok(self.order.unsigned(&self.bytes::<4>()?) as u32)
    }
    pub(super) fn u64(&mut self) -> Result<u64, Broken> {
        Ok(self.order.unsigned(&self.bytes::<8>()?))
    }
    /// A text that ends with a NUL.
    pub(super) fn string(&mut self) -> Result<String, Broken> {
        let mut text = Vec::new();
        loop {
            match self.u8()? {
                0 => return Ok(String::from_utf8_lossy(&text).into_owned()),
                _ if text.len() == STRING_MAX => return Err(Broken("holds a name without an end".to_string())),
                byte => text.push(byte),
            }
        }
    }
    /// As many bytes; not more than `max`.
    pub(super) fn block(&mut self, length: u64, max: u64) -> Result<Vec<u8>, Broken> {
        if length > max {
            return Err(Broken(format!("holds a part of {length} bytes where {max} at most can be")));
        }
        let mut block = Vec::new();
        (&mut self.source).take(length).read_to_end(&mut block)?;
        if (block.len() as u64) < length { Err(io::Error::from(ErrorKind::UnexpectedEof).into()) } else { Ok(block) }
    }
    /// Passes over bytes.
    pub(super) fn skip(&mut self, length: u64) -> Result<(), Broken> {
        let passed = io::copy(&mut (&mut self.source).take(length), &mut io::sink())?;
        if passed < length { Err(io::Error::from(ErrorKind::UnexpectedEof).into()) } else { Ok(()) }
    }
    /// The bytes that must stand here.
    pub(super) fn expect(&mut self, wanted: &[u8]) -> Result<(), Broken> {
        let found = self.block(wanted.len() as u64, wanted.len() as u64)?;
        if found == wanted {
            return Ok(());
        }
        let name = String::from_utf8_lossy(wanted.strip_suffix(&[0]).unwrap_or(wanted)).into_owned();
        Err(Broken(format!("holds something else where `{name}` should stand")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_in_both_byte_orders_and_their_ends() {
        let bytes = [1, 2, 3, 4, 5, 6, b'a', b'b', 0, 9, 9];
        let mut little = Fields::new(&bytes[..], ByteOrder::Little);
        assert_eq!((little.u16(), little.u32()), (Ok(0x0201), Ok(0x0605_0403)));
        assert_eq!((little.string(), little.block(2, 2)), (Ok("ab".to_string()), Ok(vec![9, 9])));
        assert!(little.u8().unwrap_err().0.contains("cut off"));
        let mut big = Fields::new(&bytes[..], ByteOrder::Big);
        assert_eq!((big.u64(), big.skip(3)), (Ok(0x0102_0304_0506_6162), Ok(())));
        assert!(big.skip(1).unwrap_err().0.contains("cut off"));
    }

    #[test]
    fn lengths_are_not_believed() {
        let fields = || Fields::new(&[7; 9000][..], ByteOrder::Little);
        assert!(fields().block(u64::MAX, 1 << 20).unwrap_err().0.contains("1048576 at most"));
        assert!(fields().block(9001, 1 << 20).unwrap_err().0.contains("cut off"));
        assert!(fields().string().unwrap_err().0.contains("without an end"));
        assert!(fields().expect(b"flyrecord\0").unwrap_err().0.contains("`flyrecord`"));
    }
}
