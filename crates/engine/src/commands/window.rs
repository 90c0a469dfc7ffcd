//! `/context`: what fills the window.

use super::context::column;
use crate::compaction;
use crate::log::Log;
use ostler_context::conversation::Conversation;
use ostler_context::digest::Plan;
use ostler_context::transcript::BYTES_PER_TOKEN;
use ostler_wire::{
    Cell, Column, ColumnKind, Entry, Language, Part, Role, Row, ShownEntry, Table, View, Word,
    format_share,
};

/// Cells of a full window.
const CELLS: u64 = 60;

/// By part, measured in bytes and shown in tokens, corrected by what the model's last request counted.
/// `tokens`: those of the last request and its answer.
pub fn context(
    log: &Log,
    conversation: &Conversation,
    tokens: u64,
    ratio: f64,
    language: Language,
) -> View {
    let entries = log.branch();
    let prefix = &conversation.prefix;
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
    let used = tokens.max(1);
    let scaled = |part: u64| part.saturating_mul(used) / bytes.max(1);
    let window = conversation.model.target().window;
    let mut rows = Vec::new();
    let mut row = |kind: &str, word: Word, tokens: u64| {
        let share = match window {
            0 => Cell::absent(),
            _ => Cell::named(format_share(tokens, window), tokens as f64 / window as f64),
        };
        rows.push(Row::new(vec![
            Cell::text(language.say(word)),
            Cell::count(tokens),
            share,
            Cell::named("", kind),
        ]));
    };
    for (word, part) in parts.into_iter().filter(|(_, b)| *b > 0) {
        row("part", word, scaled(part));
    }
    row("total", Word::RowTotal, used);
    if window > 0 {
        row("free", Word::PartFree, window.saturating_sub(used));
    }
    let outlook = compaction::outlook(conversation, &entries);
    for (word, tokens) in [
        (Word::RowPinned, outlook.pinned),
        (Word::RowSaves, outlook.saves),
    ] {
        row("compaction", word, scaled(tokens * BYTES_PER_TOKEN));
    }
    let table = View::Table(Table::new(columns(language), rows));
    match window {
        0 => table,
        _ => View::Group(vec![View::Text(map(used, window, ratio, language)), table]),
    }
}

fn columns(language: Language) -> Vec<Column> {
    let column = |kind, key, word| column(language, kind, key, word);
    vec![
        column(ColumnKind::Text, "part", Word::ColPart),
        column(ColumnKind::Number, "tokens", Word::ColTokens),
        column(ColumnKind::Number, "share", Word::ColShare),
        // Parts, their sum, what is free, and what a compaction would do.
        Column::data("kind"),
    ]
}

/// The window as a row of cells: what is used, what is free, and where it is compacted.
fn map(used: u64, window: u64, ratio: f64, language: Language) -> String {
    let cells = |tokens: u64| {
        let cells = tokens
            .saturating_mul(CELLS)
            .div_ceil(window.max(1))
            .min(CELLS);
        usize::try_from(cells).unwrap_or(0)
    };
    let mark = cells((window as f64 * ratio) as u64);
    let full = cells(used);
    let cell = |at: usize| match (at < full, at == mark) {
        (_, true) => '│',
        (true, false) => '█',
        (false, false) => '░',
    };
    let row: String = (0..cells(window)).map(cell).collect();
    let percent = ((ratio * 100.0).round() as u64).to_string();
    let legend = match ratio < 1.0 {
        true => language.fill(Word::CompactsHere, &[&percent]),
        false => language.say(Word::WindowMap).to_owned(),
    };
    format!("`{row}`\n\n{legend}")
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
        match entry.body.shown() {
            Some(ShownEntry::Message(message)) => match message.role {
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
            Some(ShownEntry::Call(call)) => calls += call.name.len() + call.input.get().len(),
            Some(ShownEntry::Result(result)) => results += result.output.get().len(),
            Some(
                ShownEntry::Notice(_)
                | ShownEntry::Error(_)
                | ShownEntry::Interrupted
                | ShownEntry::Digest(_),
            )
            | None => {}
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
