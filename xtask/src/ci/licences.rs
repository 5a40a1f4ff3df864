//! Checks that the licence of every dependency lets it be used and passed on.

use std::path::Path;
use std::process::Command;

/// The licences that ask for no more than their text and the names of the authors.
const ALLOWED: [&str; 7] =
    ["Apache-2.0", "MIT", "BSD-3-Clause", "0BSD", "ISC", "Unicode-3.0", "Zlib"];

/// Prints every dependency of the workspace whose licence is not satisfied by [`ALLOWED`]. True if there is none.
pub(super) fn run(root: &Path, cargo: &Path) -> bool {
    let arguments = "tree --locked --workspace --all-features --edges normal,build,dev --target all --prefix none \
                     --format {l}|{p}";
    let output = Command::new(cargo).current_dir(root).args(arguments.split(' ')).output();
    let tree = match output {
        Ok(output) if output.status.success() => {
            String::from_utf8_lossy(&output.stdout).into_owned()
        }
        Ok(output) => {
            eprintln!("cargo tree: {}", String::from_utf8_lossy(&output.stderr));
            return false;
        }
        Err(error) => {
            eprintln!("cargo tree: {error}");
            return false;
        }
    };
    let mut dependencies: Vec<&str> = tree
        .lines()
        .map(|line| line.trim_end_matches(" (*)"))
        .filter(|line| !line.is_empty())
        .collect();
    dependencies.sort_unstable();
    dependencies.dedup();
    let refused: Vec<_> = dependencies
        .iter()
        .map(|line| line.split_once('|').unwrap_or(("", line)))
        .filter(|(licence, _)| !satisfied(licence))
        .collect();
    for (licence, package) in &refused {
        println!(
            "{package}: `{licence}` is not satisfied by the licences allowed in xtask/src/ci/licences.rs"
        );
    }
    println!("licences: {} dependencies, {} refused", dependencies.len(), refused.len());
    refused.is_empty() && !dependencies.is_empty()
}

/// Whether the allowed licences satisfy an expression in the syntax of SPDX, or the older one with `/` for `OR`. A
/// licence `WITH` an exception grants more than without it.
fn satisfied(expression: &str) -> bool {
    let spaced = expression.replace('/', " OR ").replace('(', " ( ").replace(')', " ) ");
    let mut words = spaced.split_whitespace().peekable();
    let satisfied = any(&mut words);
    satisfied && words.next().is_none()
}

type Words<'a, 'b> = &'b mut std::iter::Peekable<std::str::SplitWhitespace<'a>>;

fn any(words: Words<'_, '_>) -> bool {
    let mut satisfied = all(words);
    while words.next_if_eq(&"OR").is_some() {
        satisfied |= all(words);
    }
    satisfied
}

fn all(words: Words<'_, '_>) -> bool {
    let mut satisfied = one(words);
    while words.next_if_eq(&"AND").is_some() {
        satisfied &= one(words);
    }
    satisfied
}

fn one(words: Words<'_, '_>) -> bool {
    if words.next_if_eq(&"(").is_some() {
        let satisfied = any(words);
        return words.next_if_eq(&")").is_some() && satisfied;
    }
    let satisfied = words.next().is_some_and(|licence| ALLOWED.contains(&licence));
    if words.next_if_eq(&"WITH").is_some() {
        words.next();
    }
    satisfied
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn licence_is_satisfied_as_its_expression_says() {
        for expression in [
            "MIT",
            "MIT/Apache-2.0",
            "LGPL-2.1-or-later OR MIT",
            "(MIT OR GPL-3.0) AND Unicode-3.0",
            "Apache-2.0 WITH LLVM-exception",
        ] {
            assert!(satisfied(expression), "{expression}");
        }
        for expression in ["", "GPL-3.0", "MIT AND GPL-3.0", "(MIT", "MIT Apache-2.0", "MIT)"] {
            assert!(!satisfied(expression), "{expression}");
        }
    }
}
