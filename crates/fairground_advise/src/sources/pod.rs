//! What Kubernetes says of a container: its limit, and its request as a weight.

use super::yaml;
use crate::limit;
use crate::text::printable;
use fairground_model::CpuMax;
use fairground_scenario::Error;
use fairground_stdx::Ns;
use serde_json::{Deserializer, Value};

/// A container of a pod.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Container {
    pub(crate) pod: String,
    pub(crate) name: String,
    /// Its limit; no quota if it has none.
    pub(crate) limit: CpuMax,
    /// The cpu.weight of what it requests.
    pub(crate) weight: Option<u64>,
}

const HINT: &str = "Give what `kubectl get pod NAME -o yaml` (or -o json) prints, or the file of a Deployment.";

/// Whether a text looks like it.
pub(super) fn is_pod(head: &str) -> bool {
    if head.starts_with('{') {
        return head.contains("\"apiVersion\"") && head.contains("\"kind\"");
    }
    let starts = |word: &str| head.lines().any(|line| line.starts_with(word));
    starts("apiVersion:") && starts("kind:")
}

/// All containers of all pods in a text.
pub(super) fn read(name: &str, text: &str) -> Result<Vec<Container>, Error> {
    let documents = if text.trim_start().starts_with('{') { of_json(name, text)? } else { of_yaml(name, text)? };
    let mut containers = Vec::new();
    for document in &documents {
        match document["items"].as_array() {
            Some(items) => items.iter().try_for_each(|item| pod(name, item, &mut containers))?,
            None => pod(name, document, &mut containers)?,
        }
    }
    if containers.is_empty() {
        return Err(Error::one(name, "there are no containers in it", HINT));
    }
    Ok(containers)
}

fn of_json(name: &str, text: &str) -> Result<Vec<Value>, Error> {
    Deserializer::from_str(text)
        .into_iter::<Value>()
        .collect::<Result<Vec<Value>, _>>()
        .map_err(|wrong| Error::one(format!("{name}:{}", wrong.line()), format!("this is no JSON: {wrong}"), HINT))
}

fn of_yaml(name: &str, text: &str) -> Result<Vec<Value>, Error> {
    let broken = |(line, wrong): (usize, String)| {
        Error::one(format!("{name}:{line}"), format!("this YAML cannot be read: {}", printable(&wrong)), HINT)
    };
    yaml::documents(text).map_err(broken)
}

/// The containers of a pod, or of what makes pods: its template.
fn pod(name: &str, document: &Value, containers: &mut Vec<Container>) -> Result<(), Error> {
    let of = |spec: &'_ Value| spec["containers"].is_array();
    let template = &document["spec"]["template"]["spec"];
    let job = &document["spec"]["jobTemplate"]["spec"]["template"]["spec"];
    let Some(spec) = [&document["spec"], template, job].into_iter().find(|spec| of(spec)) else { return Ok(()) };
    let pod = document["metadata"]["name"].as_str().unwrap_or_default().to_string();
    let whole = &spec["resources"];
    for row in spec["containers"].as_array().into_iter().flatten() {
        let own = |kind: &str| quantity(name, &row["resources"][kind]["cpu"]);
        let limit = match own("limits")? {
            None => quantity(name, &whole["limits"]["cpu"])?,
            own => own,
        };
        // A limit without a request is the request too.
        let request = own("requests")?.or(limit);
        containers.push(Container {
            pod: pod.clone(),
            name: row["name"].as_str().unwrap_or_default().to_string(),
            limit: limit.map_or(CpuMax::UNLIMITED, limit_of),
            weight: request.map(weight_of),
        });
    }
    Ok(())
}

/// A quantity of CPUs, thousandths rounded up, as the kubelet takes it.
fn quantity(name: &str, value: &Value) -> Result<Option<u64>, Error> {
    let text = match value {
        Value::Null => return Ok(None),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let quota = limit::quantity(&text).filter(|_| !text.ends_with('%')).and_then(|limit| limit.quota);
    // 100 us of quota per thousandth.
    quota.map(|quota| Some(quota.0.div_ceil(100_000))).ok_or_else(|| {
        Error::one(
            name,
            format!("`{}` is no number of CPUs", printable(&text)),
            "Kubernetes writes CPUs (`2`, `0.5`) or millicores (`1500m`).",
        )
    })
}

/// The quota that the kubelet sets: 1 ms at least.
fn limit_of(milli: u64) -> CpuMax {
    let quota = Ns(milli.saturating_mul(100_000)).clamp(CpuMax::LEAST, CpuMax::LARGEST);
    CpuMax { quota: Some(quota), ..CpuMax::UNLIMITED }
}

/// The cpu.weight of a request: shares are 1024 for each CPU, and 2 to 262144 of them become 1 to 10000.
/// Newer runtimes use another curve; a weight matters only beside other groups.
fn weight_of(milli: u64) -> u64 {
    let shares = (u128::from(milli) * 1024 / 1000).clamp(2, 262_144);
    u64::try_from(1 + (shares - 2) * 9_999 / 262_142).unwrap_or(10_000)
}

/// The container that is meant: by name, or the only one.
pub(crate) fn choose(
    file: &str,
    containers: &[Container],
    pod: Option<&str>,
    container: Option<&str>,
) -> Result<Container, Error> {
    let is_meant = |row: &&Container| {
        container.is_none_or(|name| row.name == name)
            && pod.is_none_or(|name| row.pod.is_empty() || crate::pattern::matches(name, &row.pod))
    };
    let meant: Vec<&Container> = containers.iter().filter(is_meant).collect();
    if let [one] = meant[..] {
        return Ok(one.clone());
    }
    let listed = if meant.is_empty() { containers.iter().collect() } else { meant.clone() };
    let names: Vec<String> =
        listed.iter().take(8).map(|row| format!("{} (pod {})", printable(&row.name), printable(&row.pod))).collect();
    let message = match meant.len() {
        0 => "no container in it is the one that was named".to_string(),
        count => format!("it has {count} containers, each with its own limit"),
    };
    Err(Error::one(
        file,
        message,
        format!("Name one: --container NAME, and --pod NAME if there are several pods. It has {}.", names.join(", ")),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    const POD: &str = "apiVersion: v1\nkind: Pod\nmetadata:\n  annotations:\n    x: |\n      kind: Lies\n  name: web-1\nspec:\n  containers:\n  - name: app\n    \
                       resources:\n      limits:\n        cpu: 1500m\n      requests:\n        cpu: 500m\n  - name: proxy\n    resources: {}\nstatus: {}\n";

    #[test]
    fn limits_and_weights_are_read_of_yaml_and_json() {
        assert!(is_pod(POD));
        let found = read("pod.yaml", POD).unwrap();
        assert_eq!(found[0].limit.to_string(), "150000 100000");
        assert_eq!((found[0].weight, found[1].limit, found[1].weight), (Some(20), CpuMax::UNLIMITED, None));
        let json = "{\"apiVersion\":\"v1\",\"kind\":\"List\",\"items\":[{\"kind\":\"Pod\",\"metadata\":{\"name\":\"a\"},\"spec\":{\"containers\":\
                    [{\"name\":\"app\",\"resources\":{\"limits\":{\"cpu\":2}}}]}}]}";
        assert!(is_pod(json));
        let found = read("pod.json", json).unwrap();
        assert_eq!((found[0].limit.to_string().as_str(), found[0].weight), ("200000 100000", Some(79)));
        let template = POD
            .replace("kind: Pod", "kind: Deployment")
            .replace("spec:\n", "spec:\n template:\n  spec:\n")
            .replace("\n  - ", "\n   - ")
            .replace("  containers", "   containers")
            .replace("    resources", "     resources")
            .replace("      limits", "       limits")
            .replace("        cpu", "         cpu")
            .replace("      requests", "       requests");
        assert_eq!(read("d.yaml", &template).unwrap()[0].limit.to_string(), "150000 100000");
    }

    #[test]
    fn several_containers_must_be_named() {
        let found = read("pod.yaml", POD).unwrap();
        assert_eq!(choose("pod.yaml", &found, None, Some("app")).unwrap().weight, Some(20));
        let wrong = |pod, container| choose("pod.yaml", &found, pod, container).unwrap_err().to_string();
        assert!(wrong(None, None).contains("2 containers") && wrong(None, None).contains("app (pod web-1), proxy (pod web-1)"));
        assert!(wrong(None, Some("x")).contains("no container in it"));
        assert!(wrong(Some("db*"), Some("app")).contains("no container in it"));
        assert!(choose("pod.yaml", &found, Some("web-*"), Some("proxy")).is_ok());
    }

    #[test]
    fn broken_pods_are_refused() {
        let wrong = |text: &str| read("pod.yaml", text).unwrap_err().to_string();
        assert!(wrong(&POD.replace("1500m", "1500mm")).contains("`1500mm` is no number of CPUs"));
        assert!(wrong(&POD.replace("1500m", "50%")).contains("no number of CPUs"));
        assert!(wrong("apiVersion: v1\nkind: Service\n").contains("no containers"));
        assert!(wrong("apiVersion: v1\nkind: [\n").contains("cannot be read"));
        assert!(wrong("{\"apiVersion\": 1, \"kind\": ").contains("no JSON"));
        // Less than a kernel takes is what the kubelet makes of it.
        assert_eq!(read("p", &POD.replace("1500m", "2m")).unwrap()[0].limit.to_string(), "1000 100000");
    }
}
