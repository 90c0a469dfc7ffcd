//! `tool_search`: what deferred tools are for and which arguments they take. With many servers the prompt has only their
//! names; whoever wants to use one looks it up here.

use super::ToolInfo;
use super::content::render;
use crate::cut::cut_text;
use crate::tool::{Context, Done, Question, Rendered, Scope, Tool, ToolError};
use futures_util::future::BoxFuture;
use ostler_llm::ToolSpec;
use ostler_wire::{Access, Json};
use serde_json::{Value, json};

pub const NAME: &str = "tool_search";
const PROSE: &str = "Looks up tools of MCP servers whose arguments are not shown. Give words of what you want to do, or names of tools; the answer has each tool's description and the JSON Schema of its arguments. Call a tool only when you have seen its schema.";
const MAX_FOUND: usize = 8;
const MAX_TEXT: usize = 32 * 1024;

/// Every deferred tool, by the name it goes by.
pub struct ToolSearch {
    pub tools: Vec<(String, ToolInfo)>,
}

impl ToolSearch {
    fn found(&self, query: &str) -> Vec<&(String, ToolInfo)> {
        let words: Vec<String> = query
            .to_lowercase()
            .split(|c: char| !c.is_alphanumeric() && c != '_' && c != '-')
            .filter(|word| !word.is_empty())
            .map(str::to_owned)
            .collect();
        let mut scored: Vec<(usize, &(String, ToolInfo))> = self
            .tools
            .iter()
            .map(|tool| {
                let (name, about) = (tool.0.to_lowercase(), tool.1.description.to_lowercase());
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
        scored
            .into_iter()
            .take(MAX_FOUND)
            .map(|(_, tool)| tool)
            .collect()
    }
}

impl Tool for ToolSearch {
    fn name(&self) -> &str {
        NAME
    }

    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: NAME.into(),
            description: PROSE.into(),
            parameters: Json::of(&json!({
                "type": "object",
                "properties": {"query": {"type": "string"}},
                "required": ["query"],
            })),
        }
    }

    fn access(&self, _: &Value, _: &Scope) -> Result<Vec<Access>, ToolError> {
        Ok(Vec::new())
    }

    fn question(&self, _: &Value) -> Option<Question> {
        None
    }

    fn run(&self, args: Value, cx: Context) -> BoxFuture<'_, Result<Done, ToolError>> {
        Box::pin(async move {
            let query = args
                .get("query")
                .and_then(Value::as_str)
                .unwrap_or_default();
            let found = self.found(query);
            let mut text = String::new();
            for (name, info) in &found {
                let schema = Json::of(&info.schema);
                text.push_str(&format!(
                    "## {name}\n{}\n{}\n\n",
                    info.description,
                    schema.get()
                ));
            }
            if found.is_empty() {
                let names: Vec<&str> = self.tools.iter().map(|(name, _)| name.as_str()).collect();
                text = format!("No tool has these words. There are: {}", names.join(", "));
            }
            let name = format!("{}.txt", cx.call_id);
            let text = cut_text(text.trim_end(), MAX_TEXT, &cx.artifacts, &name);
            Ok(json!({"text": text.text, "truncated": text.truncated}).into())
        })
    }

    fn render(&self, data: &Value) -> Rendered {
        render(data)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_come_first() {
        let tool = |name: &str, about: &str| {
            let info = ToolInfo {
                description: about.into(),
                ..ToolInfo::default()
            };
            (name.to_owned(), info)
        };
        let search = ToolSearch {
            tools: vec![
                tool("mcp__git__git_log", "Shows the history."),
                tool("mcp__files__read", "Reads a file of the git tree."),
                tool("mcp__time__now", "What time it is."),
            ],
        };
        for (query, expect) in [
            (
                "git history",
                &["mcp__git__git_log", "mcp__files__read"][..],
            ),
            ("mcp__files__read", &["mcp__files__read"]),
            ("weather", &[]),
            ("", &[]),
        ] {
            let found: Vec<&str> = search
                .found(query)
                .iter()
                .map(|(n, _)| n.as_str())
                .collect();
            assert_eq!(found, expect, "{query}");
        }
    }
}
