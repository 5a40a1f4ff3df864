//! Small scenarios, put together from parts.

/// A second of a pendulum with whatever privileges there are. At 200 Hz everything that counts cycles is soon through.
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
[[variant]]
name = "monolithic"
[variant.processes]
monolithic = { task = "monolithic", gain = "baseline", profile = "io" }
"#;

pub(crate) const SHARED_MEMORY: &str = r#"
[[variant]]
name = "shared-memory"
[variant.channels]
sensors = { endpoint = "shm:sensors", delivery = "latest" }
command = { endpoint = "shm:command", delivery = "latest" }
[variant.processes]
io = { task = "io", profile = "io", sends = ["sensors"], receives = ["command"] }
[variant.processes.controller]
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
[[variant]]
name = "simplex"
[variant.channels]
sensors = { endpoint = "shm:sensors", delivery = "latest" }
command = { endpoint = "shm:command", delivery = "latest" }
[variant.processes.io]
task = "io"
order = "read-first"
profile = "io"
sends = ["sensors"]
receives = ["command"]
[variant.processes.decision]
task = "decision"
profile = "decision"
receives = ["sensors"]
sends = ["command"]
[[variant.units]]
name = "experimental"
gain = "experimental"
profile = "controller"
"#;

/// A scenario of these variants.
pub(crate) fn of(variants: &[&str]) -> String {
    HEAD.to_owned() + &variants.concat()
}

/// Replaces text, each once.
pub(crate) fn edited(text: &str, edits: &[(&str, &str)]) -> String {
    edits.iter().fold(text.to_owned(), |text, (from, to)| {
        assert!(text.contains(from), "the scenario has no {from}");
        text.replacen(from, to, 1)
    })
}
