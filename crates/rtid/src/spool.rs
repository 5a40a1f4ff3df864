//! The files of spools, and the thread that writes and reads them: a disk may take long, and no federate waits for it.
//!
//! Each session has a file of its own without a name, so nothing is left behind however the process ends.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};

use hemiola_rt::sys::sched;
use hemiola_rt::sys::unnamed::unnamed;
use hemiola_rti::SessionId;
use hemiola_rti_server::SpoolChunk;
use hemiola_units::Policy;
use rustix::fs::FallocateFlags;

use crate::mailbox::{Command, Mailbox};

/// Work for the thread.
#[derive(Debug)]
pub(crate) enum Job {
    Store(SessionId, u64, SpoolChunk),
    Load(SessionId, u64),
    Discard(SessionId),
}

/// The thread. It does one job after another and posts the results to the mailbox.
#[derive(Debug)]
pub(crate) struct Spooler {
    jobs: Option<Sender<Job>>,
    thread: Option<JoinHandle<()>>,
}

impl Spooler {
    /// Starts the thread.
    ///
    /// # Errors
    /// No file can be made in the directory, or the system provides no thread.
    pub(crate) fn start(directory: &Path, mailbox: Arc<Mailbox>) -> io::Result<Self> {
        unnamed(directory)?;
        let directory = directory.to_owned();
        let (jobs, queue) = channel();
        let work = move || {
            // It is less urgent than the RTI, which may run at a real-time priority. Lowering it needs no privilege.
            let _ = sched::set_policy(None, &Policy::Other { nice: 5 });
            Files { directory, files: BTreeMap::new() }.work(&queue, &mailbox);
        };
        let thread = thread::Builder::new().name("rti-spool".into()).spawn(work)?;
        Ok(Self { jobs: Some(jobs), thread: Some(thread) })
    }

    /// Queues a job.
    pub(crate) fn give(&self, job: Job) {
        let jobs = self.jobs.as_ref().expect("it is only taken when dropped");
        // If the thread has ended, so has the server.
        let _ = jobs.send(job);
    }
}

/// Waits for the job in progress.
impl Drop for Spooler {
    fn drop(&mut self) {
        drop(self.jobs.take());
        if let Some(thread) = self.thread.take() {
            // A panic on that thread has already printed its message.
            let _ = thread.join();
        }
    }
}

/// The files, owned by the thread.
struct Files {
    directory: PathBuf,
    files: BTreeMap<SessionId, SpoolFile>,
}

impl Files {
    fn work(mut self, queue: &Receiver<Job>, mailbox: &Mailbox) {
        for job in queue {
            let result = match job {
                Job::Store(session, number, chunk) => {
                    let stored = self.store(session, number, &chunk);
                    Command::Stored(session, number, stored.map_err(|error| error.to_string()))
                }
                Job::Load(session, number) => {
                    let loaded = self.load(session, number);
                    Command::Loaded(session, number, loaded.map_err(|error| error.to_string()))
                }
                Job::Discard(session) => {
                    self.files.remove(&session);
                    continue;
                }
            };
            if mailbox.post(result).is_err() {
                return;
            }
        }
    }

    fn store(&mut self, session: SessionId, number: u64, chunk: &SpoolChunk) -> io::Result<()> {
        if !self.files.contains_key(&session) {
            self.files.insert(session, SpoolFile::new(&self.directory)?);
        }
        self.files.get_mut(&session).expect("it was made").store(number, &chunk.to_bytes())
    }

    fn load(&mut self, session: SessionId, number: u64) -> io::Result<SpoolChunk> {
        let file = self.files.get_mut(&session);
        let bytes = file.map_or_else(|| Err(not_stored()), |file| file.load(number))?;
        SpoolChunk::from_bytes(bytes).ok_or_else(|| io::ErrorKind::InvalidData.into())
    }
}

fn not_stored() -> io::Error {
    io::Error::new(io::ErrorKind::NotFound, "it was not stored")
}

/// A file without a name. Chunks are appended, and their place is given back once they are read.
#[derive(Debug)]
struct SpoolFile {
    file: File,
    end: u64,
    /// Where each chunk begins, and its length.
    chunks: BTreeMap<u64, (u64, usize)>,
}

impl SpoolFile {
    fn new(directory: &Path) -> io::Result<Self> {
        Ok(Self { file: unnamed(directory)?, end: 0, chunks: BTreeMap::new() })
    }

    fn store(&mut self, number: u64, bytes: &[u8]) -> io::Result<()> {
        self.file.write_all_at(bytes, self.end)?;
        self.chunks.insert(number, (self.end, bytes.len()));
        self.end += bytes.len() as u64;
        Ok(())
    }

    fn load(&mut self, number: u64) -> io::Result<Vec<u8>> {
        let (at, len) = self.chunks.remove(&number).ok_or_else(not_stored)?;
        let mut bytes = vec![0; len];
        self.file.read_exact_at(&mut bytes, at)?;
        if self.chunks.is_empty() {
            self.end = 0;
            self.file.set_len(0)?;
        } else {
            // Not every file system can do that. Then the place is free once the file is empty.
            let hole = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
            let _ = rustix::fs::fallocate(&self.file, hole, at, len as u64);
        }
        Ok(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_returns_each_chunk_once() {
        let mut file = SpoolFile::new(&std::env::temp_dir()).unwrap();
        file.store(1, b"first").unwrap();
        file.store(2, b"second").unwrap();
        assert_eq!(file.load(1).unwrap(), b"first");
        assert!(file.load(1).is_err(), "a chunk is read once");
        file.store(3, b"third").unwrap();
        assert_eq!(file.load(2).unwrap(), b"second");
        assert_eq!(file.load(3).unwrap(), b"third");
        assert_eq!(file.file.metadata().unwrap().len(), 0, "an empty spool takes no place");
        file.store(4, b"fourth").unwrap();
        assert_eq!(file.load(4).unwrap(), b"fourth");
    }
}
