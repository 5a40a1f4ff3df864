//! Twelve-bit converters between volts and codes, and the meaning of the volts in metres and radians.

use serde::{Deserialize, Serialize};

/// A converter's code in offset binary, 0 to 4095.
pub type Code = u16;

/// Codes of a 12-bit converter (all converters of the Keithley DT2811 have 12 bits).
const CODES: f64 = 4096.0;
const CODE_MAX: f64 = CODES - 1.0;

/// The voltage range selected by a jumper, before the amplifier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Range {
    /// −5 V to +5 V; code 2048 is 0 V.
    Bipolar5,
    /// −2.5 V to +2.5 V; code 2048 is 0 V.
    Bipolar2_5,
    /// 0 V to 5 V; code 0 is 0 V.
    Unipolar5,
}

impl Range {
    /// Volts from the lowest code to one above the highest.
    const fn width(self) -> f64 {
        match self {
            Self::Bipolar5 => 10.0,
            Self::Bipolar2_5 | Self::Unipolar5 => 5.0,
        }
    }

    const fn zero_code(self) -> f64 {
        match self {
            Self::Bipolar5 | Self::Bipolar2_5 => CODES / 2.0,
            Self::Unipolar5 => 0.0,
        }
    }
}

/// A channel: analogue to digital behind a programmable amplifier, or digital to analogue.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Channel {
    /// The jumper's range.
    pub range: Range,
    /// The amplifier's gain: 1, 2, 4 or 8 for an input of the DT2811-PGH, 1 for an output; must not be zero.
    pub gain: u8,
}

impl Channel {
    /// Volts at the terminal per code.
    #[must_use]
    pub fn lsb(&self) -> f64 {
        self.range.width() / CODES / f64::from(self.gain)
    }

    /// Returns the nearest code; saturates and never wraps. Not-a-number becomes the code of 0 V, because Rust's own
    /// conversion would make it code 0, which is full scale on a bipolar range.
    #[must_use]
    pub fn code(&self, volts: f64) -> Code {
        let zero = self.range.zero_code();
        let code = (volts / self.lsb()).round() + zero;
        if code.is_nan() { zero as Code } else { code.clamp(0.0, CODE_MAX) as Code }
    }

    /// Returns the voltage at the terminal for this code.
    #[must_use]
    pub fn volts(&self, code: Code) -> f64 {
        (f64::from(code).min(CODE_MAX) - self.range.zero_code()) * self.lsb()
    }
}

/// The converter of each signal, and the metres or radians per volt.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Wiring {
    /// The cart potentiometer's channel.
    pub position: Channel,
    /// The rod potentiometer's channel.
    pub angle: Channel,
    /// The motor amplifier's channel; the amplifier's gain is 1.
    pub output: Channel,
    /// Metres per volt of the cart potentiometer; of another plant, units of its first measured state.
    pub metres_per_volt: f64,
    /// Radians per volt of the rod potentiometer; of another plant, units of its second measured state.
    pub radians_per_volt: f64,
}

impl Default for Wiring {
    /// ±5 V, gain 1 for the position and 2 for the angle, and the maker's sensitivities. The maker's angle is
    /// negative towards positive positions; here the wires are swapped.
    fn default() -> Self {
        Self {
            position: Channel { range: Range::Bipolar5, gain: 1 },
            angle: Channel { range: Range::Bipolar5, gain: 2 },
            output: Channel { range: Range::Bipolar5, gain: 1 },
            metres_per_volt: 0.0931,
            radians_per_volt: 0.2482,
        }
    }
}

impl Wiring {
    /// Returns the cart position in m for this code.
    #[must_use]
    pub fn position(&self, code: Code) -> f64 {
        self.position.volts(code) * self.metres_per_volt
    }

    /// Returns the rod angle in rad for this code.
    #[must_use]
    pub fn angle(&self, code: Code) -> f64 {
        self.angle.volts(code) * self.radians_per_volt
    }

    /// Returns the sensor voltages, position first, at this position in m and angle in rad.
    #[must_use]
    pub fn sensor_volts(&self, position: f64, angle: f64) -> [f64; 2] {
        [position / self.metres_per_volt, angle / self.radians_per_volt]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RANGES: [Range; 3] = [Range::Bipolar5, Range::Bipolar2_5, Range::Unipolar5];

    #[test]
    fn every_code_survives_a_round_trip_through_volts() {
        for range in RANGES {
            for code in 0..4096 {
                for gain in [1, 2, 4, 8] {
                    let input = Channel { range, gain };
                    assert_eq!(input.code(input.volts(code)), code);
                }
            }
        }
    }

    #[test]
    fn full_scale_saturates_and_never_wraps() {
        let output = Channel { range: Range::Bipolar5, gain: 1 };
        for volts in [5.0, 5.1, 1e300, f64::INFINITY] {
            assert_eq!((output.code(volts), output.code(-volts)), (4095, 0));
        }
        assert_eq!(output.volts(4095), 5.0 - output.lsb());
        assert_eq!(output.volts(0), -5.0);
        assert_eq!(output.volts(u16::MAX), output.volts(4095));
        assert_eq!(Channel { range: Range::Unipolar5, gain: 1 }.code(-0.1), 0);
    }

    #[test]
    fn not_a_number_gives_zero_volts() {
        for range in RANGES {
            let output = Channel { range, gain: 1 };
            assert_eq!(output.volts(output.code(f64::NAN)), 0.0);
        }
    }

    #[test]
    fn the_resolution_is_that_of_the_apparatus() {
        let wiring = Wiring::default();
        assert!((wiring.position(2049) - 0.2273e-3).abs() < 1e-7);
        assert!((wiring.angle(2049) - 0.303e-3).abs() < 1e-6);
        assert!((wiring.output.volts(2049) - 2.441e-3).abs() < 1e-6);
    }
}
