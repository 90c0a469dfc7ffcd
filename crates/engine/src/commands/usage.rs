//! `usage` and `/cost`: tokens and cost of past requests, of every session from the ledger or of this one from its log.

use super::context::{HubContext, column};
use crate::budget::State;
use crate::compaction;
use crate::ledger::{Ledger, Line, Tokens};
use crate::log::Log;
use jiff::tz::TimeZone;
use ostler_context::account::Account;
use ostler_context::handoff;
use ostler_wire::{
    Body, Cell, Column, ColumnKind, Frame, Language, Row, Say, Table, View, Word, short_id,
    thousands,
};
use serde::Serialize;
use serde_json::json;
use std::collections::BTreeMap;

/// Columns of the longest bar.
const BAR: f64 = 20.0;

#[derive(Clone, Debug)]
pub struct UsageRequest {
    pub by: UsageBy,
    pub chart: Chart,
    /// Where the days of the person begin.
    pub zone: TimeZone,
}

/// What the sums are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UsageBy {
    Day,
    Model,
    Project,
    Session,
}

/// Whether bars stand beside the sums.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Chart {
    Bars,
    None,
}

impl UsageBy {
    fn name(self) -> &'static str {
        match self {
            UsageBy::Day => "day",
            UsageBy::Model => "model",
            UsageBy::Project => "project",
            UsageBy::Session => "session",
        }
    }

    fn heading(self) -> Word {
        match self {
            UsageBy::Day => Word::ColDay,
            UsageBy::Model => Word::ColModel,
            UsageBy::Project => Word::ColProject,
            UsageBy::Session => Word::ColSession,
        }
    }

    fn key(self, line: &Line, zone: &TimeZone) -> String {
        match self {
            UsageBy::Day => match line.ts.parse::<jiff::Timestamp>() {
                Ok(ts) => ts.to_zoned(zone.clone()).date().to_string(),
                Err(_) => "unknown".into(),
            },
            UsageBy::Model => format!("{}/{}", line.tokens.provider, line.tokens.model),
            UsageBy::Project => line.project.clone(),
            UsageBy::Session => line.session.clone(),
        }
    }
}

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
struct Sum {
    requests: u64,
    input: u64,
    cached: u64,
    cache_write: u64,
    output: u64,
    /// USD of the requests whose price is known.
    cost: Option<f64>,
    /// Requests whose price is not known.
    unpriced: u64,
}

impl Sum {
    fn add(&mut self, tokens: &Tokens) {
        self.requests += 1;
        self.input = self.input.saturating_add(tokens.input);
        self.cached = self.cached.saturating_add(tokens.cached);
        self.cache_write = self.cache_write.saturating_add(tokens.cache_write);
        self.output = self.output.saturating_add(tokens.output);
        match tokens.cost {
            Some(cost) => self.cost = Some(self.cost.unwrap_or(0.0) + cost),
            None => self.unpriced += 1,
        }
    }
}

/// Sums of the ledger.
pub fn usage(context: &HubContext, request: &UsageRequest) -> View {
    let lines = match Ledger::new(&context.home).lines() {
        Ok(lines) => lines,
        Err(error) => {
            let path = context.home.join("ledger.jsonl").display().to_string();
            let what = context.fill(Word::CannotBeRead, &[&path]);
            let why = error.say(context.language);
            return View::Error(context.fill(Word::Because, &[&what, &why]));
        }
    };
    let mut sums: BTreeMap<String, Sum> = BTreeMap::new();
    let mut total = Sum::default();
    for line in &lines {
        let key = request.by.key(line, &request.zone);
        sums.entry(key).or_default().add(&line.tokens);
        total.add(&line.tokens);
    }
    let mut sums: Vec<(String, Sum)> = sums.into_iter().collect();
    match request.by {
        UsageBy::Day => {}
        UsageBy::Model | UsageBy::Project | UsageBy::Session => sums.sort_by(|(_, a), (_, b)| {
            let weight = |sum: &Sum| (sum.cost.unwrap_or(0.0), sum.input as f64);
            weight(b)
                .partial_cmp(&weight(a))
                .unwrap_or(std::cmp::Ordering::Equal)
        }),
    }
    let fields = [("by", json!(request.by.name())), ("total", json!(total))];
    let fields = fields.map(|(key, value)| (key.to_owned(), value));
    let mut table = Table {
        empty: context.say(Word::DocNoRequestsYet).into(),
        frame: Some(Frame {
            fields: fields.into_iter().collect(),
            rows: "rows".into(),
        }),
        ..table(context.language, request.by, &sums, &total)
    };
    if request.chart == Chart::Bars {
        draw_bars(&mut table, &sums, &total);
    }
    View::Table(table)
}

fn table(language: Language, by: UsageBy, sums: &[(String, Sum)], total: &Sum) -> Table {
    let row = |key: &str, sum: &Sum| {
        let shown = match by {
            UsageBy::Session => short_id(key),
            UsageBy::Day | UsageBy::Model | UsageBy::Project => key,
        };
        Row::new(vec![
            Cell::named(shown, key),
            Cell::count(sum.requests),
            Cell::count(sum.input),
            Cell::count(sum.cached),
            Cell::count(sum.output),
            Cell::cost(sum.cost),
            Cell::data(&sum.cache_write),
            Cell::data(&sum.unpriced),
        ])
    };
    let column = |kind, key, word| column(language, kind, key, word);
    let columns = vec![
        column(ColumnKind::Prose, "key", by.heading()),
        column(ColumnKind::Number, "requests", Word::ColRequests),
        column(ColumnKind::Number, "input", Word::ColInput),
        column(ColumnKind::Number, "cached", Word::ColCached),
        column(ColumnKind::Number, "output", Word::ColOutput),
        column(ColumnKind::Number, "cost", Word::ColCost),
        Column::data("cache_write"),
        Column::data("unpriced"),
    ];
    let rows = sums.iter().map(|(key, sum)| row(key, sum)).collect();
    let mut table = Table::new(columns, rows);
    if !sums.is_empty() {
        table.sums = vec![row(language.say(Word::RowTotal), total)];
    }
    if total.unpriced > 0 && total.cost.is_some() {
        let values = [total.unpriced, total.requests].map(thousands);
        let values = values.each_ref().map(String::as_str);
        table.summary = language.many(Word::UsageUnpriced, total.unpriced as usize, &values);
    }
    table
}

/// Bars of money where there is some, of tokens where there is none.
fn draw_bars(table: &mut Table, sums: &[(String, Sum)], total: &Sum) {
    let weight = |sum: &Sum| match total.cost {
        Some(cost) if cost > 0.0 => sum.cost.unwrap_or(0.0),
        Some(_) | None => sum.input.saturating_add(sum.output) as f64,
    };
    let most = sums.iter().map(|(_, sum)| weight(sum)).fold(0.0, f64::max);
    table.columns.push(Column::new(ColumnKind::Text, "", ""));
    for (row, (_, sum)) in table.rows.iter_mut().zip(sums) {
        let share = if most > 0.0 { weight(sum) / most } else { 0.0 };
        row.cells.push(Cell::shown(bar(share)));
    }
}

/// A share of the largest, in eighths of a column. What is not nothing shows.
fn bar(share: f64) -> String {
    const PARTS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    let least = if share > 0.0 { 1 } else { 0 };
    let eighths = ((share * BAR * 8.0).round() as usize).max(least);
    let part = PARTS.get(eighths % 8).copied().unwrap_or_default();
    "█".repeat(eighths / 8) + part
}

/// `/cost`: the same of this session, by model and purpose, and what its budgets say.
pub(super) fn cost(log: &Log, account: &Account, language: Language) -> View {
    let mut sums: BTreeMap<String, Sum> = BTreeMap::new();
    let mut total = Sum::default();
    for entry in log.branch() {
        let Body::Usage(usage) = &entry.body else {
            continue;
        };
        let mut name = format!("{}/{}", usage.provider, usage.model);
        if let Some(role) = &usage.role {
            let role = match role.as_str() {
                compaction::ROLE => language.say(Word::RoleFolding),
                handoff::ROLE => language.say(Word::RoleHandoff),
                other => other,
            };
            name = format!("{name} ({role})");
        }
        let tokens = Tokens::from(usage);
        sums.entry(name).or_default().add(&tokens);
        total.add(&tokens);
    }
    let sums: Vec<(String, Sum)> = sums.into_iter().collect();
    let mut table = Table {
        empty: language.say(Word::NothingSpent).into(),
        ..table(language, UsageBy::Model, &sums, &total)
    };
    for line in budgets(account, language) {
        table.summary.push_str(&line);
        table.summary.push('\n');
    }
    View::Table(table)
}

/// How the limits stand.
fn budgets(account: &Account, language: Language) -> Vec<String> {
    let line = |state: State| {
        let sums = [state.spent, state.limit, state.held, state.left];
        let [spent, limit, held, left] = &sums.map(|sum| sum.say(language));
        let name = language.fill(Word::RowBudget, &[&state.pot.say(language)]);
        let state = language.fill(Word::BudgetState, &[spent, limit, held, left]);
        format!("{name}: {state}")
    };
    let states = account.budget.states(account.payer());
    states.into_iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_show_shares() {
        for (share, expect) in [
            (0.0, ""),
            (0.0001, "▏"),
            (0.05, "█"),
            (0.075, "█▌"),
            (1.0, "████████████████████"),
        ] {
            assert_eq!(bar(share), expect, "{share}");
        }
    }
}
