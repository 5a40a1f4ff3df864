//! Files without a name: they disappear with the last descriptor, however the process ends.

use std::fs::{File, remove_file};
use std::io;
use std::path::Path;

use rustix::fs::{Mode, OFlags, open};
use rustix::io::Errno;

/// Creates a file without a name in a directory, for reading and writing, which no other process can open by a path.
///
/// Source: open(2), `O_TMPFILE`. A file system that lacks it takes a file whose name is removed at once.
///
/// # Errors
/// The directory does not exist, may not be written to, or its file system is read-only or full.
pub fn unnamed(directory: &Path) -> io::Result<File> {
    match open(directory, FLAGS | OFlags::TMPFILE, MODE) {
        Ok(file) => Ok(file.into()),
        Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::INVAL) => unlinked(directory),
        Err(error) => Err(error.into()),
    }
}

const FLAGS: OFlags = OFlags::RDWR.union(OFlags::CLOEXEC);
const MODE: Mode = Mode::RUSR.union(Mode::WUSR);

/// Creates a file and removes its name at once.
fn unlinked(directory: &Path) -> io::Result<File> {
    let secret = u64::from_ne_bytes(super::random::secret()?);
    let path = directory.join(format!(".hemiola-{secret:016x}"));
    let file = open(&path, FLAGS | OFlags::CREATE | OFlags::EXCL, MODE)?;
    remove_file(&path)?;
    Ok(file.into())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{FileExt, MetadataExt};

    use super::*;

    #[test]
    fn a_file_has_no_name_and_belongs_to_its_owner_alone() {
        let directory =
            std::env::temp_dir().join(format!("hemiola-unnamed-{}", std::process::id()));
        assert!(unnamed(&directory).is_err(), "there is no such directory");
        std::fs::create_dir(&directory).unwrap();
        for make in [unnamed, unlinked] {
            let file = make(&directory).unwrap();
            file.write_all_at(b"kept", 0).unwrap();
            let mut read = [0; 4];
            file.read_exact_at(&mut read, 0).unwrap();
            assert_eq!(&read, b"kept");
            let metadata = file.metadata().unwrap();
            assert_eq!((metadata.nlink(), metadata.mode() & 0o177), (0, 0));
        }
        // Fails unless it is empty.
        std::fs::remove_dir(&directory).unwrap();
    }
}
