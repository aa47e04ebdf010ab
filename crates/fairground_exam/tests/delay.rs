//! The worst delay of a task where it is known by arithmetic.

#![allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use fairground_exam::{Measure, worst_delay};
use fairground_stdx::Ns;

/// A machine of two CPUs without prices, and these tables.
fn delay(tables: &str, sleep: Option<Ns>) -> Ns {
    let text = format!(
        "duration = \"500ms\"\n[machine]\npreset = \"smp-2\"\nhz = 1000\ncosts = \"zero\"\n[profile]\nkernel = \"6.1\"\n\
         preemption = \"full\"\nperiod_phase = \"boot\"\n{tables}"
    );
    worst_delay(&text, "worker", Measure::Delays { sleep }).unwrap()
}

#[test]
fn a_task_that_runs_alone_has_none() {
    assert_eq!(delay("[[workload]]\ntasks = [{ name = \"worker\", do = [\"run 1ms\", \"sleep 2ms\"] }]\n", None), Ns::ZERO);
}

#[test]
fn a_throttled_task_waits_for_the_next_period() {
    let tables = "[[group]]\npath = \"/a\"\n\"cpu.max\" = \"20000 100000\"\n[[workload]]\ngroup = \"/a\"\n\
                  tasks = [{ name = \"worker\", hog = true }]\n";
    assert_eq!(delay(tables, None), Ns::from_ms(80));
}

#[test]
fn who_waits_at_the_end_of_the_run_has_waited_to_there() {
    let tables = "[[workload]]\ntasks = [{ name = \"worker\", do = [\"sleep 10ms\", \"run 1ms\"], cpus = \"0\", timer_slack = \"0ns\" },\n\
                  { name = \"other\", hog = true, policy = \"fifo:50\", cpus = \"0\", start = \"105ms\" }]\n";
    // After nine rounds of 11 ms it sleeps until 109 ms.
    assert_eq!(delay(tables, None), Ns::from_ms(500 - 109));
}

#[test]
fn the_whole_wait_for_a_lock_counts_as_one() {
    let with = |does: &str| format!("\"enter\", \"lock l\", {does}, \"unlock l\", \"leave\"");
    let tables = format!(
        "[[workload]]\nlocks = {{ l = \"mutex fifo\" }}\ntasks = [\n\
         {{ name = \"worker\", program = [\"sleep 10ms\", {}, \"exit\"], cpus = \"0\", timer_slack = \"0ns\" }},\n\
         {{ name = \"holder\", program = [{}, \"exit\"], cpus = \"1\" }}]\n",
        with("\"kernel 1ms\""),
        with("\"kernel 5ms\", \"sleep 20ms\", \"kernel 5ms\"")
    );
    // From 10 ms on; the sleep of the holder, from 5 ms on, has a slack of 50 us.
    assert_eq!(delay(&tables, None), Ns::from_us(20_050));
}

#[test]
fn a_late_timer_counts_where_the_length_of_the_sleep_is_known() {
    let tables = "[[workload]]\ntasks = [{ name = \"worker\", do = [\"run 1ms\", \"sleep 5ms\"], timer_slack = \"3ms\" }]\n";
    assert_eq!(delay(tables, None), Ns::ZERO);
    assert_eq!(delay(tables, Some(Ns::from_ms(5))), Ns::from_ms(3));
}

#[test]
fn a_device_stops_the_task_that_runs() {
    let tables = "[[workload]]\ntasks = [{ name = \"worker\", hog = true, cpus = \"0\" }]\n\
                  [[workload]]\nname = \"irq-noise\"\nargs = { cpus = \"0\", every = \"50ms\", length = \"4ms\" }\n";
    assert_eq!(delay(tables, None), Ns::from_ms(4));
}
