//! The place of a text that a hit is about. Pure.

/// Characters before the first word that was found.
const BEFORE: usize = 40;
/// Characters of a snippet.
const LENGTH: usize = 160;
/// Letters at the end of a word that may differ: the index knows stems.
const ENDING: usize = 3;
const MIN_STEM: usize = 3;

/// The stretch with most of the words, on one line.
pub fn around(text: &str, words: &[&str]) -> String {
    let flat: Vec<char> = text
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect();
    let lower: Vec<char> = flat
        .iter()
        .map(|c| c.to_lowercase().next().unwrap_or(*c))
        .collect();
    let mut places: Vec<Place> = words
        .iter()
        .enumerate()
        .flat_map(|(word, text)| {
            let length = text.chars().count();
            let found = found(&lower, text).into_iter();
            found.map(move |at| Place { at, length, word })
        })
        .collect();
    places.sort_by_key(|place| place.at);
    let at = densest(&places).unwrap_or(0);
    let start = at.saturating_sub(BEFORE);
    let shown: String = flat.iter().skip(start).take(LENGTH).collect();
    let mut out = String::new();
    if start > 0 {
        out.push('…');
    }
    out.push_str(shown.trim());
    if start + LENGTH < flat.len() {
        out.push('…');
    }
    out
}

/// Where a word was found.
struct Place {
    at: usize,
    length: usize,
    word: usize,
}

/// Where a window begins that has most of the words in it. Long words are rare ones, and weigh more.
fn densest(places: &[Place]) -> Option<usize> {
    let mut best: Option<(usize, usize)> = None;
    for (i, first) in places.iter().enumerate() {
        let end = first.at + LENGTH - BEFORE;
        let mut inside: Vec<(usize, usize)> = places
            .iter()
            .skip(i)
            .take_while(|place| place.at + place.length <= end)
            .map(|place| (place.word, place.length))
            .collect();
        inside.sort_unstable();
        inside.dedup();
        let weight = inside.iter().map(|(_, length)| length).sum();
        if best.is_none_or(|(most, _)| weight > most) {
            best = Some((weight, first.at));
        }
    }
    best.map(|(_, at)| at)
}

/// Occurrences of a word that count.
const MAX_FOUND: usize = 64;

/// Where a word stands, or its stem when it does not itself.
fn found(text: &[char], word: &str) -> Vec<usize> {
    let mut word: Vec<char> = word.chars().collect();
    for _ in 0..=ENDING {
        if word.is_empty() {
            return Vec::new();
        }
        let hits = text
            .windows(word.len())
            .enumerate()
            .filter(|(_, window)| *window == word.as_slice());
        let hits: Vec<usize> = hits.map(|(at, _)| at).take(MAX_FOUND).collect();
        let whole: Vec<usize> = hits
            .iter()
            .copied()
            .filter(|at| is_word(text, *at, word.len()))
            .collect();
        if !whole.is_empty() {
            return whole;
        }
        if !hits.is_empty() || word.len() <= MIN_STEM {
            return hits;
        }
        word.pop();
    }
    Vec::new()
}

/// Whether no letter stands before or after.
fn is_word(text: &[char], at: usize, length: usize) -> bool {
    let ends = |place: Option<usize>| {
        let beside = place.and_then(|place| text.get(place));
        beside.is_none_or(|c| !c.is_alphanumeric())
    };
    ends(at.checked_sub(1)) && ends(Some(at + length))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_words_go_first() {
        let text: Vec<char> = "w12 xw1 w1 w1s".chars().collect();
        for (word, expect) in [("w1", vec![8]), ("w1s", vec![11]), ("w", vec![0, 5, 8, 11])] {
            assert_eq!(found(&text, word), expect, "{word}");
        }
    }

    #[test]
    fn the_place_is_shown() {
        let far = format!(
            "{}the ÉCLAIR\nparser broke{}",
            "x ".repeat(200),
            " y".repeat(200)
        );
        for (text, words, expect) in [
            ("short", &["other"][..], "short"),
            ("", &["a"], ""),
            ("one\u{1b}[1m\ntwo", &["two"], "one [1m two"),
            (
                "我们修复了解析器的错误",
                &["解析"],
                "我们修复了解析器的错误",
            ),
        ] {
            assert_eq!(around(text, words), expect);
        }
        for words in [&["éclair"][..], &["parsers"], &["x", "éclair", "parser"]] {
            let shown = around(&far, words);
            assert!(shown.contains("ÉCLAIR parser broke"), "{words:?}: {shown}");
            assert!(shown.starts_with('…') && shown.ends_with('…'), "{shown}");
            assert!(shown.chars().count() <= LENGTH + 2);
        }
    }
}
