//! The recorder's own track: when the recording was started, paused and triggered, and the marks of other programs.

use std::collections::BTreeMap;

use hemiola_record::marks::Task;
use hemiola_trace::{Entry, EventKind};
use hemiola_units::Instant;

/// The most different texts. Each is at most a request long, so that all take 8 MiB at most.
pub(super) const TEXTS_MAX: usize = 1 << 14;

/// The texts of every recording, which always have room.
const START: &str = "start";
const STOP: &str = "stop";

/// The marks of the recorder's own track.
#[derive(Debug)]
pub(super) struct Notes {
    task: Task,
    /// The number of each text.
    texts: BTreeMap<String, u16>,
    /// Those of the current round.
    entries: Vec<Entry>,
    refused: u64,
}

impl Notes {
    /// An empty track of the process with that number.
    pub(super) fn new(pid: u32) -> Self {
        let task = Task {
            number: usize::MAX,
            pid,
            tid: pid,
            name: "hemiola trace".into(),
            period: None,
            deadline: None,
            marks: Vec::new(),
        };
        let mut notes = Self { task, texts: BTreeMap::new(), entries: Vec::new(), refused: 0 };
        for text in [START, STOP] {
            notes.number(text);
        }
        notes
    }

    /// Notes the start of the recording, or its pause.
    pub(super) fn switched(&mut self, at: Instant, recording: bool) {
        self.add(at, if recording { START } else { STOP });
    }

    /// Adds a text. Returns whether there was room for it; if not, it is counted.
    pub(super) fn add(&mut self, at: Instant, text: &str) -> bool {
        let Some(arg) = self.number(text) else {
            self.refused += 1;
            return false;
        };
        self.entries.push(Entry { at, kind: EventKind::Mark, arg, cycle: 0, a: 0, b: 0 });
        true
    }

    /// The number of a text, which may be new.
    fn number(&mut self, text: &str) -> Option<u16> {
        if let Some(known) = self.texts.get(text) {
            return Some(*known);
        }
        let new =
            u16::try_from(self.texts.len()).ok().filter(|new| usize::from(*new) < TEXTS_MAX)?;
        self.texts.insert(text.to_owned(), new);
        self.task.marks.push(text.to_owned());
        Some(new)
    }

    /// Returns the track and what was added since the last call.
    pub(super) fn take(&mut self) -> (&Task, Vec<Entry>) {
        (&self.task, std::mem::take(&mut self.entries))
    }

    /// How many texts had no room.
    pub(super) const fn refused(&self) -> u64 {
        self.refused
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_without_room_are_refused_and_counted_and_known_ones_are_not() {
        let at = Instant::from_nanos(1);
        let mut notes = Notes::new(7);
        let added = (0..TEXTS_MAX).filter(|lap| notes.add(at, &format!("lap {lap}"))).count();
        assert_eq!((added, notes.refused()), (TEXTS_MAX - 2, 2));
        assert!(!notes.add(at, "new") && notes.add(at, "lap 300"));
        notes.switched(at, true);
        notes.switched(at, false);
        let (task, entries) = notes.take();
        let text = |entry: &Entry| task.marks[usize::from(entry.arg)].clone();
        let last: Vec<String> = entries[entries.len() - 4..].iter().map(text).collect();
        assert_eq!(last, [&format!("lap {}", TEXTS_MAX - 3), "lap 300", "start", "stop"]);
        assert_eq!((entries.len(), notes.refused()), (TEXTS_MAX + 1, 3));
        assert!(notes.take().1.is_empty());
    }
}
