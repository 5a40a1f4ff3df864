//! The events that other programs write into a Perfetto trace: slices, instants and numbers, by track.

use hemiola_units::Instant;

/// The events of other programs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TrackEvents {
    /// The names of slices and instants, each once.
    pub names: Vec<String>,
    /// The tracks that have events, in order of appearance.
    pub tracks: Vec<EventTrack>,
}

/// A track of a thread, of a process, or of its own.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EventTrack {
    /// Its process; 0 if it belongs to none.
    pub pid: u32,
    /// Its thread; 0 if it belongs to none.
    pub tid: u32,
    /// Whether it is the thread's or process's own track, of which each has one, and not one that a program added.
    pub is_own: bool,
    /// The name of the track, of its thread, or of its process.
    pub name: String,
    /// What a thread or an operation did, by beginning; an outer slice comes before those inside it.
    pub slices: Vec<Slice>,
    /// Single moments, by time.
    pub instants: Vec<Moment>,
    /// The values of a counter, by time.
    pub values: Vec<(Instant, f64)>,
    /// The unit of these values; empty if the program states none.
    pub unit: String,
    /// Ends of slices whose beginnings are not in the recording.
    pub unmatched: u64,
}

/// A time that a program named: 24 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slice {
    /// Its beginning.
    pub from: Instant,
    /// Its end; if that is missing, the last moment at which it is known to have gone on.
    pub to: Instant,
    /// Index of its name in [`TrackEvents::names`].
    pub name: u32,
    /// How many slices of its track it is in.
    pub depth: u16,
    /// Whether its end is in the recording.
    pub is_whole: bool,
}

/// A moment that a program named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moment {
    /// When.
    pub at: Instant,
    /// Index of its name in [`TrackEvents::names`].
    pub name: u32,
}

impl EventTrack {
    /// Whether nothing happened on it.
    pub(crate) fn is_empty(&self) -> bool {
        self.slices.is_empty() && self.instants.is_empty() && self.values.is_empty()
    }

    /// The moments of its first and its last event.
    #[must_use]
    pub fn span(&self) -> Option<(Instant, Instant)> {
        let slices = self.slices.iter().flat_map(|slice| [slice.from, slice.to]);
        let instants = self.instants.iter().map(|instant| instant.at);
        let all = slices.chain(instants).chain(self.values.iter().map(|(at, _)| *at));
        all.fold(None, |span, at| {
            let (from, to) = span.unwrap_or((at, at));
            Some((at.min(from), at.max(to)))
        })
    }
}
