//! Whether a program needs anything of the system that it runs on.

/// First bytes of a 64-bit little-endian ELF file.
const MAGIC: &[u8] = b"\x7fELF\x02\x01";
/// Program header types: the dynamic loader's name.
const PT_INTERP: u64 = 3;
/// Section header types: symbols of the linker, which strip takes out.
const SHT_SYMTAB: u64 = 2;

/// A table of headers: where its place, the length of a row and the number of rows stand in the file's header.
struct Headers {
    place: usize,
    row: usize,
    count: usize,
    /// Where the type stands in a row.
    kind: usize,
}

const PROGRAM: Headers = Headers { place: 0x20, row: 0x36, count: 0x38, kind: 0 };
const SECTION: Headers = Headers { place: 0x28, row: 0x3a, count: 0x3c, kind: 4 };

/// Refuses a program that a dynamic loader must load, and one with symbols.
pub(super) fn check(bytes: &[u8]) -> Result<(), String> {
    if !bytes.starts_with(MAGIC) {
        return Err("the program is no 64-bit ELF file".to_string());
    }
    let kinds = |headers: &Headers| kinds(bytes, headers).ok_or("the program's headers are cut off");
    if kinds(&PROGRAM)?.contains(&PT_INTERP) {
        return Err("the program is not linked statically: it names a dynamic loader".to_string());
    }
    if kinds(&SECTION)?.contains(&SHT_SYMTAB) {
        return Err("the program is not stripped".to_string());
    }
    Ok(())
}

fn kinds(bytes: &[u8], headers: &Headers) -> Option<Vec<u64>> {
    let place = usize::try_from(number(bytes, headers.place, 8)?).ok()?;
    let (row, count) = (number(bytes, headers.row, 2)? as usize, number(bytes, headers.count, 2)? as usize);
    (0..count).map(|index| number(bytes, place.checked_add(index * row)? + headers.kind, 4)).collect()
}

fn number(bytes: &[u8], at: usize, length: usize) -> Option<u64> {
    let bytes = bytes.get(at..at.checked_add(length)?)?;
    Some(bytes.iter().rev().fold(0, |number, &byte| number << 8 | u64::from(byte)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A header with one program header and one section header of these types.
    fn file(program: u8, section: u8) -> Vec<u8> {
        let mut bytes = vec![0; 0x40];
        bytes[..MAGIC.len()].copy_from_slice(MAGIC);
        for (at, value) in [(0x20, 0x40), (0x28, 0x48), (0x36, 8), (0x38, 1), (0x3a, 8), (0x3c, 1)] {
            bytes[at] = value;
        }
        bytes.extend([program, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, section, 0, 0, 0]);
        bytes
    }

    #[test]
    fn a_static_stripped_program_passes_and_no_other() {
        assert_eq!(check(&file(1, 1)), Ok(()));
        assert!(check(&file(3, 1)).unwrap_err().contains("dynamic loader"));
        assert!(check(&file(1, 2)).unwrap_err().contains("stripped"));
        assert!(check(&file(1, 1)[..0x44]).unwrap_err().contains("cut off"));
        assert!(check(b"#!/bin/sh").is_err());
    }

    #[test]
    fn this_test_itself_is_neither_static_nor_stripped() {
        let own = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        assert!(check(&own).is_err());
    }
}
