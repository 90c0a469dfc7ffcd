//! The language in which this process speaks to the person, and its words. Sessions carry a language of their own; this one
//! is for all that is said before and beside them.

use crate::config::paths::Env;
use ostler_wire::{Language, Word};
use std::fmt::Display;
use std::path::Path;
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

/// The same with its `{}` filled.
pub fn filled(word: Word, values: &[&dyn Display]) -> String {
    let values: Vec<String> = values.iter().map(ToString::to_string).collect();
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
