//! The tree of a text as it is written: names are not resolved yet.

use crate::source::Span;

/// All that one or several texts contain.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Syntax {
    /// The parts of universes, in the order of the texts.
    pub universes: Vec<Universe>,
    /// The braces around the branches of an `if` that is a value: they end no line.
    pub value_braces: Vec<Span>,
}

/// A name and its place.
#[derive(Clone, Debug, PartialEq)]
pub struct Name {
    /// As it is written.
    pub text: String,
    /// Where.
    pub span: Span,
}

/// Names joined by dots, such as `triangle.vertex`; at least one.
#[derive(Clone, Debug, PartialEq)]
pub struct Path {
    /// From the outermost one.
    pub names: Vec<Name>,
}

impl Path {
    /// The place of all names.
    #[must_use]
    pub fn span(&self) -> Span {
        self.names[0].span.to(self.names[self.names.len() - 1].span)
    }

    /// The names joined by dots.
    #[must_use]
    pub fn text(&self) -> String {
        self.names.iter().map(|name| name.text.as_str()).collect::<Vec<_>>().join(".")
    }
}

/// `universe name { … }`, or a part of one: the texts of a definition may continue each other's universes.
#[derive(Clone, Debug, PartialEq)]
pub struct Universe {
    /// Its name.
    pub name: Name,
    /// Its components, in order.
    pub items: Vec<Item>,
}

/// A component of a universe or an element.
#[derive(Clone, Debug, PartialEq)]
pub enum Item {
    /// `element …`
    Element(Element),
    /// `property …`
    Property(Property),
    /// `name = value;`: another value for an inherited property.
    Value(Value),
    /// `constant …`
    Constant(Constant),
    /// `function …`, `update …`, `predict …` and `constraint …`
    Function(Function),
    /// `converter …`
    Converter(Converter),
    /// `entity …`
    Entity(Entity),
}

impl Item {
    /// The place of its name, or what stands for it.
    #[must_use]
    pub fn span(&self) -> Span {
        match self {
            Self::Element(item) => item.name.span,
            Self::Property(item) => item.name.span,
            Self::Value(item) => item.target.span,
            Self::Constant(item) => item.name.span,
            Self::Function(item) => item.name.span,
            Self::Converter(item) => item.target.span,
            Self::Entity(item) => item.name.span,
        }
    }
}

/// `element name : base was old { … }`
#[derive(Clone, Debug, PartialEq)]
pub struct Element {
    /// Its name.
    pub name: Name,
    /// The element that it is derived from.
    pub base: Option<Path>,
    /// The name it had in the definition before.
    pub was: Option<Name>,
    /// Its components, in order.
    pub items: Vec<Item>,
}

/// `property name : type was old indexed by cell = default;`
#[derive(Clone, Debug, PartialEq)]
pub struct Property {
    /// Its name.
    pub name: Name,
    /// Its type.
    pub ty: Type,
    /// The name it had in the definition before.
    pub was: Option<Name>,
    /// The edge of a cell of its spatial index.
    pub cell: Option<Expr>,
    /// Its value in a new entity.
    pub default: Option<Expr>,
}

/// `place = value;` in an element or an entity.
#[derive(Clone, Debug, PartialEq)]
pub struct Value {
    /// A property, or a part of one.
    pub target: Expr,
    /// Its value.
    pub value: Expr,
}

/// `constant name : type = value;`
#[derive(Clone, Debug, PartialEq)]
pub struct Constant {
    /// Its name.
    pub name: Name,
    /// Its type; by default the type of the value.
    pub ty: Option<Type>,
    /// Its value.
    pub value: Expr,
}

/// The purpose of a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FunctionKind {
    /// Called by others.
    Function,
    /// Runs in each step.
    Update,
    /// Runs in place of updates where only a shadow of the entity exists.
    Predict,
    /// Decides whether a monitor is sent a row.
    Constraint,
}

/// `function name(parameters) : type = expression;` or with a block.
#[derive(Clone, Debug, PartialEq)]
pub struct Function {
    /// Its purpose.
    pub kind: FunctionKind,
    /// Its name; of an update and a prediction the keyword.
    pub name: Name,
    /// Its parameters.
    pub parameters: Vec<Parameter>,
    /// Its result, which only a function states.
    pub result: Option<Type>,
    /// Its statements. `= expression` is one `return`.
    pub body: Block,
}

/// `name : type`
#[derive(Clone, Debug, PartialEq)]
pub struct Parameter {
    /// Its name.
    pub name: Name,
    /// Its type.
    pub ty: Type,
}

/// `converter place = value;`
#[derive(Clone, Debug, PartialEq)]
pub struct Converter {
    /// Whether it leads from this definition to the one before.
    pub back: bool,
    /// The property that gets the value.
    pub target: Name,
    /// Computed from the properties of the other definition.
    pub value: Expr,
}

/// `entity name : element { place = value; }`
#[derive(Clone, Debug, PartialEq)]
pub struct Entity {
    /// Its name.
    pub name: Name,
    /// Its element.
    pub element: Path,
    /// Its values.
    pub items: Vec<Item>,
}

/// A type and its place.
#[derive(Clone, Debug, PartialEq)]
pub struct Type {
    /// Which one.
    pub kind: TypeKind,
    /// Where.
    pub span: Span,
}

/// A type as written.
#[derive(Clone, Debug, PartialEq)]
pub enum TypeKind {
    /// `real<unit>` and `real32<unit>`
    Real {
        /// 32 or 64 bits.
        bits: u8,
        /// The text between the angles, and its place.
        unit: Option<Name>,
    },
    /// `integer`
    Integer,
    /// `boolean`
    Boolean,
    /// `string<40>`
    String(Option<Name>),
    /// An element.
    Element(Path),
    /// `type[3]`
    Array(Box<Type>, Box<Expr>),
    /// `type[..16]`
    List(Box<Type>, Box<Expr>),
}

/// Statements between braces.
#[derive(Clone, Debug, PartialEq)]
pub struct Block {
    /// In order.
    pub statements: Vec<Statement>,
    /// With the braces.
    pub span: Span,
}

/// One statement.
#[derive(Clone, Debug, PartialEq)]
pub enum Statement {
    /// `let` and `var`
    Let {
        /// Whether it may be changed (`var`).
        mutable: bool,
        /// Its name.
        name: Name,
        /// Its type; by default the type of the value.
        ty: Option<Type>,
        /// Its first value.
        value: Expr,
    },
    /// `place = value;` and `place += value;`
    Assign {
        /// What changes.
        target: Expr,
        /// The operation of `+=` and the like.
        operator: Option<BinaryOperator>,
        /// The right side.
        value: Expr,
    },
    /// `if … { … } else { … }`
    If {
        /// The condition.
        condition: Expr,
        /// If it holds.
        then: Block,
        /// If it does not.
        otherwise: Block,
    },
    /// `for each name in … { … }`
    ForEach {
        /// The name of each item.
        name: Name,
        /// An element, or an array or list.
        over: Expr,
        /// The radius.
        within: Option<Expr>,
        /// The most neighbours.
        at_most: Option<Expr>,
        /// Runs for each item.
        body: Block,
    },
    /// `return value;`
    Return(Expr),
}

/// An expression, its place and height.
#[derive(Clone, Debug, PartialEq)]
pub struct Expr {
    /// Which one.
    pub kind: ExprKind,
    /// Where.
    pub span: Span,
    /// Levels of expressions in it.
    pub height: u16,
}

/// An expression as written.
#[derive(Clone, Debug, PartialEq)]
pub enum ExprKind {
    /// `12`, `0.5<km>`
    Number {
        /// Without the unit.
        value: f64,
        /// Whether it has neither a point nor an exponent.
        whole: bool,
        /// The text between the angles, and its place.
        unit: Option<Name>,
    },
    /// `true` and `false`
    Boolean(bool),
    /// `"text"`
    Text(String),
    /// `[a, b]`
    Array(Vec<Expr>),
    /// A name.
    Name(String),
    /// `self`
    SelfRow,
    /// `last_sent`
    LastSent,
    /// `value.name`
    Field(Box<Expr>, Name),
    /// `value[index]`
    Index(Box<Expr>, Box<Expr>),
    /// `name(arguments)`
    Call(Name, Vec<Expr>),
    /// `real32(value)`
    Convert(Box<Type>, Box<Expr>),
    /// `-value`, `not value`
    Unary(UnaryOperator, Box<Expr>),
    /// `left + right`
    Binary(BinaryOperator, Box<Expr>, Box<Expr>),
    /// `if condition { value } else { value }`
    If(Box<[Expr; 3]>),
}

/// An operator with one operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnaryOperator {
    /// `-`
    Minus,
    /// `not`
    Not,
}

/// An operator with two operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BinaryOperator {
    /// `or`
    Or,
    /// `and`
    And,
    /// `==`
    Equal,
    /// `!=`
    Unequal,
    /// `<`
    Less,
    /// `<=`
    AtMost,
    /// `>`
    More,
    /// `>=`
    AtLeast,
    /// `+`
    Plus,
    /// `-`
    Minus,
    /// `*`
    Times,
    /// `/`
    Over,
}

impl BinaryOperator {
    /// The spelling.
    #[must_use]
    pub const fn text(self) -> &'static str {
        match self {
            Self::Or => "or",
            Self::And => "and",
            Self::Equal => "==",
            Self::Unequal => "!=",
            Self::Less => "<",
            Self::AtMost => "<=",
            Self::More => ">",
            Self::AtLeast => ">=",
            Self::Plus => "+",
            Self::Minus => "-",
            Self::Times => "*",
            Self::Over => "/",
        }
    }
}
