//! A second core beside ours: it hears of every entry, changes nothing, and can end the run.

use crate::common::{Build, MS, US, priced_machine, setup, sleep, work};
use fairground_model::{Change, Instr, NullSink, PrevState, TaskSet};
use fairground_sched::{Sched, TaskState};
use fairground_sim::{Entry, OtherCore, Setup, Simulation, Site, Stopped};
use fairground_stdx::TaskId;
use std::cell::RefCell;
use std::rc::Rc;

/// What was heard.
#[derive(Default)]
struct Heard {
    schedules: u64,
    sleeps: u64,
    ticks: u64,
    wakes: Vec<TaskId>,
    born: Vec<TaskId>,
    yields: u64,
    changes: u64,
    softirqs: u64,
    jiffies: u64,
    stop_after: Option<u64>,
}

struct Ears(Rc<RefCell<Heard>>);

impl OtherCore for Ears {
    fn entered(&mut self, ours: &Sched, site: Site, entry: Entry<'_>) -> Result<(), String> {
        let mut heard = self.0.borrow_mut();
        heard.jiffies = site.jiffies;
        match entry {
            Entry::Schedule { prev_state } => {
                heard.schedules += 1;
                heard.sleeps += u64::from(prev_state == PrevState::Sleeping);
            }
            Entry::Tick => heard.ticks += 1,
            Entry::Wake { wakee, .. } => heard.wakes.push(wakee),
            Entry::WakeNew { child, .. } => {
                assert_eq!(ours.task(child).state, TaskState::Queued);
                heard.born.push(child);
            }
            Entry::Yield => heard.yields += 1,
            Entry::Change(Change::Nice { .. } | Change::Group { .. }) => heard.changes += 1,
            Entry::Softirq => heard.softirqs += 1,
            _ => {}
        }
        match heard.stop_after == Some(heard.ticks) {
            true => Err("the other core picks t9".to_owned()),
            false => Ok(()),
        }
    }
}

fn some_of_all(prices: &str) -> Setup {
    let mut set = TaskSet::default();
    set.task("hog", vec![Instr::SetNice { nice: 3 }, work(u64::MAX)]);
    set.task("sleeper", vec![work(300 * US), sleep(2 * MS), Instr::Yield, Instr::Jump { to: 0 }]);
    let child = set.task("child", vec![work(MS)]);
    set.tasks[child].start = fairground_model::Start::Forked;
    set.task("parent", vec![sleep(3 * MS), Instr::Fork { task: child }, Instr::WaitChildren]);
    set.at(5 * MS, Change::Nice { task: TaskId::new(0), nice: 5 });
    setup(priced_machine(2, prices), "v6.12", set, 100 * MS)
}

fn run(prices: &str, heard: Option<&Rc<RefCell<Heard>>>) -> (Simulation, Result<(), Stopped>) {
    let mut simulation = Simulation::new(some_of_all(prices)).unwrap();
    if let Some(heard) = heard {
        simulation.watch_with(Box::new(Ears(Rc::clone(heard))));
    }
    let end = simulation.run(&mut NullSink).map(drop);
    (simulation, end)
}

#[test]
fn it_hears_of_every_entry_and_changes_nothing() {
    for prices in ["zero", "xeon-spr"] {
        let heard = Rc::default();
        let ((alone, _), (watched, end)) = (run(prices, None), run(prices, Some(&heard)));
        end.unwrap();
        assert_eq!(alone.digest(), watched.digest(), "{prices}");
        let (counts, heard) = (watched.counts(), heard.borrow());
        assert_eq!(heard.ticks, counts.ticks, "{prices}");
        // A schedule() that goes on with the same task is an entry and no switch.
        assert!(heard.schedules >= counts.switches && heard.sleeps > 20, "{prices}: {}", heard.schedules);
        assert_eq!(heard.wakes.len() as u64, counts.wakeups, "{prices}");
        assert_eq!(heard.born, [0, 1, 3, 2].map(TaskId::new), "{prices}");
        assert_eq!(heard.changes, 2, "by the task and from outside");
        assert!(heard.yields > 5 && heard.softirqs > 0 && heard.jiffies > 10, "{prices}");
    }
}

#[test]
fn the_first_difference_ends_the_run() {
    let heard = Rc::new(RefCell::new(Heard { stop_after: Some(7), ..Heard::default() }));
    let (simulation, end) = run("zero", Some(&heard));
    let why = end.unwrap_err();
    assert!(matches!(&why, Stopped::OtherCore { why, .. } if why == "the other core picks t9"), "{why}");
    assert_eq!(simulation.counts().ticks, 7);
}

#[test]
#[should_panic(expected = "not copied")]
fn a_run_with_another_core_is_not_copied() {
    let (simulation, _) = run("zero", Some(&Rc::default()));
    drop(simulation.clone());
}
