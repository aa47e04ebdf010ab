//! How the parts of a file are packed.

use crate::import::zstd::ZstdReader;
use crate::trace_dat::fields::Broken;
use flate2::bufread::ZlibDecoder;
use std::io::Read;

/// The way named in a file's header.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Packing {
    None,
    Zstd,
    Zlib,
}

impl Packing {
    /// The one of this name, as trace-cmd calls it.
    pub(super) fn of_name(name: &str) -> Result<Packing, Broken> {
        match name {
            "none" => Ok(Packing::None),
            "zstd" => Ok(Packing::Zstd),
            "zlib" => Ok(Packing::Zlib),
            other => Err(Broken(format!("is packed by `{other}`, unpacking which is not modelled yet (zstd and zlib are)"))),
        }
    }
    /// Unpacks a part that has `length` bytes then; the caller has bounded that number.
    pub(super) fn unpack(self, packed: &[u8], length: usize) -> Result<Vec<u8>, Broken> {
        let mut unpacked = Vec::new();
        let outcome = match self {
            Packing::None => return Err(Broken("says that it is not packed and holds packed parts".to_string())),
            Packing::Zstd => ZstdReader::new(packed).take(length as u64 + 1).read_to_end(&mut unpacked),
            Packing::Zlib => ZlibDecoder::new(packed).take(length as u64 + 1).read_to_end(&mut unpacked),
        };
        match outcome {
            Ok(_) if unpacked.len() == length => Ok(unpacked),
            Ok(_) => Err(Broken("holds a packed part of another length than it says".to_string())),
            Err(error) => Err(Broken(format!("holds a part that cannot be unpacked: {error}"))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::Compression;
    use flate2::bufread::ZlibEncoder;
    use ruzstd::encoding::{CompressionLevel, compress_to_vec};

    #[test]
    fn both_ways_and_wrong_lengths() {
        let text = b"some text that repeats, some text that repeats".as_slice();
        let zstd = compress_to_vec(text, CompressionLevel::Fastest);
        let mut zlib = Vec::new();
        ZlibEncoder::new(text, Compression::default()).read_to_end(&mut zlib).unwrap();
        for (packing, packed) in [(Packing::Zstd, &zstd), (Packing::Zlib, &zlib)] {
            assert_eq!(packing.unpack(packed, text.len()).as_deref(), Ok(text));
            for length in [0, text.len() - 1, text.len() + 1] {
                assert!(packing.unpack(packed, length).is_err(), "{packing:?} {length}");
            }
            for cut in 0..packed.len() {
                assert!(packing.unpack(&packed[..cut], text.len()).is_err(), "{packing:?} {cut}");
            }
        }
        assert!(Packing::None.unpack(text, text.len()).is_err());
        assert!(Packing::of_name("lz4").unwrap_err().0.contains("not modelled yet"));
    }
}
