//! Bytes that are read from the front.

use crate::import::event_format::ByteOrder;

/// What is left to read. Each read gives nothing if too few bytes are left.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bytes<'a> {
    rest: &'a [u8],
    order: ByteOrder,
}

impl<'a> Bytes<'a> {
    pub(super) fn new(rest: &'a [u8], order: ByteOrder) -> Bytes<'a> {
        Bytes { rest, order }
    }
    /// The same bytes with numbers of this order.
    pub(super) fn in_order(self, order: ByteOrder) -> Bytes<'a> {
        Bytes { order, ..self }
    }
    /// The next `count` bytes.
    pub(super) fn take(&mut self, count: u64) -> Option<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(usize::try_from(count).ok()?)?;
        self.rest = rest;
        Some(taken)
    }
    /// The bytes before the next zero byte, which is passed over.
    pub(super) fn until_zero(&mut self) -> Option<&'a [u8]> {
        let end = self.rest.iter().position(|&byte| byte == 0)?;
        let text = self.take(end as u64);
        self.take(1)?;
        text
    }
    pub(super) fn u8(&mut self) -> Option<u8> {
        self.take(1).map(|bytes| bytes[0])
    }
    pub(super) fn u32(&mut self) -> Option<u32> {
        self.take(4).map(|bytes| self.order.unsigned(bytes) as u32)
    }
    pub(super) fn u64(&mut self) -> Option<u64> {
        self.take(8).map(|bytes| self.order.unsigned(bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_read_beyond_the_end() {
        let bytes = [1, 2, 3, 4, 5, 6, 7, 8, 9, b'a', 0, b'b'];
        let mut little = Bytes::new(&bytes, ByteOrder::Little);
        assert_eq!((little.u8(), little.u64()), (Some(1), Some(0x0908_0706_0504_0302)));
        assert_eq!(
            (little.until_zero(), little.until_zero(), little.u32(), little.u8()),
            (Some(&b"a"[..]), None, None, Some(b'b'))
        );
        let mut big = Bytes::new(&bytes, ByteOrder::Big);
        assert_eq!((big.u8(), big.u32()), (Some(1), Some(0x0203_0405)));
        assert_eq!((big.take(u64::MAX), big.take(8)), (None, None));
    }
}
