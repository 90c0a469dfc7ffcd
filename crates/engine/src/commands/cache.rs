//! `cache`: what became of the prompt cache in a session, and whether a prompt broke unplanned.

use super::context::{HubContext, column};
use super::sessions;
use crate::cache::{Request, hit_rate, requests, unplanned_breaks};
use crate::log::Log;
use ostler_wire::{
    Break, Cell, Column, ColumnKind, Entry, Frame, Language, Report, Row, Table, View, Word,
    format_cost, format_share, short_id, thousands,
};
use serde_json::json;

/// The session by its id; the newest of this project without one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CacheRequest {
    /// Each request, and where it broke.
    Why(Option<String>),
    /// Whether a prompt did not continue the one before.
    Check(Option<String>),
}

pub fn cache(context: &HubContext, request: &CacheRequest) -> View {
    let id = match request {
        CacheRequest::Why(id) | CacheRequest::Check(id) => id.as_deref(),
    };
    let read = sessions::find(context, id)
        .and_then(|path| Ok((sessions::stem(&path), sessions::read(context, &path)?)));
    let (id, (entries, remarks)) = match read {
        Ok(read) => read,
        Err(why) => return View::Error(why),
    };
    match request {
        CacheRequest::Why(_) => View::Table(Table {
            remarks,
            ..why(&id, &entries, context.language)
        }),
        CacheRequest::Check(_) => View::Report(Report {
            remarks,
            ..check(&id, &entries, context)
        }),
    }
}

/// `/cache`: the same of this session.
pub(super) fn slash(log: &Log, session: &str, language: Language) -> View {
    View::Table(why(session, &log.branch(), language))
}

fn why(id: &str, entries: &[Entry], language: Language) -> Table {
    let requests = requests(entries);
    let breaks: Vec<&Break> = requests.iter().filter_map(|r| r.broke.as_ref()).collect();
    let lost: u64 = breaks.iter().map(|b| b.lost_tokens).sum();
    let cost = breaks.iter().filter_map(|b| b.cost).reduce(|a, b| a + b);
    let rate = hit_rate(entries);
    // Nothing came before the first one.
    let before = std::iter::once(0).chain(requests.iter().map(|r| r.prompt_bytes));
    let rows = requests.iter().zip(before);
    let rows = rows.map(|(request, before)| row(request, before, language));
    let column = |kind, key, word| column(language, kind, key, word);
    let columns = vec![
        column(ColumnKind::Number, "entry", Word::ColEntry),
        column(ColumnKind::Text, "model", Word::ColModel),
        column(ColumnKind::Number, "prompt_bytes", Word::ColPrompt),
        column(ColumnKind::Number, "shared_bytes", Word::ColShared),
        column(ColumnKind::Number, "cached", Word::ColCached),
        column(ColumnKind::Prose, "break", Word::ColBreak),
        Column::data("input"),
    ];
    let fields = [
        ("session", json!(id)),
        ("hit_rate", json!(rate)),
        ("breaks", json!(breaks.len())),
        ("lost_tokens", json!(lost)),
        ("cost", json!(cost)),
    ];
    let fields = fields.map(|(key, value)| (key.to_owned(), value));
    Table {
        empty: language.fill(Word::CacheNoRequests, &[short_id(id)]),
        summary: summary(rate, &breaks, (lost, cost), language),
        frame: Some(Frame {
            fields: fields.into_iter().collect(),
            rows: "requests".into(),
        }),
        ..Table::new(columns, rows.collect())
    }
}

/// `before` is the length of the prompt before.
fn row(request: &Request, before: u64, language: Language) -> Row {
    let broke = request.broke.as_ref().map_or_else(Cell::absent, |b| {
        let price = b.cost.map(|usd| format!(", {}", format_cost(Some(usd))));
        let (at, lost) = (b.at.to_string(), thousands(b.lost_tokens));
        let values = [
            &*at,
            &*b.owner,
            &*b.cause,
            &*lost,
            &price.unwrap_or_default(),
        ];
        let value = serde_json::to_value(b).unwrap_or_default();
        Cell::named(language.fill(Word::CacheBreakAt, &values), value)
    });
    Row::new(vec![
        Cell::named(request.entry.to_string(), request.entry),
        Cell::text(request.model.as_str()),
        Cell::count(request.prompt_bytes),
        Cell::named(
            format_share(request.shared_bytes, before),
            request.shared_bytes,
        ),
        Cell::named(format_share(request.cached, request.input), request.cached),
        broke,
        Cell::data(&request.input),
    ])
}

fn summary(
    rate: Option<f64>,
    breaks: &[&Break],
    (lost, cost): (u64, Option<f64>),
    language: Language,
) -> String {
    let rate = match rate {
        Some(rate) => {
            let percent = format!("{:.0}", rate * 100.0);
            language.fill(Word::CacheFromProvider, &[&percent])
        }
        None => language.say(Word::CacheNoTokens).into(),
    };
    if breaks.is_empty() {
        return language.fill(Word::CacheAllContinued, &[&rate]);
    }
    let price = match cost {
        Some(usd) => language.fill(Word::CostMore, &[&format_cost(Some(usd))]),
        None => language.say(Word::CacheUnknownPrice).into(),
    };
    let count = breaks.len();
    let count = language.many(Word::ManyBreaks, count, &[&count.to_string()]);
    let values = [&*rate, &*count, &thousands(lost), &*price];
    language.fill(Word::CacheBreaksCost, &values)
}

fn check(id: &str, entries: &[Entry], context: &HubContext) -> Report {
    let broken = unplanned_breaks(entries, context.language);
    let requests = context.many(requests(entries).len(), Word::ManyRequests);
    if broken.is_empty() {
        let text = context.fill(Word::CacheSessionWhole, &[short_id(id), &requests]);
        return Report {
            text,
            ..Report::default()
        };
    }
    let count = context.many(broken.len(), Word::ManyUnplanned);
    let head = context.fill(Word::CacheSessionBroken, &[short_id(id), &count, &requests]);
    Report {
        text: head + &broken.join("\n"),
        failed: true,
        ..Report::default()
    }
}
