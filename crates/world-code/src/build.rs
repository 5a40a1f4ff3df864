//! Instructions are appended here: equal ones once, and what constants decide not at all.

use std::collections::BTreeMap;

use crate::code::{Binary, Checked, Comparison, FaultCode, Instruction, Operand, Site, Unary};
use crate::limits::{INSTRUCTIONS_MAX, ITEMS_MAX};
use crate::scalar::{Scalar, ScalarType};
use ScalarType::{Boolean, Integer};

/// True for all rows.
pub(crate) const TRUE: Operand = Operand::Constant(0);
/// False for all rows.
pub(crate) const FALSE: Operand = Operand::Constant(1);

/// Code in progress. Registers are numbered without regard to their type.
pub(crate) struct Builder {
    pub(crate) code: Vec<Instruction>,
    pub(crate) constants: Vec<Scalar>,
    pub(crate) items: Vec<Operand>,
    pub(crate) sites: Vec<Site>,
    pub(crate) last_sent: Vec<u32>,
    pub(crate) registers: u32,
    /// The rows that take part in what is appended.
    pub(crate) mask: Operand,
    /// Each constant by its type and bits.
    constant_numbers: BTreeMap<(ScalarType, u64), u32>,
    /// The results of instructions that would give the same again.
    known: BTreeMap<Instruction, u32>,
    /// The keys of `known` in the order of their insertion, so that those of a loop can be forgotten.
    known_order: Vec<Instruction>,
    full: bool,
}

impl Builder {
    pub(crate) fn new() -> Self {
        let mut builder = Self {
            code: Vec::new(),
            constants: Vec::new(),
            items: Vec::new(),
            sites: Vec::new(),
            last_sent: Vec::new(),
            registers: 0,
            mask: TRUE,
            constant_numbers: BTreeMap::new(),
            known: BTreeMap::new(),
            known_order: Vec::new(),
            full: false,
        };
        builder.constant(Scalar::Boolean(true));
        builder.constant(Scalar::Boolean(false));
        builder
    }

    /// Whether the code has reached its limit, so that what is appended is lost.
    pub(crate) const fn is_full(&self) -> bool {
        self.full
    }

    pub(crate) fn constant(&mut self, scalar: Scalar) -> Operand {
        let constants = &mut self.constants;
        let number =
            *self.constant_numbers.entry((scalar.ty(), scalar.bits())).or_insert_with(|| {
                constants.push(scalar);
                constants.len() as u32 - 1
            });
        Operand::Constant(number)
    }

    fn value(&self, operand: Operand) -> Option<Scalar> {
        match operand {
            Operand::Constant(number) => Some(self.constants[number as usize]),
            _ => None,
        }
    }

    /// The value of an integer constant.
    pub(crate) fn integer(&self, operand: Operand) -> Option<i32> {
        match self.value(operand) {
            Some(Scalar::Integer(number)) => Some(number),
            _ => None,
        }
    }

    fn push(&mut self, instruction: Instruction) {
        if self.code.len() >= INSTRUCTIONS_MAX {
            self.full = true;
        } else {
            self.code.push(instruction);
        }
    }

    pub(crate) const fn register(&mut self) -> u32 {
        self.registers += 1;
        self.registers - 1
    }

    /// Appends an instruction, unless its result is known.
    fn computed(&mut self, mut instruction: Instruction) -> Operand {
        if let Some(register) = self.known.get(&instruction) {
            return Operand::Register(*register);
        }
        let key = instruction;
        let register = self.register();
        instruction.set_result(register);
        self.push(instruction);
        if !self.full {
            self.known.insert(key, register);
            self.known_order.push(key);
        }
        Operand::Register(register)
    }

    pub(crate) fn not(&mut self, of: Operand) -> Operand {
        match of {
            TRUE => FALSE,
            FALSE => TRUE,
            _ => self.unary(Unary::Not, Boolean, of),
        }
    }

    pub(crate) fn and(&mut self, left: Operand, right: Operand) -> Operand {
        match (left, right) {
            (TRUE, other) | (other, TRUE) => other,
            (FALSE, _) | (_, FALSE) => FALSE,
            _ if left == right => left,
            _ => self.binary(Binary::And, Boolean, left, right),
        }
    }

    pub(crate) fn or(&mut self, left: Operand, right: Operand) -> Operand {
        match (left, right) {
            (FALSE, other) | (other, FALSE) => other,
            (TRUE, _) | (_, TRUE) => TRUE,
            _ if left == right => left,
            _ => self.binary(Binary::Or, Boolean, left, right),
        }
    }

    pub(crate) fn unary(&mut self, op: Unary, ty: ScalarType, of: Operand) -> Operand {
        self.computed(Instruction::Unary { op, ty, to: 0, of })
    }

    pub(crate) fn binary(
        &mut self,
        op: Binary,
        ty: ScalarType,
        left: Operand,
        right: Operand,
    ) -> Operand {
        self.computed(Instruction::Binary { op, ty, to: 0, left, right })
    }

    pub(crate) fn compare(
        &mut self,
        op: Comparison,
        ty: ScalarType,
        left: Operand,
        right: Operand,
    ) -> Operand {
        // Indices of loops over arrays are constants.
        if let (Some(one), Some(two)) = (self.integer(left), self.integer(right)) {
            let holds = match op {
                Comparison::Equal => one == two,
                Comparison::Unequal => one != two,
                Comparison::Less => one < two,
                Comparison::AtMost => one <= two,
            };
            return if holds { TRUE } else { FALSE };
        }
        self.computed(Instruction::Compare { op, ty, to: 0, left, right })
    }

    /// A computation with integers that can have a fault.
    pub(crate) fn checked(&mut self, op: Checked, left: Operand, right: Operand) -> Operand {
        let mask = self.mask;
        self.computed(Instruction::Checked { op, to: 0, left, right, mask })
    }

    pub(crate) fn convert(&mut self, from: ScalarType, ty: ScalarType, of: Operand) -> Operand {
        if from == ty {
            return of;
        }
        let number = self.value(of).and_then(Scalar::number);
        match (ty, number) {
            (ScalarType::Single, Some(number)) => self.constant(Scalar::Single(number as f32)),
            (ScalarType::Double, Some(number)) => self.constant(Scalar::Double(number)),
            (Integer, _) => {
                let mask = self.mask;
                self.computed(Instruction::ToInteger { from, to: 0, of, mask })
            }
            _ => self.computed(Instruction::Convert { from, ty, to: 0, of }),
        }
    }

    pub(crate) fn select(
        &mut self,
        ty: ScalarType,
        condition: Operand,
        then: Operand,
        otherwise: Operand,
    ) -> Operand {
        match condition {
            TRUE => then,
            FALSE => otherwise,
            _ if then == otherwise => then,
            _ => self.computed(Instruction::Select { ty, to: 0, condition, then, otherwise }),
        }
    }

    /// The item with a number that is computed.
    pub(crate) fn pick(
        &mut self,
        ty: ScalarType,
        index: Operand,
        items: impl Iterator<Item = Operand>,
    ) -> Operand {
        let first = self.items.len() as u32;
        self.items.extend(items);
        let count = self.items.len() as u32 - first;
        if self.items.len() > ITEMS_MAX {
            self.full = true;
        }
        let to = self.register();
        self.push(Instruction::Pick { ty, to, index, first, count });
        Operand::Register(to)
    }

    pub(crate) fn gather(&mut self, ty: ScalarType, site: u32, column: u32) -> Operand {
        self.computed(Instruction::Gather { ty, to: 0, site, column })
    }

    /// A fault where `when` holds.
    pub(crate) fn raise(&mut self, fault: FaultCode, when: Operand) {
        if when != FALSE && self.mask != FALSE {
            let mask = self.mask;
            self.push(Instruction::Raise { fault, when, mask });
        }
    }

    /// A register of its own for a value, which a loop or a column may change afterwards.
    pub(crate) fn moved(&mut self, ty: ScalarType, of: Operand) -> u32 {
        let to = self.register();
        self.set(ty, to, of);
        to
    }

    /// Changes a register that [`Self::moved`] made.
    pub(crate) fn set(&mut self, ty: ScalarType, to: u32, of: Operand) {
        self.push(Instruction::Move { ty, to, of });
    }

    /// Begins a loop; the rows that take part from now on are those with a neighbour. Returns what
    /// [`Self::end_loop`] needs.
    pub(crate) fn begin_loop(&mut self, site: Site, radius: Option<Operand>) -> OpenLoop {
        let (number, active) = (self.sites.len() as u32, self.register());
        self.sites.push(site);
        let open = OpenLoop { site: number, mask: self.mask, known: self.known_order.len() };
        self.push(Instruction::Loop { site: number, mask: self.mask, radius, active });
        self.mask = Operand::Register(active);
        open
    }

    /// Ends a loop. Results of its last turn are of no use behind it.
    pub(crate) fn end_loop(&mut self, open: &OpenLoop) {
        self.push(Instruction::EndLoop { site: open.site });
        self.mask = open.mask;
        for key in self.known_order.drain(open.known..) {
            self.known.remove(&key);
        }
    }
}

/// A loop whose end is still to come.
pub(crate) struct OpenLoop {
    pub(crate) site: u32,
    mask: Operand,
    known: usize,
}
