//! `kill_job`: ends a job and everything it started.

use super::{bash, bash_output};
use crate::tool::{CommandServices, Context, Done, Rendered, Scope, Subject, ToolError, Typed};
use ostler_wire::Access;
use ostler_wire::{CallVerb, ResultForm, ToolDeclaration, ToolKind, ToolMark};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

#[derive(Clone, Copy)]
pub struct KillJob;

#[derive(Clone, Deserialize, JsonSchema)]
pub struct Args {
    job: String,
}

impl Typed for KillJob {
    type Args = Args;
    type Uses = CommandServices;
    const NAME: &'static str = "kill_job";
    const ABOUT: ToolDeclaration = ToolDeclaration::new(Self::NAME, ToolKind::Run)
        .verb(CallVerb::Stop)
        .result(ResultForm::Command)
        .common_name("KillShell")
        .marks(&[ToolMark::Deferred, ToolMark::NotForReaders]);
    const PROSE: &'static str = include_str!("kill_job.md");

    fn access(&self, args: &Args, _: &Scope) -> Result<Vec<Access>, ToolError> {
        Ok(vec![Access::Job(args.job.clone())])
    }

    fn subject(args: &Args) -> Subject {
        args.job.as_str().into()
    }

    async fn run(&self, args: Args, cx: Context<CommandServices>) -> Result<Done, ToolError> {
        let news = tokio::select! {
            biased;
            news = cx.services.jobs.kill(&args.job, cx.services.settings.bash_max_bytes) => news?,
            () = cx.cancel.cancelled() => {
                return Err(ToolError::new("interrupted", "Interrupted; the job is being ended."));
            }
        };
        Ok(bash_output::data(news).into())
    }

    fn render(data: &Value) -> Rendered {
        bash::render(data).into()
    }
}
