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
    matcher
        .match_list(texts)
        .into_iter()
        .map(|hit| usize::try_from(hit.index).unwrap_or(usize::MAX))
        .collect()
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
