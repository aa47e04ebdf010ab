//! A case: everything that decides a random run, as a value that can be printed and made smaller.

use crate::dice::Dice;
use crate::generate;
use fairground_machine::Machine;
use fairground_model::TaskSet;
use fairground_sched::Profile;
use fairground_sim::Setup;
use fairground_stdx::Ns;
use std::fmt;

/// One change to the kernel of a case.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ProfileChange {
    /// A feature switch, as written to debugfs.
    Feature(String),
    /// A tunable and its value.
    Tunable(&'static str, String),
    /// A seam and its variant.
    Seam(&'static str, &'static str),
}

/// A random run.
#[derive(Clone, PartialEq, Debug)]
pub struct Case {
    /// The seed that it was made of; also the seed of the run's streams.
    pub seed: u64,
    /// The machine.
    pub machine: Machine,
    /// The kernel by name.
    pub kernel: String,
    /// What differs from that kernel.
    pub changes: Vec<ProfileChange>,
    /// The workload.
    pub tasks: TaskSet,
    /// How long it runs.
    pub duration: Ns,
}

impl Case {
    /// The case of a seed.
    pub fn random(seed: u64) -> Case {
        let machine = generate::machine(&mut Dice::new(seed, 0));
        let (kernel, changes) = generate::profile(&mut Dice::new(seed, 1));
        let duration = Ns(Dice::new(seed, 2).between(5_000_000, 60_000_000));
        let tasks = generate::tasks(&mut Dice::new(seed, 3), &machine, &kernel, duration);
        Case { seed, machine, kernel, changes, tasks, duration }
    }

    /// The kernel with its changes; those that make an impossible mix are left out.
    pub fn profile(&self) -> Profile {
        let base = Profile::parse(&self.kernel).expect("invariant: cases are made of known kernels");
        self.changes.iter().fold(base, |profile, change| {
            let changed = match change {
                ProfileChange::Feature(text) => profile.clone().with_feature(text),
                ProfileChange::Tunable(name, value) => profile.clone().with_tunable(name, value),
                ProfileChange::Seam(name, variant) => profile.clone().with_seam(name, variant),
            };
            changed.unwrap_or(profile)
        })
    }

    /// The run, under every check of the engine.
    pub fn setup(&self) -> Setup {
        Setup {
            machine: self.machine.clone(),
            profile: self.profile(),
            tasks: self.tasks.clone(),
            seed: self.seed,
            duration: self.duration,
            paranoid: true,
        }
    }

    /// Whether kernel paths take no time on this machine.
    pub fn is_free(&self) -> bool {
        self.machine.costs.prices_ps.iter().all(|&price| price == 0)
    }
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let machine = &self.machine;
        writeln!(f, "seed {}, {} of {} with {:?}", self.seed, self.duration, self.kernel, self.changes)?;
        writeln!(
            f,
            "machine: {} CPUs, HZ {}, prices {}, jitter {}, offset {}, irq time {}, nohz {}",
            machine.cpus.len(),
            machine.hz,
            machine.costs.name,
            machine.tick_jitter,
            machine.tick_offset,
            machine.irq_time_accounting,
            machine.nohz_idle
        )?;
        for (id, cpu) in machine.cpus.iter_enumerated() {
            writeln!(
                f,
                "  CPU {id}: core {} llc {} capacity {} frequency {}",
                cpu.core, cpu.llc, cpu.capacity, cpu.freq_capacity
            )?;
        }
        for (id, task) in self.tasks.tasks.iter_enumerated() {
            writeln!(
                f,
                "  task {id}: {:?} nice {} on {:?} first {:?} {:?} slack {} does {:?}",
                task.policy,
                task.nice,
                task.affinity,
                task.first_cpu,
                task.start,
                task.timer_slack,
                self.tasks.programs[task.program].code
            )?;
        }
        for (id, pipe) in self.tasks.pipes.iter_enumerated() {
            writeln!(f, "  pipe {id}: {} messages", pipe.capacity)?;
        }
        self.tasks.changes.iter().try_for_each(|timed| writeln!(f, "  at {} ns: {:?}", timed.at.ns(), timed.change))
    }
}
