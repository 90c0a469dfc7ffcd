//! What can follow `@` beside files: an earlier session (`session:`), a definition in the project's sources (`symbol:`), and
//! what an MCP server offers (`NAME:`). Each has a word before a colon, which is offered like a folder.

use super::{Completer, Symbols, fits};
use ostler_mcp::Servers;
use ostler_store::sessions::Store;
use ostler_wire::{
    Completion, CompletionItem, CompletionKind, CompletionRequest, Language, Word, format_age,
    short_id,
};
use std::sync::Arc;

pub const SESSION: &str = "session:";
const SYMBOL: &str = "symbol:";
/// Sessions that are offered, the newest first.
const MAX_SESSIONS: usize = 100;

/// What a session can be asked for beside files. Without anything here, nothing is offered.
#[derive(Clone, Default)]
pub struct Others {
    pub sessions: Option<Sessions>,
    pub servers: Option<Arc<Servers>>,
    pub symbols: Option<Symbols>,
    pub language: Language,
}

/// The earlier sessions of the project.
#[derive(Clone)]
pub struct Sessions {
    pub store: Arc<Store>,
    /// The session itself, which nobody means.
    pub own: String,
}

impl Completer {
    /// What follows one of the words; none where the text is about files.
    pub(super) async fn others(&self, request: &CompletionRequest) -> Option<Completion> {
        let (word, typed) = request.text.split_once(':')?;
        let others = &self.others;
        let head = format!("{word}:");
        let mut items = match head.as_str() {
            SESSION => others.sessions(typed).await?,
            SYMBOL => self.symbols(typed).await?,
            _ => others.resources(word, typed)?,
        };
        let truncated = items.len() > request.limit();
        items.truncate(request.limit());
        Some(Completion {
            text: request.text.clone(),
            items,
            truncated,
            ..Completion::default()
        })
    }

    async fn symbols(&self, typed: &str) -> Option<Vec<CompletionItem>> {
        let symbols = self.others.symbols.as_ref()?;
        let border = self.offered.borrow().clone();
        let found = symbols.find(self, &border, typed).await;
        let item = |symbol: super::symbols::Named| CompletionItem {
            insert: format!("{}:{}-{}", symbol.path, symbol.from, symbol.to),
            label: symbol.name,
            detail: format!("{}:{}", symbol.path, symbol.from),
            is_folder: false,
            kind: CompletionKind::Symbol,
        };
        Some(found.into_iter().map(item).collect())
    }
}

impl Others {
    /// The words that can be typed on.
    pub(super) fn heads(&self, typed: &str) -> Vec<CompletionItem> {
        let mut heads = Vec::new();
        let mut add = |head: &str, kind, word| {
            if head.starts_with(typed) {
                heads.push(CompletionItem {
                    insert: head.to_owned(),
                    label: head.to_owned(),
                    detail: self.language.say(word).to_owned(),
                    is_folder: true,
                    kind,
                });
            }
        };
        if self.sessions.is_some() {
            add(SESSION, CompletionKind::Session, Word::AtSession);
        }
        if self.symbols.is_some() {
            add(SYMBOL, CompletionKind::Symbol, Word::AtSymbol);
        }
        for (name, snapshot) in self.servers.iter().flat_map(|servers| servers.snapshots()) {
            let lists = snapshot.lists.unwrap_or_default();
            if !lists.resources.is_empty() && !name.contains(char::is_whitespace) {
                let head = format!("{name}:");
                add(&head, CompletionKind::Resource, Word::AtResources);
            }
        }
        heads
    }

    async fn sessions(&self, typed: &str) -> Option<Vec<CompletionItem>> {
        let Sessions { store, own } = self.sessions.clone()?;
        // Their heads are read from the disk.
        let listed = tokio::task::spawn_blocking(move || store.list_own());
        let listed = listed.await.ok()?.ok()?;
        let now = jiff::Timestamp::now();
        let wanted = listed.into_iter().filter(|info| {
            let is_named = fits(typed, &info.title) || info.id.starts_with(typed);
            info.id != own && info.turns > 0 && is_named
        });
        let item = |info: ostler_wire::SessionInfo| CompletionItem {
            insert: format!("{SESSION}{}", short_id(&info.id)),
            detail: format_age(&info.updated, now, self.language),
            label: info.title,
            is_folder: false,
            kind: CompletionKind::Session,
        };
        Some(wanted.take(MAX_SESSIONS).map(item).collect())
    }

    fn resources(&self, server: &str, typed: &str) -> Option<Vec<CompletionItem>> {
        let handle = self.servers.as_ref()?.find(server)?;
        let lists = handle.snapshot().lists.unwrap_or_default();
        let wanted = lists.resources.iter().filter(|resource| {
            let can_be_typed = !resource.uri.contains(char::is_whitespace);
            can_be_typed && (fits(typed, &resource.uri) || fits(typed, &resource.name))
        });
        let item = |resource: &ostler_mcp::ResourceInfo| CompletionItem {
            insert: format!("{server}:{}", resource.uri),
            label: resource.uri.clone(),
            detail: match resource.description.is_empty() {
                true => resource.name.clone(),
                false => resource.description.clone(),
            },
            is_folder: false,
            kind: CompletionKind::Resource,
        };
        Some(wanted.map(item).collect())
    }
}
