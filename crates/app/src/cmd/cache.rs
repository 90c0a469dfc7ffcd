//! `ostler cache`: what became of the prompt cache in a recorded session, and whether a prompt broke unplanned.

use super::table::{self, Column};
use super::text;
use crate::boot::Boot;
use crate::exec::{FAILED, OK};
use crate::flags::{Cache, Listing};
use crate::speech::{filled, many, spoken};
use anyhow::anyhow;
use ostler_engine::cache::{self, Request};
use ostler_engine::log;
use ostler_wire::{Break, Entry, Word, thousands};
use serde_json::json;

pub fn run(boot: &Boot, args: Cache) -> anyhow::Result<u8> {
    match args {
        Cache::Why { id, format } => {
            let (id, entries) = read(boot, id)?;
            why(&id, &entries, format)?;
            Ok(OK)
        }
        Cache::Check { id } => {
            let (id, entries) = read(boot, id)?;
            check(&id, &entries)
        }
    }
}

fn read(boot: &Boot, id: Option<String>) -> anyhow::Result<(String, Vec<Entry>)> {
    let store = boot.store();
    let path = match id {
        Some(id) => store.find(&id),
        None => store.last(),
    };
    let path = path.map_err(|e| anyhow!(e))?;
    let (entries, damage) = log::read(&path)?;
    if let Some(notice) = damage.notice(crate::speech::language()) {
        text::say(&notice);
    }
    let id = path.file_stem().map(|s| s.to_string_lossy().into_owned());
    Ok((id.unwrap_or_default(), entries))
}

fn why(id: &str, entries: &[Entry], format: Listing) -> anyhow::Result<()> {
    let requests = cache::requests(entries);
    let breaks: Vec<&Break> = requests.iter().filter_map(|r| r.broke.as_ref()).collect();
    let lost: u64 = breaks.iter().map(|b| b.lost_tokens).sum();
    let cost = breaks.iter().filter_map(|b| b.cost).reduce(|a, b| a + b);
    let rate = cache::hit_rate(entries);
    match format {
        Listing::Json => text::print_json(&json!({
            "session": id,
            "hit_rate": rate,
            "breaks": breaks.len(),
            "lost_tokens": lost,
            "cost": cost,
            "requests": requests,
        })),
        Listing::Text if requests.is_empty() => {
            text::say(&filled(Word::CacheNoRequests, &[&text::short(id)]));
            Ok(())
        }
        Listing::Text => {
            // Nothing came before the first one.
            let before = std::iter::once(0).chain(requests.iter().map(|r| r.prompt_bytes));
            let rows: Vec<Vec<String>> = requests
                .iter()
                .zip(before)
                .map(|(request, before)| row(request, before))
                .collect();
            let columns = [
                Column::Right(spoken(Word::ColEntry)),
                Column::Left(spoken(Word::ColModel)),
                Column::Right(spoken(Word::ColPrompt)),
                Column::Right(spoken(Word::ColShared)),
                Column::Right(spoken(Word::ColCached)),
                Column::Flexible(spoken(Word::ColBreak)),
            ];
            let mut out = table::render(&columns, &rows, table::terminal_width());
            out.push_str(&summary(rate, &breaks, lost, cost));
            text::print(&out)
        }
    }
}

/// `before` is the length of the prompt before.
fn row(request: &Request, before: u64) -> Vec<String> {
    let broke = request.broke.as_ref().map_or_else(String::new, |b| {
        let price = b
            .cost
            .map_or_else(String::new, |usd| format!(", {}", text::cost(Some(usd))));
        filled(
            Word::CacheBreakAt,
            &[&b.at, &b.owner, &b.cause, &thousands(b.lost_tokens), &price],
        )
    });
    vec![
        request.entry.to_string(),
        text::one_line(&request.model),
        thousands(request.prompt_bytes),
        share(request.shared_bytes, before),
        share(request.cached, request.input),
        text::one_line(&broke),
    ]
}

/// A part of a whole in percent.
fn share(part: u64, whole: u64) -> String {
    if whole == 0 {
        return "–".into();
    }
    format!("{:.0}%", part as f64 * 100.0 / whole as f64)
}

fn summary(rate: Option<f64>, breaks: &[&Break], lost: u64, cost: Option<f64>) -> String {
    let rate = match rate {
        Some(rate) => filled(
            Word::CacheFromProvider,
            &[&format_args!("{:.0}", rate * 100.0)],
        ),
        None => spoken(Word::CacheNoTokens).into(),
    };
    if breaks.is_empty() {
        return filled(Word::CacheAllContinued, &[&rate]);
    }
    let price = match cost {
        Some(usd) => filled(Word::CostMore, &[&text::cost(Some(usd))]),
        None => spoken(Word::CacheUnknownPrice).into(),
    };
    filled(
        Word::CacheBreaksCost,
        &[
            &rate,
            &many(breaks.len(), Word::ManyBreaks),
            &thousands(lost),
            &price,
        ],
    )
}

fn check(id: &str, entries: &[Entry]) -> anyhow::Result<u8> {
    let broken = cache::unplanned_breaks(entries, crate::speech::language());
    let requests = cache::requests(entries).len();
    let short = text::short(id);
    if broken.is_empty() {
        text::print(&filled(
            Word::CacheSessionWhole,
            &[&short, &many(requests, Word::ManyRequests)],
        ))?;
        return Ok(OK);
    }
    let lines: String = broken
        .iter()
        .map(|line| text::one_line(line) + "\n")
        .collect();
    let head = filled(
        Word::CacheSessionBroken,
        &[
            &short,
            &many(broken.len(), Word::ManyUnplanned),
            &many(requests, Word::ManyRequests),
        ],
    );
    text::print(&(head + &lines))?;
    Ok(FAILED)
}
