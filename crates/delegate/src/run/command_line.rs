//! A run of an agent's command line.

use super::process::{self, End, Sink};
use super::{Failure, Job, Ran, program};
use crate::activity::{Activity, NoticeSource, Started, Way};
use crate::outcome::FailureKind;
use crate::output::{Answer, Reader};
use crate::record::Recorder;
use crate::setup::Adapter;
use crate::setup::catalogue::AgentRow;

impl Sink for Reader<'_> {
    fn stdout(&mut self, bytes: &[u8]) {
        self.stdout(bytes);
    }

    fn stderr(&mut self, bytes: &[u8]) {
        self.stderr(bytes);
    }

    fn gives_up(&self) -> bool {
        self.gives_up()
    }
}

pub async fn run(job: Job<'_>, row: &'static AgentRow, adapter: Option<&Adapter>) -> Ran {
    let prepared = match program::command_line(&job, row) {
        Ok(prepared) => prepared,
        Err(why) => return Failure::new(FailureKind::Request, why).into(),
    };
    job.watcher.activity(Activity::Started(Started {
        backend: job.target.backend().to_owned(),
        role: job.role.to_owned(),
        model: job.target.reference.model.clone(),
        command: prepared.shown.clone(),
        cwd: job.cwd.to_owned(),
        resumed: job.session.is_some(),
        prompt: job.prompt.to_owned(),
        way: Way::CommandLine,
    }));
    let mut recorder = Recorder::new(job.watcher.clone(), job.patterns);
    let process = match job.services.launcher.launch(&prepared.program).await {
        Ok(process) => process,
        Err(error) => {
            let why = format!(
                "could not be started: {error}{}",
                hint(&row.check.install_hint)
            );
            let kind = FailureKind::NotStarted;
            return job.failure(kind, &why, &prepared.shown, &recorder).into();
        }
    };
    let mut reader = match adapter {
        Some(adapter) if adapter.output_parser != row.adapter.output_parser => {
            Reader::of_parser(&adapter.output_parser, &mut recorder)
        }
        Some(_) | None => Reader::of_row(row, &mut recorder),
    };
    let input = prepared.input.as_deref();
    let end = process::run(process, input, &mut reader, job.until, job.cancel).await;
    let answer = reader.end();
    let failure = judge(&job, &end, &answer, &prepared.shown, &recorder);
    let mut warnings = Vec::new();
    if let (Some(before), Some(now)) = (job.session, &answer.session)
        && before != now
    {
        let warning = format!("it went on in another session: `{now}` instead of `{before}`");
        recorder.notice(NoticeSource::Ours, &warning);
        warnings.push(warning);
    }
    Ran {
        session: answer.session,
        message: answer.message,
        cost: recorder.cost(),
        warnings,
        failure,
    }
}

fn hint(install: &str) -> String {
    match install {
        "" => String::new(),
        install => format!(" (install it: {install})"),
    }
}

/// What went wrong, if something did.
fn judge(
    job: &Job<'_>,
    end: &End,
    answer: &Answer,
    shown: &str,
    recorder: &Recorder,
) -> Option<Failure> {
    let exit = match end {
        End::Exited(exit) => *exit,
        End::Timeout | End::Cancelled | End::Flood | End::GaveUp => {
            return job.stopped(end, shown, recorder);
        }
    };
    let failed = |why: String| Some(job.failure(FailureKind::Agent, &why, shown, recorder));
    let how = process::describe(exit);
    if let Some(reason) = recorder.failed() {
        return failed(format!("failed ({how}): {reason}"));
    }
    if !exit.success() {
        return failed(format!("failed ({how})"));
    }
    if let Some(problem) = &answer.problem {
        return failed(format!("ended ({how}), but {problem}"));
    }
    if answer.message.is_none() {
        return failed(format!("ended without an answer ({how})"));
    }
    if !answer.is_whole {
        return failed(format!("ended in the middle of its answer ({how})"));
    }
    None
}
