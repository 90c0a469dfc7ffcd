//! `task`: work that a sub-agent does in a session of its own, with leave to write.

use crate::tool::{Context, Delegate, Done, Rendered, Scope, Subject, TaskOrder, ToolError, Typed};
use ostler_wire::Access;
use ostler_wire::{ResultForm, ToolDeclaration, ToolKind, ToolMark, Word};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use std::sync::Arc;

/// The role of a sub-agent that may write, where none is named.
pub const WRITER: &str = "builder";

#[derive(Clone, Copy)]
pub struct Task;

#[derive(Clone, Deserialize, JsonSchema)]
pub struct Args {
    pub(super) prompt: String,
    #[serde(default)]
    pub(super) role: Option<String>,
    /// for the person
    #[serde(default)]
    pub(super) description: Option<String>,
    #[serde(default)]
    worktree: Option<bool>,
}

impl Typed for Task {
    type Args = Args;
    type Uses = Option<Arc<dyn Delegate>>;
    const NAME: &'static str = "task";
    const ABOUT: ToolDeclaration = ToolDeclaration::new(Self::NAME, ToolKind::Delegate)
        .result(ResultForm::Report)
        .question(Word::WantsToDelegate)
        .common_name("Task")
        .marks(&[ToolMark::TakesRoles, ToolMark::NotForReaders]);
    const PROSE: &'static str = include_str!("task.md");

    fn access(&self, args: &Args, _: &Scope) -> Result<Vec<Access>, ToolError> {
        delegate(&args.prompt, args.role.as_deref().unwrap_or(WRITER), false)
    }

    fn subject(args: &Args) -> Subject {
        Subject::of_task(
            &args.prompt,
            args.description.as_deref(),
            args.role.as_deref(),
        )
    }

    async fn run(
        &self,
        args: Args,
        cx: Context<Option<Arc<dyn Delegate>>>,
    ) -> Result<Done, ToolError> {
        let order = TaskOrder {
            role: args.role.unwrap_or_else(|| WRITER.into()),
            prompt: args.prompt,
            description: args.description,
            read_only: false,
            worktree: args.worktree == Some(true),
            ..TaskOrder::default()
        };
        send(order, cx).await
    }

    fn render(data: &Value) -> Rendered {
        render_report(data).into()
    }
}

/// What a call touches that has others do the work.
pub(super) fn delegate(what: &str, role: &str, read_only: bool) -> Result<Vec<Access>, ToolError> {
    if what.trim().is_empty() {
        let message = "There is nothing to do: say what.";
        return Err(ToolError::new("invalid_input", message));
    }
    Ok(vec![Access::Delegate {
        role: role.trim().to_owned(),
        read_only,
    }])
}

/// Has a sub-agent do it and waits for its report.
pub(super) async fn send(
    order: TaskOrder,
    cx: Context<Option<Arc<dyn Delegate>>>,
) -> Result<Done, ToolError> {
    let Some(delegate) = cx.services.clone() else {
        let message = "There is nobody to delegate to here.";
        return Err(ToolError::new("unavailable", message));
    };
    delegate
        .run_task(cx.with_services(()), order)
        .await
        .map(Done::from)
}

/// What the model reads of a sub-agent's report.
pub(super) fn render_report(data: &Value) -> String {
    let text = |key: &str| data[key].as_str().unwrap_or_default();
    let session = text("session");
    let tokens = ["input", "output"].map(|key| data["spent"][key].as_u64().unwrap_or(0));
    let tree = match &data["worktree"] {
        Value::Null => String::new(),
        left => describe_worktree(left),
    };
    format!(
        "{}\n[{} · session {} · {} tokens · {}s]{}{tree}",
        text("text").trim_end(),
        text("role"),
        session.get(..8).unwrap_or(session),
        tokens[0].saturating_add(tokens[1]),
        data["seconds"],
        describe_agent(&data["agent"]),
    )
}

/// What is worth knowing of another agent that did the work.
fn describe_agent(agent: &Value) -> String {
    let text = |key: &str| agent[key].as_str().unwrap_or_default();
    if agent.is_null() {
        return String::new();
    }
    let mut out = format!("\n[by {}", text("backend"));
    if !text("model").is_empty() {
        out.push_str(&format!(" with {}", text("model")));
    }
    if !text("SESSION_ID").is_empty() {
        out.push_str(&format!(" · session_id {}", text("SESSION_ID")));
    }
    out.push(']');
    if let Some(applies) = agent["patch_apply_check_ok"].as_bool() {
        out.push_str(match applies {
            true => "\n[Its patch applies.]",
            false => "\n[Its patch does not apply.]",
        });
    }
    let warnings = agent["warnings"].as_array().map(Vec::as_slice);
    for warning in warnings
        .unwrap_or_default()
        .iter()
        .filter_map(Value::as_str)
    {
        out.push_str(&format!("\n[{warning}]"));
    }
    out
}

/// What became of a sub-agent's worktree, in words.
pub fn describe_worktree(report: &Value) -> String {
    let text = |key: &str| report[key].as_str().unwrap_or_default();
    let list = |key: &str| -> Vec<String> {
        let items = report[key].as_array().map(Vec::as_slice);
        let items = items.unwrap_or_default().iter().filter_map(Value::as_str);
        items.map(|item| item.replace('\t', " ")).collect()
    };
    let (path, branch) = (text("path"), text("branch"));
    if report["unchanged"] == true {
        return "\n[It changed no file; its worktree is removed.]".into();
    }
    if let Some(why) = report["error"].as_str() {
        return format!("\n[Its worktree {path} (branch {branch}) could not be looked at: {why}]");
    }
    let mut out = format!("\n[Its changes are committed on the branch {branch}, in {path}:");
    for file in list("files") {
        out.push_str(&format!("\n  {file}"));
    }
    if let Some(more @ 1..) = report["more_files"].as_u64() {
        out.push_str(&format!("\n  and {more} more"));
    }
    out.push('\n');
    let nested = list("left_out");
    if !nested.is_empty() {
        let names = nested.join(", ");
        out.push_str(&format!(
            "Left out, since each is a git repository of its own: {names}.\n"
        ));
    }
    out.push_str(&match report["clean"].as_bool() {
        Some(true) => "It merges cleanly into HEAD.".to_owned(),
        Some(false) => format!(
            "It conflicts with HEAD in: {}.",
            list("conflicts").join(", ")
        ),
        None => "Whether it merges could not be tried.".to_owned(),
    });
    let in_the_way = list("in_the_way");
    if !in_the_way.is_empty() {
        let names = in_the_way.join(", ");
        out.push_str(&format!(" Uncommitted changes are in the way: {names}."));
    }
    out.push_str(&format!(
        " Look: git diff HEAD...{branch}. Take: git merge {branch}. Drop: git worktree remove --force {path} && git branch -D {branch}.]"
    ));
    out
}
