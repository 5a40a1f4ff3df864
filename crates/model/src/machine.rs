//! The figures of merit of a machine, as stored in `machine.toml`.
//!
//! ```
//! use hemiola_model::machine::{Machine, MachineError};
//!
//! let text = r#"
//! format = 1
//! measured_unix_s = 1700000000
//! [identity]
//! cpu_model = "Test CPU"
//! cpus_online = 2
//! kernel = "6.1"
//! [[figure]]
//! name = "processor.instruction"
//! value = 0.4
//! unit = "ns"
//! low = 0.38
//! high = 0.42
//! std = 0.02
//! systematic = 0.001
//! p99 = 0.5
//! samples = 500
//! blocks = 5
//! batch = 100000
//! overhead = 0.0
//! circumstances = "idle"
//! "#;
//! let machine = Machine::read(text).unwrap();
//! assert_eq!(machine.figure("processor.instruction").unwrap().value, 0.4);
//! assert_eq!(Machine::read(&machine.write()).unwrap(), machine);
//!
//! let mut other = machine.identity.clone();
//! other.kernel = "6.2".into();
//! assert!(matches!(machine.must_be(&other), Err(MachineError::Another { .. })));
//! ```

use std::ops::Range;

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// The version of the file; a reader rejects a later one.
pub const FORMAT: u32 = 1;

/// The file's name in a folder of measurements.
pub const FILE_NAME: &str = "machine.toml";

/// The units a figure may have.
pub const UNITS: [&str; 4] = ["ns", "B/s", "1/s", "B"];

/// A machine and its measured figures.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Machine {
    /// The writer's [`FORMAT`].
    pub format: u32,
    /// The time of the measurement, seconds since 1970 UTC.
    pub measured_unix_s: u64,
    /// The work of others during the measurement, in words, if it disturbed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disturbance: Option<String>,
    /// The work of others in numbers, if it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub meanwhile: Option<OtherWork>,
    /// The machine's identity, which keeps figures of another machine from being used for this one.
    pub identity: Identity,
    /// The figures, in the order of the catalogue.
    #[serde(rename = "figure", default)]
    pub figures: Vec<Figure>,
}

/// The work of others during a measurement, in the mean of its blocks.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OtherWork {
    /// Processors that other processes of this machine used.
    pub others: f64,
    /// The share of all processors' time that the host took.
    pub stolen: f64,
}

/// The properties that identify a machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Identity {
    /// The processor's model name.
    pub cpu_model: String,
    /// Processors online.
    pub cpus_online: u32,
    /// Kernel release and version from uname(2).
    pub kernel: String,
    /// The hypervisor, if one was detected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub virtualized: Option<String>,
}

/// One figure of merit: a median with its 95 % interval.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Figure {
    /// Its dotted name.
    pub name: String,
    /// The median, in [`Figure::unit`].
    pub value: f64,
    /// One of [`UNITS`].
    pub unit: String,
    /// Lower end of the interval that contains the result of a repeat with 95 % confidence.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Standard deviation of single readings (stochastic).
    pub std: f64,
    /// Systematic uncertainty: the possible calibration error, the same in every reading.
    pub systematic: f64,
    /// 99th percentile of the readings.
    pub p99: f64,
    /// Number of readings.
    pub samples: u64,
    /// Blocks of readings, taken at different times; the interval has one degree of freedom less.
    pub blocks: u64,
    /// Operations averaged by each reading.
    pub batch: u64,
    /// The cost of measuring, subtracted from every reading.
    pub overhead: f64,
    /// The conditions besides the machine: `"same core, warm, idle, FIFO 80"`.
    pub circumstances: String,
}

/// Why a `machine.toml` cannot be used.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum MachineError {
    /// The text is not in the expected form.
    #[error("{message}")]
    Text {
        /// The byte range of the error, if known.
        at: Option<Range<usize>>,
        /// The problem: one sentence without a full stop.
        message: String,
    },
    /// A newer version wrote the file.
    #[error(
        "it has format {found}, and this version reads up to {FORMAT}; use a newer hemiola, or measure again"
    )]
    TooNew {
        /// Its format.
        found: u32,
    },
    /// A figure is invalid.
    #[error("the figure `{name}` {problem}")]
    Figure {
        /// Its name.
        name: String,
        /// The problem.
        problem: String,
    },
    /// The file belongs to another machine.
    #[error(
        "it was measured on another machine: {}; measure this one with: hemiola measure",
        differences.join("; ")
    )]
    Another {
        /// The differences, a clause each.
        differences: Vec<String>,
    },
}

impl Machine {
    /// Parses the text of a file.
    ///
    /// # Errors
    /// [`MachineError::TooNew`] first, since the meaning of a later format is unknown; then invalid TOML, unknown
    /// keys and invalid figures.
    pub fn read(text: &str) -> Result<Self, MachineError> {
        /// The key that every format has.
        #[derive(Deserialize)]
        struct Head {
            format: u32,
        }
        let refused = |error: toml::de::Error| MachineError::Text {
            at: error.span(),
            message: error.message().to_owned(),
        };
        let head: Head = toml::from_str(text).map_err(refused)?;
        if head.format > FORMAT {
            return Err(MachineError::TooNew { found: head.format });
        }
        let machine: Self = toml::from_str(text).map_err(refused)?;
        if let Some(message) = machine.meanwhile.and_then(OtherWork::problem) {
            return Err(MachineError::Text { at: None, message });
        }
        for (index, figure) in machine.figures.iter().enumerate() {
            let twice = machine.figures[..index].iter().any(|other| other.name == figure.name);
            let problem = if twice { Some("occurs twice".into()) } else { figure.problem() };
            if let Some(problem) = problem {
                return Err(MachineError::Figure { name: figure.name.clone(), problem });
            }
        }
        Ok(machine)
    }

    /// The text of its file.
    ///
    /// # Panics
    /// Never: every field has a TOML form.
    #[must_use]
    pub fn write(&self) -> String {
        let body = toml::to_string(self).expect("plain data has a TOML form");
        format!(
            "# The costs of this machine: written by `hemiola measure`, read by `hemiola model`.\n{body}"
        )
    }

    /// The figure with this name.
    #[must_use]
    pub fn figure(&self, name: &str) -> Option<&Figure> {
        self.figures.iter().find(|figure| figure.name == name)
    }

    /// Checks that the figures were measured on the machine `here`.
    ///
    /// # Errors
    /// [`MachineError::Another`]. Another kernel counts as another machine: it changes nearly every figure.
    pub fn must_be(&self, here: &Identity) -> Result<(), MachineError> {
        let differences = self.identity.differences(here);
        if differences.is_empty() { Ok(()) } else { Err(MachineError::Another { differences }) }
    }
}

impl Identity {
    /// The differences between this machine and `other`, a clause each: `"the kernel is A, not B"`.
    #[must_use]
    pub fn differences(&self, other: &Self) -> Vec<String> {
        let virtualized = |identity: &Self| {
            identity.virtualized.clone().unwrap_or_else(|| "no virtual machine".into())
        };
        [
            ("processor is", self.cpu_model.clone(), other.cpu_model.clone()),
            (
                "number of processors is",
                self.cpus_online.to_string(),
                other.cpus_online.to_string(),
            ),
            ("kernel is", self.kernel.clone(), other.kernel.clone()),
            ("hypervisor is", virtualized(self), virtualized(other)),
        ]
        .into_iter()
        .filter(|(_, own, others)| own != others)
        .map(|(what, own, others)| format!("the {what} {own}, not {others}"))
        .collect()
    }
}

impl OtherWork {
    fn problem(self) -> Option<String> {
        let is_wrong = |(_, value): &(&str, f64)| !(value.is_finite() && *value >= 0.0);
        let (key, value) =
            [("others", self.others), ("stolen", self.stolen)].into_iter().find(is_wrong)?;
        Some(format!("`meanwhile.{key}` is {value}; it must be finite and at least 0"))
    }
}

impl Figure {
    fn problem(&self) -> Option<String> {
        let all = [
            ("value", self.value),
            ("low", self.low),
            ("high", self.high),
            ("std", self.std),
            ("systematic", self.systematic),
            ("p99", self.p99),
            ("overhead", self.overhead),
        ];
        if let Some((key, value)) = all.iter().find(|(_, value)| !value.is_finite()) {
            return Some(format!("has {value} as {key}; it must be finite"));
        }
        if !UNITS.contains(&self.unit.as_str()) {
            let known = UNITS.join(", ");
            return Some(format!("has the unit \"{}\"; known units are {known}", self.unit));
        }
        if let Some((key, value)) =
            all.iter().find(|(key, value)| ["std", "systematic"].contains(key) && *value < 0.0)
        {
            return Some(format!("has {value} as {key}; an uncertainty must be at least 0"));
        }
        (self.low > self.value || self.value > self.high).then(|| {
            format!("has {} outside its interval, {} to {}", self.value, self.low, self.high)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn figure(name: &str) -> Figure {
        Figure {
            name: name.into(),
            value: 2.5,
            unit: "ns".into(),
            low: 2.0,
            high: 3.0,
            std: 0.5,
            systematic: 0.1,
            p99: 4.0,
            samples: 100,
            blocks: 5,
            batch: 1,
            overhead: 0.2,
            circumstances: "idle".into(),
        }
    }

    fn machine(figures: Vec<Figure>) -> Machine {
        Machine {
            format: FORMAT,
            measured_unix_s: 1,
            identity: Identity {
                cpu_model: "Test CPU".into(),
                cpus_online: 2,
                kernel: "6.1".into(),
                virtualized: Some("kvm".into()),
            },
            disturbance: None,
            meanwhile: None,
            figures,
        }
    }

    fn rejected(change: impl FnOnce(&mut Figure)) -> String {
        let mut figure = figure("a.b");
        change(&mut figure);
        Machine::read(&machine(vec![figure]).write()).unwrap_err().to_string()
    }

    #[test]
    fn a_newer_format_is_rejected_before_anything_else() {
        let error = Machine::read("format = 7\nsomething_new = 1\n").unwrap_err();
        assert!(matches!(error, MachineError::TooNew { found: 7 }), "{error}");
        assert!(error.to_string().contains("use a newer hemiola"), "{error}");
    }

    #[test]
    fn text_that_is_not_a_machine_is_rejected_with_its_place() {
        let error = Machine::read("format = 1\nfigure = 3\n").unwrap_err();
        let MachineError::Text { at: Some(_), .. } = error else { panic!("{error:?}") };
        assert!(Machine::read("").is_err() && Machine::read("format = [").is_err());
        let text = machine(vec![]).write() + "colour = 1\n";
        assert!(Machine::read(&text).unwrap_err().to_string().contains("colour"));
    }

    #[test]
    fn the_work_of_others_is_finite_and_not_negative() {
        let with = |others, stolen| {
            let meanwhile = Some(OtherWork { others, stolen });
            Machine { meanwhile, ..machine(vec![figure("a.b")]) }
        };
        let busy = with(1.5, 0.25);
        assert_eq!(Machine::read(&busy.write()).unwrap(), busy);
        let said = |wrong: &Machine| Machine::read(&wrong.write()).unwrap_err().to_string();
        assert!(said(&with(f64::NAN, 0.0)).starts_with("`meanwhile.others` is NaN; it must be"));
        assert!(said(&with(0.0, -0.5)).starts_with("`meanwhile.stolen` is -0.5; it must be"));
    }

    #[test]
    fn invalid_figures_are_rejected_by_name() {
        assert!(
            rejected(|f| f.value = 9.0).contains("the figure `a.b` has 9 outside its interval")
        );
        assert!(rejected(|f| f.std = -1.0).contains("must be at least 0"));
        assert!(
            rejected(|f| f.unit = "furlong".into()).contains("known units are ns, B/s, 1/s, B")
        );
        assert!(rejected(|f| f.p99 = f64::NAN).contains("must be finite"));
        let twice = machine(vec![figure("a"), figure("a")]).write();
        assert!(Machine::read(&twice).unwrap_err().to_string().contains("occurs twice"));
    }

    #[test]
    fn another_machine_is_rejected_with_the_differences() {
        let own = machine(vec![]);
        assert!(own.must_be(&own.identity).is_ok());
        let other = Identity { cpus_online: 4, virtualized: None, ..own.identity.clone() };
        assert_eq!(
            own.must_be(&other).unwrap_err().to_string(),
            "it was measured on another machine: the number of processors is 2, not 4; the hypervisor is kvm, not no \
             virtual machine; measure this one with: hemiola measure"
        );
    }

    proptest! {
        #[test]
        fn a_machine_is_read_back_unchanged(
            value in -1e12f64..1e12,
            width in 0f64..1e6,
            name in "[a-z]{1,8}(\\.[a-z0-9_]{1,8}){0,3}",
            circumstances in "\\PC{0,40}",
        ) {
            let figure = Figure {
                value,
                low: value - width,
                high: value + width,
                circumstances,
                ..figure(&name)
            };
            let machine = machine(vec![figure]);
            prop_assert_eq!(Machine::read(&machine.write()).unwrap(), machine);
        }
    }
}
