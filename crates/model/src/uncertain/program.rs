//! A network's formulas as one flat list of instructions, run for one value or for blocks of samples.

use std::ops::Range;

use super::network::Network;
use crate::expression::{Function, OPERANDS, Operation, Step, Value};

/// Samples per block: enough that the dispatch costs nothing per sample, few enough that the columns of a
/// hundred values stay in the second-level cache.
pub(super) const BLOCK: usize = 512;

/// The instructions for one value in order of dependence; every result has its own register.
pub(super) struct Program {
    /// The inputs used: index in the network, register.
    pub(super) inputs: Vec<(usize, usize)>,
    constants: Vec<(f64, usize)>,
    pub(super) instructions: Vec<Instruction>,
    registers: usize,
    /// The register of the final value.
    pub(super) result: usize,
    /// Values that cannot be negative.
    pub(super) guards: Vec<Guard>,
}

/// A value that cannot be negative in reality: the cost of an operation, a number of calls, the rest of a share, a
/// period.
pub(super) struct Guard {
    pub(super) register: usize,
    /// Its place: definition and byte range of the formula.
    pub(super) at: (usize, Range<usize>),
}

impl Guard {
    /// The least value that counts as not negative: the rounding error of a value that is 0.
    pub(super) fn least(&self, nominals: &[f64]) -> f64 {
        -1e-12 * nominals[self.register].abs()
    }
}

/// One operation on registers.
pub(super) struct Instruction {
    pub(super) function: Function,
    pub(super) a: usize,
    pub(super) b: usize,
    pub(super) to: usize,
    /// Its place: definition and byte range of the formula.
    pub(super) at: (usize, Range<usize>),
}

impl Program {
    /// The program for `target`, an index of the network's names.
    pub(super) fn of(network: &Network, target: usize) -> Self {
        let needed = network.needed(target);
        let inputs = network.inputs().len();
        let mut program = Self {
            inputs: Vec::new(),
            constants: Vec::new(),
            instructions: Vec::new(),
            registers: 0,
            result: 0,
            guards: Vec::new(),
        };
        // Each name with its register, once it is computed.
        let mut registers: Vec<(usize, usize)> = Vec::with_capacity(needed.len());
        for name in needed {
            let register = if name < inputs {
                let register = program.register();
                program.inputs.push((name, register));
                register
            } else {
                program.add(network, name - inputs, &registers)
            };
            registers.push((name, register));
            program.result = register;
        }
        program
    }

    fn register(&mut self) -> usize {
        self.registers += 1;
        self.registers - 1
    }

    /// Adds the instructions of one definition and returns the register of its value.
    fn add(&mut self, network: &Network, definition: usize, registers: &[(usize, usize)]) -> usize {
        const CHECKED: &str = "names were checked with the network";
        let register_of = |name: &str| {
            let name = network.index(name).expect(CHECKED);
            registers[registers.binary_search_by_key(&name, |(name, _)| *name).expect(CHECKED)].1
        };
        let expression = &network.definitions()[definition].expression;
        let physical = network.is_physical(definition);
        let rests = if physical { expression.rests() } else { Vec::new() };
        let mut stack: Vec<usize> = Vec::new();
        for (step, Step { operation, at, is_amount }) in expression.steps().iter().enumerate() {
            let register = match operation {
                Operation::Constant(quantity) => {
                    let to = self.register();
                    self.constants.push((quantity.value, to));
                    to
                }
                Operation::Name(name) => register_of(name),
                Operation::Phase => unreachable!("a network gives each phase a name"),
                Operation::Apply(function) => {
                    let b = stack.pop().expect(OPERANDS);
                    let a = if function.is_binary() { stack.pop().expect(OPERANDS) } else { b };
                    let to = self.register();
                    let at = (definition, at.clone());
                    self.instructions.push(Instruction { function: *function, a, b, to, at });
                    to
                }
            };
            if physical && *is_amount || rests.iter().any(|rest| rest.step == step) {
                self.guards.push(Guard { register, at: (definition, at.clone()) });
            }
            stack.push(register);
        }
        let register = stack.pop().expect(OPERANDS);
        if physical {
            let at = (definition, 0..expression.text().len());
            self.guards.push(Guard { register, at });
        }
        register
    }

    /// Computes every register for one value of each input.
    pub(super) fn run<V: Value>(&self, input: impl Fn(usize) -> V) -> Vec<V> {
        let mut registers = vec![V::constant(0.0); self.registers];
        for (index, register) in &self.inputs {
            registers[*register] = input(*index);
        }
        for (value, register) in &self.constants {
            registers[*register] = V::constant(*value);
        }
        for Instruction { function, a, b, to, .. } in &self.instructions {
            registers[*to] = V::apply(*function, &registers[*a], &registers[*b]);
        }
        registers
    }

    /// The final value alone.
    pub(super) fn value<V: Value>(&self, input: impl Fn(usize) -> V) -> V {
        self.run(input).swap_remove(self.result)
    }

    /// The number of paths from a register to the result.
    pub(super) fn paths(&self, register: usize) -> u64 {
        let mut paths = vec![0_u64; self.registers];
        paths[register] = 1;
        for Instruction { function, a, b, to, .. } in &self.instructions {
            let other = if function.is_binary() { paths[*b] } else { 0 };
            paths[*to] = paths[*a].saturating_add(other);
        }
        paths[self.result]
    }

    /// One column for each register, with the constants filled in.
    pub(super) fn columns(&self) -> Vec<Vec<f64>> {
        let mut columns = vec![vec![0.0; BLOCK]; self.registers];
        for (value, register) in &self.constants {
            columns[*register].fill(*value);
        }
        columns
    }

    /// Computes a block whose inputs are in their columns.
    pub(super) fn run_block(&self, columns: &mut [Vec<f64>]) {
        for Instruction { function, a, b, to, .. } in &self.instructions {
            // Taken out because the operands borrow the columns; they are other registers.
            let mut result = std::mem::take(&mut columns[*to]);
            each(*function, &columns[*a], &columns[*b], &mut result);
            columns[*to] = result;
        }
    }
}

fn each(function: Function, a: &[f64], b: &[f64], result: &mut [f64]) {
    fn zip(a: &[f64], b: &[f64], result: &mut [f64], f: impl Fn(f64, f64) -> f64) {
        for ((result, a), b) in result.iter_mut().zip(a).zip(b) {
            *result = f(*a, *b);
        }
    }
    // The frequent functions have their own loops, which the compiler vectorizes.
    match function {
        Function::Add => zip(a, b, result, |a, b| a + b),
        Function::Subtract => zip(a, b, result, |a, b| a - b),
        Function::Multiply => zip(a, b, result, |a, b| a * b),
        Function::Divide => zip(a, b, result, |a, b| a / b),
        Function::Power if b.iter().all(|b| *b == 2.0) => zip(a, b, result, |a, _| a * a),
        function => zip(a, b, result, |a, b| f64::apply(function, &a, &b)),
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Definition, Input};
    use super::*;
    use crate::expression::Expression;
    use hemiola_quantity::Quantity;

    #[test]
    fn a_block_equals_single_runs_and_skips_unused_inputs() {
        let inputs = ["x", "y", "unused"].map(|name| Input::exact(name, Quantity::number(0.0)));
        let definitions = [
            ("value", "min(part, 2) * part + x ^ 2 - y / 3 + exp(-x) + 7"),
            ("part", "abs(x) + x * y"),
            ("other", "unused * part"),
        ];
        let definitions = definitions.map(|(name, text)| Definition {
            name: name.to_owned(),
            expression: Expression::parse(text).unwrap(),
        });
        let network = Network::new(inputs.to_vec(), &[], definitions.to_vec()).unwrap();
        let program = Program::of(&network, network.index("value").unwrap());
        assert_eq!(program.inputs.len(), 2);
        let mut columns = program.columns();
        let input = |index: usize, at: usize| (at as f64 - 200.0) / 50.0 + index as f64;
        for (index, register) in &program.inputs {
            for (at, value) in columns[*register].iter_mut().enumerate() {
                *value = input(*index, at);
            }
        }
        program.run_block(&mut columns);
        for (at, value) in columns[program.result].iter().enumerate() {
            assert_eq!(*value, program.value(|index| input(index, at)), "{at}");
        }
    }
}
