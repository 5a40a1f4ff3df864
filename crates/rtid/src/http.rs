//! The little of HTTP that a collector of metrics needs (RFC 9112): one request, one answer, then the end.

/// The longest request that is read. Collectors send a few hundred bytes; browsers with all they know, some thousand.
pub const REQUEST_LEN_MAX: usize = 8 << 10;

/// What to do about the bytes that have come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reaction {
    /// The request is not complete: wait for more.
    Wait,
    /// Send this and close the connection.
    Answer(Vec<u8>),
}

/// Looks at all bytes of a connection so far; asks for the metrics only if they are wanted.
///
/// What it answers: `GET /metrics`, and the same with `HEAD`, with 200; `/` shows the way there; everything else with
/// the status that says what was wrong.
#[must_use]
pub fn react(request: &[u8], metrics: impl FnOnce() -> String) -> Reaction {
    let end = request.windows(4).position(|window| window == b"\r\n\r\n");
    if end.is_none() {
        return if request.len() < REQUEST_LEN_MAX {
            Reaction::Wait
        } else {
            refuse("431 Request Header Fields Too Large", "The request is too long.")
        };
    }
    let line = request.split(|byte| *byte == b'\r').next().unwrap_or_default();
    let words: Vec<&[u8]> = line.split(|byte| *byte == b' ').collect();
    let [method, target, version] = words[..] else {
        return refuse("400 Bad Request", "This is no HTTP request.");
    };
    if !version.starts_with(b"HTTP/1.") {
        return refuse(
            "505 HTTP Version Not Supported",
            "Only HTTP/1.0 and HTTP/1.1 are spoken here.",
        );
    }
    let with_body = match method {
        b"GET" => true,
        b"HEAD" => false,
        _ => return refuse("405 Method Not Allowed", "Only GET and HEAD are answered."),
    };
    let path = target.split(|byte| *byte == b'?').next().unwrap_or_default();
    match path {
        b"/metrics" => {
            answer("200 OK", "text/plain; version=0.0.4; charset=utf-8", &metrics(), with_body)
        }
        b"/" => {
            let page =
                "<!doctype html><title>Hemiola RTI</title><a href=\"/metrics\">metrics</a>\n";
            answer("200 OK", "text/html; charset=utf-8", page, with_body)
        }
        _ => refuse("404 Not Found", "There is only /metrics."),
    }
}

fn refuse(status: &str, reason: &str) -> Reaction {
    answer(status, "text/plain; charset=utf-8", &format!("{reason}\n"), true)
}

fn answer(status: &str, content_type: &str, body: &str, with_body: bool) -> Reaction {
    let len = body.len();
    let allow = if status.starts_with("405") { "Allow: GET, HEAD\r\n" } else { "" };
    let mut text = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {content_type}\r\nContent-Length: {len}\r\n{allow}Connection: close\r\n\r\n"
    );
    if with_body {
        text.push_str(body);
    }
    Reaction::Answer(text.into_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(request: &[u8]) -> String {
        match react(request, || "a 1\n".into()) {
            Reaction::Wait => "wait".into(),
            Reaction::Answer(bytes) => String::from_utf8(bytes).unwrap()[9..12].into(),
        }
    }

    #[test]
    fn a_collector_gets_the_metrics() {
        let request =
            b"GET /metrics HTTP/1.1\r\nHost: localhost:9090\r\nAccept: text/plain\r\n\r\n";
        let Reaction::Answer(bytes) = react(request, || "a 1\n".into()) else {
            panic!("it is complete")
        };
        let text = String::from_utf8(bytes).unwrap();
        assert!(text.starts_with("HTTP/1.1 200 OK\r\n"), "{text}");
        assert!(
            text.contains("Content-Length: 4\r\n") && text.ends_with("\r\n\r\na 1\n"),
            "{text}"
        );
    }

    #[test]
    fn head_has_the_length_and_no_body() {
        let Reaction::Answer(bytes) = react(b"HEAD /metrics HTTP/1.0\r\n\r\n", || "a 1\n".into())
        else {
            panic!("it is complete")
        };
        let text = String::from_utf8(bytes).unwrap();
        assert!(text.contains("Content-Length: 4\r\n") && text.ends_with("\r\n\r\n"), "{text}");
    }

    #[test]
    fn an_incomplete_request_is_waited_for_up_to_its_limit() {
        let request = b"GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n";
        for len in 0..request.len() {
            assert_eq!(status(&request[..len]), "wait", "{len}");
        }
        assert_eq!(status(&[b'a'; REQUEST_LEN_MAX - 1]), "wait");
        assert_eq!(status(&[b'a'; REQUEST_LEN_MAX]), "431");
    }

    #[test]
    fn anything_else_is_told_what_was_wrong_and_costs_no_metrics() {
        for (request, expected) in [
            (&b"\r\n\r\n"[..], "400"),
            (b"\0\xff\xfe\r\n\r\n", "400"),
            (b"GET /metrics\r\n\r\n", "400"),
            (b"GET /metrics HTTP/2\r\n\r\n", "505"),
            (b"POST /metrics HTTP/1.1\r\n\r\n", "405"),
            (b"GET /secrets HTTP/1.1\r\n\r\n", "404"),
            (b"GET / HTTP/1.1\r\n\r\n", "200"),
        ] {
            let Reaction::Answer(bytes) = react(request, || panic!("nobody wants metrics")) else {
                panic!("{request:?} is complete")
            };
            assert_eq!(String::from_utf8(bytes).unwrap()[9..12], *expected, "{request:?}");
        }
    }
}
