//! What a turn works on: the log and its feed, the conversation, the tools and the policy. One owner, no locks.

use crate::agents::{Agents, Offer};
use crate::artifacts::Artifacts;
use crate::budget::{Amount, Booked, Budget, Payer};
use crate::checkpoints::SessionCheckpoints;
use crate::clients::feed::Feed;
use crate::compaction::{Folding, Gauge, archive};
use crate::confine::{SandboxSettings, SandboxShare};
use crate::context::conversation::{Conversation, Sent};
use crate::context::cost;
use crate::context::side_request::SideRequestCosts;
use crate::history::History;
use crate::hooks::Hooks;
use crate::inbox::server_question::ServerQuestions;
use crate::interfaces::extra::Extra;
use crate::interfaces::{RuleNews, RuleStore};
use crate::jobs::Jobs;
use crate::ledger::{Ledger, Line};
use crate::log::{Log, LogError};
use crate::memory::SessionRecall;
use crate::permission_state::PermissionState;
use crate::seen::Seen;
use crate::session::hub::HubSettings;
use crate::sources::briefing::{self, Way};
use crate::tool::{Scope, Tool, ToolSettings, Typed as _};
use crate::tools::Tools;
use crate::tools::exit_plan_mode::ExitPlanMode;
use ostler_guard::resolve;
use ostler_guard::{
    Call, Decision, Gate, Guard, Mode, Planned, Policy, Posture, Rule, Verdict, gate,
    needs_a_fresh_yes,
};
use ostler_host::{Host, real_path};
use ostler_llm::{Answer, Effort, TokenUsage};
use ostler_mcp::Servers;
use ostler_wire::{
    Access, Body, Delta, Entry, Language, Rewind, Role, TodoItem, ToolDeclaration, ToolKind, Usage,
    When, Word,
};
use std::collections::HashSet;
use std::sync::Arc;
use std::time::Instant;
use tokio::sync::Semaphore;

/// Stands for every tool of which no rule speaks by name.
static NO_TOOL: ToolDeclaration = ToolDeclaration::new("", ToolKind::Other);

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
    pub offers: Offers,
}

/// How it works.
pub struct SessionSettings {
    /// Somebody is attached who can answer asks.
    pub interactive: bool,
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
}

/// What there is beside the engine's own.
pub struct Offers {
    /// What people wrote: commands, roles, skills.
    pub offer: Offer,
    /// Commands of the binary.
    pub extras: Vec<Arc<dyn Extra>>,
    /// How others may work for it.
    pub agents: Agents,
}

/// What tools work with.
pub struct ToolServices {
    pub host: Arc<dyn Host>,
    pub settings: Arc<ToolSettings>,
    pub artifacts: Artifacts,
    pub seen: Arc<Seen>,
    pub jobs: Arc<Jobs>,
    pub history: Arc<History>,
    pub sandbox: SessionSandbox,
    /// The task list as it stands.
    pub todo: Arc<Vec<TodoItem>>,
    /// Where rules that shall hold for ever are kept.
    pub rules: Option<Arc<dyn RuleStore>>,
    /// Held by whoever changes the tree.
    pub writing: Arc<Semaphore>,
    pub checkpoints: SessionCheckpoints,
    pub servers: Option<Arc<Servers>>,
}

impl ToolServices {
    pub fn new(
        options: &HubSettings,
        artifacts: Artifacts,
        feed: &Feed,
        history: History,
        writing: Arc<Semaphore>,
    ) -> Self {
        Self {
            host: options.toolbox.host.clone(),
            settings: Arc::new(options.tools.clone()),
            jobs: Arc::new(Jobs::new(artifacts.clone()).telling(feed.sink())),
            sandbox: SessionSandbox {
                settings: Arc::new(options.toolbox.sandbox.clone()),
                share: Arc::default(),
            },
            artifacts,
            history: Arc::new(history),
            seen: Arc::new(Seen::default()),
            todo: Arc::default(),
            rules: options.permissions.rules.clone(),
            writing,
            checkpoints: SessionCheckpoints::of(options),
            servers: None,
        }
    }
}

/// The sandbox of the session's programs.
pub struct SessionSandbox {
    pub settings: Arc<SandboxSettings>,
    pub share: Arc<SandboxShare>,
}

impl SessionSandbox {
    /// A copy that may be changed for one program.
    pub fn settings(&self) -> SandboxSettings {
        SandboxSettings::clone(&self.settings)
    }
}

/// What a state knew before it went back.
pub struct Left {
    conversation: Conversation,
    seen: Arc<Seen>,
    todo: Arc<Vec<TodoItem>>,
    told: Mode,
    gauge: Gauge,
    /// Facts that it was told.
    known: HashSet<String>,
}

/// Under which names requests are written into the ledger.
#[derive(Clone)]
pub struct Account {
    pub ledger: Option<Ledger>,
    pub session: String,
    pub project: String,
    pub role: String,
    /// The session whose budget is spent: this one, or the one that started it.
    pub budget_session: String,
    pub budget: Budget,
    /// Most tokens of an answer, as the person set it.
    pub max_tokens: Option<u64>,
    /// Tokens and bytes of the last prompt.
    pub pace: Option<(u64, u64)>,
}

impl Account {
    pub fn payer(&self) -> Payer<'_> {
        Payer {
            session: &self.session,
            budget_session: &self.budget_session,
            role: &self.role,
        }
    }

    /// The same for a request that is no step of a turn.
    pub fn payer_in<'a>(&'a self, role: Option<&'a str>) -> Payer<'a> {
        Payer {
            role: role.unwrap_or(&self.role),
            ..self.payer()
        }
    }

    /// A ledger that cannot be written must not stop the work; `doctor` looks at it.
    pub fn book(&self, usage: &Usage) {
        let payer = self.payer_in(usage.role.as_deref());
        let booked = self.ledger.as_ref().map(|ledger| {
            ledger.add(&Line {
                ts: crate::log::now(),
                session: self.session.clone(),
                project: self.project.clone(),
                role: payer.role.into(),
                budget_session: Some(self.budget_session.clone())
                    .filter(|budget_session| *budget_session != self.session),
                tokens: usage.into(),
            })
        });
        let booked = match booked {
            Some(Ok(())) => Booked::Yes,
            Some(Err(_)) | None => Booked::No,
        };
        self.budget.spend(payer, usage.into(), booked);
    }
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
        if let Body::Todo(todo) = body {
            self.services.todo = Arc::new(todo.items.clone());
            if let Some(goal) = &mut self.permissions.goal {
                goal.planned(&todo.items);
            }
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
            self.services.checkpoints.seen = Some(checkpoint.saved.clone());
        } else if let Body::Rewind(Rewind {
            seen: Some(seen), ..
        }) = body
        {
            self.services.checkpoints.seen = Some(seen.clone());
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

    /// Lets the session read what it keeps for itself: its artifacts, and the originals of what was folded.
    pub fn open_own_files(&mut self) {
        let folders = &mut Arc::make_mut(&mut self.policy).folders;
        folders
            .inside
            .push(real_path(self.services.artifacts.dir()));
        // As it was made: by now a command may have put a link in its place.
        folders.inside.extend(self.scope.temp.clone());
        if let Some(home) = &self.settings.folding.archive {
            let session = &self.account.session;
            folders.own.push(archive::own_files(home, session));
        }
    }

    /// The rules as they bind a call of this tool.
    pub fn guard(&self, tool: &ToolDeclaration) -> Guard {
        Guard {
            policy: self.policy.clone(),
            scope: self.scope.clone(),
            tool: Arc::new(tool.clone()),
            posture: match self.permissions.mode {
                // Nothing answers for the person while a plan is made.
                Mode::Plan => Posture::Ask,
                Mode::Normal | Mode::Goal => self.permissions.posture(tool, Instant::now()),
            },
            attended: self.settings.interactive,
            border: Arc::default(),
            opened: Vec::new(),
        }
        .bounded(&self.permissions.reads)
    }

    /// More rules to keep to. What was granted before gives way to them, as it does to all.
    pub fn tighten(&mut self, news: RuleNews) {
        let policy = Arc::make_mut(&mut self.policy);
        policy.rules.deny.extend(news.deny);
        policy.rules.ask.extend(news.ask);
    }

    /// Whether the mode lets such a call through to the rules.
    pub fn gate(&self, tool: &dyn Tool, accesses: &[Access]) -> Gate {
        let plans = self.permissions.mode == Mode::Plan;
        if !plans && !self.permissions.read_only {
            return Gate::Open;
        }
        let gate = gate(Planned {
            tool: tool.about(),
            accesses,
            trusted: &self.permissions.trusted,
        });
        // Who only reads may look at the web as others may.
        match gate {
            Gate::Ask if !plans => Gate::Open,
            gate => gate,
        }
    }

    /// What the rules say, and what the person said before.
    pub async fn decide(
        &self,
        tool: &ToolDeclaration,
        accesses: &[Access],
        gate: Gate,
    ) -> Decision {
        let host = self.services.host.as_ref();
        let resolved = resolve::resolved(host, accesses, &self.policy, &self.scope).await;
        let call = Call {
            tool,
            accesses,
            scope: &self.scope,
            resolved: &resolved,
        };
        let posture = self.permissions.posture(tool, Instant::now());
        let mut decision = self.policy.decide_in(posture, call);
        let by_rule = decision.rule.is_some();
        if gate == Gate::Ask && decision.verdict == Verdict::Allow && !by_rule {
            decision.verdict = Verdict::Ask;
            decision.reason = Word::WhyLeaves;
        }
        if decision.verdict == Verdict::Ask
            && !needs_a_fresh_yes(accesses)
            && self.is_granted(accesses, &decision)
        {
            decision.verdict = Verdict::Allow;
            decision.reason = Word::WhySession;
        }
        decision
    }

    /// Whether the person has said yes to this before. A protected path takes a yes to that very path.
    fn is_granted(&self, accesses: &[Access], decision: &Decision) -> bool {
        let rule = match decision.only_person {
            true => Some("protected"),
            false => decision.rule.as_deref(),
        };
        let only_reads = !accesses.iter().any(Access::needs_permission);
        let only_asked_for_reads = rule.is_none() && only_reads && !decision.outside.is_empty();
        let opened = only_asked_for_reads && {
            let border = self.guard(&NO_TOOL).border;
            let mut outside = decision.outside.iter();
            outside.all(|path| border.judge(path).is_open())
        };
        opened || self.permissions.is_granted(accesses, rule)
    }

    /// Adds allow rules for the rest of the session; they bind from the next decision on.
    pub fn allow(&mut self, rules: Vec<Rule>) {
        let allow = &mut Arc::make_mut(&mut self.policy).rules.allow;
        for rule in rules {
            if !allow.iter().any(|known| known.text == rule.text) {
                allow.push(rule);
            }
        }
    }

    /// Writes down how things stand, if that has changed. Before the first prompt there is no log to write to.
    pub fn record_standing(&mut self) -> Result<(), LogError> {
        match self.permissions.unrecorded && !self.log.is_empty() {
            true => self.commit(vec![self.permissions.entry(Instant::now())]),
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

    /// The usage entry of a request, and its line in the ledger.
    pub fn usage(&self, tokens: &TokenUsage, sent: &Sent) -> Usage {
        Usage {
            prompt_bytes: sent.measure.bytes,
            shared_bytes: sent.shared,
            prompt_hash: sent.measure.hash.clone(),
            broke: sent.broke.clone(),
            ..cost::usage_of(self.conversation.model.target(), tokens)
        }
    }

    /// The most that the next request can cost.
    pub fn worst(&self) -> Amount {
        self.worst_of(&self.conversation)
    }

    pub fn worst_of(&self, conversation: &Conversation) -> Amount {
        let output = conversation.model.target().max_output;
        self.guess(conversation, self.account.max_tokens.or(output))
    }

    /// What a request costs whose answer has so many tokens.
    fn guess(&self, conversation: &Conversation, output: Option<u64>) -> Amount {
        let price = conversation.model.target().price;
        cost::upper_bound(conversation.bytes(), self.account.pace, output, price)
    }

    /// An answer came, and nobody told what it cost. It is spent all the same.
    pub fn spend_untold(&self, answer: &Answer) {
        let guess = self.guess(&self.conversation, Some(cost::estimate_tokens(answer)));
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
        let account = &self.account;
        if let Some(percent) = account.budget.percent(account.payer()) {
            self.feed.delta(Delta::Budget { percent });
        }
    }
}
