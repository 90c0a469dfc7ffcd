//! `ostler usage`: sums of the ledger by day, model, project or session.

use super::table::{self, Column};
use super::text;
use crate::boot::Boot;
use crate::exec::OK;
use crate::flags::{Listing, Usage, UsageBy};
use crate::speech::{filled, spoken};
use anyhow::Context as _;
use jiff::tz::TimeZone;
use ostler_engine::ledger::{Ledger, Line};
use ostler_wire::{Word, thousands};
use serde::Serialize;
use std::collections::BTreeMap;

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

#[derive(Serialize)]
struct Row<'a> {
    key: &'a str,
    #[serde(flatten)]
    sum: &'a Sum,
}

pub fn run(boot: &Boot, args: Usage) -> anyhow::Result<u8> {
    let lines = Ledger::new(&boot.places.home).lines();
    let lines = lines.with_context(|| {
        filled(
            Word::CannotBeRead,
            &[&boot.places.home.join("ledger.jsonl").display()],
        )
    })?;
    let (sums, total) = summed(&lines, args.by, &TimeZone::system());
    match args.format {
        Listing::Json => {
            let rows: Vec<Row<'_>> = sums.iter().map(|(key, sum)| Row { key, sum }).collect();
            text::print_json(
                &serde_json::json!({"by": word(args.by), "rows": rows, "total": total}),
            )?;
        }
        Listing::Text if sums.is_empty() => text::say(spoken(Word::DocNoRequestsYet)),
        Listing::Text => {
            let chart = match args.chart || table::terminal_width().is_some() {
                true => Chart::Bars,
                false => Chart::None,
            };
            text::print(&drawn(&sums, &total, args.by, chart))?;
        }
    }
    Ok(OK)
}

fn summed(lines: &[Line], by: UsageBy, zone: &TimeZone) -> (Vec<(String, Sum)>, Sum) {
    let mut sums: BTreeMap<String, Sum> = BTreeMap::new();
    let mut total = Sum::default();
    for line in lines {
        sums.entry(key(line, by, zone)).or_default().add(line);
        total.add(line);
    }
    let mut sums: Vec<(String, Sum)> = sums.into_iter().collect();
    match by {
        UsageBy::Day => {}
        UsageBy::Model | UsageBy::Project | UsageBy::Session => sums.sort_by(|(_, a), (_, b)| {
            let weight = |sum: &Sum| (sum.cost.unwrap_or(0.0), sum.input as f64);
            weight(b)
                .partial_cmp(&weight(a))
                .unwrap_or(std::cmp::Ordering::Equal)
        }),
    }
    (sums, total)
}

fn key(line: &Line, by: UsageBy, zone: &TimeZone) -> String {
    match by {
        UsageBy::Day => match line.ts.parse::<jiff::Timestamp>() {
            Ok(ts) => ts.to_zoned(zone.clone()).date().to_string(),
            Err(_) => "unknown".into(),
        },
        UsageBy::Model => format!("{}/{}", line.tokens.provider, line.tokens.model),
        UsageBy::Project => line.project.clone(),
        UsageBy::Session => line.session.clone(),
    }
}

impl Sum {
    fn add(&mut self, line: &Line) {
        let tokens = &line.tokens;
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

fn word(by: UsageBy) -> &'static str {
    match by {
        UsageBy::Day => "day",
        UsageBy::Model => "model",
        UsageBy::Project => "project",
        UsageBy::Session => "session",
    }
}

fn heading(by: UsageBy) -> &'static str {
    spoken(match by {
        UsageBy::Day => Word::ColDay,
        UsageBy::Model => Word::ColModel,
        UsageBy::Project => Word::ColProject,
        UsageBy::Session => Word::ColSession,
    })
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Chart {
    Bars,
    None,
}

/// Columns of the longest bar.
const BAR: f64 = 20.0;

/// A share of the largest, in eighths of a column. What is not nothing shows.
fn bar(share: f64) -> String {
    const PARTS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    let least = if share > 0.0 { 1 } else { 0 };
    let eighths = ((share * BAR * 8.0).round() as usize).max(least);
    let part = PARTS.get(eighths % 8).copied().unwrap_or_default();
    "█".repeat(eighths / 8) + part
}

fn drawn(sums: &[(String, Sum)], total: &Sum, by: UsageBy, chart: Chart) -> String {
    // Money where there is some, tokens where there is none.
    let weight = |sum: &Sum| match total.cost {
        Some(cost) if cost > 0.0 => sum.cost.unwrap_or(0.0),
        Some(_) | None => sum.input.saturating_add(sum.output) as f64,
    };
    let most = sums.iter().map(|(_, sum)| weight(sum)).fold(0.0, f64::max);
    let row = |key: &str, sum: &Sum| {
        let key = match by {
            UsageBy::Session => text::short(key),
            UsageBy::Day | UsageBy::Model | UsageBy::Project => key,
        };
        vec![
            text::one_line(key),
            thousands(sum.requests),
            thousands(sum.input),
            thousands(sum.cached),
            thousands(sum.output),
            text::cost(sum.cost),
        ]
    };
    let mut rows: Vec<Vec<String>> = sums.iter().map(|(key, sum)| row(key, sum)).collect();
    if chart == Chart::Bars && most > 0.0 {
        for (row, (_, sum)) in rows.iter_mut().zip(sums) {
            row.push(bar(weight(sum) / most));
        }
    }
    rows.push(row(spoken(Word::RowTotal), total));
    let mut columns = vec![
        Column::Flexible(heading(by)),
        Column::Right(spoken(Word::ColRequests)),
        Column::Right(spoken(Word::ColInput)),
        Column::Right(spoken(Word::ColCached)),
        Column::Right(spoken(Word::ColOutput)),
        Column::Right(spoken(Word::ColCost)),
    ];
    if chart == Chart::Bars {
        columns.push(Column::Left(""));
    }
    let mut out = table::render(&columns, &rows, table::terminal_width());
    if total.unpriced > 0 && total.cost.is_some() {
        let values = [thousands(total.unpriced), thousands(total.requests)];
        out.push_str(&crate::speech::language().many(
            Word::UsageUnpriced,
            total.unpriced as usize,
            &values.each_ref().map(String::as_str),
        ));
    }
    out
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
