//! `roundtable`: one topic for several roles, which say what they think of it and change nothing.

use super::group;
use super::task::delegate;
use crate::tool::{
    Context, Conversation, Delegate, Done, Rendered, Scope, Subject, TaskOrder, ToolError, Typed,
};
use ostler_wire::Access;
use ostler_wire::{ToolDeclaration, ToolKind, ToolMark, Word};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use std::sync::Arc;

#[derive(Clone, Copy)]
pub struct Roundtable;

#[derive(Clone, Deserialize, JsonSchema)]
pub struct Args {
    topic: String,
    participants: Vec<Participant>,
    #[serde(default)]
    timeout_secs: Option<u64>,
}

#[derive(Clone, Deserialize, JsonSchema)]
pub struct Participant {
    role: String,
    /// tells two of one role apart
    #[serde(default)]
    name: Option<String>,
    #[serde(default)]
    force_new_session: Option<bool>,
}

impl Args {
    fn into_orders(self) -> Vec<(String, TaskOrder)> {
        let (topic, timeout_secs) = (self.topic, self.timeout_secs);
        let order = |one: Participant| {
            let name = one.name.filter(|name| !name.trim().is_empty());
            let name = name.unwrap_or_else(|| one.role.clone());
            let order = TaskOrder {
                role: one.role,
                prompt: topic.clone(),
                description: None,
                read_only: true,
                timeout_secs,
                conversation: match one.force_new_session {
                    Some(true) => Conversation::New,
                    Some(false) | None => Conversation::Named(name.clone()),
                },
                ..TaskOrder::default()
            };
            (name, order)
        };
        self.participants.into_iter().map(order).collect()
    }
}

impl Typed for Roundtable {
    type Args = Args;
    type Uses = Option<Arc<dyn Delegate>>;
    const NAME: &'static str = "roundtable";
    const ABOUT: ToolDeclaration = ToolDeclaration::new(Self::NAME, ToolKind::Delegate)
        .question(Word::WantsToDelegateSeveral)
        .marks(&[ToolMark::TakesRoles, ToolMark::NeedsBackends]);
    const PROSE: &'static str = include_str!("roundtable.md");

    fn access(&self, args: &Args, _: &Scope) -> Result<Vec<Access>, ToolError> {
        group::check_count(args.participants.len(), "participants")?;
        let all = args.participants.iter();
        let all = all.map(|one| delegate(&args.topic, &one.role, true));
        let all: Vec<Vec<Access>> = all.collect::<Result<_, _>>()?;
        Ok(all.into_iter().flatten().collect())
    }

    fn subject(args: &Args) -> Subject {
        let roles = args.participants.iter().map(|one| one.role.as_str());
        let roles = roles.collect::<Vec<_>>().join(", ");
        Subject::of_task(&args.topic, None, Some(&roles)).with_body("topic")
    }

    async fn run(
        &self,
        args: Args,
        cx: Context<Option<Arc<dyn Delegate>>>,
    ) -> Result<Done, ToolError> {
        group::run(args.into_orders(), cx).await
    }

    fn render(data: &Value) -> Rendered {
        group::render(data).into()
    }
}
