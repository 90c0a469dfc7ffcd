//! `/context`: what fills the window.

use crate::compaction;
use crate::context::conversation::Conversation;
use crate::context::digest::Plan;
use crate::context::transcript::BYTES_PER_TOKEN;
use crate::log::Log;
use ostler_wire::{Entry, Language, Part, Role, ShownEntry, Table, View, Word};

/// Cells of a bar that is full.
const BAR: u64 = 20;

/// By part, measured in bytes and shown in tokens, corrected by what the model's last request counted.
/// `tokens`: those of the last request and its answer.
pub fn context(log: &Log, conversation: &Conversation, tokens: u64, language: Language) -> View {
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
    let outlook = compaction::outlook(conversation, &entries);
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
