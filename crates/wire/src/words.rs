//! Every text that a person reads in more than one language. The texts are data in `words/*.toml`; `build.rs` makes a constant
//! of each, which knows how many values it takes. What models read, logs and errors of the system stay in English.

use std::fmt;

/// A language of the surface.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Language {
    #[default]
    English,
    Chinese,
}

impl Language {
    /// By a setting (`zh`, `en`, `zh-CN`) or a locale (`zh_CN.UTF-8`).
    pub fn from_name(name: &str) -> Option<Self> {
        let name = name.trim().to_ascii_lowercase();
        let tag = name.split(['_', '-', '.', '@']).next()?;
        match tag {
            "zh" | "chinese" | "中文" => Some(Self::Chinese),
            "en" | "english" | "c" | "posix" => Some(Self::English),
            _ => None,
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::English => "en",
            Self::Chinese => "zh",
        }
    }

    /// The text of a word that takes no values.
    pub fn say(self, word: Word) -> &'static str {
        self.text(word.into())
    }

    /// The text of a word with its holes filled: `{}` in order, `{1}` by its number.
    pub fn fill<const N: usize>(self, word: Word<N>, values: &[&str; N]) -> String {
        filled(self.text(word.into()), values)
    }

    /// The form for one (`{} file¦{} files`: before the bar) or for many, filled. Chinese has one form.
    pub fn many<const N: usize>(self, word: Word<N>, number: usize, values: &[&str; N]) -> String {
        let text = self.text(word.into());
        let form = match (text.split_once('¦'), number) {
            (Some((one, _)), 1) => one,
            (Some((_, many)), _) => many,
            (None, _) => text,
        };
        filled(form, values)
    }

    /// The text of a word as it stands, with its holes.
    pub fn text(self, word: AnyWord) -> &'static str {
        let (english, chinese, _) = TEXTS[usize::from(word.0)];
        match self {
            Self::English => english,
            Self::Chinese => chinese,
        }
    }
}

/// A text of the surface that takes N values. One for each text is a constant: `Word::NoEditor`.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Word<const N: usize = 0>(u16);

impl<const N: usize> Word<N> {
    /// The same in every program of one version.
    pub fn number(self) -> u16 {
        self.0
    }

    /// None if there is no such text, or if it takes another number of values.
    pub fn from_number(number: u16) -> Option<Self> {
        let (_, _, holes) = TEXTS.get(usize::from(number))?;
        (*holes == N).then_some(Self(number))
    }
}

/// A text that takes any number of values, which are kept beside it.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct AnyWord(u16);

impl AnyWord {
    /// The same in every program of one version.
    pub fn number(self) -> u16 {
        self.0
    }

    /// None if there is no such text.
    pub fn from_number(number: u16) -> Option<Self> {
        (usize::from(number) < TEXTS.len()).then_some(Self(number))
    }
}

impl fmt::Debug for AnyWord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        #[cfg(debug_assertions)]
        return f.write_str(NAMES[usize::from(self.0)]);
        #[cfg(not(debug_assertions))]
        return write!(f, "{:?}", Language::English.text(*self));
    }
}

impl<const N: usize> fmt::Debug for Word<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        AnyWord::from(*self).fmt(f)
    }
}

impl<const N: usize> From<Word<N>> for AnyWord {
    fn from(word: Word<N>) -> Self {
        Self(word.0)
    }
}

/// A number for people: `1,234,567`.
pub fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

pub(crate) fn filled(text: &str, values: &[&str]) -> String {
    let mut out = String::new();
    let mut next = 0;
    let mut rest = text;
    while let Some((start, end, at)) = hole(rest) {
        out.push_str(&rest[..start]);
        let index = at.unwrap_or(next);
        next += usize::from(at.is_none());
        out.push_str(values.get(index).copied().unwrap_or_default());
        rest = &rest[end..];
    }
    out.push_str(rest);
    out
}

/// Where the next hole begins and ends, and its number if it has one.
fn hole(text: &str) -> Option<(usize, usize, Option<usize>)> {
    text.match_indices('{').find_map(|(start, _)| {
        let (inner, _) = text[start + 1..].split_once('}')?;
        let number = match inner {
            "" => None,
            digit if digit.len() == 1 => Some(digit.parse().ok()?),
            _ => return None,
        };
        Some((start, start + inner.len() + 2, number))
    })
}

include!(concat!(env!("OUT_DIR"), "/words.rs"));

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holes_are_filled() {
        for (text, expect) in [
            ("a {} b {}", "a 1 b 2"),
            ("{1} before {0}", "2 before 1"),
            ("${{}}", "${1}"),
            ("a `}` and { b }", "a `}` and { b }"),
            ("{} {} {}", "1 2 "),
        ] {
            assert_eq!(filled(text, &["1", "2"]), expect, "{text}");
        }
        let say = |n| Language::English.many(Word::Files, n, &[&n.to_string()]);
        assert_eq!([say(0), say(1), say(2)], ["0 files", "1 file", "2 files"]);
        let say = |n| Language::Chinese.many(Word::Files, n, &[&n.to_string()]);
        assert_eq!(say(1), "1 个文件");
    }

    #[test]
    fn thousands_stand_apart() {
        for (number, expect) in [
            (0, "0"),
            (999, "999"),
            (1_000, "1,000"),
            (1_234_567, "1,234,567"),
        ] {
            assert_eq!(thousands(number), expect);
        }
    }

    #[test]
    fn languages_by_name() {
        for (name, expect) in [
            ("zh_CN.UTF-8", Some(Language::Chinese)),
            ("zh", Some(Language::Chinese)),
            ("en_US.UTF-8", Some(Language::English)),
            ("C", Some(Language::English)),
            ("de_DE", None),
            ("", None),
        ] {
            assert_eq!(Language::from_name(name), expect, "{name}");
        }
        assert_eq!(Language::Chinese.fill(Word::Context, &["7"]), "上下文 7%");
    }
}
