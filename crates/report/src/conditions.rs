//! The conditions under which a measurement was taken.

use hemiola_trace::result::Conditions;

use crate::text::counted;

/// The conditions that any measurement on a machine has, as names and values.
#[must_use]
pub fn machine_conditions(c: &Conditions) -> Vec<(String, String)> {
    let throttling = if c.rt_runtime_us < 0 {
        "off".into()
    } else {
        format!("{} of {} µs", c.rt_runtime_us, c.rt_period_us)
    };
    let mut list = vec![
        ("Hemiola", c.hemiola_version.clone()),
        ("Commit", c.commit.clone().unwrap_or_else(|| "unknown".into())),
        ("Kernel", c.kernel.clone()),
        ("Preemption", c.preempt.clone()),
        ("Processor", format!("{}, {} online", c.cpu_model, c.cpus_online)),
        ("Virtual machine", c.virtualized.clone().unwrap_or_else(|| "none seen".into())),
        (
            "Clock",
            format!(
                "{}: fast read {:.1} ns, bare read {:.1} ns, resolution {:.1} ns",
                c.clock.source, c.clock.fast_read_ns, c.clock.read_ns, c.clock.resolution_ns
            ),
        ),
        ("Real-time share", throttling),
        ("Load before", format!("{:.2}", c.load_average_1m)),
        (
            "Stolen by the host",
            c.steal_ticks_delta.map_or("unknown".into(), |n| counted(n, "tick")),
        ),
        ("Command", c.command_line.clone()),
    ];
    if c.allow_less {
        list.push(("Allowed to run with less", "yes".into()));
    }
    list.into_iter().map(|(name, value)| (name.to_string(), value)).collect()
}
