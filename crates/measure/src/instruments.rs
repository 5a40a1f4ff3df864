//! The instruments with which times are measured on a machine, side by side: resolution, cost and error of each.
//!
//! Muller, "Modeling and Analysis: Inputs and Uncertainties", figures 3.6 and 3.16 to 3.17: the required accuracy
//! decides which instrument will do, and an interval has the errors of both its readings.

use hemiola_model::machine::Figure;
use hemiola_report::table::Table;
use hemiola_report::text::{NONE, duration, round_duration};
use serde::{Deserialize, Serialize};

/// An instrument, and the figures of merit that describe it.
struct Kind {
    name: &'static str,
    title: &'static str,
    resolution: &'static str,
    read: &'static str,
}

const KINDS: [Kind; 4] = [
    Kind {
        name: "fast",
        title: "the fast clock, a register of the processor",
        resolution: "clock.resolution",
        read: "clock.fast_read",
    },
    Kind {
        name: "kernel",
        title: "the kernel's clock",
        resolution: "clock.kernel.resolution",
        read: "clock.read",
    },
    Kind {
        name: "processor_time",
        title: "the processor time of a thread",
        resolution: "clock.processor_time.resolution",
        read: "clock.processor_time.read",
    },
    Kind {
        name: "tick",
        title: "the clock of the timer tick",
        resolution: "clock.tick.resolution",
        read: "clock.tick.read",
    },
];

/// The share of an interval that its error may be where it counts as measured well.
const WELL: f64 = 0.01;

/// An instrument that measures times, as measured on this machine. Times are in nanoseconds, `None` if not measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Instrument {
    /// `"fast"`, `"kernel"`, `"processor_time"` or `"tick"`.
    pub name: String,
    /// Its smallest step.
    pub resolution_ns: Option<f64>,
    /// What one reading costs. An interval contains the cost of one reading, which can be subtracted.
    pub read_ns: Option<f64>,
    /// The greatest error of an interval, the difference of two readings, after the cost of a reading is subtracted:
    /// the resolution, and half the interval in which a repeat finds that cost. Both are systematic, so they add.
    pub error_ns: Option<f64>,
    /// The shortest interval of which that error is at most 1 %.
    pub well_from_ns: Option<f64>,
}

/// The instruments of which at least one figure was measured, in the order of the catalogue. Suffixes of a load are
/// ignored.
#[must_use]
pub fn instruments(figures: &[Figure]) -> Vec<Instrument> {
    let find =
        |name: &str| figures.iter().find(|figure| figure.name.split('@').next() == Some(name));
    let instrument = |kind: &Kind| {
        let (resolution, read) = (find(kind.resolution), find(kind.read));
        let error = resolution.zip(read).map(|(resolution, read)| {
            resolution.value.abs() + (read.high - read.low) / 2.0 + read.systematic.abs()
        });
        let is_measured = resolution.is_some() || read.is_some();
        is_measured.then(|| Instrument {
            name: kind.name.into(),
            resolution_ns: resolution.map(|figure| figure.value),
            read_ns: read.map(|figure| figure.value),
            error_ns: error,
            well_from_ns: error.map(|error| error / WELL),
        })
    };
    KINDS.iter().filter_map(instrument).collect()
}

/// The instruments side by side; no rows if none was measured.
#[must_use]
pub(crate) fn table(figures: &[Figure]) -> Table {
    let show = |nanos: Option<f64>| nanos.map_or_else(|| NONE.to_owned(), duration);
    let rows = instruments(figures).into_iter().map(|of| {
        let title = KINDS.iter().find(|kind| kind.name == of.name).map_or("", |kind| kind.title);
        vec![
            title.to_owned(),
            show(of.resolution_ns),
            show(of.read_ns),
            of.error_ns.map_or_else(|| NONE.to_owned(), |error| format!("± {}", duration(error))),
            of.well_from_ns.map_or_else(|| NONE.to_owned(), |from| round_duration(round_up(from))),
        ]
    });
    let heads = ["Instrument", "Resolution", "One reading", "Error of an interval", "1 % from"];
    Table::new("Instruments for times, side by side", heads, rows.collect()).with_note(
        "Resolution: the smallest step. One reading: its cost, which every interval contains once and which can be \
         subtracted. Error of an interval: the resolution and the uncertainty of that cost, added, because both are \
         systematic. 1 % from: the shortest interval of which the error is at most 1 %.",
    )
}

/// Up to two significant digits, so that a limit is not promised more exactly than it is known.
fn round_up(nanos: f64) -> f64 {
    if nanos <= 0.0 || !nanos.is_finite() {
        return 0.0;
    }
    let step = 10_f64.powf(nanos.log10().floor() - 1.0);
    (nanos / step).ceil() * step
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic::figure;

    #[test]
    fn the_error_of_an_interval_is_the_resolution_and_the_uncertain_cost_together() {
        let mut read = figure("clock.fast_read@busy_neighbour", 20.0, 0.5);
        read.systematic = 0.25;
        let figures = [
            figure("clock.tick.resolution", 4e6, 0.0),
            figure("clock.tick.read", 5.0, 0.0),
            figure("clock.resolution@busy_neighbour", 1.25, 0.1),
            read,
            figure("clock.read", 30.0, 1.0),
        ];
        let found = instruments(&figures);
        let names: Vec<&str> = found.iter().map(|of| of.name.as_str()).collect();
        assert_eq!(names, ["fast", "kernel", "tick"]);
        assert_eq!((found[0].error_ns, found[0].well_from_ns), (Some(2.0), Some(200.0)));
        assert_eq!((found[1].read_ns, found[1].error_ns), (Some(30.0), None));
        assert_eq!((found[2].error_ns, found[2].well_from_ns), (Some(4e6), Some(4e8)));
        let table = table(&figures);
        let cells: Vec<&str> = table.rows[2][1..].iter().map(String::as_str).collect();
        assert_eq!(cells, ["4.00 ms", "5 ns", "± 4.00 ms", "400 ms"]);
        let cells: Vec<&str> = table.rows[1][1..].iter().map(String::as_str).collect();
        assert_eq!(cells, [NONE, "30 ns", NONE, NONE]);
        assert!(super::table(&[]).rows.is_empty());
    }

    #[test]
    fn the_shortest_interval_is_rounded_up() {
        assert_eq!([round_up(201.0), round_up(200.0), round_up(0.0)], [210.0, 200.0, 0.0]);
    }
}
