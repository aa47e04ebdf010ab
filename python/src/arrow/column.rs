//! One column of a batch.

/// Bits, the first row's in the lowest place of the first byte.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Bits {
    bytes: Vec<u8>,
    len: usize,
    zeros: usize,
}

impl Bits {
    #[inline]
    pub(crate) fn push(&mut self, bit: bool) {
        if self.len.is_multiple_of(8) {
            self.bytes.push(0);
        }
        if let Some(last) = self.bytes.last_mut() {
            *last |= u8::from(bit) << (self.len % 8);
        }
        self.len += 1;
        self.zeros += usize::from(!bit);
    }
    pub(crate) fn get(&self, row: usize) -> bool {
        self.bytes.get(row / 8).is_some_and(|byte| byte >> (row % 8) & 1 == 1)
    }
    pub(crate) fn zeros(&self) -> usize {
        self.zeros
    }
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

/// Texts one behind the other.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Text {
    /// Where each begins, and where the last one ends.
    offsets: Vec<i32>,
    bytes: Vec<u8>,
}

impl Default for Text {
    fn default() -> Text {
        Text { offsets: vec![0], bytes: Vec::new() }
    }
}

impl Text {
    /// Appends a text. Past 2 GiB in all, more than any table of ours has, texts are empty.
    pub(crate) fn push(&mut self, text: &str) {
        if self.bytes.len() + text.len() <= i32::MAX as usize {
            self.bytes.extend_from_slice(text.as_bytes());
        }
        self.offsets.push(i32::try_from(self.bytes.len()).unwrap_or(i32::MAX));
    }
    pub(crate) fn len(&self) -> usize {
        self.offsets.len() - 1
    }
    pub(crate) fn get(&self, row: usize) -> Option<&str> {
        let (from, to) = (*self.offsets.get(row)?, *self.offsets.get(row + 1)?);
        std::str::from_utf8(self.bytes.get(usize::try_from(from).ok()?..usize::try_from(to).ok()?)?).ok()
    }
    pub(super) fn offsets(&self) -> &[i32] {
        &self.offsets
    }
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

impl<T: AsRef<str>> FromIterator<T> for Text {
    fn from_iter<I: IntoIterator<Item = T>>(texts: I) -> Text {
        let mut text = Text::default();
        texts.into_iter().for_each(|one| text.push(one.as_ref()));
        text
    }
}

/// The values, those of rows without a value included.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Values {
    Int64(Vec<i64>),
    Float64(Vec<f64>),
    UInt8(Vec<u8>),
    UInt16(Vec<u16>),
    UInt32(Vec<u32>),
    Text(Text),
}

/// Values, and which rows have one; `None` says that all have.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Column {
    pub(crate) values: Values,
    pub(crate) valid: Option<Bits>,
}

impl Column {
    pub(crate) fn full(values: Values) -> Column {
        Column { values, valid: None }
    }
    /// A bit map in which every row has a value is left out.
    pub(crate) fn some(values: Values, valid: Bits) -> Column {
        Column { values, valid: (valid.zeros() > 0).then_some(valid) }
    }
    pub(crate) fn nulls(&self) -> usize {
        self.valid.as_ref().map_or(0, Bits::zeros)
    }
    pub(crate) fn has(&self, row: usize) -> bool {
        self.valid.as_ref().is_none_or(|valid| valid.get(row))
    }
}
