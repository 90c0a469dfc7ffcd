//! MCP servers as a session has them. Between turns, tools of servers that came or changed are taken into it: the prompt
//! breaks there, which its log says, and it does not happen too often. The protocol is none of this folder's business.

mod launch;
mod person;
mod result;
mod tool;

pub use launch::SandboxLauncher;

use crate::confine::helpers;
use crate::context::side_request::SideRequest;
use crate::context::transcript::{BYTES_PER_TOKEN, prefix_text};
use crate::inbox::server_question::ServerQuestions;
use crate::log::branch;
use crate::prefixes;
use crate::session::Session;
use crate::session::hub::LocalHub;
use crate::state::SessionState;
use crate::tool::Tool;
use crate::tools::{Tools, tool_search};
use crate::turn::Opening;
use ostler_llm::Prefix;
use ostler_mcp::{PromptInfo, ServerHandle, Servers, text};
use ostler_wire::{
    Body, HubError, Notice, SERVER_TOOL_PREFIX, Settings, ToolSpec, Why, Word, is_server_tool,
};
use std::sync::Arc;
use tool::ServerTool;

/// Breaks of one session's prompt that servers may cause.
const MAX_CHANGES: u32 = 12;
/// Resources of one prompt, and the bytes of each.
const MAX_RESOURCES: usize = 10;
const MAX_RESOURCE: usize = 100 << 10;
const MAX_NAME: usize = 500;
/// Notices about servers that are remembered, so that none is said twice.
const MAX_TOLD: usize = 256;

/// What a session has of servers.
#[derive(Default)]
pub struct ServerToolState {
    editions: Vec<u64>,
    changes: u32,
    told: Vec<String>,
}

/// What a server may ask for while it carries out a call.
pub struct ServerServices {
    /// `None` where nobody can be asked.
    pub questions: Option<ServerQuestions>,
    pub side_request: SideRequest,
}

/// The tools of all servers, as a session may use them.
pub struct ServerTools {
    tools: Vec<Arc<dyn Tool>>,
    /// Servers whose tools are not known yet, as they stand in names of tools.
    unknown: Vec<String>,
    /// The edition of each server's lists.
    editions: Vec<u64>,
    /// Tools that the person knows to read only.
    trusted: Vec<String>,
}

impl ServerTools {
    /// What is known now. Tools that the prompt has no room for are deferred to `tool_search`.
    pub fn gather(servers: &Servers) -> Self {
        let offers = servers.offers();
        let budget = servers.settings().schema_budget;
        let mut room = budget.saturating_mul(BYTES_PER_TOKEN);
        let tool = |offered| -> Arc<dyn Tool> {
            let tool = ServerTool::new(offered);
            let spec = tool.spec();
            let size = spec.description.len() + spec.parameters.get().len();
            let size = u64::try_from(size).unwrap_or(u64::MAX);
            let fits = size <= room;
            room = room.saturating_sub(size);
            match fits {
                true => Arc::new(tool),
                false => Arc::new(tool.deferred()),
            }
        };
        Self {
            tools: offers.tools.into_iter().map(tool).collect(),
            unknown: offers.unknown,
            editions: offers.editions,
            trusted: offers.trusted,
        }
    }
}

impl LocalHub {
    pub(crate) fn tools(&self) -> Tools {
        let tools = Tools::new(&self.options.toolbox.filter).and(&self.options.toolbox.more);
        match &self.servers {
            Some(servers) => tools.with_servers(ServerTools::gather(servers).tools),
            None => tools,
        }
    }

    /// Starts servers, and waits for those that a run cannot do without. What became of the others.
    pub(crate) async fn call_servers(&self) -> Result<Vec<String>, HubError> {
        let Some(servers) = &self.servers else {
            return Ok(Vec::new());
        };
        let language = self.options.run.language;
        let spoken = |why: Vec<Why>| why.iter().map(|why| why.say(language)).collect::<Vec<_>>();
        servers.start();
        if self.options.mcp.required {
            let failed = spoken(servers.all_ready().await);
            return match failed.is_empty() {
                true => Ok(failed),
                false => Err(HubError(format!("{} (--require-mcp)", failed.join("; ")))),
            };
        }
        match self.options.run.interactive {
            true => Ok(Vec::new()),
            false => Ok(spoken(servers.ready().await)),
        }
    }
}

/// The prompt of a server that a line calls, and what follows its name.
pub fn prompt_of<'a>(
    state: &SessionState,
    line: &'a str,
) -> Option<(Arc<ServerHandle>, PromptInfo, &'a str)> {
    let servers = state.services.servers.as_ref()?;
    let line = line.trim();
    let (name, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    servers
        .prompts()
        .into_iter()
        .find_map(|(called, handle, info)| {
            let found = called == name;
            found.then(|| (handle, info, rest.trim()))
        })
}

/// The words of a prompt whose arguments were given one after the other; the last takes the rest.
pub async fn prompt_text(
    handle: &ServerHandle,
    info: &PromptInfo,
    words: &str,
) -> Result<String, Why> {
    let mut args = serde_json::Map::new();
    let mut rest = words;
    for (n, name) in info.arguments.iter().enumerate() {
        let (word, after) = match n + 1 == info.arguments.len() {
            true => (rest, ""),
            false => rest.split_once(char::is_whitespace).unwrap_or((rest, "")),
        };
        match word.trim() {
            "" if n < info.required => {
                return Err(Why::ours(Word::McpNeeds, [name.as_str().into()]));
            }
            "" => {}
            word => {
                args.insert(name.clone(), word.into());
            }
        }
        rest = after.trim_start();
    }
    let connection = handle.connection().await?;
    let got = connection
        .prompt(&info.name, args, &Default::default())
        .await;
    got.map_err(|error| error.why())
}

/// What `@server:uri` in a prompt leads to: blocks for its context, and what was left out.
pub async fn resources(state: &SessionState, prompt: &str) -> (Vec<String>, Vec<String>) {
    let language = state.settings.language;
    let (mut blocks, mut notices) = (Vec::new(), Vec::new());
    let Some(servers) = &state.services.servers else {
        return (blocks, notices);
    };
    let named = prompt.split_whitespace().filter_map(resource_of);
    let named = named.filter_map(|(server, uri)| Some((servers.find(server)?, uri)));
    for (handle, uri) in named.take(MAX_RESOURCES) {
        let reading = async {
            let connection = handle.connection().await?;
            let read = connection.resource(uri, &Default::default()).await;
            read.map_err(|error| error.why())
        };
        let name = format!("{}:{uri}", handle.server.name);
        match reading.await {
            Ok(text) => {
                let text = text::cut(&text, MAX_RESOURCE);
                let name = text::cut(&name.replace('"', "%22"), MAX_NAME);
                blocks.push(format!("<resource ref=\"{name}\">\n{text}\n</resource>"));
            }
            Err(why) => {
                let why: Why = why;
                notices.push(language.fill(Word::RefLeft, &[&name, &why.say(language)]));
            }
        }
    }
    (blocks, notices)
}

/// The server and the address that a word names.
fn resource_of(word: &str) -> Option<(&str, &str)> {
    let (server, uri) = word.strip_prefix('@')?.split_once(':')?;
    let uri = uri.trim_end_matches(['.', ',', ';', '!', '?', ')']);
    Some((server, uri))
}

/// Resources of servers that some words point at, as they are named. None is read.
pub fn named_resources(state: &SessionState, words: &str) -> Vec<String> {
    let Some(servers) = &state.services.servers else {
        return Vec::new();
    };
    let named = words.split_whitespace().filter_map(resource_of);
    let known = named.filter(|(server, _)| servers.find(server).is_some());
    let names = known.map(|(server, uri)| format!("{server}:{uri}"));
    names.take(MAX_RESOURCES).collect()
}

impl Session {
    /// Takes in what servers offer now, and says what became of them. Nobody is waited for.
    pub(crate) fn take_server_tools(&mut self, opening: &mut Opening) {
        let Some(servers) = self.state.services.servers.clone() else {
            return;
        };
        opening.entries.extend(self.helper_notice());
        for why in servers.failures() {
            let text = why.say(self.options.run.language);
            self.tell_once(opening, text);
        }
        let found = ServerTools::gather(&servers);
        if found.editions == self.server_tools.editions {
            return;
        }
        self.server_tools.editions.clone_from(&found.editions);
        self.replace_server_tools(opening, found);
    }

    /// What programs that belong to no session changed against the rules, and was put back.
    pub(crate) fn helper_notice(&self) -> Option<Body> {
        let text = helpers::take_notice(&self.options.paths.root)?;
        Some(Body::Notice(Notice { text }))
    }

    fn replace_server_tools(&mut self, opening: &mut Opening, found: ServerTools) {
        let ServerTools {
            tools,
            unknown,
            trusted,
            ..
        } = found;
        let tools = self.state.tools.clone().with_servers(tools);
        let old = &self.state.conversation.prefix;
        let specs = merged(&old.tools, tools.specs(), &unknown);
        for name in trusted {
            if !self.state.permissions.trusted.contains(&name) {
                self.state.permissions.trusted.push(name);
            }
        }
        if specs == old.tools {
            self.state.tools = tools;
            return;
        }
        if self.server_tools.changes == MAX_CHANGES {
            let text = self.options.run.language.say(Word::McpRestless).to_owned();
            return self.tell_once(opening, text);
        }
        let changed = changed(&old.tools, &specs).join(", ");
        let prefix = Prefix {
            system: old.system.clone(),
            tools: specs,
        };
        self.server_tools.changes += 1;
        self.state.tools = tools;
        if !changed.is_empty() {
            let text = self
                .options
                .run
                .language
                .fill(Word::McpChanged, &[&changed]);
            self.tell_once(opening, text);
        }
        let hash = prefixes::hash(&prefix_text(&prefix));
        let entries = self.state.log.source().entries_after(None);
        let entries = branch(entries.into_iter().map(Arc::unwrap_or_clone).collect());
        let envelope = self.state.services.settings.envelope;
        let anew = self
            .state
            .conversation
            .with_prefix(prefix, &entries, envelope);
        self.state.conversation = anew;
        name_prefix(opening, hash);
        if self.options.run.save {
            // One that cannot be kept shows again when the log cannot be written.
            let _ = prefixes::keep(
                &self.options.paths.home,
                &prefix_text(&self.state.conversation.prefix),
            );
        }
    }

    fn tell_once(&mut self, opening: &mut Opening, text: String) {
        let told = &mut self.server_tools.told;
        if told.len() < MAX_TOLD && !told.contains(&text) {
            told.push(text.clone());
            opening.entries.push(Body::Notice(Notice { text }));
        }
    }
}

/// Ours as they are, then those of servers. Of a server that has not said yet what it offers, what it offered stays.
fn merged(old: &[ToolSpec], new: Vec<ToolSpec>, unknown: &[String]) -> Vec<ToolSpec> {
    let is_of = |spec: &ToolSpec, server: &String| {
        let rest = spec.name.strip_prefix(SERVER_TOOL_PREFIX);
        let rest = rest.and_then(|rest| rest.strip_prefix(server.as_str()));
        rest.is_some_and(|rest| rest.starts_with("__"))
    };
    let stays = |spec: &&ToolSpec| unknown.iter().any(|server| is_of(spec, server));
    let ours = old.iter().filter(|spec| !is_server_tool(&spec.name));
    // The way to look tools up stays as it is, and comes with the first that need it.
    let searches = old.iter().any(|spec| spec.name == tool_search::NAME);
    let comes =
        |spec: &ToolSpec| is_server_tool(&spec.name) || !searches && spec.name == tool_search::NAME;
    let mut theirs: Vec<ToolSpec> = new
        .into_iter()
        .filter(comes)
        .chain(old.iter().filter(stays).cloned())
        .collect();
    theirs.sort_by(|a, b| a.name.cmp(&b.name));
    ours.cloned().chain(theirs).collect()
}

/// Tools that say something else of themselves than they did to this session.
fn changed<'a>(old: &[ToolSpec], new: &'a [ToolSpec]) -> Vec<&'a str> {
    let differs = |spec: &&ToolSpec| {
        let mut before = old.iter().filter(|before| before.name == spec.name);
        before.any(|before| before != *spec)
    };
    new.iter()
        .filter(differs)
        .map(|spec| spec.name.as_str())
        .collect()
}

/// The log says with which prefix it goes on: in its first line, or where it changes.
fn name_prefix(opening: &mut Opening, hash: String) {
    let mut first = opening.past.iter_mut().chain(&mut opening.entries);
    let meta = first.find_map(|body| {
        let Body::Meta(meta) = body else {
            return None;
        };
        Some(meta)
    });
    match meta {
        Some(meta) => meta.prefix = hash,
        None => opening.entries.push(Body::Settings(Settings {
            prefix: Some(hash),
            ..Settings::default()
        })),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ostler_wire::Json;

    #[test]
    fn tools_of_servers_come_and_go_and_ours_stay() {
        let specs = |names: &[&str]| -> Vec<ToolSpec> {
            let spec = |name: &&str| ToolSpec {
                name: (*name).to_owned(),
                description: String::new(),
                parameters: Json::of(&serde_json::json!({})),
            };
            names.iter().map(spec).collect()
        };
        let old = ["bash", "ls", "mcp__a__x", "mcp__ab__y", "mcp__gone__z"];
        for (new, unknown, expect) in [
            (
                &["bash", "mcp__a__x"][..],
                &[][..],
                &["bash", "ls", "mcp__a__x"][..],
            ),
            (
                &["mcp__c__n"],
                &["a"],
                &["bash", "ls", "mcp__a__x", "mcp__c__n"],
            ),
            (&[], &["ab"], &["bash", "ls", "mcp__ab__y"]),
            (
                &["mcp__a__x", "tool_search"],
                &[],
                &["bash", "ls", "mcp__a__x", "tool_search"],
            ),
        ] {
            let unknown: Vec<String> = unknown.iter().map(|s| (*s).to_owned()).collect();
            assert_eq!(merged(&specs(&old), specs(new), &unknown), specs(expect));
        }
        let mut began = specs(&["bash", "tool_search"]);
        began[1].description = "As it was.".into();
        assert_eq!(merged(&began, specs(&["tool_search"]), &[]), began);
    }
}
