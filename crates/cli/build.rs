//! Puts the commit, the kind of build and its features into the binary. Without git, or outside a repository, it names
//! no commit.

use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let target = std::env::var("TARGET").unwrap_or_default();
    let profile = std::env::var("PROFILE").unwrap_or_default();
    let commit = commit();
    if let Some(commit) = &commit {
        println!("cargo:rustc-env=HEMIOLA_COMMIT={commit}");
    }
    let commit = commit.as_deref().unwrap_or("unknown");
    let features = features().join(", ");
    println!(
        "cargo:rustc-env=HEMIOLA_BUILD=commit {commit}, {target}, {profile} build, with {features}"
    );
}

/// The optional features of this build: those that `Cargo.toml` always turns on in other crates, and the chosen ones.
fn features() -> Vec<&'static str> {
    let chosen = [("CARGO_FEATURE_JEMALLOC", "jemalloc"), ("CARGO_FEATURE_SANDBOX", "sandbox")];
    let chosen = chosen.into_iter().filter(|(variable, _)| std::env::var_os(variable).is_some());
    ["pubsub"].into_iter().chain(chosen.map(|(_, name)| name)).collect()
}

/// The commit that is checked out. Asks git, because HEAD of a work tree and packed branches are elsewhere.
fn commit() -> Option<String> {
    // With another prefix, this workspace lies inside the repository of another project.
    if !git(&["rev-parse", "--show-prefix"])?.eq("crates/cli/") {
        return None;
    }
    let branch = git(&["symbolic-ref", "--quiet", "HEAD"]);
    for name in ["HEAD"].into_iter().chain(branch.as_deref()) {
        if let Some(file) = git(&["rev-parse", "--git-path", name])
            // Cargo runs this again at each build for a file that does not exist.
            && Path::new(&file).exists()
        {
            println!("cargo:rerun-if-changed={file}");
        }
    }
    git(&["rev-parse", "HEAD"])
}

fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned())
}
