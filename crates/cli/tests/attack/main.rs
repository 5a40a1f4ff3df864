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
mod newcomer;
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
use std::time::Duration;

use attacks::ATTACKS;
use process::Orders;
use round::{FULL, SHORT, Transport};

/// Returns the command to attack: the one of this build, or that of `program=`.
fn program(orders: &Orders) -> &str {
    orders.text("program").unwrap_or(env!("CARGO_BIN_EXE_hemiola"))
}

/// The word for the federates that join and leave at full speed, and for how many minutes they do by default.
const CHURN: &str = "churn";
const CHURN_MINUTES: u64 = 10;

/// The name of a role and the function that plays it.
type Role = (&'static str, fn(&Orders));

const ROLES: [Role; 9] = [
    ("publisher", pair::publisher),
    ("subscriber", pair::subscriber),
    ("timer", timer::bare_timer),
    ("newcomer", newcomer::newcomer),
    ("attacker", attacks::attacker),
    ("regulator", attacks::gone::regulator),
    ("janitor", federation::janitor),
    ("visitor", churn::visitor),
    ("starter", rti::starter),
];

fn main() -> ExitCode {
    let orders = Orders::given();
    if let Some(role) = orders.role() {
        orders.settle_in();
        let (_, play) = ROLES.iter().find(|(name, _)| *name == role).expect("a known role");
        play(&orders);
        return ExitCode::SUCCESS;
    }
    let known = |word: &&str| *word == CHURN || ATTACKS.iter().any(|attack| attack.name == *word);
    if let Some(word) = orders.words().find(|word| !known(word)) {
        let names: Vec<&str> = ATTACKS.iter().map(|attack| attack.name).collect();
        eprintln!(
            "error: no attack is called {word}\nhint: the attacks are {}, {CHURN}",
            names.join(", ")
        );
        return ExitCode::from(2);
    }
    let sound = if orders.has("--full") { measure(&orders) } else { test(&orders) };
    if sound { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Returns the attacks and transports that the words of the command line select.
fn selected(orders: &Orders) -> Vec<(&'static attacks::Attack, Transport)> {
    let filters: Vec<&str> = orders.words().collect();
    let over =
        |transport: &Transport| orders.text("over").is_none_or(|word| word == transport.word());
    let wanted = |name: &str| filters.is_empty() || filters.contains(&name);
    let attacks = ATTACKS.iter().filter(|attack| wanted(attack.name));
    attacks
        .flat_map(|attack| Transport::ALL.into_iter().filter(over).map(move |one| (attack, one)))
        .collect()
}

/// Runs the short form, and reports like any test.
fn test(orders: &Orders) -> bool {
    let selected = selected(orders);
    println!("\nrunning {} tests", selected.len());
    let mut failed = 0;
    for (attack, transport) in &selected {
        let broken = round::run(program(orders), attack, *transport, SHORT).broken_rules();
        let verdict = if broken.is_empty() { "ok" } else { "FAILED" };
        println!("test {}_{} ... {verdict}", attack.name, transport.word());
        broken.iter().for_each(|what| println!("    {what}"));
        failed += usize::from(!broken.is_empty());
    }
    let result = if failed == 0 { "ok" } else { "FAILED" };
    println!("\ntest result: {result}. {} passed; {failed} failed\n", selected.len() - failed);
    failed == 0
}

/// Runs the full form and prints the table, then the churn if it is asked for. True if every limit holds.
fn measure(orders: &Orders) -> bool {
    let mut sound = true;
    let selected = selected(orders);
    if !selected.is_empty() {
        print_conditions();
        println!("{}", table::HEAD);
        for (attack, transport) in selected {
            sound &= row(program(orders), attack, transport);
        }
    }
    let asked = orders.words().any(|word| word == CHURN).then_some(CHURN_MINUTES);
    if let Some(minutes) = orders.number("churn-minutes").or(asked) {
        for transport in Transport::ALL {
            let outcome = churn::run(program(orders), transport, Duration::from_secs(60 * minutes));
            sound &= outcome.is_ok();
            println!("{}", outcome.unwrap_or_else(|line| line));
        }
    }
    sound
}

fn row(program: &str, attack: &attacks::Attack, transport: Transport) -> bool {
    let record = round::run(program, attack, transport, FULL);
    println!("{}", record.row());
    eprintln!("{} over {}: {}", record.name, transport.word(), record.note);
    record.failures().is_empty()
}

/// Prints the properties of the machine on which the figures depend.
fn print_conditions() {
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let info = read("/proc/cpuinfo");
    let model = info.lines().find_map(|line| line.strip_prefix("model name")).unwrap_or("?");
    println!(
        "{}, {} processors, Linux {}, load {}; times in ms, memory in MiB\n",
        model.trim_start_matches([' ', '\t', ':']),
        std::thread::available_parallelism().map_or(0, usize::from),
        read("/proc/sys/kernel/osrelease").trim(),
        read("/proc/loadavg").split(' ').next().unwrap_or("?"),
    );
}
