//! The plant's process: integrates the apparatus in step with real time.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use hemiola_plant::{Apparatus, Fall, Settings};
use hemiola_simplex::Region;
use hemiola_trace::EventKind;
use hemiola_trace::result::Role;
use hemiola_units::Span;

use super::{Body, TaskKind, mismatch, whole};
use crate::card::{Inputs, PlantSide};
use crate::spec::NodeSpec;
use crate::task::{Job, Ports, Task, mark_values, to_value};

/// The true state is recorded once in so many steps: each step of a 1 ms plant would be most of the trace.
const RECORD_EVERY: u64 = 10;

pub(super) const KIND: TaskKind = TaskKind {
    equip: |supplies| supplies.wiring.plant_side(),
    collect: |report, record| {
        let report = Report::deserialize(report).unwrap_or_default();
        (record.fallen_after, record.peak_v) = (report.fallen_after, report.peak_v);
    },
    ..TaskKind::new(Role::Plant, Body::Loop(|spec| Ok(Box::new(Plant::prepare(spec)?))))
};

/// What the plant reports at the end.
#[derive(Default, Serialize, Deserialize)]
struct Report {
    /// When the plant was lost, from the first release.
    fallen_after: Option<Span>,
    /// The greatest Lyapunov value of the true state.
    peak_v: f64,
}

struct Plant {
    apparatus: Apparatus,
    card: PlantSide,
    region: Region,
    steps: u64,
    /// Steps of the run: after these there is no control, and a loss would mean nothing.
    steps_max: u64,
    peak_v: f64,
    fall: Option<Fall>,
}

impl Plant {
    fn prepare(spec: &NodeSpec) -> Result<Self, String> {
        let Some(plant) = &spec.run.plant else { return mismatch() };
        let settings = Settings { seed: spec.run.seed, ..plant.clone() };
        let apparatus = Apparatus::new(&settings).map_err(|e| e.to_string())?;
        let zero = apparatus.wiring().output.code(0.0);
        let mut plant = Self {
            card: PlantSide::open(spec, zero)?,
            steps_max: whole(spec.run.length(), settings.step),
            apparatus,
            region: spec.run.region()?,
            steps: 0,
            peak_v: 0.0,
            fall: None,
        };
        plant.show();
        Ok(plant)
    }

    fn show(&mut self) {
        let [position, angle] = self.apparatus.codes();
        self.card.show(Inputs { position, angle });
    }
}

impl Task for Plant {
    /// Steps up to the present release: also those whose release this process slept through, because
    /// gravity does not wait for a scheduler.
    fn step(&mut self, job: &Job<'_>, ports: &mut dyn Ports) {
        let output = self.card.output();
        while self.steps < job.cycle.min(self.steps_max) {
            self.apparatus.step(output);
            self.steps += 1;
            let state = self.apparatus.state();
            let v = self.region.value(&state.to_array());
            let [_, second] = self.apparatus.measured();
            self.peak_v = self.peak_v.max(v);
            if self.steps.is_multiple_of(RECORD_EVERY) {
                mark_values(ports, EventKind::PlantState, 0, v, second);
            }
        }
        self.show();
        if self.fall.is_none() {
            self.fall = self.apparatus.fall();
            if self.fall.is_some() {
                let [first, second] = self.apparatus.measured();
                mark_values(ports, EventKind::Fall, 0, first, second);
            }
        }
    }

    fn report(&self) -> Value {
        let fallen_after = self.fall.map(|fall| fall.after);
        to_value(&Report { fallen_after, peak_v: self.peak_v })
    }
}
