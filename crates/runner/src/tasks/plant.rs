//! The plant's process: integrates the apparatus in step with real time.

use serde::{Deserialize, Serialize};

use hemiola_plant::{Apparatus, Fall, Settings};
use hemiola_rt::sys::descriptor::duplicate;
use hemiola_simplex::Region;
use hemiola_trace::EventKind;

use crate::card::{Inputs, PlantSide};
use crate::launch::Finished;
use crate::task::{Job, Ports, Task, mark_values};

/// What the plant's process needs.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct PlantWork {
    /// The apparatus.
    pub(crate) settings: Settings,
    /// Descriptor of the card's input register.
    pub(crate) inputs: i32,
    /// Descriptor of the card's output register, read only.
    pub(crate) outputs: i32,
    /// Steps the run has: afterwards nobody controls, and a fall would be nobody's.
    pub(crate) steps_max: u64,
    /// The true state is recorded once in so many steps.
    pub(crate) record_every: u64,
}

pub(super) struct Plant {
    apparatus: Apparatus,
    card: PlantSide,
    region: Region,
    steps: u64,
    steps_max: u64,
    record_every: u64,
    peak_v: f64,
    fall: Option<Fall>,
}

impl Plant {
    pub(super) fn prepare(work: PlantWork) -> Result<Self, String> {
        let apparatus = Apparatus::new(&work.settings).map_err(|e| e.to_string())?;
        let take = |fd| duplicate(fd).map_err(|e| format!("the card's registers: {e}"));
        let zero = apparatus.wiring().output_code(0.0);
        let mut plant = Self {
            card: PlantSide::open(take(work.inputs)?, take(work.outputs)?, zero)?,
            apparatus,
            region: Region::SAFETY,
            steps: 0,
            steps_max: work.steps_max,
            record_every: work.record_every.max(1),
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
            self.peak_v = self.peak_v.max(v);
            if self.steps.is_multiple_of(self.record_every) {
                mark_values(ports, EventKind::PlantState, 0, v, state.angle);
            }
        }
        self.show();
        if self.fall.is_none() {
            self.fall = self.apparatus.fall();
            if let Some(fall) = self.fall {
                mark_values(ports, EventKind::Fall, 0, fall.state.position, fall.state.angle);
            }
        }
    }

    fn report(&self, finished: &mut Finished) {
        finished.peak_v = self.peak_v;
        finished.fallen_after = self.fall.map(|fall| fall.after);
    }
}
