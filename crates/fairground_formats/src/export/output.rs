//! Output that remembers its first failure.

use std::io::{self, BufWriter, Write};

/// A buffered output. After a failure nothing more is written.
pub(crate) struct Output<'w> {
    out: BufWriter<Box<dyn Write + 'w>>,
    failure: Option<io::Error>,
}

impl<'w> Output<'w> {
    pub(crate) fn new(out: Box<dyn Write + 'w>) -> Output<'w> {
        Output { out: BufWriter::new(out), failure: None }
    }
    pub(crate) fn write(&mut self, bytes: &[u8]) {
        if self.failure.is_none() {
            self.failure = self.out.write_all(bytes).err();
        }
    }
    /// Writes what is buffered; gives the first failure.
    pub(crate) fn finish(mut self) -> io::Result<()> {
        match self.failure.take() {
            Some(failure) => Err(failure),
            None => self.out.flush(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Full;
    impl Write for Full {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::Error::other("disk full"))
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn the_first_failure_is_kept_until_the_end() {
        let mut output = Output::new(Box::new(Full));
        (0..10_000).for_each(|_| output.write(b"0123456789"));
        assert_eq!(output.finish().unwrap_err().to_string(), "disk full");
        let mut output = Output::new(Box::new(Full));
        output.write(b"x");
        assert!(output.finish().is_err());
    }
}
