//! A folder in memory, and a tar archive of it.

use fairground_formats::Folder;

pub(crate) struct Files {
    names: Vec<String>,
    bytes: Vec<Vec<u8>>,
}

impl Files {
    pub(crate) fn new(files: Vec<(String, Vec<u8>)>) -> Files {
        let (names, bytes) = files.into_iter().unzip();
        Files { names, bytes }
    }
}

impl Folder for Files {
    fn names(&self) -> &[String] {
        &self.names
    }
    fn size(&self, part: usize) -> u64 {
        self.bytes[part].len() as u64
    }
    fn read_at(&mut self, part: usize, offset: u64, length: usize, into: &mut Vec<u8>) -> std::io::Result<()> {
        let rest = self.bytes[part].get(offset as usize..).unwrap_or(&[]);
        into.clear();
        into.extend_from_slice(&rest[..length.min(rest.len())]);
        Ok(())
    }
}

/// The files as a tar archive (POSIX.1-1988 ustar).
pub(crate) fn tar(files: &[(String, Vec<u8>)]) -> Vec<u8> {
    let mut archive = Vec::new();
    for (name, bytes) in files {
        let mut header = [0; 512];
        header[..name.len()].copy_from_slice(name.as_bytes());
        header[100..108].copy_from_slice(b"0000644\0");
        header[124..136].copy_from_slice(format!("{:011o}\0", bytes.len()).as_bytes());
        header[156] = b'0';
        header[257..265].copy_from_slice(b"ustar\x0000");
        let sum: u32 = header.iter().map(|&byte| u32::from(byte)).sum::<u32>() + 8 * u32::from(b' ');
        header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
        archive.extend(header);
        archive.extend_from_slice(bytes);
        archive.resize(archive.len().next_multiple_of(512), 0);
    }
    archive.resize(archive.len() + 1024, 0);
    archive
}
