//! Texts for people before their language is known: a word of the table with its holes filled. Whoever shows one knows the
//! language. Nothing here knows it.

use ostler_wire::{Language, Why, Word};
use std::error::Error;
use std::fmt;
use std::process::ExitStatus;

/// What may fill a hole. Errors that have English words only are not among them, so that none gets into a sentence in
/// another language; what libraries find wrong with a text is shown in their own words.
pub trait Fill {
    fn fill(&self) -> Why;
}

impl<T: Fill + ?Sized> Fill for &T {
    fn fill(&self) -> Why {
        (**self).fill()
    }
}

impl Fill for Why {
    fn fill(&self) -> Why {
        self.clone()
    }
}

impl Fill for Word {
    fn fill(&self) -> Why {
        (*self).into()
    }
}

/// For types whose `Display` is the same in every language.
macro_rules! as_displayed {
    ($($kind:ty),* $(,)?) => {
        $(impl $crate::text::Fill for $kind {
            fn fill(&self) -> ostler_wire::Why {
                self.to_string().into()
            }
        })*
    };
}

/// For types that say themselves what their text is.
macro_rules! as_converted {
    ($($kind:ty),* $(,)?) => {
        $(impl $crate::text::Fill for $kind {
            fn fill(&self) -> ostler_wire::Why {
                self.into()
            }
        })*
    };
}

as_displayed!(str, String, char, u8, u16, u32, u64, u128, usize, i64, f64);
as_displayed!(std::path::Display<'_>, fmt::Arguments<'_>, url::Url);
as_displayed!(serde_json::Error, url::ParseError);
as_converted!(std::io::Error, ostler_sandbox::Error);

impl Fill for ExitStatus {
    fn fill(&self) -> Why {
        match self.code() {
            Some(code) => Why::ours(Word::ExitCode, [code.to_string().into()]),
            None => self.to_string().into(),
        }
    }
}

/// A word with its holes filled.
pub fn phrase<const N: usize>(word: Word<N>, values: &[&dyn Fill; N]) -> Why {
    Why::Ours(
        word.into(),
        values.iter().map(|value| value.fill()).collect(),
    )
}

/// An error with a text of ours in front of what caused it.
#[derive(Debug)]
pub struct Explained {
    pub why: Why,
    source: Box<dyn Error + Send + Sync>,
}

impl fmt::Display for Explained {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.why.fmt(f)
    }
}

impl Error for Explained {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&*self.source)
    }
}

/// What `anyhow::Context` does, for a text whose language is not known yet.
pub trait Explain<T> {
    fn explain(self, why: impl FnOnce() -> Why) -> Result<T, Explained>;
}

impl<T, E: Into<Box<dyn Error + Send + Sync>>> Explain<T> for Result<T, E> {
    fn explain(self, why: impl FnOnce() -> Why) -> Result<T, Explained> {
        self.map_err(|error| Explained {
            why: why(),
            source: error.into(),
        })
    }
}

/// Texts in a language that is known.
pub trait Speak {
    fn filled<const N: usize>(self, word: Word<N>, values: &[&dyn Fill; N]) -> String;

    /// `1 session`, `2 sessions`.
    fn counted(self, number: usize, word: Word<1>) -> String;
}

impl Speak for Language {
    fn filled<const N: usize>(self, word: Word<N>, values: &[&dyn Fill; N]) -> String {
        phrase(word, values).say(self)
    }

    fn counted(self, number: usize, word: Word<1>) -> String {
        self.many(word, number, &[&number.to_string()])
    }
}
