//! Asks a Prometheus server for the counters of a container. The connection is made from this machine, by plain HTTP.

use super::container::Select;
use super::prometheus;
use super::series::{PROMETHEUS, Samples};
use crate::text::printable;
use fairground_scenario::Error;
use std::time::Duration;
use ureq::Agent;

/// A server, and for how long to look back.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Ask {
    /// Such as `http://localhost:9090`.
    pub url: String,
    /// In the units of Prometheus, such as `6h`.
    pub last: String,
}

/// Until each answer is there in full.
const TIMEOUT: Duration = Duration::from_secs(30);
/// Largest answer, bytes: a day of samples of a container each second has some MB.
const LARGEST: u64 = 64 << 20;

const FORWARD: &str = "`kubectl port-forward -n monitoring svc/prometheus-operated 9090` makes a server reachable as http://localhost:9090. Or ask it \
                       yourself, and give the saved JSON: docs/advise.md has the queries.";

fn wrong(url: &str, message: impl Into<String>) -> Error {
    Error::one(printable(url), message, FORWARD)
}

impl Ask {
    /// The queries, one for each counter. A range in square brackets makes the server give all samples as they were scraped.
    pub(crate) fn queries(&self, select: &Select) -> Result<Vec<String>, Error> {
        let is_unit = |letter: char| "smhdw".contains(letter);
        if !self.last.starts_with(|letter: char| letter.is_ascii_digit())
            || !self.last.ends_with(is_unit)
            || !self.last.chars().all(|letter| letter.is_ascii_digit() || is_unit(letter))
        {
            return Err(Error::one(
                "--last",
                format!("`{}` is no length of time", printable(&self.last)),
                "Write it as Prometheus does, such as 90m, 6h or 2d.",
            ));
        }
        if select.pod.is_none() {
            return Err(Error::one(
                "--prometheus",
                "of which pod is not said",
                "Name it: --pod NAME, and --container NAME if it has several.",
            ));
        }
        let wanted = [("namespace", &select.namespace), ("pod", &select.pod), ("container", &select.container)];
        let mut labels: Vec<String> = wanted.iter().filter_map(|(label, name)| Some(equals(label, name.as_deref()?))).collect();
        if select.container.is_none() {
            // The pod as a whole and its pause container are counted beside its containers.
            labels.push("container!~\"|POD\"".to_string());
        }
        let labels = labels.join(",");
        Ok(PROMETHEUS.iter().map(|row| format!("{}{{{labels}}}[{}]", row.name, self.last)).collect())
    }

    /// Asks all of them.
    pub(crate) fn samples(&self, select: &Select) -> Result<Samples, Error> {
        self.samples_within(select, TIMEOUT)
    }

    fn samples_within(&self, select: &Select, timeout: Duration) -> Result<Samples, Error> {
        let queries = self.queries(select)?;
        let url = self.endpoint()?;
        let config = Agent::config_builder()
            .timeout_global(Some(timeout))
            .max_redirects(0)
            .max_redirects_will_error(false)
            .http_status_as_error(false)
            .proxy(None)
            .build();
        let agent = Agent::from(config);
        let mut samples = Samples::default();
        let names: Vec<&str> = PROMETHEUS.iter().map(|row| row.name).collect();
        let range = queries[0].strip_prefix(names[0]).unwrap_or_default();
        samples.notes.push(format!("asked {} for {range} of {}", printable(&url), names.join(", ")));
        for query in &queries {
            let text = one(&agent, &url, query)?;
            // Not all servers have all counters: what is missing is seen when all are there.
            if !is_empty(&text) {
                samples.extend(prometheus::read(&printable(&url), &text)?);
            }
        }
        if samples.series.is_empty() {
            return Err(wrong(
                &self.url,
                format!("it has no counter of such a container in the last {}; asked: {}", self.last, queries[0]),
            ));
        }
        Ok(samples)
    }

    fn endpoint(&self) -> Result<String, Error> {
        let url = self.url.trim().trim_end_matches('/');
        if url.starts_with("https://") {
            return Err(wrong(url, "https is not spoken: the program has no TLS"));
        }
        let host = url.strip_prefix("http://").map(|rest| rest.split('/').next().unwrap_or_default());
        match host {
            Some(host) if host.contains('@') => Err(wrong("--prometheus", "names and passwords in a URL are not sent")),
            Some(host) if !host.is_empty() && !url.contains(['?', '#', ' ']) => Ok(format!("{url}/api/v1/query")),
            _ => Err(wrong(url, "this is no URL of a server, such as http://localhost:9090")),
        }
    }
}

/// A label that is a name, or a pattern with `*` and `?`.
fn equals(label: &str, name: &str) -> String {
    // Once for the string, and once more for the pattern in it.
    let quoted = |text: &str| text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
    if !name.contains(['*', '?']) {
        return format!("{label}=\"{}\"", quoted(name));
    }
    let pattern = name.chars().fold(String::new(), |mut pattern, letter| {
        match letter {
            '*' => pattern += ".*",
            '?' => pattern += ".",
            letter if letter.is_alphanumeric() || letter == '-' || letter == '_' => pattern.push(letter),
            letter => pattern.extend(['\\', letter]),
        }
        pattern
    });
    format!("{label}=~\"{}\"", quoted(&pattern))
}

fn is_empty(text: &str) -> bool {
    text.contains("\"result\":[]")
}

fn one(agent: &Agent, url: &str, query: &str) -> Result<String, Error> {
    let failed = |cause: ureq::Error| match cause {
        ureq::Error::Timeout(_) => wrong(url, format!("no answer in time; asked: {query}")),
        ureq::Error::BodyExceedsLimit(_) => Error::one(
            printable(url),
            format!("the answer is larger than {} MiB", LARGEST >> 20),
            "Look at less: --last 1h, or one --container.",
        ),
        cause => wrong(url, format!("no answer: {}", printable(&cause.to_string()))),
    };
    let mut response = agent.get(url).query("query", query).call().map_err(failed)?;
    let status = response.status().as_u16();
    let text = response.body_mut().with_config().limit(LARGEST).lossy_utf8(true).read_to_string().map_err(failed)?;
    match status {
        200 => Ok(text),
        401 | 403 => Err(wrong(url, format!("the server wants to know who asks (HTTP {status}), and no password is sent"))),
        404 => Err(wrong(
            url,
            "there is no Prometheus behind this URL (HTTP 404): leave out what follows host and port, or give its whole prefix",
        )),
        // A refused query says why in its JSON.
        _ if prometheus::is_answer(&text) => prometheus::read(&printable(url), &text).map(|_| text),
        _ => Err(wrong(url, format!("HTTP {status}: {}", printable(text.lines().next().unwrap_or_default())))),
    }
}

#[cfg(test)]
mod tests;
