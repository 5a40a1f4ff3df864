//! Release packages: an archive for any Linux of this architecture, and a Debian package with the same files.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const VERSION: &str = env!("CARGO_PKG_VERSION");
const ARCHITECTURE: &str = std::env::consts::ARCH;

/// Where files of the repository are installed, below `/usr`. Folders are copied with all they contain.
const FILES: [(&str, &str); 9] = [
    ("crates/mark/include/hemiola_mark.h", "include/hemiola_mark.h"),
    ("crates/mark/python/hemiola_mark.py", "lib/python3/dist-packages/hemiola_mark.py"),
    ("crates/manager/include/hemiola_manager.h", "include/hemiola_manager.h"),
    ("crates/manager/python/hemiola_manager.py", "lib/python3/dist-packages/hemiola_manager.py"),
    ("README.md", "share/doc/hemiola/README.md"),
    ("docs", "share/doc/hemiola/docs"),
    ("LICENSE-APACHE", "share/doc/hemiola/LICENSE-APACHE"),
    ("LICENSE-MIT", "share/doc/hemiola/LICENSE-MIT"),
    ("packaging/copyright", "share/doc/hemiola/copyright"),
];

/// Where the files that `hemiola generate` writes are installed, below `/usr`.
const GENERATED: [(&str, &str); 4] = [
    ("man", "share/man/man1"),
    ("completions/hemiola.bash", "share/bash-completion/completions/hemiola"),
    ("completions/_hemiola", "share/zsh/vendor-completions/_hemiola"),
    ("completions/hemiola.fish", "share/fish/vendor_completions.d/hemiola.fish"),
];

/// Packages `binary`, or a release build, in `target/dist`. True if it succeeds.
pub(crate) fn run(root: &Path, binary: Option<&str>) -> bool {
    let packed = match binary {
        Some(path) => pack(root, Path::new(path)),
        None => build(root).and_then(|path| pack(root, &path)),
    };
    packed.inspect_err(|message| eprintln!("error: {message}")).is_ok()
}

/// Builds the command with a static C library, so that it runs on older systems too, or with the dynamic one.
fn build(root: &Path) -> Result<PathBuf, String> {
    // With a target named, the flags do not concern procedural macros, which cannot be linked statically.
    let target = format!("{ARCHITECTURE}-unknown-linux-gnu");
    let build = |flags: &str| {
        let mut cargo = Command::new("cargo");
        cargo
            .args("build --locked --release --package hemiola --target-dir target/dist".split(' '));
        cargo.args(["--target", &target]).env("RUSTFLAGS", flags).current_dir(root);
        run_tool(&mut cargo, "rustup")
    };
    if let Err(message) = build("-C strip=debuginfo -C target-feature=+crt-static") {
        println!(
            "no static binary ({message}); building one that needs the C library of this system"
        );
        build("-C strip=debuginfo")?;
    }
    Ok(root.join("target/dist").join(target).join("release/hemiola"))
}

fn pack(root: &Path, binary: &Path) -> Result<(), String> {
    let folder = root.join("target/dist");
    let (stage, generated) = (folder.join("stage"), folder.join("generated"));
    for old in [&stage, &generated] {
        if old.exists() {
            fs::remove_dir_all(old).map_err(|error| format!("{}: {error}", old.display()))?;
        }
    }
    run_tool(Command::new(binary).arg("generate").arg(&generated), "cargo build")?;

    let usr = stage.join("usr");
    install(binary, &usr.join("bin/hemiola"), "755")?;
    for (from, to) in FILES {
        install(&root.join(from), &usr.join(to), "u=rwX,go=rX")?;
    }
    for (from, to) in GENERATED {
        install(&generated.join(from), &usr.join(to), "u=rwX,go=rX")?;
    }

    let bytes = fs::read(binary).map_err(|error| format!("{}: {error}", binary.display()))?;
    let needs_libc = is_dynamic(&bytes);
    // Equal input gives equal packages: the files get the time of the commit.
    let time =
        text_of(Command::new("git").args(["log", "-1", "--format=%ct"]).current_dir(root), "git")?;

    let name = format!("hemiola-{VERSION}-{ARCHITECTURE}-linux");
    let archive = folder.join(format!("{name}.tar.gz"));
    let mut tar = Command::new("tar");
    tar.args(["--create", "--gzip", "--sort=name", "--owner=0", "--group=0", "--numeric-owner"]);
    tar.arg(format!("--mtime=@{time}")).arg(format!("--transform=s,^usr,{name},"));
    tar.arg("--file").arg(&archive).arg("--directory").arg(&stage).arg("usr");
    run_tool(&mut tar, "tar")?;

    let architecture = text_of(Command::new("dpkg").arg("--print-architecture"), "dpkg")?;
    let libc = if needs_libc {
        let query = ["--show", "--showformat=${Version}", "libc6"];
        let version = text_of(Command::new("dpkg-query").args(query), "dpkg")?;
        // Without the revision of the distribution.
        Some(version.split('-').next().unwrap_or_default().to_owned())
    } else {
        None
    };
    let control = stage.join("DEBIAN/control");
    fs::create_dir_all(stage.join("DEBIAN"))
        .and_then(|()| fs::write(&control, control_file(&architecture, libc.as_deref())))
        .map_err(|error| format!("{}: {error}", control.display()))?;
    let package = folder.join(format!("hemiola_{VERSION}_{architecture}.deb"));
    let mut dpkg = Command::new("dpkg-deb");
    dpkg.args(["--root-owner-group", "--build"]).arg(&stage).arg(&package);
    run_tool(dpkg.env("SOURCE_DATE_EPOCH", &time), "dpkg")?;

    let linked =
        if needs_libc { "needs the C library of this system or a newer one" } else { "is static" };
    println!("{}\n{}\nthe binary {linked}", archive.display(), package.display());
    Ok(())
}

/// Copies a file or a folder, creates the folders above, and sets the mode as `chmod` writes it.
fn install(from: &Path, to: &Path, mode: &str) -> Result<(), String> {
    let above = to.parent().unwrap_or(to);
    fs::create_dir_all(above).map_err(|error| format!("{}: {error}", above.display()))?;
    run_tool(Command::new("cp").arg("--recursive").args([from, to]), "coreutils")?;
    run_tool(Command::new("chmod").args(["--recursive", mode]).arg(to), "coreutils")
}

fn control_file(architecture: &str, libc: Option<&str>) -> String {
    let variable =
        |name: &str, default: &str| std::env::var(name).unwrap_or_else(|_| default.to_owned());
    let maintainer = variable("DEBFULLNAME", "Hemiola maintainers");
    let address = variable("DEBEMAIL", "maintainers@hemiola.invalid");
    let depends =
        libc.map(|version| format!("Depends: libc6 (>= {version})\n")).unwrap_or_default();
    format!(
        "Package: hemiola\nVersion: {VERSION}\nArchitecture: {architecture}\n\
         Maintainer: {maintainer} <{address}>\n{depends}Section: science\nPriority: optional\n\
         Description: real-time scenarios, an HLA run-time infrastructure and trace analysis\n \
         Runs periodic processes at real-time priority, serves HLA 4 federations over the\n \
         Federate Protocol, and records and analyses when the threads of any program run.\n"
    )
}

/// Whether a 64-bit little-endian ELF program asks for a dynamic loader (a segment of type `PT_INTERP`).
fn is_dynamic(program: &[u8]) -> bool {
    const PT_INTERP: u64 = 3;
    let number = |at: usize, len: usize| -> Option<u64> {
        let bytes = program.get(at..at.checked_add(len)?)?;
        Some(bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte)))
    };
    let (Some(start), Some(size), Some(count)) = (number(32, 8), number(54, 2), number(56, 2))
    else {
        return false;
    };
    (0..count).any(|segment| {
        let at = usize::try_from(start.saturating_add(segment * size)).unwrap_or(usize::MAX);
        number(at, 4) == Some(PT_INTERP)
    })
}

/// Runs a command. `package` provides it.
fn run_tool(command: &mut Command, package: &str) -> Result<(), String> {
    let status =
        command.status().map_err(|error| missing(command.get_program(), package, &error))?;
    if status.success() { Ok(()) } else { Err(format!("{command:?}: {status}")) }
}

fn text_of(command: &mut Command, package: &str) -> Result<String, String> {
    let output =
        command.output().map_err(|error| missing(command.get_program(), package, &error))?;
    let text = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    if output.status.success() { Ok(text) } else { Err(format!("{command:?}: {}", output.status)) }
}

fn missing(program: &OsStr, package: &str, error: &std::io::Error) -> String {
    format!("{} cannot be run ({error}); {package} provides it", program.display())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn program_with_an_interpreter_is_dynamic() {
        let mut program = vec![0; 64 + 2 * 56];
        (program[32], program[54], program[56]) = (64, 56, 2);
        assert!(!is_dynamic(&program));
        program[64 + 56] = 3;
        assert!(is_dynamic(&program));
        assert!(!is_dynamic(&program[..40]));
    }

    #[test]
    fn control_file_names_the_c_library_of_a_dynamic_program_only() {
        assert!(control_file("amd64", Some("2.41")).contains("\nDepends: libc6 (>= 2.41)\n"));
        assert!(!control_file("amd64", None).contains("Depends"));
    }

    #[test]
    fn missing_tool_is_named_with_the_package_that_provides_it() {
        let message = run_tool(&mut Command::new("no-such-tool"), "dpkg").unwrap_err();
        assert!(message.starts_with("no-such-tool cannot be run (No such file"), "{message}");
        assert!(message.ends_with("dpkg provides it"), "{message}");
    }
}
