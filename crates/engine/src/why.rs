//! Why something failed, before it is known who reads it: models and logs read English, the person their own language.
//! What others said is carried as it is.

use ostler_host::{Error, sandbox};
use ostler_wire::{Language, Word};
use std::fmt;
use std::path::Path;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Why {
    /// Of servers, libraries and the system.
    Said(String),
    /// One of ours, and what fills its holes.
    Ours(Word, Vec<Why>),
}

impl Why {
    pub fn ours<const N: usize>(word: Word, values: [Why; N]) -> Self {
        Self::Ours(word, values.into())
    }

    pub fn say(&self, language: Language) -> String {
        match self {
            Self::Said(text) => text.clone(),
            Self::Ours(word, values) => {
                let values: Vec<String> = values.iter().map(|value| value.say(language)).collect();
                let values: Vec<&str> = values.iter().map(String::as_str).collect();
                language.fill(*word, &values)
            }
        }
    }
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.say(Language::English))
    }
}

impl From<String> for Why {
    fn from(text: String) -> Self {
        Self::Said(text)
    }
}

impl From<&str> for Why {
    fn from(text: &str) -> Self {
        Self::Said(text.to_owned())
    }
}

impl From<Word> for Why {
    fn from(word: Word) -> Self {
        Self::Ours(word, Vec::new())
    }
}

/// The crate below knows no languages; in English this is what it says itself.
impl From<&Error> for Why {
    fn from(error: &Error) -> Self {
        let name = |path: &Path| Why::from(path.display().to_string());
        let quoted = |program: &String| Why::from(format!("{program:?}"));
        let said = |source: &std::io::Error| Why::from(source.to_string());
        let at = |word, path: &Path| Why::ours(word, [name(path)]);
        let of = |word, path: &Path, source| Why::ours(word, [name(path), said(source)]);
        match error {
            Error::NotFound { path } => at(Word::HostNone, path),
            Error::IsDirectory { path } => at(Word::HostFolder, path),
            Error::NotDirectory { path } => at(Word::HostNoFolder, path),
            Error::NotRegular { path } => at(Word::HostDevice, path),
            Error::BadPath { path } => at(Word::HostBadPath, path),
            Error::Path { path, source } => of(Word::HostPath, path, source),
            Error::Forbidden { path, .. } => at(Word::HostForbidden, path),
            Error::Outside { path, roots } => {
                let writable = roots.writable.iter().map(|root| root.display().to_string());
                let folders = match writable.collect::<Vec<_>>().join(", ") {
                    none if none.is_empty() => Word::HostNoWritable.into(),
                    folders => folders.into(),
                };
                Why::ours(Word::HostOutside, [name(path), folders])
            }
            Error::Reserved { path } => at(Word::HostReserved, path),
            Error::Exists { path } => at(Word::HostExists, path),
            Error::TooManyLinks { path } => at(Word::HostLinks, path),
            Error::Changed { path } => at(Word::HostChanged, path),
            Error::Read { path, source } => of(Word::HostRead, path, source),
            Error::MakeDirectory { path, source } => of(Word::HostMakeFolder, path, source),
            Error::Write { path, source } => of(Word::HostWrite, path, source),
            Error::ProgramNotFound { program } => Why::ours(Word::HostNoProgram, [quoted(program)]),
            Error::NotExecutable { program, source } => {
                Why::ours(Word::HostNotRun, [quoted(program), said(source)])
            }
            Error::WorkingDirectory { path, source } => of(Word::HostWorkFolder, path, source),
            Error::TooLong => Word::HostTooLong.into(),
            Error::BadCommand => Word::HostBadCommand.into(),
            Error::Spawn { program, source } => {
                Why::ours(Word::HostSpawn, [quoted(program), said(source)])
            }
            Error::Sandbox {
                program,
                step,
                source,
            } => {
                let step = Why::from(*step);
                Why::ours(Word::HostSandbox, [quoted(program), step, said(source)])
            }
            Error::Lost { program } => Why::ours(Word::HostLost, [quoted(program)]),
        }
    }
}

impl From<&sandbox::Error> for Why {
    fn from(error: &sandbox::Error) -> Self {
        use sandbox::Error;
        let name = |path: &Path| Why::from(path.display().to_string());
        let said = |source: &std::io::Error| Why::from(source.to_string());
        match error {
            Error::Unavailable { wanted, reason } => {
                Why::ours(Word::BoxMissing, [(*wanted).into(), reason.clone().into()])
            }
            Error::Path { path, source } => Why::ours(Word::BoxPath, [name(path), said(source)]),
            Error::Conflict { inner, outer } => {
                Why::ours(Word::BoxConflict, [name(inner), name(outer)])
            }
            Error::TooMany { limit } => Why::ours(Word::BoxTooMany, [limit.to_string().into()]),
            Error::Network { source } => Why::ours(Word::BoxNetwork, [said(source)]),
            Error::Kernel { source } => Why::ours(Word::BoxKernel, [said(source)]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ostler_host::Roots;
    use std::io;
    use std::path::PathBuf;

    #[test]
    fn each_reader_has_their_language() {
        let inner = Why::ours(Word::McpExited, ["3".into()]);
        let why = Why::ours(Word::McpAnd, ["its own".into(), inner]);
        assert_eq!(why.to_string(), "its own; it exited with code 3");
        assert_eq!(why.say(Language::Chinese), "its own；它以代码 3 退出");
    }

    #[test]
    fn in_english_it_is_what_the_host_says() {
        let path = || PathBuf::from("/a/b");
        let source = || io::Error::other("broken");
        let program = || "a \"b\"".to_owned();
        for error in [
            Error::NotFound { path: path() },
            Error::IsDirectory { path: path() },
            Error::NotDirectory { path: path() },
            Error::NotRegular { path: path() },
            Error::BadPath { path: path() },
            Error::Path {
                path: path(),
                source: source(),
            },
            Error::Forbidden {
                path: path(),
                source: source(),
            },
            Error::Outside {
                path: path(),
                roots: Roots::default(),
            },
            Error::Outside {
                path: path(),
                roots: Roots {
                    writable: vec![path(), path()],
                    ..Roots::default()
                },
            },
            Error::Exists { path: path() },
            Error::TooManyLinks { path: path() },
            Error::Changed { path: path() },
            Error::Read {
                path: path(),
                source: source(),
            },
            Error::MakeDirectory {
                path: path(),
                source: source(),
            },
            Error::Write {
                path: path(),
                source: source(),
            },
            Error::ProgramNotFound { program: program() },
            Error::NotExecutable {
                program: program(),
                source: source(),
            },
            Error::WorkingDirectory {
                path: path(),
                source: source(),
            },
            Error::TooLong,
            Error::BadCommand,
            Error::Spawn {
                program: program(),
                source: source(),
            },
            Error::Sandbox {
                program: program(),
                step: "seccomp",
                source: source(),
            },
            Error::Lost { program: program() },
        ] {
            let why = Why::from(&error);
            assert_eq!(why.to_string(), error.to_string());
            assert_ne!(why.say(Language::Chinese), error.to_string());
        }
        for error in [
            sandbox::Error::Unavailable {
                wanted: "landlock",
                reason: "old".into(),
            },
            sandbox::Error::Path {
                path: path(),
                source: source(),
            },
            sandbox::Error::Conflict {
                inner: path(),
                outer: path(),
            },
            sandbox::Error::TooMany { limit: 7 },
            sandbox::Error::Network { source: source() },
            sandbox::Error::Kernel { source: source() },
        ] {
            let why = Why::from(&error);
            assert_eq!(why.to_string(), error.to_string());
            assert_ne!(why.say(Language::Chinese), error.to_string());
        }
    }
}
