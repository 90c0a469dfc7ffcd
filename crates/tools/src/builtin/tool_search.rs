//! `tool_search`: what tools are for and which arguments they take that the prompt has only by name, and the way to run
//! them: not every vendor lets a model call what is not in its list. Running is up to `accept`, which takes such a call apart.

use crate::arguments::{Repair, fit_to_schema};
use crate::cut::cut_text;
use crate::tool::{Call, Context, Done, Rendered, Scope, Subject, Tool, ToolError};
use futures_util::future::BoxFuture;
use ostler_wire::{Access, CallVerb, Json, ToolDeclaration, ToolKind, ToolSpec, is_server_tool};
use serde_json::{Map, Value, json};
use std::sync::Arc;

pub const NAME: &str = "tool_search";
const PROSE: &str = include_str!("tool_search.md");
const MAX_FOUND: usize = 8;
const MAX_TEXT: usize = 32 * 1024;

/// Nothing to look up, for whoever asks of the tool as such.
pub static NOTHING: ToolSearch = ToolSearch { tools: Vec::new() };

static ABOUT: ToolDeclaration =
    ToolDeclaration::new(NAME, ToolKind::Talk).verb(CallVerb::SearchTools);

/// Every deferred tool as it would be in the list.
#[derive(Clone)]
pub struct ToolSearch {
    pub tools: Vec<ToolSpec>,
}

/// The call of another tool that a call of this one stands for: its name and its arguments.
pub fn inner(input: &Map<String, Value>) -> Option<(&str, Option<&Value>)> {
    let name = input.get("tool")?.as_str()?.trim();
    (!name.is_empty() && name != NAME).then(|| (name, input.get("arguments")))
}

/// And back: what the model said, for a call that came through here.
pub fn outer(name: &str, arguments: &Json) -> String {
    format!(
        "{{\"tool\":{},\"arguments\":{}}}",
        Value::from(name),
        arguments.get()
    )
}

impl ToolSearch {
    fn found(&self, query: &str) -> Vec<&ToolSpec> {
        let words: Vec<String> = query
            .to_lowercase()
            .split(|c: char| !c.is_alphanumeric() && c != '_' && c != '-')
            .filter(|word| !word.is_empty())
            .map(str::to_owned)
            .collect();
        let mut scored: Vec<(usize, &ToolSpec)> = self
            .tools
            .iter()
            .map(|tool| {
                let (name, about) = (tool.name.to_lowercase(), tool.description.to_lowercase());
                let score = |word: &String| match (name == *word, name.contains(word.as_str())) {
                    (true, _) => 100,
                    (false, true) => 5,
                    (false, false) => usize::from(about.contains(word.as_str())),
                };
                (words.iter().map(score).sum(), tool)
            })
            .filter(|(score, _)| *score > 0)
            .collect();
        scored.sort_by_key(|(score, _)| std::cmp::Reverse(*score));
        let best = scored.into_iter().take(MAX_FOUND);
        best.map(|(_, tool)| tool).collect()
    }
}

fn schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "query": {"type": "string"},
            "tool": {"type": "string"},
            "arguments": {"type": "object"},
        },
    })
}

impl Tool for ToolSearch {
    fn about(&self) -> &ToolDeclaration {
        &ABOUT
    }

    fn spec(&self) -> ToolSpec {
        // Those of servers are in the list by name.
        let names = self.tools.iter().map(|tool| tool.name.as_str());
        let names: Vec<&str> = names.filter(|name| !is_server_tool(name)).collect();
        let description = match names.is_empty() {
            true => PROSE.trim().to_owned(),
            false => format!("{} There are: {}.", PROSE.trim(), names.join(", ")),
        };
        ToolSpec {
            name: NAME.into(),
            description,
            parameters: Json::of(&schema()),
        }
    }

    fn fit(&self, args: &Value) -> Option<Result<(Value, Vec<Repair>), ToolError>> {
        Some(fit_to_schema(&ABOUT, &schema(), args))
    }

    fn read(&self, args: &Value) -> Result<Arc<dyn Call>, ToolError> {
        fit_to_schema(&ABOUT, &schema(), args)?;
        // A call of another tool whose arguments can be read never comes here.
        if let Some((tool, _)) = args.as_object().and_then(inner) {
            return Err(ToolError::new(
                "invalid_input",
                format!("The arguments for {tool} cannot be read. Send them as one JSON object."),
            ));
        }
        let query = args.get("query").and_then(Value::as_str);
        Ok(Arc::new(Search {
            tool: self.clone(),
            query: query.unwrap_or_default().to_owned(),
        }))
    }

    fn render(&self, data: &Value) -> Rendered {
        let text = data.get("text").and_then(Value::as_str);
        text.unwrap_or_default().to_owned().into()
    }
}

struct Search {
    tool: ToolSearch,
    query: String,
}

impl Call for Search {
    fn access(&self, _: &Scope) -> Result<Vec<Access>, ToolError> {
        Ok(Vec::new())
    }

    fn subject(&self) -> Subject {
        self.query.as_str().into()
    }

    fn run(&self, cx: Context) -> BoxFuture<'_, Result<Done, ToolError>> {
        let found = self.tool.found(&self.query);
        let mut text = String::new();
        for ToolSpec {
            name,
            description,
            parameters,
        } in &found
        {
            text.push_str(&format!(
                "## {name}\n{description}\n{}\n\n",
                parameters.get()
            ));
        }
        if found.is_empty() {
            let names: Vec<&str> = self.tool.tools.iter().map(|t| t.name.as_str()).collect();
            text = format!("No tool has these words. There are: {}", names.join(", "));
        }
        let name = format!("{}.txt", cx.call_id);
        let text = cut_text(text.trim_end(), MAX_TEXT, &cx.artifacts, &name);
        let data = json!({"text": text.text, "truncated": text.truncated});
        Box::pin(std::future::ready(Ok(data.into())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tool(name: &str, about: &str) -> ToolSpec {
        ToolSpec {
            name: name.into(),
            description: about.into(),
            parameters: Json::of(&json!({})),
        }
    }

    #[test]
    fn the_best_come_first() {
        let search = ToolSearch {
            tools: vec![
                tool("mcp__git__git_log", "Shows the history."),
                tool("mcp__files__read", "Reads a file of the git tree."),
                tool("time", "What time it is."),
            ],
        };
        for (query, expect) in [
            (
                "git history",
                &["mcp__git__git_log", "mcp__files__read"][..],
            ),
            ("mcp__files__read", &["mcp__files__read"]),
            ("Time, please", &["time"]),
            ("weather", &[]),
            ("", &[]),
        ] {
            let found: Vec<&str> = search
                .found(query)
                .iter()
                .map(|tool| tool.name.as_str())
                .collect();
            assert_eq!(found, expect, "{query}");
        }
        let about = search.spec().description;
        assert!(about.ends_with(" There are: time."), "{about}");
        assert_eq!(NOTHING.spec().description, PROSE.trim());
    }

    #[test]
    fn a_call_of_another_tool_is_taken_apart_and_put_together() {
        for (input, expect) in [
            (json!({"query": "x"}), None),
            (json!({"tool": " time "}), Some(("time", None))),
            (
                json!({"query": "x", "tool": "a", "arguments": {"b": 1}}),
                Some(("a", Some(json!({"b": 1})))),
            ),
            (json!({"tool": ""}), None),
            (json!({"tool": 3}), None),
            (json!({"tool": "tool_search"}), None),
        ] {
            let taken = inner(input.as_object().unwrap());
            let taken = taken.map(|(name, args)| (name, args.cloned()));
            assert_eq!(taken, expect, "{input}");
        }
        let said = outer("odd \"name\"", &Json::of(&json!({"a": [1]})));
        let said: Value = serde_json::from_str(&said).unwrap();
        assert_eq!(
            said,
            json!({"tool": "odd \"name\"", "arguments": {"a": [1]}})
        );
    }
}
