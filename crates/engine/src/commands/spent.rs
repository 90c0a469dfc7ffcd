//! `/context`, `/cost` and `/cache`: what fills the window, what it cost, and what became of the prompt cache.

use crate::budget::State;
use crate::compaction::{self, Plan};
use crate::desk::Desk;
use crate::inbox::Inbox;
use crate::transcript::BYTES_PER_TOKEN;
use crate::{cache, handoff, log};
use ostler_wire::{Body, Entry, Part, Role, Table, Usage, View, Word};
use std::collections::BTreeMap;
use std::sync::Arc;

const COST_COLUMNS: [Word; 6] = [
    Word::ColModel,
    Word::ColRequests,
    Word::ColInput,
    Word::ColCached,
    Word::ColOutput,
    Word::ColCost,
];
/// Cells of a bar that is full.
const BAR: u64 = 20;

fn entries(desk: &Desk) -> Vec<Entry> {
    let all = desk.log.source().entries_after(None);
    log::branch(all.into_iter().map(Arc::unwrap_or_clone).collect())
}

/// By part, measured in bytes and shown in tokens, corrected by what the model's last request counted.
pub fn context(desk: &mut Desk, _: &mut Inbox, _: &str) -> View {
    let language = desk.manner.language;
    let entries = entries(desk);
    let prefix = &desk.conversation.prefix;
    let tools: usize = prefix
        .tools
        .iter()
        .map(|t| t.name.len() + t.description.len() + t.parameters.get().len())
        .sum();
    let mut parts: Vec<(Word, u64)> = vec![
        (Word::PartSystem, prefix.system.len() as u64),
        (Word::PartTools, tools as u64),
    ];
    parts.extend(said(&entries));
    let bytes: u64 = parts.iter().map(|(_, b)| b).sum();
    let used = compaction::tokens(desk).max(1);
    let scaled = |part: u64| part.saturating_mul(used) / bytes.max(1);
    let window = desk.conversation.model.target().window;
    let mut rows = Vec::new();
    for (word, part) in parts.into_iter().filter(|(_, b)| *b > 0) {
        let tokens = scaled(part);
        let full = if window > 0 { window } else { used };
        rows.push(vec![
            language.say(word).into(),
            tokens.to_string(),
            bar(tokens, full),
        ]);
    }
    let total = match window {
        0 => used.to_string(),
        _ => format!("{used} / {window} ({}%)", used * 100 / window),
    };
    rows.push(vec![
        language.say(Word::RowTotal).into(),
        total,
        String::new(),
    ]);
    let outlook = compaction::outlook(desk, &entries);
    for (word, tokens) in [
        (Word::RowPinned, outlook.pinned),
        (Word::RowSaves, outlook.saves),
    ] {
        let tokens = scaled(tokens * BYTES_PER_TOKEN).to_string();
        rows.push(vec![language.say(word).into(), tokens, String::new()]);
    }
    View::Table(Table::of_texts(
        vec![
            language.say(Word::ColPart).into(),
            language.say(Word::ColTokens).into(),
            String::new(),
        ],
        rows,
    ))
}

fn bar(part: u64, of: u64) -> String {
    let cells = part.saturating_mul(BAR).div_ceil(of.max(1)).min(BAR);
    "█".repeat(usize::try_from(cells).unwrap_or(0))
}

/// Bytes of what was said, by whom.
fn said(entries: &[Entry]) -> Vec<(Word, u64)> {
    let (mut user, mut answers, mut thoughts, mut calls, mut results, mut images) =
        (0, 0, 0, 0, 0, 0);
    let plan = Plan::of(entries);
    let mut digests = 0;
    for kept in plan.kept(entries) {
        match kept.is_digest {
            true => digests += kept.text.len(),
            false => user += kept.text.len(),
        }
        images += kept.images.len();
    }
    for entry in entries.get(plan.end..).unwrap_or_default() {
        match &entry.body {
            Body::Message(message) => match message.role {
                Role::User | Role::System => {
                    user += message.text.len() + message.context.as_ref().map_or(0, String::len);
                    images += message.images.len();
                }
                Role::Assistant => {
                    answers += message.text.len();
                    thoughts += message
                        .parts
                        .iter()
                        .map(|part| match part {
                            Part::Reasoning { text, .. } => text.len(),
                            Part::Text { .. } | Part::Call { .. } => 0,
                        })
                        .sum::<usize>();
                }
            },
            Body::ToolUse(call) => calls += call.name.len() + call.input.get().len(),
            Body::ToolResult(result) => results += result.output.get().len(),
            Body::Meta(_)
            | Body::Usage(_)
            | Body::Settings(_)
            | Body::Mode(_)
            | Body::Approval(_)
            | Body::Todo(_)
            | Body::Notice(_)
            | Body::Error(_)
            | Body::Interrupted(_)
            | Body::TurnEnd(_)
            | Body::Compaction(_)
            | Body::Checkpoint(_)
            | Body::Rewind(_) => {}
        }
    }
    /// What a picture weighs, roughly, in the bytes that stand for its tokens.
    const PICTURE: usize = 1_500 * BYTES_PER_TOKEN as usize;
    [
        (Word::PartUser, user),
        (Word::PartDigests, digests),
        (Word::PartAnswers, answers),
        (Word::PartThoughts, thoughts),
        (Word::PartCalls, calls),
        (Word::PartResults, results),
        (Word::PartImages, images * PICTURE),
    ]
    .map(|(word, bytes)| (word, bytes as u64))
    .to_vec()
}

pub fn cost(desk: &mut Desk, _: &mut Inbox, _: &str) -> View {
    let language = desk.manner.language;
    let mut by_model: BTreeMap<String, (u64, Usage)> = BTreeMap::new();
    for entry in entries(desk) {
        if let Body::Usage(usage) = entry.body {
            let mut name = format!("{}/{}", usage.provider, usage.model);
            if let Some(role) = &usage.role {
                let role = match role.as_str() {
                    compaction::ROLE => language.say(Word::RoleFolding),
                    handoff::ROLE => language.say(Word::RoleHandoff),
                    other => other,
                };
                name = format!("{name} ({role})");
            }
            let (requests, sum) = by_model.entry(name).or_default();
            *requests += 1;
            sum.input += usage.input;
            sum.cached += usage.cached;
            sum.cache_write += usage.cache_write;
            sum.output += usage.output;
            sum.cost = match (sum.cost, usage.cost) {
                (Some(a), Some(b)) => Some(a + b),
                (a, b) => a.or(b),
            };
        }
    }
    let money = |cost: Option<f64>| cost.map_or_else(|| "?".to_owned(), |c| format!("${c:.4}"));
    let mut rows: Vec<Vec<String>> = by_model
        .iter()
        .map(|(name, (requests, sum))| {
            vec![
                name.clone(),
                requests.to_string(),
                sum.input.to_string(),
                (sum.cached * 100)
                    .checked_div(sum.input)
                    .map_or_else(String::new, |p| format!("{p}%")),
                sum.output.to_string(),
                money(sum.cost),
            ]
        })
        .collect();
    let budgets = budgets(desk);
    if rows.is_empty() && budgets.is_empty() {
        return View::Text(language.say(Word::NothingSpent).into());
    }
    let known: Vec<f64> = by_model.values().filter_map(|(_, sum)| sum.cost).collect();
    if rows.len() > 1 && !known.is_empty() {
        let total = vec![
            language.say(Word::RowTotal).into(),
            String::new(),
            String::new(),
            String::new(),
            String::new(),
            money(Some(known.iter().sum())),
        ];
        rows.push(total);
    }
    rows.extend(budgets);
    View::Table(Table::of_texts(
        COST_COLUMNS
            .map(|word| language.say(word).to_owned())
            .to_vec(),
        rows,
    ))
}

/// How the limits stand, in the last column.
fn budgets(desk: &Desk) -> Vec<Vec<String>> {
    let language = desk.manner.language;
    let account = &desk.account;
    let row = |state: State| {
        let sums = [state.spent, state.limit, state.held, state.left];
        let [spent, limit, held, left] = &sums.map(|sum| sum.say(language));
        let mut row = vec![String::new(); COST_COLUMNS.len()];
        if let [first, .., last] = row.as_mut_slice() {
            *first = language.fill(Word::RowBudget, &[&state.pot.say(language)]);
            *last = language.fill(Word::BudgetState, &[spent, limit, held, left]);
        }
        row
    };
    let states = account.budget.states(account.payer());
    states.into_iter().map(row).collect()
}

pub fn cache(desk: &mut Desk, _: &mut Inbox, _: &str) -> View {
    let language = desk.manner.language;
    let entries = entries(desk);
    let Some(rate) = cache::hit_rate(&entries) else {
        return View::Text(language.say(Word::NothingSpent).into());
    };
    let mut text = language.fill(Word::CacheRate, &[&format!("{:.0}", rate * 100.0)]);
    let breaks = cache::unplanned_breaks(&entries, language);
    if breaks.is_empty() {
        text.push('\n');
        text.push_str(language.say(Word::CacheWhole));
    }
    for broke in breaks {
        text.push_str("\n- ");
        text.push_str(&broke);
    }
    View::Text(text)
}
