//! Writes what another agent does into its session: entries into the log, then to the clients; pieces to the clients alone.
//! What it costs is booked as it is told.

use crate::budget::Amount;
use crate::log::{Log, LogError};
use ostler_context::account::Account;
use ostler_context::clients::feed::Feed;
use ostler_state::agents::children::{Spent, post};
use ostler_state::agents::foreign::{
    ForeignActivity, ForeignCall, ForeignRequest, ForeignResult, ForeignWatcher,
};
use ostler_wire::{
    Ask, AskKind, Body, BoxFuture, CallTitle, CallVerb, Choice, Delta, Json, Language, Message,
    Notice, Op, OpSender, Origin, Part, PermissionChoice, Role, Silence, Stop, Todo, ToolKind,
    ToolResult, ToolUse, Usage, Word, clip,
};
use serde_json::json;
use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

/// Lines for people that the log keeps of one task; those that follow are not kept.
const MAX_NOTICES: usize = 40;
/// Entries of one task, after which it is stopped: no agent needs so many.
const MAX_ENTRIES: usize = 20_000;
const MAX_SUBJECT: usize = 1_000;
const MAX_NAME: usize = 64;
/// The least that a program costs: a budget that has not even that left is spent.
const LEAST: Amount = Amount {
    usd: 1e-6,
    tokens: 1,
};

/// What is decided of an agent's requests without a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Permits {
    /// The person is asked.
    Ask,
    Allow,
    Refuse,
}

/// What an agent asks is measured by this.
#[derive(Clone, Copy, Debug)]
pub struct Rights {
    pub permits: Permits,
    pub edits: bool,
    pub runs: bool,
    pub reaches: bool,
}

pub struct Recorder {
    written: Mutex<Written>,
    waiting: Mutex<HashMap<String, Waiting>>,
    feed: Feed,
    account: Account,
    origin: Origin,
    rights: Rights,
    language: Language,
    root: std::path::PathBuf,
}

/// The log, and what of the agent's work is not in it yet.
struct Written {
    log: Log,
    reasoning: String,
    /// What was said last.
    said: String,
    spent: Spent,
    /// Calls under way, by the agent's id: the id in the log, and since when.
    calls: HashMap<String, (String, Instant)>,
    count: usize,
    notices: usize,
    entries: usize,
    /// Why the agent is stopped.
    fault: Option<String>,
    /// Stops it.
    cancel: CancellationToken,
}

/// Who waits for an answer.
enum Waiting {
    /// The agent.
    Agent(oneshot::Sender<String>),
    /// A session of ours that works in its place.
    Session(OpSender),
}

/// What a recorder works with.
pub struct Parts {
    pub log: Log,
    pub feed: Feed,
    pub account: Account,
    pub origin: Origin,
    pub rights: Rights,
    pub cancel: CancellationToken,
    pub language: Language,
    pub root: std::path::PathBuf,
    /// Calls that the log has already.
    pub calls: usize,
}

impl Recorder {
    pub fn new(parts: Parts) -> Self {
        Self {
            written: Mutex::new(Written {
                log: parts.log,
                reasoning: String::new(),
                said: String::new(),
                spent: Spent::default(),
                calls: HashMap::new(),
                count: parts.calls,
                notices: 0,
                entries: 0,
                fault: None,
                cancel: parts.cancel,
            }),
            waiting: Mutex::default(),
            feed: parts.feed,
            account: parts.account,
            origin: parts.origin,
            rights: parts.rights,
            language: parts.language,
            root: parts.root,
        }
    }

    /// Begins anew for the next prompt: what stops the work on it.
    pub fn renew(&self) -> CancellationToken {
        let mut written = self.lock();
        written.said.clear();
        written.spent = Spent::default();
        written.notices = 0;
        written.entries = 0;
        written.fault = None;
        written.cancel = CancellationToken::new();
        written.cancel.clone()
    }

    /// Goes on with what opens the log, where it is new, and the prompt.
    pub fn begin(&self, mut opening: Vec<Body>, prompt: String) -> Result<(), LogError> {
        opening.push(Body::Message(Message::user(prompt)));
        self.commit(opening)
    }

    pub fn commit(&self, bodies: Vec<Body>) -> Result<(), LogError> {
        self.write(&mut self.lock(), bodies)
    }

    pub fn sync(&self) {
        self.lock().log.sync_in_background();
    }

    pub async fn synced(&self) {
        let mut log = std::mem::replace(&mut self.lock().log, Log::memory());
        log.synced().await;
    }

    /// Why nothing may be spent any more.
    pub fn broke_budget(&self) -> Option<String> {
        let account = &self.account;
        let held = account.budget.hold(account.payer(), LEAST);
        held.err().map(|breach| breach.message(self.language))
    }

    /// Why the agent was stopped by us.
    pub fn take_fault(&self) -> Option<String> {
        self.lock().fault.take()
    }

    /// What the log lacks when the agent is through: an answer that was not told as a message, and results of calls.
    pub fn rest(&self, answer: &str) -> Vec<Body> {
        let mut written = self.lock();
        let mut open: Vec<(String, Instant)> =
            written.calls.drain().map(|(_, call)| call).collect();
        open.sort_by_key(|(_, since)| *since);
        let cut = json!({"ok": false, "error": {"code": "interrupted", "message": "The agent ended before this call did."}});
        let mut bodies: Vec<Body> = open
            .into_iter()
            .map(|(id, since)| result_entry(id, &cut, since))
            .collect();
        let is_told = answer.trim().is_empty() || written.said.trim() == answer.trim();
        if !is_told || !written.reasoning.is_empty() {
            let text = if is_told { "" } else { answer };
            bodies.push(self.message(&mut written, text, Stop::End));
        }
        bodies
    }

    /// The answer to a question of the agent, or of a session in its place.
    pub fn answer(&self, ask: &str, choice: &str, reason: Option<String>) {
        match self.asks().remove(ask) {
            // An agent that is gone needs no answer.
            Some(Waiting::Agent(reply)) => drop(reply.send(choice.to_owned())),
            Some(Waiting::Session(ops)) => post(
                &ops,
                Op::Answer {
                    ask: ask.to_owned(),
                    choice: choice.to_owned(),
                    reason,
                },
            ),
            None => {}
        }
    }

    /// Puts a question of a session that works in the place of the agent.
    pub fn relay(&self, ask: &Arc<Ask>, ops: OpSender) {
        self.asks().insert(ask.ask.clone(), Waiting::Session(ops));
        self.feed.ask(ask.clone());
    }

    fn lock(&self) -> MutexGuard<'_, Written> {
        self.written.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn asks(&self) -> MutexGuard<'_, HashMap<String, Waiting>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self, written: &mut Written, bodies: Vec<Body>) -> Result<(), LogError> {
        for entry in written.log.append(bodies)? {
            written.entries += 1;
            self.feed.entry(entry);
        }
        Ok(())
    }

    /// The same in the middle of the work: an agent whose work cannot be written down is stopped.
    fn record(&self, written: &mut Written, bodies: Vec<Body>) {
        if written.fault.is_some() {
            return;
        }
        let fault = match self.write(written, bodies) {
            Ok(()) if written.entries > MAX_ENTRIES => {
                Some(self.language.say(Word::ForeignFlood).to_owned())
            }
            Ok(()) => None,
            Err(error) => Some(error.say(self.language)),
        };
        if let Some(fault) = fault {
            self.stop(written, fault);
        }
    }

    fn stop(&self, written: &mut Written, why: String) {
        written.fault.get_or_insert(why);
        written.cancel.cancel();
    }

    fn message(&self, written: &mut Written, text: &str, stop: Stop) -> Body {
        let mut parts = Vec::new();
        let reasoning = std::mem::take(&mut written.reasoning);
        if !reasoning.is_empty() {
            parts.push(Part::Reasoning {
                text: reasoning,
                replay: None,
            });
        }
        if !text.is_empty() {
            text.clone_into(&mut written.said);
            parts.push(Part::Text {
                text: text.to_owned(),
                replay: None,
            });
        }
        let mut message = Message::user(text);
        message.role = Role::Assistant;
        message.parts = parts;
        message.model = Some(self.origin.clone());
        message.stop = Some(stop);
        Body::Message(message)
    }

    fn call(&self, written: &mut Written, call: ForeignCall) {
        if written.calls.contains_key(&call.id) {
            return;
        }
        written.count += 1;
        let id = format!("call_{}", written.count);
        let name = tool_name(&call);
        let subject = subject(&call, &self.root);
        let mut message = self.message(written, "", Stop::Calls);
        if let Body::Message(message) = &mut message {
            message.parts.push(Part::Call {
                id: id.clone(),
                replay: None,
            });
        }
        let used = ToolUse {
            id: id.clone(),
            name: name.clone(),
            input: call.input.unwrap_or_else(|| Json::of(&json!({}))),
            repair: None,
            by: None,
            via: None,
            title: Some(CallTitle {
                kind: call.kind,
                verb: verb(call.kind),
                subject,
                body: None,
                result: ostler_wire::ResultForm::Text,
            }),
        };
        self.record(written, vec![message, Body::ToolUse(used)]);
        written.calls.insert(call.id, (id.clone(), Instant::now()));
        self.feed.delta(Delta::ToolStarted { id, name });
    }

    fn finished(&self, written: &mut Written, result: ForeignResult) {
        let ForeignResult { id, ok, output } = result;
        let Some((id, since)) = written.calls.remove(&id) else {
            return;
        };
        let envelope = match ok {
            true => json!({"ok": true, "data": {"text": output}}),
            false => json!({"ok": false, "error": {"code": "failed", "message": output}}),
        };
        let body = result_entry(id, &envelope, since);
        self.record(written, vec![body]);
    }

    /// Books what was used since the last time, and stops an agent that has spent the budget.
    fn spend(&self, written: &mut Written, now: Spent) {
        let before = std::mem::replace(&mut written.spent, now);
        let cost = match (now.cost, before.cost) {
            (Some(now), Some(before)) => Some((now - before).max(0.0)),
            (now, _) => now,
        };
        let usage = Usage {
            provider: self.origin.provider.clone(),
            model: self.origin.model.clone(),
            input: now.input.saturating_sub(before.input),
            cached: now.cached.saturating_sub(before.cached),
            output: now.output.saturating_sub(before.output),
            cost,
            ..Usage::default()
        };
        if usage.input == 0 && usage.output == 0 && cost.is_none_or(|cost| cost <= 0.0) {
            return;
        }
        self.account.book(&usage);
        self.record(written, vec![Body::Usage(usage)]);
        if let Some(why) = self.broke_budget() {
            self.stop(written, why);
        }
    }

    /// What a session in the place of the agent took, which it has booked itself.
    pub fn add_spent(&self, spent: Spent) {
        let usage = Usage {
            provider: self.origin.provider.clone(),
            input: spent.input,
            cached: spent.cached,
            output: spent.output,
            cost: spent.cost,
            ..Usage::default()
        };
        self.record(&mut self.lock(), vec![Body::Usage(usage)]);
    }

    fn note(&self, written: &mut Written, text: String) {
        if written.notices < MAX_NOTICES && !text.trim().is_empty() {
            written.notices += 1;
            self.record(written, vec![Body::Notice(Notice { text })]);
        }
    }

    /// What needs no question.
    fn decide(&self, kind: ToolKind) -> Permits {
        let rights = self.rights;
        let may = match kind {
            ToolKind::Edit => rights.edits,
            ToolKind::Run => rights.runs,
            ToolKind::Net => rights.reaches,
            ToolKind::Read
            | ToolKind::Delegate
            | ToolKind::Memory
            | ToolKind::Talk
            | ToolKind::Other => true,
        };
        match may {
            true => rights.permits,
            false => Permits::Refuse,
        }
    }

    async fn ask(&self, request: ForeignRequest) -> bool {
        let id = format!("f-{}", uuid::Uuid::new_v4().simple());
        let (reply, answer) = oneshot::channel();
        self.asks().insert(id.clone(), Waiting::Agent(reply));
        let language = self.language;
        let subject = subject(&request.call, &self.root);
        let choice = |choice, word| Choice::permission(choice, language.say(word));
        let ask = Ask {
            ask: id.clone(),
            kind: AskKind::Permission,
            title: language.fill(Word::ForeignAsks, &[&request.backend]),
            subject: match subject.is_empty() || subject == request.call.title {
                true => request.call.title.clone(),
                false => format!("{}: {subject}", request.call.title),
            },
            options: vec![
                choice(PermissionChoice::Once, Word::AllowOnce),
                choice(PermissionChoice::Deny, Word::Deny),
            ],
            preview: Some(request.preview).filter(|preview| !preview.is_empty()),
            silence: Silence::refuses(PermissionChoice::Deny.id()),
            ..Ask::default()
        };
        if ask.is_too_long() {
            self.asks().remove(&id);
            return false;
        }
        let closing = Closing { recorder: self, id };
        self.feed.ask(Arc::new(ask));
        let answer = answer.await;
        drop(closing);
        answer.is_ok_and(|choice| choice == PermissionChoice::Once.id())
    }
}

/// Takes a question back, also one that nobody waits for any more.
struct Closing<'a> {
    recorder: &'a Recorder,
    id: String,
}

impl Drop for Closing<'_> {
    fn drop(&mut self) {
        self.recorder.asks().remove(&self.id);
        self.recorder.feed.delta(Delta::AskClosed {
            ask: self.id.clone(),
            by: None,
            answer: None,
        });
    }
}

impl ForeignWatcher for Recorder {
    fn tell(&self, activity: ForeignActivity) {
        let written = &mut *self.lock();
        match activity {
            ForeignActivity::Started(command) => {
                let text = self.language.fill(Word::ForeignStarted, &[&command]);
                self.note(written, text);
            }
            ForeignActivity::Session(id) => {
                let text = self.language.fill(Word::ForeignSession, &[&id]);
                self.note(written, text);
            }
            ForeignActivity::Said(text) => {
                let text = self.feed.redactor().text(text);
                self.feed.delta(Delta::AssistantDelta { text });
            }
            ForeignActivity::Thought(text) => {
                let text = self.feed.redactor().text(text);
                self.feed.delta(Delta::ReasoningDelta { text });
            }
            ForeignActivity::Message(text) => {
                let message = self.message(written, &text, Stop::End);
                self.record(written, vec![message]);
            }
            ForeignActivity::Reasoning(text) => written.reasoning.push_str(&text),
            ForeignActivity::Call(call) => self.call(written, call),
            ForeignActivity::Result(result) => self.finished(written, result),
            ForeignActivity::Todo(items) => self.record(written, vec![Body::Todo(Todo { items })]),
            ForeignActivity::Spent(spent) => self.spend(written, spent),
            ForeignActivity::Retry {
                after_ms,
                attempt,
                reason,
            } => self.feed.delta(Delta::Retry {
                after_ms,
                attempt,
                of: 0,
                reason,
            }),
            ForeignActivity::Notice(text) => self.note(written, text),
        }
    }

    fn permit(&self, request: ForeignRequest) -> BoxFuture<'_, bool> {
        match self.decide(request.call.kind) {
            Permits::Allow => Box::pin(std::future::ready(true)),
            Permits::Refuse => Box::pin(std::future::ready(false)),
            Permits::Ask => Box::pin(self.ask(request)),
        }
    }
}

fn result_entry(id: String, envelope: &serde_json::Value, since: Instant) -> Body {
    Body::ToolResult(ToolResult {
        tool_use_id: id,
        output: Json::of(envelope),
        ok: envelope["ok"] == true,
        duration_ms: u64::try_from(since.elapsed().as_millis()).unwrap_or(u64::MAX),
    })
}

/// A name that any protocol takes: the agent's own, or one for the kind of work where its title is more than a name.
fn tool_name(call: &ForeignCall) -> String {
    let title = call.title.trim();
    let fine = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if !title.is_empty() && title.len() <= MAX_NAME && title.chars().all(fine) {
        return title.to_owned();
    }
    let name = match call.kind {
        ToolKind::Read => "read",
        ToolKind::Edit => "edit",
        ToolKind::Run => "shell",
        ToolKind::Net => "fetch",
        ToolKind::Delegate | ToolKind::Memory | ToolKind::Talk | ToolKind::Other => "tool",
    };
    name.to_owned()
}

/// What a call is about, in one line.
fn subject(call: &ForeignCall, root: &Path) -> String {
    let input = call.input.as_ref().map(Json::to_value);
    let input = input.as_ref();
    let said = |key: &str| input.and_then(|input| input.get(key)?.as_str());
    let path = call.paths.first().map(|path| {
        let inner = path.strip_prefix(root).unwrap_or(path);
        inner.display().to_string()
    });
    let words = [
        "command",
        "cmd",
        "pattern",
        "query",
        "url",
        "prompt",
        "file_path",
        "path",
    ];
    let said = words.into_iter().find_map(said).map(str::to_owned);
    let text = match call.kind {
        ToolKind::Read | ToolKind::Edit => path.or(said),
        ToolKind::Run
        | ToolKind::Net
        | ToolKind::Delegate
        | ToolKind::Memory
        | ToolKind::Talk
        | ToolKind::Other => said.or(path),
    };
    let text = text.unwrap_or_else(|| match tool_name(call) == call.title {
        true => String::new(),
        false => call.title.clone(),
    });
    clip(&text.replace('\n', " "), MAX_SUBJECT)
}

fn verb(kind: ToolKind) -> Option<CallVerb> {
    match kind {
        ToolKind::Read => Some(CallVerb::Read),
        ToolKind::Edit => Some(CallVerb::Edit),
        ToolKind::Run => Some(CallVerb::Run),
        ToolKind::Net => Some(CallVerb::Fetch),
        ToolKind::Delegate | ToolKind::Memory | ToolKind::Talk | ToolKind::Other => None,
    }
}
