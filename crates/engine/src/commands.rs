//! Slash commands that the engine answers itself. What they show is a View; front ends only draw it. Those about the desk
//! alone are heard while a turn runs, too.

mod standing;

use crate::compaction;
use crate::desk::Desk;
use crate::inbox::Inbox;
use crate::session::Session;
use ostler_wire::{Delta, View};
pub use standing::SESSION;
use std::pin::Pin;

struct Command {
    name: &'static str,
    help: &'static str,
    run: Run,
}

enum Run {
    /// At any time.
    Now(fn(&mut Desk, &mut Inbox, &str) -> View),
    /// Between turns.
    Between(fn(&mut Session, &str) -> View),
    /// Between turns, and it takes a while.
    Work(for<'a> fn(&'a mut Session, &'a str) -> Work<'a>),
}

type Work<'a> = Pin<Box<dyn Future<Output = View> + Send + 'a>>;

const COMMANDS: &[Command] = &[
    Command {
        name: "approve",
        help: "who approves: /approve ask|all|none, or 10m to be asked again after it",
        run: Run::Now(standing::approve),
    },
    Command {
        name: "compact",
        help: "fold older work into a digest: /compact [what it should look after]",
        run: Run::Work(compact),
    },
    Command {
        name: "mode",
        help: "show the mode, or change it: /mode normal|plan",
        run: Run::Now(standing::mode),
    },
    Command {
        name: "model",
        help: "show the model, or go on with another one: /model provider/model",
        run: Run::Between(model),
    },
    Command {
        name: "permissions",
        help: "show the rules; for this session: /permissions allow|ask|deny|remove RULE",
        run: Run::Now(standing::permissions),
    },
    Command {
        name: "plan",
        help: "make a plan before anything is changed: /plan [what]",
        run: Run::Now(standing::plan),
    },
    Command {
        name: "status",
        help: "session, model, mode, tools and what the prompt weighs",
        run: Run::Now(status),
    },
];

/// Names and one-line descriptions, for help texts and menus.
pub fn list() -> Vec<(&'static str, &'static str)> {
    COMMANDS.iter().map(|c| (c.name, c.help)).collect()
}

pub async fn run(session: &mut Session, line: &str) -> View {
    let (command, rest) = find(line);
    match command.map(|c| &c.run) {
        Some(Run::Now(run)) => run(&mut session.desk, &mut session.inbox, rest),
        Some(Run::Between(run)) => run(session, rest),
        Some(Run::Work(run)) => run(session, rest).await,
        None => {
            let name = line.split_whitespace().next().unwrap_or_default();
            View::Error(format!("There is no command /{name}. Try /help."))
        }
    }
}

/// Runs the commands that came in during a turn and need not wait for its end.
pub fn heed(desk: &mut Desk, inbox: &mut Inbox) {
    let is_now = |line: &str| matches!(find(line).0, Some(c) if matches!(c.run, Run::Now(_)));
    for line in inbox.commands(is_now) {
        let (command, rest) = find(&line);
        if let Some(Run::Now(run)) = command.map(|c| &c.run) {
            let view = run(desk, inbox, rest);
            show(desk, &line, view);
        }
    }
}

pub fn show(desk: &Desk, line: &str, view: View) {
    desk.feed.delta(Delta::View {
        command: line.to_owned(),
        view,
    });
}

/// The command of a line, and the rest of it.
fn find(line: &str) -> (Option<&'static Command>, &str) {
    let line = line.trim();
    let (name, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    (COMMANDS.iter().find(|c| c.name == name), rest.trim())
}

fn model(session: &mut Session, reference: &str) -> View {
    if reference.is_empty() {
        let origin = &session.desk.conversation.model.target().origin;
        return View::Text(format!("Model: {}/{}", origin.provider, origin.model));
    }
    session.switch_model(reference)
}

fn compact<'a>(session: &'a mut Session, focus: &'a str) -> Work<'a> {
    Box::pin(compaction::on_wish(
        &mut session.desk,
        &mut session.inbox,
        focus,
    ))
}

fn status(desk: &mut Desk, _: &mut Inbox, _: &str) -> View {
    let target = desk.conversation.model.target();
    let names: Vec<&str> = desk.tools.names().collect();
    let row = |key: &str, value: String| vec![key.to_owned(), value];
    View::Table {
        columns: vec!["what".into(), "value".into()],
        rows: vec![
            row("session", desk.account.session.clone()),
            row(
                "model",
                format!("{}/{}", target.origin.provider, target.origin.model),
            ),
            row("mode", desk.standing.mode.name().into()),
            row("approval", standing::posture(desk)),
            row(
                "key",
                target
                    .key
                    .as_ref()
                    .map_or_else(|| "none".into(), ostler_llm::Key::source),
            ),
            row("root", desk.scope.root.display().to_string()),
            row("tools", names.join(" ")),
            row(
                "prompt",
                format!(
                    "about {} tokens",
                    desk.conversation.bytes() / crate::transcript::BYTES_PER_TOKEN
                ),
            ),
        ],
    }
}
