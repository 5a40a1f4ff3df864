//! Instructions without use are removed, and registers are shared by values that are not needed at the same time.

use crate::code::{Instruction, Operand, Program};
use crate::scalar::ScalarType;

/// Makes the code short and its registers few. `count` registers are in use, numbered without regard to their type.
pub(crate) fn allocate(program: &mut Program, count: u32) {
    remove_unused(program, count as usize);
    remove_empty_loops(&mut program.code);
    let ends = last_uses(program, count as usize);
    share_registers(program, &ends);
}

/// Calls `visit` with each register that an instruction reads.
fn each_read(
    instruction: &mut Instruction,
    items: &mut [Operand],
    visit: &mut dyn FnMut(&mut u32, ScalarType),
) {
    if let Instruction::Pick { ty, first, count, .. } = *instruction {
        for item in &mut items[first as usize..(first + count) as usize] {
            if let Operand::Register(register) = item {
                visit(register, ty);
            }
        }
    }
    instruction.each_operand(&mut |operand, ty| {
        if let Operand::Register(register) = operand {
            visit(register, ty);
        }
    });
}

/// Keeps what has an effect, and what leads to an output or an effect.
fn remove_unused(program: &mut Program, count: usize) {
    let mut definitions = vec![Vec::new(); count];
    for (at, instruction) in program.code.iter().enumerate() {
        if let Some((register, _)) = instruction.result() {
            definitions[register as usize].push(at);
        }
    }
    let mut needed = vec![false; program.code.len()];
    let mut open: Vec<usize> = Vec::new();
    for (at, instruction) in program.code.iter().enumerate() {
        if instruction.has_effect() {
            needed[at] = true;
            open.push(at);
        }
    }
    let need = |register: u32, needed: &mut Vec<bool>, open: &mut Vec<usize>| {
        for at in &definitions[register as usize] {
            if !std::mem::replace(&mut needed[*at], true) {
                open.push(*at);
            }
        }
    };
    for output in &program.outputs {
        if let Operand::Register(register) = output.value {
            need(register, &mut needed, &mut open);
        }
    }
    while let Some(at) = open.pop() {
        let mut instruction = program.code[at];
        each_read(&mut instruction, &mut program.items, &mut |register, _| {
            need(*register, &mut needed, &mut open);
        });
    }
    let mut needed = needed.into_iter();
    program.code.retain(|_| needed.next() == Some(true));
}

/// A loop around nothing is dropped, the inner one first.
fn remove_empty_loops(code: &mut Vec<Instruction>) {
    let mut kept: Vec<Instruction> = Vec::with_capacity(code.len());
    for instruction in code.drain(..) {
        let is_end = matches!(instruction, Instruction::EndLoop { .. });
        if is_end && matches!(kept.last(), Some(Instruction::Loop { .. })) {
            kept.pop();
        } else {
            kept.push(instruction);
        }
    }
    *code = kept;
}

/// The position behind which each register is free. A register that is defined before a loop and used in it is needed
/// until the end of the loop.
fn last_uses(program: &mut Program, count: usize) -> Vec<usize> {
    let ends = loop_ends(&program.code);
    let mut first = vec![usize::MAX; count];
    let mut last = vec![0; count];
    let mut around: Vec<(usize, usize)> = Vec::new();
    for (at, instruction) in program.code.iter_mut().enumerate() {
        let mut used = |register: u32, around: &[(usize, usize)]| {
            let defined = &mut first[register as usize];
            *defined = (*defined).min(at);
            let outermost = around.iter().find(|(begin, _)| begin > defined);
            let end = outermost.map_or(at, |(_, end)| *end);
            last[register as usize] = last[register as usize].max(end);
        };
        each_read(instruction, &mut program.items, &mut |register, _| used(*register, &around));
        if let Some((register, _)) = instruction.result() {
            used(register, &around);
        }
        match instruction {
            Instruction::Loop { .. } => around.push((at, ends[at])),
            Instruction::EndLoop { .. } => drop(around.pop()),
            _ => {}
        }
    }
    for output in &program.outputs {
        if let Operand::Register(register) = output.value {
            last[register as usize] = program.code.len();
        }
    }
    last
}

/// The position of the end of each loop.
fn loop_ends(code: &[Instruction]) -> Vec<usize> {
    let mut ends = vec![0; code.len()];
    let mut open = Vec::new();
    for (at, instruction) in code.iter().enumerate() {
        match instruction {
            Instruction::Loop { .. } => open.push(at),
            Instruction::EndLoop { .. } => ends[open.pop().expect("a loop begins first")] = at,
            _ => {}
        }
    }
    ends
}

/// Numbers the registers of each type anew. The result of an instruction never shares a register with its operands.
fn share_registers(program: &mut Program, ends: &[usize]) {
    const NONE: u32 = u32::MAX;
    let mut numbers = vec![NONE; ends.len()];
    let mut free: [Vec<u32>; 5] = Default::default();
    let mut expiring: Vec<Vec<(u32, ScalarType)>> = vec![Vec::new(); program.code.len() + 1];
    for at in 0..program.code.len() {
        let instruction = &mut program.code[at];
        let result = instruction.result();
        each_read(instruction, &mut program.items, &mut |register, _| {
            *register = numbers[*register as usize];
        });
        if let Some((register, ty)) = result {
            let number = &mut numbers[register as usize];
            if *number == NONE {
                *number = free[ty as usize].pop().unwrap_or_else(|| {
                    program.registers[ty as usize] += 1;
                    program.registers[ty as usize] - 1
                });
                expiring[ends[register as usize]].push((*number, ty));
            }
            instruction.set_result(*number);
        }
        for (number, ty) in expiring[at].drain(..) {
            free[ty as usize].push(number);
        }
    }
    for output in &mut program.outputs {
        if let Operand::Register(register) = &mut output.value {
            *register = numbers[*register as usize];
        }
    }
}
