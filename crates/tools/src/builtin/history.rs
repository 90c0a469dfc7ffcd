//! `history`: what was said and done in earlier sessions. The search itself is in `crate::history`.

use super::walk;
use crate::history::{History as Past, HistoryError, Near, OWN_RESULT, Query, Reach, Words};
use crate::tool::{Context, Done, Rendered, Scope, Subject, ToolError, Typed};
use ostler_wire::{Access, CallVerb, Language};
use ostler_wire::{ToolDeclaration, ToolKind};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;

/// Hits, and messages on each side of one.
const HITS: usize = 8;
const SIDE: usize = 6;
const MOST: usize = 20;
/// How long a call may work on the index before it answers with what is there.
const PATIENCE: Duration = Duration::from_secs(3);
/// Characters of a session's id that are shown.
const SHORT_ID: usize = 8;

#[derive(Clone, Copy)]
pub struct History;

#[derive(Clone, Deserialize, JsonSchema)]
pub struct Args {
    #[serde(default)]
    #[schemars(with = "Operation")]
    operation: Option<Operation>,
    #[serde(default)]
    query: Option<String>,
    #[serde(default)]
    #[schemars(with = "Where")]
    scope: Option<Where>,
    #[serde(default)]
    session: Option<String>,
    #[serde(default)]
    entry: Option<u64>,
    #[serde(default)]
    limit: Option<usize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Operation {
    Search,
    Around,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Where {
    #[default]
    Project,
    Global,
}

impl Typed for History {
    type Args = Args;
    type Uses = Arc<Past>;
    const NAME: &'static str = OWN_RESULT;
    const ABOUT: ToolDeclaration =
        ToolDeclaration::new(Self::NAME, ToolKind::Memory).verb(CallVerb::SearchHistory);
    const PROSE: &'static str = include_str!("history.md");

    /// What was said in other projects is none of this one's business until the person says so.
    fn access(&self, args: &Args, _: &Scope) -> Result<Vec<Access>, ToolError> {
        Ok(match args.scope.unwrap_or_default() {
            Where::Project => Vec::new(),
            Where::Global => vec![Access::History],
        })
    }

    fn subject(args: &Args) -> Subject {
        args.query.as_deref().unwrap_or_default().into()
    }

    async fn run(&self, args: Args, cx: Context<Arc<Past>>) -> Result<Done, ToolError> {
        let past = cx.services.clone();
        // Models leave the operation out, and mean what the other arguments say.
        let operation = args.operation.unwrap_or(match args.entry {
            Some(_) => Operation::Around,
            None => Operation::Search,
        });
        walk::blocking(cx.cancel, move |cancel| match operation {
            Operation::Search => search(&past, args, &|| cancel.is_cancelled()),
            Operation::Around => around(&past, args),
        })
        .await
    }

    fn render(data: &Value) -> Rendered {
        let list = |key: &str| data[key].as_array().map(Vec::as_slice).unwrap_or_default();
        let text = |value: &Value, key: &str| value[key].as_str().unwrap_or_default().to_owned();
        let mut out: Vec<String> = Vec::new();
        match data[OWN_RESULT].as_str() {
            Some("around") => out.extend(list("messages").iter().map(|near| {
                let head = head(near);
                format!("{head}\n{}", text(near, "text"))
            })),
            Some(_) | None => out.extend(list("hits").iter().map(|hit| {
                let session = text(hit, "session");
                let session = short(&session);
                let (head, title) = (head(hit), text(hit, "title"));
                format!("{session} {head} in \"{title}\"\n  {}", text(hit, "text"))
            })),
        }
        if out.is_empty() {
            out.push(match data["scope"].as_str() {
                Some("project") => "Nothing found in this project. Try other or fewer words, or scope global.".into(),
                Some(_) | None => "Nothing found. Try other or fewer words, or words of another language that may have been used.".into(),
            });
        }
        if let Some(notice) = data["notice"].as_str() {
            out.push(format!("[{notice}]"));
        }
        out.join("\n").into()
    }
}

/// `#12 user 2026-11-15 10:00`
fn head(value: &Value) -> String {
    let ts = value["ts"].as_str().unwrap_or_default();
    let ts = ts.get(..16).unwrap_or(ts).replace('T', " ");
    let role = value["role"].as_str().unwrap_or_default();
    format!("#{} {role} {ts}", value["entry"])
        .trim_end()
        .to_owned()
}

/// Archives are named by their time, of which no part will do.
fn short(session: &str) -> &str {
    match uuid::Uuid::parse_str(session) {
        Ok(_) => session.get(..SHORT_ID).unwrap_or(session),
        Err(_) => session,
    }
}

fn search(past: &Past, args: Args, stop: &dyn Fn() -> bool) -> Result<Done, ToolError> {
    let scope = args.scope.unwrap_or_default();
    let query = Query {
        text: args.query.unwrap_or_default(),
        words: Words::Any,
        reach: reach(args.scope),
        limit: args.limit.unwrap_or(HITS).clamp(1, MOST),
        patience: PATIENCE,
    };
    let found = past.search(&query, stop).map_err(fault)?;
    let notice = found.notice(Language::English);
    let scope = match scope {
        Where::Project => "project",
        Where::Global => "global",
    };
    let mut data = json!({OWN_RESULT: "search", "scope": scope, "hits": found.hits});
    if let Some(notice) = notice {
        data["notice"] = notice.into();
    }
    Ok(data.into())
}

fn reach(scope: Option<Where>) -> Reach {
    match scope.unwrap_or_default() {
        Where::Project => Reach::Project,
        Where::Global => Reach::Global,
    }
}

fn around(past: &Past, args: Args) -> Result<Done, ToolError> {
    let (Some(session), Some(entry)) = (args.session, args.entry) else {
        let message = "around needs the session and entry of a hit.";
        return Err(ToolError::new("invalid_input", message));
    };
    let side = args.limit.unwrap_or(SIDE).min(MOST);
    let messages: Vec<Near> = past
        .around(&session, entry, side, reach(args.scope))
        .map_err(fault)?;
    Ok(json!({OWN_RESULT: "around", "session": session, "messages": messages}).into())
}

fn fault(error: HistoryError) -> ToolError {
    let code = match error {
        HistoryError::NoWords | HistoryError::Ambiguous(..) => "invalid_input",
        HistoryError::NoSession(_) | HistoryError::NoEntry(..) => "not_found",
        HistoryError::Index(_) | HistoryError::Unreadable { .. } => "read_error",
    };
    ToolError::new(code, error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Bench;
    use std::fs;

    const ID: &str = "aaaaaaaa-0000-4000-8000-000000000001";

    fn bench() -> Bench {
        let bench = Bench::new();
        let folder = bench.history().sessions.join(&bench.history().project);
        fs::create_dir_all(&folder).unwrap();
        let line = |n: usize, role: &str, text: &str| {
            format!(
                "{{\"type\":\"message\",\"entry\":{n},\"parent\":null,\"ts\":\"2026-11-15T10:0{n}:00.000Z\",\"role\":\"{role}\",\"text\":\"{text}\"}}\n"
            )
        };
        let log = [
            line(0, "user", "Which port?"),
            line(1, "assistant", "The gateway listens on 7741."),
            line(2, "user", "Thanks"),
        ];
        fs::write(folder.join(format!("{ID}.jsonl")), log.concat()).unwrap();
        bench
    }

    async fn shown(bench: &Bench, args: Value) -> String {
        match bench.run(&History, args).await {
            Ok(done) => History::render(&done.data).text,
            Err(e) => format!("{}: {}", e.code, e.message),
        }
    }

    #[tokio::test]
    async fn what_was_said_is_found_and_its_surroundings_shown() {
        let bench = bench();
        let found = "aaaaaaaa #1 assistant 2026-11-15 10:01 in \"Which port?\"\n  The gateway listens on 7741.";
        for (args, expect) in [
            (json!({"query": "gateway listening"}), found),
            (
                json!({"operation": "search", "query": "7741", "scope": "global", "limit": 0}),
                found,
            ),
            (
                json!({"operation": "around", "session": "aaaaaaaa", "entry": 1, "limit": 1}),
                "#0 user 2026-11-15 10:00\nWhich port?\n#1 assistant 2026-11-15 10:01\nThe gateway listens on 7741.\n#2 user 2026-11-15 10:02\nThanks",
            ),
            (
                json!({"session": ID, "entry": 0, "limit": 0}),
                "#0 user 2026-11-15 10:00\nWhich port?",
            ),
            (
                json!({"query": "zebra"}),
                "Nothing found in this project. Try other or fewer words, or scope global.",
            ),
            (
                json!({"query": "zebra", "scope": "global"}),
                "Nothing found. Try other or fewer words, or words of another language that may have been used.",
            ),
            (json!({}), "invalid_input: No search words: name some."),
            (
                json!({"operation": "around", "session": ID}),
                "invalid_input: around needs the session and entry of a hit.",
            ),
            (
                json!({"session": "ffff", "entry": 1}),
                "not_found: There is no session ffff in the history; take one from a search.",
            ),
        ] {
            assert_eq!(shown(&bench, args.clone()).await, expect, "{args}");
        }
    }
}
