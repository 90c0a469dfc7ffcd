//! `bash_input`: types into a job's terminal and shows what comes back at once.

use super::{bash, bash_output};
use crate::jobs::Until;
use crate::tool::{CommandServices, Context, Done, Rendered, Scope, Subject, ToolError, Typed};
use ostler_wire::{Access, CallVerb, Segment};
use ostler_wire::{ResultForm, ToolDeclaration, ToolKind, ToolMark, Word};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use std::time::Duration;

/// A program that has something to say to what was typed says it within this time, or `bash_output` will tell.
const REPLY: Duration = Duration::from_millis(300);

#[derive(Clone, Copy)]
pub struct BashInput;

#[derive(Clone, Deserialize, JsonSchema)]
pub struct Args {
    job: String,
    /// As typed; "\n" is Enter, "\u0003" Ctrl-C
    text: String,
}

impl Typed for BashInput {
    type Args = Args;
    type Uses = CommandServices;
    const NAME: &'static str = "bash_input";
    const ABOUT: ToolDeclaration = ToolDeclaration::new(Self::NAME, ToolKind::Run)
        .verb(CallVerb::Send)
        .result(ResultForm::Command)
        .question(Word::WantsToRun)
        .marks(&[
            ToolMark::Deferred,
            ToolMark::NotForReaders,
            ToolMark::RunsCommands,
        ]);
    const PROSE: &'static str = include_str!("bash_input.md");

    fn access(&self, args: &Args, _: &Scope) -> Result<Vec<Access>, ToolError> {
        // What is typed may be a command to a shell, so it is judged as one.
        Ok(vec![
            Access::Job(args.job.clone()),
            Access::Run(vec![Segment::unknown(args.text.clone())]),
        ])
    }

    fn subject(args: &Args) -> Subject {
        Subject::from(format!(
            "{}  {}",
            args.job,
            Subject::first_line(&args.text).text
        ))
        .with_body("text")
    }

    async fn run(&self, args: Args, cx: Context<CommandServices>) -> Result<Done, ToolError> {
        cx.services.jobs.write(&args.job, &args.text)?;
        let news = bash_output::read(&cx, &args.job, Until::News(REPLY)).await?;
        Ok(bash_output::data(news).into())
    }

    fn render(data: &Value) -> Rendered {
        bash::render(data).into()
    }
}
