//! Service reports of federates, on their way from the kernel to the files of the shell.

use std::collections::BTreeMap;

use hemiola_rti::SessionId;

use super::Server;
use crate::network::Network;

/// Lines for files, by session: each text consists of whole lines.
pub type ReportBatch = BTreeMap<SessionId, Vec<u8>>;

/// The memory of the lines that wait while others are being written, in bytes. Without room, lines are lost.
const WAITING_LEN_MAX: usize = 4 << 20;

/// The lines that wait, and those that were lost. Federates never wait for the disk.
#[derive(Debug, Default)]
pub(super) struct Reports {
    waiting: ReportBatch,
    /// Their length, and that of all lines so far, in bytes.
    waiting_len: usize,
    len: u64,
    /// The lines of each session that were lost since the last one that was not.
    lost: BTreeMap<SessionId, u64>,
    is_writing: bool,
    /// Whether operators know that the files may not become longer, and that they cannot be written.
    is_full: bool,
    is_failing: bool,
}

impl Reports {
    /// Adds a line. If that would exceed the memory, or all files together would have more than this many bytes, it is
    /// lost; the next line of the session that is not says how many were.
    fn push(&mut self, session: SessionId, line: &[u8], len_max: u64) {
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
    /// The lines that the shell was given last are in their files, or some could not be written, with the reason in
    /// words.
    pub fn reports_appended(&mut self, result: Result<(), String>) {
        self.reports.is_writing = false;
        let was_failing = std::mem::replace(&mut self.reports.is_failing, result.is_err());
        if let (Err(reason), false) = (result, was_failing) {
            tracing::warn!(reason, "service reports are lost");
        }
    }

    /// Keeps a line for the file of a session.
    pub(super) fn keep_report(&mut self, session: SessionId, line: &[u8]) {
        self.reports.push(session, line, self.settings.report_len_max);
    }

    /// Gives the lines that wait to the shell, if it has written those before.
    pub fn append_reports(&mut self, network: &mut dyn Network) {
        if let Some(batch) = self.reports.take() {
            network.append_reports(batch);
        }
    }

    /// A session has ended: nobody will be told what was lost of its reports.
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
        reports.is_writing = false;
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
        reports.is_writing = false;
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
}
