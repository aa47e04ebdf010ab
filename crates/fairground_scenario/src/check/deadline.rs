//! Whether the kernel and the machine grant what deadline tasks ask for.

use crate::nouns::workload::Workload;
use fairground_machine::Machine;
use fairground_model::{Instr, Mistakes, Program, Start};
use fairground_sched::Refused;
use fairground_sched::profile::Profile;
use fairground_stdx::{CpuMask, Instant};
/// Finds deadline tasks that the kernel would refuse: for their parameters wherever they stand in a workload, for their CPUs, and,
/// of those that are there from the beginning on, for what they ask for together. What comes later is looked at when it comes.
pub(crate) fn check(workloads: &[Workload], profile: &Profile, machine: Option<&Machine>, m: &mut Mistakes) {
    let view = machine.map(Machine::view);
    let mut first = Vec::new();
    for workload in workloads {
        // Tasks of one row have one program: what is wrong with them is said once.
        let mut told = None;
        for (id, task) in workload.tasks.tasks.iter_enumerated() {
            let params = task.policy.deadline();
            let covers = |online: &CpuMask| task.affinity.is_none_or(|cpus| cpus.and(online).weight() == online.weight());
            let bound = params.is_some() && view.as_ref().is_some_and(|view| !covers(&view.online));
            let refused = in_program(&workload.tasks.programs[task.program], profile)
                .or_else(|| profile.check_dl_params(&params?).err())
                .or(bound.then_some(Refused::Affinity));
            if let Some(why) = refused {
                if told.replace(task.program) != Some(task.program) {
                    workload.mistake(id, format!("task `{}`: {why}", task.name), why.hint(), m);
                }
            } else if let Some(params) = params.filter(|_| task.start == Start::At(Instant::ZERO)) {
                first.push((workload, id, params));
            }
        }
    }
    let Some(view) = view else { return };
    if let Err((index, why)) = profile.admits(&view, first.iter().map(|row| row.2)) {
        let (workload, id, _) = first[index];
        workload.mistake(id, format!("task `{}`: {why}", workload.tasks.tasks[id].name), why.hint(), m);
    }
}

/// Why the kernel would refuse the first policy of a program that it refuses for its parameters.
fn in_program(program: &Program, profile: &Profile) -> Option<Refused> {
    let set = program.code.iter().filter_map(|instr| match instr {
        Instr::SetPolicy { policy } => policy.deadline(),
        _ => None,
    });
    set.filter_map(|params| profile.check_dl_params(&params).err()).next()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test stops where it fails")]
    use crate::{Overrides, Scenario};
    use fairground_model::{DlParams, Policy};
    use fairground_stdx::Ns;
    use std::path::Path;

    fn read(kernel: &str, cpus: u32, rest: &str) -> Result<Scenario, String> {
        let text = format!(
            "duration = \"1s\"\n[machine]\npreset = \"smp-{cpus}\"\n[profile]\nkernel = \"{kernel}\"\n[[workload]]\n{rest}"
        );
        let read = Scenario::parse("test", &text, Path::new("."), &Overrides::default());
        read.and_then(|scenario| scenario.setup().map(|_| scenario)).map_err(|wrong| wrong.to_string())
    }

    fn wrong(kernel: &str, cpus: u32, rest: &str) -> String {
        read(kernel, cpus, rest).err().unwrap_or_else(|| panic!("{rest} is read"))
    }

    #[test]
    fn a_task_row_has_its_times_beside_the_policy_or_in_it() {
        let params = |task: &str| {
            read("6.6", 2, &format!("tasks = [{{ name = \"a\", hog = true, {task} }}]"))
                .unwrap()
                .tasks()
                .tasks
                .iter()
                .next()
                .unwrap()
                .policy
        };
        let ms = Ns::from_ms;
        let expected = |deadline, reclaim| Policy::Deadline(DlParams { runtime: ms(10), deadline, period: ms(100), reclaim });
        assert_eq!(params("policy = \"deadline:10ms/100ms\""), expected(ms(100), false));
        assert_eq!(params("policy = \"deadline\", dl_runtime = \"10ms\", dl_period = \"100ms\""), expected(ms(100), false));
        let all =
            "policy = \"deadline\", dl_runtime = \"10ms\", dl_deadline = \"40ms\", dl_period = \"100ms\", dl_reclaim = true";
        assert_eq!(params(all), expected(ms(40), true));
    }

    #[test]
    fn what_the_kernel_refuses_is_refused_with_line_and_hint() {
        let task =
            |task: &str| format!("tasks = [\n{{ name = \"first\", hog = true }},\n{{ name = \"a\", hog = true, {task} }},\n]");
        for (rest, said) in [
            ("policy = \"deadline\"", "needs `dl_runtime`"),
            ("dl_runtime = \"1ms\"", "times of a deadline task without its policy"),
            ("policy = \"batch\", dl_runtime = \"1ms\"", "times of a deadline task beside policy `batch`"),
            ("policy = \"deadline:20ms/10ms\"", "a deadline task's runtime of 20ms is longer than its deadline of 10ms (EINVAL)"),
            (
                "policy = \"deadline:1ms/20ms/10ms\"",
                "a deadline task's deadline of 20ms is longer than its period of 10ms (EINVAL)",
            ),
            ("policy = \"deadline:1us/10ms\"", "a deadline task's runtime of 1us is too short (EINVAL)"),
            ("policy = \"deadline:10us/50us\"", "this kernel grants no deadline task a period of 50us (EINVAL)"),
            ("policy = \"deadline:10ms/5s\"", "this kernel grants no deadline task a period of 5s (EINVAL)"),
            ("policy = \"deadline:10ms/100ms\", cpus = \"0\"", "must be allowed on all CPUs that are on line (EPERM)"),
            ("policy = \"deadline:96ms/100ms\", count = 2", "others have 95.99 %, and all may have 189.99 % (EBUSY)"),
        ] {
            let found = wrong("6.6", 2, &task(rest));
            assert!(found.contains(said) && found.starts_with("test:9: "), "{rest}: {found}");
        }
        let many = wrong("6.6", 2, &task("policy = \"deadline:20ms/10ms\", count = 3"));
        assert_eq!(
            many,
            "test:9: task `a-0`: a deadline task's runtime of 20ms is longer than its deadline of 10ms (EINVAL) (hint: It must be runtime <= deadline <= period.)"
        );
        assert!(read("4.12", 2, &task("policy = \"deadline:10us/50us\"")).is_ok());
        assert!(wrong("6.12", 1, &task("policy = \"deadline:91ms/100ms\"")).contains("servers of fair tasks 4.99 %"));
        let change = "tasks = [{ name = \"a\", hog = true }]\n[[at]]\ntime = \"10ms\"\ndo = { task = \"a\", policy = \"deadline\", dl_runtime = \"10ms\", dl_period = \"9s\" }";
        assert!(wrong("6.6", 2, change).contains("a period of 9s"));
        let tables = "[[workload.tasks]]\nname = \"first\"\nhog = true\n[[workload.tasks]]\nname = \"a\"\n";
        let program = wrong("6.6", 2, &format!("{tables}do = [\"policy deadline:5ms/4ms\", \"run 1ms\"]"));
        assert!(program.starts_with("test:10: task `a`: ") && program.contains("longer than its deadline"), "{program}");
    }
}
