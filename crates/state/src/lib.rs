//! What a turn works on: the log and its feed, the conversation, the tools and the policy. One owner, no locks.

pub mod agents;
pub mod attend;
pub mod checkpoints;
mod context;
pub mod hooks;
pub mod inbox;
pub mod permissions;
mod rewind;
mod rules;
pub mod server_tools;
pub mod servers;
mod services;
pub mod session;
pub mod settings;
mod state_hooks;

pub use services::ToolServices;

use crate::agents::children::ChildSettings;
use crate::agents::foreign::Approval;
use crate::agents::{Agents, Delegation};
use crate::hooks::Hooks;
use crate::inbox::server_question::ServerQuestions;
use crate::permissions::PermissionState;
use crate::servers::ServerToolState;
use attend::AnswerCommands;
use ostler_confine::CallSandbox;
use ostler_context::account::Account;
use ostler_context::clients::feed::Feed;
use ostler_context::conversation::Conversation;
use ostler_context::cost;
use ostler_context::handoff::HandoffPlace;
use ostler_context::interfaces::RuleWatch;
use ostler_context::interfaces::extra::Extra;
use ostler_context::side_request::SideRequestCosts;
use ostler_context::transcript::{BYTES_PER_TOKEN, prefix_text};
use ostler_context::window::{Folding, Gauge};
use ostler_guard::{Mode, Policy};
use ostler_llm::{Answer, Effort};
use ostler_sources::briefing::{self, Way};
use ostler_sources::completion::OfferedNames;
use ostler_sources::definitions::Definitions;
use ostler_sources::references::Voice;
use ostler_sources::roles::PLANNER;
use ostler_store::budget::Booked;
use ostler_store::log::{Log, LogError};
use ostler_store::memory::SessionRecall;
use ostler_store::prefixes;
use ostler_store::sessions::Store;
use ostler_tools::builtin::Tools;
use ostler_tools::builtin::exit_plan_mode::ExitPlanMode;
use ostler_tools::seen::Seen;
use ostler_tools::tool::{Scope, Typed as _};
use ostler_wire::{
    Body, ChildOutcome, Delta, Entry, Language, Notice, Rewind, Role, TodoItem, Usage, When,
};
use std::collections::HashSet;
use std::sync::Arc;
use std::time::Instant;

pub struct SessionState {
    pub log: Log,
    pub feed: Feed,
    pub conversation: Conversation,
    pub tools: Tools,
    pub policy: Arc<Policy>,
    pub scope: Arc<Scope>,
    pub services: ToolServices,
    pub settings: SessionSettings,
    /// Call ids of the session.
    pub used_ids: HashSet<String>,
    pub permissions: PermissionState,
    pub account: Account,
    pub extensions: Extensions,
}

/// How it works.
pub struct SessionSettings {
    /// Somebody is attached who can answer asks.
    pub interactive: bool,
    /// Whose words the prompts are.
    pub voice: Voice,
    /// 0 = no limit.
    pub max_steps: u64,
    pub language: Language,
    /// How hard the model is to think, as the person chose it in this session.
    pub effort: Option<Effort>,
    pub folding: Folding,
    /// Where servers may ask the person, if there is one.
    pub server_questions: Option<ServerQuestions>,
    /// Requests that calls send beside the conversation.
    pub side_requests: SideRequestCosts,
    pub hooks: Hooks,
    pub recall: SessionRecall,
    /// What clients are offered behind `@`.
    pub offered: OfferedNames,
    /// The other sessions of the project.
    pub store: Arc<Store>,
}

/// What there is beside the engine's own.
pub struct Extensions {
    /// What people wrote: commands, roles, skills.
    pub definitions: Definitions,
    /// Commands of the binary.
    pub extras: Vec<Arc<dyn Extra>>,
    /// How others may work for it.
    pub agents: Agents,
    pub answer_commands: AnswerCommands,
    /// What was taken in of servers.
    pub server_tools: ServerToolState,
    /// Tells of rules that were tightened meanwhile.
    pub rule_watch: Option<Arc<dyn RuleWatch>>,
}

/// What the session knew before a rewind.
pub struct Left {
    conversation: Conversation,
    seen: Arc<Seen>,
    todo: Arc<Vec<TodoItem>>,
    told: Mode,
    gauge: Gauge,
    /// Facts that it was told.
    known: HashSet<String>,
}

impl SessionState {
    /// Stores, folds and shows. Nothing is shown that is not on disk.
    pub fn commit(&mut self, bodies: Vec<Body>) -> Result<(), LogError> {
        self.commit_after(Vec::new(), bodies)
    }

    /// The same in one write with a copied past, which is not shown: it happened in another session.
    pub fn commit_after(&mut self, past: Vec<Body>, bodies: Vec<Body>) -> Result<(), LogError> {
        let copied = past.len();
        let all = past.into_iter().chain(bodies).collect();
        let mut entries = self.log.append(all)?;
        let new = entries.split_off(copied.min(entries.len()));
        if copied > 0 {
            self.read(&entries);
        }
        for entry in new {
            self.conversation.push(&entry);
            self.remember(&entry.body);
            self.feed.entry(entry);
        }
        Ok(())
    }

    /// Stores and shows a compaction and what belongs to it, and goes on with the conversation that follows from it.
    pub fn commit_folded(
        &mut self,
        bodies: Vec<Body>,
        conversation: Conversation,
    ) -> Result<(), LogError> {
        for entry in self.log.append(bodies)? {
            self.remember(&entry.body);
            self.feed.entry(entry);
        }
        self.conversation = conversation;
        Ok(())
    }

    /// Takes in a past, oldest first.
    pub fn read<E: std::borrow::Borrow<Entry>>(&mut self, entries: &[E]) {
        self.conversation.read(entries);
        for entry in entries {
            self.remember(&entry.borrow().body);
        }
    }

    /// Takes in rules that were tightened meanwhile. What the person is told.
    pub fn take_rule_news(&mut self) -> Option<Body> {
        let news = self.extensions.rule_watch.as_ref()?.news()?;
        let text = news.notice.clone();
        self.tighten(news);
        Some(Body::Notice(Notice { text }))
    }

    /// Saves the prefix of the conversation, which the log names by its hash. One that cannot be saved shows again when the
    /// log cannot be written.
    pub fn keep_prefix(&self) {
        if let Some(home) = &self.settings.folding.archive {
            let _ = prefixes::keep(home, &prefix_text(&self.conversation.prefix));
        }
    }

    /// Where a handoff of this session is written.
    pub fn handoff_place(&self) -> HandoffPlace<'_> {
        HandoffPlace {
            scope: &self.scope,
            session: &self.account.session,
            redactor: self.feed.redactor(),
            language: self.settings.language,
        }
    }

    /// Says what goes on beside calls; no text when it is over.
    pub fn progress(&self, name: &str, text: &str) {
        self.feed.delta(Delta::Progress {
            id: String::new(),
            name: name.into(),
            text: text.into(),
        });
    }

    /// Knows what these entries say and nothing else, but for settings and call ids.
    pub fn go_back(&mut self, past: &[Entry]) -> Left {
        let anew = self.conversation.taken_back(past);
        let left = Left {
            conversation: std::mem::replace(&mut self.conversation, anew),
            seen: std::mem::take(&mut self.services.seen),
            todo: std::mem::take(&mut self.services.todo),
            told: std::mem::take(&mut self.permissions.told),
            gauge: std::mem::take(&mut self.settings.folding.gauge),
            known: std::mem::take(&mut self.settings.recall.known),
        };
        past.iter().for_each(|entry| self.remember(&entry.body));
        left
    }

    pub fn undo_back(&mut self, left: Left) {
        self.conversation = left.conversation;
        self.services.seen = left.seen;
        self.services.todo = left.todo;
        self.permissions.told = left.told;
        self.settings.folding.gauge = left.gauge;
        self.settings.recall.known = left.known;
    }

    /// Call ids and file states that the session has seen, and how things stand.
    fn remember(&mut self, body: &Body) {
        if let Body::ToolUse(call) = body {
            self.used_ids.insert(call.id.clone());
        }
        if let Body::Settings(settings) = body
            && settings.host.is_some()
        {
            // What was read at the place before says nothing of files here.
            self.services.seen = Arc::default();
        }
        if let Body::Todo(todo) = body {
            self.services.todo = Arc::new(todo.items.clone());
            if let Some(goal) = &mut self.permissions.goal {
                goal.planned(&todo.items);
            }
        }
        if let Body::Child(child) = body
            && child.role == PLANNER
            && child.outcome == ChildOutcome::Done
        {
            self.extensions.agents.planned = Some(child.session_id.clone());
        }
        self.settings.folding.gauge.note(body);
        self.settings.recall.note(body);
        if let Body::Usage(usage) = body
            && usage.role.is_none()
        {
            self.account.pace = Some((usage.input, usage.prompt_bytes));
        }
        if let Body::Mode(_) = body {
            self.permissions.unrecorded = false;
        }
        if let (Body::Message(message), Some(goal)) = (body, &mut self.permissions.goal)
            && message.role == Role::Assistant
        {
            goal.answered(&message.text);
        }
        if let Body::Checkpoint(checkpoint) = body
            && checkpoint.when != When::Also
        {
            self.services.checkpoints.note(&checkpoint.saved);
        } else if let Body::Rewind(Rewind {
            seen: Some(seen), ..
        }) = body
        {
            self.services.checkpoints.note(seen);
        }
        if let Body::Message(message) = body
            && let Some(mode) = message.context.as_deref().and_then(briefing::told)
        {
            self.permissions.told = mode;
        }
        if let Body::ToolResult(result) = body
            && result.output.get().contains("\"hash\":\"")
        {
            let output = result.output.to_value();
            let text = |key| {
                output
                    .get("data")
                    .and_then(|d| d.get(key))
                    .and_then(|v| v.as_str())
            };
            if let (Some(path), Some(hash)) = (text("path"), text("hash")) {
                self.services.seen.note(path.as_ref(), hash);
            }
        }
    }

    /// Writes down how things stand, if that has changed. Before the first prompt there is no log to write to.
    pub fn record_standing(&mut self) -> Result<(), LogError> {
        match self.permissions.unrecorded && !self.log.is_empty() {
            true => {
                let entry = self.permissions.entry(&self.policy, Instant::now());
                self.commit(vec![entry])
            }
            false => Ok(()),
        }
    }

    /// What the model has to be told of the mode with the next message.
    pub fn briefing(&self) -> Option<String> {
        let mode = self.permissions.mode;
        let way = match self.tools.find(ExitPlanMode::NAME) {
            Some(_) if self.settings.interactive => Way::Tool,
            Some(_) | None => Way::Answer,
        };
        let was = self.permissions.told;
        (mode != was).then(|| briefing::text(mode, was, way))
    }

    /// Tokens of the last request and its answer, as reported; by bytes when nobody has counted.
    pub fn tokens(&self) -> u64 {
        let counted = self.settings.folding.gauge.tokens;
        counted.unwrap_or_else(|| self.conversation.bytes() / BYTES_PER_TOKEN)
    }

    /// An answer came, and nobody told what it cost. It is spent all the same.
    pub fn spend_untold(&self, answer: &Answer) {
        let tokens = Some(cost::estimate_tokens(answer));
        let guess = self.account.guess(&self.conversation, tokens);
        let account = &self.account;
        account.budget.spend(account.payer(), guess, Booked::No);
        self.show_budget();
    }

    pub fn book(&self, usage: &Usage) {
        self.account.book(usage);
        self.show_budget();
    }

    /// How much of the budget is spent, if there is one.
    pub fn show_budget(&self) {
        self.account.show_budget(&self.feed);
    }

    /// What a child of this session starts from.
    pub fn child(&self, title: String) -> ChildSettings {
        ChildSettings {
            entries: Vec::new(),
            parent: self.account.session.clone(),
            budget_session: self.account.budget_session.clone(),
            prefix: None,
            model: self.conversation.model.reference(),
            effort: self.settings.effort,
            policy: self.policy.clone(),
            permissions: self.permissions.clone(),
            title,
            assigned_role: None,
            definitions: self.extensions.definitions.clone(),
            foreign: None,
        }
    }

    /// For work that nobody was asked about.
    pub fn delegation(&self, sandbox: CallSandbox) -> Delegation {
        Delegation {
            sandbox,
            agents: self.extensions.agents.clone(),
            child: self.child(String::new()),
            tools: self.tools.clone(),
            approval: Approval::Held,
        }
    }
}
