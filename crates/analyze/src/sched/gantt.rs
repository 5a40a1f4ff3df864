//! Draws part of a recording in characters: a line for each processor and each thread.

use std::collections::BTreeMap;

use hemiola_trace::Recording;
use hemiola_trace::sched::{Left, Tid, What};
use hemiola_units::Instant;

use super::report::Report;
use hemiola_report::text::duration;

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

/// The state of a thread or a processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Doing {
    Nothing,
    Runs,
    Ready,
    Blocked,
    /// It is not known.
    Hidden,
}

/// A line: how long what was done in each column.
struct Line {
    doing: Doing,
    since: u64,
    /// Runs, ready, blocked, hidden.
    columns: Vec<[u64; 4]>,
}

/// Draws the stretch: `█` runs at least half of the time a character stands for, `▄` less; `·` ready, waits for a
/// processor; `~` waits for a device or a lock of the kernel; `?` not seen; `!` a deadline that is missed.
#[must_use]
pub fn gantt(recording: &Recording, report: &Report, stretch: Stretch) -> String {
    let Stretch { from_ns, to_ns, columns, only } = stretch;
    let columns = columns.clamp(10, 1000);
    if to_ns <= from_ns {
        return String::new();
    }
    let scale = Scale { from: from_ns, to: to_ns, columns };
    let mut cpus = BTreeMap::<u16, (Tid, Line)>::new();
    let mut threads = BTreeMap::<Tid, Line>::new();
    for event in recording.events() {
        let at = event.at.nanos();
        if at > to_ns {
            break;
        }
        let hidden = || (Tid::UNKNOWN, scale.line(Doing::Hidden, 0));
        let (current, line) = cpus.entry(event.cpu).or_insert_with(hidden);
        let thread = |threads: &mut BTreeMap<Tid, Line>, tid: Tid, doing: Doing| {
            if tid != Tid::IDLE && tid != Tid::UNKNOWN {
                let line = threads.entry(tid).or_insert_with(|| scale.line(Doing::Hidden, 0));
                scale.change(line, at, doing);
            }
        };
        match event.what {
            What::Switch { prev, left, next, .. } => {
                let before = match left {
                    Left::Preempted | Left::Yielded => Doing::Ready,
                    Left::Uninterruptible | Left::Stopped => Doing::Blocked,
                    _ => Doing::Nothing,
                };
                if *current == Tid::UNKNOWN && line.doing == Doing::Hidden && prev != Tid::UNKNOWN {
                    // It had the processor since the record resumed.
                    line.doing = if prev == Tid::IDLE { Doing::Nothing } else { Doing::Runs };
                    if let Some(thread) =
                        threads.get_mut(&prev).filter(|thread| thread.doing == Doing::Hidden)
                    {
                        thread.doing = Doing::Runs;
                    }
                }
                thread(&mut threads, prev, before);
                thread(&mut threads, next, Doing::Runs);
                *current = next;
                let doing = match next {
                    Tid::IDLE => Doing::Nothing,
                    Tid::UNKNOWN => Doing::Hidden,
                    _ => Doing::Runs,
                };
                scale.change(line, at, doing);
            }
            What::Wake { tid, .. } => {
                let runs = threads.get(&tid).is_some_and(|line| line.doing == Doing::Runs);
                if !runs {
                    thread(&mut threads, tid, Doing::Ready);
                }
            }
            What::Lost(_) | What::Online(_) => {
                let (since, tid) = (line.since, *current);
                // Undo the drawing since the last event of this processor.
                line.doing = Doing::Hidden;
                scale.change(line, at, Doing::Hidden);
                if let Some(thread) = threads.get_mut(&tid).filter(|thread| thread.since >= since) {
                    thread.doing = Doing::Hidden;
                    scale.change(thread, at, Doing::Hidden);
                }
                *current = Tid::UNKNOWN;
            }
            _ => {}
        }
    }
    for (_, line) in cpus.values_mut() {
        scale.change(line, to_ns, Doing::Nothing);
    }
    for line in threads.values_mut() {
        scale.change(line, to_ns, Doing::Nothing);
    }
    let mut text = format!("{:NAME_WIDTH$} {}\n", "", scale.axis(report.from_ns));
    for (cpu, (_, line)) in &cpus {
        text += &format!("{} {}\n", fitted(&format!("processor {cpu}")), scale.drawn(line, &[]));
    }
    let ran = |line: &Line| line.columns.iter().map(|column| column[0] + column[1]).sum::<u64>();
    let mut shown: Vec<(Tid, Line)> =
        threads.into_iter().filter(|(_, line)| ran(line) > 0).collect();
    shown.retain(|(tid, _)| only.is_none_or(|only| only == tid.0));
    shown.sort_by_key(|(tid, line)| (std::cmp::Reverse(ran(line)), *tid));
    let more = shown.len().saturating_sub(THREADS_MAX);
    for (tid, line) in shown.iter().take(THREADS_MAX) {
        let name = recording
            .thread(*tid, Instant::from_nanos(to_ns))
            .map_or("thread", |thread| thread.name.as_str());
        let missed = report
            .misses
            .iter()
            .filter(|miss| miss.job.tid == tid.0)
            .filter_map(|miss| miss.job.deadline_ns);
        let missed: Vec<u64> = missed.collect();
        let number = format!(" {}", tid.0);
        let kept = NAME_WIDTH.saturating_sub(number.len());
        let name: String = name.chars().take(kept).collect();
        text += &format!("{} {}\n", fitted(&(name + &number)), scale.drawn(line, &missed));
    }
    if more > 0 {
        text += &format!("{:NAME_WIDTH$} {more} more threads\n", "");
    }
    text + "█ runs  ▄ runs less than half of the time  · ready, waits for a processor  ~ waits for a device or lock  \
            ? not seen  ! misses its deadline\n"
}

/// Printable, in the width of a name.
fn fitted(name: &str) -> String {
    let printable = name.chars().map(|c| if c.is_control() { '?' } else { c });
    format!("{:NAME_WIDTH$}", printable.take(NAME_WIDTH).collect::<String>())
}

/// Which column a moment is in.
#[derive(Clone, Copy)]
struct Scale {
    from: u64,
    to: u64,
    columns: usize,
}

impl Scale {
    fn line(self, doing: Doing, since: u64) -> Line {
        Line { doing, since, columns: vec![[0; 4]; self.columns] }
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
    fn change(self, line: &mut Line, at: u64, doing: Doing) {
        let (begin, end) = (line.since.max(self.from), at.min(self.to));
        let kind = match line.doing {
            Doing::Nothing => None,
            Doing::Runs => Some(0),
            Doing::Ready => Some(1),
            Doing::Blocked => Some(2),
            Doing::Hidden => Some(3),
        };
        if let Some(kind) = kind.filter(|_| begin < end) {
            for column in self.column(begin)..=self.column(end - 1) {
                let (left, right) = (self.edge(column).max(begin), self.edge(column + 1).min(end));
                line.columns[column][kind] += right.saturating_sub(left);
            }
        }
        (line.doing, line.since) = (doing, at);
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
