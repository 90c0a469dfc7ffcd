//! Words as the index knows them: CJK text as pairs of characters, identifiers by their parts. Pure. Stemming, case and
//! accents are the index's business.

use super::source::beginning;
use std::collections::HashSet;

/// Characters of a word that count; longer ones are data, not words.
const MAX_WORD: usize = 64;
/// Terms of one query that count.
const MAX_TERMS: usize = 24;
/// Bytes of a query that are read.
const MAX_QUERY: usize = 2000;

/// Whether every word of a query has to be there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Words {
    All,
    Any,
}

/// One thing that a query looks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Term {
    /// In the syntax of the index.
    pub wanted: String,
    /// As it may stand in a text, in lower case.
    pub plain: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    Cjk,
    Word,
    Gap,
}

fn class(c: char) -> Class {
    match c {
        '\u{3040}'..='\u{30ff}'
        | '\u{31f0}'..='\u{31ff}'
        | '\u{3400}'..='\u{4dbf}'
        | '\u{4e00}'..='\u{9fff}'
        | '\u{ac00}'..='\u{d7af}'
        | '\u{f900}'..='\u{faff}'
        | '\u{ff66}'..='\u{ff9d}'
        | '\u{20000}'..='\u{323af}' => Class::Cjk,
        // Accents that stand apart belong to their letter.
        '\u{300}'..='\u{36f}' => Class::Word,
        c if c.is_alphanumeric() => Class::Word,
        _ => Class::Gap,
    }
}

/// The stretches of one class, gaps left out.
pub fn runs(text: &str) -> impl Iterator<Item = (Class, &str)> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let first = class(rest.chars().next()?);
        let end = rest
            .char_indices()
            .find(|(_, c)| class(*c) != first)
            .map_or(rest.len(), |(i, _)| i);
        let (run, more) = rest.split_at(end);
        rest = more;
        Some((first, run))
    })
    .filter(|(class, _)| *class != Class::Gap)
}

/// A text as the index takes it: its words with spaces between them. What would stand between neighbours (whole names
/// beside their parts, single CJK characters) comes at the end, so that phrases stay phrases.
pub fn indexed(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + text.len() / 4);
    let mut more = String::new();
    let mut characters = HashSet::new();
    for (class, run) in runs(text) {
        match class {
            Class::Cjk => {
                pairs(run).for_each(|pair| push(&mut out, pair));
                // Once each, for whoever looks for one character.
                for c in run.chars() {
                    if characters.insert(c) {
                        push(&mut more, c.encode_utf8(&mut [0; 4]));
                    }
                }
            }
            Class::Word => {
                let run = short(run);
                let parts = parts(run);
                if parts.len() > 1 {
                    push(&mut more, run);
                }
                parts.into_iter().for_each(|part| push(&mut out, part));
            }
            Class::Gap => {}
        }
    }
    push(&mut out, &more);
    out
}

/// What a query looks for. Double quotes hold words together.
pub fn terms(query: &str, words: Words) -> Vec<Term> {
    let mut out: Vec<Term> = Vec::new();
    let mut add = |term: Term| {
        if out.len() < MAX_TERMS && !out.contains(&term) {
            out.push(term);
        }
    };
    for piece in pieces(beginning(query, MAX_QUERY)) {
        let mut phrase: Vec<&str> = Vec::new();
        for (class, run) in runs(piece) {
            match class {
                Class::Word => phrase.extend(parts(short(run))),
                Class::Cjk => match words {
                    Words::All => add(cjk(run)),
                    // Nobody puts spaces between the words of a question there.
                    Words::Any if pairs(run).next().is_none() => add(cjk(run)),
                    Words::Any => pairs(run).for_each(|pair| add(cjk(pair))),
                },
                Class::Gap => {}
            }
        }
        if !phrase.is_empty() {
            add(Term {
                wanted: format!("\"{}\"", phrase.join(" ")),
                plain: latin(piece).to_lowercase(),
            });
        }
    }
    out
}

/// Pieces between white space, or in quotes.
fn pieces(query: &str) -> impl Iterator<Item = &str> {
    query.split('"').enumerate().flat_map(|(i, part)| {
        let (quoted, loose) = match i % 2 {
            1 => (Some(part), None),
            _ => (None, Some(part.split_whitespace())),
        };
        quoted.into_iter().chain(loose.into_iter().flatten())
    })
}

/// A piece without what is not of words at its ends.
fn latin(piece: &str) -> &str {
    piece.trim_matches(|c| class(c) != Class::Word)
}

fn cjk(run: &str) -> Term {
    let mut chars = run.chars();
    let wanted = match (chars.next(), chars.next()) {
        (Some(one), None) => format!("\"{one}\""),
        _ => format!("\"{}\"", pairs(run).collect::<Vec<_>>().join(" ")),
    };
    Term {
        wanted,
        plain: run.to_lowercase(),
    }
}

pub fn pairs(run: &str) -> impl Iterator<Item = &str> {
    let ends = run.char_indices().map(|(at, c)| at + c.len_utf8()).skip(1);
    run.char_indices()
        .zip(ends)
        .filter_map(|((start, _), end)| run.get(start..end))
}

/// `parseHTTPFile` is `parse`, `HTTP`, `File`.
pub fn parts(word: &str) -> Vec<&str> {
    let mut out = Vec::new();
    let mut start = 0;
    let mut letters = word.char_indices().peekable();
    let mut before: Option<char> = None;
    while let Some((at, c)) = letters.next() {
        let next_is_lower = letters.peek().is_some_and(|(_, n)| n.is_lowercase());
        let begins = c.is_uppercase()
            && before.is_some_and(|b| !b.is_uppercase() || (b.is_uppercase() && next_is_lower));
        if begins && at > start {
            out.extend(word.get(start..at));
            start = at;
        }
        before = Some(c);
    }
    out.extend(word.get(start..).filter(|part| !part.is_empty()));
    out
}

fn short(word: &str) -> &str {
    let end = word.char_indices().nth(MAX_WORD).map(|(at, _)| at);
    end.and_then(|end| word.get(..end)).unwrap_or(word)
}

fn push(out: &mut String, word: &str) {
    if !out.is_empty() && !word.is_empty() {
        out.push(' ');
    }
    out.push_str(word);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_become_words() {
        for (text, expect) in [
            ("", ""),
            ("Fix the parser.", "Fix the parser"),
            ("src/log_file.rs:12", "src log file rs 12"),
            (
                "parseHTTPFile(sha256Sum)",
                "parse HTTP File sha256 Sum parseHTTPFile sha256Sum",
            ),
            ("修复解析器", "修复 复解 解析 析器 修 复 解 析 器"),
            ("错 x", "x 错"),
            ("修复parser的错错", "修复 parser 的错 错错 修 复 的 错"),
            (
                "カタカナ 한국어",
                "カタ タカ カナ 한국 국어 カ タ ナ 한 국 어",
            ),
            ("cafe\u{301} 👍", "cafe\u{301}"),
            ("𠀀𠀁", "𠀀𠀁 𠀀 𠀁"),
        ] {
            assert_eq!(indexed(text), expect, "{text}");
        }
        assert_eq!(indexed(&"x".repeat(5000)).len(), MAX_WORD);
    }

    #[test]
    fn queries_become_terms() {
        use Words::{All, Any};
        for (query, words, expect) in [
            ("", Any, &[][..]),
            ("Parser fails", Any, &[r#""Parser""#, r#""fails""#]),
            ("log_file.rs", Any, &[r#""log file rs""#]),
            ("parseFile", Any, &[r#""parse File""#]),
            (r#""exact words" x"#, Any, &[r#""exact words""#, r#""x""#]),
            (r#"an "open quote"#, Any, &[r#""an""#, r#""open quote""#]),
            ("解析器", All, &[r#""解析 析器""#]),
            ("解析器", Any, &[r#""解析""#, r#""析器""#]),
            ("错", Any, &[r#""错""#]),
            ("修复parser", All, &[r#""修复""#, r#""parser""#]),
            ("a a A", Any, &[r#""a""#, r#""A""#]),
            ("NEAR(* ^ -) : +", All, &[r#""NEAR""#]),
        ] {
            let got: Vec<String> = terms(query, words).into_iter().map(|t| t.wanted).collect();
            assert_eq!(got, expect, "{query}");
        }
        let many: String = (0..100).map(|n| format!("w{n} ")).collect();
        assert_eq!(terms(&many, Any).len(), MAX_TERMS);
        assert_eq!(terms(&"é".repeat(5000), Any).len(), 1);
    }
}
