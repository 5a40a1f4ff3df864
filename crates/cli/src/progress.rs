//! Progress of a run: a progress bar on a terminal, otherwise one line per part.

use std::io::{IsTerminal, stderr};
use std::time::Duration;

use hemiola_report::text::printable_lines;
use indicatif::{ProgressBar, ProgressStyle};

/// Progress on standard error.
pub(crate) enum Progress {
    Moving(ProgressBar),
    Lines,
}

/// Steps of the bar, finer than any terminal is wide.
const STEPS: u64 = 1000;

impl Progress {
    pub(crate) fn new() -> Self {
        if !stderr().is_terminal() {
            return Self::Lines;
        }
        let bar = ProgressBar::new(STEPS);
        let style = ProgressStyle::with_template("{prefix:>24} {bar:24} {msg}");
        bar.set_style(style.expect("the template is part of the program"));
        bar.enable_steady_tick(Duration::from_millis(100));
        Self::Moving(bar)
    }

    /// Prints a line that stays.
    pub(crate) fn print(&self, line: &str) {
        match self {
            Self::Moving(bar) => bar.println(printable_lines(line)),
            Self::Lines => eprintln!("{line}"),
        }
    }

    fn move_to(&self, fraction: f64, doing: &str) {
        if let Self::Moving(bar) = self {
            bar.set_position((fraction * STEPS as f64) as u64);
            bar.set_message(doing.to_owned());
        }
    }

    pub(crate) fn end(&self) {
        if let Self::Moving(bar) = self {
            bar.finish_and_clear();
        }
    }
}

impl hemiola_runner::Progress for Progress {
    fn begin(&mut self, part: &str, number: usize, of: usize) {
        match self {
            Self::Moving(bar) => {
                bar.set_position(0);
                bar.set_message("");
                bar.set_prefix(format!("{part} {number}/{of}"));
            }
            Self::Lines => eprintln!("{number}/{of} {part}"),
        }
    }

    fn tick(&mut self, fraction: f64, doing: &str) {
        self.move_to(fraction, doing);
    }

    fn note(&mut self, note: &str) {
        self.print(&format!("note: {note}"));
    }
}

impl hemiola_measure::Progress for Progress {
    fn tick(&mut self, fraction: f64, doing: &str) {
        self.move_to(fraction, doing);
    }
}
