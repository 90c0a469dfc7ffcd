//! Which texts fit a typed pattern, best first.

/// Texts that are looked at; a menu has far fewer.
const MAX_TEXTS: usize = 10_000;

/// Indices of the texts that fit, in their own order where nothing was typed.
pub fn sift(pattern: &str, texts: &[String]) -> Vec<usize> {
    let texts = texts.get(..texts.len().min(MAX_TEXTS)).unwrap_or_default();
    if pattern.trim().is_empty() {
        return (0..texts.len()).collect();
    }
    let config = frizbee::Config {
        max_typos: Some(0),
        ..frizbee::Config::default()
    };
    let mut matcher = frizbee::Matcher::new(pattern.trim(), &config);
    let mut hits: Vec<(u16, usize)> = matcher
        .match_list(texts)
        .into_iter()
        .map(|hit| (hit.score, usize::try_from(hit.index).unwrap_or(usize::MAX)))
        .collect();
    // Of two that fit equally well the shorter is meant.
    let len = |n: usize| texts.get(n).map_or(0, String::len);
    hits.sort_by_key(|(score, n)| (std::cmp::Reverse(*score), len(*n)));
    hits.into_iter().map(|(_, n)| n).collect()
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
}
