//! Draws part of a recording in characters: a line for each processor and each thread.

use std::collections::BTreeMap;

use hemiola_trace::Recording;

use super::follow::{Doing, Follow};
use super::report::Report;
use super::tally::Code;
use super::{Options, Seen, walk};
use hemiola_report::text::{duration, printable};

/// How many threads are drawn, those that ran most.
const THREADS_MAX: usize = 32;
/// How wide a name may be.
const NAME_WIDTH: usize = 22;

/// The part to draw.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stretch {
    /// From here, ns on the monotonic clock …
    pub from_ns: u64,
    /// … to here.
    pub to_ns: u64,
    /// In so many characters.
    pub columns: usize,
    /// This thread alone.
    pub only: Option<u32>,
}

/// How a thread or a processor is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Look {
    Nothing,
    Runs,
    Ready,
    Blocked,
    /// It is not known.
    Hidden,
}

/// A line: how long what was done in each column.
struct Line {
    look: Look,
    since: u64,
    /// Runs, ready, blocked, hidden.
    columns: Vec<[u64; 4]>,
}

/// The lines that follow the walk.
struct Lines {
    scale: Scale,
    cpus: BTreeMap<u16, Line>,
    threads: BTreeMap<usize, Line>,
}

impl Follow for Lines {
    fn restart(&mut self) {
        self.cpus.clear();
        self.threads.clear();
    }

    fn processor(&mut self, cpu: u16, at: u64, has: Code) {
        let look = match has {
            Code::IDLE => Look::Nothing,
            _ if has.as_thread().is_some() => Look::Runs,
            _ => Look::Hidden,
        };
        let line = self.cpus.entry(cpu).or_insert_with(|| self.scale.line());
        self.scale.change(line, at, look);
    }

    fn thread(&mut self, thread: usize, at: u64, doing: Doing) {
        let look = match doing {
            Doing::Asleep => Look::Nothing,
            Doing::Blocked | Doing::Throttled => Look::Blocked,
            Doing::Woken(_) | Doing::Preempted(_) => Look::Ready,
            Doing::Running(_) => Look::Runs,
            Doing::Unseen => Look::Hidden,
        };
        let line = self.threads.entry(thread).or_insert_with(|| self.scale.line());
        self.scale.change(line, at, look);
    }

    fn interrupt(&mut self, _: u16, _: u64, _: Option<Code>) {}

    fn release(&mut self, _: usize) {}

    fn close(&mut self, _: usize, _: bool) {}

    fn page_fault(&mut self, _: usize, _: u64, _: bool) {}
}

/// Draws the stretch: `█` runs at least half of the time a character stands for, `▄` less; `·` ready, waits for a
/// processor; `~` waits for a device or a lock of the kernel, or without budget; `?` not seen; `!` a deadline that is
/// missed.
#[must_use]
pub fn gantt(recording: &Recording, report: &Report, stretch: Stretch) -> String {
    let Stretch { from_ns, to_ns, columns, only } = stretch;
    let columns = columns.clamp(10, 1000);
    if to_ns <= from_ns {
        return String::new();
    }
    let scale = Scale { from: from_ns, to: to_ns, columns };
    let mut lines = Lines { scale, cpus: BTreeMap::new(), threads: BTreeMap::new() };
    let walk = walk(recording, &Options::default(), Some(to_ns), None, &mut lines);
    let Lines { mut cpus, mut threads, .. } = lines;
    for line in cpus.values_mut().chain(threads.values_mut()) {
        scale.change(line, to_ns, Look::Nothing);
    }
    let mut text = format!("{:NAME_WIDTH$} {}\n", "", scale.axis(report.from_ns));
    for (cpu, line) in &cpus {
        text += &format!("{} {}\n", fitted(&format!("processor {cpu}")), scale.drawn(line, &[]));
    }
    let ran = |line: &Line| line.columns.iter().map(|column| column[0] + column[1]).sum::<u64>();
    let seen = |(thread, line): (usize, Line)| Some((walk.threads.get(thread)?, line));
    let drawn = threads.into_iter().filter(|(_, line)| ran(line) > 0).filter_map(seen);
    let mut shown: Vec<(&Seen, Line)> =
        drawn.filter(|(seen, _)| only.is_none_or(|only| only == seen.tid)).collect();
    shown.sort_by_key(|(seen, line)| (std::cmp::Reverse(ran(line)), seen.tid));
    let more = shown.len().saturating_sub(THREADS_MAX);
    for (seen, line) in shown.iter().take(THREADS_MAX) {
        let missed = report
            .misses
            .iter()
            .filter(|miss| miss.job.tid == seen.tid)
            .filter_map(|miss| miss.job.deadline_ns);
        let missed: Vec<u64> = missed.collect();
        let number = format!(" {}", seen.tid);
        let kept = NAME_WIDTH.saturating_sub(number.len());
        let name: String = printable(&seen.name).chars().take(kept).collect();
        text += &format!("{} {}\n", fitted(&(name + &number)), scale.drawn(line, &missed));
    }
    if more > 0 {
        text += &format!("{:NAME_WIDTH$} {more} more threads\n", "");
    }
    text + "█ runs  ▄ runs less than half of the time  · ready, waits for a processor  ~ waits for a device or lock  \
            ? not seen  ! misses its deadline\n"
}

/// In the width of a name.
fn fitted(name: &str) -> String {
    format!("{:NAME_WIDTH$}", name.chars().take(NAME_WIDTH).collect::<String>())
}

/// Which column a moment is in.
#[derive(Clone, Copy)]
struct Scale {
    from: u64,
    to: u64,
    columns: usize,
}

impl Scale {
    /// A line of what has not been seen yet.
    fn line(self) -> Line {
        Line { look: Look::Hidden, since: 0, columns: vec![[0; 4]; self.columns] }
    }

    /// Where column `index` begins.
    fn edge(self, index: usize) -> u64 {
        let length = u128::from(self.to - self.from);
        self.from + (length * index as u128 / self.columns as u128) as u64
    }

    fn column(self, at: u64) -> usize {
        let length = u128::from(self.to - self.from);
        let index = u128::from(at.saturating_sub(self.from)) * self.columns as u128 / length;
        (index as usize).min(self.columns - 1)
    }

    /// Draws what the line did until `at`, when it begins to do something else.
    fn change(self, line: &mut Line, at: u64, look: Look) {
        let (begin, end) = (line.since.max(self.from), at.min(self.to));
        let kind = match line.look {
            Look::Nothing => None,
            Look::Runs => Some(0),
            Look::Ready => Some(1),
            Look::Blocked => Some(2),
            Look::Hidden => Some(3),
        };
        if let Some(kind) = kind.filter(|_| begin < end) {
            for column in self.column(begin)..=self.column(end - 1) {
                let (left, right) = (self.edge(column).max(begin), self.edge(column + 1).min(end));
                line.columns[column][kind] += right.saturating_sub(left);
            }
        }
        (line.look, line.since) = (look, at);
    }

    fn drawn(self, line: &Line, missed: &[u64]) -> String {
        let mut drawn: Vec<char> = Vec::with_capacity(self.columns);
        for (index, [runs, ready, blocked, hidden]) in line.columns.iter().enumerate() {
            let width = self.edge(index + 1) - self.edge(index);
            drawn.push(match () {
                () if *hidden > width / 2 => '?',
                () if *runs > 0 && *runs >= width / 2 => '█',
                () if *runs > 0 => '▄',
                () if *ready > 0 => '·',
                () if *blocked > 0 => '~',
                () => ' ',
            });
        }
        for at in missed.iter().filter(|at| (self.from..self.to).contains(*at)) {
            drawn[self.column(*at)] = '!';
        }
        let text: String = drawn.into_iter().collect();
        text.trim_end().to_owned()
    }

    /// The moments at the two ends, since the recording began.
    fn axis(self, origin: u64) -> String {
        let since = |at: u64| format!("{:.6} s", at.saturating_sub(origin) as f64 * 1e-9);
        let (left, right) = (format!("|{}", since(self.from)), format!("{}|", since(self.to)));
        let middle =
            format!("{} each", duration((self.to - self.from) as f64 / self.columns as f64));
        let room = self.columns.saturating_sub(left.chars().count() + right.chars().count());
        format!("{left}{middle:^room$}{right}")
    }
}
