//! `bash_output`: what a job has said since it was last looked at.

use super::bash;
use super::wait::Wait;
use crate::jobs::{JobState, News, Until};
use crate::tool::{CommandServices, Context, Done, Rendered, Scope, Subject, ToolError, Typed};
use ostler_wire::Access;
use ostler_wire::{CallVerb, ResultForm, ToolDeclaration, ToolFact, ToolKind, ToolMark};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use std::time::Duration;

/// How long `wait: true` waits when commands have no time limit.
const PATIENT: Duration = Duration::from_secs(600);

#[derive(Clone, Copy)]
pub struct BashOutput;

#[derive(Clone, Deserialize, JsonSchema)]
pub struct Args {
    job: String,
    /// "30s": until there is news, at most so long; true: until it ends
    #[serde(default)]
    wait: Option<Wait>,
}

impl Typed for BashOutput {
    type Args = Args;
    type Uses = CommandServices;
    const NAME: &'static str = "bash_output";
    const ABOUT: ToolDeclaration = ToolDeclaration::new(Self::NAME, ToolKind::Run)
        .verb(CallVerb::Watch)
        .result(ResultForm::Command)
        .common_name("BashOutput")
        .fact(ToolFact::Nothing)
        .advice("Start servers and long runs as jobs (`wait: false`), then look at their output.")
        .marks(&[ToolMark::Waits]);
    const PROSE: &'static str = include_str!("bash_output.md");

    fn access(&self, args: &Args, _: &Scope) -> Result<Vec<Access>, ToolError> {
        Ok(vec![Access::Job(args.job.clone())])
    }

    fn subject(args: &Args) -> Subject {
        args.job.as_str().into()
    }

    async fn run(&self, args: Args, cx: Context<CommandServices>) -> Result<Done, ToolError> {
        let until = match args.wait {
            None | Some(Wait::Not) => Until::Now,
            Some(Wait::For(time)) => Until::News(time),
            Some(Wait::Whole) => Until::End(match cx.services.settings.bash_timeout_seconds {
                0 => PATIENT,
                seconds => Duration::from_secs(seconds),
            }),
        };
        let news = read(&cx, &args.job, until).await?;
        Ok(data(news).into())
    }

    fn render(data: &Value) -> Rendered {
        bash::render(data).into()
    }
}

pub async fn read(
    cx: &Context<CommandServices>,
    job: &str,
    until: Until,
) -> Result<News, ToolError> {
    tokio::select! {
        biased;
        () = cx.cancel.cancelled() => Err(ToolError::new("interrupted", "Interrupted; the job goes on.")),
        news = cx.services.jobs.read(job, until, cx.services.settings.bash_max_bytes) => Ok(news?),
    }
}

/// The shape of `bash`, with all output in `stdout`.
pub fn data(news: News) -> Value {
    let (state, exit_code) = match news.state {
        JobState::Running => ("running", Value::Null),
        JobState::Exited(code) => ("exited", code.into()),
        JobState::Killed(code) => ("killed", code.into()),
    };
    let mut stdout = news.output.text;
    if news.dropped > 0 {
        stdout.push_str(&format!(
            "\n[the job's log is full; {} bytes were not kept]",
            news.dropped
        ));
    }
    let mut data = json!({
        "stdout": stdout,
        "stderr": "",
        "exit_code": exit_code,
        "timed_out": false,
        "job": news.id,
        "state": state,
    });
    if let Some(hosts) = news.hosts {
        data["hosts"] = hosts;
    }
    if news.output.truncated {
        data["truncated"] = true.into();
        data["artifact"] = news
            .output
            .artifact
            .map(|path| path.display().to_string())
            .into();
    }
    data
}
