//! `complete_step`: one item of the task list is done, and here is what shows it. The list is an entry of the log.

use crate::tool::{Context, Done, Rendered, Scope, Subject, ToolError, Typed};
use ostler_wire::{Access, Body, CallVerb, TodoItem, TodoState};
use ostler_wire::{ResultForm, ToolDeclaration, ToolKind, ToolMark};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use std::sync::Arc;

#[derive(Clone, Copy)]
pub struct CompleteStep;

#[derive(Clone, Deserialize, JsonSchema)]
pub struct Args {
    /// Its number or text
    step: String,
    evidence: String,
}

impl Typed for CompleteStep {
    type Args = Args;
    type Uses = Arc<Vec<TodoItem>>;
    const NAME: &'static str = "complete_step";
    const ABOUT: ToolDeclaration = ToolDeclaration::new(Self::NAME, ToolKind::Talk)
        .verb(CallVerb::Complete)
        .result(ResultForm::Nothing)
        .marks(&[
            ToolMark::Alone,
            ToolMark::Deferred,
            ToolMark::NotForChildren,
            ToolMark::NotForReaders,
        ]);
    const PROSE: &'static str = include_str!("complete_step.md");
    fn access(&self, args: &Args, _: &Scope) -> Result<Vec<Access>, ToolError> {
        match args.evidence.trim().is_empty() {
            true => Err(ToolError::new(
                "invalid_input",
                "The evidence is empty. Say what shows that the step is done: a test run, a file, an output.",
            )),
            false => Ok(Vec::new()),
        }
    }

    fn subject(args: &Args) -> Subject {
        Subject::first_line(&args.step).with_body("evidence")
    }

    async fn run(&self, args: Args, cx: Context<Arc<Vec<TodoItem>>>) -> Result<Done, ToolError> {
        let mut items = cx.services.to_vec();
        let Some(item) = find(&mut items, args.step.trim()) else {
            return Err(ToolError::new("unknown_step", open_steps(&cx.services)));
        };
        item.state = TodoState::Done;
        let step = item.text.clone();
        Ok(Done {
            data: json!({"step": step, "evidence": args.evidence, "items": items}),
            also: vec![Body::Todo(ostler_wire::Todo { items })],
        })
    }

    fn render(data: &Value) -> Rendered {
        let open = data["items"]
            .as_array()
            .into_iter()
            .flatten()
            .filter(|item| item["state"] != "done")
            .count();
        format!("Done; {open} left.").into()
    }
}

/// An open item by its number from 1, its text, or a part that only one of them has.
fn find<'a>(items: &'a mut [TodoItem], step: &str) -> Option<&'a mut TodoItem> {
    let is_open = |item: &TodoItem| item.state != TodoState::Done;
    let wanted = step.to_lowercase();
    let same = |item: &TodoItem| item.text.trim().to_lowercase() == wanted;
    let part = |item: &TodoItem| {
        !wanted.is_empty() && is_open(item) && item.text.to_lowercase().contains(&wanted)
    };
    let number = step.parse::<usize>().ok().and_then(|n| n.checked_sub(1));
    let at = items
        .iter()
        .position(|item| is_open(item) && same(item))
        .or(number)
        .or_else(|| match items.iter().filter(|item| part(item)).count() {
            1 => items.iter().position(part),
            _ => None,
        })?;
    items.get_mut(at).filter(|item| is_open(item))
}

fn open_steps(items: &[TodoItem]) -> String {
    let open: Vec<String> = items
        .iter()
        .enumerate()
        .filter(|(_, item)| item.state != TodoState::Done)
        .map(|(at, item)| format!("{}. {}", at + 1, item.text))
        .collect();
    match open.is_empty() {
        true => "There is no open step; todo makes the list.".into(),
        false => format!("No open step is called that. Open: {}", open.join("; ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Bench;
    use TodoState::{Done as Over, InProgress, Pending};

    #[tokio::test]
    async fn a_step_is_found_and_marked() {
        let items = |states: [TodoState; 3]| -> Vec<TodoItem> {
            ["read code", "write code", "Run the tests"]
                .into_iter()
                .zip(states)
                .map(|(text, state)| TodoItem {
                    text: text.into(),
                    state,
                })
                .collect()
        };
        let open = "No open step is called that. Open: 2. write code; 3. Run the tests";
        for (step, expect) in [
            ("2", Ok([Over, Over, Pending])),
            ("write code", Ok([Over, Over, Pending])),
            (" run THE tests ", Ok([Over, InProgress, Over])),
            ("tests", Ok([Over, InProgress, Over])),
            ("code", Ok([Over, Over, Pending])),
            ("e", Err(open)),
            ("1", Err(open)),
            ("0", Err(open)),
            ("9", Err(open)),
            ("", Err(open)),
            ("deploy", Err(open)),
        ] {
            let mut cx = Bench::new().context("complete_step");
            cx.services.todo = items([Over, InProgress, Pending]).into();
            let args = json!({"step": step, "evidence": "all green"});
            let done = crate::testing::run(&CompleteStep, args, cx).await;
            let got = done.map(|d| d.also).map_err(|e| e.message);
            let expect = expect
                .map(|states| {
                    let items = items(states);
                    vec![Body::Todo(ostler_wire::Todo { items })]
                })
                .map_err(str::to_owned);
            assert_eq!(got, expect, "{step:?}");
        }
        let none = Bench::new()
            .run(&CompleteStep, json!({"step": "1", "evidence": "x"}))
            .await;
        assert_eq!(none.err().map(|e| e.code), Some("unknown_step"));
    }

    #[test]
    fn a_claim_needs_evidence() {
        let scope = Scope::new("/r", None);
        let access = |evidence: &str| {
            let args = json!({"step": "1", "evidence": evidence});
            crate::testing::access(&CompleteStep, &args, &scope).map_err(|e| e.code)
        };
        assert_eq!(access("cargo test: 12 passed"), Ok(Vec::new()));
        assert_eq!(access(" \n"), Err("invalid_input"));
    }
}
