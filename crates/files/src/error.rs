//! The one error type of this crate. `Why` says it in the language of who reads it, `Display` in English for models; `code`
//! is the short name that tool results carry.

use ostler_wire::{Why, Word};
use std::io;
use std::path::{Path, PathBuf};

pub type Result<T, E = Error> = std::result::Result<T, E>;

#[derive(Debug)]
pub enum Error {
    NotFound {
        path: PathBuf,
    },
    IsDirectory {
        path: PathBuf,
    },
    NotDirectory {
        path: PathBuf,
    },
    NotRegular {
        path: PathBuf,
    },
    BadPath {
        path: PathBuf,
    },
    Path {
        path: PathBuf,
        source: io::Error,
    },
    Forbidden {
        path: PathBuf,
        source: io::Error,
    },
    Outside {
        path: PathBuf,
        /// The folders that may be written.
        writable: Vec<PathBuf>,
    },
    Reserved {
        path: PathBuf,
    },
    /// It decides what runs later, and only the person's own yes opens it to tools.
    Protected {
        path: PathBuf,
    },
    /// It really lies outside of the border, and nobody allowed to read it.
    Beyond {
        path: PathBuf,
    },
    /// A rule forbids to read what really lies there.
    Withheld {
        path: PathBuf,
        rule: String,
    },
    Exists {
        path: PathBuf,
    },
    TooManyLinks {
        path: PathBuf,
    },
    Changed {
        path: PathBuf,
    },
    Read {
        path: PathBuf,
        source: io::Error,
    },
    MakeDirectory {
        path: PathBuf,
        source: io::Error,
    },
    Write {
        path: PathBuf,
        source: io::Error,
    },

    ProgramNotFound {
        program: String,
    },
    NotExecutable {
        program: String,
        source: io::Error,
    },
    WorkingDirectory {
        path: PathBuf,
        source: io::Error,
    },
    TooLong,
    BadCommand,
    Spawn {
        program: String,
        source: io::Error,
    },
    Sandbox {
        program: String,
        step: Word,
        source: io::Error,
    },
    Lost {
        program: String,
    },
    /// What it may touch could not be put into a sandbox at the place.
    Confine {
        text: String,
    },
    /// A search that could not be made.
    Search {
        text: String,
    },
    /// The link to the place is cut.
    Unreachable {
        place: String,
        reason: String,
    },
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
            | Self::Reserved { .. }
            | Self::Protected { .. }
            | Self::Withheld { .. } => "forbidden",
            Self::Beyond { .. } => "outside",
            Self::Exists { .. } => "exists",
            Self::Read { .. } | Self::Search { .. } => "read_error",
            Self::Unreachable { .. } => "place_unreachable",
            Self::MakeDirectory { .. } => "mkdir_error",
            Self::Write { .. } | Self::Changed { .. } => "write_error",
            Self::ProgramNotFound { .. }
            | Self::NotExecutable { .. }
            | Self::WorkingDirectory { .. }
            | Self::TooLong
            | Self::BadCommand
            | Self::Spawn { .. }
            | Self::Sandbox { .. }
            | Self::Confine { .. }
            | Self::Lost { .. } => "spawn_error",
        }
    }
}

ostler_wire::told_by_why!(Error);

impl From<&Error> for Why {
    fn from(error: &Error) -> Self {
        let name = |path: &Path| Why::from(path.display().to_string());
        let quoted = |program: &String| Why::from(format!("{program:?}"));
        let at = |word, path: &Path| Why::ours(word, [name(path)]);
        let of =
            |word, path: &Path, source: &io::Error| Why::ours(word, [name(path), source.into()]);
        match error {
            Error::NotFound { path } => at(Word::HostNone, path),
            Error::IsDirectory { path } => at(Word::HostFolder, path),
            Error::NotDirectory { path } => at(Word::HostNoFolder, path),
            Error::NotRegular { path } => at(Word::HostDevice, path),
            Error::BadPath { path } => at(Word::HostBadPath, path),
            Error::Path { path, source } => of(Word::HostPath, path, source),
            Error::Forbidden { path, .. } => at(Word::HostForbidden, path),
            Error::Outside { path, writable } => {
                let writable = writable.iter().map(|root| root.display().to_string());
                let folders = match writable.collect::<Vec<_>>().join(", ") {
                    none if none.is_empty() => Word::HostNoWritable.into(),
                    folders => folders.into(),
                };
                Why::ours(Word::HostOutside, [name(path), folders])
            }
            Error::Reserved { path } => at(Word::HostReserved, path),
            Error::Protected { path } => at(Word::HostProtected, path),
            Error::Beyond { path } => at(Word::HostBeyond, path),
            Error::Withheld { path, rule } => {
                Why::ours(Word::HostWithheld, [name(path), rule.as_str().into()])
            }
            Error::Exists { path } => at(Word::HostExists, path),
            Error::TooManyLinks { path } => at(Word::HostLinks, path),
            Error::Changed { path } => at(Word::HostChanged, path),
            Error::Read { path, source } => of(Word::HostRead, path, source),
            Error::MakeDirectory { path, source } => of(Word::HostMakeFolder, path, source),
            Error::Write { path, source } => of(Word::HostWrite, path, source),
            Error::ProgramNotFound { program } => Why::ours(Word::HostNoProgram, [quoted(program)]),
            Error::NotExecutable { program, source } => {
                Why::ours(Word::HostNotRun, [quoted(program), source.into()])
            }
            Error::WorkingDirectory { path, source } => of(Word::HostWorkFolder, path, source),
            Error::TooLong => Word::HostTooLong.into(),
            Error::BadCommand => Word::HostBadCommand.into(),
            Error::Spawn { program, source } => {
                Why::ours(Word::HostSpawn, [quoted(program), source.into()])
            }
            Error::Sandbox {
                program,
                step,
                source,
            } => {
                let step = Why::from(*step);
                Why::ours(Word::HostSandbox, [quoted(program), step, source.into()])
            }
            Error::Lost { program } => Why::ours(Word::HostLost, [quoted(program)]),
            Error::Confine { text } => Why::ours(Word::HostConfine, [text.as_str().into()]),
            Error::Search { text } => Why::ours(Word::HostSearch, [text.as_str().into()]),
            Error::Unreachable { place, reason } => Why::ours(
                Word::HostUnreachable,
                [place.as_str().into(), reason.as_str().into()],
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ostler_wire::Language;

    #[test]
    fn models_read_english_and_people_their_language() {
        let path = || PathBuf::from("/a/b");
        let none = || io::Error::from_raw_os_error(2);
        for (error, english, chinese) in [
            (
                Error::Outside {
                    path: path(),
                    writable: Vec::new(),
                },
                "/a/b lies outside of the folders that may be written (none)",
                "/a/b 不在可写的文件夹内（无）",
            ),
            (
                Error::Outside {
                    path: path(),
                    writable: vec![path(), "/c".into()],
                },
                "/a/b lies outside of the folders that may be written (/a/b, /c)",
                "/a/b 不在可写的文件夹内（/a/b, /c）",
            ),
            (
                Error::Read {
                    path: path(),
                    source: none(),
                },
                "cannot read /a/b: No such file or directory (os error 2)",
                "无法读取 /a/b：没有那个文件或目录（系统错误 2）",
            ),
            (
                Error::Spawn {
                    program: "a \"b\"".into(),
                    source: io::Error::other("broken"),
                },
                r#"cannot start "a \"b\"": broken"#,
                r#"无法启动 "a \"b\""：broken"#,
            ),
        ] {
            assert_eq!(error.to_string(), english);
            assert_eq!(Why::from(&error).say(Language::Chinese), chinese);
        }
    }
}
