//! A case: everything that decides a random run, as a value that can be printed and made smaller.

use crate::dice::Dice;
use crate::generate::{self, Told};
use fairground_machine::Machine;
use fairground_model::TaskSet;
use fairground_scenario as scenario;
use fairground_scenario::{Error, Scenario};
use fairground_sched::Profile;
use fairground_sim::{Setup, Simulation};
use fairground_stdx::Ns;
use std::fmt;

/// A random run.
#[derive(Clone, PartialEq, Debug)]
pub struct Case {
    /// The seed that it was made of; also the seed of the run's streams.
    pub seed: u64,
    /// The machine.
    pub machine: Machine,
    /// The kernel.
    pub profile: Profile,
    /// The workload.
    pub tasks: TaskSet,
    /// How long it runs.
    pub duration: Ns,
}

impl Case {
    /// The case of a seed.
    pub fn random(seed: u64) -> Case {
        let mut machine = generate::machine(&mut Dice::new(seed, 0));
        let mut profile = generate::profile(&mut Dice::new(seed, 1));
        let (mut energy, mut starve) = (Dice::new(seed, 24), Dice::new(seed, 25));
        let is_phone = generate::is_phone(&mut energy, &mut machine);
        let cpus = machine.cpus.len();
        let starved = generate::starved(&mut starve, cpus);
        let duration = starved.unwrap_or(generate::duration(&mut Dice::new(seed, 2), cpus));
        let mut tasks = generate::tasks(&mut Dice::new(seed, 3), &machine, &profile, duration);
        generate::recorded(&mut Dice::new(seed, 9), &mut machine, &mut tasks);
        generate::groups(&mut Dice::new(seed, 10), &profile, duration, &mut tasks);
        generate::locks(&mut Dice::new(seed, 11), duration, &mut profile, &mut tasks);
        generate::real_time(&mut Dice::new(seed, 12), duration, &mut tasks);
        generate::deadline(&mut Dice::new(seed, 21), &machine, duration, &mut tasks);
        generate::frequencies(&mut Dice::new(seed, 15), duration, &mut machine, &mut tasks);
        if is_phone {
            generate::saves_energy(&mut energy, duration, &mut machine, &mut tasks);
        }
        generate::capacity(&mut Dice::new(seed, 17), &profile, cpus, duration, &mut tasks);
        generate::memory(&mut Dice::new(seed, 22), &profile, duration, &mut tasks);
        if starved.is_some() {
            generate::hogs(&mut starve, cpus, &mut tasks);
        }
        let is_tight = generate::tight(&mut Dice::new(seed, 26), cpus, duration, &mut tasks);
        generate::tunables(&mut Dice::new(seed, 23), &mut profile, &tasks);
        let case = Case { seed, machine, profile, tasks, duration };
        let mut plugged = case.clone();
        if !generate::heirs(&mut Dice::new(seed, 27), cpus, duration, &mut plugged.tasks) {
            generate::hotplug(&mut Dice::new(seed, 6), cpus, duration, is_tight, &mut plugged.tasks);
        }
        // A task may be bound to a CPU that is off line then: such a mix is refused.
        if Simulation::new(plugged.setup()).is_ok() { plugged } else { case }
    }

    /// The case of a seed of which another core beside ours can be told all, under that kernel and tick rate.
    pub fn told(seed: u64, profile: &Profile, hz: u32, what: Told) -> Case {
        let (machine, duration, tasks) = generate::told(seed, profile, hz, what);
        Case { seed, machine, profile: profile.clone(), tasks, duration }
    }

    /// The run of a scenario file.
    pub fn of_scenario(scenario: &Scenario) -> Result<Case, Error> {
        let Setup { machine, profile, tasks, seed, duration, .. } = scenario.setup()?;
        Ok(Case { seed, machine, profile, tasks, duration })
    }

    /// The run, under every check of the engine.
    pub fn setup(&self) -> Setup {
        Setup {
            machine: self.machine.clone(),
            profile: self.profile.clone(),
            tasks: self.tasks.clone(),
            seed: self.seed,
            duration: self.duration,
            paranoid: true,
        }
    }

    /// Whether kernel paths take no time on this machine, nor wait for the turn of their CPU.
    pub fn is_free(&self) -> bool {
        self.machine.round_of_turns == Ns::ZERO && self.machine.costs.prices_ps.iter().all(|&price| price == 0)
    }
}

/// The scenario file that replays the case.
impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match scenario::write(&format!("vopr, seed {}", self.seed), &self.setup()) {
            Ok(text) => f.write_str(&text),
            Err(wrong) => write!(f, "# {wrong}\n# {:?}\n", self.tasks),
        }
    }
}
