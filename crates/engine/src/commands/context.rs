//! What commands need that are about no session: the person's home, the project, its sessions and memory. A session, the
//! command line and any other front end give the same context and get the same views.

use crate::memory::Memory;
use crate::store::Store;
use ostler_state::session::Session;
use ostler_wire::{Column, ColumnKind, Language, Report, View, Word};
use serde::Serialize;
use std::path::PathBuf;
use std::sync::Arc;

pub struct HubContext {
    pub home: PathBuf,
    pub root: PathBuf,
    pub store: Store,
    pub memory: Arc<Memory>,
    pub language: Language,
}

impl HubContext {
    /// That of the hub which opened this session.
    pub(crate) fn of(session: &Session) -> Self {
        Self {
            home: session.options.paths.home.clone(),
            root: session.options.paths.root.clone(),
            store: session.store(),
            memory: session.state.settings.recall.memory.clone(),
            language: session.options.run.language,
        }
    }

    pub(super) fn say(&self, word: Word) -> &'static str {
        self.language.say(word)
    }

    pub(super) fn fill<const N: usize>(&self, word: Word<N>, values: &[&str; N]) -> String {
        self.language.fill(word, values)
    }

    /// So many of something.
    pub(super) fn many(&self, count: usize, word: Word<1>) -> String {
        self.language.many(word, count, &[&count.to_string()])
    }

    pub(super) fn column(&self, kind: ColumnKind, key: &str, name: Word) -> Column {
        column(self.language, kind, key, name)
    }
}

pub(super) fn column(language: Language, kind: ColumnKind, key: &str, name: Word) -> Column {
    Column::new(kind, key, language.say(name))
}

/// A text for people, and the facts behind it for programs.
pub(super) fn report(text: impl Into<String>, value: &impl Serialize) -> View {
    View::Report(Report {
        text: text.into(),
        value: serde_json::to_value(value).unwrap_or_default(),
        ..Report::default()
    })
}
