//! The load file: what a client asks for, in which order, and how large that is.
//!
//! Sizes of requests and replies are those of the program. How often each operation comes, how long names are and how much
//! is read or written at once are guesses.

use fairground_stdx::{RngStream, StreamKind};

/// One request and its reply.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Exchange {
    /// Bytes of the request, the header included.
    pub(super) request: u32,
    /// Bytes of the reply, the header included.
    pub(super) reply: u32,
    /// Bytes of it that count as throughput.
    pub(super) counted: u32,
}

/// An operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Operation {
    Read,
    Create,
    PathInfo,
    Close,
    Write,
    FindFirst,
    FsInfo,
    FileInfo,
    Unlink,
    SetInfo,
    Flush,
    Rename,
    Lock,
    Unlock,
}

/// How often each comes, in twentieths of a percent before they are made to add up; a guess.
const SHARES: [(Operation, u32); 14] = [
    (Operation::Read, 600),
    (Operation::Create, 380),
    (Operation::PathInfo, 340),
    (Operation::Close, 280),
    (Operation::Write, 190),
    (Operation::FindFirst, 134),
    (Operation::FsInfo, 64),
    (Operation::FileInfo, 60),
    (Operation::Unlink, 78),
    (Operation::SetInfo, 32),
    (Operation::Flush, 26),
    (Operation::Rename, 16),
    (Operation::Lock, 1),
    (Operation::Unlock, 1),
];

/// Operations of one round through the load file.
const ROUND: u32 = 300;
/// Bytes of a name; a guess.
const NAME: u32 = 30;
/// Names that find first returns; a guess.
const FOUND: u32 = 10;
/// Bytes that are read or written at once, each as often as the others: 24.8 KiB on the average; a guess.
const TRANSFERS: [u32; 5] = [4 << 10, 8 << 10, 16 << 10, 32 << 10, 64 << 10];
/// Where the order of the operations comes from: it is the same in all runs, as it would be in a file.
const ORDER_SEED: u64 = 1;

impl Operation {
    /// What is sent and answered; `transfer` bytes are read or written.
    const fn exchange(self, transfer: u32) -> Exchange {
        const NAMED: u32 = 2 + 2 * NAME + 2;
        let (request, reply, counted) = match self {
            Operation::Read => (59, 59 + transfer, transfer),
            Operation::Write => (59 + transfer, 55, transfer),
            Operation::Create => (70 + NAMED, 87, 0),
            Operation::PathInfo => (55 + 2 * NAME, 71, 0),
            Operation::Close => (47, 39, 0),
            Operation::FindFirst => (59 + 2 * NAME, 39 + 90 * FOUND, 0),
            Operation::FsInfo | Operation::FileInfo => (59, 71, 0),
            Operation::Unlink => (39 + NAMED, 39, 0),
            Operation::SetInfo => (71, 47, 0),
            Operation::Flush => (41, 39, 0),
            Operation::Rename => (47 + 2 * (NAME + NAME), 39, 0),
            Operation::Lock | Operation::Unlock => (51, 39, 0),
        };
        Exchange { request, reply, counted }
    }
}

/// One round through the load file.
pub(super) fn exchanges() -> Vec<Exchange> {
    let all: u32 = SHARES.iter().map(|row| row.1).sum();
    // The k-th operation of the round is the one in whose share its place k * all / ROUND falls.
    let operation = |place: u32| {
        let mut end = 0;
        let of_share = |row: &&(Operation, u32)| {
            end += row.1;
            place < end
        };
        SHARES.iter().find(of_share).map_or(Operation::Read, |row| row.0)
    };
    let mut round: Vec<Operation> = (0..ROUND).map(|k| operation(k * all / ROUND)).collect();
    let mut rng = RngStream::new(ORDER_SEED, StreamKind::TaskBehavior, 0);
    for last in (1..round.len()).rev() {
        round.swap(last, rng.between(0, last as u64) as usize);
    }
    let mut transfers = [0usize; 2];
    let exchange = |operation| {
        let turn = &mut transfers[usize::from(operation == Operation::Write)];
        *turn += usize::from(matches!(operation, Operation::Read | Operation::Write));
        operation.exchange(TRANSFERS[*turn % TRANSFERS.len()])
    };
    round.into_iter().map(exchange).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_those_of_the_program() {
        let sizes = |operation: Operation| (operation.exchange(4096).request, operation.exchange(4096).reply);
        assert_eq!(sizes(Operation::Read), (59, 59 + 4096));
        assert_eq!(sizes(Operation::Write), (59 + 4096, 55));
        assert_eq!(sizes(Operation::Create), (70 + 2 + 60 + 2, 87));
        assert_eq!(sizes(Operation::Rename), (47 + 120, 39));
    }

    #[test]
    fn a_round_has_its_shares() {
        let round = exchanges();
        assert_eq!(round.len(), ROUND as usize);
        let reads = round.iter().filter(|row| row.request == 59 && row.counted > 0).count();
        let writes = round.iter().filter(|row| row.reply == 55 && row.counted > 0).count();
        // 600 and 190 of 2202.
        assert_eq!((reads, writes), (82, 26));
        let mean = round.iter().map(|row| row.counted).sum::<u32>() / (reads + writes) as u32;
        assert!((20 << 10..30 << 10).contains(&mean), "{mean}");
        assert!(round.iter().all(|row| row.request > 4 && row.reply > 4));
    }
}
