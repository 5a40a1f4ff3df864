//! Seeded noise on a sensor's voltage, and the filter against it.

use hemiola_units::Random;

/// The interval for which noise is quoted, in s.
const QUOTED_STEP: f64 = 0.002;

/// White, normally distributed noise, one draw per integrator step.
#[derive(Clone, Debug)]
pub struct Noise {
    random: Random,
    rms: f64,
}

impl Noise {
    /// Noise of `volts_rms` when drawn every 2 ms. At another `step` (seconds) each draw is scaled so that the
    /// spectral density, and hence the filtered noise, stays the same.
    #[must_use]
    pub fn new(random: Random, volts_rms: f64, step: f64) -> Self {
        // The first draw of a process builds tables; do it here and not in the control loop.
        let _ = random.clone().normal();
        Self { random, rms: volts_rms * (QUOTED_STEP / step).sqrt() }
    }

    /// Returns the next voltage.
    pub fn draw(&mut self) -> f64 {
        if self.rms == 0.0 { 0.0 } else { self.rms * self.random.normal() }
    }
}

/// A first-order RC low-pass filter, discretised exactly for inputs held over a step.
#[derive(Clone, Debug)]
pub struct LowPass {
    weight: f64,
    output: f64,
}

impl LowPass {
    /// Creates a filter with this corner in Hz, settled at `output` volts. A corner of 0 means no filter.
    #[must_use]
    pub fn new(corner_hz: f64, step: f64, output: f64) -> Self {
        let weight = if corner_hz == 0.0 {
            1.0
        } else {
            1.0 - (-std::f64::consts::TAU * corner_hz * step).exp()
        };
        Self { weight, output }
    }

    /// Returns the output after one more step with this input.
    pub fn step(&mut self, input: f64) -> f64 {
        self.output += self.weight * (input - self.output);
        self.output
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filtered_noise_is_the_same_at_every_step_length() {
        for step in [0.0005, 0.001, 0.002] {
            let mut noise = Noise::new(Random::from_seed(1), 0.005, step);
            let mut filter = LowPass::new(50.0, step, 0.0);
            let n = 200_000;
            let power: f64 = (0..n).map(|_| filter.step(noise.draw()).powi(2)).sum();
            let rms = (power / f64::from(n)).sqrt();
            assert!((rms - 0.0028).abs() < 0.0001, "{rms} V at {step} s");
        }
    }
}
