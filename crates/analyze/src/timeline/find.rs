//! Searches a recording for what happened to threads and what they marked.

use super::{State, Subject, Timeline};

/// The words that name the beginning of a state.
const EVENTS: [(&str, State); 6] = [
    ("running", State::Running),
    ("woken", State::Ready),
    ("preempted", State::Preempted),
    ("blocked", State::Blocked),
    ("throttled", State::Throttled),
    ("lost", State::Unknown),
];

/// What to search for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Query {
    /// Events; without any, marks are searched for.
    events: Vec<State>,
    /// Each must be in the name or number of the thread, its process's number, or the name of the mark. In lower case.
    words: Vec<String>,
}

impl Query {
    /// Reads words between blanks. `running`, `woken`, `preempted`, `blocked`, `throttled` and `lost` are events; all
    /// others select threads and marks.
    #[must_use]
    pub fn new(text: &str) -> Self {
        let mut query = Self::default();
        for word in text.to_lowercase().split_whitespace() {
            match EVENTS.iter().find(|(name, _)| *name == word) {
                Some((_, state)) => query.events.push(*state),
                None => query.words.push(word.to_owned()),
            }
        }
        query
    }

    fn is_empty(&self) -> bool {
        self.events.is_empty() && self.words.is_empty()
    }
}

/// A moment that was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// When, ns.
    pub at: u64,
    /// The row of the thread.
    pub row: usize,
    /// The mark or event.
    pub what: What,
}

/// A mark or event that was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum What {
    /// A mark, or a slice that begins; its name is at this index in [`Timeline::names`].
    Mark(u32),
    /// The thread comes into this state; the key is as in its segments.
    Begins(State, u32),
}

/// The first moments from `from` on, ns, that a query selects, at most `max`, by time; and whether there are more.
///
/// Goes through the rows of the threads that the query selects.
#[must_use]
pub fn find(timeline: &Timeline, query: &Query, from: u64, max: usize) -> (Vec<Place>, bool) {
    let mut first = First { found: Vec::new(), max, until: u64::MAX, more: false };
    if query.is_empty() {
        return (first.found, false);
    }
    let has =
        |word: &String| timeline.names.iter().map(|n| n.to_lowercase().contains(word)).collect();
    let in_names: Vec<Vec<bool>> = query.words.iter().map(has).collect();
    for row in timeline.threads..timeline.rows.len() {
        let about = about(timeline, row);
        let left: Vec<&Vec<bool>> = query
            .words
            .iter()
            .zip(&in_names)
            .filter_map(|(word, names)| (!about.contains(word.as_str())).then_some(names))
            .collect();
        if query.events.is_empty() {
            let marks = &timeline.rows[row].marks;
            let marks = &marks[marks.partition_point(|mark| mark.at < from)..];
            let is_named = |name: u32| left.iter().all(|names| names[name as usize]);
            let place = |at: u64, name: u32| Place { at, row, what: What::Mark(name) };
            let places = marks.iter().filter(|mark| is_named(mark.name));
            first.take(places.map(|mark| place(mark.at, mark.name)));
            if timeline.slice_rows().contains(&row) {
                let begins = timeline.begins(row, from);
                let slices =
                    begins.filter(|(_, state, key)| *state == State::Running && is_named(*key));
                first.take(slices.map(|(at, _, key)| place(at, key)));
            }
        } else if left.is_empty() && timeline.thread_rows().contains(&row) {
            let begins = timeline.begins(row, from);
            let wanted = begins.filter(|(_, state, _)| query.events.contains(state));
            first.take(wanted.map(|(at, state, key)| Place {
                at,
                row,
                what: What::Begins(state, key),
            }));
        }
    }
    first.cut();
    (first.found, first.more)
}

/// The name and the numbers of a row's thread; of slices, also those of the rows above.
fn about(timeline: &Timeline, row: usize) -> String {
    match &timeline.rows[row].subject {
        Subject::Thread { tid, pid, name } => format!("{name} {tid} {pid}").to_lowercase(),
        Subject::Slices { below, pid, name, .. } => {
            let above = below.map_or_else(String::new, |above| about(timeline, above));
            format!("{above} {name} {pid}").to_lowercase()
        }
        _ => String::new(),
    }
}

/// The first places of several rows.
struct First {
    found: Vec<Place>,
    max: usize,
    /// Later ones are too many.
    until: u64,
    more: bool,
}

impl First {
    /// Takes places of a row, by time.
    fn take(&mut self, places: impl Iterator<Item = Place>) {
        for (number, place) in places.enumerate() {
            if place.at > self.until || number == self.max {
                self.more = true;
                break;
            }
            self.found.push(place);
        }
        if self.found.len() > 2 * self.max {
            self.cut();
        }
    }

    fn cut(&mut self) {
        self.found.sort_unstable();
        self.more |= self.found.len() > self.max;
        self.found.truncate(self.max);
        if self.found.len() == self.max {
            self.until = self.found.last().map_or(u64::MAX, |last| last.at);
        }
    }
}

impl Timeline {
    /// When a row comes into which state, from a moment on, ns, with the key of the segment. Segments of no length, as
    /// that of a thread that runs at once when it is woken, are included.
    pub fn begins(&self, row: usize, from: u64) -> impl Iterator<Item = (u64, State, u32)> + '_ {
        self.rows.get(row).into_iter().flat_map(move |row| {
            let mut cursor = row.track.cursor();
            (cursor.before(from)..row.track.len()).map(move |index| {
                let (state, key) = cursor.what(index);
                (cursor.start_of(index), state, key)
            })
        })
    }

    /// The wake-ups of a row's thread in `from..to`, ns, each with the row of the thread that caused it, [`INTERRUPT`],
    /// [`RESERVATION`] or [`NOBODY`]; none if the row has more than `max` segments there.
    ///
    /// [`INTERRUPT`]: super::INTERRUPT
    /// [`RESERVATION`]: super::RESERVATION
    /// [`NOBODY`]: super::NOBODY
    #[must_use]
    pub fn wake_ups(&self, row: usize, from: u64, to: u64, max: usize) -> Vec<(u64, u32)> {
        let segments = || self.begins(row, from).take_while(|(at, ..)| *at < to);
        if segments().nth(max).is_some() {
            return Vec::new();
        }
        segments()
            .filter_map(|(at, state, key)| (state == State::Ready).then_some((at, key)))
            .collect()
    }
}
