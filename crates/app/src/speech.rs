//! The language in which this process speaks to the person, and its words. Sessions carry a language of their own; this one
//! is for all that is said before and beside them.

use crate::config::keys::KeyError;
use crate::config::paths::Env;
use crate::config::tree::Place;
use crate::config::units::ByteSize;
use ostler_wire::{Language, Say, Why, Word};
use std::path::Path;
use std::process::ExitStatus;
use std::sync::atomic::{AtomicBool, Ordering};

/// What tells the language where no setting does, the first one first.
const VARIABLES: [&str; 4] = ["OSTLER_LANG", "LC_ALL", "LC_MESSAGES", "LANG"];
/// Bytes of a configuration file in which its language is looked for before the file is read as such.
const PEEK: usize = 64 * 1024;

static CHINESE: AtomicBool = AtomicBool::new(false);

pub fn set(language: Language) {
    CHINESE.store(language == Language::Chinese, Ordering::Relaxed);
}

pub fn language() -> Language {
    match CHINESE.load(Ordering::Relaxed) {
        true => Language::Chinese,
        false => Language::English,
    }
}

/// The text of a word.
pub fn spoken(word: Word) -> &'static str {
    language().say(word)
}

/// What may fill a hole. Errors that speak English by themselves are none of it, so that none gets into a sentence past the
/// table: those of the system and of our crates are said in the person's language, those of libraries are named below.
pub trait Fill {
    fn fill(&self) -> String;
}

impl<T: Fill + ?Sized> Fill for &T {
    fn fill(&self) -> String {
        (**self).fill()
    }
}

macro_rules! as_they_are {
    ($($kind:ty),* $(,)?) => {
        $(impl Fill for $kind {
            fn fill(&self) -> String {
                self.to_string()
            }
        })*
    };
}

macro_rules! by_the_table {
    ($($kind:ty),* $(,)?) => {
        $(impl Fill for $kind {
            fn fill(&self) -> String {
                self.say(language())
            }
        })*
    };
}

as_they_are!(str, String, char, u8, u16, u32, u64, u128, usize, i64, f64);
as_they_are!(std::path::Display<'_>, std::fmt::Arguments<'_>, url::Url);
// These speak by the table themselves.
as_they_are!(ByteSize, KeyError, Place);
// What libraries find wrong with a text is told as they tell it.
as_they_are!(
    serde_json::Error,
    url::ParseError,
    jsonschema::ValidationError<'_>
);
by_the_table!(
    std::io::Error,
    ostler_engine::hooks::MatcherError,
    ostler_host::sandbox::Error,
);

impl Fill for Why {
    fn fill(&self) -> String {
        self.say(language())
    }
}

impl Fill for ExitStatus {
    fn fill(&self) -> String {
        match self.code() {
            Some(code) => filled(Word::ExitCode, &[&code.to_string()]),
            None => self.to_string(),
        }
    }
}

impl Fill for dyn std::error::Error {
    fn fill(&self) -> String {
        of_system(self).unwrap_or_else(|| self.to_string())
    }
}

impl Fill for anyhow::Error {
    fn fill(&self) -> String {
        told(self)
    }
}

/// An error and what lies behind it, in the person's language as far as it is known.
pub fn told(error: &anyhow::Error) -> String {
    let mut out = String::new();
    for cause in error.chain() {
        let said = cause.fill();
        out = match out.is_empty() {
            true => said,
            // Some say themselves what is behind them.
            false if out.contains(&said) => out,
            false => filled(Word::Because, &[&out, &said]),
        };
    }
    out
}

fn of_system(cause: &(dyn std::error::Error + 'static)) -> Option<String> {
    fn of<T: std::error::Error + Say + 'static>(
        cause: &(dyn std::error::Error + 'static),
    ) -> Option<String> {
        Some(cause.downcast_ref::<T>()?.say(language()))
    }
    of::<std::io::Error>(cause)
        .or_else(|| of::<ostler_host::Error>(cause))
        .or_else(|| of::<ostler_host::sandbox::Error>(cause))
        .or_else(|| of::<ostler_engine::checkpoint::Error>(cause))
        .or_else(|| of::<ostler_engine::memory::MemoryError>(cause))
        .or_else(|| of::<ostler_guard::RuleError>(cause))
}

/// The same with its `{}` filled.
pub fn filled(word: Word, values: &[&dyn Fill]) -> String {
    let values: Vec<String> = values.iter().map(|value| value.fill()).collect();
    let values: Vec<&str> = values.iter().map(String::as_str).collect();
    language().fill(word, &values)
}

/// `1 session`, `2 sessions`.
pub fn many(number: usize, word: Word) -> String {
    language().many(word, number, &[&number.to_string()])
}

/// The language of the surface: the setting, `OSTLER_LANG`, the locale.
pub fn chosen(setting: Option<&str>, env: &Env) -> Language {
    let named = VARIABLES
        .iter()
        .filter_map(|name| env.get(*name).map(String::as_str));
    setting
        .into_iter()
        .chain(named)
        .find_map(Language::from_name)
        .unwrap_or_default()
}

/// The `language` of a configuration file as far as it can be told without reading it: so that what is wrong with the file
/// can be said in that language.
pub fn peeked(file: &Path) -> Option<String> {
    let bytes = std::fs::metadata(file).ok().filter(|m| m.is_file())?.len();
    if bytes > PEEK as u64 {
        return None;
    }
    in_text(&std::fs::read_to_string(file).ok()?)
}

fn in_text(text: &str) -> Option<String> {
    let top = text.lines().take_while(|line| !line.starts_with('['));
    let mut pairs = top.filter_map(|line| line.split_once('='));
    let (_, value) = pairs.find(|(key, _)| key.trim() == "language")?;
    let value = value.split('#').next().unwrap_or_default();
    Some(value.trim().trim_matches(['"', '\'']).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_language_is_found_in_a_broken_file() {
        for (text, expect) in [
            ("language = \"zh\"\nbroken = [", Some("zh")),
            ("# first\n language='en' # why\n", Some("en")),
            ("[ui]\nlanguage = \"zh\"", None),
            ("languages = \"zh\"", None),
            ("", None),
        ] {
            assert_eq!(in_text(text).as_deref(), expect, "{text}");
        }
    }

    #[test]
    fn the_setting_comes_before_the_environment() {
        let env = |pairs: &[(&str, &str)]| -> Env {
            let owned = |(k, v): &(&str, &str)| ((*k).to_owned(), (*v).to_owned());
            pairs.iter().map(owned).collect()
        };
        let (zh, en) = (Language::Chinese, Language::English);
        for (setting, variables, expect) in [
            (None, env(&[]), en),
            (None, env(&[("LANG", "zh_CN.UTF-8")]), zh),
            (
                None,
                env(&[("LANG", "zh_CN.UTF-8"), ("OSTLER_LANG", "en")]),
                en,
            ),
            (Some("zh"), env(&[("OSTLER_LANG", "en")]), zh),
            (Some("nonsense"), env(&[("LC_ALL", "zh")]), zh),
        ] {
            assert_eq!(
                chosen(setting, &variables),
                expect,
                "{setting:?} {variables:?}"
            );
        }
    }
}
