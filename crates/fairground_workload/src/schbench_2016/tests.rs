//! The flags, the byte code, and what is refused.

use crate::{Args, args_of_flags, build, duration, testing};
use expect_test::expect_file;
use fairground_model::{Instr, TaskSet};
use fairground_stdx::Ns;

fn read(flags: &str) -> Result<TaskSet, fairground_model::Mistakes> {
    let flags: Vec<String> = flags.split_whitespace().map(String::from).collect();
    build("schbench-2016", &args_of_flags("schbench-2016", &flags)?)
}

fn set(flags: &str) -> TaskSet {
    let set = read(flags).unwrap();
    testing::check(&set);
    set
}

fn sleeps(set: &TaskSet) -> Vec<Instr> {
    let code = set.programs.iter().flat_map(|program| &program.code);
    code.filter(|instr| matches!(instr, Instr::SleepBetween { .. } | Instr::Sleep { .. })).cloned().collect()
}

#[test]
fn golden() {
    expect_file!["golden/one-message-two-workers.txt"].assert_eq(&testing::dump(&set("-m 1 -t 2 -s 10000 -c 15000")));
    expect_file!["golden/pipe.txt"].assert_eq(&testing::dump(&set("-m 1 -t 1 -p 4096")));
}

#[test]
fn flags_are_those_of_the_real_program() {
    let long = "--message-threads 2 --threads 16 --runtime 30 --sleeptime 30000 --cputime 30000 --pipe 0 --rps 0";
    assert_eq!(set(long), set(""));
    assert_eq!(set("-m2 -t16 -r30 -s30000 -c30000 -p0 -R0"), set(""));
    assert_eq!(set("").tasks.len(), 1 + 2 + 2 * 16);
    for wrong in ["-x", "--seconds 3", "-m 0", "-t many", "-p 2000000", "-s 3", "-R 100 -t 1", "-m", "-a"] {
        assert!(read(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn a_message_thread_sleeps_up_to_a_quarter_longer() {
    let jitter = Instr::SleepBetween { low: Ns::from_ms(10), high: Ns::from_us(12_499) };
    assert_eq!(sleeps(&set("-m 1 -t 1 -s 10000")), [jitter, Instr::Sleep { time: Ns::from_secs(30) }]);
    assert_eq!(sleeps(&set("-m 1 -t 1 -s 0")), [Instr::Sleep { time: Ns::from_secs(30) }]);
}

#[test]
fn pipe_mode_neither_spins_nor_sleeps_unless_told_to() {
    let spins =
        |set: &TaskSet| set.programs.iter().any(|program| program.code.iter().any(|i| matches!(i, Instr::RunUntil { .. })));
    assert!(!spins(&set("-p 100")) && spins(&set("-p 100 -c 30000")) && spins(&set("")));
    assert_eq!(sleeps(&set("-p 100 -m 1")).len(), 1);
}

#[test]
fn a_run_is_as_long_as_it_says() {
    let of = |pairs: &[(&str, &str)]| duration("schbench-2016", &Args::of(pairs)).unwrap();
    assert_eq!(of(&[]), Ns::from_us(31_000_000 + 67_500));
    assert_eq!(of(&[("runtime", "5"), ("sleeptime", "0"), ("cputime", "0")]), Ns::from_secs(6));
}
