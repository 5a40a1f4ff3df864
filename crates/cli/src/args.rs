//! Every subcommand and option, declared once; help and errors come from here.

use std::path::PathBuf;

use clap::{Parser, Subcommand};

use hemiola_runner::subcommand;
use hemiola_units::{Rate, Span};

/// Real-time controllers on ordinary Linux: run, swap while running, account for every microsecond.
#[derive(Debug, Parser)]
#[command(name = "hemiola", version, disable_help_subcommand = true)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run a scenario and report every cycle
    Run(Run),
    /// Make the report of a result folder again
    Report(Report),
    /// Put two results side by side, with intervals
    Compare(Compare),
    /// List, add, replace, remove or promote units of the scenario that runs now
    #[command(subcommand_required = true)]
    Unit(Unit),
    /// Print the JSON schema of scenario files, for editors
    Schema,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Run {
    /// A scenario file, or a folder with a scenario.toml
    pub(crate) scenario: PathBuf,
    /// The result folder: new or empty [default: results/NAME-DATE-TIME]
    #[arg(long, value_name = "DIR")]
    pub(crate) output: Option<PathBuf>,
    /// How often each rung runs, or each kind of fault
    #[arg(long, value_name = "N")]
    pub(crate) runs: Option<u32>,
    /// How long a run is counted, as 60s or 10min
    #[arg(long, value_name = "D")]
    pub(crate) duration: Option<Span>,
    /// The rate of the control cycle, as 50Hz or 1kHz
    #[arg(long, value_name = "R")]
    pub(crate) rate: Option<Rate>,
    /// Time of each A/D and D/A conversion, as 29us
    #[arg(long, value_name = "T")]
    pub(crate) conversion_time: Option<Span>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Report {
    /// A result folder
    pub(crate) folder: PathBuf,
    /// Print summary.json instead of tables
    #[arg(long)]
    pub(crate) json: bool,
    /// Print every cycle as CSV instead of tables
    #[arg(long, conflicts_with = "json")]
    pub(crate) csv: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Compare {
    /// The result folder to compare with
    pub(crate) a: PathBuf,
    /// The result folder that is compared
    pub(crate) b: PathBuf,
    /// Print JSON instead of a table
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Unit {
    /// Which run, when several are running
    #[arg(long, global = true, value_name = "RUN")]
    pub(crate) run: Option<String>,
    #[command(subcommand)]
    pub(crate) action: Action,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Action {
    /// Show every unit and who has the plant
    List,
    /// Start a unit; it runs in shadow until it is promoted
    Add(New),
    /// Start a unit in shadow, promote it once it has proved itself, then remove the old one
    Replace {
        /// The unit to go
        old: String,
        #[command(flatten)]
        new: New,
    },
    /// Stop a unit and free its slot
    Remove {
        /// Its name
        name: String,
    },
    /// Give a shadow or standby unit the plant
    Promote {
        /// Its name
        name: String,
    },
}

#[derive(Debug, clap::Args)]
pub(crate) struct New {
    /// What the new unit is called
    pub(crate) name: String,
    /// A built-in controller, by the name of its gain
    #[arg(long, value_name = "GAIN", required_unless_present = "command")]
    pub(crate) gain: Option<String>,
    /// Its real-time priority, below the decision module's [default: that of the scenario's last unit]
    #[arg(long, value_name = "1-98")]
    pub(crate) priority: Option<u8>,
    /// Or any program that keeps the unit contract (docs/guide/units.md), with its arguments
    #[arg(last = true, value_name = "PROGRAM", conflicts_with = "gain")]
    pub(crate) command: Vec<String>,
}

/// What a process of a run is started as. Not part of the command line proper: these words are
/// followed by what only the runner can say.
pub(crate) enum Hidden {
    Node,
    Guardian(String),
    FloorPeer(String),
}

impl Hidden {
    pub(crate) fn of(words: &[String]) -> Option<Self> {
        let [word, argument] = words else { return None };
        match word.as_str() {
            subcommand::NODE => Some(Self::Node),
            subcommand::GUARDIAN => Some(Self::Guardian(argument.clone())),
            subcommand::PROBE => Some(Self::FloorPeer(argument.clone())),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_well_formed() {
        Args::command().debug_assert();
    }

    #[test]
    fn a_program_of_a_unit_keeps_its_own_options() {
        let words =
            ["hemiola", "unit", "add", "mine", "--priority", "60", "--", "./unit", "--fast"];
        let Command::Unit(unit) = Args::parse_from(words).command else {
            panic!("not a unit command")
        };
        let Action::Add(new) = unit.action else { panic!("not an addition") };
        assert_eq!((new.priority, new.command), (Some(60), vec!["./unit".into(), "--fast".into()]));
    }
}
