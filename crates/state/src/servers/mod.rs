//! MCP servers as a session has them: their tools, prompts and resources, and what they may ask the person and the model.
//! The protocol is in crate `mcp`; when a session takes their tools in is in `session/server_tools`.

mod launch;
mod person;
mod result;
mod tool;

pub use launch::{PlaceLauncher, SandboxLauncher};

use crate::inbox::server_question::ServerQuestions;
use ostler_confine::CallSandbox;
use ostler_context::side_request::SideRequest;
use ostler_context::transcript::BYTES_PER_TOKEN;
use ostler_mcp::{PromptInfo, ServerHandle, Servers, text};
use ostler_tools::tool::Tool;
use ostler_wire::{Language, Why, Word};
use std::sync::Arc;
use tool::ServerTool;

/// Resources of one prompt, and the bytes of each.
const MAX_RESOURCES: usize = 10;
const MAX_RESOURCE: usize = 100 << 10;
const MAX_NAME: usize = 500;

/// What a session has of servers.
#[derive(Default)]
pub struct ServerToolState {
    pub editions: Vec<u64>,
    pub changes: u32,
    pub told: Vec<String>,
}

/// What a server may ask for while it carries out a call.
pub struct ServerServices {
    /// `None` where nobody can be asked.
    pub questions: Option<ServerQuestions>,
    /// What watching a server in the sandbox takes.
    pub sandbox: CallSandbox,
    pub side_request: SideRequest,
}

/// The tools of all servers, as a session may use them.
pub struct ServerTools {
    pub tools: Vec<Arc<dyn Tool>>,
    /// Servers whose tools are not known yet, as they stand in names of tools.
    pub unknown: Vec<String>,
    /// The edition of each server's lists.
    pub editions: Vec<u64>,
    /// Tools that the person knows to read only.
    pub trusted: Vec<String>,
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

/// The prompt of a server that a line calls, and what follows its name.
pub fn prompt_of<'a>(
    servers: &Servers,
    line: &'a str,
) -> Option<(Arc<ServerHandle>, PromptInfo, &'a str)> {
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
pub async fn resources(
    servers: &Servers,
    prompt: &str,
    language: Language,
) -> (Vec<String>, Vec<String>) {
    let (mut blocks, mut notices) = (Vec::new(), Vec::new());
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
pub fn named_resources(servers: &Servers, words: &str) -> Vec<String> {
    let named = words.split_whitespace().filter_map(resource_of);
    let known = named.filter(|(server, _)| servers.find(server).is_some());
    let names = known.map(|(server, uri)| format!("{server}:{uri}"));
    names.take(MAX_RESOURCES).collect()
}
