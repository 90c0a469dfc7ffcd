//! The built-in tools and the background jobs they start. A tool never asks anybody and starts no program itself: what a
//! call may do was decided before it runs, and programs are started through the `Programs` of its call.

pub mod arguments;
pub mod builtin;
pub mod context;
pub mod error;
pub mod jobs;
pub mod programs;
pub mod sandbox_report;
mod schema;
pub mod seen;
pub mod testing;
pub mod tool;

pub use programs::{Confinement, EditorTerminal, NoPrograms, Programs, Started};
pub use sandbox_report::SandboxReport;

use ostler_store::{artifacts, cut, history, memory, redact};
use ostler_wire::hex;
