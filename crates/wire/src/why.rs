//! Why something failed, before it is known who reads it: models and logs read English, the person their own language.
//! What vendors, servers and libraries said is carried as it is; what the system says is known by its number or kind.

use crate::words::filled;
use crate::{AnyWord, Language, Word};
use serde::{Serialize, Serializer};
use std::fmt;
use std::io;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Why {
    /// Of others, in whatever language they speak.
    Said(String),
    /// One of ours, and what fills its holes.
    Ours(AnyWord, Vec<Why>),
    /// Several, one after the other with nothing in between.
    Joined(Vec<Why>),
}

impl Why {
    pub fn ours<const N: usize>(word: Word<N>, values: [Why; N]) -> Self {
        Self::Ours(word.into(), values.into())
    }

    pub fn joined<const N: usize>(parts: [Why; N]) -> Self {
        Self::Joined(parts.into())
    }

    /// A list, with the separator between its items.
    pub fn list(items: &[Why], separator: &str) -> Self {
        let mut parts = Vec::new();
        for item in items {
            if !parts.is_empty() {
                parts.push(separator.into());
            }
            parts.push(item.clone());
        }
        Self::Joined(parts)
    }

    pub fn say(&self, language: Language) -> String {
        match self {
            Self::Said(text) => text.clone(),
            Self::Joined(parts) => parts.iter().map(|part| part.say(language)).collect(),
            Self::Ours(word, values) => {
                let values: Vec<String> = values.iter().map(|value| value.say(language)).collect();
                let values: Vec<&str> = values.iter().map(String::as_str).collect();
                filled(language.text(*word), &values)
            }
        }
    }

    /// Puts something else in place of every text that others said.
    pub fn rewrite(&mut self, with: &mut impl FnMut(String) -> String) {
        match self {
            Self::Said(said) => *said = with(std::mem::take(said)),
            Self::Ours(_, values) | Self::Joined(values) => {
                values.iter_mut().for_each(|value| value.rewrite(with));
            }
        }
    }

    /// Puts something else in place of a text wherever others said it.
    pub fn replace(&mut self, text: &str, with: &str) {
        match self {
            Self::Said(said) => {
                if said.contains(text) {
                    *said = said.replace(text, with);
                }
            }
            Self::Ours(_, values) | Self::Joined(values) => values
                .iter_mut()
                .for_each(|value| value.replace(text, with)),
        }
    }
}

/// What can say why: errors of the system and those that are known by words.
pub trait Say {
    fn say(&self, language: Language) -> String;
}

impl<T> Say for T
where
    for<'a> Why: From<&'a T>,
{
    fn say(&self, language: Language) -> String {
        Why::from(self).say(language)
    }
}

/// For errors that convert into a `Why`: they speak English by it. What the system said is in the message already, so there
/// is no source behind them.
#[macro_export]
macro_rules! told_by_why {
    ($error:ty) => {
        impl ::std::fmt::Display for $error {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                ::std::fmt::Display::fmt(&$crate::Why::from(self), f)
            }
        }

        impl ::std::error::Error for $error {}
    };
}

/// For programs, which read English.
impl Serialize for Why {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.say(Language::English))
    }
}

impl std::error::Error for Why {}

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
        Self::ours(word, [])
    }
}

/// What the system says. In English these are its own words, its number with them.
impl From<&io::Error> for Why {
    fn from(error: &io::Error) -> Self {
        if let Some(inner) = error.get_ref() {
            if let Some(why) = inner.downcast_ref::<Why>() {
                return why.clone();
            }
            return match inner.downcast_ref::<io::Error>() {
                Some(inner) => inner.into(),
                None => numbered(&error.to_string()).unwrap_or_else(|| error.to_string().into()),
            };
        }
        // The library's own words tell more than this kind does.
        let is_vague =
            error.raw_os_error().is_none() && error.kind() == io::ErrorKind::InvalidInput;
        let word = of_number(error.raw_os_error()).or_else(|| of_kind(error.kind()));
        let Some(word) = word.filter(|_| !is_vague) else {
            return error.to_string().into();
        };
        let number = match error.raw_os_error() {
            Some(number) => Self::ours(Word::IoNumber, [number.to_string().into()]),
            None => "".into(),
        };
        Self::ours(word, [number])
    }
}

/// Of what the system said, with the name of a scratch file behind it that tells nobody anything.
fn numbered(text: &str) -> Option<Why> {
    let (said, rest) = text.split_once(" (os error ")?;
    let (number, _) = rest.split_once(')')?;
    let error = io::Error::from_raw_os_error(number.parse().ok()?);
    error.to_string().starts_with(said).then(|| (&error).into())
}

/// Of those that share a kind or have none; the numbers are the same on every unix.
fn of_number(number: Option<i32>) -> Option<Word<1>> {
    if !cfg!(unix) {
        return None;
    }
    Some(match number? {
        1 => Word::IoNotPermitted,
        5 => Word::IoBroken,
        8 => Word::IoNoProgram,
        23 => Word::IoSystemFiles,
        24 => Word::IoManyFiles,
        _ => return None,
    })
}

fn of_kind(kind: io::ErrorKind) -> Option<Word<1>> {
    use io::ErrorKind;
    Some(match kind {
        ErrorKind::NotFound => Word::IoNone,
        ErrorKind::PermissionDenied => Word::IoDenied,
        ErrorKind::AlreadyExists => Word::IoExists,
        ErrorKind::NotADirectory => Word::IoNoFolder,
        ErrorKind::IsADirectory => Word::IoFolder,
        ErrorKind::DirectoryNotEmpty => Word::IoNotEmpty,
        ErrorKind::ReadOnlyFilesystem => Word::IoReadOnly,
        ErrorKind::StorageFull => Word::IoFull,
        ErrorKind::QuotaExceeded => Word::IoQuota,
        ErrorKind::FileTooLarge => Word::IoTooLarge,
        ErrorKind::InvalidFilename => Word::IoLongName,
        ErrorKind::CrossesDevices => Word::IoAcross,
        ErrorKind::ExecutableFileBusy => Word::IoTextBusy,
        ErrorKind::ResourceBusy => Word::IoBusy,
        ErrorKind::OutOfMemory => Word::IoMemory,
        ErrorKind::ArgumentListTooLong => Word::IoLongList,
        ErrorKind::InvalidInput => Word::IoBadArgument,
        ErrorKind::InvalidData => Word::IoNotUtf8,
        ErrorKind::UnexpectedEof => Word::IoEnd,
        ErrorKind::WouldBlock => Word::IoNotNow,
        ErrorKind::Interrupted => Word::IoInterrupted,
        ErrorKind::BrokenPipe => Word::IoPipe,
        ErrorKind::TimedOut => Word::IoLate,
        ErrorKind::ConnectionRefused => Word::IoRefused,
        ErrorKind::ConnectionReset => Word::IoReset,
        ErrorKind::ConnectionAborted => Word::IoAborted,
        ErrorKind::NotConnected => Word::IoNoLine,
        ErrorKind::AddrInUse => Word::IoAddressTaken,
        ErrorKind::AddrNotAvailable => Word::IoNoAddress,
        ErrorKind::HostUnreachable => Word::IoNoRoute,
        ErrorKind::NetworkUnreachable => Word::IoNoNetwork,
        ErrorKind::NetworkDown => Word::IoNetworkDown,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_reader_has_their_language() {
        let inner = Why::ours(Word::McpExited, ["3".into()]);
        let mut why = Why::ours(Word::McpAnd, ["its own".into(), inner]);
        assert_eq!(why.to_string(), "its own; it exited with code 3");
        assert_eq!(why.say(Language::Chinese), "its own；它以代码 3 退出");
        why.replace("own", "secret");
        why.replace("exited", "never in ours");
        assert_eq!(why.to_string(), "its secret; it exited with code 3");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn in_english_it_is_what_the_system_says() {
        let known = [
            1, 2, 4, 5, 7, 8, 11, 12, 13, 16, 17, 18, 20, 21, 22, 23, 24, 26, 27, 28, 30, 32, 36,
            39, 98, 99, 100, 101, 103, 104, 107, 110, 111, 113, 122,
        ];
        for number in known {
            let error = io::Error::from_raw_os_error(number);
            let why = Why::from(&error);
            assert_eq!(why.to_string(), error.to_string());
            let said = why.say(Language::Chinese);
            let end = format!("（系统错误 {number}）");
            assert!(said.ends_with(&end), "{said}");
            let letters = |c: char| c.is_ascii_alphabetic();
            assert!(!said.contains(letters), "{said}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn names_of_scratch_files_are_left_out() {
        let said = io::Error::from_raw_os_error(13).to_string();
        let error = io::Error::other(format!("{said} at path \"/a/.tmpX\""));
        assert_eq!(Why::from(&error).to_string(), said);
        assert_eq!(
            Why::from(&error).say(Language::Chinese),
            "权限不足（系统错误 13）"
        );
    }

    #[test]
    fn what_has_no_number_is_known_by_its_kind() {
        let kind = |kind: io::ErrorKind| io::Error::from(kind);
        let garbled = io::read_to_string(&b"\xff"[..]).unwrap_err();
        for (error, english, chinese) in [
            (
                kind(io::ErrorKind::NotFound),
                "No such file or directory",
                "没有那个文件或目录",
            ),
            (
                garbled,
                "stream did not contain valid UTF-8",
                "内容不是有效的 UTF-8",
            ),
            (io::Error::other("its own"), "its own", "its own"),
            (
                io::Error::other("x (os error 2)"),
                "x (os error 2)",
                "x (os error 2)",
            ),
            (
                io::Error::other(kind(io::ErrorKind::TimedOut)),
                "Connection timed out",
                "连接超时",
            ),
            (
                kind(io::ErrorKind::InvalidInput),
                "invalid input parameter",
                "invalid input parameter",
            ),
            (kind(io::ErrorKind::Other), "other error", "other error"),
        ] {
            let why = Why::from(&error);
            assert_eq!(why.to_string(), english);
            assert_eq!(why.say(Language::Chinese), chinese);
        }
    }
}
