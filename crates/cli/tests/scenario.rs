//! Small scenarios, put together from parts.

/// A second of a pendulum with whatever privileges there are. At 200 Hz everything that counts cycles is
/// soon through.
const HEAD: &str = r#"title = "A small one"
rate = "200Hz"
duration = "1s"
warmup = "100ms"
allow_less = true
[plant]
[decision]
answer_within = "2ms"
[profiles.plant]
policy = "fifo"
priority = 95
cpus = "last"
[profiles.io]
policy = "fifo"
priority = 80
cpus = "first"
[profiles.decision]
policy = "fifo"
priority = 75
cpus = "first"
[profiles.controller]
policy = "fifo"
priority = 70
cpus = "first"
"#;

pub(crate) const MONOLITHIC: &str = r#"
[[rung]]
name = "monolithic"
[rung.processes]
monolithic = { task = "monolithic", gain = "baseline", profile = "io" }
"#;

pub(crate) const SHARED_MEMORY: &str = r#"
[[rung]]
name = "shared-memory"
[rung.channels]
sensors = { endpoint = "shm:sensors", delivery = "latest" }
command = { endpoint = "shm:command", delivery = "latest" }
[rung.processes]
io = { task = "io", profile = "io", sends = ["sensors"], receives = ["command"] }
[rung.processes.controller]
task = "controller"
gain = "baseline"
profile = "controller"
receives = ["sensors"]
sends = ["command"]
"#;

/// The same two processes on iceoryx2.
pub(crate) fn publish_subscribe() -> String {
    SHARED_MEMORY.replace("shared-memory", "publish-subscribe").replace("shm:", "pubsub:")
}

pub(crate) const SIMPLEX: &str = r#"
[[rung]]
name = "simplex"
[rung.channels]
sensors = { endpoint = "shm:sensors", delivery = "latest" }
command = { endpoint = "shm:command", delivery = "latest" }
[rung.processes.io]
task = "io"
order = "read-first"
profile = "io"
sends = ["sensors"]
receives = ["command"]
[rung.processes.decision]
task = "decision"
profile = "decision"
receives = ["sensors"]
sends = ["command"]
[[rung.units]]
name = "experimental"
gain = "experimental"
profile = "controller"
"#;

/// A scenario of these rungs.
pub(crate) fn of(rungs: &[&str]) -> String {
    HEAD.to_owned() + &rungs.concat()
}

/// Replaces text, each once.
pub(crate) fn edited(text: &str, edits: &[(&str, &str)]) -> String {
    edits.iter().fold(text.to_owned(), |text, (from, to)| {
        assert!(text.contains(from), "the scenario has no {from}");
        text.replacen(from, to, 1)
    })
}
