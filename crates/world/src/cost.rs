//! What the next step waits for when a world is redefined or returns: predicted from the plan and the numbers of rows.
//!
//! The work is counted exactly. How long it takes depends on the machine, so a few small worlds of [`Rates::measure`]
//! are redefined there first.

use std::collections::BTreeSet;

use hemiola_units::{Instant, Span};
use hemiola_world_lang::definition::ElementId;
use hemiola_world_lang::{Sources, Value, check};
use hemiola_world_plan::{Conversion, ScalarSource, Source};

use crate::code::Code;
use crate::correspondence::{Correspondence, Shape};
use crate::redefine::{Redefinition, Revision};
use crate::world::{Change, World};

/// The work of a redefinition or a return between two steps. Monitors that are then told all rows are not part of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// Rows whose columns are not all kept as they are.
    pub rows: u64,
    /// Bytes of the columns that are written for them: by converters, as wider numbers, with defaults.
    pub bytes: u64,
    /// Instructions of converters, each for one row.
    pub instructions: u64,
}

impl Cost {
    /// Whether no row is touched.
    #[must_use]
    pub fn is_nothing(self) -> bool {
        self == Self::default()
    }

    fn times(self, rows: u64) -> Self {
        let Self { rows: of, bytes, instructions } = self;
        Self { rows: of * rows, bytes: bytes * rows, instructions: instructions * rows }
    }

    fn plus(self, other: Self) -> Self {
        Self {
            rows: self.rows + other.rows,
            bytes: self.bytes + other.bytes,
            instructions: self.instructions + other.instructions,
        }
    }
}

impl Revision {
    /// The elements of the new definition whose rows do not keep all their columns, with the cost of one row.
    pub fn costs(&self) -> impl Iterator<Item = (&str, Cost)> {
        let shapes = self.plan().forward.elements.iter().zip(&self.there.elements);
        let names = self.after().elements.iter().map(|element| &*element.name);
        let costs = names.zip(shapes).map(|(name, (origin, shape))| {
            let sources = origin.as_ref().map_or(&[][..], |origin| &origin.properties);
            (name, of_row(sources, shape))
        });
        costs.filter(|(_, cost)| !cost.is_nothing())
    }
}

impl World {
    /// The cost of a redefinition with the rows of now.
    #[must_use]
    pub fn cost(&self, revision: &Revision) -> Cost {
        self.cost_of(&revision.plan().forward, &revision.there)
    }

    /// The cost of a return from a redefinition with the rows of now.
    #[must_use]
    pub fn cost_of_return(&self, redefinition: &Redefinition) -> Cost {
        if self.is_as_after(redefinition) {
            return Cost::default();
        }
        self.cost_of(&redefinition.plan.back, &redefinition.back)
    }

    fn cost_of(&self, conversion: &Conversion, correspondence: &Correspondence) -> Cost {
        let pairs = conversion.elements.iter().zip(&correspondence.elements);
        let costs = pairs.filter_map(|(origin, shape)| {
            let origin = origin.as_ref()?;
            let rows = self.count(origin.element) as u64;
            Some(of_row(&origin.properties, shape).times(rows))
        });
        costs.fold(Cost::default(), Cost::plus)
    }
}

/// The cost of a row of an element whose properties come from these sources.
fn of_row(sources: &[Source], shape: &Shape) -> Cost {
    let (mut cost, mut taken) = (Cost::default(), BTreeSet::new());
    let Some(shared) = &shape.shared else { return cost };
    for (at, source) in (0..).zip(sources) {
        let columns = shape.columns(at);
        let types = &shape.types[columns.start as usize..columns.end as usize];
        // A column moves unless it gets another type, or moves already.
        let written = types.iter().enumerate().filter(|(number, ty)| {
            let Source::Property(from) = source else { return true };
            let ScalarSource::Scalar(scalar) = shared.sources[at as usize][*number] else {
                return true;
            };
            let column = shared.starts[*from as usize] + scalar;
            !(shared.types[column as usize] == **ty && taken.insert(column))
        });
        cost.bytes += written.map(|(_, ty)| ty.width() as u64).sum::<u64>();
        let program = shared.converters.get(&at).and_then(|program| program.as_ref().ok());
        cost.instructions += program.map_or(0, |program| program.code.len() as u64);
    }
    cost.rows = u64::from(cost.bytes > 0);
    cost
}

/// How fast a machine redefines worlds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rates {
    /// Of any redefinition.
    fixed_ns: f64,
    /// Of a byte that is written.
    byte_ns: f64,
    /// Of an instruction of a converter, for one row.
    instruction_ns: f64,
}

/// Rows of the worlds that are measured. Their columns take pages of their own.
const ROWS: i32 = 8_192;
/// Each of them is measured so often; the shortest time counts.
const TRIALS: usize = 3;

/// The definition that is measured, and those that follow it: another function, columns with defaults, columns that a
/// converter computes.
const BEFORE: &str = "property a : real32[4];";
const AFTER: [&str; 3] = [
    "property a : real32[4]; function f() : integer = 1;",
    "property a : real32[4]; property b : real32[8];",
    "property a : real32[4]; property b : real32[4]; converter b = 0.5 * (a + 2 * a);",
];

impl Rates {
    /// Redefines small worlds, which takes some milliseconds. Their columns are in the memory of the code, if there is
    /// some; it need not have programs.
    ///
    /// # Panics
    /// If a text of this function is not sound.
    pub fn measure(code: Option<Code>, now: &mut dyn FnMut() -> Instant) -> Self {
        let text = |items: &str| format!("universe u {{ element e {{ {items} }} }}");
        let sources = |items: &str| Sources::of("rates.uml", text(items)).expect("it is short");
        let mut definition = check(&sources(BEFORE), None).expect("it is sound");
        let mut world = World::new(definition.universes.remove(0)).expect("it has code");
        if let Some(code) = code {
            world.install(code);
        }
        for n in 0..ROWS {
            let items = Value::Items(vec![Value::Single(n as f32); 4]);
            let row = Change::Construct(ElementId(0), Value::Row(vec![items]));
            world.submit(row).expect("it fits");
        }
        world.apply(&mut |_| {});
        // The memory of each trial is kept to the end, so that none finds pages that it need not wait for.
        let mut kept = Vec::new();
        let mut measured = |items: &str| {
            let revision = Revision::check(&sources(items), world.universe());
            let revision = revision.expect("it is sound");
            let cost = world.cost(&revision);
            let times = (0..TRIALS).map(|_| {
                let (revision, began) = (revision.clone(), now());
                let redefined = world.redefine(revision, &mut |_| {});
                let took = now() - began;
                let mut redefined = redefined.expect("it is possible");
                world.roll_back(&mut redefined, &mut |_| {}).expect("it is the last one");
                kept.push(redefined);
                took.nanos() as f64
            });
            (cost, times.fold(f64::INFINITY, f64::min))
        };
        let [(_, fixed_ns), (filled, filling), (converted, converting)] = AFTER.map(&mut measured);
        let byte_ns = ((filling - fixed_ns) / filled.bytes as f64).max(0.0);
        let rest = converting - fixed_ns - byte_ns * converted.bytes as f64;
        Self { fixed_ns, byte_ns, instruction_ns: (rest / converted.instructions as f64).max(0.0) }
    }

    /// How long the next step is predicted to wait for so much work.
    #[must_use]
    pub fn time(&self, cost: Cost) -> Span {
        let Self { fixed_ns, byte_ns, instruction_ns } = self;
        let rows = byte_ns * cost.bytes as f64 + instruction_ns * cost.instructions as f64;
        Span::from_nanos((fixed_ns + rows) as i64)
    }
}
