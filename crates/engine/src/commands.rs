//! Slash commands that the engine answers itself. What they show is a View; front ends only draw it. Those about the desk
//! alone are heard while a turn runs, too.

mod front;
mod session;
mod spent;
mod standing;

use crate::desk::Desk;
use crate::inbox::Inbox;
use crate::session::Session;
use ostler_wire::{CommandInfo, Delta, Language, View, Word};
pub use standing::SESSION;

pub(crate) struct Command {
    name: &'static str,
    help: Word,
    arguments: &'static str,
    run: Run,
}

enum Run {
    /// At any time.
    Now(fn(&mut Desk, &mut Inbox, &str) -> View),
    /// Between turns.
    Between(fn(&mut Session, &str) -> View),
}

impl Command {
    fn info(&self, language: Language) -> CommandInfo {
        CommandInfo {
            name: self.name.into(),
            help: language.say(self.help).into(),
            arguments: self.arguments.into(),
        }
    }
}

const fn now(
    name: &'static str,
    help: Word,
    arguments: &'static str,
    run: fn(&mut Desk, &mut Inbox, &str) -> View,
) -> Command {
    Command {
        name,
        help,
        arguments,
        run: Run::Now(run),
    }
}

const fn between(
    name: &'static str,
    help: Word,
    arguments: &'static str,
    run: fn(&mut Session, &str) -> View,
) -> Command {
    Command {
        name,
        help,
        arguments,
        run: Run::Between(run),
    }
}

pub(crate) const COMMANDS: &[Command] = &[
    now(
        "approve",
        Word::HelpApprove,
        "[ask|all|none|<duration>]",
        standing::approve,
    ),
    now("cache", Word::HelpCache, "", spent::cache),
    between("clear", Word::HelpClear, "", session::clear),
    now("context", Word::HelpContext, "", spent::context),
    now("copy", Word::HelpCopy, "[n]", front::copy),
    now("cost", Word::HelpCost, "", spent::cost),
    between(
        "effort",
        Word::HelpEffort,
        "[none|minimal|low|medium|high|max]",
        session::effort,
    ),
    between(
        "export",
        Word::HelpExport,
        "[file.md|file.html|file.json]",
        session::export,
    ),
    between("fork", Word::HelpFork, "", session::fork),
    now("help", Word::HelpHelp, "[command]", front::help),
    now("mode", Word::HelpMode, "[normal|plan]", standing::mode),
    between("model", Word::HelpModel, "[provider/model]", session::model),
    between("new", Word::HelpNew, "", session::new),
    now(
        "permissions",
        Word::HelpPermissions,
        "[allow|ask|deny|remove RULE]",
        standing::permissions,
    ),
    now("plan", Word::HelpPlan, "[what]", standing::plan),
    now("quit", Word::HelpQuit, "", front::quit),
    between("resume", Word::HelpResume, "[id]", session::resume),
    between("session", Word::HelpSession, "", session::session),
    now("status", Word::HelpStatus, "", status),
    now(
        "theme",
        Word::HelpTheme,
        "[ansi|dark|light|mono]",
        front::theme,
    ),
];

/// Other names.
const ALIASES: &[(&str, &str)] = &[("exit", "quit"), ("q", "quit"), ("?", "help")];

/// Every command that a session of this language answers, for help texts and menus.
pub fn list(language: Language) -> Vec<CommandInfo> {
    COMMANDS.iter().map(|c| c.info(language)).collect()
}

pub fn run(session: &mut Session, line: &str) -> View {
    let (command, rest) = find(line);
    match command.map(|c| &c.run) {
        Some(Run::Now(run)) => run(&mut session.desk, &mut session.inbox, rest),
        Some(Run::Between(run)) => run(session, rest),
        None => {
            let name = line.split_whitespace().next().unwrap_or_default();
            View::Error(session.options.language.fill(Word::NoCommand, &[name]))
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
    let alias = ALIASES.iter().find(|(alias, _)| *alias == name);
    let name = alias.map_or(name, |(_, name)| *name);
    (COMMANDS.iter().find(|c| c.name == name), rest.trim())
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
