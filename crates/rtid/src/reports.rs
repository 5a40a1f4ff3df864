//! The files of service reports, and the thread that writes them.

use std::collections::BTreeSet;
use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use hemiola_rt::sys::random::secret;
use hemiola_rti::{SessionId, report_file};
use hemiola_rti_server::{LostReports, ReportBatch};
use rustix::fs::{Access, OFlags};

use crate::mailbox::{Command, Mailbox};
use crate::worker::{Job, start};

/// How long a process that ends waits for the last lines.
const FINISH_MAX: Duration = Duration::from_secs(1);

/// The thread that appends lines and posts the results to the mailbox.
#[derive(Debug)]
pub(crate) struct Reports {
    /// How all names begin: no two processes have the same, even in containers that share the directory.
    path: String,
    files: Arc<Mutex<Files>>,
    jobs: Sender<Job>,
    mailbox: Arc<Mailbox>,
}

impl Reports {
    /// Starts the thread for files in this directory.
    ///
    /// # Errors
    /// It is no directory in which this user can write, its name is not UTF-8, or the system provides no thread or no
    /// random number.
    pub(crate) fn start(directory: &Path, mailbox: Arc<Mailbox>, finish: fn()) -> io::Result<Self> {
        let directory = directory.canonicalize()?;
        if !directory.is_dir() {
            return Err(ErrorKind::NotADirectory.into());
        }
        rustix::fs::access(&directory, Access::WRITE_OK | Access::EXEC_OK)?;
        let directory = directory.to_str().ok_or_else(|| {
            io::Error::other("its name is not UTF-8, and federates receive the name of their file")
        })?;
        let began = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        let secret = u64::from_ne_bytes(secret()?);
        let path = format!("{directory}/hemiola-{began}-{secret:016x}");
        let files = Files { path: path.clone(), begun: BTreeSet::new() };
        let files = Arc::new(Mutex::new(files));
        Ok(Self { path, files, jobs: start("rti-reports", finish)?, mailbox })
    }

    /// Returns how the names of all files begin.
    pub(crate) fn path(&self) -> &str {
        &self.path
    }

    pub(crate) fn append(&self, batch: ReportBatch) {
        let (files, mailbox) = (Arc::clone(&self.files), Arc::clone(&self.mailbox));
        self.give(move || {
            let result = files.lock().unwrap_or_else(PoisonError::into_inner).append_all(&batch);
            // Once the server has stopped, no thread waits for it.
            let _ = mailbox.post(Command::ReportsAppended(result));
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

/// The files of this process. Only its thread uses them.
#[derive(Debug)]
struct Files {
    path: String,
    /// The sessions whose files it has created.
    begun: BTreeSet<SessionId>,
}

impl Files {
    /// Appends lines to the files of their sessions, those of each session or none. Returns what was lost.
    fn append_all(&mut self, batch: &ReportBatch) -> Result<(), LostReports> {
        let (mut len, mut first) = (0, None);
        for (session, lines) in batch {
            let name = report_file(&self.path, *session);
            if let Err(error) = self.open(*session, &name).and_then(|file| append(file, lines)) {
                len += lines.len() as u64;
                first.get_or_insert_with(|| format!("cannot write {name}: {error}"));
            }
        }
        first.map_or(Ok(()), |reason| Err(LostReports { len, reason }))
    }

    /// Opens the file of a session. A new one takes no file or link that others have put in its place.
    fn open(&mut self, session: SessionId, name: &str) -> io::Result<File> {
        let mut options = OpenOptions::new();
        options.append(true).mode(0o600).custom_flags(OFlags::NOFOLLOW.bits().cast_signed());
        if self.begun.contains(&session) {
            match options.open(name) {
                // Somebody has removed it.
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                opened => return opened,
            }
        }
        let file = options.create_new(true).open(name)?;
        self.begun.insert(session);
        Ok(file)
    }
}

/// Appends lines, all of them or none.
fn append(mut file: File, lines: &[u8]) -> io::Result<()> {
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
    use std::path::PathBuf;

    use super::*;

    /// A directory of its own, with a thread for it.
    fn directory(test: &str) -> (PathBuf, Arc<Mailbox>, Reports) {
        let name = format!("hemiola-{test}-{}", std::process::id());
        let directory = std::env::temp_dir().join(name);
        fs::create_dir(&directory).unwrap();
        let mailbox = Arc::new(Mailbox::new().unwrap());
        let reports = Reports::start(&directory, Arc::clone(&mailbox), || {}).unwrap();
        (directory, mailbox, reports)
    }

    fn lines(text: &str) -> ReportBatch {
        ReportBatch::from([(SessionId(7), text.as_bytes().to_vec())])
    }

    fn results(mailbox: &Mailbox) -> Vec<Result<(), LostReports>> {
        let result = |command| match command {
            Command::ReportsAppended(result) => result,
            other => panic!("{other:?}"),
        };
        mailbox.take().into_iter().map(result).collect()
    }

    #[test]
    fn lines_are_appended_to_the_file_of_their_session() {
        let (directory, mailbox, reports) = directory("report-files");
        reports.append(lines("a\n"));
        reports.append(lines("b\n"));
        reports.finish();
        let file = format!("{}-7.jsonl", reports.path());
        assert_eq!(fs::read_to_string(&file).unwrap(), "a\nb\n");
        fs::remove_dir_all(&directory).unwrap();
        reports.append(lines("c\n"));
        reports.finish();
        let results = results(&mailbox);
        let [Ok(()), Ok(()), Err(LostReports { len: 2, reason })] = &results[..] else {
            panic!("{results:?}")
        };
        assert!(reason.starts_with(&format!("cannot write {file}: No such file")), "{reason}");
        assert!(Reports::start(&directory, mailbox, || {}).is_err());
    }

    #[test]
    fn no_process_writes_to_the_files_of_another_or_to_what_a_link_names() {
        let (directory, mailbox, reports) = directory("report-names");
        let other = Reports::start(&directory, Arc::clone(&mailbox), || {}).unwrap();
        assert_ne!(reports.path(), other.path(), "they started at once, with one process id");
        let file = report_file(reports.path(), SessionId(7));
        let foreign = directory.join("foreign");
        fs::write(&foreign, "x").unwrap();
        std::os::unix::fs::symlink(&foreign, &file).unwrap();
        reports.append(lines("a\n"));
        reports.finish();
        fs::remove_file(&file).unwrap();
        fs::write(&file, "y").unwrap();
        reports.append(lines("a\n"));
        reports.finish();
        assert_eq!(
            (fs::read(&foreign).unwrap(), fs::read(&file).unwrap()),
            (b"x".into(), b"y".into())
        );
        // Free again, and later replaced by a link.
        fs::remove_file(&file).unwrap();
        reports.append(lines("a\n"));
        reports.finish();
        assert_eq!(fs::read(&file).unwrap(), b"a\n");
        fs::remove_file(&file).unwrap();
        std::os::unix::fs::symlink(&foreign, &file).unwrap();
        reports.append(lines("b\n"));
        reports.finish();
        assert_eq!(fs::read(&foreign).unwrap(), b"x");
        let written: Vec<bool> = results(&mailbox).iter().map(Result::is_ok).collect();
        assert_eq!(written, [false, false, true, false]);
        fs::remove_dir_all(&directory).unwrap();
    }
}
