//! The pages of a pipe whose messages have a size.

use fairground_model::PAGE_SIZE;
use std::collections::VecDeque;

/// A page in use.
#[derive(Clone, Copy, Debug)]
struct PipeBuffer {
    /// Bytes of it that were ever written: those that were read since are not written again.
    end: u32,
    /// Messages that were not read yet.
    messages: u32,
}

/// The pages of one pipe.
#[derive(Clone, Debug)]
pub(super) struct Pages {
    max_usage: usize,
    message_bytes: u32,
    bufs: VecDeque<PipeBuffer>,
}

impl Pages {
    /// Room for `max_usage` pages of messages of so many bytes, none of which is longer than a page.
    pub(super) fn new(max_usage: usize, message_bytes: u32) -> Pages {
        Pages { max_usage, message_bytes, bufs: VecDeque::new() }
    }
    /// Whether all pages are in use; the last may have room for small messages all the same.
    pub(super) fn is_full(&self) -> bool {
        self.bufs.len() >= self.max_usage
    }
    /// Takes a message in, if there is room: behind others in the last page, or in a page of its own. Who has waited for
    /// room (`slept`) does not look into the last page again.
    ///
    /// Kernel: pipe.c pipe_write(), v4.12–
    pub(super) fn write(&mut self, slept: bool) -> bool {
        let bytes = self.message_bytes;
        let last = self.bufs.back_mut().filter(|last| !slept && last.end + bytes <= PAGE_SIZE);
        if let Some(last) = last {
            last.end += bytes;
            last.messages += 1;
            return true;
        }
        let room = !self.is_full();
        if room {
            self.bufs.push_back(PipeBuffer { end: bytes, messages: 1 });
        }
        room
    }
    /// Gives the oldest message out; whether its page is free now.
    ///
    /// Kernel: pipe.c pipe_read(), v4.12–
    pub(super) fn read(&mut self) -> bool {
        let first = self.bufs.front_mut().expect("invariant: a message lies in a page");
        first.messages -= 1;
        let freed = first.messages == 0;
        if freed {
            self.bufs.pop_front();
        }
        freed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fill(bytes: u32) -> (Pages, usize) {
        let mut pages = Pages::new(16, bytes);
        let count = (0..100_000).take_while(|_| pages.write(false)).count();
        (pages, count)
    }

    /// As measured on Linux 6.18: writes of 100 bytes into a pipe that nobody reads.
    #[test]
    fn forty_messages_of_100_bytes_share_a_page_and_640_fit() {
        let (mut pages, count) = fill(100);
        assert_eq!(count, 640);
        let freed: Vec<bool> = (0..40).map(|_| pages.read()).collect();
        assert_eq!(freed.iter().position(|&freed| freed), Some(39), "{freed:?}");
        assert!(!pages.is_full() && pages.write(false));
    }

    #[test]
    fn messages_share_pages_only_whole() {
        let counts = [1, 2048, 2049, 4096].map(|bytes| fill(bytes).1);
        assert_eq!(counts, [65_536, 32, 16, 16]);
    }

    #[test]
    fn who_has_slept_begins_a_page_and_others_go_on_in_it() {
        let (mut pages, _) = fill(100);
        (0..40).for_each(|_| {
            pages.read();
        });
        assert!(pages.write(true) && pages.is_full());
        assert!(!pages.write(true), "the page has room, but not for who has slept");
        assert_eq!((0..100).take_while(|_| pages.write(false)).count(), 39);
    }

    /// What was read of the last page leaves no room in it.
    #[test]
    fn a_page_is_written_once() {
        let mut pages = Pages::new(1, 100);
        assert_eq!((0..100).take_while(|_| pages.write(false)).count(), 40);
        assert!((0..39).all(|_| !pages.read()));
        assert!(!pages.write(false));
        assert!(pages.read() && pages.write(false));
    }
}
