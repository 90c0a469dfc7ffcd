//! `@session:ID` in a prompt: what an earlier session of the project was about, read off its log. Nobody is asked: the
//! person named it, and it is their own.

use crate::store::{self, Store};
use ostler_context::digest::cut;
use ostler_context::handoff::Handoff;
use ostler_sources::completion::SESSION;
use ostler_state::SessionState;
use ostler_wire::{Entry, Role, Word};
use std::path::Path;
use std::sync::Arc;

/// Sessions that one prompt can name.
const MAX_SESSIONS: usize = 5;
/// Bytes of what is said of one.
const MAX_SHOWN: usize = 24_000;
/// Bytes of its last answer among them.
const MAX_ANSWER: usize = 6_000;
/// Prompts of the person that are repeated, and the bytes of each.
const MAX_PROMPTS: usize = 20;
const MAX_WORDS: usize = 600;

/// Blocks for the context of a prompt, and why a session that was named is not among them.
pub async fn look_up(state: &SessionState, prompt: &str) -> (Vec<String>, Vec<String>) {
    let (mut blocks, mut notices) = (Vec::new(), Vec::new());
    for id in named(prompt).into_iter().take(MAX_SESSIONS) {
        let store = state.settings.store.clone();
        let (wanted, root) = (id.clone(), state.scope.root.clone());
        // A log may have many megabytes.
        let reading = tokio::task::spawn_blocking(move || describe(&store, &wanted, &root));
        match reading.await {
            Ok(Ok(block)) => blocks.push(block),
            Ok(Err(why)) => {
                let name = format!("{SESSION}{id}");
                notices.push(state.settings.language.fill(Word::RefLeft, &[&name, &why]));
            }
            Err(_) => {}
        }
    }
    (blocks, notices)
}

/// The ids that a prompt names, each once.
fn named(prompt: &str) -> Vec<String> {
    let mut ids: Vec<String> = Vec::new();
    for word in prompt.split_whitespace() {
        let word = word.trim_start_matches(['(', '[', '"', '\'']);
        let id = word.strip_prefix('@').and_then(|w| w.strip_prefix(SESSION));
        let is_of_it = |c: char| c.is_ascii_hexdigit() || c == '-';
        let id = id.map(|id| id.trim_end_matches(|c| !is_of_it(c)).to_owned());
        if let Some(id) = id.filter(|id| !id.is_empty() && !ids.contains(id)) {
            ids.push(id);
        }
    }
    ids
}

fn describe(store: &Arc<Store>, id: &str, root: &Path) -> Result<String, String> {
    // Of sessions of other projects and of those that came with the repository nothing is read.
    let path = store.find(id)?;
    if !store.own_logs()?.contains(&path) {
        return Err(store.unknown(id));
    }
    let (entries, _) = store.read(id)?;
    Ok(block(&entries, id, root))
}

fn block(entries: &[Entry], id: &str, root: &Path) -> String {
    let title = store::title(entries);
    let facts = Handoff::draft(entries, &title, &root.display().to_string());
    let messages = entries.iter().filter_map(|entry| entry.body.message());
    let asked = messages.filter(|message| message.role == Role::User);
    let asked = asked.map(|message| cut(message.shown(), MAX_WORDS));
    let mut text = format!("# {title}\n");
    let mut list = |head: &str, items: Vec<String>| {
        if !items.is_empty() {
            let items: String = items.iter().map(|item| format!("- {item}\n")).collect();
            text.push_str(&format!("\n## {head}\n\n{items}"));
        }
    };
    list("What was asked", last(asked.collect()));
    list("Files", facts.files);
    list("Commands", facts.commands);
    let answers = entries
        .iter()
        .rev()
        .filter_map(|entry| entry.body.message());
    let mut answers = answers.filter(|message| message.role == Role::Assistant);
    if let Some(last) = answers.find(|message| !message.text.trim().is_empty()) {
        let answer = cut(&last.text, MAX_ANSWER);
        text.push_str(&format!("\n## Last answer\n\n{answer}\n"));
    }
    let text = cut(&text, MAX_SHOWN);
    // What was said there must not end the block.
    let text = text.replace("</session>", "<\\/session>");
    format!("<session id=\"{id}\">\n{}\n</session>", text.trim_end())
}

fn last(mut prompts: Vec<String>) -> Vec<String> {
    let over = prompts.len().saturating_sub(MAX_PROMPTS);
    prompts.drain(..over);
    prompts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sessions_are_named_by_their_ids() {
        for (prompt, expect) in [
            ("as in @session:3bec952d.", &["3bec952d"][..]),
            ("(@session:3bec952d) @session:3bec952d", &["3bec952d"]),
            ("@session: and me@session:3bec", &[]),
            ("session:3bec", &[]),
        ] {
            assert_eq!(named(prompt), expect, "{prompt}");
        }
    }
}
