//! The files of service reports, and the thread that writes them.

use std::fs::OpenOptions;
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use hemiola_rti::report_file;
use hemiola_rti_server::ReportBatch;
use rustix::fs::Access;

use crate::mailbox::{Command, Mailbox};
use crate::worker::{Job, start};

/// How long a process that ends waits for the last lines.
const FINISH_MAX: Duration = Duration::from_secs(1);

/// The thread that appends lines and posts the results to the mailbox.
#[derive(Debug)]
pub(crate) struct Reports {
    /// How all names begin: no two processes have the same.
    path: String,
    jobs: Sender<Job>,
    mailbox: Arc<Mailbox>,
}

impl Reports {
    /// Starts the thread for files in this directory.
    ///
    /// # Errors
    /// It is no directory in which this user can write, its name is not UTF-8, or the system provides no thread.
    pub(crate) fn start(directory: &Path, mailbox: Arc<Mailbox>) -> io::Result<Self> {
        let directory = directory.canonicalize()?;
        if !directory.is_dir() {
            return Err(ErrorKind::NotADirectory.into());
        }
        rustix::fs::access(&directory, Access::WRITE_OK | Access::EXEC_OK)?;
        let directory = directory.to_str().ok_or_else(|| {
            io::Error::other("its name is not UTF-8, and federates receive the name of their file")
        })?;
        let began = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        let path = format!("{directory}/hemiola-{began}-{}", std::process::id());
        Ok(Self { path, jobs: start("rti-reports")?, mailbox })
    }

    /// Returns how the names of all files begin.
    pub(crate) fn path(&self) -> &str {
        &self.path
    }

    pub(crate) fn append(&self, batch: ReportBatch) {
        let (path, mailbox) = (self.path.clone(), Arc::clone(&self.mailbox));
        self.give(move || {
            // Once the server has stopped, no thread waits for it.
            let _ = mailbox.post(Command::ReportsAppended(append_all(&path, &batch)));
        });
    }

    /// Waits until everything is written, for a second at most.
    pub(crate) fn finish(&self) {
        let (done, written) = channel();
        self.give(move || {
            let _ = done.send(());
        });
        let _ = written.recv_timeout(FINISH_MAX);
    }

    fn give(&self, job: impl FnOnce() + Send + 'static) {
        self.jobs.send(Box::new(job)).expect("the thread runs until the sender is dropped");
    }
}

/// Appends lines to the files of their sessions. Returns the first error.
fn append_all(path: &str, batch: &ReportBatch) -> Result<(), String> {
    let mut result = Ok(());
    for (session, lines) in batch {
        let name = report_file(path, *session);
        if let Err(error) = append(&name, lines) {
            result = result.and(Err(format!("cannot write {name}: {error}")));
        }
    }
    result
}

/// Appends lines, all of them or none.
fn append(name: &str, lines: &[u8]) -> io::Result<()> {
    let mut file = OpenOptions::new().append(true).create(true).mode(0o600).open(name)?;
    let before = file.metadata()?.len();
    let written = file.write_all(lines);
    if written.is_err() {
        // The last of them may be incomplete.
        let _ = file.set_len(before);
    }
    written
}

#[cfg(test)]
mod tests {
    use std::fs;

    use hemiola_rti::SessionId;

    use super::*;

    #[test]
    fn lines_are_appended_to_the_file_of_their_session() {
        let directory =
            std::env::temp_dir().join(format!("hemiola-report-files-{}", std::process::id()));
        fs::create_dir(&directory).unwrap();
        let mailbox = Arc::new(Mailbox::new().unwrap());
        let reports = Reports::start(&directory, Arc::clone(&mailbox)).unwrap();
        let lines = |text: &str| ReportBatch::from([(SessionId(7), text.as_bytes().to_vec())]);
        reports.append(lines("a\n"));
        reports.append(lines("b\n"));
        reports.finish();
        let file = format!("{}-7.jsonl", reports.path());
        assert_eq!(fs::read_to_string(&file).unwrap(), "a\nb\n");
        fs::remove_dir_all(&directory).unwrap();
        reports.append(lines("c\n"));
        reports.finish();
        let results: Vec<_> = mailbox
            .take()
            .into_iter()
            .map(|command| match command {
                Command::ReportsAppended(result) => result,
                other => panic!("{other:?}"),
            })
            .collect();
        let [Ok(()), Ok(()), Err(reason)] = &results[..] else { panic!("{results:?}") };
        assert!(reason.starts_with(&format!("cannot write {file}: No such file")), "{reason}");
        assert!(Reports::start(&directory, mailbox).is_err());
    }
}
