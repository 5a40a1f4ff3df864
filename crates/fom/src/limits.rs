//! Limits on the resources that a module can consume.

/// The maximum length of a module's text, in bytes. The largest public models have 2.9 MB in all their modules.
pub const MODULE_LEN_MAX: usize = 32 << 20;

/// The maximum length of all modules in an archive, unpacked, in bytes.
pub const ARCHIVE_LEN_MAX: usize = 64 << 20;

/// The maximum number of entries in an archive.
pub const ENTRIES_MAX: usize = 1024;

/// The maximum number of XML nodes in a module: elements and texts. The largest known modules have about 100,000.
pub const NODES_MAX: u32 = 4_000_000;

/// The maximum number of XML attributes of one element. The parser compares each with all others.
pub const ATTRIBUTES_MAX: usize = 100;

/// The maximum number of different prefixes that a module declares for XML namespaces. For each element that declares
/// one, the parser compares all prefixes in scope with each other.
pub const PREFIXES_MAX: usize = 32;

/// The maximum depth of nested classes. Only classes are read by recursion.
pub const CLASS_DEPTH_MAX: usize = 64;

/// The maximum length of the full names of all classes, attributes, parameters and directed interactions of a module
/// together, in bytes. A full name contains the names of all classes above.
pub const FULL_NAMES_LEN_MAX: usize = 64 << 20;

/// The maximum number of attributes, or of parameters, that all classes of a model together inherit.
pub const INHERITED_MAX: usize = 1 << 23;

/// The maximum number of problems that are reported for one module by its reader.
pub const PROBLEMS_MAX: usize = 1000;
