//! Opens sessions: new, resumed or forked. It puts the parts together; the session then runs as its own task.

mod child;
mod foreign;
mod link;
mod moved;
mod open;
mod scope;
mod servers;

pub use open::OpenError;

use super::SessionTask;
use crate::artifacts::Artifacts;
use crate::budget::{self, spent};
use crate::commands;
use crate::ledger::Ledger;
use crate::log::{Log, branch};
use crate::memory::{Memory, SessionRecall};
use crate::points;
use crate::prefixes;
use crate::store::{Own, Store, forked, moved, project_name};
use crate::tool::Scope;
use ostler_context::account::Account;
use ostler_context::clients::backlog::Backlog;
use ostler_context::clients::feed::Feed;
use ostler_context::clients::live::{LiveSession, LiveSessions};
use ostler_context::conversation::Conversation;
use ostler_context::cost::check_affordable;
use ostler_context::goal::Goal;
use ostler_context::side_request::SideRequestCosts;
use ostler_context::transcript::prefix_text;
use ostler_context::window::Folding;
use ostler_guard::Mode;
use ostler_llm::{Model, Prefix, Transport};
use ostler_mcp::Servers;
use ostler_sources::Reader;
use ostler_sources::completion::OfferedNames;
use ostler_sources::definitions::{DefinitionSources, Definitions};
use ostler_sources::instructions;
use ostler_state::agents::Agents;
use ostler_state::agents::children::{ChildSettings, Children, Slots};
use ostler_state::hooks::Hooks;
use ostler_state::inbox::Inbox;
use ostler_state::permissions::{PermissionState, mode_of, standing_of};
use ostler_state::servers::ServerToolState;
use ostler_state::session::{Moving, Opening, Session, params_for, settings_of};
use ostler_state::settings::HubSettings;
use ostler_state::{Extensions, SessionSettings, SessionState, ToolServices};
use ostler_wire::{
    Body, ChildOf, Client, Entry, ForkedFrom, HubError, Meta, Notice, Open, SCHEMA_VERSION, SentOp,
    Settings, Word,
};
use scope::{completer, scope_of};
use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::Arc;
use tokio::sync::{Semaphore, mpsc, watch};
use tokio::task::JoinHandle;

/// Ops that may wait for a session that is busy.
const OPS: usize = 64;
/// Version of the rendering of tool results.
const RENDERING: u32 = 1;

#[derive(Clone)]
pub struct LocalHub {
    pub(crate) options: Arc<HubSettings>,
    pub(crate) transport: Arc<Transport>,
    /// Whoever changes the tree holds it: sessions of a hub take turns.
    pub(crate) writing: Arc<Semaphore>,
    /// The root that sessions are kept under, also of those that work in another tree.
    project: PathBuf,
    pub(crate) servers: Option<Arc<Servers>>,
    memory: Arc<Memory>,
    /// The sessions that run in this process.
    live: LiveSessions,
}

/// A log to go on with.
pub(crate) struct Past {
    log: Log,
    entries: Vec<Entry>,
    notices: Vec<String>,
    id: String,
    /// For what lies beside the log.
    folder: PathBuf,
    forked_from: Option<ForkedFrom>,
    pub(crate) child_of: Option<ChildOf>,
    /// How the session, or the one that it is a copy of, stood at last.
    stood: Option<ostler_wire::Mode>,
}

impl LocalHub {
    pub fn new(options: Arc<HubSettings>, transport: Arc<Transport>) -> Self {
        Self {
            servers: Servers::new(&options.mcp, || options.server_context()).map(Arc::new),
            memory: Arc::new(Memory::new(
                &options.paths.home,
                &project_name(&options.paths.project),
                options.run.redactor.clone(),
            )),
            transport,
            writing: Arc::new(Semaphore::new(1)),
            project: options.paths.project.clone(),
            live: LiveSessions::default(),
            options,
        }
    }

    pub(crate) fn store(&self) -> Store {
        Store::new(&self.options.paths.sessions, &self.project)
            .of_home(&self.options.paths.home)
            .speaking(self.options.run.language)
    }

    /// A log that does not exist yet, and what it is to begin with.
    pub(crate) fn fresh(&self, forked_from: Option<ForkedFrom>, entries: Vec<Entry>) -> Past {
        let (store, id) = (self.store(), uuid::Uuid::new_v4().to_string());
        let (log, folder) = match self.options.run.save {
            true => {
                let log = Log::plan(&store.path_of(&id)).recorded_by(store.owners().clone());
                (log, store.folder_of(&id))
            }
            false => (
                Log::memory(),
                self.options.paths.temp.join(format!("ostler-{id}")),
            ),
        };
        Past {
            log: log.redacting(self.options.run.redactor.clone()),
            entries,
            notices: Vec::new(),
            id,
            folder,
            forked_from,
            child_of: None,
            stood: None,
        }
    }

    fn past(&self, which: Open) -> Result<Past, OpenError> {
        let store = self.store();
        let say = |e: crate::log::LogError| OpenError::of(e, self.options.run.language);
        let mut tip = None;
        let (path, copy) = match which {
            Open::New => return Ok(self.fresh(None, Vec::new())),
            Open::Fork(id) => {
                let (id, end) = points::fork_point(&id);
                tip = end;
                (store.find(id), true)
            }
            // Without saving, a session goes on as a copy in memory.
            Open::Resume(id) => (store.find(&id), !self.options.run.save),
            Open::Last => (store.last(), !self.options.run.save),
        };
        let path = path.map_err(HubError)?;
        if !copy {
            return self.resume(&path);
        }
        let (entries, damage) = crate::log::read(&path).map_err(say)?;
        let stood = standing_of(&entries);
        let entries = match tip {
            Some(tip) => points::branch_to(entries, tip),
            None => branch(entries),
        };
        let session = path.file_stem().map(|s| s.to_string_lossy().into_owned());
        let forked_from = forked(session.unwrap_or_default(), &entries, self.own(&path));
        let mut past = self.fresh(Some(forked_from), entries);
        past.stood = stood;
        past.notices
            .extend(damage.notice(self.options.run.language));
        past.notices.extend(self.foreign_notice(&path));
        Ok(past)
    }

    /// What is said of a log that this person's Ostler did not write.
    fn foreign_notice(&self, path: &std::path::Path) -> Option<String> {
        let said = || self.options.run.language.say(Word::SessionForeign);
        match self.own(path) {
            Own::Yes => None,
            Own::No => Some(said().to_owned()),
        }
    }

    pub(crate) fn own(&self, log: &std::path::Path) -> Own {
        match self.store().owners().has(log) {
            true => Own::Yes,
            false => Own::No,
        }
    }

    fn resume(&self, path: &std::path::Path) -> Result<Past, OpenError> {
        let language = self.options.run.language;
        let (log, entries, damage) = Log::open(path).map_err(|e| OpenError::of(e, language))?;
        self.check_place(&entries, path)?;
        let moved = moved(&entries, &self.options.paths.root, language);
        let stood = standing_of(&entries);
        let foreign = self.foreign_notice(path);
        Ok(Past {
            log: log.redacting(self.options.run.redactor.clone()),
            entries: branch(entries),
            notices: damage
                .notice(language)
                .into_iter()
                .chain(moved)
                .chain(foreign)
                .collect(),
            id: path
                .file_stem()
                .map(|s| s.to_string_lossy().into_owned())
                .unwrap_or_default(),
            folder: path.with_extension(""),
            forked_from: None,
            child_of: None,
            stood,
        })
    }

    /// The prefix that the session began with, or a new one.
    fn prefix(&self, past: &Past, definitions: &Definitions, notes: &mut Vec<String>) -> Prefix {
        let options = &self.options;
        let stored = settings_of(&past.entries, &[]).prefix;
        if let Some(hash) = stored.filter(|hash| !hash.is_empty()) {
            let text = prefixes::load(&self.options.paths.home, &hash);
            match text.and_then(|text| serde_json::from_str(&text).ok()) {
                Some(prefix) => return prefix,
                None => notes.push(options.run.language.say(Word::PromptGone).into()),
            }
        }
        let language = options.run.language;
        let homes = (
            options.paths.home.as_path(),
            options.paths.user_home.as_deref(),
        );
        let project = &options.paths.project;
        let scope = Scope::new(project, options.paths.user_home.clone());
        let border = options.permissions.policy.instructions_border(&scope);
        let found = instructions::load(homes, project, &border, language);
        notes.extend(found.warnings);
        let from = |file: &String| language.fill(Word::InstructionsFrom, &[file]);
        notes.extend(found.loaded.iter().map(from));
        let tools = self.tools();
        self.prefix_of(&tools, &[definitions.listing(&tools), found.text])
    }

    fn model(&self, past: &Past, notes: &mut Vec<String>) -> Result<Model, HubError> {
        let kept = settings_of(&past.entries, &[]).model;
        let wanted = self.options.model.wanted.clone();
        let models = &self.options.model.models;
        let target = match (&wanted, &kept) {
            (Some(reference), _) => models.resolve(Some(reference)),
            // A model that the configuration no longer knows must not lock the session up.
            (None, Some(reference)) => models.resolve(Some(reference)).or_else(|why| {
                let other = models.resolve(None)?;
                let now = format!("{}/{}", other.origin.provider, other.origin.model);
                let why = why.lines().next().unwrap_or_default();
                let language = self.options.run.language;
                notes.push(language.fill(Word::ModelGone, &[reference, why, &now]));
                Ok(other)
            }),
            (None, None) => models.resolve(None),
        };
        let target = Arc::new(target.map_err(HubError)?);
        Model::new(target, self.transport.clone())
            .map_err(|e| HubError(e.say(self.options.run.language)))
    }

    fn opening(
        &self,
        past: &mut Past,
        is_new: bool,
        (model, title): (&str, Option<String>),
        prefix: &Prefix,
    ) -> Opening {
        let hash = prefixes::hash(&prefix_text(prefix));
        let mut opening = Opening {
            context: Some(Self::environment_of(&self.options)),
            ..Opening::default()
        };
        if is_new {
            let meta = Body::Meta(Meta {
                schema_version: SCHEMA_VERSION,
                session_id: past.id.clone(),
                root: self.options.paths.root.display().to_string(),
                host: self.options.place_name().into(),
                prefix: hash.clone(),
                rendering: RENDERING,
                version: self.options.run.version.clone(),
                forked_from: past.forked_from.clone(),
                child_of: past.child_of.clone(),
            });
            let copied = std::mem::take(&mut past.entries);
            let bodies = ostler_context::digest::copied(copied).into_iter();
            let bodies = bodies.map(points::copied);
            match past.forked_from {
                None => opening.entries.push(meta),
                Some(_) => {
                    opening.past.push(meta);
                    opening.past.extend(bodies);
                }
            }
        }
        let settings = settings_of(&past.entries, &opening.past);
        let is_first = is_new && past.forked_from.is_none();
        let changed = Settings {
            model: Some(model.to_owned()).filter(|m| settings.model.as_ref() != Some(m)),
            // The first line of a new log names its prefix already.
            prefix: Some(hash).filter(|h| !is_first && settings.prefix.as_ref() != Some(h)),
            title,
            ..Settings::default()
        };
        if changed != Settings::default() {
            opening.entries.push(Body::Settings(changed));
        }
        let notices = past.notices.drain(..);
        let notices = notices.map(|text| Body::Notice(Notice { text }));
        opening.entries.extend(notices);
        opening
    }

    /// Facts for a first prompt.
    fn environment_of(options: &HubSettings) -> String {
        let today = jiff::Zoned::now().date();
        format!(
            "<environment>\nroot: {}\nsystem: {}\ndate: {today}\n</environment>",
            options.paths.root.display(),
            options.run.system,
        )
    }
}

/// What a session is put together from.
pub(crate) struct Parts {
    pub(crate) past: Past,
    pub(crate) prefix: Prefix,
    pub(crate) model: Model,
    pub(crate) definitions: Definitions,
    pub(crate) child: Option<ChildSettings>,
    pub(crate) notes: Vec<String>,
}

impl LocalHub {
    /// What people wrote for this project, and what of it had to be left out.
    fn definitions(&self) -> (Definitions, Vec<String>) {
        let options = &self.options;
        let scope = Scope::new(&options.paths.project, options.paths.user_home.clone());
        let border = options.permissions.policy.instructions_border(&scope);
        let reader = Reader::new(border, options.run.language);
        let sources = DefinitionSources {
            templates: &options.commands.templates,
            roles: &options.agents.role_sources,
            role_settings: &options.agents.roles,
            skills: &options.agents.skills,
        };
        let (mut definitions, left_out) =
            Definitions::load(&sources, &reader, options.run.language);
        if let Some(foreign) = &options.agents.foreign {
            let roles = Arc::make_mut(&mut definitions.roles);
            roles.note_agents(|model| foreign.0.agent_of(model));
        }
        (definitions, left_out)
    }

    fn new_session(&self, past: Past, failed: Vec<String>) -> Result<Client, HubError> {
        let mut notes = past.notices.clone();
        notes.extend(failed);
        let (definitions, left_out) = self.definitions();
        notes.extend(left_out);
        let parts = Parts {
            prefix: self.prefix(&past, &definitions, &mut notes),
            definitions,
            model: self.model(&past, &mut notes)?,
            past,
            child: None,
            notes,
        };
        self.start(parts).map(|(client, _)| client)
    }

    pub(crate) fn start(&self, parts: Parts) -> Result<(Client, JoinHandle<()>), HubError> {
        let Parts {
            mut past,
            prefix,
            model,
            definitions,
            child,
            notes,
        } = parts;
        let options = self.options.clone();
        check_affordable(&options.model.budget, &model)
            .map_err(|why| HubError(why.say(options.run.language)))?;
        let reference = model.reference();
        let (ops, receiver) = mpsc::channel(OPS);
        let feed = Feed::redacting(self.options.run.redactor.clone());
        let mut params = params_for(&options, &model);
        let effort = child.as_ref().and_then(|child| child.effort);
        params.effort = effort.or(params.effort);
        let envelope = options.tools.envelope;
        let conversation = Conversation::new(model, prefix.clone(), &params, envelope);
        let mut state = self.state(&past, conversation, feed.clone(), definitions);
        state.log = std::mem::replace(&mut past.log, Log::memory());
        take_in(&mut state, &past.entries, options.permissions.mode);
        if let Some(stood) = &past.stood {
            state.permissions.keep_strict(stood);
            // The log of a copy may end before it was said.
            state.permissions.unrecorded |= past.forked_from.is_some();
        }
        let title = child.as_ref().map(|child| child.title.clone());
        let is_child = child.is_some();
        // Children are shown in the session that they belong to.
        let cut = moved::link(&options).filter(|_| child.is_none());
        let (link, links) = watch::channel(cut);
        let news = link::tell(links, feed.clone(), options.run.language);
        if let Some(child) = child {
            child::settle(&mut state, child);
        }
        state.open_own_files();
        let is_new = state.log.is_empty();
        let opening = self.opening(&mut past, is_new, (&reference, title), &prefix);
        show_start(&state, &options, &reference);
        feed.begin_after(state.log.head());
        let live = LiveSession {
            id: past.id.clone(),
            ops,
            source: Arc::new(Backlog {
                source: state.log.source(),
                register: feed.register().clone(),
            }),
            feed: feed.clone(),
        };
        let client = live.attach(state.log.head(), notes);
        let inbox = self.inbox(&mut state, receiver, is_child);
        let session = Session {
            inbox,
            state,
            discarded: false,
            facts: opening.context.clone(),
            opening,
            transport: self.transport.clone(),
            options,
            moving: Moving {
                opener: moved::openers(self.clone()),
                link,
            },
        };
        let work = link::beside(news, SessionTask { session }.run());
        let running = self.live.run(live, Box::pin(work));
        // A long past takes a while to free, and the prompt need not wait for it.
        let entries = std::mem::take(&mut past.entries);
        drop(tokio::task::spawn_blocking(move || drop(entries)));
        Ok((client, running))
    }

    /// Where ops come in, with all that answers them at once.
    fn inbox(
        &self,
        state: &mut SessionState,
        ops: mpsc::Receiver<SentOp>,
        is_child: bool,
    ) -> Inbox {
        let options = &self.options;
        let opener = moved::opener(self.clone());
        let slots = Slots::new(options.agents.max_children);
        let jobs = state.services.jobs.clone();
        let children = Children::new(opener, jobs, options.run.language, slots);
        state.extensions.agents.door = Some(children.door());
        let mut inbox = Inbox::new(ops, state.feed.clone(), children);
        inbox.answer_with(commands::answer_at_once, completer(state));
        inbox.notify_with(state.notifier());
        inbox.name_place(options.place_shown().filter(|_| !is_child));
        state.settings.server_questions = options.run.interactive.then(|| inbox.server_questions());
        let person = state.settings.server_questions.clone();
        let person = person.filter(|_| !is_child);
        if let (Some(places), Some(person)) = (&options.commands.places, person) {
            places.meet(Arc::new(person));
        }
        inbox
    }

    fn state(
        &self,
        past: &Past,
        conversation: Conversation,
        feed: Feed,
        definitions: Definitions,
    ) -> SessionState {
        let options = &self.options;
        let artifacts =
            Artifacts::new(past.folder.clone()).redacting(self.options.run.redactor.clone());
        let history = self.store().history(&options.paths.home, Some(&past.id));
        let services = ToolServices {
            servers: self.servers.clone(),
            ..ToolServices::new(options, artifacts, &feed, history, self.writing.clone())
        };
        let tools = self.tools().as_listed(&conversation.prefix.tools);
        SessionState {
            conversation,
            log: Log::memory(),
            feed,
            tools,
            policy: Arc::new(options.permissions.policy.clone()),
            scope: Arc::new(scope_of(options, &past.folder)),
            services,
            settings: SessionSettings {
                interactive: options.run.interactive,
                voice: options.run.voice,
                max_steps: options.run.max_steps,
                language: options.run.language,
                effort: None,
                folding: Folding::new(
                    options.context,
                    options.run.save.then(|| options.paths.home.clone()),
                ),
                server_questions: None,
                side_requests: SideRequestCosts::new(
                    options.model.models.clone(),
                    self.transport.clone(),
                ),
                hooks: Hooks::new(
                    options.hooks.clone(),
                    options
                        .run
                        .save
                        .then(|| past.folder.with_extension("jsonl")),
                ),
                recall: SessionRecall::new(self.memory.clone(), options.run.recall),
                offered: OfferedNames::default(),
                store: Arc::new(self.store()),
            },
            used_ids: HashSet::new(),
            extensions: Extensions {
                definitions,
                extras: options.commands.extras.clone(),
                agents: Agents {
                    settings: options.agents.clone(),
                    home: options.paths.home.clone(),
                    ..Agents::default()
                },
                answer_commands: commands::answer_waiting,
                server_tools: ServerToolState::default(),
                rule_watch: options.permissions.watch.clone(),
            },
            permissions: PermissionState::new(
                options.permissions.policy.posture,
                options.permissions.plan_tools.clone(),
            ),
            account: Account {
                ledger: options.run.save.then(|| Ledger::new(&options.paths.home)),
                session: past.id.clone(),
                project: self.store().project().to_owned(),
                role: budget::MAIN.into(),
                budget_session: past.id.clone(),
                budget: options.model.budget.clone(),
                max_tokens: options.model.params.max_tokens,
                pace: None,
            },
        }
    }
}

/// What clients are shown before the first event.
fn show_start(state: &SessionState, options: &HubSettings, model: &str) {
    let policy = &state.policy;
    let mode = state.permissions.shown(policy, std::time::Instant::now());
    let servers = state.services.servers.as_deref();
    let commands = commands::list(&state.extensions, servers, state.settings.language);
    state.feed.update_snapshot(|snapshot| {
        model.clone_into(&mut snapshot.model);
        snapshot.mode = mode;
        snapshot.place = options.place_shown();
        snapshot.window = state.conversation.window();
        snapshot.commands = commands;
    });
}

/// Goes on where these entries end.
fn take_in(state: &mut SessionState, entries: &[Entry], mode: Option<Mode>) {
    // A fork's entries are committed with its opening; a resumed log's are only read in.
    if !state.log.is_empty() {
        state.read(entries);
        let account = &state.account;
        account.budget.remember(&account.session, spent(entries));
    }
    state.permissions.mode = mode_of(entries);
    state.permissions.goal = Goal::of(entries);
    if let Some(mode) = mode {
        state.permissions.enter(mode);
    }
}
