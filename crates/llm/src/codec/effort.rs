//! Effort in an endpoint's own words, or as a number of tokens.

use crate::{Effort, Quirks};

/// All words in use, weakest first.
const WORDS: [&str; 7] = ["none", "minimal", "low", "medium", "high", "xhigh", "max"];

/// The word nearest to the effort among those the model takes; of two equally near ones the stronger.
pub(super) fn word(
    effort: Effort,
    quirks: &Quirks,
    usual: &[&'static str],
) -> Option<&'static str> {
    let wanted: usize = match effort {
        Effort::None => 0,
        Effort::Minimal => 1,
        Effort::Low => 2,
        Effort::Medium => 3,
        Effort::High => 4,
        Effort::Max => 6,
    };
    let takes = |word: &str| {
        if quirks.efforts.is_empty() {
            usual.contains(&word)
        } else {
            quirks.efforts.iter().any(|w| w == word)
        }
    };
    let ranked = WORDS.iter().enumerate().filter(|(_, word)| takes(word));
    ranked
        .min_by_key(|(rank, _)| (wanted.abs_diff(*rank), std::cmp::Reverse(*rank)))
        .map(|(_, word)| *word)
}

/// A thinking budget in tokens; none for no thinking.
pub(super) fn budget(effort: Effort) -> Option<u64> {
    match effort {
        Effort::None => None,
        Effort::Minimal => Some(1_024),
        Effort::Low => Some(4_096),
        Effort::Medium => Some(10_240),
        Effort::High => Some(20_480),
        Effort::Max => Some(32_000),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_word_is_sent() {
        use Effort::*;
        const USUAL: &[&str] = &["none", "low", "high"];
        for (efforts, effort, expect) in [
            ("", None, Some("none")),
            ("", Medium, Some("high")),
            ("", Max, Some("high")),
            ("low,high,max", None, Some("low")),
            ("low,high,max", Medium, Some("high")),
            ("low,high,max", Max, Some("max")),
            ("low,medium,high,xhigh", Max, Some("xhigh")),
            ("minimal,low", Minimal, Some("minimal")),
            ("turbo", High, Option::None),
        ] {
            let efforts = efforts
                .split(',')
                .filter(|w| !w.is_empty())
                .map(str::to_owned);
            let quirks = Quirks {
                efforts: efforts.collect(),
                ..Quirks::default()
            };
            assert_eq!(word(effort, &quirks, USUAL), expect);
        }
    }
}
