//! An assembler for the kernel's BPF machine.
//!
//! ```text
//!  opcode u8 │ destination 0–3, source 4–7 │ offset i16 │ immediate i32
//! ```
//!
//! Source: RFC 9669, "BPF Instruction Set Architecture".

use std::os::fd::{AsRawFd, BorrowedFd};

/// A register: R0 is the result, R1–R5 are arguments and lost after a call, R6–R9 are kept, R10 is the end of the
/// stack.
#[derive(Clone, Copy)]
pub(super) enum Register {
    R0,
    R1,
    R2,
    R3,
    R6 = 6,
    R7,
    R8,
    R9,
    R10,
}

/// How many bytes are loaded or stored.
#[derive(Clone, Copy)]
pub(super) enum Size {
    Word = 0x00,
    Double = 0x18,
}

/// An operation on a 64-bit register.
#[derive(Clone, Copy)]
pub(super) enum Operation {
    Add = 0x00,
    Subtract = 0x10,
    Or = 0x40,
    And = 0x50,
    ShiftLeft = 0x60,
    ShiftRight = 0x70,
    Move = 0xb0,
}

/// When to jump; comparisons are unsigned.
#[derive(Clone, Copy)]
pub(super) enum When {
    Always = 0x00,
    Equal = 0x10,
    Greater = 0x20,
    AnyBit = 0x40,
    NotEqual = 0x50,
}

/// An atomic operation on a word in memory; the source register receives the previous value.
#[derive(Clone, Copy)]
pub(super) enum Atomic {
    Add = 0x01,
    Exchange = 0xe1,
}

/// A kernel function: `enum bpf_func_id` of `linux/bpf.h`.
#[derive(Clone, Copy)]
pub(super) enum Function {
    MapLookupElement = 1,
    KtimeGetNs = 5,
    GetProcessorId = 8,
    ProbeReadKernel = 113,
    ProbeReadKernelString = 115,
    SequenceWrite = 127,
    ThisCpuPointer = 154,
    CurrentTask = 158,
    TaskRegisters = 175,
}

/// A jump target.
#[derive(Clone, Copy)]
pub(super) struct Label(usize);

/// A program under construction.
#[derive(Default)]
pub(super) struct Assembler {
    code: Vec<u64>,
    /// The position of each label, once it is placed.
    labels: Vec<Option<usize>>,
    /// Jumps, and the label of each.
    jumps: Vec<(usize, Label)>,
}

impl Assembler {
    fn push(
        &mut self,
        opcode: u8,
        destination: Register,
        source: u8,
        offset: i16,
        immediate: i32,
    ) -> &mut Self {
        let registers = destination as u8 | source << 4;
        let [low, high] = offset.to_ne_bytes();
        let [a, b, c, d] = immediate.to_ne_bytes();
        self.code.push(u64::from_ne_bytes([opcode, registers, low, high, a, b, c, d]));
        self
    }

    /// `destination = destination ∘ source`.
    pub(super) fn with(
        &mut self,
        operation: Operation,
        destination: Register,
        source: Register,
    ) -> &mut Self {
        self.push(0x0f | operation as u8, destination, source as u8, 0, 0)
    }

    /// `destination = destination ∘ number`.
    pub(super) fn by(
        &mut self,
        operation: Operation,
        destination: Register,
        number: i32,
    ) -> &mut Self {
        self.push(0x07 | operation as u8, destination, 0, 0, number)
    }

    /// `destination = *(from + offset)`.
    pub(super) fn load(
        &mut self,
        size: Size,
        destination: Register,
        from: Register,
        offset: i16,
    ) -> &mut Self {
        self.push(0x61 | size as u8, destination, from as u8, offset, 0)
    }

    /// `*(to + offset) = source`.
    pub(super) fn store(
        &mut self,
        size: Size,
        to: Register,
        offset: i16,
        source: Register,
    ) -> &mut Self {
        self.push(0x63 | size as u8, to, source as u8, offset, 0)
    }

    /// `*(to + offset) = number`.
    pub(super) fn store_number(
        &mut self,
        size: Size,
        to: Register,
        offset: i16,
        number: i32,
    ) -> &mut Self {
        self.push(0x62 | size as u8, to, 0, offset, number)
    }

    /// `source = *(to + offset)`, and changes the word in the same step.
    pub(super) fn atomic(
        &mut self,
        what: Atomic,
        to: Register,
        offset: i16,
        source: Register,
    ) -> &mut Self {
        self.push(0xdb, to, source as u8, offset, what as i32)
    }

    /// `destination = map`, for a call that takes a map.
    pub(super) fn map(&mut self, destination: Register, map: BorrowedFd<'_>) -> &mut Self {
        self.push(0x18, destination, 1, 0, map.as_raw_fd()).push(0, Register::R0, 0, 0, 0)
    }

    /// `destination = ` the address of a kernel variable, given by its number in BTF.
    pub(super) fn variable(&mut self, destination: Register, id: u32) -> &mut Self {
        self.push(0x18, destination, 3, 0, id as i32).push(0, Register::R0, 0, 0, 0)
    }

    /// `R0 = function(R1, …)`.
    pub(super) fn call(&mut self, function: Function) -> &mut Self {
        self.push(0x85, Register::R0, 0, 0, function as i32)
    }

    /// Returns `result`.
    pub(super) fn exit(&mut self, result: i32) -> &mut Self {
        self.by(Operation::Move, Register::R0, result).push(0x95, Register::R0, 0, 0, 0)
    }

    /// Creates a label to be placed later.
    pub(super) fn label(&mut self) -> Label {
        self.labels.push(None);
        Label(self.labels.len() - 1)
    }

    /// Places `label` at the next instruction.
    pub(super) fn place(&mut self, label: Label) -> &mut Self {
        self.labels[label.0] = Some(self.code.len());
        self
    }

    /// Jumps to `label` if `register` compares so with `number`.
    pub(super) fn jump(
        &mut self,
        when: When,
        register: Register,
        number: i32,
        label: Label,
    ) -> &mut Self {
        self.jumps.push((self.code.len(), label));
        self.push(0x05 | when as u8, register, 0, 0, number)
    }

    /// Jumps to `label` if `register` compares so with `other`.
    pub(super) fn jump_with(
        &mut self,
        when: When,
        register: Register,
        other: Register,
        label: Label,
    ) -> &mut Self {
        self.jumps.push((self.code.len(), label));
        self.push(0x0d | when as u8, register, other as u8, 0, 0)
    }

    /// Returns the program with its jumps resolved.
    pub(super) fn finish(&mut self) -> Vec<u64> {
        for (at, label) in self.jumps.drain(..) {
            let target = self.labels[label.0].expect("every label is placed");
            // Relative to the instruction after the jump.
            let distance = target as i64 - at as i64 - 1;
            let [low, high] = i16::try_from(distance).expect("programs are short").to_ne_bytes();
            let mut bytes = self.code[at].to_ne_bytes();
            bytes[2..4].copy_from_slice(&[low, high]);
            self.code[at] = u64::from_ne_bytes(bytes);
        }
        std::mem::take(&mut self.code)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Encodes an instruction as the kernel does: `struct bpf_insn`.
    fn instruction(opcode: u8, registers: u8, offset: i16, immediate: i32) -> u64 {
        let mut bytes = [opcode, registers, 0, 0, 0, 0, 0, 0];
        bytes[2..4].copy_from_slice(&offset.to_ne_bytes());
        bytes[4..].copy_from_slice(&immediate.to_ne_bytes());
        u64::from_ne_bytes(bytes)
    }

    #[test]
    fn instructions_are_encoded_as_in_the_standard() {
        let mut program = Assembler::default();
        program
            .load(Size::Word, Register::R3, Register::R6, 1264)
            .with(Operation::Or, Register::R7, Register::R3)
            .by(Operation::ShiftLeft, Register::R7, 42)
            .store(Size::Double, Register::R8, -8, Register::R9)
            .atomic(Atomic::Add, Register::R8, 16, Register::R1)
            .call(Function::KtimeGetNs);
        let expected = [
            instruction(0x61, 0x63, 1264, 0),
            instruction(0x4f, 0x37, 0, 0),
            instruction(0x67, 0x07, 0, 42),
            instruction(0x7b, 0x98, -8, 0),
            instruction(0xdb, 0x18, 16, 1),
            instruction(0x85, 0, 0, 5),
        ];
        assert_eq!(program.finish(), expected);
    }

    #[test]
    fn jumps_go_forward_and_back_to_their_labels() {
        let mut program = Assembler::default();
        let (back, forward) = (program.label(), program.label());
        program.place(back).jump(When::Equal, Register::R1, 7, forward);
        program.jump(When::Always, Register::R0, 0, back).place(forward).exit(0);
        let code = program.finish();
        assert_eq!(code[..2], [instruction(0x15, 1, 1, 7), instruction(0x05, 0, -2, 0)]);
        let end = program.label();
        program.jump_with(When::NotEqual, Register::R1, Register::R7, end).place(end).exit(0);
        assert_eq!(program.finish()[0], instruction(0x5d, 0x71, 0, 0));
    }
}
