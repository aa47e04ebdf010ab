use super::super::series::{Name, PROMETHEUS};
use super::*;

/// Samples of series `metric labels: time=value ...`.
fn samples(lines: &[&str]) -> Samples {
    let mut samples = Samples::default();
    for line in lines {
        let (head, points) = line.split_once(": ").unwrap();
        let (name, labels) = head.split_once(' ').unwrap_or((head, ""));
        let name = Name::find(&PROMETHEUS, name).unwrap();
        let labels: Labels = labels
            .split_whitespace()
            .map(|label| label.split_once('=').unwrap())
            .map(|(a, b)| (a.to_string(), b.to_string()))
            .collect();
        for point in points.split_whitespace() {
            let (at, value) = point.split_once('=').unwrap();
            samples.add(name, &labels, at.parse().unwrap(), value);
        }
    }
    samples
}

const USAGE: &str = "container_cpu_usage_seconds_total";

fn of(lines: &[String], select: &Select) -> Result<Counted, Error> {
    counted("m", samples(&lines.iter().map(String::as_str).collect::<Vec<_>>()), select)
}

fn named(pod: Option<&str>, container: Option<&str>) -> Select {
    Select { pod: pod.map(String::from), container: container.map(String::from), namespace: None }
}

#[test]
fn a_container_is_told_from_its_pod_its_pause_container_and_others() {
    let lines = [
        format!("{USAGE} pod=web container=app cpu=total: 1=1 2=2"),
        format!("{USAGE} pod=web container=app cpu=cpu00: 1=1 2=2"),
        format!("{USAGE} pod=web container=POD: 1=7"),
        format!("{USAGE} pod=web: 1=9 2=9"),
        format!("{USAGE} id=/kubepods: 1=99"),
    ];
    let found = of(&lines, &Select::default()).unwrap();
    assert_eq!(found.usage, [(1, 1_000_000_000), (2, 2_000_000_000)]);
    assert_eq!(found.notes[0], "container app of pod web in namespace ?");
    let two = [lines[0].clone(), format!("{USAGE} pod=web container=proxy: 1=3")];
    let wrong = of(&two, &Select::default()).unwrap_err().to_string();
    assert!(wrong.contains("2 containers of a pod are mixed") && wrong.contains("/web/proxy"), "{wrong}");
    assert_eq!(of(&two, &named(None, Some("proxy"))).unwrap().usage.len(), 1);
    let mixed = [lines[0].clone(), format!("{USAGE} pod=db container=app: 1=3")];
    assert!(of(&mixed, &Select::default()).unwrap_err().to_string().contains("2 containers in 2 pods are mixed"));
    assert!(of(&mixed, &named(Some("d*"), None)).is_ok());
    assert!(of(&mixed, &named(Some("x"), None)).unwrap_err().to_string().contains("the container that was named"));
}

#[test]
fn starts_of_a_container_follow_each_other_and_the_same_twice_is_refused() {
    let lines = [
        format!("{USAGE} pod=web container=app id=b: 35=0 45=5 55=9"),
        format!("{USAGE} pod=web container=app id=a: 10=50 20=60 30=70 40=71"),
    ];
    let found = of(&lines, &Select::default()).unwrap();
    assert_eq!(found.usage.iter().map(|point| point.0).collect::<Vec<u64>>(), [10, 20, 30, 35, 45, 55]);
    let twice = [
        format!("{USAGE} pod=web container=app job=a: 10=50 20=60 30=70 40=80"),
        format!("{USAGE} pod=web container=app job=b: 11=50 21=60 31=70 41=80"),
    ];
    let wrong = of(&twice, &Select::default()).unwrap_err().to_string();
    assert!(wrong.contains("there twice at the same time") && wrong.contains("job=\"b\""), "{wrong}");
}

#[test]
fn cpus_that_are_counted_one_by_one_are_added_up() {
    let lines = [format!("{USAGE} container=app cpu=cpu00: 1=1 2=2 3=3"), format!("{USAGE} container=app cpu=cpu01: 1=5 2=7")];
    assert_eq!(of(&lines, &Select::default()).unwrap().usage, [(1, 6_000_000_000), (2, 9_000_000_000)]);
}

#[test]
fn the_limit_at_the_end_counts_and_samples_before_its_change_do_not() {
    let lines = [
        format!("{USAGE} container=app: 1=1 2=2 3=3 4=4"),
        "container_spec_cpu_quota container=app: 1=200000 2=200000 3=50000 4=50000".to_string(),
        "container_spec_cpu_period container=app: 1=100000 4=50000".to_string(),
        "kube_pod_container_resource_limits exported_container=app container=ksm resource=cpu: 1=7".to_string(),
        "kube_pod_container_resource_limits exported_container=app container=ksm resource=memory: 1=900000".to_string(),
    ];
    let found = of(&lines, &Select::default()).unwrap();
    assert_eq!(found.limit.unwrap().to_string(), "50000 50000");
    assert_eq!((found.usage.len(), found.notes.iter().any(|note| note.contains("the limit changed"))), (2, true));
    // Without a quota of cAdvisor that of kube-state-metrics counts.
    let found = of(&[lines[0].clone(), lines[3].clone()], &Select::default()).unwrap();
    assert_eq!(found.limit.unwrap().to_string(), "700000 100000");
    let none = of(&[lines[0].clone(), "container_spec_cpu_quota container=app: 1=-1".to_string()], &Select::default()).unwrap();
    assert_eq!(none.limit, Some(CpuMax::UNLIMITED));
}
