//! A session as plain text to read: prompts, answers, calls and the beginning of their results. Pure over the log.

use crate::store::title;
use crate::tools;
use ostler_wire::{Body, Entry, Language, Role, ShownEntry, ToolResult, Word, one_line};
use std::collections::HashMap;
use std::fmt::Write;

/// Lines of a result that are shown; the export has all of them.
const RESULT_LINES: usize = 12;
const INPUT_CHARS: usize = 200;

pub fn render(id: &str, entries: &[Entry], language: Language) -> String {
    let mut out = format!("{}\n{}\n", one_line(&title(entries)), heading(id, entries));
    let results = results(entries);
    for entry in entries {
        // Writing to a string does not fail.
        let _ = match entry.body.shown() {
            Some(ShownEntry::Message(m)) => match m.role {
                Role::User => write!(out, "\n{}", indented(&m.text, "> ")),
                Role::Assistant if m.text.trim().is_empty() => Ok(()),
                Role::Assistant => write!(out, "\n{}\n", m.text.trim_end()),
                Role::System => write!(out, "\n[{}]\n", m.text.trim_end()),
            },
            Some(ShownEntry::Call(call)) => {
                let input = shortened(&one_line(call.input.get()));
                let result = results
                    .get(call.id.as_str())
                    .map_or_else(String::new, |result| {
                        beginning(
                            &tools::render(&call.name, &result.output, false).text,
                            language,
                        )
                    });
                write!(out, "\n* {} {input}\n{result}", one_line(&call.name))
            }
            Some(ShownEntry::Notice(notice)) => write!(out, "\n[{}]\n", notice.text.trim_end()),
            Some(ShownEntry::Error(error)) => write!(
                out,
                "{}",
                language.fill(Word::TranscriptError, &[&error.kind, &error.message])
            ),
            Some(ShownEntry::Interrupted) => {
                write!(out, "{}", language.say(Word::TranscriptStopped))
            }
            // A result stands below its call.
            Some(ShownEntry::Result(_)) | None => Ok(()),
            Some(ShownEntry::Digest(c)) => write!(
                out,
                "{}",
                language.fill(Word::OlderFolded, &[&indented(&c.digest, "  ")])
            ),
        };
    }
    out
}

fn results(entries: &[Entry]) -> HashMap<&str, &ToolResult> {
    let mut found = HashMap::new();
    for entry in entries {
        if let Body::ToolResult(result) = &entry.body {
            found.insert(result.tool_use_id.as_str(), result);
        }
    }
    found
}

fn heading(id: &str, entries: &[Entry]) -> String {
    let mut parts = vec![id.to_owned()];
    if let Some(first) = entries.first() {
        parts.push(first.ts.clone());
    }
    for entry in entries {
        if let Body::Meta(meta) = &entry.body {
            parts.push(meta.root.clone());
        }
    }
    let model = entries.iter().rev().find_map(|entry| {
        if let Body::Settings(settings) = &entry.body {
            return settings.model.clone();
        }
        let origin = entry.body.message()?.model.as_ref()?;
        Some(format!("{}/{}", origin.provider, origin.model))
    });
    parts.extend(model);
    parts.retain(|part| !part.is_empty());
    one_line(&parts.join(" · "))
}

fn beginning(text: &str, language: Language) -> String {
    let lines: Vec<&str> = text.trim_end().lines().collect();
    let mut out = indented(
        &lines
            .iter()
            .take(RESULT_LINES)
            .copied()
            .collect::<Vec<_>>()
            .join("\n"),
        "    ",
    );
    if let Some(more) = lines
        .len()
        .checked_sub(RESULT_LINES)
        .filter(|more| *more > 0)
    {
        out.push_str(&language.fill(Word::TranscriptMore, &[&more.to_string()]));
    }
    out
}

fn indented(text: &str, with: &str) -> String {
    text.lines()
        .map(|line| format!("{with}{line}").trim_end().to_owned() + "\n")
        .collect()
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(INPUT_CHARS) {
        Some((at, _)) => format!("{}…", text.get(..at).unwrap_or_default()),
        None => text.to_owned(),
    }
}
