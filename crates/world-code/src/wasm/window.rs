//! The window: where the values of a block stand in the linear memory of a compiled program, from the beginning of the
//! window on.

use std::collections::{BTreeMap, BTreeSet};

use super::NotCompiled;
use crate::BLOCK_ROWS;
use crate::code::{Instruction, Operand, Output, Program};
use crate::scalar::ScalarType;

/// Bytes of a window at most.
pub const WINDOW_MAX: u64 = 64 << 20;

/// Each area begins where a vector may begin.
const ALIGNMENT: u64 = 16;

/// Values in the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Area {
    pub(crate) ty: ScalarType,
    pub(crate) address: u32,
}

/// The areas of a loop over neighbours.
#[derive(Clone, Debug)]
pub(crate) struct SiteAreas {
    /// One value of each column that the loop reads, for each item of the lists.
    pub(crate) columns: BTreeMap<u32, Area>,
    pub(crate) lists: ListAreas,
}

/// How a loop finds its items.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ListAreas {
    /// Each row has a list: `count` items from item `first` on. `mask` and `radius` say what the lists contain; the
    /// program computes them in a call of its own.
    Each { mask: Area, radius: Area, first: Area, count: Area },
    /// All rows have the same list of `length` items; each skips item `own` and all from `limit` on.
    Shared { length: Area, own: Area, limit: Area },
}

/// The areas of a program, at constant addresses.
#[derive(Clone, Debug)]
pub(crate) struct Window {
    /// How many rows are done.
    pub(crate) done: Area,
    /// The addresses of the rows in the columns of `own`, then in those of `last_sent`.
    pub(crate) addresses: Area,
    /// The fault of each row, as an integer.
    pub(crate) faults: Area,
    /// The columns of the own table that the program reads or writes, with memory for copies of them.
    pub(crate) own: BTreeMap<u32, Area>,
    /// The columns of the rows last sent that it reads, also with memory for copies.
    pub(crate) last_sent: BTreeMap<u32, Area>,
    /// One scalar each.
    pub(crate) arguments: Vec<Area>,
    /// Those that are columns of the own table are in `own`.
    pub(crate) outputs: Vec<Area>,
    pub(crate) sites: Vec<SiteAreas>,
    pub(crate) bytes: u64,
}

impl Window {
    pub(crate) fn of(program: &Program) -> Result<Self, NotCompiled> {
        let mut areas = Areas { end: 0 };
        let (mut own, last_sent) = read_columns(program);
        own.extend(program.changed().map(|(at, column)| (column, program.outputs[at].ty)));
        let count = (own.len() + last_sent.len()) as u64;
        let done = areas.items(ScalarType::Integer, 1);
        let addresses = areas.items(ScalarType::Integer, count);
        let mut window = Self {
            done,
            addresses,
            faults: areas.rows(ScalarType::Integer),
            own: own.into_iter().map(|(column, ty)| (column, areas.rows(ty))).collect(),
            last_sent: last_sent.into_iter().map(|(column, ty)| (column, areas.rows(ty))).collect(),
            arguments: program.arguments.iter().map(|ty| areas.items(*ty, 1)).collect(),
            outputs: Vec::new(),
            sites: (0..).zip(&program.sites).map(|(at, _)| areas.site(program, at)).collect(),
            bytes: 0,
        };
        let output = |output: &Output| match output.column.filter(|_| program.changes_own) {
            Some(column) => window.own[&column],
            None => areas.rows(output.ty),
        };
        window.outputs = program.outputs.iter().map(output).collect();
        window.bytes = areas.end;
        if window.bytes > WINDOW_MAX {
            return Err(NotCompiled::Window(program.name.clone(), window.bytes));
        }
        Ok(window)
    }
}

/// Areas, one behind the other.
struct Areas {
    end: u64,
}

impl Areas {
    fn rows(&mut self, ty: ScalarType) -> Area {
        self.items(ty, BLOCK_ROWS as u64)
    }

    /// An area beyond the limit has a wrong address, but then no code is made.
    fn items(&mut self, ty: ScalarType, count: u64) -> Area {
        let address = self.end as u32;
        self.end += (count * ty.width() as u64).next_multiple_of(ALIGNMENT);
        Area { ty, address }
    }

    fn site(&mut self, program: &Program, number: u32) -> SiteAreas {
        use ScalarType::{Boolean, Double, Integer};
        let site = &program.sites[number as usize];
        let most = u64::from(site.at_most);
        let (lists, capacity) = if site.within {
            let (mask, radius) = (self.rows(Boolean), self.rows(Double));
            let (first, count) = (self.rows(Integer), self.rows(Integer));
            // The last row of a group may be far from its end while another one goes on.
            (ListAreas::Each { mask, radius, first, count }, (BLOCK_ROWS as u64 + 1) * most)
        } else {
            let (own, limit) = (self.rows(Integer), self.rows(Integer));
            (ListAreas::Shared { length: self.items(Integer, 1), own, limit }, most + 1)
        };
        let gathered: BTreeSet<(u32, ScalarType)> = program
            .code
            .iter()
            .filter_map(|instruction| match *instruction {
                Instruction::Gather { ty, site, column, .. } if site == number => {
                    Some((column, ty))
                }
                _ => None,
            })
            .collect();
        let columns =
            gathered.into_iter().map(|(column, ty)| (column, self.items(ty, capacity))).collect();
        SiteAreas { columns, lists }
    }
}

type Columns = BTreeMap<u32, ScalarType>;

/// The columns of the own row, and of the row last sent, that a program reads.
fn read_columns(program: &Program) -> (Columns, Columns) {
    let (mut own, mut last_sent) = (Columns::new(), Columns::new());
    program.each_operand(&mut |operand, ty| match operand {
        Operand::Own(column) => {
            own.insert(column, ty);
        }
        Operand::LastSent(column) => {
            last_sent.insert(column, ty);
        }
        Operand::Register(_) | Operand::Constant(_) | Operand::Argument(_) => {}
    });
    (own, last_sent)
}
