//! `steal`: the host of a virtual machine, which runs something else on its physical CPUs for a while.

use crate::noise::{TIMES, source};
use crate::param::{Param, Values};
use crate::workload::Workload;
use fairground_model::{Mistakes, NoiseKind, TaskSet};

pub(crate) const WORKLOAD: Workload = Workload {
    name: "steal",
    sentence: "The host of a virtual machine takes CPUs away, at regular or random times.",
    params: PARAMS,
    table: &[],
    percentiles: &[],
    duration: None,
    threads: None,
    build,
};

const PARAMS: &[Param] = &{
    let [cpus, every, jitter, random, length, spread, start] = TIMES;
    let untold =
        Param::switch("untold", "The guest is not told (no CONFIG_PARAVIRT_TIME_ACCOUNTING): what is stolen counts as run time.");
    [cpus, every, jitter, random, length, spread, start, untold]
};

fn build(values: &Values, mistakes: &mut Mistakes) -> TaskSet {
    let mut set = TaskSet::default();
    set.noise.extend(source(NoiseKind::Stolen { told: !values.switch("untold") }, values, mistakes));
    set
}

#[cfg(test)]
mod tests {
    use crate::{Args, build};
    use fairground_model::NoiseKind;

    #[test]
    fn the_guest_may_not_be_told() {
        let kind = |pairs: &[(&str, &str)]| build("steal", &Args::of(pairs)).unwrap().noise[0].kind;
        assert_eq!(kind(&[]), NoiseKind::Stolen { told: true });
        assert_eq!(kind(&[("untold", "true")]), NoiseKind::Stolen { told: false });
    }
}
