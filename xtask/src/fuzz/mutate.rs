//! Mutants: files of a corpus with a few changes, each of a kind that programs and people make.

/// SplitMix64, begun with a seed and the number of the mutant, so that each can be made again alone.
pub(super) struct Draws(u64);

impl Draws {
    pub(super) fn of(seed: u64, number: u64) -> Draws {
        let mut draws = Draws(seed);
        let begin = draws.next();
        Draws(begin ^ number.wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
    /// A number below `end`; 0 where there is none.
    pub(super) fn below(&mut self, end: usize) -> usize {
        (self.next() % end.max(1) as u64) as usize
    }
}

/// Numbers at which ranges end, and words that mean something in our files.
const WORDS: [&str; 40] = [
    "0",
    "1",
    "-1",
    "2",
    "7",
    "64",
    "1024",
    "1025",
    "65535",
    "100000",
    "2147483647",
    "-2147483648",
    "4294967296",
    "1000000000",
    "1125899906842623",
    "1125899906842624",
    "9223372036854775807",
    "-9223372036854775808",
    "18446744073709551615",
    "18446744073709551616",
    "1ns",
    "1us",
    "100ms",
    "13d",
    "1e308",
    "nan",
    "0.5",
    "-0",
    "",
    "\"",
    "'",
    "[",
    "{",
    "\u{1b}[31m",
    "\u{202e}",
    "true",
    "idle",
    "fifo 99",
    "v4.12",
    "v7.2",
];

/// Most changes of one mutant.
const CHANGES: usize = 6;
/// Longest piece that is copied.
const PIECE: usize = 4096;
/// Longest mutant.
const LENGTH: usize = 1 << 20;

/// A mutant, with the name of the file that it was made of: some formats are told by their endings.
pub(super) fn mutant(corpus: &[(String, Vec<u8>)], draws: &mut Draws) -> (String, Vec<u8>) {
    let (name, bytes) = &corpus[draws.below(corpus.len())];
    let mut bytes = bytes.clone();
    // Most of what is changed at random is refused at once: half of the mutants stay what they were, with other numbers and lines.
    let is_gentle = draws.below(2) == 0;
    for _ in 0..=draws.below(if is_gentle { CHANGES / 2 } else { CHANGES }) {
        let other = &corpus[draws.below(corpus.len())].1;
        if is_gentle {
            vary(&mut bytes, other, draws)
        } else {
            change(&mut bytes, other, draws)
        }
        bytes.truncate(LENGTH);
    }
    (name.clone(), bytes)
}

/// Numbers that a text may hold where it holds one already.
const NUMBERS: [&str; 14] =
    ["0", "1", "2", "3", "10", "99", "100", "120", "1000", "1024", "65536", "1000000", "2147483648", "1125899906842623"];

/// Another number, or another line that begins with the same word, so that the file stays what it is.
fn vary(bytes: &mut Vec<u8>, other: &[u8], draws: &mut Draws) {
    let at = draws.below(bytes.len());
    if draws.below(4) > 0 {
        let Some(start) = bytes[at..].iter().position(u8::is_ascii_digit).map(|offset| at + offset) else { return };
        let end = bytes[start..].iter().position(|byte| !byte.is_ascii_digit()).map_or(bytes.len(), |length| start + length);
        bytes.splice(start..end, NUMBERS[draws.below(NUMBERS.len())].bytes());
        return;
    }
    let start = line_start(bytes, at);
    let end = bytes[start..].iter().position(|&byte| byte == b'\n').map_or(bytes.len(), |length| start + length + 1);
    let first = |line: &[u8]| line.iter().copied().take_while(|&byte| is_of_word(byte) || byte == b'[').collect::<Vec<u8>>();
    let wanted = first(&bytes[start..end]);
    let alike: Vec<&[u8]> = lines(other).filter(|line| first(line) == wanted).collect();
    if !alike.is_empty() {
        bytes.splice(start..end, alike[draws.below(alike.len())].iter().copied());
    }
}

fn change(bytes: &mut Vec<u8>, other: &[u8], draws: &mut Draws) {
    let at = draws.below(bytes.len());
    match draws.below(11) {
        0 if !bytes.is_empty() => bytes[at] ^= 1 << draws.below(8),
        1 if !bytes.is_empty() => bytes[at] = draws.below(256) as u8,
        2 => bytes.truncate(at),
        3 => drop(bytes.drain(at..(at + draws.below(PIECE)).min(bytes.len()))),
        4 => {
            let piece = piece(bytes, draws);
            insert(bytes, at, &piece);
        }
        5 => {
            let piece = piece(other, draws);
            insert(bytes, at, &piece);
        }
        6 => {
            let line = lines(bytes).nth(draws.below(lines(bytes).count())).unwrap_or_default().to_vec();
            insert(bytes, line_start(bytes, at), &line);
        }
        7 => {
            let line = lines(other).nth(draws.below(lines(other).count())).unwrap_or_default().to_vec();
            insert(bytes, line_start(bytes, at), &line);
        }
        8 => {
            let start = line_start(bytes, at);
            let length = bytes[start..].iter().position(|&byte| byte == b'\n').map_or(0, |end| end + 1);
            drop(bytes.drain(start..start + length));
        }
        // Twice as likely: most of what is read is a word or a number.
        _ => {
            let (start, end) = word_around(bytes, at);
            let word = match draws.below(3) {
                0 => word_of(other, draws),
                _ => WORDS[draws.below(WORDS.len())].as_bytes().to_vec(),
            };
            bytes.splice(start..end, word);
        }
    }
}

fn insert(bytes: &mut Vec<u8>, at: usize, piece: &[u8]) {
    let at = at.min(bytes.len());
    bytes.splice(at..at, piece.iter().copied());
}

fn piece(bytes: &[u8], draws: &mut Draws) -> Vec<u8> {
    let from = draws.below(bytes.len());
    let length = draws.below(PIECE).min(bytes.len() - from);
    bytes[from..from + length].to_vec()
}

fn lines(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    bytes.split_inclusive(|&byte| byte == b'\n')
}

fn line_start(bytes: &[u8], at: usize) -> usize {
    bytes[..at].iter().rposition(|&byte| byte == b'\n').map_or(0, |end| end + 1)
}

fn is_of_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_' || byte == b'.'
}

/// The word that holds a place, or that place alone.
fn word_around(bytes: &[u8], at: usize) -> (usize, usize) {
    let start = bytes[..at].iter().rposition(|&byte| !is_of_word(byte)).map_or(0, |end| end + 1);
    let end = bytes[at..].iter().position(|&byte| !is_of_word(byte)).map_or(bytes.len(), |length| at + length);
    (start, end)
}

/// A word of another file, so that keys and values of both meet.
fn word_of(bytes: &[u8], draws: &mut Draws) -> Vec<u8> {
    let (start, end) = word_around(bytes, draws.below(bytes.len()));
    bytes[start..end.min(start + 200)].to_vec()
}
