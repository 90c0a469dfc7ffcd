//! `forget`: archives a fact. The gate asks the person each time; they can restore it.

use super::remember::{preview, revision};
use super::{memory, walk};
use crate::memory::Memory;
use crate::tool::{Context, Done, Rendered, Scope, Subject, ToolError, Typed};
use ostler_wire::Access;
use ostler_wire::{CallVerb, ResultForm, ToolDeclaration, ToolKind, ToolMark, Word};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use std::sync::Arc;

#[derive(Clone, Copy)]
pub struct Forget;

#[derive(Clone, Deserialize, JsonSchema)]
pub struct Args {
    id: String,
    #[schemars(with = "String")]
    #[serde(default)]
    revision: Option<Value>,
}

impl Typed for Forget {
    type Args = Args;
    type Uses = Arc<Memory>;
    const NAME: &'static str = "forget";
    const ABOUT: ToolDeclaration = ToolDeclaration::new(Self::NAME, ToolKind::Memory)
        .verb(CallVerb::Forget)
        .result(ResultForm::Fact)
        .question(Word::WantsToForget)
        .marks(&[
            ToolMark::Private,
            ToolMark::Deferred,
            ToolMark::NotForReaders,
        ]);
    const PROSE: &'static str = include_str!("forget.md");

    fn access(&self, _: &Args, _: &Scope) -> Result<Vec<Access>, ToolError> {
        Ok(vec![Access::Memory])
    }

    fn subject(args: &Args) -> Subject {
        args.id.as_str().into()
    }

    async fn run(&self, args: Args, cx: Context<Arc<Memory>>) -> Result<Done, ToolError> {
        let version = revision(args.revision.as_ref())?;
        let store = cx.services.clone();
        walk::blocking(cx.cancel, move |_| {
            let gone = store.archive(&args.id, Some(&version));
            Ok(json!({"fact": memory::value(&gone.map_err(memory::fault)?)}).into())
        })
        .await
    }

    fn render(data: &Value) -> Rendered {
        format!("Archived {}", memory::shown(&data["fact"])).into()
    }

    async fn objection(&self, args: Args, cx: Context<Arc<Memory>>) -> Option<ToolError> {
        let version = match revision(args.revision.as_ref()) {
            Ok(version) => version,
            Err(error) => return Some(error),
        };
        let store = cx.services.clone();
        let checking = walk::blocking(cx.cancel, move |_| {
            store.check(&args.id, &version).map_err(memory::fault)
        });
        checking.await.err()
    }

    async fn preview(&self, args: Args, cx: Context<Arc<Memory>>) -> Option<String> {
        let store = cx.services.clone();
        let reading = walk::blocking(cx.cancel, move |_| {
            store.read(&args.id).map_err(memory::fault)
        });
        Some(preview(Some(&reading.await.ok()?), None))
    }
}
