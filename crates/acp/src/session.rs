//! An open session: one task that owns its client, takes wishes of the editor in and sends updates out.

mod replies;

use crate::asks::{About, Answer, Asker, fields};
use crate::choices::Choices;
use crate::prompt;
use crate::protocol::{Editor, ErrorCode, Responder, error, invalid, schema as s};
use crate::terminal::Shown;
use crate::turn::Turn;
use crate::updates::{Origin, Updates, chunk};
use ostler_wire::{
    Ask, Body, Client, CommandInfo, Delta, Entry, Event, GoalState, Language, Mode, Op, OpSender,
    Settings, Subscription, Word,
};
use replies::Waiting;
use std::collections::{HashMap, VecDeque};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::Instant;

/// Wishes that may wait.
pub const WISHES: usize = 64;
/// Events that are taken in before output of commands is sent.
const BATCH: usize = 64;
/// How long a session may take to say what can be chosen before it counts as busy.
const LEARNING: Duration = Duration::from_secs(2);
/// How long a session may take to end.
const CLOSING: Duration = Duration::from_secs(5);
/// Entries of the past that are shown.
const MAX_PAST: usize = 20_000;

/// What the editor wants of a session.
pub enum Wish {
    Prompt(Vec<s::ContentBlock>, Responder<s::PromptResponse>),
    Mode(s::SessionModeId, Responder<s::SetSessionModeResponse>),
    Option(
        s::SetSessionConfigOptionRequest,
        Responder<s::SetSessionConfigOptionResponse>,
    ),
    Cancel,
    /// Says when it has ended.
    Close(oneshot::Sender<()>),
    /// Another client of the same session takes its place, unless a prompt is worked on.
    Leave(oneshot::Sender<bool>),
}

pub struct Session {
    id: s::SessionId,
    asker: Asker,
    ops: OpSender,
    feed: Feed,
    updates: Updates,
    choices: Choices,
    commands: Vec<CommandInfo>,
    turn: Option<Turn>,
    asks: Asks,
    waiting: HashMap<String, Waiting>,
    /// A turn is under way, whoever began it.
    working: bool,
    closing: Option<Closing>,
}

/// The events of a session, those first that came while something else was waited for.
struct Feed {
    early: VecDeque<Event>,
    events: Subscription,
    /// Numbers ops.
    sent: u64,
}

/// Questions that the editor has been asked.
#[derive(Default)]
struct Asks {
    running: JoinSet<(Arc<Ask>, Answer)>,
    open: HashMap<String, AbortHandle>,
}

struct Closing {
    done: Vec<oneshot::Sender<()>>,
    until: Instant,
}

impl Feed {
    async fn next(&mut self) -> Option<Event> {
        match self.early.pop_front() {
            Some(event) => Some(event),
            None => self.events.next().await,
        }
    }

    fn try_next(&mut self) -> Option<Event> {
        self.early.pop_front().or_else(|| self.events.try_next())
    }
}

impl Session {
    pub fn new(client: Client, updates: Updates, asker: Asker) -> Self {
        let Client {
            session_id,
            snapshot,
            ops,
            events,
            ..
        } = client;
        Self {
            id: s::SessionId::new(session_id),
            asker,
            ops,
            feed: Feed {
                early: VecDeque::new(),
                events,
                sent: 0,
            },
            updates,
            choices: Choices {
                mode: snapshot.mode,
                model: snapshot.model,
                ..Choices::default()
            },
            commands: snapshot.commands,
            turn: None,
            asks: Asks::default(),
            waiting: HashMap::new(),
            working: snapshot.working,
            closing: None,
        }
    }

    /// From now on calls show the terminals that come here.
    pub fn show_terminals(&mut self, terminals: mpsc::Receiver<Shown>) {
        self.updates.terminals = terminals;
    }

    pub fn id(&self) -> &s::SessionId {
        &self.id
    }

    fn language(&self) -> Language {
        self.asker.language
    }

    fn editor(&self) -> &Editor {
        &self.asker.editor
    }

    pub fn modes(&self) -> s::SessionModeState {
        self.choices.modes(self.language())
    }

    pub fn options(&self) -> Vec<s::SessionConfigOption> {
        self.choices.options(self.language())
    }

    /// Shows what was said before.
    pub async fn replay(&mut self) {
        let past = self.feed.events.past(MAX_PAST).await;
        for entry in past {
            let updates = self.updates.entry(&entry, Origin::Past);
            self.send(updates).await;
        }
    }

    /// What was said before is known to the editor; only what it has cost counts.
    pub async fn recall(&mut self) {
        for entry in self.feed.events.past(MAX_PAST).await {
            self.updates.note_past(&entry);
        }
    }

    /// What may follow a slash, and what the person should know.
    pub async fn introduce(&mut self, notes: &[String]) {
        let commands = self.commands.iter().map(|command| {
            let hint = Some(command.arguments.as_str()).filter(|text| !text.is_empty());
            let input = hint.map(s::UnstructuredCommandInput::new);
            s::AvailableCommand::new(command.name.as_str(), command.help.as_str())
                .input(input.map(s::AvailableCommandInput::Unstructured))
        });
        let commands = s::AvailableCommandsUpdate::new(commands.collect());
        let mut updates = vec![s::SessionUpdate::AvailableCommandsUpdate(commands)];
        let notice = |note: &String| self.updates.notice(note, s::NoticeSeverity::Info);
        updates.extend(notes.iter().map(notice));
        self.send(updates).await;
    }

    async fn send(&mut self, updates: Vec<s::SessionUpdate>) {
        for update in updates {
            self.editor().update(&self.id, update).await;
        }
    }

    /// Until the session is over or the editor is gone.
    pub async fn run(mut self, mut wishes: mpsc::Receiver<Wish>) {
        loop {
            let stop = self.turn.as_ref().filter(|turn| !turn.cancelled);
            let stop = stop.map(Turn::cancellation);
            let stopped = async move {
                match stop {
                    Some(stop) => stop.cancelled().await,
                    None => std::future::pending().await,
                }
            };
            let until = self.closing.as_ref().map(|closing| closing.until);
            let overdue = async move {
                match until {
                    Some(until) => tokio::time::sleep_until(until).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                wish = wishes.recv() => match wish {
                    Some(Wish::Leave(left)) => {
                        let is_free = self.turn.is_none();
                        let _ = left.send(is_free);
                        if is_free {
                            break;
                        }
                    }
                    Some(wish) => self.wish(wish).await,
                    None => break,
                },
                event = self.feed.next() => {
                    let Some(event) = event else { break };
                    if self.events(event).await.is_break() {
                        break;
                    }
                }
                Some(answered) = self.asks.running.join_next() => {
                    if let Ok((ask, answer)) = answered {
                        self.answered(&ask, answer).await;
                    }
                }
                Some(updates) = self.updates.next_terminal() => self.send(updates).await,
                () = stopped => self.cancel().await,
                () = overdue => break,
            }
        }
        self.end();
    }

    fn end(mut self) {
        if let Some(mut turn) = self.turn.take() {
            turn.cancelled |= self.closing.is_some();
            turn.fail(self.language().say(Word::SessionEnded));
            turn.answer(self.language());
        }
        let language = self.language();
        let over = || error(ErrorCode::INTERNAL_ERROR, language.say(Word::SessionEnded));
        for waiting in std::mem::take(&mut self.waiting).into_values() {
            // The editor may be gone.
            let _ = match waiting {
                Waiting::Menu | Waiting::Fence => Ok(()),
                Waiting::Mode(responder) => responder.respond_with_error(over()),
                Waiting::Option { responder, .. } => responder.respond_with_error(over()),
            };
        }
        let closing = self.closing.take();
        for done in closing.into_iter().flat_map(|closing| closing.done) {
            let _ = done.send(());
        }
    }

    async fn wish(&mut self, wish: Wish) {
        match wish {
            Wish::Prompt(blocks, responder) => self.prompt(blocks, responder).await,
            Wish::Mode(id, responder) => match Choices::enter(&id.0, self.language()) {
                Ok(line) => self.command(line, Waiting::Mode(responder)).await,
                Err(why) => drop(responder.respond_with_error(invalid(why))),
            },
            Wish::Option(request, responder) => self.set(request, responder).await,
            Wish::Cancel => self.cancel().await,
            Wish::Close(done) => self.close(done).await,
            // The loop has taken it.
            Wish::Leave(_) => {}
        }
    }

    async fn prompt(&mut self, blocks: Vec<s::ContentBlock>, to: Responder<s::PromptResponse>) {
        let language = self.language();
        if self.turn.is_some() || self.closing.is_some() {
            let why = language.say(Word::AcpTurnRuns);
            let _ = to.respond_with_error(error(ErrorCode::INVALID_REQUEST, why));
            return;
        }
        let (text, images) = match prompt::read(blocks, self.updates.root(), language) {
            Ok(read) => read,
            Err(why) => return drop(to.respond_with_error(invalid(why))),
        };
        let op = prompt::op(text, images, &self.commands);
        let id = self.new_op();
        let is_command = matches!(op, Op::Command { .. });
        self.turn = Some(Turn::new(to, id.clone(), is_command));
        self.send_op(id, op).await;
    }

    async fn set(
        &mut self,
        request: s::SetSessionConfigOptionRequest,
        responder: Responder<s::SetSessionConfigOptionResponse>,
    ) {
        let id = request.config_id.0.to_string();
        let wanted = request.value.as_value_id().map(|value| value.0.to_string());
        let value = wanted.unwrap_or_default();
        match self.choices.set(&id, &value, self.language()) {
            Err(why) => drop(responder.respond_with_error(invalid(why))),
            Ok(line) => {
                let waiting = Waiting::Option {
                    responder,
                    id,
                    value,
                };
                self.command(line, waiting).await;
            }
        }
    }

    async fn cancel(&mut self) {
        match &mut self.turn {
            // A second interrupt would kill what is still ending.
            Some(turn) if turn.cancelled => return,
            Some(turn) => turn.cancelled = true,
            None if !self.working => return,
            None => {}
        }
        let _ = self.ops.send(Op::Interrupt).await;
    }

    async fn close(&mut self, done: oneshot::Sender<()>) {
        if let Some(closing) = &mut self.closing {
            return closing.done.push(done);
        }
        self.cancel().await;
        let _ = self.ops.send(Op::Close).await;
        self.closing = Some(Closing {
            done: vec![done],
            until: Instant::now() + CLOSING,
        });
    }

    /// Takes an event in, and those that are there already.
    async fn events(&mut self, first: Event) -> ControlFlow<()> {
        let mut next = Some(first);
        let mut count = 0;
        while let Some(event) = next {
            self.event(event).await;
            count += 1;
            next = (count < BATCH).then(|| self.feed.try_next()).flatten();
        }
        let outputs = self.updates.outputs();
        self.send(outputs).await;
        ControlFlow::Continue(())
    }

    async fn event(&mut self, event: Event) {
        match event {
            Event::Entry(entry) => self.entry(&entry).await,
            Event::Delta(delta) => self.delta(&delta).await,
            Event::Ask(ask) => self.ask(ask),
            Event::Reply(reply) => self.reply(&reply).await,
        }
    }

    async fn entry(&mut self, entry: &Entry) {
        let is_own = self.turn.as_ref().is_some_and(|turn| turn.is_own(entry));
        let origin = match is_own {
            true => Origin::Own,
            false => Origin::Live,
        };
        let updates = self.updates.entry(entry, origin);
        self.send(updates).await;
        let ended = self.turn.as_mut().is_some_and(|turn| turn.follow(entry));
        if entry.body.prompt().is_some() {
            self.working = true;
        } else if let Body::TurnEnd(_) = &entry.body {
            self.working = false;
        } else if let Body::Mode(mode) = &entry.body {
            self.set_mode(mode).await;
        } else if let Body::Settings(settings) = &entry.body {
            self.settings(settings).await;
        }
        let waits = self.turn.as_ref().is_some_and(|turn| turn.is_command);
        if ended && !waits && !self.goes_on() {
            self.finish();
        }
    }

    /// The next turn of a goal begins by itself.
    fn goes_on(&self) -> bool {
        let goal = self.choices.mode.goal.as_ref();
        let is_active = goal.is_some_and(|goal| goal.state == GoalState::Active);
        is_active && self.turn.as_ref().is_some_and(|turn| !turn.cancelled)
    }

    fn finish(&mut self) {
        if let Some(turn) = self.turn.take() {
            turn.answer(self.language());
        }
    }

    async fn delta(&mut self, delta: &Delta) {
        let updates = self.updates.delta(delta);
        self.send(updates).await;
        match delta {
            Delta::Mode { mode } => self.set_mode(mode).await,
            Delta::OpDone { op } => self.carried_out(op).await,
            Delta::AskClosed { ask, .. } => {
                // The request that was not answered is taken back with its task.
                if let Some(asking) = self.asks.open.remove(ask) {
                    asking.abort();
                }
            }
            Delta::Unrecorded { message } => {
                self.working = false;
                if let Some(turn) = &mut self.turn {
                    turn.fail(message);
                }
                self.finish();
            }
            Delta::Idle => {
                self.working = false;
                self.finish();
            }
            Delta::AssistantDelta { .. }
            | Delta::ReasoningDelta { .. }
            | Delta::ToolStarted { .. }
            | Delta::ToolOutput { .. }
            | Delta::Retry { .. }
            | Delta::Progress { .. }
            | Delta::Budget { .. }
            | Delta::Announcement { .. }
            | Delta::OpArrived { .. }
            | Delta::Clients(_)
            | Delta::Queue { .. }
            | Delta::Tasks { .. }
            | Delta::Jobs { .. } => {}
        }
    }

    async fn set_mode(&mut self, mode: &Mode) {
        let before = self.choices.clone();
        self.choices.mode.clone_from(mode);
        if before.current_mode() != self.choices.current_mode() {
            let id = self.choices.current_mode().to_owned();
            let update = s::CurrentModeUpdate::new(id);
            self.send(vec![s::SessionUpdate::CurrentModeUpdate(update)])
                .await;
        }
        self.tell_options(&before).await;
    }

    async fn settings(&mut self, settings: &Settings) {
        let before = self.choices.clone();
        if let Some(model) = &settings.model {
            self.choices.model.clone_from(model);
        }
        if let Some(effort) = &settings.effort {
            self.choices.mark_effort(effort);
        }
        self.tell_options(&before).await;
    }

    async fn tell_options(&mut self, before: &Choices) {
        let options = self.options();
        if before.options(self.language()) != options {
            let update = s::ConfigOptionUpdate::new(options);
            self.send(vec![s::SessionUpdate::ConfigOptionUpdate(update)])
                .await;
        }
    }

    fn ask(&mut self, ask: Arc<Ask>) {
        let call = ask.call.as_deref();
        let known = call.and_then(|id| self.updates.call(id));
        let id = match (call, known) {
            (Some(id), Some(_)) => id,
            (Some(_) | None, _) => ask.ask.as_str(),
        };
        let about = (
            s::ToolCallId::new(id),
            fields(&ask, known, self.updates.root()),
        );
        let (asker, session) = (self.asker.clone(), self.id.clone());
        let name = ask.ask.clone();
        let asking = self.asks.running.spawn(async move {
            let answer = asker.put(ask.clone(), About::Session(session), about).await;
            (ask, answer)
        });
        self.asks.open.insert(name, asking);
    }

    async fn answered(&mut self, ask: &Ask, answer: Answer) {
        // It was closed meanwhile.
        if self.asks.open.remove(&ask.ask).is_none() {
            return;
        }
        if let Answer::Unasked(why) = &answer {
            let text = format!("{why}\n\n{} {}\n\n", ask.title, ask.subject);
            self.send(vec![s::SessionUpdate::AgentMessageChunk(chunk(text))])
                .await;
        }
        match answer.op(ask) {
            Some(op) => drop(self.ops.send(op).await),
            None => self.cancel().await,
        }
    }
}
