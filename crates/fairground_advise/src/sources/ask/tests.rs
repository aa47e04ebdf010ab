use super::*;
use std::io::{Read, Write};
use std::net::TcpListener;

/// A server that answers each request by what `answer` makes of its first line, so many times. Returns its URL.
fn server(count: usize, answer: impl Fn(&str) -> String + Send + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for _ in 0..count {
            let (mut stream, _) = listener.accept().unwrap();
            let mut head = Vec::new();
            let mut byte = [0];
            while !head.ends_with(b"\r\n\r\n") && stream.read(&mut byte).unwrap() == 1 {
                head.push(byte[0]);
            }
            let head = String::from_utf8(head).unwrap();
            let _ = stream.write_all(answer(head.lines().next().unwrap()).as_bytes());
        }
    });
    url
}

fn http(status: &str, body: &str) -> String {
    format!(
        "HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    )
}

fn ask(url: &str) -> Ask {
    Ask { url: url.to_string(), last: "6h".to_string() }
}

fn web() -> Select {
    Select { pod: Some("web-1".to_string()), ..Select::default() }
}

#[test]
fn a_server_is_asked_for_each_counter_and_what_was_asked_is_said() {
    let url = server(PROMETHEUS.len(), |line| {
        let usage = line.contains("container_cpu_usage_seconds_total%7Bpod%3D%22web-1%22");
        let series = "{\"metric\":{\"__name__\":\"container_cpu_usage_seconds_total\",\"pod\":\"web-1\",\"container\":\"app\"},\"values\":[[1,\"1\"],[16,\"4\"]]}";
        let result = if usage { series } else { "" };
        http("200 OK", &format!("{{\"status\":\"success\",\"data\":{{\"resultType\":\"matrix\",\"result\":[{result}]}}}}"))
    });
    let found = ask(&url).samples(&web()).unwrap();
    assert_eq!((found.series.len(), found.notes.len()), (1, 1));
    let asked = "/api/v1/query for {pod=\"web-1\",container!~\"|POD\"}[6h] of container_cpu_usage_seconds_total, container_cpu_cfs_periods_total,";
    assert!(found.notes[0].starts_with("asked http://127.0.0.1:") && found.notes[0].contains(asked), "{}", found.notes[0]);
    assert!(PROMETHEUS.iter().all(|row| found.notes[0].contains(row.name)));
}

#[test]
fn a_server_that_refuses_or_is_none_is_an_error_and_no_panic() {
    let refused = "{\"status\":\"error\",\"errorType\":\"bad_data\",\"error\":\"parse\\u001b[2J error\"}";
    let empty = "{\"status\":\"success\",\"data\":{\"resultType\":\"matrix\",\"result\":[]}}";
    for (answer, count, part) in [
        (http("400 Bad Request", refused), 1, "bad_data: parse?[2J error"),
        (http("401 Unauthorized", ""), 1, "no password is sent"),
        (http("404 Not Found", "404 page not found"), 1, "no Prometheus behind this URL"),
        (http("302 Found", "<a href=x>"), 1, "HTTP 302: <a href=x>"),
        (http("200 OK", "<html>"), 1, "this is no JSON"),
        (http("200 OK", empty), PROMETHEUS.len(), "no counter of such a container in the last 6h"),
        ("nonsense\r\n\r\n".to_string(), 1, "no answer"),
        (String::new(), 1, "no answer"),
        ("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{".to_string(), 1, "no answer"),
    ] {
        let url = server(count, move |_| answer.clone());
        let wrong = ask(&url).samples(&web()).unwrap_err().to_string();
        assert!(wrong.contains(part), "{part}: {wrong}");
    }
    // Nobody listens there any more.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    assert!(ask(&url).samples(&web()).unwrap_err().to_string().contains("no answer"));
}

#[test]
fn urls_and_lengths_that_cannot_be_asked_are_refused() {
    for (url, part) in [
        ("https://localhost:9090", "no TLS"),
        ("localhost:9090", "no URL"),
        ("http://", "no URL"),
        ("http://a:b@host:9090", "passwords"),
        ("http://host:9090/graph?g0=x", "no URL"),
    ] {
        let wrong = ask(url).samples(&web()).unwrap_err().to_string();
        assert!(wrong.contains(part) && !wrong.contains("a:b"), "{url}: {wrong}");
    }
    for last in ["", "6", "h", "6 h", "6h]", "-6h", "6y"] {
        let wrong = Ask { last: last.to_string(), ..ask("http://x") }.queries(&web()).unwrap_err().to_string();
        assert!(wrong.contains("is no length of time"), "{last}: {wrong}");
    }
    assert!(ask("http://x").queries(&Select::default()).unwrap_err().to_string().contains("of which pod"));
}

#[test]
fn names_are_quoted_in_queries() {
    assert_eq!(equals("pod", "a\"b\\"), "pod=\"a\\\"b\\\\\"");
    assert_eq!(equals("pod", "web-*.x"), "pod=~\"web-.*\\\\.x\"");
    let select = Select { namespace: Some("shop".to_string()), container: Some("app".to_string()), ..web() };
    let queries = ask("http://x").queries(&select).unwrap();
    assert_eq!(queries[1], "container_cpu_cfs_periods_total{namespace=\"shop\",pod=\"web-1\",container=\"app\"}[6h]");
}

/// One that takes the connection and says nothing, and one that never ends.
#[test]
fn a_server_that_never_answers_is_given_up() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", silent.local_addr().unwrap());
    let given_up = |url: &str| ask(url).samples_within(&web(), Duration::from_millis(300)).unwrap_err().to_string();
    assert!(given_up(&url).contains("no answer in time; asked: container_cpu_usage_seconds_total"), "{}", given_up(&url));
    let endless = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", endless.local_addr().unwrap());
    std::thread::spawn(move || {
        let (mut stream, _) = endless.accept().unwrap();
        stream.write_all(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n").unwrap();
        while stream.write_all(b"1\r\n \r\n").is_ok() {
            std::thread::sleep(Duration::from_millis(20));
        }
    });
    assert!(given_up(&url).contains("no answer in time"), "{}", url);
}
