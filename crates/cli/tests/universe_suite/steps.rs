//! Steps of the benchmark world in columns: figures 6.23 and 6.24, table 6.9.

use std::time::Instant;

use hemiola_report::text::percent;
use hemiola_rt::sys::cpu_clock;
use hemiola_world::{Phase, StepReport, World};

use super::page::Page;
use super::timing::{Scale, each, middle, shown};
use super::worlds::{BENCHMARK, populate, watch, world};

/// Entities of the thesis.
const FEW: [usize; 4] = [1, 8, 16, 31];

/// A world of so many benchmark entities and managers, each of which monitors so many components.
pub(crate) fn benchmark(managers: u32, components: u32, entities: usize) -> World {
    let mut world = world(BENCHMARK);
    populate(&mut world, "thing", entities);
    for manager in 0..managers {
        for component in 0..components {
            watch(&mut world, manager * components + component, "thing", component);
        }
    }
    world.apply(&mut |_| {});
    world
}

/// What steps of such a world have shown.
pub(crate) struct Steps {
    /// Of one step, ns of each phase, the median over the steps.
    pub(crate) phases: [f64; Phase::ALL.len()],
    pub(crate) last: StepReport,
}

impl Steps {
    pub(crate) fn of(scale: Scale, managers: u32, components: u32, entities: usize) -> Self {
        let mut world = benchmark(managers, components, entities);
        let mut rounds: [Vec<f64>; Phase::ALL.len()] = Default::default();
        let mut last = StepReport::default();
        for _ in 0..scale.of(5, 200) {
            let mut since = Instant::now();
            let mut ended = |phase: Phase| {
                let now = Instant::now();
                rounds[phase as usize].push((now - since).as_nanos() as f64);
                since = now;
            };
            last = world.step(1.0, &mut ended, &mut |_| {});
        }
        Self { phases: rounds.map(|times| middle(&times)), last }
    }

    pub(crate) fn step(&self) -> f64 {
        self.phases.iter().sum()
    }

    pub(crate) fn phase(&self, phase: Phase) -> f64 {
        self.phases[phase as usize]
    }

    fn text(&self) -> String {
        let share = |phase| percent(self.phase(phase) / self.step());
        let (update, filter) = (share(Phase::Update), share(Phase::Filter));
        format!("{} a step; update {update}, state flow {filter}", shown(self.step()))
    }

    /// Whether the messages of the thesis are counted exactly.
    fn keeps_law(&self, managers: u32, components: u32, entities: usize) -> bool {
        let [x, y, z] = [managers.into(), components.into(), entities as u64];
        let collected = if x == 0 { 0 } else { y * z };
        (self.last.collected, self.last.sent) == (collected, x * y * z)
    }
}

fn many(scale: Scale) -> usize {
    scale.of(3_000, 100_000)
}

fn figure(scale: Scale, page: &mut Page, components: u32) {
    let mut is_exact = true;
    for managers in [0, 1, 2] {
        for entities in FEW.into_iter().chain([many(scale)]) {
            let steps = Steps::of(scale, managers, components, entities);
            is_exact &= steps.keeps_law(managers, components, entities);
            if entities >= 31 {
                page.row(format!("{entities} entities, {managers} managers"), steps.text());
            }
        }
    }
    let law =
        "with x managers, y components and z entities, y·z states are collected and x·y·z sent";
    page.law(law, is_exact);
}

pub(crate) fn figure_23(scale: Scale, page: &mut Page) {
    figure(scale, page, 1);
    let [none, two] = [0, 2].map(|managers| Steps::of(scale, managers, 1, many(scale)));
    let update = two.phase(Phase::Update) / none.phase(Phase::Update);
    page.shape("managers change the time of the update by less than half", {
        (0.67..1.5).contains(&update)
    });
    page.shape("the state flow takes longer with managers", {
        two.phase(Phase::Filter) > none.phase(Phase::Filter)
    });
}

pub(crate) fn figure_24(scale: Scale, page: &mut Page) {
    figure(scale, page, 2);
    for managers in [1, 2] {
        let [one, two] =
            [1, 2].map(|components| Steps::of(scale, managers, components, many(scale)));
        page.law(format!("{managers} managers: two components are twice the states"), {
            two.last.sent == 2 * one.last.sent && two.last.collected == 2 * one.last.collected
        });
        let ratio = two.phase(Phase::Filter) / one.phase(Phase::Filter);
        if managers == 1 {
            page.row("time of the state flow, 2 components / 1", format!("{ratio:.2}"));
        }
        page.shape(format!("{managers} managers: its time doubles, within a quarter"), {
            (1.5..2.5).contains(&ratio)
        });
    }
}

pub(crate) fn table_9(scale: Scale, page: &mut Page) {
    let clock = each(scale, 1_000, || {
        std::hint::black_box(Instant::now());
    });
    let basic = clock * Phase::ALL.len() as f64;
    page.row("basic", format!("{}: a clock at the end of each phase", shown(basic)));
    let own = std::process::id();
    let process = each(scale, 100, || {
        cpu_clock::process(own).expect("it is this process");
    });
    page.row("per process", format!("{}: its processor time", shown(process)));
    let entities = many(scale);
    let steps = Steps::of(scale, 1, 1, entities);
    let share = basic / steps.step();
    page.row(format!("share of a step of {entities} entities"), percent(share));
    page.row("per entity", "0: entities share the phases of their step");
    let mut calls = 0;
    let report = benchmark(1, 1, entities).step(1.0, &mut |_| calls += 1, &mut |_| {});
    page.law("a step reports the end of five phases, however many entities it has", {
        calls == 5 && report.entities == entities as u64
    });
}
