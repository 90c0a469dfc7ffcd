//! `remember`: keeps a fact over sessions, or revises one. The gate asks the person each time.

use super::files::diff;
use super::{memory, walk};
use crate::memory::{Fact, Kind, Memory, Place, Wish};
use crate::tool::{Context, Done, Rendered, Scope, Subject, ToolError, Typed};
use ostler_wire::Access;
use ostler_wire::{CallVerb, ResultForm, ToolDeclaration, ToolKind, ToolMark, Word};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use std::sync::Arc;

#[derive(Clone, Copy)]
pub struct Remember;

#[derive(Clone, Deserialize, JsonSchema)]
pub struct Args {
    #[serde(default)]
    id: Option<String>,
    #[serde(default)]
    #[schemars(with = "String")]
    revision: Option<Value>,
    #[serde(default)]
    name: Option<String>,
    /// one line: when it matters
    #[serde(default)]
    description: Option<String>,
    #[serde(default)]
    content: Option<String>,
    #[serde(default, rename = "type")]
    #[schemars(with = "Kind")]
    kind: Option<Kind>,
    #[serde(default)]
    #[schemars(with = "Place")]
    scope: Option<Place>,
}

impl Args {
    fn wish(self) -> Result<Wish, ToolError> {
        Ok(Wish {
            revises: match self.id.filter(|id| !id.trim().is_empty()) {
                Some(id) => Some((id, revision(self.revision.as_ref())?)),
                None => None,
            },
            name: self.name,
            description: self.description,
            body: self.content,
            kind: self.kind,
            place: self.scope,
        })
    }
}

/// The revision that a model read; some write it as a number.
pub fn revision(value: Option<&Value>) -> Result<String, ToolError> {
    match value {
        Some(Value::String(text)) => Ok(text.clone()),
        Some(Value::Number(number)) => Ok(number.to_string()),
        Some(_) | None => Err(ToolError::new(
            "invalid_input",
            "Give the revision that you read, such as 2-a1b2c3.",
        )),
    }
}

/// What would change, as a diff.
pub fn preview(old: Option<&Fact>, new: Option<&Fact>) -> String {
    let card = |fact: Option<&Fact>| fact.map_or_else(String::new, Fact::card);
    diff::whole(&card(old), &card(new))
}

impl Typed for Remember {
    type Args = Args;
    type Uses = Arc<Memory>;
    const NAME: &'static str = "remember";
    const ABOUT: ToolDeclaration = ToolDeclaration::new(Self::NAME, ToolKind::Memory)
        .verb(CallVerb::Remember)
        .result(ResultForm::Fact)
        .question(Word::WantsToRemember)
        .marks(&[ToolMark::Private, ToolMark::NotForReaders]);
    const PROSE: &'static str = include_str!("remember.md");

    fn access(&self, _: &Args, _: &Scope) -> Result<Vec<Access>, ToolError> {
        Ok(vec![Access::Memory])
    }

    fn subject(args: &Args) -> Subject {
        let about = args.name.as_deref().or(args.id.as_deref());
        Subject::from(about.unwrap_or_default()).with_body("content")
    }

    async fn run(&self, args: Args, cx: Context<Arc<Memory>>) -> Result<Done, ToolError> {
        let wish = args.wish()?;
        let store = cx.services.clone();
        walk::blocking(cx.cancel, move |_| {
            let fact = store.remember(&wish).map_err(memory::fault)?;
            Ok(json!({"fact": memory::value(&fact)}).into())
        })
        .await
    }

    fn render(data: &Value) -> Rendered {
        format!("Remembered {}", memory::shown(&data["fact"])).into()
    }

    async fn objection(&self, args: Args, cx: Context<Arc<Memory>>) -> Option<ToolError> {
        let wish = match args.wish() {
            Ok(wish) => wish,
            Err(error) => return Some(error),
        };
        let store = cx.services.clone();
        let drafting = walk::blocking(cx.cancel, move |_| {
            store.draft(&wish).map_err(memory::fault)
        });
        drafting.await.err()
    }

    async fn preview(&self, args: Args, cx: Context<Arc<Memory>>) -> Option<String> {
        let wish = args.wish().ok()?;
        let store = cx.services.clone();
        let drafting = walk::blocking(cx.cancel, move |_| {
            store.draft(&wish).map_err(memory::fault)
        });
        let (old, new) = drafting.await.ok()?;
        Some(preview(old.as_ref(), Some(&new)))
    }
}
