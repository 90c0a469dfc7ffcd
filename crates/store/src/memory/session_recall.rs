//! What a session has of what is remembered: the facts that it was told, and why.

use super::{Memory, Recalled, told};
use ostler_wire::{Body, Language, Notice, Say, Word};
use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

/// How long a prompt waits for an index that has to be made first. It goes without what comes later.
const PATIENCE: Duration = Duration::from_millis(750);
/// Files that are no facts which are named.
const MAX_NAMED: usize = 3;

pub struct SessionRecall {
    pub memory: Arc<Memory>,
    /// Facts are told unasked.
    pub recalls: bool,
    /// Of the last prompt.
    pub last: Option<Recalled>,
    /// What the conversation has already, as `told` names it.
    pub known: HashSet<String>,
    /// What cannot be read was said.
    complained: bool,
}

impl SessionRecall {
    pub fn new(memory: Arc<Memory>, recalls: bool) -> Self {
        Self {
            memory,
            recalls,
            last: None,
            known: HashSet::new(),
            complained: false,
        }
    }

    /// Takes in an entry of the session.
    pub fn note(&mut self, body: &Body) {
        if let Body::Message(message) = body
            && let Some(context) = &message.context
        {
            self.known.extend(told(context));
        }
        // What it wrote down itself it need not be told.
        if let Body::ToolResult(result) = body
            && result.output.get().contains("\"fact\":{")
        {
            let output = result.output.to_value();
            let fact = output.get("data").and_then(|data| data.get("fact"));
            let text = |key: &str| fact.and_then(|f| f.get(key)).and_then(|v| v.as_str());
            if let (Some(id), Some(version)) = (text("id"), text("revision")) {
                self.known.insert(format!("{id} {version}"));
            }
        }
        // Its notes were left out with the work.
        if let Body::Compaction(_) = body {
            self.known.clear();
        }
    }

    /// What a person's words bring to mind, and what is to be said about it.
    pub async fn recall(
        &mut self,
        words: &str,
        language: Language,
    ) -> (Option<String>, Vec<Notice>) {
        self.last = None;
        if !self.recalls || !self.memory.is_there() {
            return (None, Vec::new());
        }
        let (memory, known) = (self.memory.clone(), self.known.clone());
        let (words, complained) = (words.to_owned(), self.complained);
        let work = tokio::task::spawn_blocking(move || {
            let recalled = memory.recall(&words, &known);
            let bad = match complained {
                true => Vec::new(),
                false => memory.left_out().unwrap_or_default(),
            };
            (recalled, bad)
        });
        let Ok(Ok((recalled, bad))) = tokio::time::timeout(PATIENCE, work).await else {
            return (None, Vec::new());
        };
        let mut notices = Vec::new();
        if !self.complained {
            self.complained = true;
            let more = bad.len().saturating_sub(MAX_NAMED);
            let named = bad.iter().take(MAX_NAMED);
            notices.extend(named.map(|left| left.say(language)));
            if more > 0 {
                notices.push(language.fill(Word::FactsLeft, &[&more.to_string()]));
            }
        }
        let block = match recalled {
            Ok(recalled) => {
                let names = recalled.names().join(" · ");
                if !names.is_empty() {
                    notices.push(language.fill(Word::Recalled, &[&names]));
                }
                let block = recalled.block.clone();
                self.last = Some(recalled);
                block
            }
            Err(error) => {
                notices.push(error.say(language));
                None
            }
        };
        // What was changed in place is seen by the next prompt.
        let memory = self.memory.clone();
        drop(tokio::task::spawn_blocking(move || memory.sweep()));
        let notice = |text| Notice { text };
        (block, notices.into_iter().map(notice).collect())
    }
}
