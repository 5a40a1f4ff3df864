//! Attacks on `hemiola rti` beside a healthy pair of federates.
//!
//! As a test it runs the short form of every attack over both transports and checks rules that do not depend on time.
//! With `--full`, as `cargo xtask attack` calls it, it measures and prints the table of the guide. Every federate and
//! attacker is a process of its own: this program again, in a role.

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "its output is a table and a test report"
)]

mod attacks;
mod churn;
mod federation;
#[path = "../host.rs"]
mod host;
mod newcomer;
mod noticed;
mod page;
mod pair;
mod process;
mod raw;
mod round;
mod rti;
mod table;
mod timer;
#[path = "../zip.rs"]
mod zip;

use std::process::ExitCode;
use std::time::{Duration, Instant};

use attacks::ATTACKS;
use page::Page;
use process::Orders;
use round::{FULL, SHORT, Transport};

/// Returns the command to attack: the one of this build, or that of `program=`.
fn program(orders: &Orders) -> &str {
    orders.text("program").unwrap_or(env!("CARGO_BIN_EXE_hemiola"))
}

/// The word for the federates that join and leave at full speed, and for how many minutes they do by default.
const CHURN: &str = "churn";
const CHURN_MINUTES: u64 = 10;
/// The word for the tests of the harness itself, which the short form makes, too.
const HARNESS: &str = "harness";
/// How long they do in the tests, which tells whether descriptors stay open.
const SHORT_CHURN: Duration = Duration::from_secs(2);

/// The name of a role and the function that plays it.
type Role = (&'static str, fn(&Orders));

const ROLES: [Role; 10] = [
    ("publisher", pair::publisher),
    ("subscriber", pair::subscriber),
    ("timer", timer::bare_timer),
    ("newcomer", newcomer::newcomer),
    ("attacker", attacks::attacker),
    ("regulator", attacks::gone::regulator),
    ("janitor", federation::janitor),
    ("visitor", churn::visitor),
    ("starter", rti::starter),
    ("careless", noticed::careless),
];

fn main() -> ExitCode {
    let orders = Orders::given();
    if let Some(role) = orders.role() {
        orders.settle_in();
        let (_, play) = ROLES.iter().find(|(name, _)| *name == role).expect("a known role");
        play(&orders);
        return ExitCode::SUCCESS;
    }
    let known = |word: &&str| {
        [CHURN, HARNESS].contains(word) || ATTACKS.iter().any(|attack| attack.name == *word)
    };
    if let Some(word) = orders.words().find(|word| !known(word)) {
        let names: Vec<&str> = ATTACKS.iter().map(|attack| attack.name).collect();
        eprintln!(
            "error: no attack is called {word}\nhint: the attacks are {}, {CHURN}; {HARNESS} tests the harness",
            names.join(", ")
        );
        return ExitCode::from(2);
    }
    if transports(&orders).is_empty() {
        eprintln!("error: `over` is neither tcp nor shm\nhint: without it, both are attacked");
        return ExitCode::from(2);
    }
    let sound = if orders.has("--full") { measure(&orders) } else { test(&orders) };
    if sound { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Returns the attacks and transports that the words of the command line select.
fn selected(orders: &Orders) -> Vec<(&'static attacks::Attack, Transport)> {
    let filters: Vec<&str> = orders.words().collect();
    let transports = transports(orders);
    let wanted = |name: &str| filters.is_empty() || filters.contains(&name);
    let attacks = ATTACKS.iter().filter(|attack| wanted(attack.name));
    attacks.flat_map(|attack| transports.iter().map(move |one| (attack, *one))).collect()
}

/// Returns the transports that the command line selects: both, or the one that it names.
fn transports(orders: &Orders) -> Vec<Transport> {
    let is_named =
        |transport: &Transport| orders.text("over").is_none_or(|word| word == transport.word());
    Transport::ALL.into_iter().filter(is_named).collect()
}

/// Prints the result of a test, and the rules that were broken. True if none was.
fn report(name: &str, broken: &[String]) -> bool {
    let verdict = if broken.is_empty() { "ok" } else { "FAILED" };
    println!("test {name} ... {verdict}");
    broken.iter().for_each(|what| println!("    {what}"));
    broken.is_empty()
}

fn is_churn_asked(orders: &Orders) -> bool {
    orders.words().any(|word| word == CHURN)
}

/// Runs the short form, and reports like any test.
fn test(orders: &Orders) -> bool {
    let is_asked =
        |word: &str| orders.words().next().is_none() || orders.words().any(|asked| asked == word);
    let (selected, is_churn_tested) = (selected(orders), is_asked(CHURN));
    let tests_of_harness = if is_asked(HARNESS) { &noticed::TESTS[..] } else { &[] };
    let count = selected.len() + usize::from(is_churn_tested) + tests_of_harness.len();
    println!("\nrunning {count} tests");
    let mut failed = 0;
    for (attack, transport) in selected {
        let record = round::run(program(orders), attack, transport, SHORT);
        let broken = record.map_or_else(|error| vec![error], |record| record.broken_rules());
        let name = format!("{}_{}", attack.name, transport.word());
        failed += usize::from(!report(&name, &broken));
    }
    if is_churn_tested {
        let outcome = churn::run(program(orders), &transports(orders), SHORT_CHURN, None);
        let broken = outcome.map_or_else(|error| vec![error], |outcome| outcome.broken_rules());
        failed += usize::from(!report("churn", &broken));
    }
    for (name, test) in tests_of_harness {
        failed += usize::from(!report(name, test(program(orders)).err().as_slice()));
    }
    let result = if failed == 0 { "ok" } else { "FAILED" };
    println!("\ntest result: {result}. {} passed; {failed} failed\n", count - failed);
    failed == 0
}

/// Runs the full form and prints the table, then the churn if it is asked for. True if every limit holds.
fn measure(orders: &Orders) -> bool {
    let (mut page, file) = (Page::new(orders), orders.text("output"));
    // Written before and after each row: a file that cannot be written is found early, and a table that is interrupted
    // is left.
    if !is_written(&page, file) {
        return false;
    }
    let (began, selected) = (Instant::now(), selected(orders));
    let count = selected.len();
    println!("{}", page.conditions());
    if count > 0 {
        println!("\n{}", table::HEAD);
    }
    for (at, (attack, transport)) in selected.into_iter().enumerate() {
        let (name, over) = (attack.name, transport.word());
        let elapsed = began.elapsed().as_secs();
        eprintln!("{} of {count}: {name} over {over}, after {elapsed} s", at + 1);
        let (row, holds) = match round::run(program(orders), attack, transport, FULL) {
            Ok(record) => {
                eprintln!("{} over {over}: {}", record.name, record.note);
                (record.row(), record.failures().is_empty())
            }
            Err(reason) => (table::row_without_figures(attack.what, transport, &reason), false),
        };
        println!("{row}");
        page.add(row, holds);
        if !is_written(&page, file) {
            return false;
        }
    }
    if count > 0 {
        println!("\n{} They took {} s.", page.verdict(), began.elapsed().as_secs());
    }
    let asked = is_churn_asked(orders).then_some(CHURN_MINUTES);
    let Some(minutes) = orders.number("churn-minutes").or(asked) else { return page.holds() };
    let time = Duration::from_secs(60 * minutes);
    let outcome = churn::run(program(orders), &transports(orders), time, None);
    let (line, failures) = match outcome {
        Ok(outcome) => (outcome.line(), outcome.failures()),
        Err(error) => (String::new(), vec![error]),
    };
    let verdict = if failures.is_empty() { "It holds.".into() } else { failures.join("; ") };
    let line = format!("{line} {verdict}");
    println!("\n{line}");
    page.add_churn(line);
    is_written(&page, file) && failures.is_empty() && page.holds()
}

/// Writes what is measured to a file if one is named, and says so if that is impossible.
fn is_written(page: &Page, file: Option<&str>) -> bool {
    match file.map(|path| std::fs::write(path, page.text())) {
        Some(Err(error)) => {
            eprintln!("error: the table cannot be written: {error}\nhint: name another file");
            false
        }
        Some(Ok(())) | None => true,
    }
}
