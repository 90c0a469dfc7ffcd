//! Budgets as they are written: on the command line and in files.

use crate::units::non_negative;
use ostler_store::budget::{Limit, Limits};
use ostler_wire::{Why, Word};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What may be spent. The worst that a request can cost is set aside before it is sent.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct BudgetConfig {
    /// From start to end of the program.
    pub run: BudgetLimit,
    /// By one session and the tasks it started, however often it is resumed.
    pub session: BudgetLimit,
    /// By all sessions since midnight.
    pub day: BudgetLimit,
    /// By each task, which is a session that another one started.
    pub child: BudgetLimit,
    /// By all requests of a role in one run: `main` for what you type, `task`, `compaction`, `handoff`,
    /// or one that sub-agents play.
    pub roles: BTreeMap<String, BudgetLimit>,
}

/// A limit in money, in tokens, or both.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct BudgetLimit {
    /// USD. Needs a model whose price is known.
    #[serde(deserialize_with = "non_negative")]
    #[schemars(range(min = 0.0))]
    pub usd: Option<f64>,
    /// Tokens of prompts and answers, cached ones included.
    pub tokens: Option<u64>,
}

/// A limit as `--budget` takes it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Cap {
    Usd(f64),
    Tokens(u64),
}

impl Cap {
    /// `2.5`, `$2.50` and `2.5usd` are money; `500000tokens`, `500ktokens` and `2Mtokens` are tokens.
    pub fn parse(text: &str) -> Result<Self, Why> {
        let fault = || Why::from(Word::CfgMoney);
        let lower = text.trim().to_lowercase();
        let number = |text: &str| {
            let number: f64 = text.trim().parse().map_err(|_| fault())?;
            match number.is_finite() && number >= 0.0 {
                true => Ok(number),
                false => Err(fault()),
            }
        };
        let tokens = ["tokens", "token"]
            .iter()
            .find_map(|unit| lower.strip_suffix(unit));
        if let Some(tokens) = tokens {
            let tokens = tokens.trim();
            let (digits, factor) = match tokens.strip_suffix('k') {
                Some(digits) => (digits, 1e3),
                None => match tokens.strip_suffix('m') {
                    Some(digits) => (digits, 1e6),
                    None => (tokens, 1.0),
                },
            };
            // A float becomes the nearest whole number that there is.
            return Ok(Cap::Tokens((number(digits)? * factor) as u64));
        }
        let money = lower.strip_prefix('$').or(lower.strip_suffix("usd"));
        number(money.unwrap_or(&lower)).map(Cap::Usd)
    }
}

pub fn limits(config: &BudgetConfig) -> Limits {
    let limit = |limit: &BudgetLimit| Limit {
        usd: limit.usd,
        tokens: limit.tokens,
    };
    Limits {
        run: limit(&config.run),
        session: limit(&config.session),
        day: limit(&config.day),
        child: limit(&config.child),
        roles: config
            .roles
            .iter()
            .map(|(role, most)| (role.clone(), limit(most)))
            .collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn money_and_tokens() {
        for (text, expect) in [
            ("2.5", Some(Cap::Usd(2.5))),
            ("$0.10", Some(Cap::Usd(0.1))),
            ("3 USD", Some(Cap::Usd(3.0))),
            ("0", Some(Cap::Usd(0.0))),
            ("500000tokens", Some(Cap::Tokens(500_000))),
            ("1 token", Some(Cap::Tokens(1))),
            ("500k tokens", Some(Cap::Tokens(500_000))),
            ("1.5Mtokens", Some(Cap::Tokens(1_500_000))),
            ("", None),
            ("-1", None),
            ("nan", None),
            ("inf", None),
            ("500k", None),
            ("tokens", None),
            ("1e400", None),
        ] {
            assert_eq!(Cap::parse(text).ok(), expect, "{text}");
        }
    }
}
