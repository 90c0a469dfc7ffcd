//! Which texts fit a typed pattern, best first.

/// Texts that are looked at; a menu has far fewer.
const MAX_TEXTS: usize = 10_000;

/// Indices of the texts that fit, in their own order where nothing was typed.
pub fn sift(pattern: &str, texts: &[String]) -> Vec<usize> {
    let texts = texts.get(..texts.len().min(MAX_TEXTS)).unwrap_or_default();
    if pattern.trim().is_empty() {
        return (0..texts.len()).collect();
    }
    let pattern: Vec<char> = pattern.trim().chars().collect();
    let scored = texts.iter().enumerate();
    let mut hits: Vec<(i32, usize)> = scored
        .filter_map(|(n, text)| Some((score(&pattern, text)?, n)))
        .collect();
    // Of two that fit equally well the shorter is meant.
    let len = |n: usize| texts.get(n).map_or(0, String::len);
    hits.sort_by_key(|(score, n)| (std::cmp::Reverse(*score), len(*n)));
    hits.into_iter().map(|(_, n)| n).collect()
}

/// For each letter that is found, for one that begins a word, the text, or follows the one before, and for the same case.
const LETTER: i32 = 16;
const WORD: i32 = 8;
const BEGIN: i32 = 4;
const RUN: i32 = 10;
const CASE: i32 = 1;
/// Off for letters between two that are found: the first of them, and each further one.
const GAP: i32 = 3;
const WIDER: i32 = 1;

/// How well the letters of a pattern fit a text, in their order and at the best places; nothing where one is missing.
fn score(pattern: &[char], text: &str) -> Option<i32> {
    let text: Vec<char> = text.chars().collect();
    // The best score of the letters so far with the last of them at each place.
    let mut ends: Vec<Option<i32>> = vec![None; text.len()];
    for (n, wanted) in pattern.iter().enumerate() {
        let mut next = vec![None; text.len()];
        let mut far: Option<i32> = None;
        let mut near = None;
        let mut before = None;
        for (at, found) in text.iter().enumerate() {
            let so_far = match n {
                0 => Some(0),
                _ => far.max(near.map(|score| score + RUN)),
            };
            if let Some(place) = next.get_mut(at).filter(|_| is_same(*wanted, *found)) {
                *place = so_far.map(|score| score + worth(*wanted, *found, before));
            }
            far = far
                .map(|score| score - WIDER)
                .max(near.map(|score| score - GAP));
            near = ends.get(at).copied().flatten();
            before = Some(*found);
        }
        ends = next;
    }
    ends.into_iter().flatten().max()
}

fn is_same(wanted: char, found: char) -> bool {
    wanted == found || wanted.to_lowercase().eq(found.to_lowercase())
}

fn worth(wanted: char, found: char, before: Option<char>) -> i32 {
    let begins = match before {
        None => WORD + BEGIN,
        Some(before) if !before.is_alphanumeric() => WORD,
        Some(before) if before.is_lowercase() && found.is_uppercase() => WORD,
        Some(_) => 0,
    };
    let same_case = if wanted == found { CASE } else { 0 };
    LETTER + begins + same_case
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_comes_first() {
        let texts: Vec<String> = ["model", "mode", "compact", "cost", "status"]
            .map(String::from)
            .to_vec();
        let names = |pattern| -> Vec<&str> {
            sift(pattern, &texts)
                .into_iter()
                .map(|n| texts[n].as_str())
                .collect()
        };
        assert_eq!(names(""), ["model", "mode", "compact", "cost", "status"]);
        assert_eq!(names("mod").first(), Some(&"mode"));
        assert_eq!(names("cmp"), ["compact"]);
        assert!(names("zzz").is_empty());
    }

    #[test]
    fn words_runs_and_case_count() {
        let best = |pattern: &str, texts: &[&str]| {
            let texts: Vec<String> = texts.iter().map(|text| (*text).to_owned()).collect();
            let fits = sift(pattern, &texts);
            fits.first().map_or("", |n| texts[*n].as_str()).to_owned()
        };
        for (pattern, texts, expect) in [
            ("rs", &["parser", "read_state"][..], "read_state"),
            ("state", &["s-t-a-t-e", "my_state"], "my_state"),
            ("fb", &["fabric", "fooBar"], "fooBar"),
            ("Go", &["goto", "Gopher"], "Gopher"),
            // The first `a` is no good place for it.
            ("ab", &["a-x-y-ab", "axxxxxxb"], "a-x-y-ab"),
            ("模型", &["大模型", "模样型"], "大模型"),
            ("ÄR", &["bär", "b"], "bär"),
        ] {
            assert_eq!(best(pattern, texts), expect, "{pattern}");
        }
    }
}
