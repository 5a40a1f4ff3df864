//! Standard normal numbers by the ziggurat method.

use std::sync::LazyLock;

use crate::Random;

/// Layers of the ziggurat; a power of two, so that a few bits choose one.
const LAYERS: usize = 256;

/// Where the tail of the lowest layer starts.
const TAIL: f64 = 3.654_152_885_361_009;

/// The area of each layer.
const AREA: f64 = 4.928_673_233_974_655e-3;

/// The layers that every generator draws from.
pub(crate) static ZIGGURAT: LazyLock<Ziggurat> = LazyLock::new(Ziggurat::new);

/// The ziggurat of Marsaglia and Tsang (2000). Sign, layer and position come from separate bits, as Doornik
/// requires ("An Improved Ziggurat Method to Generate Normal Random Samples", 2005).
pub(crate) struct Ziggurat {
    /// The right edge of each layer, from the widest; the last is 0.
    edge: [f64; LAYERS + 1],
    /// The density at each edge.
    height: [f64; LAYERS + 1],
}

fn density(x: f64) -> f64 {
    (-x * x / 2.0).exp()
}

impl Ziggurat {
    fn new() -> Self {
        let mut edge = [0.0; LAYERS + 1];
        // The lowest layer includes the tail and is as wide as a box of the same area.
        edge[0] = AREA / density(TAIL);
        edge[1] = TAIL;
        for layer in 2..LAYERS {
            let below: f64 = edge[layer - 1];
            edge[layer] = (-2.0 * (AREA / below + density(below)).ln()).sqrt();
        }
        Self { edge, height: edge.map(density) }
    }

    #[inline]
    pub(crate) fn draw(&self, random: &mut Random) -> f64 {
        loop {
            let bits = random.bits();
            let layer = (bits & (LAYERS as u64 - 1)) as usize;
            // The upper 53 bits as a signed fraction.
            let position = ((bits as i64) >> 11) as f64 * (1.0 / (1_u64 << 52) as f64);
            let x = position * self.edge[layer];
            if x.abs() < self.edge[layer + 1] {
                return x;
            }
            if let Some(x) = self.draw_at_the_rim(layer, x, random) {
                return x;
            }
        }
    }

    /// One draw in a hundred: in the tail, or where the density crosses the layer.
    #[cold]
    fn draw_at_the_rim(&self, layer: usize, x: f64, random: &mut Random) -> Option<f64> {
        if layer == 0 {
            return Some(tail(random).copysign(x));
        }
        let (low, high) = (self.height[layer], self.height[layer + 1]);
        (random.between(low, high) < density(x)).then_some(x)
    }
}

/// A number beyond [`TAIL`] (Marsaglia 1964).
fn tail(random: &mut Random) -> f64 {
    loop {
        let beyond = -(1.0 - random.uniform()).ln() / TAIL;
        let height = -(1.0 - random.uniform()).ln();
        if 2.0 * height > beyond * beyond {
            return TAIL + beyond;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layers_have_equal_areas() {
        let Ziggurat { edge, height } = Ziggurat::new();
        for layer in 1..LAYERS {
            let area = edge[layer] * (height[layer + 1] - height[layer]);
            assert!((area - AREA).abs() < 1e-9, "{layer}: {area}");
        }
    }

    #[test]
    fn draws_have_the_moments_and_the_tail_of_the_distribution() {
        let mut random = Random::from_seed(5);
        let count = 2_000_000;
        let drawn: Vec<f64> = (0..count).map(|_| random.normal()).collect();
        let moment =
            |power: i32| drawn.iter().map(|x| x.powi(power)).sum::<f64>() / f64::from(count);
        // Standard errors of the moments: √(1, 2, 15, 96 / count).
        let moments = [moment(1), moment(2) - 1.0, moment(3), moment(4) - 3.0];
        let errors = [1_f64, 2.0, 15.0, 96.0].map(|of| 4.5 * (of / f64::from(count)).sqrt());
        for (moment, error) in moments.iter().zip(errors) {
            assert!(moment.abs() < error, "{moments:?}");
        }
        let beyond = drawn.iter().filter(|x| x.abs() > TAIL).count();
        // 2 Φ(−TAIL) is 2.58·10⁻⁴.
        assert!((430..=610).contains(&beyond), "{beyond}");
    }
}
