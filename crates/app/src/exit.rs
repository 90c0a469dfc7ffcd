//! The exit codes of the program, which are a contract.

pub const OK: u8 = 0;
pub const FAILED: u8 = 1;
pub const USAGE: u8 = 2;
pub const INTERRUPTED: u8 = 130;
pub const TERMINATED: u8 = 143;
