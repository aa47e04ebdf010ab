//! Runs of states with the same seeds, each made once.

use crate::decide::{Noise, Says, is_away, is_nearer, is_there};
use crate::effect::Effect;
use fairground::run::{self, RunEnding, RunOptions};
use fairground_metrics::{Metric, Paired, Rule, Verdict};
use fairground_model::NullSink;
use fairground_scenario::{Control, Error, Scenario};
use fairground_sched::profile::Profile;
use fairground_stdx::nearest;
use rayon::prelude::*;

/// So many seeds are looked at first of a state.
pub(crate) const FIRST: usize = 2;
/// The ends are looked at with so many seeds, one after the other.
const LOOKS: [usize; 3] = [8, 24, 64];
/// The error of all looks together is one in this many.
const ERROR_ONE_IN: u64 = 20;

/// A state is carried over from half of what lies between the ends on: the test asks for all of it, or nothing.
pub(crate) const HALF: i128 = 1;
/// The same from a quarter on: it asks for half of it.
pub(crate) const QUARTER: i128 = 2;

/// Why a search ended before its answer.
pub(crate) enum Stop {
    /// The caller stopped it.
    Interrupted,
    /// A run failed.
    Failed(Error),
}

impl From<Error> for Stop {
    fn from(error: Error) -> Stop {
        Stop::Failed(error)
    }
}

/// A state with what its runs gave.
struct Known {
    state: Profile,
    /// The metric for each seed, from the first on.
    values: Vec<u64>,
    /// The digest of each run.
    digests: Vec<u128>,
}

/// The runs of a search.
pub(crate) struct Runs<'a> {
    scenario: &'a Scenario,
    control: Control<'a>,
    name: &'a str,
    /// Seeds at most.
    most: usize,
    /// What matters, in thousandths of the mean of the beginning.
    worth_permille: u64,
    known: Vec<Known>,
    metric: Option<Metric>,
    /// That of the differences between the ends.
    noise: Noise,
}

impl<'a> Runs<'a> {
    pub(crate) fn new(
        scenario: &'a Scenario,
        metric: &'a str,
        worth_permille: u64,
        seeds: u64,
        control: Control<'a>,
    ) -> Runs<'a> {
        let most = usize::try_from(seeds.max(1)).unwrap_or(usize::MAX);
        let noise = Noise::of(&[]);
        Runs { scenario, control, name: metric, most, worth_permille, known: Vec::new(), metric: None, noise }
    }
    /// How many runs were made.
    pub(crate) fn made(&self) -> usize {
        self.known.iter().map(|known| known.values.len()).sum()
    }
    /// The metric, with no value, once anything ran.
    pub(crate) fn metric(&self) -> Option<&Metric> {
        self.metric.as_ref()
    }
    /// How many seeds are made of a state, from so many on, until a test is decided.
    fn counts(&self, first: usize, most: usize) -> Vec<usize> {
        let most = most.min(self.most);
        let doubled = std::iter::successors(Some(first.min(most)), |count| Some(count * 2)).take_while(|&count| count < most);
        doubled.chain([most]).collect()
    }

    /// Runs these states with at least so many seeds, on all CPUs of this host.
    pub(crate) fn make(&mut self, states: &[&Profile], seeds: usize) -> Result<(), Stop> {
        let mut places: Vec<usize> = states.iter().map(|state| self.place(state)).collect();
        places.sort_unstable();
        places.dedup();
        let lacking = |place: &usize| self.known[*place].values.len()..seeds.min(self.most);
        let jobs: Vec<(usize, Scenario)> = places
            .iter()
            .flat_map(|place| {
                let side = self.scenario.with_profile(self.known[*place].state.clone());
                lacking(place).map(move |run| (*place, side.with_seed(side.seed.wrapping_add(run as u64)))).collect::<Vec<_>>()
            })
            .collect();
        let control = self.control;
        let ran: Result<Vec<_>, Error> =
            jobs.par_iter().map(|(_, job)| run::run(job, &RunOptions::default(), &mut NullSink, control.quiet())).collect();
        let ran = ran?;
        if ran.iter().any(|outcome| outcome.ending == RunEnding::Interrupted) {
            return Err(Stop::Interrupted);
        }
        for ((place, _), outcome) in jobs.iter().zip(&ran) {
            let value = self.read(&outcome.metrics)?;
            let known = &mut self.known[*place];
            known.values.push(value);
            known.digests.push(outcome.digest);
        }
        let made = self.made() as u64;
        self.control.at(made, made + 1);
        Ok(())
    }

    /// Where a state stands among those that are known, whatever it is called.
    fn place(&mut self, state: &Profile) -> usize {
        if let Some(place) = self.known.iter().position(|known| known.state.rows_apart(state).is_empty()) {
            return place;
        }
        self.known.push(Known { state: state.clone(), values: Vec::new(), digests: Vec::new() });
        self.known.len() - 1
    }

    /// The metric of a run.
    fn read(&mut self, metrics: &[Metric]) -> Result<u64, Error> {
        let name = self.name;
        if let Some(metric) = metrics.iter().find(|metric| metric.name == name) {
            self.metric.get_or_insert_with(|| Metric { value: 0, ..metric.clone() });
            return Ok(metric.value);
        }
        let near = nearest::nearest(name, metrics.iter().map(|metric| metric.name.as_str()));
        let hint = near.map_or("`fairground list metrics` has them all.".to_string(), |near| format!("Did you mean `{near}`?"));
        Err(Error::one("--metric", format!("no run has a metric `{name}`"), hint))
    }

    /// The differences between two states, pair by pair, with at least so many seeds.
    fn differences(&mut self, from: &Profile, to: &Profile, seeds: usize) -> Result<Vec<i128>, Stop> {
        self.make(&[from, to], seeds)?;
        let (from, to) = (self.place(from), self.place(to));
        let pairs = self.known[from].values.iter().zip(&self.known[to].values);
        Ok(pairs.map(|(&from, &to)| i128::from(to) - i128::from(from)).collect())
    }

    /// What lies between two states, over so many seeds at least.
    pub(crate) fn effect(&mut self, from: &Profile, to: &Profile, seeds: usize) -> Result<Effect, Stop> {
        self.effect_by(from, to, seeds, ERROR_ONE_IN)
    }

    /// The same over the first seeds only, whatever is known.
    pub(crate) fn first_effect(&mut self, from: &Profile, to: &Profile) -> Result<Effect, Stop> {
        let mut effect = self.effect(from, to, FIRST)?;
        effect.from.truncate(FIRST);
        effect.to.truncate(FIRST);
        effect.interval = None;
        Ok(effect)
    }

    fn effect_by(&mut self, from: &Profile, to: &Profile, seeds: usize, p_one_in: u64) -> Result<Effect, Stop> {
        self.make(&[from, to], seeds)?;
        let values = [from, to].map(|state| self.place(state)).map(|place| self.known[place].values.clone());
        let [mut from, mut to] = values;
        let pairs = from.len().min(to.len()).min(self.most);
        from.truncate(pairs);
        to.truncate(pairs);
        let metric = self.metric.as_ref().expect("invariant: what was run has been read");
        let paired = Paired { name: String::new(), unit: metric.unit, better: metric.better, a: from, b: to };
        let compared = paired.compare(Rule { p_one_in, worth_permille: self.worth_permille });
        let moves = !matches!(compared.verdict, Verdict::NoDifference | Verdict::Inconclusive);
        let settled = moves || compared.verdict == Verdict::NoDifference;
        Ok(Effect { from: paired.a, to: paired.b, interval: compared.effect.interval, moves, settled })
    }

    /// What lies between the ends, with the number of seeds that it took to know. Its noise counts in all later tests.
    pub(crate) fn ends(&mut self, a: &Profile, b: &Profile) -> Result<(Effect, usize), Stop> {
        // Where the seed decides nothing, one run of a state tells all.
        self.make(&[a, b], FIRST)?;
        if self.most >= FIRST && [a, b].iter().all(|state| self.ignores_seed(state)) {
            self.most = 1;
            let mut effect = self.effect_by(a, b, 1, 1)?;
            let worth = effect.before() * i128::from(self.worth_permille) / 1000;
            (effect.moves, effect.settled) = (effect.mean() != 0 && effect.mean().abs() >= worth, true);
            return Ok((effect, 1));
        }
        let mut looks: Vec<usize> = LOOKS.into_iter().filter(|&look| look < self.most).collect();
        if self.most <= LOOKS[LOOKS.len() - 1] {
            looks.push(self.most);
        }
        let error_one_in = ERROR_ONE_IN * looks.len() as u64;
        let mut seen = None;
        for look in looks {
            let effect = self.effect_by(a, b, look, error_one_in)?;
            self.noise = Noise::of(&effect.differences());
            let settled = effect.settled;
            seen = Some((effect, look));
            if settled {
                break;
            }
        }
        Ok(seen.expect("invariant: there is a look at least"))
    }

    /// Whether what lies between `base` and `state` is what lies between `ends`, or a `part` of it, rather than nothing. With equal runs it is
    /// nothing, without a test: the rows between were not asked, or gave the same answers.
    pub(crate) fn carries(
        &mut self,
        base: &Profile,
        state: &Profile,
        ends: (&Profile, &Profile),
        part: i128,
    ) -> Result<bool, Stop> {
        self.make(&[base, state], FIRST)?;
        let mut differences = Vec::new();
        let mut size = (0, 1);
        for seeds in self.counts(FIRST, usize::MAX) {
            let whole = self.differences(ends.0, ends.1, seeds)?;
            size = (whole.iter().sum(), whole.len() as i128 * part);
            differences = self.differences(base, state, seeds)?;
            if self.runs_equally(base, state) {
                return Ok(false);
            }
            match is_there(&differences, size, self.noise) {
                Says::Yes => return Ok(true),
                Says::No => return Ok(false),
                Says::Open => {}
            }
        }
        Ok(is_nearer(&differences, size))
    }

    fn ignores_seed(&mut self, state: &Profile) -> bool {
        let place = self.place(state);
        self.known[place].digests.windows(2).all(|pair| pair[0] == pair[1])
    }

    fn runs_equally(&mut self, a: &Profile, b: &Profile) -> bool {
        let (a, b) = (self.place(a), self.place(b));
        self.known[a].digests.iter().zip(&self.known[b].digests).all(|(a, b)| a == b)
    }

    /// Whether two states lie at least `size` apart, by at most so many seeds; what stays open does not.
    pub(crate) fn lies_apart(&mut self, from: &Profile, to: &Profile, size: i128, most: usize) -> Result<bool, Stop> {
        for seeds in self.counts(FIRST, most) {
            let differences = self.differences(from, to, seeds)?;
            let mean = differences.iter().sum::<i128>() / differences.len().max(1) as i128;
            match is_away(&differences, size, self.noise) {
                Says::Yes => return Ok(mean.abs() >= size),
                Says::No => return Ok(false),
                // Not worth another look.
                Says::Open if mean.abs() < size => return Ok(false),
                Says::Open => {}
            }
        }
        Ok(false)
    }
}
