//! `cargo xtask conformance`: the page that says of each service and callback of the standard which test shows it.
//!
//! The tests of the RTI's kernel note what they show, if `HEMIOLA_EVIDENCE` names a file: the standard's table once,
//! then each call with its reply, and each callback, with the name of the test. The page is made of that alone.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const PAGE: &str = "docs/reference/conformance.md";
const KERNEL: &str = "crates/rti";

const INTRODUCTION: &str = "\
# Conformance

What the RTI offers of IEEE 1516.1-2025, and the test that shows it. The services are the 178 calls of the Federate
Protocol, the callbacks its 62. Federates of HLA Evolved (1516-2010) use the same calls; [the last table](#exceptions-of-1516-2010)
names the exceptions that differ there.

`cargo xtask conformance` makes this page from what the tests of the kernel do; CI compares it with them. *Not offered*
means that the RTI refuses the service with `RTIinternalError`. An exception in *italics* cannot come from the kernel, for a
reason that [a table](#without-a-test) gives; the check fails for every other exception, service and callback without a test.
Every service may raise `RTIinternalError`, for example beyond one of the RTI's limits, and
`CallNotAllowedFromWithinCallback`, which clients raise";

const CLAUSES: [(&str, &str); 7] = [
    ("4", "Federation management"),
    ("5", "Declaration management"),
    ("6", "Object management"),
    ("7", "Ownership management"),
    ("8", "Time management"),
    ("9", "Data distribution management"),
    ("10", "Support services"),
];

/// Exceptions that no test of a single service provokes.
const GENERAL: [&str; 2] = ["CallNotAllowedFromWithinCallback", "RTIinternalError"];

/// A reason why the kernel's tests show no exception of services.
struct Excuse {
    exception: &'static str,
    /// The services; all that have the exception, if there are none.
    entries: &'static [&'static str],
    reason: &'static str,
    proof: Proof,
}

/// The proof that the reason of an [`Excuse`] is true.
#[derive(Clone, Copy)]
enum Proof {
    /// The forms that bring what the exception is about have this word in their names, and the services do not.
    Form(&'static str),
    /// This test, in this file.
    Test(&'static str, &'static str),
    /// Nothing to check: there is no such value in the interface of the client.
    Interface,
}

/// What the evidence says of a callback that was made.
const MADE: &str = "made";

const CREATE_WITHOUT_MIM: &[&str] =
    &["CreateFederationExecution", "CreateFederationExecutionWithTime"];

const JOIN_WITHOUT_MODULES: &[&str] =
    &["JoinFederationExecution", "JoinFederationExecutionWithName"];

const WITHOUT_MIM: (&str, Proof) = ("this form brings no management module", Proof::Form("MIM"));
const WITHOUT_MODULES: (&str, Proof) = ("this form brings no modules", Proof::Form("Modules"));
const AT_ONCE: (&str, Proof) = (
    "the RTI makes the change at once, so none is pending",
    Proof::Test(
        "crates/rti/tests/services/object/transportation.rs",
        "a_change_is_made_at_once_so_that_the_next_one_is_not_refused",
    ),
);
const BY_THE_CLIENT: Proof = Proof::Test(
    "crates/federate/tests/calls.rs",
    "a_federate_that_does_not_know_the_time_of_a_federation_has_not_joined_it",
);
/// The test of the exception that every service may raise and only clients do.
const WITHIN_CALLBACK: Proof = Proof::Test(
    "crates/federate/tests/immediate.rs",
    "a_call_of_the_ambassador_in_its_own_handler_fails_instead_of_blocking",
);

const fn excuse(
    exception: &'static str,
    entries: &'static [&'static str],
    (reason, proof): (&'static str, Proof),
) -> Excuse {
    Excuse { exception, entries, reason, proof }
}

const EXCUSES: [Excuse; 13] = [
    excuse(
        "UnsupportedCallbackModel",
        &[],
        ("the client evokes the callbacks and raises this; ours has both models", Proof::Interface),
    ),
    excuse(
        "CouldNotCreateLogicalTimeFactory",
        &["CreateFederationExecution", "CreateFederationExecutionWithModules"],
        ("this form names no representation of time", Proof::Form("Time")),
    ),
    excuse(
        "CouldNotCreateLogicalTimeFactory",
        &[
            "JoinFederationExecution",
            "JoinFederationExecutionWithModules",
            "JoinFederationExecutionWithName",
            "JoinFederationExecutionWithNameAndModules",
        ],
        ("the client creates the factory and raises this", BY_THE_CLIENT),
    ),
    excuse("InvalidMIM", CREATE_WITHOUT_MIM, WITHOUT_MIM),
    excuse("ErrorReadingMIM", CREATE_WITHOUT_MIM, WITHOUT_MIM),
    excuse("CouldNotOpenMIM", CREATE_WITHOUT_MIM, WITHOUT_MIM),
    excuse("DesignatorIsHLAstandardMIM", CREATE_WITHOUT_MIM, WITHOUT_MIM),
    excuse("InconsistentFOM", JOIN_WITHOUT_MODULES, WITHOUT_MODULES),
    excuse("InvalidFOM", JOIN_WITHOUT_MODULES, WITHOUT_MODULES),
    excuse("ErrorReadingFOM", JOIN_WITHOUT_MODULES, WITHOUT_MODULES),
    excuse("CouldNotOpenFOM", JOIN_WITHOUT_MODULES, WITHOUT_MODULES),
    excuse("AttributeAlreadyBeingChanged", &[], AT_ONCE),
    excuse("InteractionClassAlreadyBeingChanged", &[], AT_ONCE),
];

impl Proof {
    /// Returns why it does not prove anything of these services.
    fn fault(self, entries: &[&str], root: &Path) -> Option<String> {
        match self {
            Self::Form(word) => {
                let brings = entries.iter().find(|name| name.contains(word));
                brings.map(|name| {
                    format!("{name} is a form with \"{word}\", and is excused as one without")
                })
            }
            Self::Test(file, name) => {
                let text = fs::read_to_string(root.join(file)).unwrap_or_default();
                let is_there = text.contains(&format!("#[test]\nfn {name}()"));
                (!is_there).then(|| format!("{file} has no test {name}, which an excuse names"))
            }
            Self::Interface => None,
        }
    }

    /// The test, in parentheses.
    fn shown(self) -> String {
        match self {
            Self::Test(file, name) => format!(" (`{name}` in `{file}`)"),
            Self::Form(_) | Self::Interface => String::new(),
        }
    }
}

impl Excuse {
    fn row(&self) -> String {
        let entries = match self.entries {
            [] => "every service that has it".to_owned(),
            entries => entries.iter().map(|name| code(name)).collect::<Vec<_>>().join(", "),
        };
        let (exception, reason, shown) = (self.exception, self.reason, self.proof.shown());
        format!("| `{exception}` | {entries} | {reason}{shown} |\n")
    }

    fn is_for(&self, entry: &Entry, exception: &str) -> bool {
        let is_entry = self.entries.is_empty() || self.entries.contains(&entry.name.as_str());
        is_entry && self.exception == exception
    }
}

/// A call or a callback of the standard.
#[derive(Debug, PartialEq, Eq)]
struct Entry {
    clause: String,
    name: String,
    exceptions: Vec<String>,
}

impl Entry {
    /// Its exceptions that tests of a single service can provoke.
    fn specific_exceptions(&self) -> impl Iterator<Item = &str> {
        self.exceptions.iter().map(String::as_str).filter(|name| !GENERAL.contains(name))
    }
}

/// What the tests have shown: for each call and reply, and for each callback, the test that comes first.
#[derive(Debug, Default)]
struct Evidence {
    calls: Vec<Entry>,
    callbacks: Vec<Entry>,
    /// Exceptions of 2025, and what clients of 2010 receive instead.
    renamed: BTreeMap<String, String>,
    shown: BTreeMap<(String, String), String>,
}

impl Evidence {
    /// Reads lines of words that are separated by tabs.
    fn read(text: &str) -> Result<Self, String> {
        let mut evidence = Self::default();
        let lines: BTreeSet<(usize, &str)> = text.lines().map(|line| (order(line), line)).collect();
        for (_, line) in lines {
            evidence.take(line).ok_or_else(|| format!("not evidence: {line}"))?;
        }
        Ok(evidence)
    }

    fn take(&mut self, line: &str) -> Option<()> {
        let words: Vec<&str> = line.split('\t').collect();
        match words[..] {
            ["call" | "callback", _, clause, name, exceptions] => {
                let list = if words[0] == "call" { &mut self.calls } else { &mut self.callbacks };
                list.push(Entry {
                    clause: clause.into(),
                    name: name.into(),
                    exceptions: exceptions.split_whitespace().map(str::to_owned).collect(),
                });
            }
            ["2010", exception, there] => {
                self.renamed.insert(exception.into(), there.into());
            }
            ["shown", name, reply, test] => {
                let test = test.trim_start_matches("services::");
                let best = self.shown.entry((name.into(), reply.into())).or_insert(test.into());
                if preference(test) < preference(best) {
                    *best = test.into();
                }
            }
            _ => return None,
        }
        Some(())
    }

    fn test_of(&self, entry: &Entry, reply: &str) -> Option<&str> {
        self.shown.get(&(entry.name.clone(), reply.to_owned())).map(String::as_str)
    }

    /// The page, and what it does not show of services that are offered.
    fn page(&self) -> String {
        let shown = WITHIN_CALLBACK.shown();
        let mut page = format!("{INTRODUCTION}{shown}.\n\n{}", self.summary());
        for (number, title) in CLAUSES {
            let _ = writeln!(page, "\n## {number} {title}\n");
            let calls: Vec<&Entry> = within(&self.calls, number).collect();
            page.push_str("| Clause | Service | Shown by | Exceptions |\n|---|---|---|---|\n");
            calls.iter().for_each(|entry| page.push_str(&self.row(entry)));
            let callbacks: Vec<&Entry> = within(&self.callbacks, number).collect();
            if !callbacks.is_empty() {
                page.push_str("\n| Clause | Callback | Shown by |\n|---|---|---|\n");
            }
            for entry in callbacks {
                let test = self.test_of(entry, MADE).map_or("*no test*".into(), code);
                let _ = writeln!(page, "| {} | `{}` | {test} |", entry.clause, entry.name);
            }
        }
        page.push_str("\n## Without a test\n\n| Exception | Of | Reason |\n|---|---|---|\n");
        EXCUSES.iter().for_each(|excuse| page.push_str(&excuse.row()));
        page.push_str("\n## Exceptions of 1516-2010\n\n| 1516-2025 | 1516-2010 |\n|---|---|\n");
        for (exception, there) in &self.renamed {
            let _ = writeln!(page, "| `{exception}` | `{there}` |");
        }
        page
    }

    fn is_offered(&self, entry: &Entry) -> bool {
        self.test_of(entry, "not offered").is_none()
    }

    /// What each row should have: the entry, and the exception, `done` or [`MADE`]. Services that are not offered have
    /// nothing.
    fn wanted(&self) -> impl Iterator<Item = (&Entry, &str)> {
        let offered = self.calls.iter().filter(|entry| self.is_offered(entry));
        let of_calls = offered.flat_map(|entry| {
            let exceptions = entry.specific_exceptions().map(move |name| (entry, name));
            std::iter::once((entry, "done")).chain(exceptions)
        });
        of_calls.chain(self.callbacks.iter().map(|entry| (entry, MADE)))
    }

    /// Returns a sentence for each wanted row that has neither a test nor an excuse, and for each excuse without a use.
    fn faults(&self, excuses: &[Excuse]) -> Vec<String> {
        let lacking: Vec<(&Entry, &str)> =
            self.wanted().filter(|(entry, what)| self.test_of(entry, what).is_none()).collect();
        let is_excused =
            |(entry, what): &&(&Entry, &str)| excuses.iter().any(|one| one.is_for(entry, what));
        let untested = lacking.iter().filter(|one| !is_excused(one));
        let mut faults: Vec<String> = untested
            .map(|(entry, what)| format!("no test of {} shows: {what}", entry.name))
            .collect();
        let is_needed = |one: &&Excuse| lacking.iter().any(|(entry, what)| one.is_for(entry, what));
        faults.extend(excuses.iter().filter(|one| !is_needed(one)).map(|one| {
            format!("tests show everything that is excused with: {}, {}", one.exception, one.reason)
        }));
        faults
    }

    fn row(&self, entry: &Entry) -> String {
        if !self.is_offered(entry) {
            return format!("| {} | `{}` | *not offered* | |\n", entry.clause, entry.name);
        }
        let test = self.test_of(entry, "done").map_or("*no test*".into(), code);
        let exception = |name: &str| match self.test_of(entry, name) {
            Some(test) => format!("{name}: `{test}`"),
            None => format!("*{name}*"),
        };
        let exceptions: Vec<String> = entry.specific_exceptions().map(exception).collect();
        let (clause, name) = (&entry.clause, &entry.name);
        format!("| {clause} | `{name}` | {test} | {} |\n", exceptions.join("<br>"))
    }

    fn summary(&self) -> String {
        let mut text = String::from(
            "| Clause | Services | Callbacks | Exceptions with a test |\n|---|---|---|---|\n",
        );
        let mut totals = [0; 6];
        for (number, title) in CLAUSES {
            let counts = self.counts(number);
            totals.iter_mut().zip(counts).for_each(|(total, count)| *total += count);
            let _ = writeln!(text, "| {number} {title} | {} |", fractions(counts));
        }
        let _ = writeln!(text, "| All | {} |", fractions(totals));
        text
    }

    /// Of a clause: services offered and all, callbacks made and all, and of the offered services the exceptions with a
    /// test and all.
    fn counts(&self, clause: &str) -> [usize; 6] {
        let calls: Vec<&Entry> = within(&self.calls, clause).collect();
        let callbacks: Vec<&Entry> = within(&self.callbacks, clause).collect();
        let offered: Vec<&&Entry> = calls.iter().filter(|entry| self.is_offered(entry)).collect();
        let made = callbacks.iter().filter(|entry| self.test_of(entry, MADE).is_some()).count();
        let exceptions: Vec<(&Entry, &str)> = offered
            .iter()
            .flat_map(|entry| entry.specific_exceptions().map(move |name| (**entry, name)))
            .collect();
        let is_tested = |(entry, name): &&(&Entry, &str)| self.test_of(entry, name).is_some();
        let tested = exceptions.iter().filter(is_tested).count();
        [offered.len(), calls.len(), made, callbacks.len(), tested, exceptions.len()]
    }
}

/// The place of a line among others: the standard's table by number, then the rest.
fn order(line: &str) -> usize {
    let mut words = line.split('\t');
    match (words.next(), words.next().and_then(|number| number.parse().ok())) {
        (Some("call" | "callback"), Some(number)) => number,
        _ => usize::MAX,
    }
}

/// Tests of the service come before those of the management object model, and both before those of all services.
fn preference(test: &str) -> (u8, &str) {
    let group = match test.split("::").next() {
        Some("every") => 2,
        Some("mom") => 1,
        _ => 0,
    };
    (group, test)
}

fn within<'e>(entries: &'e [Entry], clause: &str) -> impl Iterator<Item = &'e Entry> {
    let clause = format!("{clause}.");
    entries.iter().filter(move |entry| entry.clause.starts_with(&clause))
}

fn code(test: &str) -> String {
    format!("`{test}`")
}

fn fractions([one, of_one, two, of_two, three, of_three]: [usize; 6]) -> String {
    format!("{one} of {of_one} | {two} of {of_two} | {three} of {of_three}")
}

/// Writes the page. With `check`, only compares it.
pub(crate) fn run(root: &Path, check: bool) -> bool {
    match make(root).and_then(|page| if check { compare(root, &page) } else { write(root, &page) })
    {
        Ok(()) => true,
        Err(problem) => {
            eprintln!("error: {PAGE}: {problem}");
            false
        }
    }
}

fn make(root: &Path) -> Result<String, String> {
    let file = root.join("target/evidence");
    let _ = fs::remove_file(&file);
    let mut tests = Command::new(program(root)?);
    tests.args(["--quiet", "services::", "mom::"]).env("HEMIOLA_EVIDENCE", &file);
    let status = tests.current_dir(root.join(KERNEL)).status();
    if !status.map_err(|error| error.to_string())?.success() {
        return Err("a test of the kernel failed".into());
    }
    let text = fs::read_to_string(&file).map_err(|error| format!("{}: {error}", file.display()))?;
    let evidence = Evidence::read(&text)?;
    let mut faults = evidence.faults(&EXCUSES);
    faults.extend(EXCUSES.iter().filter_map(|one| one.proof.fault(one.entries, root)));
    faults.extend(WITHIN_CALLBACK.fault(&[], root));
    if !faults.is_empty() {
        return Err(faults.join("\n"));
    }
    Ok(evidence.page())
}

/// Builds the tests of the kernel. The whole workspace is selected, because its features differ from those of one
/// package alone, and the kernel would be compiled again.
fn program(root: &Path) -> Result<PathBuf, String> {
    let mut build = Command::new("cargo");
    build.args(["test", "--locked", "--workspace", "--test", "main", "--no-run"]);
    let built = build.args(["--message-format", "json"]).current_dir(root).stderr(Stdio::inherit());
    let messages = built.output().map_err(|error| error.to_string())?.stdout;
    executable(&String::from_utf8_lossy(&messages))
        .ok_or_else(|| "the tests of the kernel were not built".into())
}

/// The path of the kernel's tests in Cargo's messages, one of which stands in each line.
fn executable(messages: &str) -> Option<PathBuf> {
    let place = format!("/{KERNEL}#");
    let mut of_kernel = messages.lines().filter(|line| line.contains(&place));
    let path = of_kernel.find_map(|line| line.split_once(r#""executable":""#))?.1;
    Some(path.split_once('"')?.0.into())
}

fn write(root: &Path, page: &str) -> Result<(), String> {
    fs::write(root.join(PAGE), page).map_err(|error| error.to_string())
}

fn compare(root: &Path, page: &str) -> Result<(), String> {
    let text = fs::read_to_string(root.join(PAGE)).map_err(|error| error.to_string())?;
    let different = text.lines().zip(page.lines()).position(|(one, other)| one != other);
    match different {
        _ if text == page => Ok(()),
        Some(line) => Err(format!("line {} is out of date: run cargo xtask conformance", line + 1)),
        None => Err("it is out of date: run cargo xtask conformance".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINES: &str = "\
shown\tSave\tnot offered\tservices::d
shown\tResign\tNotJoined\tservices::b
shown\tResign\tdone\tservices::c
shown\tResign\tdone\tservices::a
call\t2\t4.12\tSave\tRTIinternalError
call\t1\t4.12\tResign\tNotJoined InvalidAction RTIinternalError
callback\t1\t10.1\tGone\t
2010\tInvalidFOM\tInconsistentFDD
";

    #[test]
    fn everything_without_a_test_needs_an_excuse_and_every_excuse_a_use() {
        let evidence = Evidence::read(LINES).unwrap();
        let action = excuse("InvalidAction", &["Resign"], ("because", Proof::Interface));
        let gone = excuse(MADE, &["Gone"], ("because", Proof::Interface));
        assert_eq!(evidence.faults(&[action, gone]), Vec::<String>::new());
        let joined = excuse("NotJoined", &[], ("because", Proof::Interface));
        let expected = [
            "no test of Resign shows: InvalidAction",
            "no test of Gone shows: made",
            "tests show everything that is excused with: NotJoined, because",
        ];
        assert_eq!(evidence.faults(&[joined]), expected);
    }

    #[test]
    fn what_shows_a_reason_is_checked() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let (file, entries) = ("src/conformance.rs", &["CreateWithTime"][..]);
        assert_eq!(Proof::Form("MIM").fault(entries, root), None);
        let fault = Proof::Form("Time").fault(entries, root).unwrap();
        assert!(fault.starts_with("CreateWithTime is a form with \"Time\""), "{fault}");
        assert_eq!(
            Proof::Test(file, "nothing").fault(entries, root).unwrap(),
            "src/conformance.rs has no test nothing, which an excuse names"
        );
        assert_eq!(WITHIN_CALLBACK.fault(&[], root.parent().unwrap()), None);
    }

    #[test]
    fn the_page_names_a_test_of_each_service_and_exception() {
        let page = Evidence::read(LINES).unwrap().page();
        let row = "\
| 4.12 | `Resign` | `a` | NotJoined: `b`<br>*InvalidAction* |\n| 4.12 | `Save` | *not offered* | |\n";
        assert!(page.contains(row), "{page}");
        assert!(page.contains("| 10.1 | `Gone` | *no test* |\n"), "{page}");
        assert!(page.contains("| All | 1 of 2 | 0 of 1 | 1 of 2 |\n"), "{page}");
        assert!(page.contains("| `InvalidFOM` | `InconsistentFDD` |\n"), "{page}");
        assert_eq!(Evidence::read("shown\tResign").unwrap_err(), "not evidence: shown\tResign");
    }
}
