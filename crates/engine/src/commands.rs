//! Slash commands that the engine answers itself. What they show is a View; front ends only draw it. Those about the state
//! alone are heard while a turn runs, too.

mod agents;
mod btw;
mod cache;
mod checkpoint;
mod context;
mod diff;
mod front;
pub mod handoff;
mod mcp;
mod memory;
mod mode;
mod permissions;
mod queue;
pub mod resume;
mod rewind;
pub mod said;
mod session;
mod sessions;
mod skills;
pub mod tasks;
pub mod template;
pub mod transcript;
mod usage;
mod window;

use crate::compaction;
use crate::cut::clip;
pub use agents::agents;
pub use cache::{CacheRequest, cache};
pub use checkpoint::{CheckpointRequest, checkpoint, restored};
pub use context::HubContext;
pub use memory::{MemoryRequest, memory};
use ostler_context::clients::feed::Feed;
use ostler_context::interfaces::extra::Extra;
use ostler_mcp::Servers;
use ostler_state::hooks::{Hook, Hooks};
use ostler_state::inbox::{CommandLine, Inbox};
use ostler_state::session::Session;
use ostler_state::{Extensions, SessionState};
use ostler_wire::{CommandGroup, CommandInfo, Language, Table, View, Word};
pub use permissions::{
    Suggestion, Suggestions, WrittenRule, audit_session, decided_calls, rule_table, suggest_rules,
    verdict_name,
};
pub use sessions::{Collect, Prefixes, Projects, SessionsRequest, sessions};
pub use skills::{skill, skills};
use std::cell::LazyCell;
use std::pin::Pin;
use std::sync::Arc;
pub use usage::{Chart, UsageBy, UsageRequest, usage};

pub(crate) struct Command {
    name: &'static str,
    group: CommandGroup,
    help: Word,
    arguments: &'static str,
    run: Run,
}

enum Run {
    /// The moment it comes, whatever is under way.
    AtOnce(fn(&mut Inbox, &str) -> View),
    /// At any time, between two steps of what is under way.
    Now(fn(&mut SessionState, &mut Inbox, &str) -> View),
    /// Between turns.
    Between(fn(&mut Session, &str) -> View),
    /// Between turns, and it takes a while: the person can stop it.
    Work(for<'a> fn(&'a mut Session, &'a str) -> Work<'a>),
}

type Work<'a> = Pin<Box<dyn Future<Output = View> + Send + 'a>>;

impl Command {
    fn info(&self, language: Language) -> CommandInfo {
        CommandInfo {
            name: self.name.into(),
            help: language.say(self.help).into(),
            arguments: self.arguments.into(),
            group: self.group,
        }
    }
}

const fn command(
    name: &'static str,
    group: CommandGroup,
    help: Word,
    arguments: &'static str,
    run: Run,
) -> Command {
    Command {
        name,
        group,
        help,
        arguments,
        run,
    }
}

// tidy: table
#[rustfmt::skip]
pub(crate) const COMMANDS: &[Command] = &[
    command("agents", CommandGroup::Inspect, Word::HelpAgents, "", Run::Now(|s, inbox, _| agents::slash(&s.extensions.definitions.roles, &inbox.children, s.settings.language))),
    command("approve", CommandGroup::Model, Word::HelpApprove, "[ask|edits|auto|yolo|all|none|<duration>]", Run::Now(mode::approve)),
    command("bg", CommandGroup::Work, Word::HelpBg, "[prompt]", Run::Now(tasks::bg)),
    command("btw", CommandGroup::Work, Word::HelpBtw, "<question>", Run::Now(btw::btw)),
    command("cache", CommandGroup::Inspect, Word::HelpCache, "", Run::Now(|s, _, _| cache::slash(&s.log, &s.account.session, s.settings.language))),
    command("clear", CommandGroup::Session, Word::HelpClear, "", Run::Between(session::clear)),
    command("compact", CommandGroup::Work, Word::HelpCompact, "[focus]", Run::Work(compact)),
    command("context", CommandGroup::Inspect, Word::HelpContext, "", Run::Now(|s, _, _| window::context(&s.log, &s.conversation, s.tokens(), s.settings.folding.settings.ratio, s.settings.language))),
    command("copy", CommandGroup::Work, Word::HelpCopy, "[n]", Run::Now(|s, _, which| front::copy(&s.log, which))),
    command("cost", CommandGroup::Inspect, Word::HelpCost, "", Run::Now(|s, _, _| usage::cost(&s.log, &s.account, s.settings.language))),
    command("diff", CommandGroup::Work, Word::HelpDiff, "[n|n..]", Run::Work(diff::diff)),
    command("effort", CommandGroup::Model, Word::HelpEffort, "[none|minimal|low|medium|high|max]", Run::Between(session::effort)),
    command("export", CommandGroup::Session, Word::HelpExport, "[file.md|file.html|file.json]", Run::Between(session::export)),
    command("fork", CommandGroup::Session, Word::HelpFork, "[n]", Run::Between(session::fork)),
    command("goal", CommandGroup::Work, Word::HelpGoal, "[--research|--simple] <objective>|clear", Run::Now(mode::goal)),
    command("handoff", CommandGroup::Work, Word::HelpHandoff, "<goal>", Run::Work(handoff::handoff)),
    command("help", CommandGroup::Inspect, Word::HelpHelp, "[command]", Run::Now(|s, _, name| front::help(&list(&s.extensions, s.services.servers.as_deref(), s.settings.language), name, s.settings.language))),
    command("hooks", CommandGroup::Inspect, Word::HelpHooks, "", Run::Now(|s, _, _| hooks(&s.settings.hooks, s.settings.language))),
    command("kill", CommandGroup::Work, Word::HelpKill, "<id>", Run::AtOnce(tasks::kill)),
    command("mcp", CommandGroup::Inspect, Word::HelpMcp, "[tools|reconnect|trust|untrust NAME [TOOL]]", Run::Now(|s, _, words| mcp::panel(s.services.servers.as_deref(), &mut s.permissions.trusted, words, s.settings.language))),
    command("memory", CommandGroup::Inspect, Word::HelpMemory, "[show|edit|archive|restore ID|search WORDS|recall]", Run::Work(memory::slash)),
    command("mode", CommandGroup::Model, Word::HelpMode, "[normal|plan|goal|next]", Run::Now(mode::mode)),
    command("model", CommandGroup::Model, Word::HelpModel, "[provider/model|n]", Run::Between(session::model)),
    command("new", CommandGroup::Session, Word::HelpNew, "", Run::Between(session::new)),
    command("permissions", CommandGroup::Model, Word::HelpPermissions, "[allow|ask|deny|remove RULE|audit]", Run::Now(permissions::slash)),
    command("plan", CommandGroup::Work, Word::HelpPlan, "[what]", Run::Now(mode::plan)),
    command("ps", CommandGroup::Work, Word::HelpPs, "", Run::AtOnce(tasks::ps)),
    command("queue", CommandGroup::Work, Word::HelpQueue, "[edit|drop [n]]", Run::AtOnce(queue::queue)),
    command("quit", CommandGroup::Session, Word::HelpQuit, "", Run::AtOnce(|_, _| front::quit())),
    command(resume::NAME, CommandGroup::Session, Word::HelpResume, "[id|words]", Run::Between(resume::resume)),
    command(REWIND, CommandGroup::Work, Word::HelpRewind, "[n|n file path|undo]", Run::Work(rewind::rewind)),
    command("session", CommandGroup::Session, Word::HelpSession, "[list|new|resume id|last]", Run::Between(session::session)),
    command("skills", CommandGroup::Inspect, Word::HelpSkills, "[name]", Run::Now(|s, _, name| skills::slash(&s.extensions.definitions.skills, name, s.settings.language))),
    command("status", CommandGroup::Inspect, Word::HelpStatus, "", Run::Now(status)),
    command("theme", CommandGroup::Setup, Word::HelpTheme, "[name]", Run::Now(|_, _, name| front::theme(name))),
    command("timeout", CommandGroup::Work, Word::HelpTimeout, "<duration>|off [id]", Run::AtOnce(tasks::timeout)),
    command("title", CommandGroup::Session, Word::HelpTitle, "<title>", Run::Now(session::title)),
];

const REWIND: &str = "rewind";
/// Characters of a line that is said to wait.
const SHOWN_CHARS: usize = 60;

/// Other names.
const ALIASES: &[(&str, &str)] = &[("exit", "quit"), ("q", "quit"), ("?", "help")];

/// What the person says about approval, which holds for tasks that run, too.
const FOR_ALL: [&str; 2] = ["approve", "permissions"];

/// Every command that a session answers, for help texts and menus. Our own come before others of the same name.
pub fn list(
    extensions: &Extensions,
    servers: Option<&Servers>,
    language: Language,
) -> Vec<CommandInfo> {
    let own = COMMANDS.iter().map(|c| c.info(language));
    let extras = extensions.extras.iter().map(|e| e.info(language));
    let templates = extensions
        .definitions
        .templates
        .iter()
        .map(|t| t.info(language));
    let skills = extensions
        .definitions
        .skills
        .0
        .iter()
        .map(|s| s.template.info(language));
    let prompts = servers.map_or_else(Vec::new, |servers| servers.prompts());
    let prompts = prompts.into_iter().map(|(name, _, info)| CommandInfo {
        name,
        help: info.description,
        arguments: info.arguments.join(" "),
        group: CommandGroup::Own,
    });
    let mut all: Vec<CommandInfo> = Vec::new();
    for info in own
        .chain(extras)
        .chain(prompts)
        .chain(templates)
        .chain(skills)
    {
        if all.iter().all(|known| known.name != info.name) {
            all.push(info);
        }
    }
    all.sort_by(|a, b| a.name.cmp(&b.name));
    all
}

/// A command of the binary, and what follows its name.
pub fn extra(
    extras: &[Arc<dyn Extra>],
    line: &str,
    language: Language,
) -> Option<(Arc<dyn Extra>, String)> {
    let (name, rest) = parts(line);
    let found = extras.iter().find(|e| e.info(language).name == name)?;
    Some((found.clone(), rest.to_owned()))
}

/// Whether the engine itself answers it.
pub fn is_ours(line: &str) -> bool {
    find(line).0.is_some()
}

pub async fn run(session: &mut Session, line: &str) -> View {
    let (command, rest) = find(line);
    match command {
        Some(command) => match command.run {
            Run::AtOnce(run) => run(&mut session.inbox, rest),
            Run::Now(_) => now_run(command, &mut session.state, &mut session.inbox, rest),
            Run::Between(run) => run(session, rest),
            Run::Work(run) => run(session, rest).await,
        },
        None => unknown(line, session.options.run.language),
    }
}

fn unknown(line: &str, language: Language) -> View {
    View::Error(language.fill(Word::NoCommand, &[parts(line).0]))
}

/// How a command is written that needs words and came without any.
pub fn lacks_words(name: &str, hint: &str, words: &str, language: Language) -> Option<View> {
    let lacks = hint.starts_with('<') && words.trim().is_empty();
    let usage = || View::Error(language.fill(Word::CommandUsage, &[&format!("/{name} {hint}")]));
    lacks.then(usage)
}

/// The answer to a command that waits for nothing.
pub fn answer_at_once(inbox: &mut Inbox, line: &str) -> Option<View> {
    pass_down(inbox, line);
    let (command, rest) = find(line);
    match command?.run {
        Run::AtOnce(run) => Some(run(inbox, rest)),
        Run::Now(_) | Run::Between(_) | Run::Work(_) => None,
    }
}

fn now_run(command: &Command, state: &mut SessionState, inbox: &mut Inbox, rest: &str) -> View {
    let view = match command.run {
        Run::Now(run) => run(state, inbox, rest),
        Run::AtOnce(run) => run(inbox, rest),
        // Not called for these.
        Run::Between(_) | Run::Work(_) => return View::Text(String::new()),
    };
    *inbox.children.mode() = state.permissions.mode;
    view
}

/// What the person says of approval holds at once for all that work below, and a change of mode for those that a call waits
/// for: the turn itself heeds it only when they are through.
fn pass_down(inbox: &mut Inbox, line: &str) {
    let (Some(command), rest) = find(line) else {
        return;
    };
    if FOR_ALL.contains(&command.name) && !rest.is_empty() {
        inbox.children.tell_all(line);
    }
    if let Some(mode) = mode::meant(command.name, rest, *inbox.children.mode()) {
        inbox.children.enter(mode);
    }
}

/// Runs the commands that came in during a turn and need not wait for its end, and says which tasks are through.
pub fn answer_waiting(state: &mut SessionState, inbox: &mut Inbox) {
    *inbox.children.mode() = state.permissions.mode;
    let is_now = |line: &str| matches!(find(line).0, Some(c) if matches!(c.run, Run::Now(_)));
    for wanted in inbox.commands(is_now) {
        let (command, rest) = find(&wanted.line);
        if let Some(command) = command {
            let view = now_run(command, state, inbox, rest);
            reply(&state.feed, &wanted, view);
        }
    }
    // A turn cannot be taken back while it runs, and nobody means the one that comes after it.
    for wanted in inbox.commands(|line| parts(line).0 == REWIND) {
        let refused = View::Error(state.settings.language.say(Word::RewindBusy).into());
        reply(&state.feed, &wanted, refused);
    }
    let language = state.settings.language;
    let known = LazyCell::new(|| {
        list(
            &state.extensions,
            state.services.servers.as_deref(),
            language,
        )
    });
    let is_unknown = |line: &str| {
        let name = parts(line).0;
        !said::is_said(line) && !is_ours(line) && !known.iter().any(|known| known.name == name)
    };
    for wanted in inbox.commands(is_unknown) {
        reply(&state.feed, &wanted, unknown(&wanted.line, language));
    }
    for CommandLine { line, reply_to } in inbox.untold() {
        let (shown, word) = match said::is_said(&line) {
            true => (line.clone(), Word::SaidWaits),
            false => (format!("/{}", parts(&line).0), Word::CommandWaits),
        };
        let text = state
            .settings
            .language
            .fill(word, &[&clip(&shown, SHOWN_CHARS)]);
        // It is no answer to the command, which is still to come.
        state.feed.reply_so_far(&reply_to, "", View::Text(text));
    }
    while let Some(ended) = inbox.children.ended.pop_front() {
        tasks::tell(state, &ended);
    }
}

/// The answer to a command.
pub fn reply(feed: &Feed, command: &CommandLine, view: View) {
    feed.reply(&command.reply_to, &command.line, view);
}

/// The command of a line, and the rest of it.
fn find(line: &str) -> (Option<&'static Command>, &str) {
    let (name, rest) = parts(line);
    let alias = ALIASES.iter().find(|(alias, _)| *alias == name);
    let name = alias.map_or(name, |(_, name)| *name);
    (COMMANDS.iter().find(|c| c.name == name), rest)
}

fn parts(line: &str) -> (&str, &str) {
    let line = line.trim();
    let (name, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    (name, rest.trim())
}

fn compact<'a>(session: &'a mut Session, focus: &'a str) -> Work<'a> {
    Box::pin(async move {
        match session.take_over() {
            Ok(()) => compaction::on_wish(&mut session.state, &mut session.inbox, focus).await,
            Err(error) => View::Error(error.say(session.options.run.language)),
        }
    })
}

/// What a hook is for, as it was written.
fn matched(hook: &Hook) -> String {
    let only = hook.only.as_ref().map(|only| format!("if {}", only.text()));
    let parts = [hook.matcher.text().to_owned(), only.unwrap_or_default()];
    let parts: Vec<String> = parts.into_iter().filter(|p| !p.is_empty()).collect();
    parts.join(" ")
}

fn hooks(hooks: &Hooks, language: Language) -> View {
    let all = hooks.all();
    if all.is_empty() {
        return View::Text(language.say(Word::HooksNone).into());
    }
    let row = |hook: &Hook| {
        vec![
            hook.moment.name().to_owned(),
            matched(hook),
            hook.command.clone(),
            hook.from.clone(),
        ]
    };
    View::Table(Table::of_texts(
        [
            Word::ColEvent,
            Word::ColMatch,
            Word::ColCommand,
            Word::ColFrom,
        ]
        .map(|word| language.say(word).to_owned())
        .to_vec(),
        all.iter().map(row).collect(),
    ))
}

fn status(state: &mut SessionState, inbox: &mut Inbox, _: &str) -> View {
    let language = state.settings.language;
    let target = state.conversation.model.target();
    let names: Vec<&str> = state.tools.names().collect();
    let tokens = state.conversation.bytes() / ostler_context::transcript::BYTES_PER_TOKEN;
    let mut rows = vec![
        (Word::RowSession, state.account.session.clone()),
        (
            Word::ColModel,
            format!("{}/{}", target.origin.provider, target.origin.model),
        ),
        (
            Word::RowMode,
            language.say(mode::word(state.permissions.mode)).into(),
        ),
        (
            Word::RowApproval,
            mode::posture(&state.permissions, language),
        ),
        (
            Word::RowKey,
            target
                .key
                .as_ref()
                .map_or_else(String::new, ostler_llm::Key::source),
        ),
        (Word::RowRoot, state.scope.root.display().to_string()),
        (Word::RowTools, names.join(" ")),
        (
            Word::RowPrompt,
            language.fill(Word::AboutTokens, &[&tokens.to_string()]),
        ),
    ];
    if !inbox.children.is_empty() {
        rows.push((Word::RowTasks, inbox.children.names()));
    }
    View::Table(Table::of_texts(
        Vec::new(),
        rows.into_iter()
            .map(|(word, value)| vec![language.say(word).to_owned(), value])
            .collect(),
    ))
}
