//! The checked form of a definition: names are numbers, types are known, units are those of the SI, and every function
//! has a bound of its cost.
//!
//! A definition exists only if it is sound, so the code that generates, plans or evaluates does not check again:
//!
//! * Elements come after the elements they are derived from or contain; functions after those they call.
//! * A derived element starts with the properties of its base, so a row of it is also a row of the base.
//! * Both operands of `+`, `-` and comparisons have the same number type; [`ExprKind::Convert`] makes them equal.
//! * `return` is the last statement of a function or a constraint, and stands nowhere else.
//! * Rows are read where they stand: no local, result or assignment holds a whole row.
//! * Indices that are constants lie within their array.

use std::collections::BTreeSet;
use std::fmt;

use hemiola_quantity::Dimension;

use crate::source::Span;
pub use crate::syntax::{BinaryOperator, FunctionKind, UnaryOperator};
pub use crate::value::Value;

/// A checked definition.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Definition {
    /// By name, in the order of the texts.
    pub universes: Vec<Universe>,
}

/// A simulated world.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Universe {
    /// Its name.
    pub name: String,
    /// By [`ElementId`].
    pub elements: Vec<Element>,
    /// By [`ConstantId`]; a constant stands after those it uses.
    pub constants: Vec<Constant>,
    /// By [`FunctionId`].
    pub functions: Vec<Function>,
    /// Entities that exist from the start.
    pub entities: Vec<Entity>,
}

/// Declares a number that is an index into a table of a universe.
macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub u32);

        impl $name {
            /// As an index.
            #[must_use]
            pub const fn index(self) -> usize {
                self.0 as usize
            }
        }
    };
}
id!(
    /// An index into [`Universe::elements`].
    ElementId
);
id!(
    /// An index into [`Universe::constants`].
    ConstantId
);
id!(
    /// An index into [`Universe::functions`].
    FunctionId
);
id!(
    /// An index into [`Function::locals`].
    LocalId
);

/// A kind of entities, or of parts of them.
#[derive(Clone, Debug, PartialEq)]
pub struct Element {
    /// Its name with those of the elements around it, such as `triangle.vertex`.
    pub name: String,
    /// The element that it is derived from.
    pub base: Option<ElementId>,
    /// Its last name in the definition before, if the text says `was`.
    pub was: Option<String>,
    /// Inherited ones first.
    pub properties: Vec<Property>,
    /// Scalars in a row, in the order of [`Universe::leaves`].
    pub leaf_count: u32,
    /// Bytes of a row in columns.
    pub row_len: u64,
    /// The spatial index over its entities, its own or inherited.
    pub index: Option<SpatialIndex>,
    /// Runs in each step, its own or inherited.
    pub update: Option<FunctionId>,
    /// Predicts a shadow, its own or inherited.
    pub predict: Option<FunctionId>,
    /// What a monitor may choose from, inherited ones first.
    pub constraints: Vec<FunctionId>,
    /// How its state follows from the definition before.
    pub converters: Vec<Converter>,
    /// Its name in the text.
    pub span: Span,
}

/// A value of each row of an element.
#[derive(Clone, Debug, PartialEq)]
pub struct Property {
    /// Its name.
    pub name: String,
    /// Its type.
    pub ty: Type,
    /// Its value in a new entity.
    pub default: Value,
    /// Its name in the definition before, if the text says `was`.
    pub was: Option<String>,
    /// The element whose text declares it.
    pub declared_by: ElementId,
    /// The constants and elements that its type and default use.
    pub uses: BTreeSet<Component>,
    /// Its name in the text.
    pub span: Span,
}

/// The neighbours of a row are found through cells of space.
#[derive(Clone, Debug, PartialEq)]
pub struct SpatialIndex {
    /// The property that is the position: a real, or an array of at most three.
    pub property: u32,
    /// The edge of a cell in the SI unit of the position; finite and above 0.
    pub cell: f64,
}

/// A value with a name.
#[derive(Clone, Debug, PartialEq)]
pub struct Constant {
    /// Its name, with those of the elements around it.
    pub name: String,
    /// Its type.
    pub ty: Type,
    /// Its value.
    pub value: Value,
    /// The constants that it uses.
    pub uses: BTreeSet<Component>,
    /// Its name in the text.
    pub span: Span,
}

/// A computation of bounded cost.
#[derive(Clone, Debug, PartialEq)]
pub struct Function {
    /// Its name, with those of the elements around it.
    pub name: String,
    /// Its purpose.
    pub kind: FunctionKind,
    /// The element whose row is `self`; `None` for a function of the universe.
    pub element: Option<ElementId>,
    /// How many of the locals are parameters; they are the first ones.
    pub parameter_count: u32,
    /// All parameters, values and loop variables.
    pub locals: Vec<Local>,
    /// The type of its result; `None` for an update and a prediction.
    pub result: Option<Type>,
    /// Its statements.
    pub body: Vec<Statement>,
    /// A bound of the operations of one call: one for each scalar that an operation handles, both branches of each
    /// `if`, and every loop to its end.
    pub cost: u64,
    /// Properties of its own row that it reads, in it and in what it calls.
    pub reads: BTreeSet<u32>,
    /// Properties of its own row that it writes.
    pub writes: BTreeSet<u32>,
    /// Properties of other rows that it reads: of neighbours, parameters and the last row sent. A property that a
    /// neighbour reads needs the value before the step, that is, two columns.
    pub reads_others: BTreeSet<(ElementId, u32)>,
    /// The components that it uses.
    pub uses: BTreeSet<Component>,
    /// Its name in the text.
    pub span: Span,
}

/// A parameter, a value (`let`, `var`) or the variable of a loop.
#[derive(Clone, Debug, PartialEq)]
pub struct Local {
    /// Its name.
    pub name: String,
    /// Its type. An element stands for a row elsewhere.
    pub ty: Type,
}

/// How a property follows from the other definition.
#[derive(Clone, Debug, PartialEq)]
pub struct Converter {
    /// Whether it leads from this definition back to the one before.
    pub back: bool,
    /// The property that gets the value: of this definition, or, for `back`, of the one before.
    pub property: u32,
    /// The name of this property.
    pub name: String,
    /// The value. `self` is a row of the definition that it converts from.
    pub value: Expr,
}

/// A thing that exists from the start.
#[derive(Clone, Debug, PartialEq)]
pub struct Entity {
    /// Its name.
    pub name: String,
    /// Its element.
    pub element: ElementId,
    /// Its properties.
    pub row: Vec<Value>,
    /// Its name in the text.
    pub span: Span,
}

/// A component that others may depend on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Component {
    /// An element.
    Element(ElementId),
    /// A property of an element.
    Property(ElementId, u32),
    /// A constant.
    Constant(ConstantId),
    /// A function.
    Function(FunctionId),
}

/// The type of a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Type {
    /// One byte in a column: 0 or 1.
    Boolean,
    /// 32 bits, signed.
    Integer,
    /// A floating-point number in SI units.
    Real(Width, Dimension),
    /// UTF-8 text of at most so many bytes.
    String(u32),
    /// So many values.
    Array(Box<Self>, u32),
    /// At most so many values.
    List(Box<Self>, u32),
    /// A row.
    Element(ElementId),
}

/// Bits of a floating-point number (IEEE 754).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Width {
    /// `real32`
    Single,
    /// `real`
    Double,
}

/// One column.
#[derive(Clone, Debug, PartialEq)]
pub struct Leaf {
    /// Such as `vertexList[2].coord[1]`; the number of items of a list is `name.count`.
    pub path: String,
    /// Its type, without arrays, lists and elements.
    pub ty: Type,
}

/// A statement.
#[derive(Clone, Debug, PartialEq)]
pub enum Statement {
    /// The local gets its first value.
    Let(LocalId, Expr),
    /// The place gets a value.
    Assign(Expr, Expr),
    /// Condition, statements if it holds, statements if it does not.
    If(Expr, Vec<Self>, Vec<Self>),
    /// A loop.
    ForEach {
        /// The local that stands for each item.
        item: LocalId,
        /// The items.
        over: Over,
        /// Runs for each.
        body: Vec<Self>,
    },
    /// The result.
    Return(Expr),
}

/// What a loop goes through.
#[derive(Clone, Debug, PartialEq)]
pub enum Over {
    /// Rows of an element and of those derived from it, without the own row, in the order of their ids. They show the
    /// state before the step.
    Rows {
        /// The element.
        element: ElementId,
        /// Only rows whose position before the step is at most so far from the own one before the step.
        within: Option<Expr>,
        /// The first so many of these rows.
        at_most: u32,
    },
    /// The items of an array or a list.
    Items(Expr),
}

/// An expression, its type and place.
#[derive(Clone, Debug, PartialEq)]
pub struct Expr {
    /// Which one.
    pub kind: ExprKind,
    /// The type of its value.
    pub ty: Type,
    /// Where.
    pub span: Span,
}

/// An expression.
#[derive(Clone, Debug, PartialEq)]
pub enum ExprKind {
    /// A literal.
    Literal(Value),
    /// A constant.
    Constant(ConstantId),
    /// The own row.
    SelfRow,
    /// The row as it was last sent to this monitor.
    LastSent,
    /// A parameter, value or loop variable.
    Local(LocalId),
    /// A property of a row.
    Field(Box<Expr>, u32),
    /// An item of an array or list, counted from 0. An index outside of it is [`Fault::IndexOutOfRange`].
    ///
    /// [`Fault::IndexOutOfRange`]: crate::evaluate::Fault::IndexOutOfRange
    Index(Box<Expr>, Box<Expr>),
    /// An array or a list, as the type says.
    Array(Vec<Expr>),
    /// The same value as another number type, in each scalar of it.
    Convert(Box<Expr>),
    /// An operation on each scalar.
    Unary(UnaryOperator, Box<Expr>),
    /// An operation. For `+` and `-`, both sides have the same type. For `*` and `/`, one side may be an array.
    Binary(BinaryOperator, Box<Expr>, Box<Expr>),
    /// Condition, value if it holds, value if it does not. Only the chosen one is evaluated.
    If(Box<[Expr; 3]>),
    /// A function of the language.
    Builtin(Builtin, Vec<Expr>),
    /// A function of the definition. One of an element gets the own row as `self`.
    Call(FunctionId, Vec<Expr>),
}

/// Declares the functions of the language with their spelling.
macro_rules! builtins {
    ($($variant:ident $name:literal $doc:literal,)*) => {
        /// A function of the language.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Builtin { $(#[doc = $doc] $variant,)* }

        impl Builtin {
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// The name.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }

            /// Its result, in one sentence.
            #[must_use]
            pub const fn about(self) -> &'static str {
                match self { $(Self::$variant => $doc,)* }
            }
        }
    };
}
builtins! {
    Abs "abs" "The absolute value of a number.",
    Append "append" "A list with one more item at its end; a full list is a fault.",
    Ceil "ceil" "The least whole number that is not below a real.",
    Clamp "clamp" "`clamp(x, low, high)` is `min(max(x, low), high)`.",
    Count "count" "The number of items of a list.",
    Distance "distance" "The distance of two points, `length(b - a)`.",
    Div "div" "The quotient of two integers, rounded down; division by 0 is a fault.",
    Dot "dot" "The sum of the products of two arrays, added from the first item on.",
    Floor "floor" "The greatest whole number that is not above a real.",
    Inside "inside" "`inside(p, low, high)`: no coordinate of a point lies outside a box.",
    Length "length" "The length of an arrow, `sqrt(dot(a, a))`.",
    Max "max" "The greater of two numbers; not a number if one of them is not.",
    Min "min" "The lesser of two numbers; not a number if one of them is not.",
    Mod "mod" "The rest of `div`, which has the sign of the divisor.",
    Sqrt "sqrt" "The square root of a real; not a number below 0.",
}

impl Universe {
    /// The element with this full name, such as `triangle.vertex`.
    #[must_use]
    pub fn element_named(&self, name: &str) -> Option<ElementId> {
        let at = self.elements.iter().position(|element| element.name == name)?;
        Some(ElementId(at as u32))
    }

    /// The function with this full name, such as `body.pull`.
    #[must_use]
    pub fn function_named(&self, name: &str) -> Option<FunctionId> {
        let at = self.functions.iter().position(|function| function.name == name)?;
        Some(FunctionId(at as u32))
    }

    /// The columns of an element, in the order of its properties; of arrays in the order of their items.
    #[must_use]
    pub fn leaves(&self, element: ElementId) -> Vec<Leaf> {
        let mut leaves = Vec::new();
        for property in &self.elements[element.index()].properties {
            self.leaves_of(&property.ty, property.name.clone(), &mut leaves);
        }
        leaves
    }

    fn leaves_of(&self, ty: &Type, path: String, leaves: &mut Vec<Leaf>) {
        match ty {
            Type::Array(of, length) => {
                (0..*length).for_each(|at| self.leaves_of(of, format!("{path}[{at}]"), leaves));
            }
            Type::List(of, length) => {
                leaves.push(Leaf { path: format!("{path}.count"), ty: Type::Integer });
                (0..*length).for_each(|at| self.leaves_of(of, format!("{path}[{at}]"), leaves));
            }
            Type::Element(id) => {
                for property in &self.elements[id.index()].properties {
                    self.leaves_of(&property.ty, format!("{path}.{}", property.name), leaves);
                }
            }
            scalar => leaves.push(Leaf { path, ty: scalar.clone() }),
        }
    }

    /// Scalars and bytes of a value of this type in columns.
    #[must_use]
    pub fn size(&self, ty: &Type) -> (u64, u64) {
        let times = |of: &Type, count: u32| {
            let (leaves, bytes) = self.size(of);
            (leaves.saturating_mul(count.into()), bytes.saturating_mul(count.into()))
        };
        match ty {
            Type::Boolean => (1, 1),
            Type::Integer | Type::Real(Width::Single, _) => (1, 4),
            Type::Real(Width::Double, _) => (1, 8),
            // A reference into the arena of the table.
            Type::String(_) => (1, 8),
            Type::Array(of, length) => times(of, *length),
            Type::List(of, length) => {
                let (leaves, bytes) = times(of, *length);
                (leaves.saturating_add(1), bytes.saturating_add(4))
            }
            Type::Element(id) => {
                let element = &self.elements[id.index()];
                (element.leaf_count.into(), element.row_len)
            }
        }
    }

    /// Whether `element` is `base` or derived from it.
    #[must_use]
    pub fn is_a(&self, element: ElementId, base: ElementId) -> bool {
        let mut at = Some(element);
        while let Some(id) = at {
            if id == base {
                return true;
            }
            at = self.elements[id.index()].base;
        }
        false
    }

    /// A type as the language writes it, with SI units.
    #[must_use]
    pub fn type_text(&self, ty: &Type) -> String {
        match ty {
            Type::Boolean => "boolean".into(),
            Type::Integer => "integer".into(),
            Type::Real(width, dimension) => {
                let name = if *width == Width::Single { "real32" } else { "real" };
                let unit = dimension.si_unit();
                if unit.is_empty() { name.into() } else { format!("{name}<{unit}>") }
            }
            Type::String(most) => format!("string<{most}>"),
            Type::Array(_, 0) => "an empty list".into(),
            Type::Array(of, length) => format!("{}[{length}]", self.type_text(of)),
            Type::List(of, most) => format!("{}[..{most}]", self.type_text(of)),
            Type::Element(id) => self.elements[id.index()].name.clone(),
        }
    }
}

impl Type {
    /// The number type of a number, or of the items of an array of numbers.
    #[must_use]
    pub fn number(&self) -> Option<&Self> {
        match self {
            Self::Integer | Self::Real(..) => Some(self),
            Self::Array(of, _) => of.number(),
            _ => None,
        }
    }

    /// The same shape with another number type.
    #[must_use]
    pub fn with_number(&self, number: &Self) -> Self {
        match self {
            Self::Array(of, length) => Self::Array(Box::new(of.with_number(number)), *length),
            _ => number.clone(),
        }
    }

    /// Whether both are numbers, or arrays of the same lengths.
    #[must_use]
    pub fn same_shape(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Array(one, m), Self::Array(two, n)) => m == n && one.same_shape(two),
            (Self::Array(..), _) | (_, Self::Array(..)) => false,
            _ => true,
        }
    }

    /// Whether a row is in it.
    #[must_use]
    pub fn holds_row(&self) -> bool {
        match self {
            Self::Array(of, _) | Self::List(of, _) => of.holds_row(),
            Self::Element(_) => true,
            _ => false,
        }
    }
}

impl fmt::Display for Builtin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
