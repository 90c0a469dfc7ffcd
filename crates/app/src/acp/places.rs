//! The folders that editors work in: each has a configuration and a hub of its own, made when it is first needed. And the
//! sessions that are stored.

use super::editor::EditorHost;
use super::terminal::Terminals;
use crate::boot::Boot;
use crate::conversation::hub::{Attendance, ConversationHub, Guest};
use crate::conversation::questions::StartQuestions;
use crate::errors::Told as _;
use crate::output;
use crate::wiring::plugins::learn;
use ostler_acp::backend::{
    About, Backend, EditorOffer, Fault, Listed, Place, Reach, Refusal, Server,
};
use ostler_config::schema::{PluginConfig, PluginKind};
use ostler_engine::log;
use ostler_engine::store::{Store, info, root_of};
use ostler_engine::tool::EditorTerminal;
use ostler_host::Host;
use ostler_wire::{
    Ask, AskAnswer, AskKind, BoxFuture, Choice, Client, Entry, Escape, HubError, Language, Open,
    Questions as _, Say as _, Silence, Word,
};
use sha2::{Digest as _, Sha256};
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Characters of the id of a session.
const ID: usize = 36;
/// Projects whose sessions are listed.
const MAX_PROJECTS: usize = 256;
/// Sessions that a list has.
const MAX_LISTED: usize = 1_000;
/// The choices about an editor's servers.
const START: &str = "start";
const WITHOUT: &str = "without";

pub struct Places {
    boot: Arc<Boot>,
    hubs: Mutex<HashMap<PathBuf, Arc<ConversationHub>>>,
    /// Servers of editors that the person let start, by the hash of what was shown.
    accepted: Mutex<HashSet<String>>,
}

impl Places {
    pub fn new(boot: Arc<Boot>) -> Self {
        Self {
            boot,
            hubs: Mutex::default(),
            accepted: Mutex::default(),
        }
    }

    /// Ends all sessions, so that each can be resumed.
    pub async fn close(&self) {
        let hubs: Vec<_> = self.hubs().values().cloned().collect();
        futures_util::future::join_all(hubs.iter().map(|hub| hub.close())).await;
    }

    fn language(&self) -> Language {
        self.boot.language
    }

    fn hubs(&self) -> MutexGuard<'_, HashMap<PathBuf, Arc<ConversationHub>>> {
        self.hubs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn accepted(&self) -> MutexGuard<'_, HashSet<String>> {
        self.accepted.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The configuration of a folder.
    fn boot_of(&self, cwd: &Path) -> Result<Boot, Refusal> {
        self.boot.of_root(cwd).map_err(|error| {
            let why = self.language().told(&error);
            match cwd.is_dir() {
                true => Refusal::new(Fault::Failed, why),
                false => {
                    let shown = cwd.display().to_string();
                    let values = [shown.as_str(), &why];
                    let text = self.language().fill(Word::AcpNoFolder, &values);
                    Refusal::new(Fault::Invalid, text)
                }
            }
        })
    }

    async fn hub(&self, cwd: &Path) -> Result<Arc<ConversationHub>, Refusal> {
        let boot = self.boot_of(cwd)?;
        let root = boot.places.root.clone();
        if let Some(hub) = self.hubs().get(&root) {
            return Ok(hub.clone());
        }
        let failed = |error| Refusal::new(Fault::Failed, self.language().told(&error));
        let boot = learn(Arc::new(boot)).await.map_err(failed)?;
        let hub = ConversationHub::start(boot, Attendance::Answers, |_| Ok(())).map_err(failed)?;
        // Another request may have made it meanwhile.
        Ok(self.hubs().entry(root).or_insert(Arc::new(hub)).clone())
    }

    fn list(&self, cwd: Option<&Path>) -> Result<Vec<Listed>, Refusal> {
        let mut all = match cwd {
            Some(cwd) => {
                let boot = self.boot_of(cwd)?;
                listed(&boot.store(), &boot.places.root)?
            }
            None => {
                let mut all = Vec::new();
                for root in self.roots() {
                    // Another project may be gone.
                    if let Ok(boot) = self.boot.of_root(&root) {
                        all.extend(listed(&boot.store(), &root)?);
                    }
                }
                all
            }
        };
        all.sort_by(|a, b| b.updated.cmp(&a.updated));
        all.dedup_by(|a, b| a.id == b.id);
        all.truncate(MAX_LISTED);
        Ok(all)
    }

    /// The folders of all projects that have sessions.
    fn roots(&self) -> Vec<PathBuf> {
        let mut roots: HashSet<PathBuf> = self.hubs().keys().cloned().collect();
        let folders = std::fs::read_dir(self.boot.sessions_dir());
        let folders = folders.into_iter().flatten().flatten();
        for folder in folders.take(MAX_PROJECTS) {
            let logs = std::fs::read_dir(folder.path()).into_iter().flatten();
            let logs = logs.flatten().map(|log| log.path());
            let mut logs = logs.filter(|log| log.extension().is_some_and(|e| e == "jsonl"));
            roots.extend(logs.find_map(|log| root_in(&log)));
        }
        roots.into_iter().collect()
    }

    fn delete(&self, id: &str) -> Result<(), Refusal> {
        if !is_id(id) {
            return Ok(());
        }
        for root in self.roots() {
            let Ok(boot) = self.boot.of_root(&root) else {
                continue;
            };
            let store = boot.store();
            let path = store.path_of(id);
            if path.is_file() {
                let language = self.language();
                let failed = |why: String| Refusal::new(Fault::Failed, why);
                log::check_free(&path).map_err(|e| failed(e.say(language)))?;
                return store.delete(id).map(drop).map_err(failed);
            }
        }
        Ok(())
    }
}

fn is_id(id: &str) -> bool {
    id.len() == ID && id.chars().all(|c| c.is_ascii_hexdigit() || c == '-')
}

/// The folder that a log is about, from its first line.
fn root_in(log: &Path) -> Option<PathBuf> {
    let file = std::fs::File::open(log).ok()?;
    let mut line = String::new();
    std::io::BufRead::read_line(
        &mut std::io::BufReader::new(std::io::Read::take(file, 64 << 10)),
        &mut line,
    )
    .ok()?;
    let entry = Entry::from_line(line.trim_end(), 0).ok()?;
    root_of(&[entry]).map(PathBuf::from)
}

fn listed(store: &Store, root: &Path) -> Result<Vec<Listed>, Refusal> {
    let logs = store
        .own_logs()
        .map_err(|why| Refusal::new(Fault::Failed, why))?;
    let infos = logs.iter().filter_map(|log| info(log));
    Ok(infos
        .map(|info| Listed {
            id: info.id,
            root: root.to_owned(),
            title: info.title,
            updated: info.updated,
        })
        .collect())
}

/// Runs what waits for the disk beside the event loop.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Refusal> + Send + 'static,
) -> Result<T, Refusal> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|e| Err(Refusal::new(Fault::Failed, e.to_string())))
}

/// What the front end gets: it wants to own what it waits for.
pub struct Served(pub Arc<Places>);

impl Backend for Served {
    fn about(&self) -> About {
        About {
            version: crate::VERSION.into(),
            language: self.0.language(),
        }
    }

    fn place(
        &self,
        cwd: PathBuf,
        servers: Vec<Server>,
    ) -> BoxFuture<'_, Result<Box<dyn Place>, Refusal>> {
        Box::pin(async move {
            let hub = self.0.hub(&cwd).await?;
            let boot = hub.boot().anew();
            let failed = |error| Refusal::new(Fault::Failed, self.0.language().told(&error));
            let folder = Folder {
                places: self.0.clone(),
                cwd,
                trust: StartQuestions::new(Arc::new(boot.map_err(failed)?)),
                hub,
                servers: Brought::new(servers),
            };
            Ok(Box::new(folder) as Box<dyn Place>)
        })
    }

    fn list(&self, cwd: Option<PathBuf>) -> BoxFuture<'_, Result<Vec<Listed>, Refusal>> {
        let places = self.0.clone();
        Box::pin(blocking(move || places.list(cwd.as_deref())))
    }

    fn delete(&self, id: String) -> BoxFuture<'_, Result<(), Refusal>> {
        let places = self.0.clone();
        Box::pin(blocking(move || places.delete(&id)))
    }
}

/// A folder before a session is opened in it.
struct Folder {
    places: Arc<Places>,
    /// As the editor calls it.
    cwd: PathBuf,
    hub: Arc<ConversationHub>,
    trust: StartQuestions,
    servers: Brought,
}

/// The servers that the editor brings, and what was decided about them.
struct Brought {
    servers: Vec<Server>,
    /// Of exactly what is shown.
    ask: String,
    declined: Mutex<bool>,
}

impl Brought {
    fn new(servers: Vec<Server>) -> Self {
        let hash = Sha256::digest(format!("{servers:?}").as_bytes());
        Self {
            ask: format!("servers-{}", ostler_wire::hex::hex(&hash)),
            servers,
            declined: Mutex::new(false),
        }
    }

    fn is_declined(&self) -> bool {
        *self.declined.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn question(&self, language: Language) -> Ask {
        let mut lines = vec![language.say(Word::AcpServersList).to_owned()];
        lines.extend(self.servers.iter().map(shown));
        let preview = output::redactor().text(output::visible(&lines.join("\n")));
        Ask {
            ask: self.ask.clone(),
            kind: AskKind::Trust,
            subject: language.say(Word::AcpServersAsk).into(),
            options: vec![
                Choice::new(START, language.say(Word::AcpServersYes)),
                Choice::refusal(WITHOUT, language.say(Word::AcpServersNo)),
            ],
            preview: Some(preview),
            silence: Silence {
                escape: Escape::Answer,
                ..Silence::refuses(WITHOUT)
            },
            ..Ask::default()
        }
    }
}

/// A server in one line, without what it is given in secret.
fn shown(server: &Server) -> String {
    let names = |pairs: &[(String, String)]| {
        let names: Vec<&str> = pairs.iter().map(|(name, _)| name.as_str()).collect();
        match names.is_empty() {
            true => String::new(),
            false => format!("  [{}]", names.join(", ")),
        }
    };
    let text = match &server.reach {
        Reach::Program { command, args, env } => {
            let words = std::iter::once(command.display().to_string()).chain(args.iter().cloned());
            let words: Vec<String> = words.collect();
            format!("{}: {}{}", server.name, words.join(" "), names(env))
        }
        Reach::Address { url, headers } | Reach::Events { url, headers } => {
            format!("{}: {url}{}", server.name, names(headers))
        }
    };
    format!("- {}", output::one_line(&text))
}

fn configured(server: &Server) -> PluginConfig {
    let plugin = PluginConfig {
        name: server.name.clone(),
        ..PluginConfig::default()
    };
    match &server.reach {
        Reach::Program { command, args, env } => PluginConfig {
            command: Some(command.display().to_string()),
            args: args.clone(),
            env: env.iter().cloned().collect(),
            ..plugin
        },
        Reach::Address { url, headers } => PluginConfig {
            url: Some(url.clone()),
            headers: headers.iter().cloned().collect(),
            ..plugin
        },
        Reach::Events { url, headers } => PluginConfig {
            kind: Some(PluginKind::Sse),
            url: Some(url.clone()),
            headers: headers.iter().cloned().collect(),
            ..plugin
        },
    }
}

impl Folder {
    fn language(&self) -> Language {
        self.places.language()
    }

    fn are_servers_accepted(&self) -> bool {
        self.servers.servers.is_empty() || self.places.accepted().contains(&self.servers.ask)
    }

    fn guest(&self, editor: EditorOffer) -> Guest {
        let accepted = self.are_servers_accepted();
        let servers = self.servers.servers.iter().filter(|_| accepted);
        let boot = self.hub.boot();
        let wants_terminal = boot.loaded.config.acp.client_terminal;
        let terminal = editor.terminals.filter(|_| wants_terminal).map(|editor| {
            let terminals = Terminals {
                editor,
                env: boot.env.clone(),
                root: boot.places.root.clone(),
                cwd: self.cwd.clone(),
            };
            Arc::new(terminals) as Arc<dyn EditorTerminal>
        });
        let host = editor.files.map(|files| {
            let roots = (boot.places.root.clone(), self.cwd.clone());
            let host = EditorHost::new(boot.host(), files, roots, self.language());
            Arc::new(host) as Arc<dyn Host>
        });
        Guest {
            servers: servers.map(configured).collect(),
            host,
            terminal,
        }
    }

    /// What the person should know of the configuration: no terminal has said it.
    fn told(&self, has_terminals: bool) -> Vec<String> {
        let language = self.language();
        let boot = self.hub.boot();
        let misses = boot.loaded.config.acp.client_terminal && !has_terminals;
        let mut told: Vec<String> = boot
            .loaded
            .notices
            .iter()
            .map(|n| n.say(language))
            .collect();
        told.extend(crate::sandbox::nothing_holds(&boot));
        told.extend(misses.then(|| language.say(Word::AcpNoTerminals).to_owned()));
        if !self.are_servers_accepted() {
            let names: Vec<&str> = self
                .servers
                .servers
                .iter()
                .map(|s| s.name.as_str())
                .collect();
            told.push(language.fill(Word::AcpServersLeft, &[&names.join(", ")]));
        }
        told
    }
}

impl Place for Folder {
    fn questions(&self) -> BoxFuture<'_, Result<Vec<Arc<Ask>>, Refusal>> {
        Box::pin(async move {
            let mut asks = self.trust.questions();
            if !self.are_servers_accepted() && !self.servers.is_declined() {
                asks.push(Arc::new(self.servers.question(self.language())));
            }
            Ok(asks)
        })
    }

    fn answer(&self, ask: String, answer: AskAnswer) -> BoxFuture<'_, Result<(), Refusal>> {
        Box::pin(async move {
            if ask == self.servers.ask {
                match answer.choice == START {
                    true => drop(self.places.accepted().insert(ask)),
                    false => {
                        let declined = self.servers.declined.lock();
                        *declined.unwrap_or_else(PoisonError::into_inner) = true;
                    }
                }
                return Ok(());
            }
            let taken = self.trust.answer(&ask, &answer);
            self.hub.expire();
            taken.map_err(|HubError(why)| Refusal::new(Fault::Failed, why))
        })
    }

    fn open(&self, which: Open, editor: EditorOffer) -> BoxFuture<'_, Result<Client, Refusal>> {
        Box::pin(async move {
            if let Open::Resume(id) = &which {
                let store = self.hub.boot().store();
                if !is_id(id) || !store.path_of(id).is_file() {
                    let none = self.language().fill(Word::StoreNoSession, &[id]);
                    return Err(Refusal::new(Fault::NotFound, none));
                }
            }
            let has_terminals = editor.terminals.is_some();
            let mut client = self.hub.open_for(which, self.guest(editor)).await?;
            let told = self.told(has_terminals);
            let new = told.into_iter().filter(|one| !client.notes.contains(one));
            let new: Vec<String> = new.collect();
            client.notes.splice(0..0, new);
            Ok(client)
        })
    }
}
