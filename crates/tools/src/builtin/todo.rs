//! `todo`: the plan of the turn, always given whole. Nothing is stored here; the list is an entry of the log.

use crate::tool::{Context, Done, Rendered, Scope, ToolError, Typed};
use ostler_wire::{Access, Body, CallVerb, TodoItem, TodoState};
use ostler_wire::{ResultForm, ToolDeclaration, ToolKind};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

const MAX_ITEMS: usize = 100;
const MAX_TEXT: usize = 1000;

#[derive(Clone, Copy)]
pub struct Todo;

#[derive(Clone, Deserialize, JsonSchema)]
pub struct Args {
    items: Vec<Item>,
}

#[derive(Clone, Deserialize, JsonSchema)]
pub struct Item {
    text: String,
    state: State,
}

#[derive(Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum State {
    Pending,
    InProgress,
    Done,
}

impl Typed for Todo {
    type Args = Args;
    type Uses = ();
    const NAME: &'static str = "todo";
    const ABOUT: ToolDeclaration = ToolDeclaration::new(Self::NAME, ToolKind::Talk)
        .verb(CallVerb::Plan)
        .result(ResultForm::Entry)
        .aliases(&["todowrite"])
        .common_name("TodoWrite")
        .advice("Keep a todo list for work of three steps or more, and keep it current.");
    const PROSE: &'static str = include_str!("todo.md");

    fn access(&self, _: &Args, _: &Scope) -> Result<Vec<Access>, ToolError> {
        Ok(Vec::new())
    }

    async fn run(&self, args: Args, _: Context<()>) -> Result<Done, ToolError> {
        let items = check(args.items)?;
        Ok(Done {
            data: json!({"items": items}),
            also: vec![Body::Todo(ostler_wire::Todo { items })],
        })
    }

    fn render(data: &Value) -> Rendered {
        let states: Vec<&str> = data["items"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|item| item["state"].as_str())
            .collect();
        let count = |state: &str| states.iter().filter(|s| **s == state).count();
        format!(
            "{} of {} done, {} in progress.",
            count("done"),
            states.len(),
            count("in_progress")
        )
        .into()
    }
}

fn check(items: Vec<Item>) -> Result<Vec<TodoItem>, ToolError> {
    let invalid = |message: String| Err(ToolError::new("invalid_input", message));
    if items.len() > MAX_ITEMS {
        return invalid(format!("At most {MAX_ITEMS} items; join or drop some."));
    }
    if items
        .iter()
        .any(|i| i.text.trim().is_empty() || i.text.len() > MAX_TEXT)
    {
        return invalid(format!("Every item needs a text of 1 to {MAX_TEXT} bytes."));
    }
    let items: Vec<TodoItem> = items
        .into_iter()
        .map(|item| TodoItem {
            text: item.text,
            state: match item.state {
                State::Pending => TodoState::Pending,
                State::InProgress => TodoState::InProgress,
                State::Done => TodoState::Done,
            },
        })
        .collect();
    match items
        .iter()
        .filter(|i| i.state == TodoState::InProgress)
        .count()
    {
        0 | 1 => Ok(items),
        n => invalid(format!("{n} items are in_progress; at most one may be.")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Bench;

    async fn run(items: Value) -> Result<(Value, Vec<Body>), String> {
        let done = Bench::new().run(&Todo, json!({"items": items})).await;
        done.map(|d| (d.data, d.also)).map_err(|e| e.message)
    }

    #[tokio::test]
    async fn the_whole_list_becomes_an_entry() {
        let list = json!([
            {"text": "read", "state": "done"},
            {"content": "write", "status": "in_progress"},
            {"text": "ship", "state": "pending"},
        ]);
        let (data, also) = run(list).await.unwrap();
        let item = |text: &str, state| TodoItem {
            text: text.into(),
            state,
        };
        let items = vec![
            item("read", TodoState::Done),
            item("write", TodoState::InProgress),
            item("ship", TodoState::Pending),
        ];
        assert_eq!(data, json!({"items": items}));
        assert_eq!(also, [Body::Todo(ostler_wire::Todo { items })]);
        assert_eq!(Todo::render(&data).text, "1 of 3 done, 1 in progress.");
    }

    #[tokio::test]
    async fn bad_lists_are_refused() {
        let pending = |text: &str| json!({"text": text, "state": "pending"});
        let going = json!({"text": "a", "state": "in_progress"});
        for (items, expect) in [
            (
                json!([going, going]),
                "2 items are in_progress; at most one may be.",
            ),
            (
                json!([pending(" ")]),
                "Every item needs a text of 1 to 1000 bytes.",
            ),
            (
                json!([pending(&"x".repeat(1001))]),
                "Every item needs a text of 1 to 1000 bytes.",
            ),
            (
                json!(vec![pending("a"); 101]),
                "At most 100 items; join or drop some.",
            ),
        ] {
            assert_eq!(run(items).await.unwrap_err(), expect);
        }
        assert_eq!(run(json!([])).await.unwrap().0, json!({"items": []}));
    }
}
