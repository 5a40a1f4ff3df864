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
            inputs.filter(|index| network.inputs()[*index].offset_most() > 0.0).collect();
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

    /// Whether it stands for several offsets, those of the parts of a mixture.
    pub(super) fn is_mixed(&self, unknown: usize) -> bool {
        let mut inputs = self.groups[unknown].iter();
        inputs.any(|(index, _)| self.network.inputs()[*index].offsets() > 1)
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
                offsets[*index] = sign * at * inputs[*index].offset_most();
            }
        }
        offsets
    }
}

/// The values of an input that is drawn from `drawn`, over all its offsets, and the change of its value by the given
/// change of the offset: less at its bounds, and for the other parts of a mixture.
pub(super) fn spread(network: &Network, input: usize, drawn: Interval, by: f64) -> [Interval; 2] {
    let input = &network.inputs()[input];
    let offset = input.offset_most();
    let (low, high) = (drawn.low - offset, drawn.high + offset);
    let Interval { low: least, high: most } = input.bounds;
    let is_cut = offset > 0.0 && (low < least || high > most);
    let values = match is_cut {
        true => Interval { low: low.clamp(least, most), high: high.clamp(least, most) },
        false => Interval { low, high },
    };
    let is_less = is_cut || input.has_offset_parts();
    let change = Interval::between(by, if is_less { 0.0 } else { by });
    [values, change]
}
