//! Linear code: typed three-address instructions, each of which handles all rows of a block.
//!
//! There is no jump but the one of a loop over neighbours. Both branches of an `if` are computed for all rows, and a
//! selection chooses; a loop over an array is unrolled. Instructions that can have a fault name the rows that take part
//! in them (their *mask*), so that a fault in a branch that is not chosen does not count.
//!
//! A register is defined once, before its uses, except one that a loop changes ([`Instruction::Move`]).

use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash, Hasher};

use hemiola_world_lang::definition::ElementId;
use hemiola_world_lang::evaluate::Fault;

use crate::scalar::{Scalar, ScalarType};

/// What an instruction reads. Its type follows from the instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Operand {
    /// A register: one scalar for each row of the block.
    Register(u32),
    /// One of [`Program::constants`], the same for all rows.
    Constant(u32),
    /// A scalar of the arguments of the call, the same for all rows.
    Argument(u32),
    /// A column of the own table, as it was before the call.
    Own(u32),
    /// A column of [`Program::last_sent`]: the row as it was last sent to the monitor.
    LastSent(u32),
}

/// A computation with one operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Unary {
    /// Of truth values.
    Not,
    /// Of reals: the other sign.
    Negate,
    /// Of reals.
    Absolute,
    /// Of reals: down to a whole number.
    Floor,
    /// Of reals: up to a whole number.
    Ceil,
    /// Of reals.
    SquareRoot,
}

/// A computation with two operands of one type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Binary {
    /// Of truth values.
    And,
    /// Of truth values.
    Or,
    /// Of reals.
    Add,
    /// Of reals.
    Subtract,
    /// Of reals.
    Multiply,
    /// Of reals.
    Divide,
    /// Of numbers (IEEE 754-2019, `minimum`).
    Least,
    /// Of numbers (IEEE 754-2019, `maximum`).
    Greatest,
}

/// A comparison; its result is a truth value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Comparison {
    /// Of all types.
    Equal,
    /// Of all types.
    Unequal,
    /// Of numbers.
    Less,
    /// Of numbers.
    AtMost,
}

/// A computation with integers that can have a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Checked {
    /// The sum.
    Add,
    /// The difference.
    Subtract,
    /// The product.
    Multiply,
    /// The quotient rounded down.
    Divide,
    /// The rest of the quotient rounded down.
    Modulo,
}

/// One instruction. `to` is the register of its result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Instruction {
    /// A computation with one operand, of the type `ty`.
    Unary {
        /// Which one.
        op: Unary,
        /// The type of both.
        ty: ScalarType,
        /// The result.
        to: u32,
        /// The operand.
        of: Operand,
    },
    /// A computation with two operands.
    Binary {
        /// Which one.
        op: Binary,
        /// The type of all three.
        ty: ScalarType,
        /// The result.
        to: u32,
        /// The first operand.
        left: Operand,
        /// The second operand.
        right: Operand,
    },
    /// A comparison.
    Compare {
        /// Which one.
        op: Comparison,
        /// The type of the operands.
        ty: ScalarType,
        /// The result, a truth value.
        to: u32,
        /// The first operand.
        left: Operand,
        /// The second operand.
        right: Operand,
    },
    /// A computation with integers; a result that does not fit is a fault of the rows in `mask`.
    Checked {
        /// Which one.
        op: Checked,
        /// The result.
        to: u32,
        /// The first operand.
        left: Operand,
        /// The second operand.
        right: Operand,
        /// The rows that take part.
        mask: Operand,
    },
    /// A number as another number type, except to an integer.
    Convert {
        /// The type of `of`.
        from: ScalarType,
        /// The type of the result.
        ty: ScalarType,
        /// The result.
        to: u32,
        /// The operand.
        of: Operand,
    },
    /// A real as an integer, rounded toward zero; one that does not fit is a fault of the rows in `mask`.
    ToInteger {
        /// The type of `of`.
        from: ScalarType,
        /// The result.
        to: u32,
        /// The operand.
        of: Operand,
        /// The rows that take part.
        mask: Operand,
    },
    /// `then` where `condition` holds, and `otherwise` elsewhere.
    Select {
        /// The type of the result.
        ty: ScalarType,
        /// The result.
        to: u32,
        /// A truth value.
        condition: Operand,
        /// One choice.
        then: Operand,
        /// The other one.
        otherwise: Operand,
    },
    /// The item number `index` of some of [`Program::items`]; the first one where `index` is outside of them.
    Pick {
        /// The type of the result.
        ty: ScalarType,
        /// The result.
        to: u32,
        /// An integer.
        index: Operand,
        /// The first item.
        first: u32,
        /// How many items.
        count: u32,
    },
    /// A fault of the rows in `mask` in which the truth value `when` holds.
    Raise {
        /// The fault.
        fault: FaultCode,
        /// A truth value.
        when: Operand,
        /// The rows that take part.
        mask: Operand,
    },
    /// A scalar of the present neighbour of a loop.
    Gather {
        /// The type of the result.
        ty: ScalarType,
        /// The result.
        to: u32,
        /// The number of the loop.
        site: u32,
        /// The column in the table of the neighbour.
        column: u32,
    },
    /// A register that a loop changes gets its value: before the loop, and at the end of each turn.
    Move {
        /// The type of both.
        ty: ScalarType,
        /// The register.
        to: u32,
        /// Its value.
        of: Operand,
    },
    /// A loop over the neighbours of each row, in the order of their ids: the instructions up to [`Self::EndLoop`] run
    /// for the first neighbour of every row, then for the second, until no row has one left.
    Loop {
        /// The number of the loop.
        site: u32,
        /// The rows that take part.
        mask: Operand,
        /// The greatest distance of a neighbour, as a `real`; that of a position of 32 bits loses nothing so.
        radius: Option<Operand>,
        /// The register that holds which rows have a neighbour in this turn.
        active: u32,
    },
    /// The end of a loop.
    EndLoop {
        /// The number of the loop.
        site: u32,
    },
}

/// A fault as a byte; [`Fault`] by itself has neither a number nor an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum FaultCode {
    /// [`Fault::Overflow`]
    Overflow = 1,
    /// [`Fault::DivisionByZero`]
    DivisionByZero = 2,
    /// [`Fault::IndexOutOfRange`]
    IndexOutOfRange = 3,
    /// [`Fault::ListFull`]
    ListFull = 4,
    /// [`Fault::NotAnInteger`]
    NotAnInteger = 5,
}

impl FaultCode {
    /// The fault.
    #[must_use]
    pub const fn fault(self) -> Fault {
        match self {
            Self::Overflow => Fault::Overflow,
            Self::DivisionByZero => Fault::DivisionByZero,
            Self::IndexOutOfRange => Fault::IndexOutOfRange,
            Self::ListFull => Fault::ListFull,
            Self::NotAnInteger => Fault::NotAnInteger,
        }
    }
}

/// A loop over neighbours.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Site {
    /// The element whose rows, and those of the elements derived from it, are neighbours.
    pub element: ElementId,
    /// The first so many by id.
    pub at_most: u32,
    /// Whether only rows within a radius are neighbours.
    pub within: bool,
}

/// A result of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Output {
    /// Its type.
    pub ty: ScalarType,
    /// Its value after the last instruction.
    pub value: Operand,
    /// The column that gets it: of the own table, of an update or a prediction; of another one, of a converter.
    pub column: Option<u32>,
}

/// A function, an update, a prediction or a constraint as linear code.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Program {
    /// Its name in the definition.
    pub name: String,
    /// The code.
    pub code: Vec<Instruction>,
    /// Scalars that are the same for all rows and calls.
    pub constants: Vec<Scalar>,
    /// The types of the scalars of the arguments.
    pub arguments: Vec<ScalarType>,
    /// The operands that [`Instruction::Pick`] chooses from.
    pub items: Vec<Operand>,
    /// The loops over neighbours.
    pub sites: Vec<Site>,
    /// The columns of the own table that the row last sent is read in; [`Operand::LastSent`] counts them.
    pub last_sent: Vec<u32>,
    /// Registers by [`ScalarType`].
    pub registers: [u32; 5],
    /// The results.
    pub outputs: Vec<Output>,
    /// Whether the columns of the outputs are those of the own table.
    pub changes_own: bool,
    /// A hash of all of the above but the name: a machine knows its compiled programs by it.
    pub identity: u64,
}

impl Program {
    /// Computes the identity.
    pub(crate) fn identify(&mut self) {
        // Its keys are constant, unlike those of a map.
        let mut hasher = DefaultHasher::new();
        (&self.code, &self.constants, &self.arguments, &self.items).hash(&mut hasher);
        (&self.sites, &self.last_sent, &self.registers, &self.outputs).hash(&mut hasher);
        self.changes_own.hash(&mut hasher);
        self.identity = hasher.finish();
    }

    /// The columns of the own table that it reads, in ascending order.
    #[must_use]
    pub fn own_columns(&self) -> BTreeSet<u32> {
        let mut columns = BTreeSet::new();
        self.each_operand(&mut |operand, _| {
            if let Operand::Own(column) = operand {
                columns.insert(column);
            }
        });
        columns
    }

    /// Whether its results depend on the row last sent.
    #[must_use]
    pub fn reads_last_sent(&self) -> bool {
        let mut reads = false;
        self.each_operand(&mut |operand, _| reads |= matches!(operand, Operand::LastSent(_)));
        reads
    }

    /// The columns of the own table that it changes, by the number of the output.
    pub(crate) fn changed(&self) -> impl Iterator<Item = (usize, u32)> {
        let outputs = self.outputs.iter().enumerate().filter(|_| self.changes_own);
        outputs.filter_map(|(at, output)| Some((at, output.column?)))
    }

    /// Whether a row may have a fault.
    pub(crate) fn may_fault(&self) -> bool {
        use Instruction::{Checked, Raise, ToInteger};
        let fault =
            |code: &Instruction| matches!(code, Checked { .. } | Raise { .. } | ToInteger { .. });
        self.code.iter().any(fault)
    }

    /// Shows each operand with its type, that of the items and outputs too.
    pub(crate) fn each_operand(&self, visit: &mut dyn FnMut(Operand, ScalarType)) {
        for mut instruction in self.code.iter().copied() {
            if let Instruction::Pick { ty, first, count, .. } = instruction {
                let items = &self.items[first as usize..(first + count) as usize];
                items.iter().for_each(|item| visit(*item, ty));
            }
            instruction.each_operand(&mut |operand, ty| visit(*operand, ty));
        }
        self.outputs.iter().for_each(|output| visit(output.value, output.ty));
    }
}

impl Instruction {
    /// The register of its result with its type.
    #[must_use]
    pub const fn result(&self) -> Option<(u32, ScalarType)> {
        match *self {
            Self::Unary { ty, to, .. }
            | Self::Binary { ty, to, .. }
            | Self::Convert { ty, to, .. }
            | Self::Select { ty, to, .. }
            | Self::Pick { ty, to, .. }
            | Self::Gather { ty, to, .. }
            | Self::Move { ty, to, .. } => Some((to, ty)),
            Self::Compare { to, .. } => Some((to, ScalarType::Boolean)),
            Self::Checked { to, .. } | Self::ToInteger { to, .. } => {
                Some((to, ScalarType::Integer))
            }
            Self::Loop { active, .. } => Some((active, ScalarType::Boolean)),
            Self::Raise { .. } | Self::EndLoop { .. } => None,
        }
    }

    /// Changes the register of its result.
    pub(crate) const fn set_result(&mut self, register: u32) {
        match self {
            Self::Unary { to, .. }
            | Self::Binary { to, .. }
            | Self::Convert { to, .. }
            | Self::Select { to, .. }
            | Self::Pick { to, .. }
            | Self::Gather { to, .. }
            | Self::Move { to, .. }
            | Self::Compare { to, .. }
            | Self::Checked { to, .. }
            | Self::ToInteger { to, .. }
            | Self::Loop { active: to, .. } => *to = register,
            Self::Raise { .. } | Self::EndLoop { .. } => {}
        }
    }

    /// Whether it does more than to compute its result.
    #[must_use]
    pub const fn has_effect(&self) -> bool {
        matches!(
            self,
            Self::Checked { .. }
                | Self::ToInteger { .. }
                | Self::Raise { .. }
                | Self::Loop { .. }
                | Self::EndLoop { .. }
        )
    }

    /// Shows each operand with its type, except the items of [`Self::Pick`].
    pub(crate) fn each_operand(&mut self, visit: &mut dyn FnMut(&mut Operand, ScalarType)) {
        use ScalarType::{Boolean, Double, Integer};
        match self {
            Self::Unary { ty, of, .. } | Self::Move { ty, of, .. } => visit(of, *ty),
            Self::Binary { ty, left, right, .. } | Self::Compare { ty, left, right, .. } => {
                visit(left, *ty);
                visit(right, *ty);
            }
            Self::Checked { left, right, mask, .. } => {
                visit(left, Integer);
                visit(right, Integer);
                visit(mask, Boolean);
            }
            Self::Convert { from, of, .. } => visit(of, *from),
            Self::ToInteger { from, of, mask, .. } => {
                visit(of, *from);
                visit(mask, Boolean);
            }
            Self::Select { ty, condition, then, otherwise, .. } => {
                visit(condition, Boolean);
                visit(then, *ty);
                visit(otherwise, *ty);
            }
            Self::Pick { index, .. } => visit(index, Integer),
            Self::Raise { when, mask, .. } => {
                visit(when, Boolean);
                visit(mask, Boolean);
            }
            Self::Loop { mask, radius, .. } => {
                visit(mask, Boolean);
                if let Some(radius) = radius {
                    visit(radius, Double);
                }
            }
            Self::Gather { .. } | Self::EndLoop { .. } => {}
        }
    }
}
