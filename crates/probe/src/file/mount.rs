//! The file system of a directory.

use std::fmt;
use std::path::{Path, PathBuf};

/// A mounted file system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Mount {
    kind: String,
    source: String,
    path: PathBuf,
}

impl Mount {
    /// Whether its files exist in memory only.
    pub(super) fn is_in_memory(&self) -> bool {
        ["tmpfs", "devtmpfs", "ramfs", "hugetlbfs"].contains(&self.kind.as_str())
    }
}

impl fmt::Display for Mount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({} on {})", self.kind, self.source, self.path.display())
    }
}

/// The mount of `directory`; `None` if the kernel does not report it.
pub(super) fn of(directory: &Path) -> Option<Mount> {
    let directory = directory.canonicalize().ok()?;
    find(&std::fs::read_to_string("/proc/self/mountinfo").ok()?, &directory)
}

/// Finds `directory` in the text of `/proc/self/mountinfo` (proc_pid_mountinfo(5)): its mount has the longest path
/// above it, and is the last one on that path.
fn find(table: &str, directory: &Path) -> Option<Mount> {
    let above = table.lines().filter_map(|line| {
        // …, mount point, options, optional fields, "-", type, source, …
        let (mount, system) = line.split_once(" - ")?;
        let path = PathBuf::from(unescaped(mount.split(' ').nth(4)?));
        let mut system = system.split(' ');
        let (kind, source) = (system.next()?.to_owned(), unescaped(system.next()?));
        directory.starts_with(&path).then_some(Mount { kind, source, path })
    });
    above.max_by_key(|mount| mount.path.components().count())
}

/// Decodes blanks and similar characters, written as a backslash and three octal digits.
fn unescaped(text: &str) -> String {
    let mut pieces = text.split('\\');
    let mut plain = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let code = piece.get(..3).and_then(|digits| u8::from_str_radix(digits, 8).ok());
        match code {
            Some(code) => {
                plain.push(char::from(code));
                plain.push_str(&piece[3..]);
            }
            None => {
                plain.push('\\');
                plain.push_str(piece);
            }
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "\
22 1 254:1 / / rw,relatime shared:1 - ext4 /dev/vda1 rw
23 22 0:21 / /tmp rw shared:2 master:1 - tmpfs tmpfs rw,size=1024k
24 23 8:16 / /tmp/a\\040disk rw - xfs /dev/sdb rw
25 23 8:17 / /tmp rw - btrfs /dev/sdc rw
";

    #[test]
    fn the_nearest_mount_above_a_directory_is_found() {
        for (directory, expected) in [
            ("/srv/data", "ext4 (/dev/vda1 on /)"),
            ("/tmpfile", "ext4 (/dev/vda1 on /)"),
            ("/tmp/a disk/below", "xfs (/dev/sdb on /tmp/a disk)"),
            ("/tmp", "btrfs (/dev/sdc on /tmp)"),
        ] {
            let mount = find(TABLE, Path::new(directory)).unwrap();
            assert_eq!(mount.to_string(), expected);
            assert!(!mount.is_in_memory());
        }
        assert!(find(&TABLE[..130], Path::new("/tmp")).unwrap().is_in_memory());
        assert_eq!(find("", Path::new("/")), None);
    }
}
