//! The systematic offsets of a program as unknowns, each from −1 to 1.

use super::correlation::Linked;
use super::network::Network;
use super::program::Program;
use crate::expression::Interval;

/// The offset of each input of the network.
pub(super) type Offsets = Vec<f64>;

/// A value for each unknown, from −1 to 1.
pub(super) type Point = Vec<f64>;

/// The unknowns of a program.
pub(super) struct Unknowns<'n> {
    network: &'n Network,
    /// The inputs of each unknown: those that correlate fully have one offset.
    groups: Vec<Linked>,
}

impl<'n> Unknowns<'n> {
    /// `None` if no input of the program has a systematic part.
    pub(super) fn of(network: &'n Network, program: &Program) -> Option<Self> {
        let inputs = program.inputs.iter().map(|(index, _)| *index);
        let systematic: Vec<usize> =
            inputs.filter(|index| network.inputs()[*index].systematic > 0.0).collect();
        let groups = network.correlated().linked(&systematic);
        (!groups.is_empty()).then_some(Self { network, groups })
    }

    pub(super) fn count(&self) -> usize {
        self.groups.len()
    }

    /// The inputs of one unknown: index and sign of each.
    pub(super) fn inputs(&self, unknown: usize) -> &[(usize, f64)] {
        &self.groups[unknown]
    }

    /// The names of its inputs.
    pub(super) fn names(&self, unknown: usize) -> String {
        let name = |(index, _): &(usize, f64)| self.network.inputs()[*index].name.as_str();
        self.groups[unknown].iter().map(name).collect::<Vec<_>>().join(" and ")
    }

    pub(super) fn offsets(&self, point: &[f64]) -> Offsets {
        let inputs = self.network.inputs();
        let mut offsets = vec![0.0; inputs.len()];
        for (group, at) in self.groups.iter().zip(point) {
            for (index, sign) in group {
                offsets[*index] = sign * at * inputs[*index].systematic;
            }
        }
        offsets
    }
}

/// The values of an input that is drawn from `drawn`, over all its offsets, and the change of its value by the given
/// change of the offset: less at its bounds.
pub(super) fn spread(network: &Network, input: usize, drawn: Interval, by: f64) -> [Interval; 2] {
    let input = &network.inputs()[input];
    let (low, high) = (drawn.low - input.systematic, drawn.high + input.systematic);
    let Interval { low: least, high: most } = input.bounds;
    let is_cut = input.systematic > 0.0 && (low < least || high > most);
    let values = match is_cut {
        true => Interval { low: low.clamp(least, most), high: high.clamp(least, most) },
        false => Interval { low, high },
    };
    let change = Interval::between(by, if is_cut { 0.0 } else { by });
    [values, change]
}
