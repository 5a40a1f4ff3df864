//! Files that are replaced as a whole.

use std::fs::{self, File, Permissions};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

/// Replaces the content of a file, or makes the file, so that whatever happens leaves the old bytes or the new ones: a
/// full disk, SIGKILL, a machine that stops.
///
/// The pieces are written to a file beside it (`NAME.new`), which is synchronized and renamed over the old one; then
/// the directory is synchronized (rename(2), fsync(2)). The file keeps its permissions. Of a link, the file that the
/// link names is replaced.
///
/// Two calls for the same file at the same time are the caller's to prevent.
///
/// # Errors
/// Those of [`replaceable`], of writing, of synchronizing and of renaming. No fragment is left. The old file is as it
/// was, unless the last step failed, which synchronizes the directory.
pub fn replace<'p>(path: &Path, pieces: impl IntoIterator<Item = &'p [u8]>) -> io::Result<()> {
    let target = replaceable(path)?;
    let mut beside = target.clone().into_os_string();
    beside.push(".new");
    let beside = PathBuf::from(beside);
    let permissions = match fs::metadata(&target) {
        Ok(metadata) => Some(metadata.permissions()),
        Err(error) if error.kind() == ErrorKind::NotFound => None,
        Err(error) => return Err(error),
    };
    let written = write(&beside, pieces, permissions).and_then(|()| fs::rename(&beside, &target));
    if written.is_err() {
        // It may be incomplete, and takes room on a disk that may be full.
        let _: io::Result<()> = fs::remove_file(&beside);
    }
    written?;
    File::open(directory(&target))?.sync_all()
}

/// The file that [`replace`] would write: the path, or, of a link, the file that the link names.
///
/// # Errors
/// It is there and no regular file, or its directory does not exist or cannot be searched.
pub fn replaceable(path: &Path) -> io::Result<PathBuf> {
    match fs::canonicalize(path) {
        Ok(target) if target.is_file() => Ok(target),
        Ok(_) => Err(io::Error::other("it is no regular file")),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            fs::metadata(directory(path))?;
            Ok(path.to_owned())
        }
        Err(error) => Err(error),
    }
}

fn directory(file: &Path) -> &Path {
    let parent = file.parent().filter(|parent| !parent.as_os_str().is_empty());
    parent.unwrap_or(Path::new("."))
}

fn write<'p>(
    path: &Path,
    pieces: impl IntoIterator<Item = &'p [u8]>,
    permissions: Option<Permissions>,
) -> io::Result<()> {
    let mut file = File::create(path)?;
    pieces.into_iter().try_for_each(|piece| file.write_all(piece))?;
    if let Some(permissions) = permissions {
        file.set_permissions(permissions)?;
    }
    file.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};

    fn scratch(test: &str) -> PathBuf {
        let path = std::env::temp_dir().join(format!("hemiola-file-{test}-{}", std::process::id()));
        fs::create_dir(&path).unwrap();
        path
    }

    #[test]
    fn a_file_keeps_its_permissions_and_a_link_stays_a_link() {
        let scratch = scratch("keeps");
        let (file, link) = (scratch.join("file"), scratch.join("link"));
        replace(&file, [&b"one"[..]]).unwrap();
        fs::set_permissions(&file, Permissions::from_mode(0o640)).unwrap();
        symlink("file", &link).unwrap();
        replace(&link, [&b"two "[..], b"pieces"]).unwrap();
        assert_eq!(fs::read(&file).unwrap(), b"two pieces");
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o7777, 0o640);
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read_dir(&scratch).unwrap().count(), 2, "a fragment is left");
        fs::remove_dir_all(scratch).unwrap();
    }

    #[test]
    fn what_cannot_be_replaced_stays_and_leaves_no_fragment() {
        let scratch = scratch("refuses");
        let directory = scratch.join("directory");
        fs::create_dir(&directory).unwrap();
        assert!(replace(&directory, [&b"x"[..]]).is_err());
        assert!(replace(&scratch.join("missing/file"), [&b"x"[..]]).is_err());
        // No file can be made beside it.
        let file = scratch.join("file");
        fs::write(&file, "old").unwrap();
        fs::create_dir(scratch.join("file.new")).unwrap();
        assert!(replace(&file, [&b"new"[..]]).is_err());
        assert_eq!(fs::read(&file).unwrap(), b"old");
        assert_eq!(fs::read_dir(&scratch).unwrap().count(), 3);
        fs::remove_dir_all(scratch).unwrap();
    }
}
