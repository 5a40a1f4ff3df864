//! The page's server with valid and hostile requests, and the page itself in a real browser.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{self, Duration};

use hemiola_trace::perfetto::{Names, TraceWriter};
use hemiola_trace::sched::{Context, Event, Left, Thread, Tid, What};
use hemiola_trace::{Entry, EventKind};
use hemiola_units::Instant;
use hemiola_wire::{put_bytes, put_message, put_number};
use serde_json::{Value, json};

use crate::command::PROGRAM;
use crate::machine::Machine;
use crate::synthetic;

/// A recording of that many events in the folder of a test.
fn trace(machine: &Machine, name: &str, events: u64) -> PathBuf {
    let path = machine.folder().join(name);
    let file = std::io::BufWriter::new(fs::File::create(&path).unwrap());
    synthetic::write(file, events).unwrap();
    path
}

/// Threads of three processes of which each wake-up, switch and mark is known, in 10 ms from the first event on. The
/// tests of the page know these figures.
fn exact(machine: &Machine) -> PathBuf {
    const BEGIN: u64 = 5_000_000_000;
    let at = |us: u64| Instant::from_nanos(BEGIN + 1_000 * us);
    let switch = |us, cpu, prev, left, next| {
        let what = What::Switch { prev: Tid(prev), left, next: Tid(next), priority: 120 };
        Event { at: at(us), cpu, what }
    };
    let wake = |us, cpu, waker, context, tid, target| {
        let what = What::Wake { tid: Tid(tid), waker: Tid(waker), context, target };
        Event { at: at(us), cpu, what }
    };
    let client = [
        switch(0, 0, 0, Left::Preempted, 200),
        wake(1_000, 0, 200, Context::Thread, 101, 1),
        switch(2_500, 0, 200, Left::Preempted, 201),
        switch(4_000, 0, 201, Left::Sleeping, 200),
        switch(10_000, 0, 200, Left::Sleeping, 0),
    ];
    let server = [
        switch(1_010, 1, 0, Left::Preempted, 101),
        wake(2_000, 1, 101, Context::Thread, 201, 0),
        switch(5_000, 1, 101, Left::Sleeping, 0),
        wake(6_000, 1, 0, Context::Interrupt, 102, 1),
        switch(6_020, 1, 0, Left::Preempted, 102),
        switch(7_000, 1, 102, Left::Sleeping, 300),
        switch(8_000, 1, 300, Left::Sleeping, 100),
        switch(8_500, 1, 100, Left::Sleeping, 0),
    ];
    let named = [
        (100, 100, "server"),
        (101, 100, "worker a"),
        (102, 100, "worker b"),
        (200, 200, "client"),
        (201, 200, "sender"),
        (300, 300, "alone"),
    ];
    let thread = |(tid, pid, name): (u32, u32, &str)| Thread {
        tid: Tid(tid),
        since: Instant::ZERO,
        pid,
        name: name.to_owned(),
        new: false,
    };
    let path = machine.folder().join("exact.trace");
    let file = std::io::BufWriter::new(fs::File::create(&path).unwrap());
    let mut writer = TraceWriter::new(file, at(0), 0, &[("process", "200")]).unwrap();
    writer.threads(&named.map(thread)).unwrap();
    writer.kernel(0, &client).unwrap();
    writer.kernel(1, &server).unwrap();
    let mut names = Names::default();
    names.insert_all(EventKind::Mark, &[(0, "frame drawn"), (1, "retry")]);
    let track = writer.process(200, "client", names).unwrap();
    let mark = |(us, arg)| Entry { at: at(us), kind: EventKind::Mark, arg, cycle: 0, a: 0, b: 0 };
    writer.entries(track, &[(1_500, 0), (6_000, 1), (9_000, 0)].map(mark)).unwrap();
    writer.close().unwrap();
    path
}

/// A recording with system calls in 10 ms: a thread that reads while it sleeps, and then writes. The tests of the page
/// know these figures.
fn calls(machine: &Machine) -> PathBuf {
    let at = |us: u64| Instant::from_nanos(5_000_000_000 + 1_000 * us);
    let (reader, idle) = (Tid(701), Tid::IDLE);
    let switch = |prev, next| What::Switch { prev, left: Left::Sleeping, next, priority: 120 };
    let wake = What::Wake { tid: reader, waker: idle, context: Context::Interrupt, target: 0 };
    let events = [
        (0, switch(idle, reader)),
        (1_000, What::CallEntry(0)),
        (2_000, switch(reader, idle)),
        (5_500, wake),
        (6_000, switch(idle, reader)),
        (7_000, What::CallExit(0)),
        (8_000, What::CallEntry(1)),
        (9_000, What::CallExit(1)),
        (10_000, switch(reader, idle)),
    ];
    let events = events.map(|(us, what)| Event { at: at(us), cpu: 0, what });
    let name = "reader".to_owned();
    let thread = Thread { tid: reader, since: Instant::ZERO, pid: 700, name, new: false };
    let path = machine.folder().join("calls.trace");
    let file = std::io::BufWriter::new(fs::File::create(&path).unwrap());
    let mut writer = TraceWriter::new(file, at(0), 0, &[]).unwrap();
    writer.threads(&[thread]).unwrap();
    writer.kernel(0, &events).unwrap();
    writer.close().unwrap();
    path
}

/// A recording of four jobs of a thread, one in 10 ms, each due after 2 ms. The first `late` of them need 3 ms, the
/// others 1 ms. The tests of the page know these figures.
pub(crate) fn jobs(machine: &Machine, name: &str, late: u64) -> PathBuf {
    let at = |us: u64| Instant::from_nanos(5_000_000_000 + 1_000 * us);
    let (worker, idle) = (Tid(701), Tid::IDLE);
    let switch = |us, prev, next| {
        let what = What::Switch { prev, left: Left::Sleeping, next, priority: 120 };
        Event { at: at(us), cpu: 0, what }
    };
    let wake = |us| {
        let what = What::Wake { tid: worker, waker: idle, context: Context::Interrupt, target: 0 };
        Event { at: at(us), cpu: 0, what }
    };
    let mark = |us, kind, cycle: u64, a: Instant| Entry {
        at: at(us),
        kind,
        arg: 0,
        // As in a recording that began in the middle of a run.
        cycle: cycle as u32 + 9,
        a: a.nanos(),
        b: 0,
    };
    let (mut events, mut marks) = (Vec::new(), Vec::new());
    for cycle in 1..=4 {
        let release = 10_000 * (cycle - 1);
        let end = release + if cycle <= late { 3_000 } else { 1_000 };
        events.extend([wake(release), switch(release + 10, idle, worker)]);
        events.push(switch(end + 10, worker, idle));
        marks.push(mark(release + 20, EventKind::Start, cycle, at(release)));
        marks.push(mark(end, EventKind::Finish, cycle, at(release + 2_000)));
    }
    let thread = |since| Thread { tid: worker, since, pid: 700, name: "worker".into(), new: false };
    let path = machine.folder().join(name);
    let file = std::io::BufWriter::new(fs::File::create(&path).unwrap());
    let mut writer = TraceWriter::new(file, at(0), 0, &[]).unwrap();
    writer.threads(&[thread(Instant::ZERO)]).unwrap();
    writer.kernel(0, &events).unwrap();
    let track = writer.process(701, "work", Names::default()).unwrap();
    // Two packets, so that one can be damaged and the other read.
    let (first, second) = marks.split_at(4);
    writer.entries(track, first).unwrap();
    writer.entries(track, second).unwrap();
    writer.close().unwrap();
    path
}

/// The recording of [`jobs`], cut off.
fn cut_off(machine: &Machine, name: &str, late: u64) -> PathBuf {
    let path = jobs(machine, name, late);
    let whole = fs::read(&path).unwrap();
    fs::write(&path, &whole[..whole.len() - 7]).unwrap();
    path
}

/// A trace of another program in 10 ms from the first event on: a thread with slices, an instant and a counter, and a
/// track of its process. The tests of the page know these figures.
pub(crate) fn foreign(machine: &Machine) -> PathBuf {
    const BEGIN: u64 = 5_000_000_000;
    const THREAD: u64 = 1;
    const CONNECTIONS: u64 = 2;
    const QUEUE: u64 = 3;
    let mut file = Vec::new();
    let mut packet = |field: u32, at: Option<u64>, content: &dyn Fn(&mut Vec<u8>)| {
        put_message(&mut file, 1, |packet| {
            put_number(packet, 10, 1);
            at.into_iter().for_each(|us| put_number(packet, 8, BEGIN + 1_000 * us));
            put_message(packet, field, content);
        });
    };
    let describe = |uuid: u64, parent: u64, name: &'static str| {
        move |track: &mut Vec<u8>| {
            put_number(track, 1, uuid);
            put_number(track, 5, parent);
            put_bytes(track, 2, name.as_bytes());
        }
    };
    packet(60, None, &|track| {
        put_number(track, 1, THREAD);
        put_message(track, 4, |thread| {
            put_number(thread, 1, 700);
            put_number(thread, 2, 701);
            put_bytes(thread, 5, b"worker");
        });
    });
    packet(60, None, &|track| {
        put_number(track, 1, 9);
        put_message(track, 3, |process| put_number(process, 1, 700));
    });
    packet(60, None, &describe(CONNECTIONS, 9, "connections"));
    packet(60, None, &|track| {
        describe(QUEUE, THREAD, "queue")(track);
        put_message(track, 8, |counter| put_bytes(counter, 6, b"jobs"));
    });
    let event = |kind: u64, name: &'static str, track: u64| {
        move |event: &mut Vec<u8>| {
            put_number(event, 9, kind);
            put_number(event, 11, track);
            put_bytes(event, 23, name.as_bytes());
        }
    };
    let [begin, end, instant] = [1, 2, 3];
    packet(11, Some(0), &event(begin, "request", THREAD));
    packet(11, Some(500), &event(begin, "open", CONNECTIONS));
    packet(11, Some(1_000), &event(begin, "parse", THREAD));
    packet(11, Some(2_000), &event(end, "", THREAD));
    packet(11, Some(2_500), &event(instant, "cache miss", THREAD));
    packet(11, Some(4_000), &event(end, "", THREAD));
    for (us, jobs) in [(0, 2), (3_000, 7)] {
        packet(11, Some(us), &|event| {
            put_number(event, 9, 4);
            put_number(event, 11, QUEUE);
            put_number(event, 30, jobs);
        });
    }
    packet(11, Some(10_000), &event(end, "", CONNECTIONS));
    let path = machine.folder().join("foreign.pftrace");
    fs::write(&path, file).unwrap();
    path
}

/// A served page; ended when dropped.
pub(crate) struct Page {
    child: Child,
    /// Kept open, because a server that cannot print ends.
    _stdout: BufReader<ChildStdout>,
    pub(crate) address: String,
}

impl Page {
    pub(crate) fn serve(paths: &[&Path]) -> Self {
        let mut command = Command::new(PROGRAM);
        command.arg("view").args(paths);
        Self::start(command)
    }

    /// The page of a command.
    pub(crate) fn start(mut command: Command) -> Self {
        command.arg("--no-open");
        command.stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        stdout.read_line(&mut line).unwrap();
        let address = line.trim().to_owned();
        assert!(address.starts_with("http://127.0.0.1:"), "{address}");
        Self { child, _stdout: stdout, address }
    }

    pub(crate) fn host(&self) -> &str {
        self.address["http://".len()..].split('/').next().unwrap()
    }

    pub(crate) fn token(&self) -> &str {
        self.address.trim_end_matches('/').rsplit('/').next().unwrap()
    }

    /// Status line and headers, and the body, of a request under any name.
    fn ask(&self, method: &str, path: &str, host: &str) -> (String, Vec<u8>) {
        self.send(&format!("{method} {path} HTTP/1.1\r\nHost: {host}\r\n"), b"")
    }

    /// Status line and headers, and the body, of a request with these headers and this body.
    fn send(&self, head: &str, body: &[u8]) -> (String, Vec<u8>) {
        let mut stream = TcpStream::connect(self.host()).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        let length = body.len();
        write!(stream, "{head}Content-Length: {length}\r\nConnection: close\r\n\r\n").unwrap();
        // A server that refuses the body may have closed the connection.
        let _: std::io::Result<()> = stream.write_all(body);
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).unwrap();
        let end = answer.windows(4).position(|part| part == b"\r\n\r\n").unwrap();
        let body = answer.split_off(end + 4);
        (String::from_utf8(answer).unwrap().to_lowercase(), body)
    }

    /// A request of the page: returns the status and the body.
    pub(crate) fn get(&self, path: &str) -> (u16, Vec<u8>) {
        let (head, body) = self.ask("GET", &format!("/{}/{path}", self.token()), self.host());
        (status(&head), body)
    }

    /// A POST of JSON: returns the status and the body.
    pub(crate) fn post(&self, path: &str, json: &[u8]) -> (u16, Vec<u8>) {
        let (token, host) = (self.token(), self.host());
        let kind = "Content-Type: application/json";
        let head = format!("POST /{token}/{path} HTTP/1.1\r\nHost: {host}\r\n{kind}\r\n");
        let (head, body) = self.send(&head, json);
        (status(&head), body)
    }

    pub(crate) fn json(&self, path: &str) -> Value {
        let (status, body) = self.get(path);
        assert_eq!(status, 200, "{path}: {}", String::from_utf8_lossy(&body));
        serde_json::from_slice(&body).unwrap()
    }
}

fn status(head: &str) -> u16 {
    head.split(' ').nth(1).unwrap().parse().unwrap()
}

impl Drop for Page {
    fn drop(&mut self) {
        let _: std::io::Result<_> = self.child.kill().and_then(|()| self.child.wait());
    }
}

/// The exit code and standard error of a command that cannot show its input.
fn refused(arguments: &[&str]) -> (Option<i32>, String) {
    let output =
        Command::new(PROGRAM).arg("view").args(arguments).arg("--no-open").output().unwrap();
    (output.status.code(), String::from_utf8(output.stderr).unwrap())
}

#[test]
fn requests_without_the_token_or_with_another_host_are_refused() {
    let machine = Machine::take("view-guard");
    let page = Page::serve(&[&trace(&machine, "a.trace", 2_000)]);
    let (head, body) = page.ask("GET", &format!("/{}/", page.token()), page.host());
    assert!(head.starts_with("http/1.1 200"), "{head}");
    assert!(String::from_utf8_lossy(&body).contains("<!doctype html>"));
    for part in [
        "content-security-policy: default-src 'none'",
        "referrer-policy: no-referrer",
        "nosniff",
        "no-store",
    ] {
        assert!(head.contains(part), "{part} is missing in {head}");
    }
    assert!(!head.contains("unsafe"), "{head}");

    let status = |method: &str, path: &str, host: &str| {
        let (head, body) = page.ask(method, path, host);
        assert!(!String::from_utf8_lossy(&body).contains("sensors"), "it told something");
        head.split(' ').nth(1).unwrap().to_owned()
    };
    let wrong = "0".repeat(32);
    for path in [
        "/",
        "/api/recording",
        &format!("/{wrong}/"),
        &format!("/{wrong}/api/recording?r=0"),
        "//",
        "/%2e%2e/",
    ] {
        assert_eq!(status("GET", path, page.host()), "403", "{path}");
    }
    let known = format!("/{}/api/recording?r=0", page.token());
    let port = page.host().rsplit(':').next().unwrap();
    for host in ["evil.example", &format!("evil.example:{port}"), "127.0.0.1:1", "127.0.0.1", ""] {
        assert_eq!(status("GET", &known, host), "421", "{host}");
    }
    assert_eq!(status("POST", &known, page.host()), "405");
    let (head, _) = page.ask("GET", &known, &format!("localhost:{port}"));
    assert!(head.starts_with("http/1.1 200"), "{head}");
}

#[test]
fn nothing_but_the_page_is_served() {
    let machine = Machine::take("view-files");
    let page = Page::serve(&[&trace(&machine, "a.trace", 2_000)]);
    assert_eq!(page.get("main.js").0, 200);
    assert_eq!(page.get("timeline/paint.js").0, 200);
    for path in [
        "nothing.js",
        "../Cargo.toml",
        "%2e%2e/%2e%2e/etc/passwd",
        "tests/package.json",
        "report",
        "api/nothing",
    ] {
        assert_eq!(page.get(path).0, 404, "{path}");
    }
}

#[test]
fn the_api_describes_the_recording() {
    let machine = Machine::take("view-answers");
    let page =
        Page::serve(&[&trace(&machine, "a.trace", 60_000), &trace(&machine, "b.trace", 30_000)]);
    let sources = page.json("api/sources");
    assert_eq!(sources["recordings"].as_array().unwrap().len(), 2);
    assert_eq!(sources["shown"], json!([0, 1]));

    let recording = page.json("api/recording?r=0");
    let rows = recording["rows"].as_array().unwrap();
    let length = recording["duration_ns"].as_u64().unwrap();
    let sensors = rows.iter().find(|row| row["name"] == "sensors").unwrap();
    assert!(sensors["marked"].as_u64().unwrap() > 100, "{sensors}");

    let (status, window) =
        page.get(&format!("api/window?r=0&from=0&to={length}&px=100&rows=0,{}", sensors["row"]));
    assert_eq!((status, &window[..4]), (200, &2_u32.to_le_bytes()[..]));
    let spans = u32::from_le_bytes(window[4..8].try_into().unwrap());
    assert!(spans > 50 && spans <= 202, "{spans}");

    let job = page.json(&format!("api/job?r=0&row={}&at={}", sensors["row"], length / 2));
    let parts: u64 = ["running", "interrupted", "waiting", "blocked", "asleep", "unknown"]
        .iter()
        .map(|part| job["job"][part].as_u64().unwrap())
        .sum();
    assert_eq!(parts, job["job"]["response"].as_u64().unwrap());
    assert!(job["count"].as_u64().unwrap() > 100);
    // Each delay is told in words, and the sentence of the job consists of such words.
    let sentence = job["job"]["words"].as_str().unwrap();
    assert!(
        sentence.contains(" from release to finish: ") || sentence.contains(" late: "),
        "{sentence}"
    );
    for delay in job["job"]["delays"].as_array().unwrap() {
        let (kind, words) = (delay["kind"].as_str().unwrap(), delay["words"].as_str().unwrap());
        assert!(!kind.is_empty() && !words.is_empty() && !delay["who"].is_null(), "{delay}");
    }

    // The whole recording as a range has the totals of its rows, and the jobs of each thread.
    let range = page.json(&format!("api/range?r=0&from=0&to={length}"));
    for thread in range["threads"].as_array().unwrap() {
        let row = rows.iter().find(|row| row["row"] == thread["row"]).unwrap();
        assert_eq!(
            (&thread["running"], &thread["waiting"]),
            (&row["running_ns"], &row["waiting_ns"])
        );
    }
    let busy: u64 =
        range["threads"].as_array().unwrap().iter().map(|of| of["running"].as_u64().unwrap()).sum();
    let cpus: u64 =
        range["cpus"].as_array().unwrap().iter().map(|of| of["running"].as_u64().unwrap()).sum();
    assert_eq!(busy, cpus);

    let report = page.json("api/report?r=0");
    assert!(report["threads"].as_array().unwrap().len() >= 10);
    assert_eq!(report["lost_events"], 0);
    // Only what the page shows: the whole has hundreds of megabytes for many threads.
    for thread in report["threads"].as_array().unwrap() {
        assert!(thread["preempted_by"].as_array().is_none_or(|by| by.len() == 1), "{thread}");
        assert!(thread["woken_by"].is_null() && thread["execution_ns"]["histogram"].is_null());
    }
    assert!(!page.json("api/compare?a=0&b=1")["tables"].as_array().unwrap().is_empty());
    for plot in [
        format!("utilization?r=0&from=0&to={length}"),
        format!("response?r=0&row={}", sensors["row"]),
    ] {
        let (status, body) = page.get(&format!("api/plot/{plot}"));
        assert!(status == 200 && body.starts_with(b"<svg"), "{plot}");
    }
}

#[test]
fn a_search_and_the_wake_ups_of_rows_are_exact() {
    let machine = Machine::take("view-find");
    let page = Page::serve(&[&exact(&machine)]);
    let recording = page.json("api/recording?r=0");
    let row = |name: &str| {
        let rows = recording["rows"].as_array().unwrap();
        rows.iter().find(|row| row["name"] == name).unwrap()["row"].clone()
    };
    let [client, sender, worker] = ["client", "sender", "worker a"].map(row);
    let found = page.json("api/find?r=0&text=preempted");
    let place = json!({ "at": 2_500_000, "row": client, "mark": null, "state": 3, "key": sender });
    assert_eq!(found, json!({ "places": [place], "more": false }));
    let marks = page.json("api/find?r=0&text=frame&from=1500001");
    assert_eq!(marks["places"].as_array().unwrap().len(), 1, "{marks}");
    assert_eq!(marks["places"][0]["at"], 9_000_000);
    let name = marks["places"][0]["mark"].as_u64().unwrap() as usize;
    assert_eq!(recording["names"][name], "frame drawn");
    let details = page.json(&format!("api/details?r=0&from=0&to=10000000&rows={worker},{sender}"));
    assert_eq!(details[worker.to_string()]["wakes"], json!([[1_000_000, client]]));
    assert_eq!(details[sender.to_string()]["wakes"], json!([[2_000_000, worker]]));
}

#[test]
fn system_calls_are_slices_below_their_thread() {
    let machine = Machine::take("view-calls");
    let path = calls(&machine);
    let page = Page::serve(&[&path]);
    let recording = page.json("api/recording?r=0");
    let rows = recording["rows"].as_array().unwrap();
    let find = |kind: &str| rows.iter().find(|row| row["kind"] == kind).unwrap();
    let (thread, row) = (find("thread"), find("slices"));
    let words = ["name", "below", "depth"].map(|key| row[key].clone());
    assert_eq!(json!(words), json!(["system calls", thread["row"], 0]));
    let slice = |at: u64| {
        let path = format!("api/slice?r=0&row={}&at={at}", row["row"]);
        let slice = page.json(&path)["slice"].clone();
        let name = slice["name"].as_u64().map(|name| recording["names"][name as usize].clone());
        json!([name, slice["from"], slice["to"]])
    };
    assert_eq!(slice(4_000_000), json!(["read", 1_000_000, 7_000_000]));
    assert_eq!(slice(8_500_000), json!(["write", 8_000_000, 9_000_000]));
    assert_eq!(slice(7_500_000), json!([null, null, null]));

    let path = path.to_str().unwrap();
    let ended = machine.hemiola(&["analyze", path, "--json"]).with_code(0);
    let report: Value = serde_json::from_str(&ended.stdout).unwrap();
    let calls = report["marks"].as_array().unwrap().iter().filter(|mark| mark["kind"] == "call");
    let brief = |mark: &Value| json!([mark["name"], mark["count"], mark["duration_ns"]["max"]]);
    let calls: Vec<Value> = calls.map(brief).collect();
    assert_eq!(calls, [json!(["read", 1, 6_000_000]), json!(["write", 1, 1_000_000])]);
    let ended = machine.hemiola(&["analyze", path, "--thread", "reader"]).with_code(0);
    assert!(ended.stdout.contains("System calls") && ended.stdout.contains("6.00 ms"), "{ended:?}");
}

#[test]
fn slices_instants_and_counters_of_other_programs_are_shown() {
    let machine = Machine::take("view-foreign");
    let page = Page::serve(&[&foreign(&machine)]);
    let recording = page.json("api/recording?r=0");
    assert_eq!(
        (&recording["duration_ns"], &recording["problems"]),
        (&json!(10_000_000), &json!([]))
    );
    let brief = |row: &Value| {
        let words = ["kind", "name", "below", "depth", "marks"].map(|key| row[key].clone());
        json!(words)
    };
    let rows = recording["rows"].as_array().unwrap();
    let thread = rows[0]["row"].as_u64().unwrap();
    assert_eq!(
        rows.iter().map(brief).collect::<Vec<_>>(),
        [
            json!(["thread", "worker", null, null, 1]),
            json!(["slices", "", thread, 0, 0]),
            json!(["slices", "", thread, 1, 0]),
            json!(["slices", "connections", null, 0, 0]),
        ]
    );
    let name = |name: &str| {
        let names = recording["names"].as_array().unwrap();
        names.iter().position(|known| known == name).unwrap()
    };
    let inner = &rows[2]["row"];
    let slice = |at: u64| page.json(&format!("api/slice?r=0&row={inner}&at={at}"))["slice"].clone();
    assert_eq!(
        slice(1_500_000),
        json!({ "name": name("parse"), "from": 1_000_000, "to": 2_000_000 })
    );
    assert_eq!(slice(2_500_000), Value::Null);
    let details = page.json(&format!("api/details?r=0&from=0&to=10000000&rows={thread}"));
    assert_eq!(details[thread.to_string()]["marks"], json!([[2_500_000, name("cache miss")]]));
    let found = page.json("api/find?r=0&text=worker%20parse");
    let place = json!({
        "at": 1_000_000, "row": inner, "mark": name("parse"), "state": null, "key": null,
    });
    assert_eq!(found["places"], json!([place]));
    let (_, plot) = page.get("api/plot/counters?r=0&from=0&to=10000000");
    assert!(String::from_utf8_lossy(&plot).contains("worker queue (jobs)"));
}

#[test]
fn an_invalid_request_is_refused_and_the_server_continues() {
    let machine = Machine::take("view-questions");
    let page = Page::serve(&[&trace(&machine, "a.trace", 2_000)]);
    let biggest = u64::MAX;
    for (path, expected) in [
        ("api/recording?r=9".to_owned(), 404),
        ("api/recording?r=-1".to_owned(), 400),
        ("api/window".to_owned(), 400),
        ("api/window?from=0&to=9&px=5&rows=x".to_owned(), 400),
        ("api/window?from=9&to=0&px=5&rows=0".to_owned(), 200),
        (format!("api/window?from={biggest}&to={biggest}&px=4294967295&rows=0,1,99999"), 200),
        (format!("api/window?from=0&to={biggest}&px=4294967295&rows=0"), 200),
        ("api/job?row=99999".to_owned(), 404),
        (format!("api/job?row=4&job={biggest}&at={biggest}"), 200),
        (format!("api/details?from=0&to={biggest}&rows=0,4,99999"), 200),
        (format!("api/plot/utilization?from={biggest}&to=0"), 200),
        ("api/plot/response?row=99999".to_owned(), 404),
        ("api/compare?a=0&b=7".to_owned(), 404),
        (format!("api/range?from={biggest}&to=0"), 200),
        (format!("api/range?from=0&to={biggest}"), 200),
        ("api/range?from=0".to_owned(), 400),
        (format!("api/find?text=woken&from={biggest}"), 200),
        ("api/find?text=%20".to_owned(), 200),
        ("api/find?from=0".to_owned(), 400),
        ("api/find?r=9&text=woken".to_owned(), 404),
    ] {
        let (status, body) = page.get(&path);
        assert_eq!(status, expected, "{path}: {}", String::from_utf8_lossy(&body));
    }
    assert_eq!(page.get("api/recording?r=0").0, 200);
}

#[test]
fn unreadable_input_is_refused_before_the_page_is_served() {
    let machine = Machine::take("view-bad");
    let path = |name: &str, bytes: &[u8]| {
        let path = machine.folder().join(name);
        fs::write(&path, bytes).unwrap();
        path.into_os_string().into_string().unwrap()
    };
    let whole = fs::read(trace(&machine, "whole.trace", 2_000)).unwrap();
    for (given, words) in [
        ("no-such-file".to_owned(), "cannot be read"),
        (path("empty.trace", b""), "is not a recording"),
        (
            path("text.trace", b"this is a letter to my aunt, not a trace of anything"),
            "is not a recording",
        ),
    ] {
        let (code, text) = refused(&[&given]);
        assert_eq!(code, Some(2), "{given}: {text}");
        assert!(text.contains(words) && text.contains(given.rsplit('/').next().unwrap()), "{text}");
    }
    let hollow = machine.folder().join("hollow");
    fs::create_dir(&hollow).unwrap();
    let (code, text) = refused(&[hollow.to_str().unwrap()]);
    assert!(code == Some(2) && text.contains("contains no trace"), "{text}");
    // A truncated file shows its readable part and lists the problem.
    let cut = machine.folder().join("cut.trace");
    fs::write(&cut, &whole[..whole.len() - 7]).unwrap();
    let page = Page::serve(&[&cut]);
    assert!(!page.json("api/recording?r=0")["problems"].as_array().unwrap().is_empty());
}

#[test]
fn a_port_in_use_is_refused_with_a_hint() {
    let machine = Machine::take("view-port");
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let trace = trace(&machine, "a.trace", 2_000);
    let (code, text) = refused(&[trace.to_str().unwrap(), "--port", &port]);
    assert!(code == Some(1) && text.contains(&port) && text.contains("hint:"), "{text}");
}

/// A pipe through which these bytes come once.
pub(crate) fn pipe(machine: &Machine, name: &str, bytes: Vec<u8>) -> PathBuf {
    let path = machine.folder().join(name);
    assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
    let target = path.clone();
    // Opening waits for the reader.
    std::thread::spawn(move || fs::write(target, bytes));
    path
}

#[test]
fn a_recording_from_a_pipe_is_shown_and_does_not_grow() {
    let machine = Machine::take("view-pipe");
    let whole = trace(&machine, "whole.trace", 2_000);
    let pipe = pipe(&machine, "pipe", fs::read(&whole).unwrap());
    let page = Page::serve(&[&pipe]);
    let other = Page::serve(&[&whole]);
    let events = |page: &Page| page.json("api/recording?r=0")["events"].clone();
    assert_eq!(events(&page), events(&other));
    for _ in 0..3 {
        let state = page.json("api/sources")["recordings"][0].clone();
        assert_eq!((&state["version"], &state["grows"]), (&json!(1), &json!(false)), "{state}");
    }
}

#[test]
fn a_period_of_nobody_is_refused_before_the_page_is_served() {
    let machine = Machine::take("view-period");
    let trace = trace(&machine, "a.trace", 2_000);
    let (code, text) = refused(&[trace.to_str().unwrap(), "--period", "nobody=1ms"]);
    assert_eq!(code, Some(2), "{text}");
    assert!(
        text.contains("error: no thread or task of the recording is named \"nobody\""),
        "{text}"
    );
}

#[test]
fn recordings_of_the_same_name_are_told_apart() {
    let machine = Machine::take("view-names");
    let whole = trace(&machine, "a.trace", 2_000);
    let folder = machine.folder().join("before");
    fs::create_dir(&folder).unwrap();
    let same = folder.join("a.trace");
    fs::copy(&whole, &same).unwrap();
    let sources = Page::serve(&[&same, &whole]).json("api/sources");
    let names = [0, 1].map(|index| sources["recordings"][index]["name"].clone());
    assert_eq!(names, [same, whole].map(|path| json!(path)));
}

#[test]
fn a_warning_names_the_file_that_is_damaged() {
    let machine = Machine::take("view-damaged");
    let whole = trace(&machine, "whole.trace", 2_000);
    let bytes = fs::read(&whole).unwrap();
    let cut = machine.write("cut.trace", "");
    fs::write(&cut, &bytes[..bytes.len() - 7]).unwrap();
    // The warnings come before the period is refused, so that no server has to be ended.
    let words = [cut.to_str().unwrap(), whole.to_str().unwrap(), "--period", "nobody=1ms"];
    let (_, text) = refused(&words);
    assert!(text.contains(&format!("warning: {}: the trace ends within", cut.display())), "{text}");
    assert!(!text.contains("whole.trace"), "{text}");
}

#[test]
fn a_growing_file_is_read_again() {
    let machine = Machine::take("view-live");
    let whole = fs::read(trace(&machine, "whole.trace", 40_000)).unwrap();
    let live = machine.folder().join("live.trace");
    fs::write(&live, &whole[..whole.len() / 2]).unwrap();
    let page = Page::serve(&[&live]);
    let before = page.json("api/recording?r=0");
    fs::write(&live, &whole).unwrap();
    let limit = time::Instant::now() + Duration::from_secs(60);
    loop {
        let state = page.json("api/sources");
        if state["recordings"][0]["version"].as_u64() > before["version"].as_u64() {
            assert_eq!(state["recordings"][0]["grows"], true);
            break;
        }
        assert!(time::Instant::now() < limit, "it is not read again");
        std::thread::sleep(Duration::from_millis(20));
    }
    let after = page.json("api/recording?r=0");
    assert!(after["events"].as_u64() > before["events"].as_u64(), "{after}");
}

/// Runs a test of a page with these addresses in a browser, or says what is missing.
pub(crate) fn in_browser(test: &str, addresses: &[&str]) {
    let tests = match browser() {
        Ok(tests) if Path::new("/usr/bin/chromium").exists() => tests,
        Ok(_) => return println!("skipped: needs chromium"),
        Err(missing) => return println!("skipped: needs {missing}"),
    };
    let output =
        Command::new("node").current_dir(tests).arg(test).args(addresses).output().unwrap();
    let text =
        [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    println!("{}", text[0]);
    assert!(output.status.success(), "{}\n{}", text[0], text[1]);
}

/// The folder of the page's own tests if their packages are installed, otherwise what is missing.
fn browser() -> Result<PathBuf, &'static str> {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../ui/tests");
    let works = |program: &str| {
        let status = Command::new(program)
            .arg("--version")
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status();
        status.is_ok_and(|status| status.success())
    };
    if !works("node") {
        return Err("node");
    }
    if !tests.join("node_modules/playwright-core").exists() {
        return Err("playwright-core: npm ci in ui/tests");
    }
    Ok(tests)
}

#[test]
fn the_page_works_in_a_browser() {
    let machine = Machine::take("view-browser");
    // A debug build reads this many in a few seconds; a release build is tested with the documented ten million.
    let many = if cfg!(debug_assertions) { 300_000 } else { 10_000_000 };
    let [a, b] = [trace(&machine, "first.trace", 120_000), trace(&machine, "second.trace", 60_000)];
    let large = trace(&machine, "large.trace", many);
    let exact = exact(&machine);
    let (foreign, calls) = (foreign(&machine), calls(&machine));
    let [met, missed] = [jobs(&machine, "met.trace", 0), jobs(&machine, "missed.trace", 2)];
    let [once, never] = [cut_off(&machine, "once.trace", 1), cut_off(&machine, "never.trace", 0)];
    let pages = [
        &[&a, &b][..],
        &[&large],
        &[&exact],
        &[&foreign],
        &[&calls],
        &[&met, &missed],
        &[&once, &never],
    ];
    let pages = pages
        .map(|paths| Page::serve(&paths.iter().map(|path| path.as_path()).collect::<Vec<_>>()));
    let addresses = pages.each_ref().map(|page| page.address.as_str());
    in_browser("page.test.js", &addresses);
    in_browser("layout.test.js", &addresses[..1]);
}

#[test]
fn the_page_passes_the_type_check() {
    let tests = match browser() {
        Ok(tests) if tests.join("node_modules/typescript").exists() => tests,
        Ok(_) => return println!("skipped: needs typescript: npm ci in ui/tests"),
        Err(missing) => return println!("skipped: needs {missing}"),
    };
    let mut command = Command::new("node");
    command.current_dir(&tests).args(["node_modules/typescript/bin/tsc", "--noEmit", "-p", ".."]);
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}
