//! Every built-in tool by name, the older names they answer to, and what the model reads of their results.

use super::tool_search::{self, ToolSearch};
use super::*;
use crate::arguments::Repair;
use crate::tool::{Rendered, Tool, ToolError};
use ostler_guard::Rule;
use ostler_wire::{Json, ToolDeclaration, ToolMark, ToolSpec, is_server_tool};
use serde_json::Value;
use std::ops::Deref;
use std::sync::{Arc, LazyLock};

/// What each of them says of itself, made once: a schema is derived from types, and every session needs all of them.
static SPECS: LazyLock<Vec<ToolSpec>> =
    LazyLock::new(|| BUILTINS.iter().map(|tool| tool.spec()).collect());

/// A tool as a session has it.
#[derive(Clone)]
pub enum Held {
    Ours(&'static dyn Tool),
    /// Of a server; it may be gone in the next turn.
    Theirs(Arc<dyn Tool>),
    /// Ours, and what it finds is the session's.
    Search(Arc<ToolSearch>),
}

impl Deref for Held {
    type Target = dyn Tool;

    fn deref(&self) -> &Self::Target {
        match self {
            Self::Ours(tool) => *tool,
            Self::Theirs(tool) => &**tool,
            Self::Search(tool) => &**tool,
        }
    }
}

impl Held {
    fn known_spec(&self) -> ToolSpec {
        let ours = match self {
            Self::Ours(tool) => SPECS.iter().find(|spec| spec.name == tool.name()),
            Self::Theirs(_) | Self::Search(_) => None,
        };
        ours.cloned().unwrap_or_else(|| self.spec())
    }
}

/// The tools of one session.
#[derive(Clone)]
pub struct Tools {
    enabled: Vec<Held>,
    filter: Arc<[String]>,
    /// Those of ours that are not in the list.
    deferred: Vec<&'static str>,
}

impl Tools {
    /// `filter` as in `[tools] enabled`: empty means all, a name selects, `!name` takes out. What is named is in the list;
    /// `+name` puts one there that would wait, and selects nothing.
    pub fn new(filter: &[String]) -> Self {
        let marked = |mark: char| filter.iter().filter_map(move |f| f.strip_prefix(mark));
        let (out, shown): (Vec<&str>, Vec<&str>) = (marked('!').collect(), marked('+').collect());
        let chosen: Vec<&str> = chosen(filter).collect();
        let name = |text: &'static str, list: &[&str]| {
            list.iter().any(|f| canonical_name(f) == Some(text))
        };
        let searches = chosen.is_empty() && !name(tool_search::NAME, &out);
        let enabled = BUILTINS
            .iter()
            .copied()
            .filter(|t| t.name() != tool_search::NAME)
            .filter(|t| chosen.is_empty() || name(t.name(), &chosen))
            .filter(|t| !name(t.name(), &out))
            .map(Held::Ours)
            .collect();
        let tools = Self {
            enabled,
            filter: filter.into(),
            deferred: match searches {
                true => {
                    let waits = declarations().filter(|about| about.has(ToolMark::Deferred));
                    let waits = waits.map(|about| about.name.as_ref());
                    waits.filter(|text| !name(text, &shown)).collect()
                }
                false => Vec::new(),
            },
        };
        tools.with_search()
    }

    /// The same as a session has them that began with this list: what is not in it is still to be looked up, if it can be.
    pub fn as_listed(mut self, list: &[ToolSpec]) -> Self {
        let is_listed = |name: &str| list.iter().any(|spec| spec.name == name);
        let ours = self.enabled.iter().filter_map(|held| match held {
            Held::Ours(tool) => Some(tool.name()),
            Held::Theirs(_) | Held::Search(_) => None,
        });
        self.deferred = match is_listed(tool_search::NAME) {
            true => ours.filter(|name| !is_listed(name)).collect(),
            false => Vec::new(),
        };
        self.with_search()
    }

    /// Has `tool_search` where there is something to find, and nowhere else.
    fn with_search(mut self) -> Self {
        self.enabled.retain(|held| !matches!(held, Held::Search(_)));
        let hidden = |held: &Held| match held {
            Held::Ours(tool) => {
                let waits = self.deferred.contains(&tool.name());
                waits.then(|| held.known_spec())
            }
            Held::Theirs(tool) => tool.unabridged(),
            Held::Search(_) => None,
        };
        let tools: Vec<ToolSpec> = self.enabled.iter().filter_map(hidden).collect();
        let is_out =
            |f: &String| f.strip_prefix('!').and_then(canonical_name) == Some(tool_search::NAME);
        if !tools.is_empty() && !self.filter.iter().any(is_out) {
            let is_after = |held: &Held| match held {
                Held::Ours(tool) => tool.name() > tool_search::NAME,
                Held::Theirs(_) | Held::Search(_) => true,
            };
            let place = self.enabled.iter().position(is_after);
            let place = place.unwrap_or(self.enabled.len());
            let search = Held::Search(Arc::new(ToolSearch { tools }));
            self.enabled.insert(place, search);
        }
        self
    }

    /// The same with tools that are not ours, after all others.
    pub fn and(mut self, more: &[&'static dyn Tool]) -> Self {
        self.enabled.extend(more.iter().copied().map(Held::Ours));
        self
    }

    /// The same with these tools of servers, in place of those it had. They come last.
    pub fn with_servers(mut self, tools: Vec<Arc<dyn Tool>>) -> Self {
        self.enabled.retain(|held| !matches!(held, Held::Theirs(_)));
        let admitted = tools.into_iter().filter(|t| self.admits(t.name()));
        let admitted: Vec<Held> = admitted.map(Held::Theirs).collect();
        self.enabled.extend(admitted);
        self.with_search()
    }

    /// Whether the filter lets a tool of a server through: by its name, or by `mcp__server`.
    fn admits(&self, name: &str) -> bool {
        let speaks_of = |entry: &str| {
            name.strip_prefix(entry)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with("__"))
        };
        let mut chosen = chosen(&self.filter).peekable();
        let out = self.filter.iter().filter_map(|f| f.strip_prefix('!'));
        (chosen.peek().is_none() || chosen.any(speaks_of)) && !out.into_iter().any(speaks_of)
    }

    /// The list that a session begins with.
    pub fn specs(&self) -> Vec<ToolSpec> {
        let listed = |t: &&Held| !self.deferred.contains(&t.name());
        self.enabled
            .iter()
            .filter(listed)
            .map(Held::known_spec)
            .collect()
    }

    /// All that the list does not have, or not whole.
    pub fn unlisted(&self) -> &[ToolSpec] {
        let search = self.enabled.iter().find_map(|held| match held {
            Held::Search(search) => Some(search.tools.as_slice()),
            Held::Ours(_) | Held::Theirs(_) => None,
        });
        search.unwrap_or_default()
    }

    pub fn find(&self, name: &str) -> Option<Held> {
        let name = canonical_name(name).unwrap_or(name);
        self.enabled.iter().find(|t| t.name() == name).cloned()
    }

    /// As in `[tools] enabled`.
    pub fn filter(&self) -> &[String] {
        &self.filter
    }

    /// Whether a tool of this name may be used, or a server's may.
    pub fn allows(&self, name: &str) -> bool {
        self.find(name).is_some() || is_server_tool(name) && self.admits(name)
    }

    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.enabled.iter().map(|t| t.name())
    }

    pub fn declarations(&self) -> impl Iterator<Item = &ToolDeclaration> {
        self.enabled.iter().map(|t| t.about())
    }
}

/// The names in a filter that select.
fn chosen(filter: &[String]) -> impl Iterator<Item = &str> {
    let names = filter.iter().map(String::as_str);
    names.filter(|f| !f.starts_with(['!', '+']))
}

/// What every built-in tool says of itself.
pub fn builtin_specs() -> &'static [ToolSpec] {
    &SPECS
}

/// What every built-in tool declares, sorted by name.
pub fn declarations() -> impl Iterator<Item = &'static ToolDeclaration> {
    BUILTINS.iter().map(|tool| tool.about())
}

/// What the built-in tool of this name or alias declares.
pub fn declaration(name: &str) -> Option<&'static ToolDeclaration> {
    let lower = name.trim().to_ascii_lowercase();
    let called =
        |about: &&ToolDeclaration| about.name == lower || about.aliases.contains(&lower.as_str());
    declarations().find(called)
}

/// Gives the arguments of a tool of ours the names that it knows, and says what was changed. `None` for tools that are not
/// ours.
pub fn fit_arguments(tool: &str, args: &Value) -> Option<Result<(Value, Vec<Repair>), ToolError>> {
    let name = canonical_name(tool)?;
    BUILTINS.iter().find(|tool| tool.name() == name)?.fit(args)
}

/// Every built-in tool, for configuration and completion.
pub fn all_names() -> impl Iterator<Item = &'static str> {
    declarations().map(|about| about.name.as_ref())
}

/// Other names that they go by.
pub fn other_names() -> impl Iterator<Item = &'static str> {
    declarations().flat_map(|about| about.aliases.iter().copied())
}

/// The tool that a rule is about, when there is none of that name. Tools of servers are known later.
pub fn unknown_tool(rule: &Rule) -> Option<&str> {
    let name = rule.tool()?;
    (!is_server_tool(name) && declaration(name).is_none()).then_some(name)
}

/// The name a tool goes by, for one of the names it may be called by.
pub fn canonical_name(name: &str) -> Option<&'static str> {
    declaration(name).map(|about| about.name.as_ref())
}

/// What the model reads of a result: a pure function of the envelope.
pub fn render(name: &str, output: &Json, envelope: bool) -> Rendered {
    if envelope && !output.get().contains("\"image\":{") {
        return output.get().to_owned().into();
    }
    let value = output.to_value();
    if let Some(error) = value.get("error") {
        let text = |key| error.get(key).and_then(Value::as_str).unwrap_or_default();
        return format!("Error ({}): {}", text("code"), text("message")).into();
    }
    let Some(data) = value.get("data") else {
        return output.get().to_owned().into();
    };
    let tool = canonical_name(name).and_then(|n| BUILTINS.iter().find(|t| t.name() == n));
    match tool {
        Some(tool) => tool.render(data),
        None if is_server_tool(name) => server_result::render(data),
        // What another agent's tool said, in a session that began there.
        None => match data {
            Value::String(text) => text.clone().into(),
            other => other.to_string().into(),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn tools(filter: &[&str]) -> Tools {
        let filter: Vec<String> = filter.iter().map(|f| (*f).to_owned()).collect();
        Tools::new(&filter)
    }

    fn listed(tools: &Tools) -> Vec<String> {
        tools.specs().into_iter().map(|spec| spec.name).collect()
    }

    #[test]
    fn what_is_seldom_wanted_waits_and_can_be_called() {
        for (filter, there, waiting) in [
            (
                &[][..],
                &["bash", "edit_file", "tool_search"][..],
                &["time", "move_file"][..],
            ),
            (&["!time"], &["bash", "tool_search"], &["move_file"]),
            // Named, so wanted; and then nothing is left to look up.
            (&["time", "bash"], &["bash", "time"], &[]),
            (&["WebSearch"], &["web_search"], &[]),
            (&["!tool_search"], &["bash", "time", "web_search"], &[]),
            // One of them wanted in the list, and the others as ever.
            (
                &["+web_search"],
                &["bash", "web_search", "tool_search"],
                &["time", "move_file"],
            ),
            (&["+websearch", "!time"], &["web_search"], &["move_file"]),
            (&["+time", "bash"], &["bash"], &[]),
            (&["+bash", "+nothing"], &["bash"], &["time"]),
        ] {
            let tools = tools(filter);
            let list = listed(&tools);
            for name in there {
                assert!(list.contains(&(*name).to_owned()), "{filter:?}: no {name}");
            }
            for name in waiting {
                assert!(!list.contains(&(*name).to_owned()), "{filter:?}: {name}");
                assert_eq!(
                    tools.find(name).map(|t| t.name().to_owned()).as_deref(),
                    Some(*name)
                );
                let names = tools.unlisted().iter().map(|spec| spec.name.as_str());
                assert!(names.clone().any(|n| n == *name));
            }
            let searches = list.iter().any(|name| name == tool_search::NAME);
            assert_eq!(searches, !waiting.is_empty(), "{filter:?}");
            assert!(list.is_sorted(), "{list:?}");
        }
        let both = tools(&["+time", "!time"]);
        assert!(both.find("time").is_none());
        assert!(tools(&["+time", "bash"]).find("time").is_none());
        assert!(tools(&["+time"]).allows("mcp__server__tool"));
    }

    #[test]
    fn a_session_keeps_the_list_that_it_began_with() {
        let whole = tools(&["!tool_search"]).specs();
        let short = tools(&[]).specs();
        for (list, filter, waits) in [
            // As before there was anything to look up.
            (&whole, &[][..], false),
            (&short, &[], true),
            (&short, &["!grep"], true),
            (&short, &["+time"], true),
            (&whole, &["!tool_search"], false),
        ] {
            let tools = tools(filter).as_listed(list);
            assert!(tools.find("time").is_some());
            assert_eq!(!tools.unlisted().is_empty(), waits, "{filter:?}");
            let expect = list
                .iter()
                .filter(|spec| filter != ["!grep"] || spec.name != "grep");
            assert!(tools.specs().iter().eq(expect), "{filter:?}");
        }
    }

    #[test]
    fn every_tool_says_what_a_call_is_about() {
        for (tool, args, subject, body) in [
            (
                "bash",
                json!({"command": "cargo test\n--all"}),
                "cargo test …",
                Some("command"),
            ),
            ("shell", json!({"cmd": "ls"}), "ls", Some("command")),
            (
                "read_file",
                json!({"path": "a.rs", "offset": 10, "limit": 40}),
                "a.rs:10-49",
                None,
            ),
            ("Read", json!({"file_path": "a.rs"}), "a.rs", None),
            (
                "grep",
                json!({"pattern": "fn x", "path": "src"}),
                "fn x  src",
                None,
            ),
            ("glob", json!({"pattern": "**/*.rs"}), "**/*.rs", None),
            ("ls", json!({}), ".", None),
            (
                "move_file",
                json!({"source_path": "a", "destination_path": "b"}),
                "a → b",
                None,
            ),
            (
                "bash_input",
                json!({"job": "j1", "text": "y\n"}),
                "j1  y",
                Some("text"),
            ),
            ("todo", json!({"items": []}), "", None),
            (
                "task",
                json!({"prompt": "Build\nit", "role": "sprinter", "description": "the thing"}),
                "sprinter  the thing",
                Some("prompt"),
            ),
            (
                "read_only_task",
                json!({"prompt": "Look\naround"}),
                "Look …",
                Some("prompt"),
            ),
            (
                "skill",
                json!({"name": "commit", "arguments": "all"}),
                "commit  all",
                None,
            ),
            ("memory", json!({"operation": "list"}), "", None),
        ] {
            let call = tools(&[]).find(tool).unwrap().read(&args).unwrap();
            let got = call.subject();
            assert_eq!((got.text.as_str(), got.body), (subject, body), "{tool}");
        }
    }

    #[test]
    fn rules_on_tools_that_do_not_exist() {
        for (rule, expect) in [
            ("Bsh(rm:*)", Some("bsh")),
            ("Frobnicate", Some("frobnicate")),
            ("read_file(.env)", None),
            ("web_fetch", None),
            ("mcp__server__tool", None),
            ("Delegate", None),
            ("Host", None),
        ] {
            let parsed = Rule::parse(rule, "x:1").unwrap();
            assert_eq!(unknown_tool(&parsed), expect, "{rule}");
        }
        for name in ostler_guard::FAMILIES {
            assert_eq!(unknown_tool(&Rule::parse(name, "x:1").unwrap()), None);
        }
    }

    #[test]
    fn names_and_aliases_are_said_once() {
        let mut seen = std::collections::HashSet::new();
        for about in declarations() {
            for name in std::iter::once(about.name.as_ref()).chain(about.aliases.iter().copied()) {
                assert!(seen.insert(name), "{name}");
                assert_eq!(canonical_name(name), Some(about.name.as_ref()));
            }
        }
    }
}
