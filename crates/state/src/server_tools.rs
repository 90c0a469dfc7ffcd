//! Tools of servers, taken into a session between turns: the prompt breaks where they change, which the log says, and that
//! does not happen too often.

use crate::SessionState;
use crate::servers::ServerTools;
use crate::session::Opening;
use ostler_confine::helpers;
use ostler_context::transcript::prefix_text;
use ostler_llm::Prefix;
use ostler_store::prefixes;
use ostler_tools::builtin::tool_search;
use ostler_wire::{Body, Notice, SERVER_TOOL_PREFIX, Settings, ToolSpec, Word, is_server_tool};

/// Breaks of one session's prompt that servers may cause.
const MAX_CHANGES: u32 = 12;
/// Notices about servers that are remembered, so that none is said twice.
const MAX_TOLD: usize = 256;

impl SessionState {
    /// Takes in what servers offer now, and says what became of them. Nobody is waited for.
    pub fn take_server_tools(&mut self, opening: &mut Opening) {
        let Some(servers) = self.services.servers.clone() else {
            return;
        };
        opening.entries.extend(self.helper_notice());
        for why in servers.failures() {
            let text = why.say(self.settings.language);
            self.tell_once(opening, text);
        }
        let found = ServerTools::gather(&servers);
        if found.editions == self.extensions.server_tools.editions {
            return;
        }
        self.extensions
            .server_tools
            .editions
            .clone_from(&found.editions);
        self.replace_server_tools(opening, found);
    }

    /// What programs that belong to no session changed against the rules, and was put back.
    pub fn helper_notice(&self) -> Option<Body> {
        let text = helpers::take_notice(&self.scope.root)?;
        Some(Body::Notice(Notice { text }))
    }

    fn replace_server_tools(&mut self, opening: &mut Opening, found: ServerTools) {
        let ServerTools {
            tools,
            unknown,
            trusted,
            ..
        } = found;
        let tools = self.tools.clone().with_servers(tools);
        let old = &self.conversation.prefix;
        let specs = merged(&old.tools, tools.specs(), &unknown);
        for name in trusted {
            if !self.permissions.trusted.contains(&name) {
                self.permissions.trusted.push(name);
            }
        }
        if specs == old.tools {
            self.tools = tools;
            return;
        }
        if self.extensions.server_tools.changes == MAX_CHANGES {
            let text = self.settings.language.say(Word::McpRestless).to_owned();
            return self.tell_once(opening, text);
        }
        let changed = changed(&old.tools, &specs).join(", ");
        let prefix = Prefix {
            system: old.system.clone(),
            tools: specs,
        };
        self.extensions.server_tools.changes += 1;
        self.tools = tools;
        if !changed.is_empty() {
            let text = self.settings.language.fill(Word::McpChanged, &[&changed]);
            self.tell_once(opening, text);
        }
        let hash = prefixes::hash(&prefix_text(&prefix));
        let entries = self.log.branch();
        let envelope = self.services.settings.envelope;
        let anew = self.conversation.with_prefix(prefix, &entries, envelope);
        self.conversation = anew;
        name_prefix(opening, hash);
        self.keep_prefix();
    }

    fn tell_once(&mut self, opening: &mut Opening, text: String) {
        let told = &mut self.extensions.server_tools.told;
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
