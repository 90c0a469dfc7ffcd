//! All servers of a process: started beside each other, asked together what they offer. Sessions take their tools from
//! here between turns; nothing here touches a session.

use crate::handle::{ConnectorCommand, ServerHandle, Snapshot, State};
use crate::names::{other_name, server_name, tool_name};
use crate::settings::{McpSettings, ServerContext, Trust};
use crate::{PromptInfo, ToolInfo};
use ostler_wire::{Why, Word};
use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// A person has begun to read or write by then; servers whose lists are known start no earlier.
const LATER: Duration = Duration::from_secs(2);

/// Dropping it ends all servers.
pub struct Servers {
    handles: Vec<Arc<ServerHandle>>,
    context: ServerContext,
    cancel: CancellationToken,
}

/// What all servers together offer.
#[derive(Clone, Default)]
pub struct Offers {
    /// Those that the configuration does not leave out, by server and name.
    pub tools: Vec<OfferedTool>,
    /// Servers whose tools are not known yet, as they stand in names of tools.
    pub unknown: Vec<String>,
    /// The edition of each server's lists.
    pub editions: Vec<u64>,
    /// Tools that the person knows to read only.
    pub trusted: Vec<String>,
}

/// A tool of a server under the name that sessions know it by.
#[derive(Clone)]
pub struct OfferedTool {
    pub name: String,
    pub info: ToolInfo,
    pub server: Arc<ServerHandle>,
    /// How long a call may go without a sign of life.
    pub limit: Duration,
}

impl Servers {
    /// None where there are no servers: then nothing of this costs anything.
    pub fn new(settings: &McpSettings, context: impl FnOnce() -> ServerContext) -> Option<Self> {
        if settings.servers.is_empty() {
            return None;
        }
        let context = context();
        let cancel = CancellationToken::new();
        let servers = context.settings.servers.iter().cloned();
        let handles =
            servers.map(|server| ServerHandle::new(server, context.clone(), cancel.child_token()));
        let handles: Vec<Arc<ServerHandle>> = handles.map(Arc::new).collect();
        Some(Self {
            handles,
            context,
            cancel,
        })
    }

    pub fn settings(&self) -> &McpSettings {
        &self.context.settings
    }

    /// Starts those of which nothing is known; the others when a person is there to profit, and otherwise with the first
    /// call.
    pub fn start(&self) {
        let (known, unknown): (Vec<_>, Vec<_>) = self
            .handles
            .iter()
            .cloned()
            .partition(|handle| handle.snapshot().lists.is_some());
        unknown
            .iter()
            .for_each(|handle| handle.send(ConnectorCommand::Start));
        if self.context.interactive && !known.is_empty() {
            let cancel = self.cancel.clone();
            tokio::spawn(async move {
                tokio::select! {
                    () = tokio::time::sleep(LATER) => {
                        known.iter().for_each(|handle| handle.send(ConnectorCommand::Start));
                    }
                    () = cancel.cancelled() => {}
                }
            });
        }
    }

    /// Waits for all of which nothing is known, as long as they may take. What became of those that failed.
    pub async fn ready(&self) -> Vec<Why> {
        let waiting = self.handles.iter().filter(|handle| {
            let snapshot = handle.snapshot();
            snapshot.lists.is_none() || snapshot.state == State::Starting
        });
        futures_util::future::join_all(waiting.map(|handle| handle.settled())).await;
        self.failures()
    }

    /// The same for every server, known or not.
    pub async fn all_ready(&self) -> Vec<Why> {
        self.handles
            .iter()
            .for_each(|handle| handle.send(ConnectorCommand::Start));
        futures_util::future::join_all(self.handles.iter().map(|handle| handle.settled())).await;
        self.failures()
    }

    /// Servers that do not work, each with why.
    pub fn failures(&self) -> Vec<Why> {
        let failed = |handle: &Arc<ServerHandle>| match handle.snapshot().state {
            State::Failed(why) => {
                let name = handle.server.name.as_str();
                Some(Why::ours(Word::McpServerFailed, [name.into(), why]))
            }
            State::Idle | State::Starting | State::Ready => None,
        };
        self.handles.iter().filter_map(failed).collect()
    }

    /// What is offered now, as far as it is known. Nobody is waited for.
    pub fn offers(&self) -> Offers {
        let mut out = Offers::default();
        let mut taken = HashSet::new();
        let mut handles: Vec<&Arc<ServerHandle>> = self.handles.iter().collect();
        handles.sort_by(|a, b| a.server.name.cmp(&b.server.name));
        for handle in handles {
            let snapshot = handle.snapshot();
            out.editions.push(snapshot.edition);
            let Some(lists) = snapshot.lists else {
                out.unknown.push(server_name(&handle.server.name));
                continue;
            };
            let offered = lists.tools.iter();
            for info in offered.filter(|tool| handle.server.offers(&tool.name)) {
                let (server, tool) = (&handle.server.name, &info.name);
                let mut name = tool_name(server, tool);
                if !taken.insert(name.clone()) {
                    name = other_name(server, tool);
                    if !taken.insert(name.clone()) {
                        continue;
                    }
                }
                if handle.trusts(tool) {
                    out.trusted.push(name.clone());
                }
                out.tools.push(OfferedTool {
                    name,
                    info: info.clone(),
                    server: handle.clone(),
                    limit: handle.server.call_limit(tool, self.context.settings.call),
                });
            }
        }
        out
    }

    /// Every prompt that is known, by the name it is called by.
    pub fn prompts(&self) -> Vec<(String, Arc<ServerHandle>, PromptInfo)> {
        let of = |handle: &Arc<ServerHandle>| {
            let lists = handle.snapshot().lists.unwrap_or_default();
            let prompts = lists.prompts.clone();
            let named = move |info: PromptInfo| {
                (
                    tool_name(&handle.server.name, &info.name),
                    handle.clone(),
                    info,
                )
            };
            prompts.into_iter().map(named).collect::<Vec<_>>()
        };
        self.handles.iter().flat_map(of).collect()
    }

    /// Every server by name, and how it stands.
    pub fn snapshots(&self) -> Vec<(String, Snapshot)> {
        let one = |handle: &Arc<ServerHandle>| (handle.server.name.clone(), handle.snapshot());
        self.handles.iter().map(one).collect()
    }

    pub fn find(&self, name: &str) -> Option<Arc<ServerHandle>> {
        let mut handles = self.handles.iter();
        handles.find(|handle| handle.server.name == name).cloned()
    }

    /// Whose tool that is, and what the server calls it.
    pub fn owner(&self, name: &str) -> Option<(Arc<ServerHandle>, String)> {
        self.handles.iter().find_map(|handle| {
            let server = &handle.server.name;
            let lists = handle.snapshot().lists?;
            let mut tools = lists.tools.iter().map(|tool| &tool.name);
            let is_it = |tool: &&String| {
                tool_name(server, tool) == name || other_name(server, tool) == name
            };
            Some((handle.clone(), tools.find(is_it)?.clone()))
        })
    }

    /// Trusts tools of a server, or no longer, and keeps that. Where it was written; none where it cannot be kept.
    pub fn trust(
        &self,
        handle: &ServerHandle,
        tools: &[String],
        trust: Trust,
    ) -> Result<Option<String>, String> {
        handle.trust(tools, trust);
        let store = self.context.settings.trust.as_ref();
        let place = store.map(|store| store.set(&handle.server.name, tools, trust));
        place.transpose()
    }

    /// Where that is kept, ready to show.
    pub fn trust_place(&self, handle: &ServerHandle) -> Option<String> {
        let store = self.context.settings.trust.as_ref()?;
        store.place(&handle.server.name)
    }

    /// Connects a server anew. Whether there is one of that name.
    pub fn restart(&self, name: &str) -> bool {
        match self.find(name) {
            Some(handle) => {
                handle.send(ConnectorCommand::Restart);
                true
            }
            None => false,
        }
    }
}

impl Drop for Servers {
    fn drop(&mut self) {
        self.cancel.cancel();
    }
}
