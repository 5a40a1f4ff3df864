//! The limits of a definition. Each keeps the work for a text in proportion to its length.

/// Bytes of all texts of a definition.
pub const SOURCES_LEN_MAX: usize = 16 << 20;

/// Levels of nested elements, blocks and expressions.
pub const NESTING_MAX: usize = 64;

/// Operations on a path through an expression, such as the terms of a sum without parentheses.
pub const EXPRESSION_HEIGHT_MAX: u16 = 200;

/// Problems that are collected; the checker stops after them.
pub const PROBLEMS_MAX: usize = 1000;

/// Bytes of a name.
pub const NAME_LEN_MAX: usize = 128;

/// Bytes of a string property; the default of `string` without `<…>`.
pub const STRING_LEN_MAX: u32 = 255;

/// Elements of an array, and of a list.
pub const ARRAY_LEN_MAX: u32 = 65_536;

/// Arrays within arrays and lists.
pub const TYPE_HEIGHT_MAX: usize = 8;

/// Elements that an element is derived from, one after another.
pub const BASES_MAX: usize = 64;

/// Scalars in a row of an element.
pub const LEAVES_MAX: u64 = 65_536;

/// Properties of all elements of a universe, inherited ones included.
pub const PROPERTIES_MAX: usize = 1_000_000;

/// Scalars in the defaults of all properties of a universe, in its constants and entities.
pub const VALUES_MAX: u64 = 4_000_000;

/// Operations of one call of a function, update, constraint or prediction, as [`Function::cost`] counts them.
///
/// [`Function::cost`]: crate::definition::Function::cost
pub const COST_MAX: u64 = 10_000_000;

/// Operations of all constant expressions of a universe together.
pub const CONSTANT_COST_MAX: u64 = 10_000_000;

/// Neighbours of one loop.
pub const NEIGHBOURS_MAX: u32 = 1_000_000;

/// Dimensions of a position with a spatial index.
pub const POSITION_LEN_MAX: u32 = 3;
