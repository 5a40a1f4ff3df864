//! Where a program is that a user names: a path from a folder, or a name to look up in `PATH`.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Returns the places where the program may be, in order. A name with a slash is a path, which starts in `folder` if it
/// is relative; another one is looked up in `PATH` (execvp(3)).
#[must_use]
pub fn places(folder: &Path, program: &str) -> Vec<PathBuf> {
    if program.contains('/') {
        let path = folder.join(program);
        return vec![std::path::absolute(&path).unwrap_or(path)];
    }
    let folders = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&folders).map(|folder| folder.join(program)).collect()
}

/// Returns whether one of these places has a file that somebody may execute.
#[must_use]
pub fn is_executable(places: &[PathBuf]) -> bool {
    let is_good = |path: &PathBuf| {
        fs::metadata(path)
            .is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
    };
    places.iter().any(is_good)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_starts_in_the_folder_and_a_name_is_looked_up() {
        let folder = Path::new("/scenario");
        assert_eq!(places(folder, "./unit"), [Path::new("/scenario/unit")]);
        assert_eq!(places(folder, "/bin/sh"), [Path::new("/bin/sh")]);
        assert!(is_executable(&places(folder, "/bin/sh")));
        assert!(is_executable(&places(folder, "sh")), "sh is in PATH");
        assert!(!is_executable(&places(folder, "./sh")));
        assert!(!is_executable(&places(folder, "/etc/passwd")), "a file that nobody may execute");
        assert!(!is_executable(&places(folder, "/bin")), "a folder");
    }
}
