//! The images of federations on disk, and the thread that writes and reads them.
//!
//! A process that is killed at any moment leaves either the old image or the new one ([`file::replace`]).

use std::fs::{self, File};
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::Sender;

use hemiola_rt::file;
use hemiola_rti::{Image, SaveName, StorageId};
use rustix::fs::FlockOperation;

use crate::mailbox::{Command, Mailbox};
use crate::worker::{Job, start};

/// Bytes of a name in a path. Names may have 255, and files have suffixes.
const PART_LEN: usize = 200;

/// The thread that does one job after another and posts the results to the mailbox.
#[derive(Debug)]
pub(crate) struct Saves {
    directory: Arc<Directory>,
    jobs: Sender<Job>,
    mailbox: Arc<Mailbox>,
}

impl Saves {
    /// Takes a directory for this process alone, and starts the thread. Longer images than `len_max` are not read.
    ///
    /// # Errors
    /// The directory does not exist, or another RTI uses it, or the system provides no thread.
    pub(crate) fn start(
        path: &Path,
        len_max: u64,
        mailbox: Arc<Mailbox>,
        finish: fn(),
    ) -> io::Result<Self> {
        let directory = Arc::new(Directory::take(path, len_max)?);
        Ok(Self { directory, jobs: start("rti-saves", finish)?, mailbox })
    }

    pub(crate) fn store(&self, request: StorageId, name: SaveName, image: Image) {
        self.give(move |directory| {
            let pieces = image.bytes().pieces().map(|piece| &**piece);
            let stored = directory.store(&name, pieces);
            let failed =
                |error| format!("cannot write {}: {error}", directory.path(&name).display());
            Command::ImageStored(request, stored.map_err(failed))
        });
    }

    pub(crate) fn load(&self, request: StorageId, name: SaveName) {
        self.give(move |directory| {
            let loaded = directory.load(&name).map(Image::from);
            let failed =
                |error| format!("cannot read {}: {error}", directory.path(&name).display());
            Command::ImageLoaded(request, loaded.map_err(failed))
        });
    }

    fn give(&self, job: impl FnOnce(&Directory) -> Command + Send + 'static) {
        let (directory, mailbox) = (Arc::clone(&self.directory), Arc::clone(&self.mailbox));
        let job = move || {
            // Once the server has stopped, no thread waits for it.
            let _ = mailbox.post(job(&directory));
        };
        self.jobs.send(Box::new(job)).expect("the thread runs until the sender is dropped");
    }
}

/// A directory of images.
#[derive(Debug)]
struct Directory {
    root: PathBuf,
    /// Locked while this process uses the directory.
    _lock: File,
    len_max: u64,
}

impl Directory {
    fn take(path: &Path, len_max: u64) -> io::Result<Self> {
        let lock = File::open(path)?;
        if !lock.metadata()?.is_dir() {
            return Err(ErrorKind::NotADirectory.into());
        }
        rustix::fs::flock(&lock, FlockOperation::NonBlockingLockExclusive).map_err(|error| {
            match error {
                rustix::io::Errno::WOULDBLOCK => io::Error::other("another RTI uses it"),
                other => other.into(),
            }
        })?;
        Ok(Self { root: path.to_owned(), _lock: lock, len_max })
    }

    /// The file of an image. Labels are foreign text, so every byte is escaped that is not a letter, a digit, `-` or
    /// `_`: no name leads out of the directory or meets another.
    fn path(&self, name: &SaveName) -> PathBuf {
        let mut path = self.root.clone();
        push(&mut path, &name.federation, ".federation");
        push(&mut path, &name.label, ".save");
        path
    }

    fn store<'i>(
        &self,
        name: &SaveName,
        image: impl IntoIterator<Item = &'i [u8]>,
    ) -> io::Result<()> {
        let path = self.path(name);
        let parent = path.parent().expect("it is below the root");
        fs::create_dir_all(parent)?;
        file::replace(&path, image)?;
        let below_root = |directory: &&Path| directory.starts_with(&self.root);
        parent.ancestors().take_while(below_root).try_for_each(|one| File::open(one)?.sync_all())
    }

    fn load(&self, name: &SaveName) -> io::Result<Vec<u8>> {
        let file = File::open(self.path(name))?;
        let len = file.metadata()?.len();
        if len > self.len_max {
            let most = self.len_max;
            return Err(io::Error::other(format!("it has {len} bytes, and {most} are allowed")));
        }
        // A list that grows would take up to twice its length.
        let mut image = Vec::with_capacity(len as usize);
        file.take(len).read_to_end(&mut image)?;
        Ok(image)
    }
}

/// Adds a name to a path, escaped and in parts that a file system accepts. Only the last part has a dot in it.
fn push(path: &mut PathBuf, name: &str, suffix: &str) {
    let mut escaped = String::new();
    for byte in name.bytes() {
        if byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_' {
            escaped.push(byte.into());
        } else {
            escaped.push_str(&format!("%{byte:02X}"));
        }
    }
    let last = escaped.len().saturating_sub(1) / PART_LEN * PART_LEN;
    for at in (0..last).step_by(PART_LEN) {
        path.push(&escaped[at..at + PART_LEN]);
    }
    path.push(format!("{}{suffix}", &escaped[last..]));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(federation: &str, label: &str) -> SaveName {
        SaveName { federation: federation.into(), label: label.into() }
    }

    fn directory(test: &str) -> PathBuf {
        let path = std::env::temp_dir().join(format!("hemiola-{test}-{}", std::process::id()));
        fs::create_dir(&path).unwrap();
        path
    }

    #[test]
    fn no_label_leads_out_of_the_directory_or_meets_another() {
        let root = directory("labels");
        let saves = Directory::take(&root, 100).unwrap();
        let long = "/".repeat(256);
        let labels =
            ["", ".", "..", "../../x", "/etc/passwd", "a.save", "a", "A", "\u{0}", "ä", &long];
        let mut names: Vec<SaveName> = labels.iter().map(|label| name("Yard", label)).collect();
        names.push(name("..", "a"));
        names.push(name("", &long[1..]));
        for (number, name) in names.iter().enumerate() {
            saves.store(name, [format!("{number}").as_bytes()]).unwrap();
        }
        for (number, name) in names.iter().enumerate() {
            assert_eq!(saves.load(name).unwrap(), format!("{number}").as_bytes());
            let path = saves.path(name);
            assert!(
                path.strip_prefix(&root)
                    .unwrap()
                    .components()
                    .all(|part| { matches!(part, std::path::Component::Normal(_)) })
            );
        }
        fs::remove_dir_all(&root).unwrap();
    }

    #[test]
    fn what_a_killed_writer_leaves_behind_is_not_read_and_does_not_disturb_the_next() {
        let root = directory("killed");
        let saves = Directory::take(&root, 100).unwrap();
        let name = name("Yard", "a");
        saves.store(&name, [b"old".as_slice()]).unwrap();
        let mut beside = saves.path(&name);
        beside.as_mut_os_string().push(".new");
        for len in 0..4 {
            fs::write(&beside, &b"new "[..len]).unwrap();
            assert_eq!(saves.load(&name).unwrap(), b"old");
        }
        saves.store(&name, [b"n".as_slice(), b"ew"]).unwrap();
        assert_eq!(saves.load(&name).unwrap(), b"new");
        assert!(!beside.exists());
        fs::remove_dir_all(&root).unwrap();
    }

    #[test]
    fn a_directory_serves_one_process_and_images_have_a_greatest_length() {
        let root = directory("one");
        let saves = Directory::take(&root, 3).unwrap();
        assert_eq!(Directory::take(&root, 3).unwrap_err().to_string(), "another RTI uses it");
        let name = name("Yard", "a");
        assert_eq!(saves.load(&name).unwrap_err().kind(), ErrorKind::NotFound);
        saves.store(&name, [b"long".as_slice()]).unwrap();
        assert!(saves.load(&name).unwrap_err().to_string().contains("4 bytes, and 3 are allowed"));
        drop(saves);
        assert!(Directory::take(&root.join("nowhere"), 3).is_err());
        fs::remove_dir_all(&root).unwrap();
    }
}
