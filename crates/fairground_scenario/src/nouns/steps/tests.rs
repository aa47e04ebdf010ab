use super::*;
use fairground_model::LockKind;

fn names() -> Names {
    Names {
        tasks: vec!["a task".to_string(), "child".to_string()],
        pipes: vec!["p".to_string(), "r1 r2".to_string()],
        words: vec!["w".to_string(), "a word".to_string()],
        marks: vec!["done".to_string()],
        parts: vec!["parse".to_string()],
        pools: vec!["p".to_string(), "a read".to_string()],
        locks: vec![("sem".to_string(), LockKind::Rwsem), ("a mutex".to_string(), LockKind::Mutex)],
        groups: vec!["/web".to_string(), "/web/api".to_string()],
    }
}

fn read_one(step: &str) -> (Vec<Instr>, Mistakes) {
    let mut m = Mistakes::default();
    (read(vec![Spanned { value: step, span: 0..step.len() }], &names(), &mut m), m)
}

#[test]
fn what_is_written_reads_back() {
    for step in [
        "run 3ms",
        "run 1ms..3ms",
        "kernel 7ns",
        "kernel 7ns..8ns",
        "runtime 2us",
        "kernel-runtime 2us",
        "until r7",
        "sleep 0ns",
        "io 5ms",
        "sleep 1us..2us",
        "now r3",
        "run ~3ms",
        "kernel ~3ms",
        "sleep ~20us",
        "let r0 5",
        "let r0 r7",
        "plus r1 2",
        "minus r1 r2",
        "times r1 2",
        "over r1 2",
        "getcpu r3",
        "index r7",
        "if 1/16 to 0",
        "mark done",
        "part parse",
        "part other",
        "slice-ext on",
        "slice-ext off",
        "fault 2us",
        "fault 1us..2us",
        "touch p r3",
        "touch p 17 read",
        "touch a read r0",
        "touch a read r0 read",
        "time-of-day r3",
        "load w r0",
        "load a word[r1] r0",
        "store w 18446744073709551615",
        "store a word r2",
        "spin w 1",
        "futex-wait w[r2] 0",
        "futex-wait w r3",
        "futex-wake a word 7",
        "if r0 = 5 to 1",
        "if r0 <= r1 to 0",
        "timer r0 10ms absolute",
        "timer r1 10ms relative",
        "slack 0ns",
        "write p",
        "write p r2",
        "read r1 r2 r3",
        "fork a task",
        "wait",
        "yield",
        "exec",
        "exit",
        "thread-clock",
        "thread-clock r2",
        "nice -5",
        "policy batch",
        "slice base",
        "slice 5ms",
        "affinity 0-3,8",
        "cgroup /",
        "cgroup /web/api",
        "enter",
        "leave",
        "cond-resched",
        "might-sleep",
        "nopreempt 1ms",
        "irqoff 1us..2us",
        "irqoff ~2us",
        "lock sem read",
        "lock sem write",
        "unlock sem",
        "lock a mutex",
        "unlock a mutex",
        "jump 1",
        "repeat 5 to 0 c3",
    ] {
        let (code, wrong) = read_one(step);
        assert!(wrong.0.is_empty(), "{step}: {wrong}");
        assert_eq!(text(&code[0], &names()).as_deref(), Some(step));
    }
    assert_eq!(read_one("repeat 5 to 0").0, [Instr::Repeat { counter: 0, times: 5, to: 0 }]);
    assert_eq!(read_one("read p").0, [Instr::Read { pipe: PipeId::new(0), into: 0 }]);
    assert_eq!(read_one("run 2ms..2ms").0, [Instr::Run { work: Ns::from_ms(2), mode: Mode::User }]);
}

#[test]
fn a_fork_of_a_row_starts_all_of_it_and_jumps_still_count_steps() {
    let names = Names { tasks: ["p", "w-0", "w-1", "w-2", "x"].map(str::to_string).to_vec(), ..names() };
    let list = ["fork w", "run 1ms", "repeat 5 to 1", "jump 0", "jump 5", "fork w-1"];
    let mut m = Mistakes::default();
    let code = read(list.map(|step| Spanned { value: step, span: 0..1 }).to_vec(), &names, &mut m);
    assert!(m.0.is_empty(), "{m}");
    let fork = |row| Instr::Fork { task: TaskId::from_index(row) };
    assert_eq!(code[..3], [fork(1), fork(2), fork(3)]);
    assert_eq!(code[4..], [Instr::Repeat { counter: 0, times: 5, to: 3 }, Instr::Jump { to: 0 }, Instr::Jump { to: 7 }, fork(2)]);
}

#[test]
fn steps_have_names_and_jumps_go_to_them() {
    let read_list = |list: &[&'static str]| {
        let mut m = Mistakes::default();
        let names = Names { tasks: ["w-0", "w-1"].map(str::to_string).to_vec(), ..names() };
        (read(list.iter().map(|step| Spanned { value: *step, span: 0..1 }).collect(), &names, &mut m), m)
    };
    let (named, m) = read_list(&["fork w", "top: run 1ms", "if 1/2 to end", "repeat 5 to top c1", "jump top", "end:"]);
    assert!(m.0.is_empty(), "{m}");
    let (numbered, _) = read_list(&["fork w", "run 1ms", "if 1/2 to 5", "repeat 5 to 1 c1", "jump 1"]);
    assert_eq!(named, numbered);
    for (list, part) in [
        (&["top: run 1ms", "top: run 2ms"][..], "two steps are called `top`"),
        (&["2nd: run 1ms"], "`2nd` is no name of a step"),
        (&[": run 1ms"], "`` is no name of a step"),
        (&["top: dance"], "unknown step `dance`"),
        (&["top: run 1ms", "jump tip"], "`tip` is no step"),
    ] {
        let (_, wrong) = read_list(list);
        assert_eq!(wrong.0.len(), 1, "{list:?}: {wrong}");
        assert!(wrong.0[0].message.contains(part), "{list:?}: {wrong}");
    }
    assert!(read_list(&["top: run 1ms", "jump tip"]).1.0[0].hint.contains("Did you mean `top`?"));
}

#[test]
fn what_has_no_spelling_is_not_written() {
    assert_eq!(text(&Instr::Add { reg: 0, time: Ns(1) }, &names()), None);
    assert_eq!(text(&Instr::Fork { task: TaskId::new(7) }, &names()), None);
    assert_eq!(text(&Instr::Write { pipe: PipeId::new(7), value: None }, &names()), None);
}

#[test]
fn mistakes_are_named() {
    for (step, part) in [
        ("dance 3ms", "unknown step `dance`"),
        ("run 3ms..1ms", "ends before it begins"),
        ("run 3", "`3`"),
        ("now r8", "`r8` is no register"),
        ("timer r0 10ms", "incomplete"),
        ("timer r0 0ms absolute", "a period of 0"),
        ("timer r0 1ms often", "incomplete"),
        ("write q", "no pipe of this workload is called `q`"),
        ("write", "no pipe of this workload is called ``"),
        ("fork nobody", "no task of this workload is called `nobody`"),
        ("wait 3ms", "`wait` takes no value"),
        ("jump 2", "step 2 does not exist"),
        ("jump up", "`up` is no step"),
        ("repeat 5", "not understood"),
        ("repeat 5 to 0 c16", "not understood"),
        ("load w", "incomplete"),
        ("load v r0", "no word of this workload is called `v`"),
        ("store w[5] 1", "`5` is no register"),
        ("spin w -1", "no whole number"),
        ("if r0 < 5 to 0", "not understood"),
        ("if r0 = 5 to 2", "step 2 does not exist"),
        ("if 1/16 to 2", "step 2 does not exist"),
        ("if 3/2 to 0", "`3/2` is no chance"),
        ("if 1/0 to 0", "`1/0` is no chance"),
        ("if 1/x to 0", "`1/x` is no chance"),
        ("index 7", "`7` is no register"),
        ("mark", "`` is no name of a mark or part"),
        ("part a b", "`a b` is no name of a mark or part"),
        ("slice-ext", "`slice-ext ` is not understood"),
        ("fault", "``"),
        ("fault 2us..1us", "ends before it begins"),
        ("touch p", "`touch p` is incomplete"),
        ("touch q r0", "no pool of this workload is called `q`"),
        ("touch p r8", "`r8` is no register"),
        ("nice 99", "nice 99 does not exist"),
        ("lock sim read", "no lock of this workload is called `sim`"),
        ("lock sem", "`lock sem` without a mode"),
        ("lock a mutex read", "`a mutex` has no readers"),
        ("enter now", "`enter` takes no value"),
        ("cgroup /web/apo", "no group `/web/apo`"),
        ("cgroup web", "`web` is no path"),
        ("cgroup", "`` is no path"),
    ] {
        let (code, wrong) = read_one(step);
        assert!(code.is_empty(), "{step}");
        assert_eq!(wrong.0.len(), 1, "{step}: {wrong}");
        assert!(wrong.0[0].message.contains(part), "{step}: {wrong}");
    }
}
