//! Checks that a package outside the workspace can use the crates that are for other people's programs.

use std::fs;
use std::io;
use std::path::Path;

use super::{Outcome, cargo_program, command, run_step};

/// The crates, and a line of code that uses each.
const CRATES: [(&str, &str); 3] = [
    ("mark", "hemiola_mark::start();"),
    ("manager", "let _ = hemiola_manager::Registration::default();"),
    ("federate", "let _ = hemiola_federate::RtiAddress::default();"),
];

/// Compiles a package in the temporary folder that depends on [`CRATES`] by path. Its build files stay in `target`.
pub(super) fn run(root: &Path) -> Outcome {
    run_step("usable", |step| {
        let folder = std::env::temp_dir().join(format!("hemiola-usable-{}", std::process::id()));
        let sound = match write_package(root, &folder) {
            Ok(()) => {
                let mut check = command(&cargo_program(), &folder);
                check.args(["check", "--offline", "--target-dir"]).arg(root.join("target/usable"));
                step.run(check)
            }
            Err(error) => {
                eprintln!("{}: {error}", folder.display());
                false
            }
        };
        // If it stays, it is a file of a few lines in the temporary folder.
        let _ = fs::remove_dir_all(&folder);
        sound
    })
}

fn write_package(root: &Path, folder: &Path) -> io::Result<()> {
    let mut manifest =
        "[package]\nname = \"usable\"\nedition = \"2024\"\n\n[workspace]\n\n[dependencies]\n"
            .to_owned();
    let mut code = "//! Uses the crates.\nfn main() {\n".to_owned();
    for (name, line) in CRATES {
        let path = root.join("crates").join(name);
        manifest += &format!("hemiola-{name} = {{ path = {:?} }}\n", path.display().to_string());
        code += &format!("    {line}\n");
    }
    fs::create_dir_all(folder.join("src"))?;
    // The same versions of dependencies as in the workspace, which are at hand.
    fs::copy(root.join("Cargo.lock"), folder.join("Cargo.lock"))?;
    fs::write(folder.join("Cargo.toml"), manifest)?;
    fs::write(folder.join("src/main.rs"), code + "}\n")
}
