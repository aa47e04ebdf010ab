use super::*;
use fairground_model::{CpuStat, DomainStat, LbStats, Mistakes, RqStats, SdStats};
use fairground_stdx::{CpuId, CpuMask};
use proptest::prelude::*;

/// Counters that are all different, on two CPUs with two domains each.
fn numbered(added: usize, names: bool, kinds: bool) -> SchedStat {
    let mut last = 0;
    let mut next = || {
        last += 1;
        last
    };
    let lb = |next: &mut dyn FnMut() -> u64| LbStats {
        count: next(),
        balanced: next(),
        failed: next(),
        imbalance: if kinds { [next(), next(), next(), next()] } else { [next(), 0, 0, 0] },
        gained: next(),
        hot_gained: next(),
        nobusyq: next(),
        nobusyg: next(),
    };
    let cpus = (0..2).map(|cpu| CpuStat {
        cpu: CpuId::new(cpu),
        stats: RqStats { sched_count: next(), run_delay: next(), rq_cpu_time: u64::MAX, pcount: next(), ..RqStats::default() },
        legacy: 0,
        added: (0..added).map(|_| next()).collect(),
        domains: [("SMT", 2), ("MC", 34)]
            .map(|(name, cpus)| DomainStat {
                name: names.then(|| name.to_string()),
                span: CpuMask::first_n(cpus),
                stats: SdStats { lb: std::array::from_fn(|_| lb(&mut next)), alb_pushed: next(), ..SdStats::default() },
                unused: [0; 6],
            })
            .into(),
    });
    SchedStat { timestamp: 4_294_893_302, nr_cpu_ids: 36, cpus: cpus.collect() }
}

fn line(text: &str, number: usize) -> Vec<String> {
    text.lines().nth(number).unwrap_or_default().split(' ').map(str::to_string).collect()
}

/// The writer and the reader undo each other; a v15 domain line has 36 numbers, v17 has 45.
///
/// Model: 08 T02
#[test]
fn written_statistics_are_read_back_in_every_layout() {
    for (layout, words) in [(Layout::IdleFirst, 36 + 2), (Layout::BusyFirst, 36 + 2), (Layout::ByKind, 45 + 3)] {
        let by_kind = layout == Layout::ByKind;
        let file = SchedStatFile::new(layout, numbered(0, by_kind, by_kind));
        let text = write(&file);
        assert_eq!(read(&text).unwrap(), file);
        assert_eq!((line(&text, 2).len(), line(&text, 3).len()), (1 + 9, words), "{text}");
    }
    // The SIS patches: their versions are those of other layouts.
    for (version, added) in [(16, 4), (17, 6)] {
        let file = SchedStatFile { version, layout: Layout::IdleFirst, stat: numbered(added, false, false) };
        let text = write(&file);
        assert_eq!(read(&text).unwrap(), file);
        assert_eq!((line(&text, 2).len(), line(&text, 3).len()), (1 + 9 + added, 38), "{text}");
    }
    let rebased = SchedStatFile { version: 17, layout: Layout::ByKind, stat: numbered(4, true, true) };
    assert_eq!(read(&write(&rebased)).unwrap(), rebased);
}

/// White space alone is free: a text that went through another system or a mail is read, and written as the kernel has it.
#[test]
fn either_line_end_is_read_and_the_kernels_is_written() {
    let text = write(&SchedStatFile::new(Layout::ByKind, numbered(0, true, true)));
    for changed in [text.replace('\n', "\r\n"), text.replace(' ', " \t"), text.replace('\n', "\n\n")] {
        assert_eq!(write(&read(&changed).unwrap()), text, "{changed}");
    }
}

/// The first block of v15 is that of idle balancing, that of v16 the one of busy balancing.
///
/// Model: 08 T03
#[test]
fn the_first_block_of_a_domain_is_idle_in_v15_and_busy_in_v16() {
    let mut stat = numbered(0, true, false);
    stat.cpus[0].domains[0].stats.lb = [1, 2, 3].map(|count| LbStats { count, ..LbStats::default() });
    let counts = |layout| {
        let words = line(&write(&SchedStatFile::new(layout, stat.clone())), 3);
        [2, 10, 18].map(|place| words[place].clone())
    };
    assert_eq!(counts(Layout::IdleFirst), ["2", "1", "3"]);
    assert_eq!(counts(Layout::BusyFirst), ["1", "2", "3"]);
    let words = line(&write(&SchedStatFile::new(Layout::ByKind, stat.clone())), 3);
    assert_eq!([3, 14, 25].map(|place| words[place].as_str()), ["1", "2", "3"]);
}

#[test]
fn masks_have_a_digit_for_four_cpus_and_a_comma_for_32() {
    let text = write(&SchedStatFile::new(Layout::IdleFirst, numbered(0, false, false)));
    assert_eq!((line(&text, 3)[1].as_str(), line(&text, 4)[1].as_str()), ("0,00000003", "3,ffffffff"));
}

fn mistakes(text: &str) -> Vec<String> {
    let Err(Mistakes(rows)) = read(text) else { return Vec::new() };
    let line = |row: &fairground_model::Mistake| row.span.as_ref().map_or(0, |span| Mistakes::line_of(text, span.start));
    rows.iter().map(|row| format!("{}: {}", line(row), row.message)).collect()
}

#[test]
fn every_mistake_has_its_line() {
    let head = "version 15\ntimestamp 7\n";
    let cpu = |number: usize| format!("cpu{number} 0 0 1 2 3 4 5 6 7\n");
    let domain = |numbers: usize| format!("domain0 3{}\n", " 1".repeat(numbers));
    let cases: &[(String, &[&str])] = &[
        (String::new(), &["0: there is no line `version`", "0: there is no line `timestamp`", "0: there is no line `cpu`"]),
        ("version 14\n".into(), &["1: version 14 of /proc/schedstat is not modelled yet"]),
        (format!("version\n{}", cpu(0)), &["1: `version` has 0 numbers"]),
        (format!("{head}cpu0 1 2\n"), &["3: `cpu0` has 2 numbers"]),
        (
            format!("{head}cpux 1 2\ncpu9999 1\n"),
            &["3: `cpux` has no number below 1024", "4: `cpu9999` has no number below 1024"],
        ),
        (
            format!("{head}{}{}", cpu(0).replace('u', "u+"), cpu(1).replace('u', "u0")),
            &["3: `cpu+0` has no number below 1024", "4: `cpu01` has no number below 1024"],
        ),
        (
            format!("{head}{}{}{}", cpu(0), domain(36).replace('0', "00"), domain(36).replace('0', "")),
            &["4: `domain00` has no number below 1024", "5: `domain` has no number below 1024"],
        ),
        (format!("{head}{}{}", cpu(1), cpu(1)), &["4: `cpu1` is there twice"]),
        (
            format!("{head}{}{}{}{}", cpu(0), cpu(2), cpu(0), cpu(1)),
            &["5: `cpu0` is there twice", "6: `cpu1` stands behind a CPU with a higher number"],
        ),
        (format!("{head}{head}{}", cpu(0)), &["3: a second line `version`", "4: a second line `timestamp`"]),
        (
            format!("{head}{}cpu1{}\n", cpu(0), " 1".repeat(13)),
            &["4: `cpu1` has 13 numbers, the first CPU has another number of them"],
        ),
        (
            format!("{head}cpu0 0 00 -1 +2 03 4 5 6 18446744073709551616\n"),
            &[
                "3: `00` is no count",
                "3: `-1` is no count",
                "3: `+2` is no count",
                "3: `03` is no count",
                "3: `18446744073709551616` is no count",
            ],
        ),
        (format!("{head}{}", domain(36)), &["3: `domain0` stands before any CPU"]),
        (format!("{head}{}{}{}", cpu(0), domain(36), domain(36)), &["5: `domain0` is not the next domain of cpu0"]),
        (format!("{head}{}{}", cpu(0), domain(35)), &["4: `domain0` is followed by 36 words"]),
        (format!("{head}{}{}", cpu(0), domain(37)), &["4: `domain0` is followed by 38 words"]),
        (format!("{head}{}{}", cpu(0), domain(45)), &["4: `domain0` is followed by 46 words"]),
        (
            format!("{head}{}{}", cpu(0), domain(45).replacen(' ', " MC ", 1)),
            &["4: a domain of 45 numbers in a text of version 15"],
        ),
        (format!("{head}{}{}", cpu(0), domain(36).replace('3', "x3")), &["4: `x3` is no mask of CPUs below 1024"]),
        (format!("{head}{}what is this\n", cpu(0)), &["4: `what` begins no line of /proc/schedstat"]),
    ];
    for (text, expected) in cases {
        assert_eq!(mistakes(text), *expected, "{text}");
    }
    let many = mistakes(&"x\n".repeat(1000));
    assert_eq!(many.len(), MANY, "the list of mistakes is bounded");
}

/// Where a line ends is seen by its end alone: half a number is a number too.
#[test]
fn a_text_that_is_cut_off_in_mid_line_is_refused() {
    let text = write(&SchedStatFile::new(Layout::ByKind, numbered(0, true, true)));
    let mut whole = 0;
    for length in 0..text.len() {
        let (cut, at) = (&text[..length], text[..length].lines().count());
        let found = mistakes(cut);
        match cut.ends_with('\n') || cut.is_empty() {
            true => whole += usize::from(found.is_empty()),
            false => {
                assert!(found.last().is_some_and(|last| last.starts_with(&format!("{at}: the text is cut off in"))), "{found:?}")
            }
        }
    }
    assert_eq!(whole, 5, "what ends with a line of a CPU or of a domain may be a smaller machine's text");
}

/// Twenty mistakes and the word that there are more.
const MANY: usize = 21;

#[test]
fn a_machine_of_one_cpu_has_no_domains() {
    let text = "version 16\ntimestamp 7\ncpu0 0 0 1 2 3 4 5 6 7\n";
    let file = read(text).unwrap();
    assert_eq!((file.layout, file.stat.nr_cpu_ids, file.stat.cpus.len()), (Layout::BusyFirst, 1, 1));
    assert_eq!(write(&file), text);
}

/// What was read is written and read again to the same; what was not has mistakes whose places lie in the text.
fn is_read_or_refused(text: &str) {
    match read(text) {
        Ok(file) => assert_eq!(read(&write(&file)).as_ref(), Ok(&file), "{text}"),
        Err(Mistakes(rows)) => {
            assert!(!rows.is_empty(), "{text}");
            for row in rows {
                assert!(row.span.is_none_or(|span| text.get(span).is_some()) && !row.hint.is_empty(), "{}: {text}", row.message);
            }
        }
    }
}

proptest! {
    /// No text breaks the reader; what it takes it can write and take again.
    #[test]
    fn any_text_is_read_or_refused(text in "(version 1[4-8]\n|timestamp [0-9]{1,3}\n|cpu[0-9]( [0-9]{1,2}){9}\n|domain0 [0-9a-f]{1,9}( [0-9]){36}\n|[a-z0-9 ]{0,9}\n){0,12}") {
        is_read_or_refused(&text);
    }

    /// Texts of every version with some characters changed, cut off, and with a stretch of another one behind.
    #[test]
    fn changed_texts_are_read_or_refused(
        (layout, added) in prop::sample::select(vec![(Layout::IdleFirst, 0), (Layout::IdleFirst, 6), (Layout::BusyFirst, 0), (Layout::ByKind, 0)]),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<char>()), 0..12),
        (end, from) in any::<(prop::sample::Index, prop::sample::Index)>(),
    ) {
        let by_kind = layout == Layout::ByKind;
        let whole = write(&SchedStatFile::new(layout, numbered(added, by_kind, by_kind)));
        let mut text: Vec<char> = whole.chars().collect();
        text.truncate(end.index(whole.len() + 1));
        text.extend(whole[from.index(whole.len())..].chars());
        for (at, change) in changes {
            let at = at.index(text.len());
            text[at] = change;
        }
        is_read_or_refused(&text.into_iter().collect::<String>());
    }
}
