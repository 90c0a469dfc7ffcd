//! All servers of a process: started beside each other, asked together what they offer. Sessions take their tools from
//! here between turns; nothing here touches a session.

use super::PromptInfo;
use super::keeper::{Kept, Snapshot, State, Wish};
use super::names::{other_name, server_name, tool_name};
use super::settings::{McpSettings, Surroundings, Trust};
use super::tool::ServerTool;
use crate::tool::Tool;
use crate::transcript::BYTES_PER_TOKEN;
use ostler_wire::{Why, Word};
use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// A person has begun to read or write by then; servers whose lists are known start no earlier.
const LATER: Duration = Duration::from_secs(2);

/// Dropping it ends all servers.
pub struct Fleet {
    kept: Vec<Arc<Kept>>,
    around: Surroundings,
    cancel: CancellationToken,
}

/// What all servers together offer.
#[derive(Clone, Default)]
pub struct Muster {
    pub tools: Vec<Arc<dyn Tool>>,
    /// Servers whose tools are not known yet, as they stand in names of tools.
    pub unknown: Vec<String>,
    /// The edition of each server's lists.
    pub editions: Vec<u64>,
    /// Tools that the person knows to read only.
    pub trusted: Vec<String>,
}

impl Fleet {
    /// None where there are no servers: then nothing of this costs anything.
    pub fn new(settings: &McpSettings, around: impl FnOnce() -> Surroundings) -> Option<Self> {
        if settings.servers.is_empty() {
            return None;
        }
        let around = around();
        let cancel = CancellationToken::new();
        let servers = around.settings.servers.iter().cloned();
        let kept = servers.map(|server| Kept::new(server, around.clone(), cancel.child_token()));
        let kept: Vec<Arc<Kept>> = kept.map(Arc::new).collect();
        Some(Self {
            kept,
            around,
            cancel,
        })
    }

    /// Starts those of which nothing is known; the others when a person is there to profit, and otherwise with the first
    /// call.
    pub fn start(&self) {
        let (known, unknown): (Vec<_>, Vec<_>) = self
            .kept
            .iter()
            .cloned()
            .partition(|kept| kept.snapshot().lists.is_some());
        unknown.iter().for_each(|kept| kept.wish(Wish::Start));
        if self.around.interactive && !known.is_empty() {
            let cancel = self.cancel.clone();
            tokio::spawn(async move {
                tokio::select! {
                    () = tokio::time::sleep(LATER) => {
                        known.iter().for_each(|kept| kept.wish(Wish::Start));
                    }
                    () = cancel.cancelled() => {}
                }
            });
        }
    }

    /// Waits for all of which nothing is known, as long as they may take. What became of those that failed.
    pub async fn ready(&self) -> Vec<Why> {
        let waiting = self.kept.iter().filter(|kept| {
            let snapshot = kept.snapshot();
            snapshot.lists.is_none() || snapshot.state == State::Starting
        });
        futures_util::future::join_all(waiting.map(|kept| kept.settled())).await;
        self.failures()
    }

    /// The same for every server, known or not.
    pub async fn all_ready(&self) -> Vec<Why> {
        self.kept.iter().for_each(|kept| kept.wish(Wish::Start));
        futures_util::future::join_all(self.kept.iter().map(|kept| kept.settled())).await;
        self.failures()
    }

    /// Servers that do not work, each with why.
    pub fn failures(&self) -> Vec<Why> {
        let failed = |kept: &Arc<Kept>| match kept.snapshot().state {
            State::Failed(why) => {
                let name = kept.server.name.as_str();
                Some(Why::ours(Word::McpServerFailed, [name.into(), why]))
            }
            State::Idle | State::Starting | State::Ready => None,
        };
        self.kept.iter().filter_map(failed).collect()
    }

    pub fn muster(&self) -> Muster {
        let mut out = Muster::default();
        let mut room = self
            .around
            .settings
            .schema_budget
            .saturating_mul(BYTES_PER_TOKEN);
        let mut taken = HashSet::new();
        let mut kept: Vec<&Arc<Kept>> = self.kept.iter().collect();
        kept.sort_by(|a, b| a.server.name.cmp(&b.server.name));
        for kept in kept {
            let snapshot = kept.snapshot();
            out.editions.push(snapshot.edition);
            let Some(lists) = snapshot.lists else {
                out.unknown.push(server_name(&kept.server.name));
                continue;
            };
            for info in lists.tools.iter().filter(|t| kept.server.offers(&t.name)) {
                let (server, tool) = (&kept.server.name, &info.name);
                let mut name = tool_name(server, tool);
                if !taken.insert(name.clone()) {
                    name = other_name(server, tool);
                    if !taken.insert(name.clone()) {
                        continue;
                    }
                }
                if kept.trusts(tool) {
                    out.trusted.push(name.clone());
                }
                let call = self.around.settings.call;
                let tool = ServerTool::new(name, info.clone(), kept.clone(), call);
                let spec = tool.spec();
                let size = spec.description.len() + spec.parameters.get().len();
                let size = u64::try_from(size).unwrap_or(u64::MAX);
                let tool = match size <= room {
                    true => tool,
                    false => tool.deferred(),
                };
                room = room.saturating_sub(size);
                out.tools.push(Arc::new(tool));
            }
        }
        out
    }

    /// Every prompt that is known, by the name it is called by.
    pub fn prompts(&self) -> Vec<(String, Arc<Kept>, PromptInfo)> {
        let of = |kept: &Arc<Kept>| {
            let lists = kept.snapshot().lists.unwrap_or_default();
            let prompts = lists.prompts.clone();
            let named = move |info: PromptInfo| {
                (tool_name(&kept.server.name, &info.name), kept.clone(), info)
            };
            prompts.into_iter().map(named).collect::<Vec<_>>()
        };
        self.kept.iter().flat_map(of).collect()
    }

    /// Every server by name, and how it stands.
    pub fn snapshots(&self) -> Vec<(String, Snapshot)> {
        let one = |kept: &Arc<Kept>| (kept.server.name.clone(), kept.snapshot());
        self.kept.iter().map(one).collect()
    }

    pub fn find(&self, name: &str) -> Option<Arc<Kept>> {
        let mut kept = self.kept.iter();
        kept.find(|kept| kept.server.name == name).cloned()
    }

    /// Whose tool that is, and what the server calls it.
    pub fn owner(&self, name: &str) -> Option<(Arc<Kept>, String)> {
        self.kept.iter().find_map(|kept| {
            let server = &kept.server.name;
            let lists = kept.snapshot().lists?;
            let mut tools = lists.tools.iter().map(|tool| &tool.name);
            let is_it = |tool: &&String| {
                tool_name(server, tool) == name || other_name(server, tool) == name
            };
            Some((kept.clone(), tools.find(is_it)?.clone()))
        })
    }

    /// Trusts tools of a server, or no longer, and keeps that. Where it was written; none where it cannot be kept.
    pub fn trust(
        &self,
        kept: &Kept,
        tools: &[String],
        trust: Trust,
    ) -> Result<Option<String>, String> {
        kept.trust(tools, trust);
        let store = self.around.settings.trust.as_ref();
        let place = store.map(|store| store.set(&kept.server.name, tools, trust));
        place.transpose()
    }

    /// Where that is kept, ready to show.
    pub fn trust_place(&self, kept: &Kept) -> Option<String> {
        let store = self.around.settings.trust.as_ref()?;
        store.place(&kept.server.name)
    }

    /// Connects a server anew. Whether there is one of that name.
    pub fn restart(&self, name: &str) -> bool {
        match self.find(name) {
            Some(kept) => {
                kept.wish(Wish::Restart);
                true
            }
            None => false,
        }
    }
}

impl Drop for Fleet {
    fn drop(&mut self) {
        self.cancel.cancel();
    }
}
