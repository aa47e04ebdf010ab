//! Zstandard input, frame after frame.

use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};
use std::io::{self, BufRead, Read};

/// The first bytes of a zstd frame.
pub(crate) const MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// Unpacks all frames of `source`. Memory is bounded by the window of a frame, which the decoder limits.
pub(crate) struct ZstdReader<R> {
    source: R,
    decoder: FrameDecoder,
    within_frame: bool,
}

impl<R: BufRead> ZstdReader<R> {
    pub(crate) fn new(source: R) -> ZstdReader<R> {
        ZstdReader { source, decoder: FrameDecoder::new(), within_frame: false }
    }
    fn start_frame(&mut self) -> io::Result<()> {
        match self.decoder.reset(&mut self.source) {
            Ok(()) => self.within_frame = true,
            Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame { length, .. })) => {
                io::copy(&mut (&mut self.source).take(u64::from(length)), &mut io::sink())?;
            }
            Err(error) => return Err(io::Error::other(error)),
        }
        Ok(())
    }
    fn end_frame(&mut self) -> io::Result<()> {
        self.within_frame = false;
        match (self.decoder.get_checksum_from_data(), self.decoder.get_calculated_checksum()) {
            (Some(stored), Some(found)) if stored != found => Err(io::Error::other("the checksum of the packed data is wrong")),
            _ => Ok(()),
        }
    }
}

impl<R: BufRead> Read for ZstdReader<R> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        while !buf.is_empty() {
            if !self.within_frame {
                if self.source.fill_buf()?.is_empty() {
                    break;
                }
                self.start_frame()?;
            } else if self.decoder.can_collect() > 0 {
                return self.decoder.read(buf);
            } else if self.decoder.is_finished() {
                self.end_frame()?;
            } else {
                self.decoder.decode_blocks(&mut self.source, BlockDecodingStrategy::UptoBlocks(1)).map_err(io::Error::other)?;
            }
        }
        Ok(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ruzstd::encoding::{CompressionLevel, compress_to_vec};

    fn unpack(packed: &[u8]) -> io::Result<Vec<u8>> {
        let mut text = Vec::new();
        ZstdReader::new(packed).read_to_end(&mut text).map(|_| text)
    }

    #[test]
    fn frames_follow_each_other_and_skippable_ones_are_skipped() {
        let mut packed = compress_to_vec(&b"one "[..], CompressionLevel::Fastest);
        packed.extend_from_slice(&[0x50, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 9, 9, 9]);
        packed.extend(compress_to_vec(&b"two"[..], CompressionLevel::Fastest));
        assert_eq!(unpack(&packed).unwrap(), b"one two");
        assert_eq!(unpack(b"").unwrap(), b"");
    }

    #[test]
    fn every_truncation_ends_with_an_error_and_without_a_hang() {
        let packed = compress_to_vec(&b"some text that is long enough, some text that repeats"[..], CompressionLevel::Fastest);
        for length in 1..packed.len() {
            assert!(unpack(&packed[..length]).is_err(), "{length}");
        }
    }
}
