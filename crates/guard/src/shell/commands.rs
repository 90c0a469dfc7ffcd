//! What programs do, as tables made of `commands/*.toml`: those that run another command, those that change files, reach
//! hosts, take privileges or steer processes. Which commands change nothing is in `spec`. A program in no table may do
//! anything.

include!(concat!(env!("OUT_DIR"), "/commands.rs"));
include!(concat!(env!("OUT_DIR"), "/handing.rs"));

use std::path::Path;

/// A command that runs the command in its own words.
pub struct Wrapper {
    pub name: &'static str,
    /// Short options without a value, by letter.
    pub flags: &'static str,
    /// Short options with one.
    pub valued: &'static str,
    pub long_flags: &'static [&'static str],
    pub long_valued: &'static [&'static str],
    /// Operands before the command.
    pub skip: usize,
    pub kind: Kind,
    #[cfg(test)]
    pub yes: &'static [&'static str],
    #[cfg(test)]
    pub no: &'static [&'static str],
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// The same command, only slower, quieter or later.
    Clear,
    /// The same, after assignments.
    Env,
    /// With other rights: an allow rule must name the wrapper too.
    Privilege,
    /// With further arguments that nobody knows.
    Feeds,
}

/// How a command treats its operands.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Files {
    Write,
    /// All but the last are read, the last is written or holds what is.
    CopyToLast,
    /// All are changed.
    Move,
}

pub struct Writer {
    pub name: &'static str,
    pub files: Files,
    /// What was there may be gone.
    pub deletes: bool,
    #[cfg(test)]
    pub yes: &'static [&'static str],
    #[cfg(test)]
    pub no: &'static [&'static str],
}

/// Options by which a command runs another, or takes its text from a file: an allow rule does not speak of these.
pub struct Handing {
    /// The command's first words.
    pub command: &'static str,
    /// Names without dashes; a beginning of one is that option.
    pub long: &'static [&'static str],
    /// Letters, alone or among others.
    pub short: &'static str,
    /// Harmless letters that take the rest of the word.
    pub valued: &'static str,
    /// Letters and names whose value is a file; inside of the project it is harmless.
    pub files: &'static [&'static str],
    #[cfg(test)]
    pub yes: &'static [&'static str],
    #[cfg(test)]
    pub no: &'static [&'static str],
}

/// Whether this is a folder whose names may be listed.
pub fn is_listed(path: &Path) -> bool {
    LISTED.iter().any(|folder| path == Path::new(folder))
}

/// Whether the command's first words are these.
pub fn starts(words: &[&str], entry: &str) -> bool {
    let mut have = words.iter();
    entry.split(' ').all(|word| have.next() == Some(&word))
}
