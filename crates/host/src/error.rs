//! The one error type of this crate. Every message is a sentence for the person or the model; `code` is the short name
//! that tool results carry.

use crate::host::Roots;
use std::io;
use std::path::PathBuf;

pub type Result<T, E = Error> = std::result::Result<T, E>;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("{} does not exist", .path.display())]
    NotFound { path: PathBuf },
    #[error("{} is a directory, not a file", .path.display())]
    IsDirectory { path: PathBuf },
    #[error("{} is not a directory", .path.display())]
    NotDirectory { path: PathBuf },
    #[error("{} is a device, socket or pipe, not a regular file", .path.display())]
    NotRegular { path: PathBuf },
    #[error("{} must be an absolute path without NUL bytes", .path.display())]
    BadPath { path: PathBuf },
    #[error("cannot follow the path {}: {source}", .path.display())]
    Path { path: PathBuf, source: io::Error },
    #[error("permission denied for {}", .path.display())]
    Forbidden { path: PathBuf, source: io::Error },
    #[error("{} lies outside of the folders that may be written ({})", .path.display(), folders(.roots))]
    Outside { path: PathBuf, roots: Roots },
    #[error("{} is kept by Ostler itself and changed by no tool", .path.display())]
    Reserved { path: PathBuf },
    #[error("{} already exists; ask to overwrite it, or choose another name", .path.display())]
    Exists { path: PathBuf },
    #[error("{} has too many symlinks on its way, or they form a circle", .path.display())]
    TooManyLinks { path: PathBuf },
    #[error("{} was changed by somebody else at the same moment; try again", .path.display())]
    Changed { path: PathBuf },
    #[error("cannot read {}: {source}", .path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error("cannot make the directory {}: {source}", .path.display())]
    MakeDirectory { path: PathBuf, source: io::Error },
    #[error("cannot write {}: {source}", .path.display())]
    Write { path: PathBuf, source: io::Error },

    #[error(
        "the program {program:?} was not found; check its name, PATH and the interpreter in its first line"
    )]
    ProgramNotFound { program: String },
    #[error("the program {program:?} cannot be run: {source}")]
    NotExecutable { program: String, source: io::Error },
    #[error("cannot enter the working directory {}: {source}", .path.display())]
    WorkingDirectory { path: PathBuf, source: io::Error },
    #[error(
        "the command line and its environment are too long for the system; put the text into a file"
    )]
    TooLong,
    #[error(
        "a command needs a program, and neither its words nor its environment may hold NUL bytes"
    )]
    BadCommand,
    #[error("cannot start {program:?}: {source}")]
    Spawn { program: String, source: io::Error },
    #[error("cannot put {program:?} into the sandbox ({step} failed: {source}), so it was not run")]
    Sandbox {
        program: String,
        step: &'static str,
        source: io::Error,
    },
    #[error("the watchdog that runs commands ended before {program:?} had started; try again")]
    Lost { program: String },
}

impl Error {
    /// The stable short name of this error.
    pub fn code(&self) -> &'static str {
        match self {
            Self::NotFound { .. } => "not_found",
            Self::IsDirectory { .. } => "is_directory",
            Self::NotDirectory { .. }
            | Self::BadPath { .. }
            | Self::Path { .. }
            | Self::TooManyLinks { .. } => "path_error",
            Self::NotRegular { .. }
            | Self::Forbidden { .. }
            | Self::Outside { .. }
            | Self::Reserved { .. } => "forbidden",
            Self::Exists { .. } => "exists",
            Self::Read { .. } => "read_error",
            Self::MakeDirectory { .. } => "mkdir_error",
            Self::Write { .. } | Self::Changed { .. } => "write_error",
            Self::ProgramNotFound { .. }
            | Self::NotExecutable { .. }
            | Self::WorkingDirectory { .. }
            | Self::TooLong
            | Self::BadCommand
            | Self::Spawn { .. }
            | Self::Sandbox { .. }
            | Self::Lost { .. } => "spawn_error",
        }
    }
}

fn folders(roots: &Roots) -> String {
    if roots.writable.is_empty() {
        return "none".into();
    }
    let shown: Vec<_> = roots
        .writable
        .iter()
        .map(|root| root.display().to_string())
        .collect();
    shown.join(", ")
}
