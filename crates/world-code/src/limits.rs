//! The limits of code.

/// Instructions of one program, before those without use are removed.
pub const INSTRUCTIONS_MAX: usize = 1 << 20;

/// Items of one program that computed indices choose from.
pub const ITEMS_MAX: usize = 1 << 22;

/// Registers of one program. With blocks of [`BLOCK_ROWS`](crate::BLOCK_ROWS) rows, they take up to 64 MiB.
pub const REGISTERS_MAX: u32 = 8_192;

/// Calls, blocks and expressions within each other, those of called functions included.
pub const DEPTH_MAX: u32 = 400;
