//! The tool `ostler`: a task for our own agent, in a session that can be gone on with.

use super::asks;
use super::folders::Folders;
use super::turn;
use crate::boot::Boot;
use crate::cmd::checkpoint;
use crate::conversation;
use crate::conversation::hub::{Attendance, ConversationHub};
use crate::conversation::questions::StartQuestions;
use crate::errors::Told as _;
use crate::flags::{Global, Mode, PermissionMode};
use crate::policy::policy;
use crate::wiring::plugins::learn;
use clap::ValueEnum;
use ostler_engine::checkpoint::{Change, Kind, Point, Side};
use ostler_guard::Posture;
use ostler_mcp::server::{CallClient, ToolAnswer};
use ostler_wire::{Client, Hub as _, HubError, Open, Questions as _, Say as _, Word};
use serde::Deserialize;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Bytes of a prompt.
const MAX_PROMPT: usize = 10 << 20;
/// Questions before a session opens.
const MAX_QUESTIONS: usize = 8;
/// Characters of the id of a session.
const ID: usize = 36;
/// In the environment of agents that were started by agents: how many are above.
const DEPTH: &str = "OSTLER_DELEGATION_DEPTH";
/// An agent that is so deep starts no other.
const MAX_DEPTH: u32 = 2;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TaskArguments {
    prompt: String,
    cwd: Option<PathBuf>,
    model: Option<String>,
    effort: Option<String>,
    mode: Option<String>,
    permission_mode: Option<String>,
    session_id: Option<String>,
    timeout_secs: Option<u64>,
}

/// A session that is open for a task.
struct Opened {
    boot: Arc<Boot>,
    hub: ConversationHub,
    session: Client,
    prompt: String,
    notes: Vec<String>,
}

/// How deep this process is among agents that start agents.
pub fn depth(boot: &Boot) -> u32 {
    let depth = boot.env.get(DEPTH).and_then(|text| text.parse().ok());
    depth.unwrap_or(0)
}

/// Why an agent this deep starts no other, if it does not.
pub fn too_deep(boot: &Boot) -> Option<String> {
    let depth = depth(boot);
    (depth >= MAX_DEPTH).then(|| {
        format!("This agent was started by {depth} agents one inside of the other ({DEPTH}={depth}), and starts no other. Do the task yourself.")
    })
}

/// Carries a task out. Failures are in the answer.
pub async fn run(
    boot: &Boot,
    folders: &Folders,
    arguments: TaskArguments,
    caller: &CallClient,
) -> ToolAnswer {
    let start = Instant::now();
    if let Some(why) = fault(boot, &arguments) {
        return ToolAnswer::error(why);
    }
    let opened = tokio::select! {
        opened = open(boot, folders, &arguments, caller) => opened,
        () = caller.stopped().cancelled() => return ToolAnswer::error("The task was cancelled."),
    };
    let Opened {
        boot,
        hub,
        mut session,
        prompt,
        notes,
    } = match opened {
        Ok(opened) => opened,
        Err(why) => return ToolAnswer::error(why),
    };
    let limit = arguments.timeout_secs.map(Duration::from_secs);
    let (mut report, status) = turn::run(&mut session, prompt, caller, limit).await;
    for note in &notes {
        report.warn(note);
    }
    let id = session.session_id.clone();
    conversation::close(session).await;
    hub.close().await;
    let trees = report.trees;
    let root = boot.places.root.clone();
    let changed = match trees.before {
        Some(before) => changed(boot, before, trees.after).await,
        None => Vec::new(),
    };
    report.answer(&id, &root, (status, start.elapsed()), changed)
}

/// What is wrong with the arguments, as far as they alone tell.
fn fault(boot: &Boot, arguments: &TaskArguments) -> Option<String> {
    if let Some(why) = too_deep(boot) {
        return Some(why);
    }
    if arguments.prompt.trim().is_empty() {
        return Some("prompt is empty".into());
    }
    if arguments.prompt.len() > MAX_PROMPT {
        let most = MAX_PROMPT >> 20;
        return Some(format!(
            "prompt is longer than {most} MiB. Put it into a file of the project and name the file."
        ));
    }
    if arguments.timeout_secs == Some(0) {
        return Some("timeout_secs must be more than 0".into());
    }
    let id = arguments.session_id.as_deref().unwrap_or_default();
    let is_id = id.len() == ID && id.chars().all(|c| c.is_ascii_hexdigit() || c == '-');
    (!id.is_empty() && !is_id).then(|| format!("{id} is no session id; use one of a result"))
}

async fn open(
    boot: &Boot,
    folders: &Folders,
    arguments: &TaskArguments,
    caller: &CallClient,
) -> Result<Opened, String> {
    let language = boot.language;
    let told = |error: anyhow::Error| language.told(&error);
    let place = folders.find(arguments.cwd.as_deref())?;
    let prompt = match place.below() {
        Some(folder) => format!(
            "Work in the folder {}/.\n\n{}",
            folder.display(),
            arguments.prompt
        ),
        None => arguments.prompt.clone(),
    };
    let global = flags(boot, arguments)?;
    // What it starts counts this call.
    let mut env = boot.env.clone();
    env.insert(DEPTH.into(), (depth(boot) + 1).to_string());
    let boot = boot.of_task(&place.root, global, env).map_err(told)?;
    let (boot, mut notes) = settle(Arc::new(boot), caller).await;
    let boot = learn(boot).await.map_err(told)?;
    let attendance = Attendance::Program {
        answers: caller.can_ask(),
    };
    notes.extend(boot.loaded.notices.iter().map(|one| one.say(language)));
    let which = match arguments.session_id.clone().filter(|id| !id.is_empty()) {
        None => Open::New,
        Some(id) if boot.store().path_of(&id).is_file() => Open::Resume(id),
        Some(id) => return Err(language.fill(Word::StoreNoSession, &[&id])),
    };
    let hub = ConversationHub::start(boot.clone(), attendance, |_| Ok(())).map_err(told)?;
    let opened = hub.open(which).await;
    let session = opened.map_err(|HubError(why)| why)?;
    if session.snapshot.clients.is_remote() || session.snapshot.working {
        let id = &session.session_id;
        return Err(format!(
            "The session {id} is open elsewhere: in a terminal, or in another call. Wait until that has ended, or leave session_id out."
        ));
    }
    notes.extend(session.notes.iter().cloned());
    Ok(Opened {
        boot,
        hub,
        session,
        prompt,
        notes,
    })
}

/// Puts what has to be decided before a session opens, where the client can put it. The configuration that follows from the
/// answers, and what went wrong.
async fn settle(boot: Arc<Boot>, caller: &CallClient) -> (Arc<Boot>, Vec<String>) {
    let questions = StartQuestions::new(boot);
    let mut notes = Vec::new();
    for _ in 0..MAX_QUESTIONS {
        let asks = questions.questions();
        let Some(ask) = asks.first().filter(|_| caller.can_ask()) else {
            break;
        };
        let answer = asks::put(ask, caller).await.or_silence(ask);
        if let Err(HubError(why)) = questions.answer(&ask.ask, &answer) {
            notes.push(why);
        }
    }
    (questions.boot(), notes)
}

/// The flags of the server, with what the call wants of them. It gets no more freedom than the person gave the server.
fn flags(boot: &Boot, arguments: &TaskArguments) -> Result<Global, String> {
    let mut global = Global {
        session: None,
        fork: None,
        ..boot.global.clone()
    };
    if let Some(model) = given(arguments.model.as_deref()) {
        global.model = Some(model.to_owned());
        global.provider = None;
    }
    if let Some(effort) = given(arguments.effort.as_deref()) {
        global.effort = Some(effort.to_owned());
    }
    if let Some(mode) = given(arguments.mode.as_deref()) {
        let mode = one_of::<Mode>("mode", mode)?;
        if boot.global.mode == Some(Mode::Plan) && mode != Mode::Plan {
            return Err(
                "The server was started with `--mode plan`: a task only looks and plans.".into(),
            );
        }
        global.mode = Some(mode);
    }
    if let Some(wanted) = given(arguments.permission_mode.as_deref()) {
        let wanted = one_of::<PermissionMode>("permission_mode", wanted)?;
        let most = policy(boot).map_err(|error| boot.language.told(&error))?;
        let most = most.posture;
        if freedom(posture(wanted)) > freedom(most) {
            return Err(format!(
                "permission_mode can be {} or stricter here. For more the person starts the server with `--permission-mode`.",
                most.name()
            ));
        }
        global.permission_mode = Some(wanted);
        global.yolo = false;
    }
    Ok(global)
}

fn given(text: Option<&str>) -> Option<&str> {
    text.map(str::trim).filter(|text| !text.is_empty())
}

fn one_of<T: ValueEnum>(name: &str, text: &str) -> Result<T, String> {
    T::from_str(text, true).map_err(|_| {
        let all = T::value_variants().iter();
        let all = all.filter_map(|one| Some(one.to_possible_value()?.get_name().to_owned()));
        let all: Vec<String> = all.collect();
        format!("{name} is one of {}, not `{text}`", all.join(", "))
    })
}

fn posture(mode: PermissionMode) -> Posture {
    match mode {
        PermissionMode::Ask => Posture::Ask,
        PermissionMode::Edits => Posture::Edits,
        PermissionMode::Auto => Posture::Auto,
        PermissionMode::Yolo => Posture::Yolo,
    }
}

fn freedom(posture: Posture) -> u8 {
    match posture {
        Posture::Ask => 0,
        Posture::Edits => 1,
        Posture::Auto => 2,
        Posture::Yolo => 3,
    }
}

/// The paths that differ between two saved trees. What cannot be compared is left to the calls' own word.
async fn changed(boot: Arc<Boot>, before: u64, after: Option<u64>) -> Vec<String> {
    let compare = move || {
        let store = checkpoint::open(&boot).ok()?;
        let to = after.map_or(Point::Now, Point::At);
        let changes = store.diff(before, to).ok()?;
        let files = changes.into_iter().filter(is_file);
        Some(files.map(|change| change.path).collect())
    };
    let compared = tokio::task::spawn_blocking(compare).await;
    compared.ok().flatten().unwrap_or_default()
}

/// A folder is there for the files in it.
fn is_file(change: &Change) -> bool {
    let is_folder = |side: &Side| side.kind == Kind::Dir;
    let sides = [&change.before, &change.after];
    !sides.into_iter().flatten().all(is_folder)
}
