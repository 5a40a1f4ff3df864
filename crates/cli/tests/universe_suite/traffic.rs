//! The form of the thesis against columns: figures 6.25, 6.26 and 6.36 to 6.41.

use hemiola_report::text::percent;

use super::link::Channel;
use super::page::Page;
use super::processes::{Completion, Form, Messages, Notify, Outcome};
use super::steps::Steps;
use super::timing::{Scale, each, shown};
use super::worlds::{BENCHMARK, construct, default_row, destruct, element, world};
use hemiola_world::Phase;

/// Most entities of the thesis on one node.
const MOST: usize = 31;

/// The form of the thesis with one monitored component, over Unix sockets.
const SEED: Form = Form {
    channel: Channel::Unix,
    managers: 1,
    components: 1,
    entities: MOST,
    notify: Notify::Each,
    completion: Completion::Message,
};

fn steps(scale: Scale) -> u64 {
    scale.of(5, 1_000)
}

impl Form {
    /// Messages of so many steps, by the law of section 6.5.1.
    fn law(&self, steps: u64) -> Messages {
        let [x, y, z] = [self.managers, self.components, self.entities].map(|count| count as u64);
        Messages {
            notified: steps * if self.notify == Notify::Each { x + z } else { 1 },
            states: steps * if x == 0 { 0 } else { y * z },
            forwarded: steps * x * y * z,
            completed: steps * if self.completion == Completion::Message { z } else { 0 },
            informed: steps * 2 * x,
        }
    }

    /// Runs it, and adds the law about its messages to the page.
    fn checked(&self, scale: Scale, page: &mut Page) -> Outcome {
        let outcome = self.run(steps(scale));
        let Self { managers, components, entities, .. } = self;
        page.law(
            format!(
                "{managers} managers, {components} components, {entities} entities over {}: every message of the law, \
                 and no other",
                self.channel.name()
            ),
            outcome.messages == self.law(steps(scale)),
        );
        outcome
    }
}

fn rate(outcome: &Outcome) -> f64 {
    1e9 / outcome.step
}

pub(crate) fn figure_25(scale: Scale, page: &mut Page) {
    let count = steps(scale);
    let mut found = Vec::new();
    for (managers, components) in [(3, 1), (1, 2)] {
        let outcome = Form { managers, components, entities: 10, ..SEED }.checked(scale, page);
        let Messages { states, forwarded, .. } = outcome.messages;
        let plural = if managers == 1 { "" } else { "s" };
        let of = if components == 1 { "component" } else { "components" };
        page.row(
            format!("messages, 10 entities, {managers} manager{plural} × {components} {of}"),
            format!(
                "{} + {} = {}",
                states / count,
                forwarded / count,
                (states + forwarded) / count
            ),
        );
        found.push((states + forwarded, outcome));
    }
    page.law("3 managers × 1 component send as many states as 1 manager × 2 components", {
        found[0].0 == found[1].0 && found[0].0 == 40 * count
    });
    let ratio = found[0].1.step / found[1].1.step;
    page.shape("and take the same time, within 40 %", (0.6..1.4).contains(&ratio));
    for managers in [0, 1, 2] {
        let outcome = Form { managers, ..SEED }.checked(scale, page);
        let columns = Steps::of(scale, managers as u32, 1, MOST);
        page.row(
            format!("{MOST} entities, {managers} managers, steps/s"),
            format!("{:.0} with messages, {:.0} in columns", rate(&outcome), 1e9 / columns.step()),
        );
    }
}

pub(crate) fn figure_26(scale: Scale, page: &mut Page) {
    let [none, one, two] =
        [0, 1, 2].map(|managers| Form { managers, ..SEED }.checked(scale, page).idle[0]);
    page.row("idle without managers", percent(none));
    page.row("idle with managers", format!("{}; with two {}", percent(one), percent(two)));
    page.row("idle in columns", "0 %: nothing waits within a step");
    page.shape("the universe manager is idle for a smaller share when states flow", one < none);
}

pub(crate) fn figure_36(scale: Scale, page: &mut Page) {
    let mut world = world(BENCHMARK);
    let thing = element(&world, "thing");
    let row = default_row(&world, thing);
    let count = scale.of(100, 10_000);
    let pair = each(scale, 1, || {
        construct(&mut world, thing, &row, count);
        let all: Vec<_> = world.entities().collect();
        destruct(&mut world, &all);
    });
    page.row("construct and destruct, columns", shown(pair / count as f64));
    page.law("all entities that are constructed can be destructed", world.is_empty());
    let columns = Steps::of(scale, 1, 1, count);
    let step = columns.step() / count as f64;
    page.row("update with its state flow, columns", shown(step));
    let flow = columns.phase(Phase::Filter);
    let share = flow / (flow + columns.phase(Phase::Update));
    page.row("state flow, share of update and state flow, columns", percent(share));
    let outcome = Form { entities: 1, ..SEED }.checked(scale, page);
    page.row("sending, share of an update", percent(outcome.sending));
}

/// A row of the idle share of a part of the system with one entity.
fn idle(scale: Scale, page: &mut Page, part: usize, what: [&str; 2]) {
    let [local, tcp] = [Channel::Unix, Channel::Tcp]
        .map(|channel| Form { channel, entities: 1, ..SEED }.checked(scale, page).idle[part]);
    for (name, share) in what.into_iter().zip([local, tcp]) {
        page.row(name, percent(share));
    }
    page.shape("it is idle most of the time", local > 0.5);
}

pub(crate) fn figure_37(scale: Scale, page: &mut Page) {
    idle(scale, page, 1, ["entity idle, local channel", "entity idle, TCP"]);
}

pub(crate) fn figure_38(scale: Scale, page: &mut Page) {
    idle(scale, page, 2, ["manager idle", "manager idle, TCP"]);
}

/// Compares two forms of control with 0, 1 and 2 managers.
fn compare(scale: Scale, page: &mut Page, what: &str, other: Form) {
    for managers in [0, 1, 2] {
        let was = Form { managers, ..SEED }.checked(scale, page);
        let is = Form { managers, ..other }.checked(scale, page);
        let gain = rate(&is) / rate(&was) - 1.0;
        let plural = if managers == 1 { "" } else { "s" };
        page.row(
            format!("{what}, steps/s, {managers} manager{plural}"),
            format!(
                "{}{} ({:.0} → {:.0})",
                if gain < 0.0 { "" } else { "+ " },
                percent(gain),
                rate(&was),
                rate(&is)
            ),
        );
        if managers == 0 {
            page.shape("it is faster without managers", gain > 0.0);
        }
    }
}

pub(crate) fn figure_39(scale: Scale, page: &mut Page) {
    compare(scale, page, "notified at once", Form { notify: Notify::Together, ..SEED });
}

pub(crate) fn figure_40(scale: Scale, page: &mut Page) {
    let completion = Completion::Deadline;
    let other = Form { notify: Notify::Together, completion, ..SEED };
    compare(scale, page, "neither control message", other);
}

pub(crate) fn figure_41(scale: Scale, page: &mut Page) {
    for managers in [1, 2] {
        let plural = if managers == 1 { "" } else { "s" };
        let [tcp, unix, shared] = [Channel::Tcp, Channel::Unix, Channel::Shared]
            .map(|channel| Form { channel, managers, ..SEED }.checked(scale, page));
        page.row(
            format!("steps/s, local / TCP, {managers} manager{plural}"),
            format!(
                "shared memory {:.2}, Unix socket {:.2} (TCP {:.0} steps/s)",
                rate(&shared) / rate(&tcp),
                rate(&unix) / rate(&tcp),
                rate(&tcp)
            ),
        );
        page.shape("shared memory is faster than TCP", shared.step < tcp.step);
    }
}
