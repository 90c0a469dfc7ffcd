//! What a shell text would do: its simple commands with their words, and the files, hosts, rights and processes they
//! touch. Pure, total and bounded; what it cannot tell is marked unsure. It decides nothing.

mod checks;
mod commands;
#[cfg(test)]
mod corpus;
mod dialect;
mod effects;
mod feed;
mod find;
mod hidden;
mod leads;
mod programs;
#[cfg(test)]
mod recorded;
mod redirect;
mod simple;
pub mod spec;
mod substitute;
#[cfg(test)]
mod tests;
pub mod tracked;
mod walk;
mod word;
mod wrappers;

use ostler_wire::{Access, Segment};
use std::path::{Path, PathBuf};
use walk::Walker;

pub use commands::{LISTED, PREFIXES, PUBLIC, is_listed};
pub use effects::{DEEP, DEEP_VISIBLE};
pub use word::is_hiding;

/// Where a command would run.
pub struct Place<'a> {
    pub cwd: PathBuf,
    pub root: &'a Path,
    pub home: Option<&'a Path>,
    /// Folders outside of the root that may be read unasked: added ones, toolchains, the session's own `/tmp`.
    pub open: &'a [PathBuf],
}

/// Whether a program of this name runs any other by words of its own.
pub fn runs_any_program(name: &str) -> bool {
    commands::INTERPRETERS.contains(&name) || name == "sed"
}

/// The simple commands of a shell text, those within substitutions, wrappers and scripts included.
pub fn analyse(command: &str, place: &Place<'_>) -> Vec<Segment> {
    let mut walker = Walker::new(place);
    walker.script(command);
    if walker.out.is_empty() {
        walker.unsure(command);
    }
    // What reaches an unsure command through a pipe, a variable or a here-document stands elsewhere in the text.
    let unsure = walker.out.iter_mut().find(|s| s.is_unsure());
    if let Some(segment) = unsure.filter(|s| s.text != command.trim()) {
        segment.also.push(command.to_owned());
    }
    walker.out
}

/// What a call with these segments declares: the commands, then each file and host they touch, once.
pub fn accesses(segments: Vec<Segment>) -> Vec<Access> {
    let mut rest: Vec<Access> = Vec::new();
    for access in segments.iter().flat_map(|s| s.does.iter().chain(&s.needs)) {
        if !rest.contains(access) {
            rest.push(access.clone());
        }
    }
    let mut all = vec![Access::Run(segments)];
    all.append(&mut rest);
    all
}

/// Whether an environment variable of this value changes only what is printed.
fn is_harmless(name: &str, value: Option<&str>) -> bool {
    value.is_some_and(|value| {
        commands::HARMLESS_PAIRS.contains(&(name, value))
            || commands::HARMLESS_ENV.contains(&name)
                && value
                    .chars()
                    .all(|c| c.is_ascii_alphanumeric() || "._-,:=@".contains(c))
                && !value.contains("..")
    })
}
