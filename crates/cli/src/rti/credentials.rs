//! The file with the permits of an RTI: which passwords it accepts, and what federates may do with each.

use std::fs::File;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;

use hemiola_diagnostic::{Problem, render};
use hemiola_rtid::{Authority, Permit, Right};
use hemiola_scenario::document::{self, Declared, OneOrMany, Section, Shape};
use hemiola_scenario::sections;

use crate::diagnostics::{Failure, shown};

const PERMITS_MAX: usize = 1000;

const RIGHTS: &[&str] = &[Right::Create.word(), Right::Destroy.word(), Right::Join.word()];

sections! {
    /// The whole document.
    struct CredentialsKeys<'s> = "a file of credentials" {
        must permit: Vec<PermitKeys<'s>>, Shape::Many(PermitKeys::TABLE, PERMITS_MAX), "The permits.";
    }

    /// `[[permit]]`
    struct PermitKeys<'s> = "a permit" {
        may password: &'s str, Shape::Text, else "for federates without credentials", "The password.";
        may rights: OneOrMany<&'s str>, Shape::Words(RIGHTS), else "all", "What federates with the password may do.";
        may federations: Vec<&'s str>, Shape::Texts, else "all",
            "The names of the federations with which they may do it; `*` at the end stands for any text.";
    }
}

/// Reads the permits.
///
/// # Errors
/// The file cannot be read, or other users can read it, or it has problems.
pub(super) fn read(path: &Path) -> Result<Authority, Failure> {
    let shown = shown(path);
    let unreadable = |error| {
        Failure::unreadable(
            path,
            error,
            "docs/guide/rti.md says what a file of credentials contains",
        )
    };
    let file = File::open(path).map_err(unreadable)?;
    let mode = file.metadata().map_err(unreadable)?.permissions().mode();
    let text = std::io::read_to_string(file).map_err(unreadable)?;
    if mode & 0o077 != 0 {
        let (own, mode) = ("chmod 600", mode & 0o777);
        return Err(Failure::bad_input(format!(
            "error: {shown} has the mode {mode:o}, so that other users can read passwords or change them\n\
             hint: {own} {shown}"
        )));
    }
    document::read(&text, CredentialsKeys::TABLE, permits).map_err(|problems| {
        Failure::bad_input(render(&problems, &without_passwords(&text), &shown.to_string()))
    })
}

fn permits(root: Section<'_>) -> (Authority, Vec<Problem>) {
    let keys = CredentialsKeys::from_section(root);
    let mut problems = Vec::new();
    let mut permits: Vec<Arc<Permit>> = Vec::new();
    for keys in keys.permit.items() {
        let permit = permit(keys);
        if let Some(wrong) = wrong_password(permit.password.as_deref()) {
            problems.push(Problem::new(keys.password.at().clone(), wrong));
        }
        if permits.iter().any(|one| one.password == permit.password) {
            let problem =
                Problem::new(keys.password.at().clone(), "an earlier permit has the same password");
            problems.push(problem.hint("give each permit a password of its own"));
        }
        permits.push(Arc::new(permit));
    }
    (Authority::Permits(permits.into()), problems)
}

fn permit(keys: &PermitKeys<'_>) -> Permit {
    let words: Vec<&str> = match keys.rights.get() {
        None => RIGHTS.to_vec(),
        Some(OneOrMany::One(word)) => vec![word],
        Some(OneOrMany::Many(words)) => words.iter().map(|word| word.value).collect(),
    };
    let federations = keys.federations.get().map_or(&["*"][..], Vec::as_slice);
    Permit {
        password: keys.password.get().map(|password| (*password).to_owned()),
        rights: Right::ALL.into_iter().filter(|one| words.contains(&one.word())).collect(),
        federations: federations.iter().map(|one| (*one).to_owned()).collect(),
    }
}

/// Clients of 1516-2010 give the password as a line of settings.
fn wrong_password(password: Option<&str>) -> Option<&'static str> {
    match password? {
        "" => Some("an empty password protects nothing"),
        text if text.trim() != text || text.contains(['\n', '\r']) => {
            Some("a password is one line that neither begins nor ends with a space")
        }
        _ => None,
    }
}

/// The text with stars in place of passwords, because messages quote it.
fn without_passwords(text: &str) -> String {
    let masked = |line: &str| match line.split_once('=') {
        Some((key, value)) if key.contains("password") => {
            let stars = value.trim_end_matches('\n');
            format!("{key}={}{}", "*".repeat(stars.len()), &value[stars.len()..])
        }
        _ => line.to_owned(),
    };
    text.split_inclusive('\n').map(masked).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problems(text: &str) -> String {
        match document::read(text, CredentialsKeys::TABLE, permits) {
            Ok(authority) => panic!("{authority:?}"),
            Err(problems) => render(&problems, &without_passwords(text), "rti.toml"),
        }
    }

    #[test]
    fn a_permit_without_keys_allows_everything_to_federates_without_credentials() {
        let read = document::read("[[permit]]", CredentialsKeys::TABLE, permits);
        let Ok(Authority::Permits(permits)) = read else { panic!("{read:?}") };
        assert_eq!(permits[0].password, None);
        assert_eq!(permits[0].rights, Right::ALL.into());
        assert_eq!(permits[0].federations, ["*"]);
    }

    #[test]
    fn rights_and_federations_are_read() {
        let text = "[[permit]]\npassword = \"a b\"\nrights = [\"join\", \"create\"]\nfederations = [\"Yard\"]\n\
                    [[permit]]\nrights = \"join\"\n";
        let read = document::read(text, CredentialsKeys::TABLE, permits);
        let Ok(Authority::Permits(permits)) = read else { panic!("{read:?}") };
        assert_eq!(permits[0].password.as_deref(), Some("a b"));
        assert_eq!(permits[0].rights, [Right::Create, Right::Join].into());
        assert_eq!(permits[0].federations, ["Yard"]);
        assert_eq!(permits[1].rights, [Right::Join].into());
        assert!(!format!("{permits:?}").contains("a b"));
    }

    #[test]
    fn problems_are_shown_without_passwords() {
        let secret = |value: &str| problems(&format!("[[permit]]\npassword = {value}\n"));
        assert!(secret("\"\"").contains("an empty password protects nothing"));
        for value in ["\" hunter2\"", "\"hunter2\\nx\"", "hunter2", "[\"hunter2\"]"] {
            let shown = secret(value);
            assert!(shown.contains("rti.toml:2") && !shown.contains("hunter2"), "{shown}");
        }
        let twice = problems("[[permit]]\npassword = \"x1\"\n[[permit]]\npassword = \"x1\"\n");
        assert!(twice.contains("an earlier permit has the same password"), "{twice}");
        let twice = problems("[[permit]]\n[[permit]]\n");
        assert!(twice.contains("an earlier permit has the same password"), "{twice}");
        let unknown = problems("[[permit]]\nrights = \"rule\"\n");
        assert!(unknown.contains("create"), "{unknown}");
        assert!(problems("").contains("permit"));
    }
}
