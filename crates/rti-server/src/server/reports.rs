//! Service reports of federates, on their way from the kernel to the files of the shell.

use std::collections::{BTreeMap, BTreeSet};

use hemiola_rti::SessionId;

use super::Server;
use crate::network::Network;

/// Lines for files, by session: each text consists of whole lines.
pub type ReportBatch = BTreeMap<SessionId, Vec<u8>>;

/// Lines that could not be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LostReports {
    /// Their length in bytes.
    pub len: u64,
    /// Why the first of them could not be written, in words.
    pub reason: String,
}

/// The greatest number of files. Each session can begin one.
const FILES_MAX: usize = 4096;

/// The memory of the lines that wait while others are being written, in bytes. Without room, lines are lost.
const WAITING_LEN_MAX: usize = 4 << 20;

/// The lines that wait, and those that were lost. Federates never wait for the disk.
#[derive(Debug, Default)]
pub(super) struct Reports {
    waiting: ReportBatch,
    /// Their length, and that of all files, in bytes.
    waiting_len: usize,
    len: u64,
    /// The sessions that have a file, or had one.
    files: BTreeSet<SessionId>,
    /// The lines of each session that were lost since the last one that was not.
    lost: BTreeMap<SessionId, u64>,
    is_writing: bool,
    /// Whether operators know that there may be no longer files, no more files, and that files cannot be written.
    is_full: bool,
    are_many: bool,
    is_failing: bool,
}

impl Reports {
    /// Adds a line. If that would exceed the memory, or all files together would have more than this many bytes, it is
    /// lost; the next line of the session that is not says how many were. All lines of a session beyond the greatest
    /// number of files are lost.
    fn push(&mut self, session: SessionId, line: &[u8], len_max: u64) {
        if !self.may_have_file(session) {
            return;
        }
        let lost = self.lost.remove(&session).unwrap_or_default();
        let note = match lost {
            0 => String::new(),
            count => format!("{{\"record\":\"lost\",\"count\":{count}}}\n"),
        };
        let len = note.len() + line.len();
        let fits = self.len + len as u64 <= len_max;
        if !fits && !std::mem::replace(&mut self.is_full, true) {
            tracing::warn!("the files of service reports have their greatest length");
        }
        if !fits || self.waiting_len + len > WAITING_LEN_MAX {
            self.lost.insert(session, lost + 1);
            return;
        }
        (self.waiting_len, self.len) = (self.waiting_len + len, self.len + len as u64);
        let lines = self.waiting.entry(session).or_default();
        lines.extend_from_slice(note.as_bytes());
        lines.extend_from_slice(line);
    }

    /// Whether a session has a file, or may begin one.
    fn may_have_file(&mut self, session: SessionId) -> bool {
        if self.files.contains(&session) {
            return true;
        }
        let may = self.files.len() < FILES_MAX;
        if may {
            self.files.insert(session);
        } else if !std::mem::replace(&mut self.are_many, true) {
            tracing::warn!(files = FILES_MAX, "no more federates get files of service reports");
        }
        may
    }

    /// The lines that were taken are in their files, except those that were lost. These count no longer.
    fn written(&mut self, lost_len: u64) {
        self.is_writing = false;
        self.len -= lost_len;
    }

    /// Takes the lines that wait, unless others are being written.
    fn take(&mut self) -> Option<ReportBatch> {
        if self.is_writing || self.waiting.is_empty() {
            return None;
        }
        (self.is_writing, self.waiting_len) = (true, 0);
        Some(std::mem::take(&mut self.waiting))
    }
}

impl Server {
    /// The lines that the shell was given last are in their files, or some could not be written.
    pub fn reports_appended(&mut self, result: Result<(), LostReports>) {
        let was_failing = std::mem::replace(&mut self.reports.is_failing, result.is_err());
        self.reports.written(result.as_ref().map_or_else(|lost| lost.len, |()| 0));
        if let (Err(LostReports { reason, .. }), false) = (result, was_failing) {
            tracing::warn!(reason, "service reports are lost");
        }
    }

    /// Keeps a line for the file of a session.
    pub(super) fn keep_report(&mut self, session: SessionId, line: &[u8]) {
        self.reports.push(session, line, self.settings.report_len_max);
        // The last lines of a federate can come after its session is forgotten.
        if !self.sessions.by_id.contains_key(&session) {
            self.forget_reports(session);
        }
    }

    /// Gives the lines that wait to the shell, if it has written those before.
    pub fn append_reports(&mut self, network: &mut dyn Network) {
        if let Some(batch) = self.reports.take() {
            network.append_reports(batch);
        }
    }

    /// A session is forgotten: no line will say what was lost of its reports.
    pub(super) fn forget_reports(&mut self, session: SessionId) {
        self.reports.lost.remove(&session);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: SessionId = SessionId(1);
    const OTHER: SessionId = SessionId(2);

    fn text(batch: Option<ReportBatch>, session: SessionId) -> String {
        let lines = batch.and_then(|mut batch| batch.remove(&session)).unwrap_or_default();
        String::from_utf8(lines).unwrap()
    }

    #[test]
    fn lines_are_collected_while_others_are_written() {
        let mut reports = Reports::default();
        reports.push(ONE, b"a\n", 100);
        assert_eq!(text(reports.take(), ONE), "a\n");
        reports.push(ONE, b"b\n", 100);
        reports.push(OTHER, b"c\n", 100);
        reports.push(ONE, b"d\n", 100);
        assert_eq!(reports.take(), None, "one batch at a time");
        reports.written(0);
        let batch = reports.take();
        assert_eq!(text(batch.clone(), ONE), "b\nd\n");
        assert_eq!(text(batch, OTHER), "c\n");
    }

    #[test]
    fn a_slow_disk_loses_lines_and_the_next_one_says_how_many() {
        let mut reports = Reports::default();
        let line = vec![b'x'; WAITING_LEN_MAX / 2];
        for _ in 0..5 {
            reports.push(ONE, &line, u64::MAX);
        }
        assert_eq!(text(reports.take(), ONE).len(), WAITING_LEN_MAX);
        reports.push(ONE, b"a\n", u64::MAX);
        reports.written(0);
        assert_eq!(text(reports.take(), ONE), "{\"record\":\"lost\",\"count\":3}\na\n");
    }

    #[test]
    fn all_files_together_have_a_greatest_length() {
        let mut reports = Reports::default();
        for _ in 0..4 {
            reports.push(ONE, b"12345\n", 13);
        }
        assert_eq!(text(reports.take(), ONE), "12345\n12345\n");
        assert!(reports.is_full);
        assert_eq!(reports.lost[&ONE], 2);
    }

    #[test]
    fn lines_that_could_not_be_written_do_not_count() {
        let mut reports = Reports::default();
        (0..3).for_each(|_| reports.push(ONE, b"12345\n", 18));
        assert!(reports.take().is_some());
        reports.written(12);
        (0..3).for_each(|_| reports.push(ONE, b"12345\n", 18));
        assert_eq!(text(reports.take(), ONE), "12345\n12345\n");
    }

    #[test]
    fn sessions_beyond_the_greatest_number_of_files_get_none() {
        let mut reports = Reports::default();
        let last = FILES_MAX as u64 + 10;
        (1..=last).for_each(|session| reports.push(SessionId(session), b"a\n", u64::MAX));
        let batch = reports.take().unwrap();
        assert_eq!(batch.len(), FILES_MAX);
        assert!(reports.lost.is_empty(), "no later line could say what was lost");
        reports.push(ONE, b"b\n", u64::MAX);
        reports.push(SessionId(last), b"b\n", u64::MAX);
        reports.written(0);
        assert!(reports.take().unwrap().into_keys().eq([ONE]));
    }
}
