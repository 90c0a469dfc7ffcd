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
/// What is left of it without the ending of its family; shorter ones are no family.
const MIN_FAMILY: usize = 4;
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
    /// A pair of characters, which overlaps with its neighbours.
    pub pair: bool,
    /// Too common among people who program to tell much by itself.
    pub weak: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Common {
    Stop,
    Weak,
    /// A character that means nothing by itself, and is part of many words that do.
    Light,
}

static COMMON: LazyLock<HashMap<String, Common>> = LazyLock::new(|| {
    let mut out = HashMap::new();
    let (mut section, mut compared) = (Common::Stop, false);
    for line in include_str!("common.txt").lines() {
        if line.starts_with('[') {
            compared = line.contains("compared");
            section = match line {
                line if line.contains("weak") => Common::Weak,
                line if line.contains("light") => Common::Light,
                _ => Common::Stop,
            };
            continue;
        }
        for word in line.split_whitespace() {
            let forms = match compared {
                true => comparisons(word),
                false => vec![word.to_owned()],
            };
            for form in forms {
                out.entry(stem(&form)).or_insert(section);
            }
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
    let mut before: Option<&str> = None;
    for (class, run) in runs(text) {
        match class {
            Class::Cjk => cjk(run, add),
            Class::Word => {
                let all = parts(run);
                if all.len() > 1 {
                    word(run, add);
                }
                all.into_iter().for_each(|part| word(part, add));
                // Some write `hold-out`, others `holdout`.
                if let Some(before) = before.filter(|before| is_joined(text, before, run)) {
                    word(&format!("{before}{run}"), add);
                }
            }
            Class::Gap => {}
        }
        before = (class == Class::Word).then_some(run);
    }
}

/// Whether nothing but a hyphen stands between two words of a text.
fn is_joined(text: &str, one: &str, other: &str) -> bool {
    let place = |part: &str| part.as_ptr() as usize - text.as_ptr() as usize;
    let between = text.get(place(one) + one.len()..place(other));
    between == Some("-") && one.len() > 1 && other.len() > 1
}

/// `short` is said as `shorter` and `shortest`, too.
fn comparisons(word: &str) -> Vec<String> {
    let base = match word.strip_suffix('e').or_else(|| word.strip_suffix('y')) {
        Some(rest) if word.ends_with('y') => format!("{rest}i"),
        Some(rest) => rest.to_owned(),
        None => word.to_owned(),
    };
    let last = base.chars().last().map(String::from).unwrap_or_default();
    let double = format!("{base}{last}");
    [base, double]
        .iter()
        .flat_map(|base| [format!("{base}er"), format!("{base}est")])
        .collect()
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
        pair: false,
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
        let Some((len, text, common)) = phrase.filter(|(_, _, c)| *c != Common::Light) else {
            at += 1;
            continue;
        };
        between(slice(from, at), add);
        if common == Common::Weak {
            add(Term {
                hash: hash(text),
                word: text.to_owned(),
                pair: true,
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
        pair: true,
        weak,
    };
    let is_light = |c: char| COMMON.get(c.encode_utf8(&mut [0; 4]) as &str) == Some(&Common::Light);
    let mut any = false;
    for pair in pairs(run) {
        any = true;
        if !pair.chars().all(is_light) {
            add(one(pair, false));
        }
    }
    if !any && !run.is_empty() && !run.chars().all(is_light) {
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
    let soft = |word: String| match cut(&word, "y") {
        Some(rest) => rest + "i",
        None => word,
    };
    // `deployment` is of the family of `deploy`, whose end is soft.
    soft(family(soft(out)))
}

/// Words of one family: `accessible` and `accessibility`, `migrate` and `migration`, `reverse` and `reversal`.
fn family(word: String) -> String {
    const ENDINGS: [(&str, &str); 14] = [
        ("abiliti", "abl"),
        ("ibiliti", "ibl"),
        ("enci", "ent"),
        ("enc", "ent"),
        ("anci", "ant"),
        ("anc", "ant"),
        ("ation", "at"),
        ("ator", "at"),
        ("ition", "it"),
        ("ction", "ct"),
        ("rsion", "rs"),
        ("ption", "pt"),
        ("al", ""),
        ("ment", ""),
    ];
    let found = ENDINGS.iter().find_map(|(ending, rest)| {
        let stem = word.strip_suffix(ending)?;
        (stem.len() >= MIN_FAMILY).then(|| format!("{stem}{rest}"))
    });
    found.unwrap_or(word)
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
            ("a shorter, simpler one, the biggest", ""),
            ("the hold-out split", "holdout (split)"),
            ("在地图上", "地图 图上"),
            ("请再", ""),
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
            &["accessible", "accessibility"],
            &["idempotent", "idempotency", "idempotence"],
            &["migrate", "migration", "migrations", "migrating"],
            &["validate", "validator", "validation"],
            &["reverse", "reversal", "reversing"],
            &["deploy", "deployment"],
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
