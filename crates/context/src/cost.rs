//! What a request costs: the most it can cost before it is sent, and what the answer's usage comes to.

use ostler_llm::{Answer, AnswerPart, Model, Price, Target, TokenUsage};
use ostler_store::budget::{Amount, Budget};
use ostler_wire::{Usage, Why, Word};

/// Output tokens assumed where a model's limit is unknown.
const UNKNOWN_OUTPUT: u64 = 16_000;
/// Tokens per byte of text that no endpoint has counted yet. Plain English has half of it, Chinese comes near.
const PACE: f64 = 0.5;

/// The usage entry of a request. The caller adds what the request was for and what it sent.
pub fn usage_of(target: &Target, tokens: &TokenUsage) -> Usage {
    Usage {
        provider: target.origin.provider.clone(),
        model: target.origin.model.clone(),
        input: tokens.input,
        cached: tokens.cached,
        cache_write: tokens.cache_write,
        output: tokens.output,
        cost: target.price.map(|price| price.of(tokens)),
        ..Usage::default()
    }
}

fn guess_tokens(bytes: u64) -> u64 {
    (bytes as f64 * PACE).ceil() as u64
}

/// Tokens of an answer that the endpoint has not counted.
pub fn estimate_tokens(answer: &Answer) -> u64 {
    let weigh = |part: &AnswerPart| match part {
        AnswerPart::Text { text, .. } | AnswerPart::Reasoning { text, .. } => text.len(),
        AnswerPart::Call { arguments, .. } => arguments.len(),
    };
    let bytes: usize = answer.parts.iter().map(weigh).sum();
    guess_tokens(bytes as u64)
}

/// The most that a request can cost. `before` is what the last one had: its tokens and bytes.
pub fn upper_bound(
    bytes: u64,
    before: Option<(u64, u64)>,
    max_output: Option<u64>,
    price: Option<Price>,
) -> Amount {
    let input = match before {
        // No token is less than a byte.
        Some((tokens, then)) if tokens > 0 && then <= bytes => {
            tokens.min(then).saturating_add(guess_tokens(bytes - then))
        }
        Some(_) | None => guess_tokens(bytes),
    };
    let output = max_output.unwrap_or(UNKNOWN_OUTPUT);
    // Nothing of it cached, or all of it written to the cache, whichever is dearer.
    let usd = price.map_or(0.0, |price| {
        let plain = TokenUsage {
            input,
            output,
            ..TokenUsage::default()
        };
        let written = TokenUsage {
            cache_write: input,
            ..plain
        };
        price.of(&plain).max(price.of(&written))
    });
    Amount {
        usd,
        tokens: input.saturating_add(output),
    }
}

/// A budget in money cannot be kept with a model whose price is unknown.
pub fn check_affordable(budget: &Budget, model: &Model) -> Result<(), Why> {
    match (budget.limits().in_usd(), model.target().price) {
        (true, None) => Err(Why::ours(Word::BudgetNoPrice, [model.reference().into()])),
        (true, Some(_)) | (false, _) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Half of the smallest sum that is told apart.
    const DUST: f64 = 1e-9;
    const PRICE: Price = Price {
        input: 2.0,
        cached_input: Some(0.2),
        cache_write: Some(2.5),
        output: 10.0,
    };

    fn amount(usd: f64, tokens: u64) -> Amount {
        Amount { usd, tokens }
    }

    #[test]
    fn the_upper_bound_follows_from_bytes_and_the_last_usage() {
        for (bytes, before, output, price, expect) in [
            (
                2_000_000,
                None,
                Some(100_000),
                Some(PRICE),
                amount(3.5, 1_100_000),
            ),
            // What was counted stays, what is new is guessed.
            (
                4_000_000,
                Some((1_000_000, 2_000_000)),
                Some(0),
                Some(PRICE),
                amount(5.0, 2_000_000),
            ),
            // Shorter than before: guessed as a whole.
            (
                2_000,
                Some((9_000, 3_000)),
                Some(0),
                None,
                amount(0.0, 1_000),
            ),
            (2_000, Some((0, 0)), Some(0), None, amount(0.0, 1_000)),
            // A count that cannot be.
            (10, Some((1_000_000, 10)), Some(0), None, amount(0.0, 10)),
            (0, None, None, None, amount(0.0, UNKNOWN_OUTPUT)),
        ] {
            let got = upper_bound(bytes, before, output, price);
            assert!(
                (got.usd - expect.usd).abs() < DUST && got.tokens == expect.tokens,
                "{got:?} {expect:?}"
            );
        }
        let cheap_writes = Price {
            cache_write: Some(0.1),
            ..PRICE
        };
        assert!((upper_bound(2_000_000, None, Some(0), Some(cheap_writes)).usd - 2.0).abs() < DUST);
    }
}
