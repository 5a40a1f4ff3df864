//! Puts the commit this is built from into the binary, read from `.git` without needing git.

use std::fs;
use std::path::Path;

fn main() {
    let git = Path::new("../../.git");
    let head = git.join("HEAD");
    println!("cargo:rerun-if-changed={}", head.display());
    let Ok(text) = fs::read_to_string(&head) else { return };
    // Either a commit itself, or the name of the branch that has it.
    let commit = match text.trim().strip_prefix("ref: ") {
        None => Some(text.trim().to_owned()),
        Some(branch) => {
            let file = git.join(branch);
            println!("cargo:rerun-if-changed={}", file.display());
            fs::read_to_string(file).ok().map(|commit| commit.trim().to_owned())
        }
    };
    if let Some(commit) = commit {
        println!("cargo:rustc-env=HEMIOLA_COMMIT={commit}");
    }
}
