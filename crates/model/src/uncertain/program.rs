//! A network's formulas as one flat list of instructions, for one value or for blocks of samples.

use std::ops::Range;

use super::network::Network;
use crate::expression::{Function, OPERANDS, Step, Value, What};

/// Samples computed at once: long enough that choosing the operation costs nothing per sample, short enough
/// that the columns of a hundred values stay in the second-level cache.
pub(super) const BLOCK: usize = 512;

/// What one value needs, each instruction after those whose results it takes, every result in a register of its own.
pub(super) struct Program {
    /// Inputs that it takes: index in the network, register.
    pub(super) inputs: Vec<(usize, usize)>,
    constants: Vec<(f64, usize)>,
    pub(super) instructions: Vec<Instruction>,
    registers: usize,
    /// Where the value stands at the end.
    pub(super) result: usize,
}

/// One operation on registers.
pub(super) struct Instruction {
    pub(super) function: Function,
    a: usize,
    pub(super) b: usize,
    pub(super) to: usize,
    /// Where it is written: definition and bytes of its text.
    pub(super) at: (usize, Range<usize>),
}

impl Program {
    /// What `target` (an index of the network's names: inputs first) needs, and nothing else.
    pub(super) fn of(network: &Network, target: usize) -> Self {
        let needed = network.needed(target);
        let inputs = network.inputs().len();
        let mut program = Self {
            inputs: Vec::new(),
            constants: Vec::new(),
            instructions: Vec::new(),
            registers: 0,
            result: 0,
        };
        // Where the value of each name stands, once it is computed.
        let mut registers: Vec<usize> = vec![0; needed.len()];
        for name in (0..needed.len()).filter(|name| needed[*name]) {
            registers[name] = if name < inputs {
                let register = program.register();
                program.inputs.push((name, register));
                register
            } else {
                program.add(network, name - inputs, &registers)
            };
        }
        program.result = registers[target];
        program
    }

    fn register(&mut self) -> usize {
        self.registers += 1;
        self.registers - 1
    }

    /// The instructions of one definition; gives the register of its value.
    fn add(&mut self, network: &Network, definition: usize, registers: &[usize]) -> usize {
        let mut stack: Vec<usize> = Vec::new();
        for Step { what, at } in network.definitions()[definition].expression.steps() {
            let register = match what {
                What::Constant(quantity) => {
                    let to = self.register();
                    self.constants.push((quantity.value, to));
                    to
                }
                What::Name(name) => {
                    registers[network.index(name).expect("names were checked with the network")]
                }
                What::Apply(function) => {
                    let b = stack.pop().expect(OPERANDS);
                    let a = if function.is_binary() { stack.pop().expect(OPERANDS) } else { b };
                    let to = self.register();
                    let at = (definition, at.clone());
                    self.instructions.push(Instruction { function: *function, a, b, to, at });
                    to
                }
            };
            stack.push(register);
        }
        stack.pop().expect(OPERANDS)
    }

    /// Every register's value, for one value of each input of the network.
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

    /// The result alone.
    pub(super) fn value<V: Value>(&self, input: impl Fn(usize) -> V) -> V {
        self.run(input).swap_remove(self.result)
    }

    /// On how many ways a register's value reaches the result.
    pub(super) fn ways(&self, register: usize) -> u64 {
        let mut ways = vec![0_u64; self.registers];
        ways[register] = 1;
        for Instruction { function, a, b, to, .. } in &self.instructions {
            let other = if function.is_binary() { ways[*b] } else { 0 };
            ways[*to] = ways[*a].saturating_add(other);
        }
        ways[self.result]
    }

    /// Columns for a block, constants filled in: one for each register.
    pub(super) fn columns(&self) -> Vec<Vec<f64>> {
        let mut columns = vec![vec![0.0; BLOCK]; self.registers];
        for (value, register) in &self.constants {
            columns[*register].fill(*value);
        }
        columns
    }

    /// Computes a block, whose inputs stand in their columns.
    pub(super) fn run_block(&self, columns: &mut [Vec<f64>]) {
        for Instruction { function, a, b, to, .. } in &self.instructions {
            // Out of the way of its operands, which are other registers.
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
    // The frequent ones as loops of their own, which the compiler turns into vector instructions.
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
    use crate::quantity::Quantity;

    #[test]
    fn a_block_has_the_values_of_single_runs_and_only_what_is_needed_is_computed() {
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
