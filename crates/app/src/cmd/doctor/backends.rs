//! What `doctor` finds about other agents: whether their programs are there, which version, whether they are logged in, and
//! on request whether they answer.

use super::{Finding, Status};
use crate::boot::Boot;
use crate::delegates::Delegates;
use crate::policy::policy;
use crate::wiring;
use ostler_config::text::Speak as _;
use ostler_delegate::Delegation;
use ostler_delegate::activity::NoWatcher;
use ostler_delegate::outcome::BackendCheck;
use ostler_delegate::request::Request;
use ostler_delegate::services::Defaults;
use ostler_delegate::setup::{Capabilities, Filesystem};
use ostler_engine::agents::foreign::{Approval, ForeignLauncher};
use ostler_engine::confine::Services;
use ostler_wire::{Language, Word, clip};
use std::sync::Arc;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

const QUESTION: &str = "Reply with the single word: ready";
/// Seconds that an answer may take.
const PATIENCE: u64 = 120;
/// Characters of an answer that are shown.
const MAX_ANSWER: usize = 80;

/// Whether agents are asked something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Question {
    None,
    Ask,
}

pub async fn findings(boot: &Arc<Boot>, question: Question) -> Vec<Finding> {
    let (delegation, launcher) = match delegation(boot) {
        Ok(both) => both,
        Err(error) => {
            return vec![Finding::new(Status::Problem, "backend", error.to_string())];
        }
    };
    let mut all = JoinSet::new();
    for (number, name) in Delegation::backends().into_iter().enumerate() {
        let (delegation, language) = (delegation.clone(), boot.language);
        all.spawn(async move {
            let check = delegation.check(name, &CancellationToken::new()).await;
            let answer = match (question, &check.path) {
                (Question::Ask, Some(_)) => Some(ask(&delegation, name).await),
                (Question::Ask, None) | (Question::None, _) => None,
            };
            (number, finding(check, answer, language))
        });
    }
    let mut found = all.join_all().await;
    found.sort_by_key(|(number, _)| *number);
    let mut found: Vec<Finding> = found.into_iter().map(|(_, finding)| finding).collect();
    let put_back = launcher.end().await.into_iter();
    found.extend(put_back.map(|line| Finding::new(Status::Note, "backend", line)));
    found
}

/// In the sandbox that delegated work has, with the rules of this folder.
fn delegation(boot: &Arc<Boot>) -> anyhow::Result<(Delegation, Arc<ForeignLauncher>)> {
    let hidden = boot.key_variables();
    let (tools, sandbox) = wiring::tool_settings(boot, &hidden)?;
    let delegates = Delegates::new(boot, &hidden);
    if let Some(temp) = &sandbox.temp {
        // What cannot be made is said by the program that wants it.
        let _ = temp.scratch.make();
    }
    let services = Services {
        policy: Arc::new(policy(boot)?),
        allow_private: tools.allow_private.clone(),
        user_home: boot.places.user_home.clone(),
        ..Services::without_session(boot.host(), sandbox)
    };
    let launcher = Arc::new(ForeignLauncher::new(
        services,
        tools.writable,
        Approval::Held,
    ));
    let defaults = Defaults {
        cwd: boot.places.root.clone(),
        ..Defaults::default()
    };
    Ok((delegates.for_checks(launcher.clone(), defaults), launcher))
}

async fn ask(delegation: &Delegation, name: &str) -> Result<String, String> {
    let request = Request {
        prompt: QUESTION.into(),
        role: Some("doctor".into()),
        force_new_session: true,
        session_key: Some(format!("doctor/{}", uuid::Uuid::new_v4())),
        timeout_secs: Some(PATIENCE),
        ..Request::default()
    };
    let capabilities = Capabilities {
        filesystem: Filesystem::ReadOnly,
        ..Capabilities::default()
    };
    let model = format!("{name}/default");
    let cancel = CancellationToken::new();
    let asked = delegation.direct(&model, capabilities, &request, Arc::new(NoWatcher), &cancel);
    let outcome = asked.await;
    match outcome.success {
        true => Ok(outcome.message),
        false => Err(outcome.error.unwrap_or_default()),
    }
}

fn finding(
    check: BackendCheck,
    answer: Option<Result<String, String>>,
    language: Language,
) -> Finding {
    let name = check.backend.as_str();
    let Some(path) = &check.path else {
        let text = language.filled(Word::DocNoBackend, &[&name]);
        let finding = Finding::new(Status::Note, "backend", text);
        return match check.hint {
            Some(hint) => finding.fix(hint),
            None => finding,
        };
    };
    let version = check.version.as_deref().unwrap_or("?");
    let mut text = format!("{name} {version}, {path}");
    let mut status = Status::Ok;
    let mut say = |part: &str| {
        text.push_str(language.say(Word::Comma));
        text.push_str(part);
    };
    match (check.logged_in, &answer) {
        // Who answers has a way in, whatever it says of a login.
        (_, Some(Ok(_))) => {}
        (Some(true), _) => say(language.say(Word::DocLoggedIn)),
        (Some(false), _) => {
            status = Status::Note;
            say(language.say(Word::DocNotLoggedIn));
        }
        (None, _) => say(language.say(Word::DocLoginUnknown)),
    }
    match &answer {
        Some(Ok(answer)) => {
            let answer = clip(answer.trim(), MAX_ANSWER);
            say(&language.filled(Word::DocBackendAnswers, &[&answer]));
        }
        Some(Err(why)) => {
            status = Status::Problem;
            say(&language.filled(Word::DocBackendSilent, &[why]));
        }
        None => {}
    }
    if let Some(error) = &check.error {
        status = Status::Problem;
        say(error);
    }
    let finding = Finding::new(status, "backend", text);
    let fixes = [
        check.hint.filter(|_| status != Status::Ok),
        check.sandbox_note,
    ];
    let fixes: Vec<String> = fixes.into_iter().flatten().collect();
    match fixes.is_empty() {
        true => finding,
        false => finding.fix(fixes.join("\n")),
    }
}
