//! `irq-noise`: interrupts of devices, at random or regular times, each of a given length.

use crate::noise::{TIMES, source};
use crate::param::{Param, Values};
use crate::workload::Workload;
use fairground_model::{Mistakes, NoiseKind, TaskSet};

pub(crate) const WORKLOAD: Workload = Workload {
    name: "irq-noise",
    sentence: "Interrupts of devices that take time from CPUs, at regular or random times.",
    params: PARAMS,
    table: &[],
    percentiles: &[],
    duration: None,
    threads: None,
    build,
};

const PARAMS: &[Param] = &TIMES;

fn build(values: &Values, mistakes: &mut Mistakes) -> TaskSet {
    let mut set = TaskSet::default();
    set.noise.extend(source(NoiseKind::Interrupt, values, mistakes));
    set
}

#[cfg(test)]
mod tests {
    use crate::{Args, build};
    use fairground_model::{Gap, NoiseKind};
    use fairground_stdx::Ns;

    #[test]
    fn flags_make_a_source() {
        let args = [("cpus", "0-1"), ("every", "1ms"), ("jitter", "200us"), ("length", "50us"), ("spread", "10us")];
        let set = build("irq-noise", &Args::of(&args)).unwrap();
        let [noise] = set.noise.as_slice() else { panic!("one source") };
        assert_eq!((noise.kind, noise.cpus.unwrap().to_string()), (NoiseKind::Interrupt, "0-1".to_string()));
        assert_eq!(noise.gap, Gap::Between(Ns::from_us(800), Ns::from_us(1200)));
        assert_eq!(noise.length, (Ns::from_us(40), Ns::from_us(60)));
        let random = build("irq-noise", &Args::of(&[("random", "true"), ("every", "3ms")])).unwrap();
        assert_eq!(random.noise[0].gap, Gap::Exponential(Ns::from_ms(3)));
    }

    #[test]
    fn what_cannot_be_is_refused() {
        let refused = |pairs: &[(&str, &str)]| build("irq-noise", &Args::of(pairs)).unwrap_err().to_string();
        assert!(refused(&[("every", "1ms"), ("length", "1ms")]).contains("nothing of a CPU"));
        assert!(refused(&[("every", "0ms")]).contains("every"));
        assert!(refused(&[("jitter", "2ms"), ("every", "1ms")]).contains("jitter"));
        assert!(refused(&[("spread", "20us"), ("length", "10us")]).contains("spread"));
        assert!(refused(&[("random", "true"), ("jitter", "1us")]).contains("random"));
    }
}
