//! The language in which the program speaks to the person: by a setting, a variable or the locale. It is a value: the
//! configuration holds it, and sessions and commands get it from there.

use crate::paths::Env;
use ostler_wire::Language;
use std::path::Path;

/// What tells the language where no setting does, the first one first.
const VARIABLES: [&str; 4] = ["OSTLER_LANG", "LC_ALL", "LC_MESSAGES", "LANG"];
/// Bytes of a configuration file in which its language is looked for before the file is read as such.
const PEEK: usize = 64 * 1024;

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
