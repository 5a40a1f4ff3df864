//! A file system that is soon full.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A file system on a folder, unmounted when dropped.
pub(crate) struct SmallDisk(PathBuf);

impl SmallDisk {
    /// Mounts one of this size, such as `64k`, and makes the folder if it does not exist. Without the right to mount,
    /// the test is counted as skipped.
    pub(crate) fn mount(folder: &Path, size: &str) -> Option<Self> {
        fs::create_dir_all(folder).unwrap();
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", &format!("size={size}"), "none"]).arg(folder);
        let mounted = mount.stderr(Stdio::null()).status();
        if !mounted.is_ok_and(|status| status.success()) {
            println!("skipped: needs the right to mount");
            return None;
        }
        Some(Self(folder.to_owned()))
    }

    /// Leaves no room on it.
    pub(crate) fn fill(&self) {
        let mut file = File::create(self.0.join("filler")).unwrap();
        while file.write_all(&[0; 4096]).is_ok() {}
    }

    /// Lets nobody write to it any more.
    pub(crate) fn make_read_only(&self) {
        let mut mount = Command::new("mount");
        assert!(mount.args(["-o", "remount,ro"]).arg(&self.0).status().unwrap().success());
    }

    /// Makes the room that [`fill`](Self::fill) took free again.
    pub(crate) fn free(&self) {
        fs::remove_file(self.0.join("filler")).unwrap();
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.0).status();
    }
}
