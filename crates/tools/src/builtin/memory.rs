//! `memory`: facts that were kept, looked up. Keeping them is `remember`, letting them go `forget`.

use super::walk;
use crate::memory::{Fact, LeftOut, Memory as Store, MemoryError, Place};
use crate::tool::{Context, Done, Rendered, Scope, Subject, ToolError, Typed};
use ostler_wire::{Access, CallVerb, Language};
use ostler_wire::{ResultForm, ToolDeclaration, ToolKind};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use std::sync::Arc;

/// Facts that a search finds, and that a list has.
const HITS: usize = 8;
const MOST: usize = 50;
/// Files that are no facts which are named.
const MAX_NAMED: usize = 5;

#[derive(Clone, Copy)]
pub struct Memory;

#[derive(Clone, Deserialize, JsonSchema)]
pub struct Args {
    #[serde(default)]
    #[schemars(with = "Operation")]
    operation: Option<Operation>,
    #[serde(default)]
    query: Option<String>,
    #[serde(default)]
    id: Option<String>,
    #[serde(default)]
    #[schemars(with = "Place")]
    scope: Option<Place>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Operation {
    Search,
    List,
    Read,
}

impl Typed for Memory {
    type Args = Args;
    type Uses = Arc<Store>;
    const NAME: &'static str = "memory";
    const ABOUT: ToolDeclaration = ToolDeclaration::new(Self::NAME, ToolKind::Memory)
        .verb(CallVerb::Recall)
        .result(ResultForm::Facts);
    const PROSE: &'static str = include_str!("memory.md");

    fn access(&self, _: &Args, _: &Scope) -> Result<Vec<Access>, ToolError> {
        Ok(Vec::new())
    }

    fn subject(args: &Args) -> Subject {
        let about = args.query.as_deref().or(args.id.as_deref());
        about.unwrap_or_default().into()
    }

    async fn run(&self, args: Args, cx: Context<Arc<Store>>) -> Result<Done, ToolError> {
        let store = cx.services.clone();
        // Models leave the operation out, and mean what the other arguments say.
        let operation = args.operation.unwrap_or(match (&args.id, &args.query) {
            (Some(_), _) => Operation::Read,
            (None, Some(_)) => Operation::Search,
            (None, None) => Operation::List,
        });
        walk::blocking(cx.cancel, move |_| look(&store, operation, args)).await
    }

    fn render(data: &Value) -> Rendered {
        let facts = data["facts"].as_array().map(Vec::as_slice);
        let mut out: Vec<String> = facts.unwrap_or_default().iter().map(shown).collect();
        if out.is_empty() {
            out.push("No such facts. Try other or fewer words; history has what was said in earlier sessions.".into());
        }
        if let Some(notice) = data["notice"].as_str() {
            out.push(format!("[{notice}]"));
        }
        out.join("\n").into()
    }
}

fn look(store: &Store, operation: Operation, args: Args) -> Result<Done, ToolError> {
    let mut notices = Vec::new();
    let facts: Vec<Value> = match operation {
        Operation::Read => {
            let Some(id) = args.id else {
                let message = "read needs the id of a fact; list or search to find it.";
                return Err(ToolError::new("invalid_input", message));
            };
            let fact = store.read(&id).map_err(fault)?;
            let mut value = value(&fact);
            value["content"] = fact.body.into();
            vec![value]
        }
        Operation::Search => {
            let query = args.query.unwrap_or_default();
            let hits = store.search(&query, args.scope, HITS).map_err(fault)?;
            hits.iter().map(|hit| value(&hit.fact)).collect()
        }
        Operation::List => {
            let all = store.list(args.scope).map_err(fault)?;
            if all.len() > MOST {
                notices.push(format!(
                    "{MOST} of {} facts, those changed last; search for others",
                    all.len()
                ));
            }
            all.iter().take(MOST).map(value).collect()
        }
    };
    if operation != Operation::Read {
        let bad = store.left_out().map_err(fault)?;
        let named: Vec<String> = bad.iter().take(MAX_NAMED).map(complaint).collect();
        notices.extend(named);
    }
    let mut data = json!({"facts": facts});
    if !notices.is_empty() {
        data["notice"] = notices.join("; ").into();
    }
    Ok(data.into())
}

fn complaint(left: &LeftOut) -> String {
    let name = left.path.file_name().unwrap_or_default().to_string_lossy();
    format!("{name} left out: {}", left.fault.say(Language::English))
}

/// A fact without its words.
pub fn value(fact: &Fact) -> Value {
    json!({
        "id": fact.id, "revision": fact.version(), "name": fact.name, "description": fact.description,
        "type": fact.kind, "scope": fact.place, "updated": fact.updated,
    })
}

/// The same as a model reads it.
pub fn shown(fact: &Value) -> String {
    let text = |key: &str| fact[key].as_str().unwrap_or_default();
    let date = text("updated");
    let about = [text("type"), text("scope"), date.get(..10).unwrap_or(date)];
    let about: Vec<&str> = about.into_iter().filter(|part| !part.is_empty()).collect();
    let mut out = format!(
        "[{} {}] {} ({}): {}",
        text("id"),
        text("revision"),
        text("name"),
        about.join(", "),
        text("description")
    );
    if let Some(content) = fact["content"].as_str() {
        out.push('\n');
        out.push_str(content);
    }
    out
}

pub fn fault(error: MemoryError) -> ToolError {
    let code = match error {
        MemoryError::NoFact(_) => "not_found",
        MemoryError::Ambiguous(..) | MemoryError::Wish(_) => "invalid_input",
        MemoryError::Stale { .. } => "stale",
        MemoryError::Exists { .. } => "exists",
        MemoryError::Full(_) => "full",
        MemoryError::Busy => "busy",
        MemoryError::Read { .. } => "read_error",
        MemoryError::Write { .. } => "write_error",
    };
    ToolError::new(code, error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builtin::forget::Forget;
    use crate::builtin::remember::Remember;
    use crate::testing::Bench;

    /// What a model reads, with versions that can be told: `R` for each.
    async fn said(bench: &Bench, tool: &str, args: Value) -> String {
        let done = match tool {
            "memory" => bench.run(&Memory, args).await,
            "remember" => bench.run(&Remember, args).await,
            _ => bench.run(&Forget, args).await,
        };
        match done {
            Ok(done) => {
                crate::builtin::render(tool, &json!({"ok": true, "data": done.data}).into(), false)
                    .text
            }
            Err(e) => format!("{}: {}", e.code, e.message),
        }
    }

    /// The id and revision in `[id revision]`.
    fn named(text: &str) -> (String, String) {
        let inner = text.split_once('[').unwrap().1.split_once(']').unwrap().0;
        let (id, revision) = inner.split_once(' ').unwrap();
        (id.to_owned(), revision.to_owned())
    }

    #[tokio::test]
    async fn a_fact_is_kept_found_revised_and_forgotten() {
        let bench = Bench::new();
        let nothing = "No such facts. Try other or fewer words; history has what was said in earlier sessions.";
        assert_eq!(said(&bench, "memory", json!({})).await, nothing);
        assert!(
            !bench.dir.path().join("home").exists(),
            "looking makes no folder"
        );
        let new = json!({"name": "Gateway port", "description": "where it listens", "content": "The gateway listens on 7741.", "type": "reference"});
        let kept = said(&bench, "remember", new.clone()).await;
        let (id, first) = named(&kept);
        let shown = format!(
            "[{id} {first}] Gateway port (reference, project, {}): where it listens",
            &ostler_store::log::now()[..10]
        );
        assert_eq!(kept, format!("Remembered {shown}"));
        assert_eq!(
            said(
                &bench,
                "memory",
                json!({"query": "which port has the gateway"})
            )
            .await,
            shown
        );
        assert_eq!(
            said(
                &bench,
                "memory",
                json!({"operation": "list", "scope": "project"})
            )
            .await,
            shown
        );
        assert_eq!(
            said(
                &bench,
                "memory",
                json!({"operation": "list", "scope": "global"})
            )
            .await,
            nothing
        );
        assert_eq!(
            said(&bench, "memory", json!({"id": id})).await,
            format!("{shown}\nThe gateway listens on 7741.")
        );
        assert!(
            said(&bench, "remember", new)
                .await
                .starts_with("exists: There is already a fact \"Gateway port\"")
        );

        let kept = said(
            &bench,
            "remember",
            json!({"id": id, "revision": first, "content": "It listens on 7742 now."}),
        )
        .await;
        let (same, second) = named(&kept);
        assert_eq!(
            (same, second.starts_with("2-")),
            (id.clone(), true),
            "{kept}"
        );
        for (args, expect) in [
            (
                json!({"id": id, "revision": first, "content": "x"}),
                "stale: ",
            ),
            (json!({"id": id, "revision": 2, "content": "x"}), "stale: "),
            (json!({"id": id, "content": "x"}), "invalid_input: "),
            (
                json!({"id": "nothere", "revision": "1-x", "content": "x"}),
                "not_found: ",
            ),
            (
                json!({"id": id, "revision": second, "scope": "global"}),
                "invalid_input: ",
            ),
            (json!({"name": "x"}), "invalid_input: "),
            (
                json!({"name": "x".repeat(81), "content": "x"}),
                "invalid_input: ",
            ),
            (
                json!({"name": "x", "content": "x".repeat(6001)}),
                "invalid_input: ",
            ),
        ] {
            let got = said(&bench, "remember", args.clone()).await;
            assert!(got.starts_with(expect), "{args}: {got}");
        }
        let stale = said(&bench, "forget", json!({"id": id, "revision": first})).await;
        assert!(
            stale.starts_with("stale: ") && stale.contains(&second),
            "{stale}"
        );
        let gone = said(&bench, "forget", json!({"id": id, "revision": second})).await;
        assert!(
            gone.starts_with(&format!("Archived [{id} {second}] Gateway port")),
            "{gone}"
        );
        assert_eq!(
            said(&bench, "memory", json!({"query": "gateway"})).await,
            nothing
        );
    }
}
