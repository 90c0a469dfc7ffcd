//! `delegate`: a task for a role that another agent may play, in a conversation with it that goes on from call to call.

use super::task::{delegate, render_report, send};
use crate::tool::{
    AnswerContract, Context, Conversation, Delegate as Delegates, Done, Rendered, Scope, Subject,
    TaskOrder, ToolError, Typed,
};
use ostler_wire::Access;
use ostler_wire::{ResultForm, ToolDeclaration, ToolKind, ToolMark, Word};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use std::sync::Arc;

#[derive(Clone, Copy)]
pub struct Delegate;

#[derive(Clone, Deserialize, JsonSchema)]
pub struct Args {
    pub(super) prompt: String,
    pub(super) role: String,
    /// for the person
    #[serde(default)]
    pub(super) description: Option<String>,
    /// whatever the role, nothing is changed
    #[serde(default)]
    pub(super) read_only: Option<bool>,
    /// a git worktree of its own
    #[serde(default)]
    pub(super) worktree: Option<bool>,
    /// goes on with this conversation
    #[serde(default)]
    pub(super) session_id: Option<String>,
    #[serde(default)]
    pub(super) force_new_session: Option<bool>,
    #[serde(default)]
    pub(super) timeout_secs: Option<u64>,
    /// patch_with_citations
    #[serde(default)]
    pub(super) contract: Option<String>,
    /// a patch in the answer has to apply
    #[serde(default)]
    pub(super) validate_patch: Option<bool>,
}

impl Args {
    /// The order for it. `unnamed` is the conversation of a call that names none.
    pub(super) fn into_order(self, unnamed: Conversation) -> TaskOrder {
        TaskOrder {
            role: self.role,
            prompt: self.prompt,
            description: self.description,
            read_only: self.read_only == Some(true),
            worktree: self.worktree == Some(true),
            timeout_secs: self.timeout_secs,
            conversation: match (self.force_new_session, self.session_id) {
                (Some(true), _) => Conversation::New,
                (_, Some(id)) if !id.trim().is_empty() => Conversation::Id(id),
                (_, _) => unnamed,
            },
            contract: AnswerContract {
                name: self.contract.filter(|name| !name.trim().is_empty()),
                validate_patch: self.validate_patch == Some(true),
            },
        }
    }

    pub(super) fn access(&self) -> Result<Vec<Access>, ToolError> {
        if self.role.trim().is_empty() {
            let message = "Say which role: the system prompt lists them.";
            return Err(ToolError::new("invalid_input", message));
        }
        delegate(&self.prompt, &self.role, self.read_only == Some(true))
    }
}

impl Typed for Delegate {
    type Args = Args;
    type Uses = Option<Arc<dyn Delegates>>;
    const NAME: &'static str = "delegate";
    const ABOUT: ToolDeclaration = ToolDeclaration::new(Self::NAME, ToolKind::Delegate)
        .result(ResultForm::Report)
        .question(Word::WantsToDelegate)
        .aliases(&["three"])
        .marks(&[ToolMark::TakesRoles, ToolMark::NeedsBackends]);
    const PROSE: &'static str = include_str!("delegate.md");

    fn access(&self, args: &Args, _: &Scope) -> Result<Vec<Access>, ToolError> {
        args.access()
    }

    fn subject(args: &Args) -> Subject {
        Subject::of_task(&args.prompt, args.description.as_deref(), Some(&args.role))
    }

    async fn run(
        &self,
        args: Args,
        cx: Context<Option<Arc<dyn Delegates>>>,
    ) -> Result<Done, ToolError> {
        send(args.into_order(Conversation::Last), cx).await
    }

    fn render(data: &Value) -> Rendered {
        render_report(data).into()
    }
}
