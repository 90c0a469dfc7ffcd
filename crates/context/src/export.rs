//! A session as a document: Markdown, JSON or one HTML page. Pure over the log.

use ostler_store::sessions::title;
use ostler_tools::builtin::render;
use ostler_wire::{Entry, Role, ShownEntry, marked};
use std::collections::HashMap;
use std::fmt::Write;

#[cfg(test)]
mod tests;

pub fn json(entries: &[Entry]) -> String {
    let lines: Vec<String> = entries.iter().filter_map(|e| e.to_line().ok()).collect();
    format!("[\n{}\n]\n", lines.join(",\n"))
}

pub fn markdown(entries: &[Entry]) -> String {
    let mut out = format!("# {}\n", title(entries));
    let mut names: HashMap<&str, &str> = HashMap::new();
    for entry in entries {
        let _ = match entry.body.shown() {
            Some(ShownEntry::Message(m)) => match m.role {
                Role::User => write!(out, "\n## User\n\n{}\n", m.text),
                Role::Assistant if m.text.trim().is_empty() => Ok(()),
                Role::Assistant => write!(out, "\n## Assistant\n\n{}\n", m.text),
                Role::System => write!(out, "\n> {}\n", m.text),
            },
            Some(ShownEntry::Call(call)) => {
                names.insert(&call.id, &call.name);
                write!(
                    out,
                    "\n### {}\n\n{}\n",
                    call.name,
                    fenced(call.input.get(), "json")
                )
            }
            Some(ShownEntry::Result(result)) => {
                let name = names
                    .get(result.tool_use_id.as_str())
                    .copied()
                    .unwrap_or_default();
                write!(
                    out,
                    "\n{}\n",
                    fenced(&render(name, &result.output, false).text, "")
                )
            }
            Some(ShownEntry::Notice(n)) => write!(out, "\n> {}\n", n.text),
            Some(ShownEntry::Error(e)) => write!(out, "\n> Error ({}): {}\n", e.kind, e.message),
            Some(ShownEntry::Interrupted) => write!(out, "\n> Interrupted\n"),
            Some(ShownEntry::Digest(c)) => {
                write!(out, "\n## Digest\n\n{}\n", fenced(&c.digest, ""))
            }
            None => Ok(()),
        };
    }
    tame(&out)
}

/// One page without scripts or foreign assets.
pub fn html(entries: &[Entry]) -> String {
    let mut body = String::new();
    let mut names: HashMap<&str, &str> = HashMap::new();
    for entry in entries {
        let (class, head, text) = match entry.body.shown() {
            Some(ShownEntry::Message(m)) => match m.role {
                Role::User => ("user", "User", m.text.clone()),
                Role::Assistant => ("assistant", "Assistant", m.text.clone()),
                Role::System => ("note", "Note", m.text.clone()),
            },
            Some(ShownEntry::Call(call)) => {
                names.insert(&call.id, &call.name);
                ("call", call.name.as_str(), call.input.get().to_owned())
            }
            Some(ShownEntry::Result(result)) => {
                let name = names
                    .get(result.tool_use_id.as_str())
                    .copied()
                    .unwrap_or_default();
                ("result", "Result", render(name, &result.output, false).text)
            }
            Some(ShownEntry::Notice(n)) => ("note", "Notice", n.text.clone()),
            Some(ShownEntry::Error(e)) => ("error", "Error", e.message.clone()),
            Some(ShownEntry::Interrupted) => ("note", "Interrupted", String::new()),
            Some(ShownEntry::Digest(c)) => ("note", "Digest", c.digest.clone()),
            None => continue,
        };
        if class == "assistant" && text.trim().is_empty() {
            continue;
        }
        let _ = writeln!(
            body,
            "<section class=\"{class}\"><h2>{}</h2><pre>{}</pre></section>",
            escaped(head),
            escaped(&text)
        );
    }
    format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>{title}</title>\n<style>{STYLE}</style></head>\n<body><h1>{title}</h1>\n{body}</body></html>\n",
        title = escaped(&title(entries)),
    )
}

const STYLE: &str = "body{font:15px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}\
pre{white-space:pre-wrap;overflow-wrap:anywhere;margin:0}section{margin:1rem 0;padding:.5rem 1rem;border-left:3px solid #ccc}\
h2{font-size:.8rem;margin:0 0 .3rem;color:#666}.user{border-color:#284}.error{border-color:#c33}.call,.result{background:#f6f6f6}";

fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            c => out.push(c),
        }
    }
    tame(&out)
}

/// The text with control and hidden characters spelled out: whoever prints it on a terminal must not be played tricks.
fn tame(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for (c, is_tricky) in marked(text) {
        if is_tricky {
            let _ = write!(out, "\\u{{{:x}}}", u32::from(c));
        } else {
            out.push(c);
        }
    }
    out
}

/// A code block whose fence is longer than any in the text.
fn fenced(text: &str, language: &str) -> String {
    let longest = text
        .lines()
        .map(|l| l.trim_start().chars().take_while(|c| *c == '`').count())
        .max()
        .unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    format!(
        "{fence}{language}\n{}\n{fence}",
        text.trim_end_matches('\n')
    )
}
