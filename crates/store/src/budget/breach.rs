//! A request that does not fit: what is said about it, and what the person is asked.

use super::Limit;
use super::books::{Pot, Span};
use ostler_wire::{Ask, AskKind, Choice, Language, PermissionChoice, Silence, Word};
use serde::Serialize;
use serde_json::json;

/// The answer that lets the work go on.
pub const RAISE: PermissionChoice = PermissionChoice::Once;

/// Money or tokens.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Sum {
    Usd(f64),
    Tokens(u64),
}

impl Sum {
    pub fn say(self, language: Language) -> String {
        match self {
            Sum::Usd(usd) if usd >= 1.0 => format!("${usd:.2}"),
            Sum::Usd(usd) => format!("${usd:.4}"),
            Sum::Tokens(tokens) => language.fill(Word::TokenCount, &[&tokens.to_string()]),
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Breach {
    pub pot: Pot,
    pub limit: Sum,
    /// Spent, or held for others.
    pub used: Sum,
    pub worst: Sum,
    /// What it would be raised to.
    pub(super) raised: Limit,
}

impl Breach {
    /// May it cost more?
    pub fn ask(&self, language: Language) -> Ask {
        let (usd, tokens) = (self.raised.usd, self.raised.tokens);
        let sums = usd.map(Sum::Usd).into_iter();
        let sums = sums.chain(tokens.map(Sum::Tokens));
        let raised: Vec<String> = sums.map(|sum| sum.say(language)).collect();
        Ask {
            kind: AskKind::Budget,
            subject: self.say(language),
            options: vec![
                Choice::permission(RAISE, language.say(Word::BudgetRaise))
                    .with_detail(language.fill(Word::BudgetTo, &[&raised.join(" + ")])),
                Choice::permission(PermissionChoice::Deny, language.say(Word::BudgetStop)),
            ],
            title: language.say(Word::BudgetReached).to_owned(),
            silence: Silence::refuses(PermissionChoice::Deny.id()),
            ..Ask::default()
        }
    }

    fn say(&self, language: Language) -> String {
        let sums = [self.limit, self.used, self.worst].map(|sum| sum.say(language));
        let [limit, used, worst] = &sums;
        let span = self.pot.say(language);
        language.fill(Word::BudgetBreach, &[&span, limit, used, worst])
    }

    /// What ends a turn, with what to do about it.
    pub fn message(&self, language: Language) -> String {
        let keys = match self.pot.span {
            Span::Run => language.say(Word::BudgetRunKeys).to_owned(),
            Span::Session => "`[budget] session`".to_owned(),
            Span::Day => "`[budget] day`".to_owned(),
            Span::Child => "`[budget] child`".to_owned(),
            Span::Role => format!("`[budget.roles] {}`", self.pot.name),
        };
        language.fill(Word::BudgetEnds, &[&self.say(language), &keys])
    }

    /// The same for programs.
    pub fn details(&self) -> serde_json::Value {
        json!({
            "span": self.pot.span,
            "limit": self.limit,
            "used": self.used,
            "worst": self.worst,
        })
    }

    /// What became of a yes.
    pub fn raised(&self, language: Language) -> String {
        language.fill(Word::BudgetRaised, &[&self.pot.say(language)])
    }
}
