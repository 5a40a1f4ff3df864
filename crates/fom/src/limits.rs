//! How much one may send: bounds on everything a module can make grow.

/// The most bytes of one module's text. The largest public models have 2.9 MB in all their modules.
pub const MODULE_LEN_MAX: usize = 32 << 20;

/// The most bytes all modules of an archive may unpack to.
pub const ARCHIVE_LEN_MAX: usize = 64 << 20;

/// The most entries of an archive, modules or not.
pub const ENTRIES_MAX: usize = 1024;

/// The most nodes of a module's XML: elements, attributes, texts. The largest known have some 100,000.
pub const NODES_MAX: u32 = 4_000_000;

/// The most classes inside one another. Nothing else is read by recursion.
pub const CLASS_DEPTH_MAX: usize = 64;

/// The most problems that are collected from one module; after that, reading it goes on in silence.
pub const PROBLEMS_MAX: usize = 1000;
