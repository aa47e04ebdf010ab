//! Unpacks what `perf record -z` packed: one zstd stream, cut into records wherever perf flushed it.

use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

/// Longest head of a frame: magic, descriptor, window, dictionary, content size.
const FRAME_HEAD_MAX: usize = 18;
/// The bit of a frame's descriptor, which follows the magic, that promises a checksum behind the last block.
const CHECKSUM_FLAG: u8 = 1 << 2;
/// Length of the head of a block.
const BLOCK_HEAD: usize = 3;
/// An empty block that ends its frame, and room for a checksum. perf never ends its frame, and the decoder keeps
/// the last window of a frame to itself until it ends.
const LAST_BLOCK: [u8; BLOCK_HEAD + CHECKSUM] = [1, 0, 0, 0, 0, 0, 0];
const CHECKSUM: usize = 4;

/// The stream and what was not unpacked of it yet.
pub(super) struct Inflater {
    decoder: FrameDecoder,
    within_frame: bool,
    has_checksum: bool,
    pending: Vec<u8>,
    used: usize,
}

impl Inflater {
    pub(super) fn new() -> Inflater {
        Inflater { decoder: FrameDecoder::new(), within_frame: false, has_checksum: false, pending: Vec::new(), used: 0 }
    }
    /// Takes the next piece of the stream.
    pub(super) fn push(&mut self, piece: &[u8]) {
        self.pending.drain(..std::mem::take(&mut self.used));
        self.pending.extend_from_slice(piece);
    }
    /// Unpacks one block of what was pushed and appends the bytes that are ready; says whether there was one.
    /// An error ends the stream.
    pub(super) fn next_block(&mut self, out: &mut Vec<u8>) -> Result<bool, String> {
        let mut input = &self.pending[self.used..];
        if !self.within_frame {
            if input.is_empty() {
                return Ok(false);
            }
            let (length, descriptor) = (input.len(), input.get(4).copied().unwrap_or(0));
            match self.decoder.reset(&mut input) {
                Ok(()) => (self.within_frame, self.has_checksum) = (true, descriptor & CHECKSUM_FLAG != 0),
                Err(_) if length < FRAME_HEAD_MAX => return Ok(false), // more of the head may follow
                Err(error) => return Err(error.to_string()),
            }
            self.used = self.pending.len() - input.len();
        }
        if !self.has_block(input) {
            return Ok(false);
        }
        self.decoder.decode_blocks(&mut input, BlockDecodingStrategy::UptoBlocks(1)).map_err(|error| error.to_string())?;
        self.used = self.pending.len() - input.len();
        self.decoder.collect_to_writer(&mut *out).map_err(|error| error.to_string())?;
        self.within_frame = !self.decoder.is_finished();
        Ok(true)
    }
    /// Nothing follows: appends what the decoder still holds. Says whether the stream ended between two blocks.
    pub(super) fn finish(&mut self, out: &mut Vec<u8>) -> Result<bool, String> {
        let is_whole = self.used == self.pending.len();
        (self.pending, self.used) = (LAST_BLOCK.to_vec(), 0);
        if self.within_frame {
            self.next_block(out)?;
        }
        Ok(is_whole)
    }
    /// Whether a whole block stands at the beginning of `input`, its checksum included if it is the last.
    fn has_block(&self, input: &[u8]) -> bool {
        let Some(head) = input.get(..BLOCK_HEAD) else { return false };
        let head = u32::from_le_bytes([head[0], head[1], head[2], 0]);
        let (is_last, kind, size) = (head & 1 == 1, head >> 1 & 3, (head >> 3) as usize);
        const RLE: u32 = 1; // one byte that is repeated
        let content = if kind == RLE { 1 } else { size };
        input.len() >= BLOCK_HEAD + content + if is_last && self.has_checksum { CHECKSUM } else { 0 }
    }
}
