//! What of a text tells it from others: its words, by their stems, without those that everybody says. CJK text is taken in
//! pairs of characters between its common words. Pure, and the same for facts and for prompts.

use crate::history::{Class, pairs, parts, runs};
use std::collections::HashMap;
use std::sync::LazyLock;

/// Bytes of a prompt that are looked at, at its beginning and at its end.
const MAX_HEAD: usize = 2_000;
const MAX_TAIL: usize = 1_000;
/// Different terms of one prompt, and of one fact, that count.
const MAX_ASKED: usize = 64;
const MAX_TERMS: usize = 1_024;
/// Characters of a word that count.
const MAX_WORD: usize = 40;
/// Characters of the longest common phrase of CJK text.
const MAX_PHRASE: usize = 4;
/// What is left of a word without its ending.
const MIN_STEM: usize = 3;
/// Digits of a number that says something.
const MIN_DIGITS: usize = 3;
/// How much a word counts by where it stands.
pub const NAME: u8 = 4;
pub const DESCRIPTION: u8 = 2;
pub const BODY: u8 = 1;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Term {
    pub hash: u32,
    /// As the person wrote it, in lower case.
    pub word: String,
    /// Too common among people who program to tell much by itself.
    pub weak: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Common {
    Stop,
    Weak,
}

static COMMON: LazyLock<HashMap<String, Common>> = LazyLock::new(|| {
    let mut out = HashMap::new();
    let mut section = Common::Stop;
    for line in include_str!("common.txt").lines() {
        if line.starts_with('[') {
            section = match line.contains("weak") {
                true => Common::Weak,
                false => Common::Stop,
            };
            continue;
        }
        for word in line.split_whitespace() {
            out.entry(stem(word)).or_insert(section);
        }
    }
    out
});

/// Different terms of what a person said.
pub fn asked(text: &str) -> Vec<Term> {
    let mut out: Vec<Term> = Vec::new();
    let mut add = |term: Term| {
        if out.len() < MAX_ASKED && out.iter().all(|known| known.hash != term.hash) {
            out.push(term);
        }
    };
    let head = crate::history::beginning(text, MAX_HEAD);
    each(head, &mut add);
    let rest = text.get(head.len()..).unwrap_or_default();
    let mut start = rest.len().saturating_sub(MAX_TAIL);
    while !rest.is_char_boundary(start) {
        start += 1;
    }
    each(rest.get(start..).unwrap_or_default(), &mut add);
    out
}

/// The terms of a fact by their hashes, in order, each with how much it counts.
pub fn weighed(parts: &[(&str, u8)]) -> Vec<(u32, u8)> {
    let mut out: HashMap<u32, u8> = HashMap::new();
    for (text, weight) in parts {
        each(text, &mut |term: Term| {
            if out.len() < MAX_TERMS || out.contains_key(&term.hash) {
                let sum = out.entry(term.hash).or_default();
                *sum = sum.saturating_add(*weight);
            }
        });
    }
    let mut out: Vec<(u32, u8)> = out.into_iter().collect();
    out.sort_unstable();
    out
}

fn each(text: &str, add: &mut impl FnMut(Term)) {
    for (class, run) in runs(text) {
        match class {
            Class::Cjk => cjk(run, add),
            Class::Word => {
                let all = parts(run);
                if all.len() > 1 {
                    word(run, add);
                }
                all.into_iter().for_each(|part| word(part, add));
            }
            Class::Gap => {}
        }
    }
}

fn word(text: &str, add: &mut impl FnMut(Term)) {
    let short: String = text.chars().take(MAX_WORD).collect();
    let lower = short.to_lowercase();
    let count = lower.chars().count();
    if count < 2 {
        return;
    }
    let stem = stem(&lower);
    let common = COMMON.get(&stem).copied();
    if common == Some(Common::Stop) {
        return;
    }
    let is_number = lower.chars().all(|c| c.is_ascii_digit());
    let least = if is_number { MIN_DIGITS } else { MIN_STEM };
    add(Term {
        hash: hash(&stem),
        weak: common == Some(Common::Weak) || count < least,
        word: lower,
    });
}

/// Pairs between the common words of a run, and common words that may tell something.
fn cjk(run: &str, add: &mut impl FnMut(Term)) {
    let chars: Vec<(usize, char)> = run.char_indices().collect();
    let slice = |from: usize, to: usize| {
        let start = chars.get(from).map_or(run.len(), |(at, _)| *at);
        let end = chars.get(to).map_or(run.len(), |(at, _)| *at);
        run.get(start..end).unwrap_or_default()
    };
    let (mut at, mut from) = (0, 0);
    while at < chars.len() {
        let longest = MAX_PHRASE.min(chars.len() - at);
        let phrase = (1..=longest).rev().find_map(|len| {
            let text = slice(at, at + len);
            COMMON.get(text).map(|common| (len, text, *common))
        });
        let Some((len, text, common)) = phrase else {
            at += 1;
            continue;
        };
        between(slice(from, at), add);
        if common == Common::Weak {
            add(Term {
                hash: hash(text),
                word: text.to_owned(),
                weak: true,
            });
        }
        at += len;
        from = at;
    }
    between(slice(from, chars.len()), add);
}

fn between(run: &str, add: &mut impl FnMut(Term)) {
    let one = |text: &str, weak| Term {
        hash: hash(text),
        word: text.to_owned(),
        weak,
    };
    let mut any = false;
    for pair in pairs(run) {
        any = true;
        add(one(pair, false));
    }
    if !any && !run.is_empty() {
        add(one(run, true));
    }
}

/// A word without its usual English endings, so that `deploys` and `deploying` are one.
fn stem(word: &str) -> String {
    if !word.bytes().all(|b| b.is_ascii_lowercase()) {
        return word.to_owned();
    }
    let cut = |word: &str, ending: &str| {
        let rest = word.strip_suffix(ending)?;
        (rest.len() >= MIN_STEM).then(|| rest.to_owned())
    };
    let mut out = cut(word, "ies")
        .map(|rest| rest + "i")
        .or_else(|| cut(word, "ing"))
        .or_else(|| cut(word, "ed"))
        .or_else(|| cut(word, "es"))
        .or_else(|| cut(word, "s").filter(|_| !word.ends_with("ss") && !word.ends_with("us")))
        .or_else(|| cut(word, "e"))
        .unwrap_or_else(|| word.to_owned());
    let mut last = out.chars().rev();
    if let (Some(a), Some(b)) = (last.next(), last.next())
        && a == b
        && out.len() > MIN_STEM
    {
        out.pop();
    }
    if let Some(rest) = cut(&out, "y") {
        out = rest + "i";
    }
    out
}

/// FNV-1a. It is kept in files, so it has to stay the same.
fn hash(text: &str) -> u32 {
    text.bytes().fold(0x811c_9dc5, |hash, byte| {
        (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> String {
        let shown = |t: Term| match t.weak {
            true => format!("({})", t.word),
            false => t.word,
        };
        asked(text)
            .into_iter()
            .map(shown)
            .collect::<Vec<_>>()
            .join(" ")
    }

    #[test]
    fn what_tells_a_text_from_others() {
        for (text, expect) in [
            ("Continue, please.", ""),
            ("yes, go on with the next one!", ""),
            ("好的，继续吧", ""),
            ("请再试一次，谢谢", ""),
            (
                "How do we deploy the billing gateway?",
                "(deploy) billing gateway",
            ),
            (
                "fix parseHTTPFile on port 8080 in v2",
                "(fix) parsehttpfile (parse) http (file) (port) 8080 (v2)",
            ),
            ("我们的支付网关怎么部署？", "支付 付网 网关 (部署)"),
            ("修复 parser 的内存泄漏", "(修复) parser 内存 存泄 泄漏"),
            ("树", "(树)"),
        ] {
            assert_eq!(words(text), expect, "{text}");
        }
        let many: String = (0..500).map(|n| format!("word{n} ")).collect();
        assert_eq!(asked(&many).len(), MAX_ASKED);
        assert!(
            asked(&format!("{}zebra", "é ".repeat(4000)))
                .iter()
                .any(|t| t.word == "zebra")
        );
    }

    #[test]
    fn endings_do_not_matter() {
        for group in [
            &["deploy", "deploys", "deployed", "deploying"][..],
            &["cache", "caches", "cached", "caching"],
            &["policy", "policies"],
            &["run", "running", "runs"],
            &["class", "classes"],
            &["service", "services"],
        ] {
            let stems: Vec<String> = group.iter().map(|w| stem(w)).collect();
            assert!(stems.iter().all(|s| *s == stems[0]), "{stems:?}");
        }
    }

    #[test]
    fn where_a_word_stands_counts() {
        let weighed = weighed(&[
            ("zebra", NAME),
            ("zebras eat", DESCRIPTION),
            ("grass zebra", BODY),
        ]);
        let of = |word: &str| {
            weighed
                .iter()
                .find(|(h, _)| *h == hash(&stem(word)))
                .unwrap()
                .1
        };
        assert_eq!((of("zebra"), of("grass")), (7, 1));
    }
}
