//! `--attach URL`: the sessions of an `ostler serve` elsewhere, in the front ends of this process. Nothing runs here.

use crate::boot::Boot;
use crate::errors::UsageError;
use crate::flags::{Remote, RemotePlace as Place};
use crate::output;
use crate::secret::read_secret;
use anyhow::{Context as _, anyhow};
use ostler_attach::{Lost, Reopen, Server, ServerError, follow};
use ostler_config::files::{Access, lock, write};
use ostler_config::text::Speak as _;
use ostler_wire::{
    BoxFuture, Client, Clients, Completion, CompletionItem, CompletionKind, CompletionRequest, Hub,
    HubError, Language, Op, OpLine, Open, SessionInfo, View, Word,
};
use serde::Deserialize;
use serde_json::json;
use std::collections::BTreeMap;
use std::io::{self, IsTerminal as _};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use url::Url;

/// Where a token may stand. It is never an argument: those are for all to see.
const TOKEN: &str = "OSTLER_TOKEN";
/// In the home: tokens by the address of their server.
const KEPT: &str = "serve-tokens.json";
/// How long the server may take to connect.
const CONNECT: Duration = Duration::from_secs(10);
/// Pauses between two tries to reach it again; the last one repeats.
const PAUSES: [u64; 6] = [100, 300, 700, 1500, 3000, 5000];
/// Sessions of a list.
const ROWS: usize = 500;

/// The address of a server, as it prints it or as the browser shows it. A token in it is refused: it would be in the list of
/// processes.
fn parse(text: &str, language: Language) -> Result<(String, Place), UsageError> {
    let bad = || UsageError(language.filled(Word::AttachBadUrl, &[&text]));
    let url = Url::parse(text).map_err(|_| bad())?;
    if url.query_pairs().any(|(name, _)| name == "token") || url.password().is_some() {
        return Err(UsageError(language.say(Word::AttachTokenInUrl).into()));
    }
    if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() {
        return Err(bad());
    }
    let mut path = url.path().split('/').skip(1);
    let place = match (path.next(), path.next()) {
        (Some("s"), Some(id)) if !id.is_empty() => Place::Session(id.to_owned()),
        (Some("p"), Some(id)) if !id.is_empty() => Place::Project(id.to_owned()),
        (_, _) => Place::Home,
    };
    Ok((url.origin().ascii_serialization(), place))
}

/// What `--attach` means, with the token: from the environment, from `ostler login URL`, or from stdin.
fn resolve(boot: &Boot, text: &str) -> anyhow::Result<Remote> {
    let language = boot.language;
    let (origin, place) = parse(text, language)?;
    let given = boot.env.get(TOKEN).filter(|token| !token.is_empty());
    let token = match given.cloned().or_else(|| kept(boot).remove(&origin)) {
        Some(token) => token,
        None if boot.global.attach.token_stdin || io::stdin().is_terminal() => {
            read_secret(Word::ServeToken, language)?
        }
        None => return Err(UsageError(language.say(Word::AttachNoToken).into()).into()),
    };
    output::redactor().learn([token.as_str()]);
    if origin.starts_with("http://") && !is_near(&origin) {
        output::say(&language.filled(Word::AttachPlain, &[&origin]));
    }
    Ok(Remote {
        origin,
        place,
        token,
    })
}

/// The configuration with the server of `--attach`, where one is named.
pub fn attached(mut boot: Boot) -> anyhow::Result<Boot> {
    if let Some(text) = boot.global.attach.url.clone() {
        boot.global.attach.remote = Some(resolve(&boot, &text)?);
    }
    Ok(boot)
}

fn is_near(origin: &str) -> bool {
    let url = Url::parse(origin).ok();
    url.is_some_and(|url| match url.host() {
        Some(url::Host::Ipv4(ip)) => ip.is_loopback(),
        Some(url::Host::Ipv6(ip)) => ip.is_loopback(),
        Some(url::Host::Domain(name)) => name == "localhost",
        None => false,
    })
}

fn kept(boot: &Boot) -> BTreeMap<String, String> {
    let text = std::fs::read_to_string(boot.places.home.join(KEPT));
    text.ok()
        .and_then(|text| serde_json::from_str(&text).ok())
        .unwrap_or_default()
}

fn keep(boot: &Boot, change: impl FnOnce(&mut BTreeMap<String, String>)) -> anyhow::Result<()> {
    let path = boot.places.home.join(KEPT);
    let unwritten = || {
        let shown = path.display();
        boot.language.filled(Word::CannotBeWritten, &[&shown])
    };
    let _lock = lock(&boot.places.home).with_context(unwritten)?;
    let mut all = kept(boot);
    change(&mut all);
    let text = serde_json::to_string_pretty(&all)?;
    write(&path, text.as_bytes(), Access::Private).with_context(unwritten)
}

/// Whether `ostler login` and `ostler logout` are given a server.
pub fn is_url(name: &str) -> bool {
    name.starts_with("http://") || name.starts_with("https://")
}

/// `ostler login URL`: tries the token of stdin and keeps it.
pub async fn log_in(boot: &Boot, text: &str) -> anyhow::Result<()> {
    let language = boot.language;
    let (origin, _) = parse(text, language)?;
    let token = read_secret(Word::ServeToken, language)?;
    output::redactor().learn([token.as_str()]);
    let server = server(boot, &origin, token.clone())?;
    let me = server.get::<serde_json::Value>("/api/me").await;
    me.map_err(|error| anyhow!(told(&error, &origin, language)))?;
    keep(boot, |all| drop(all.insert(origin.clone(), token)))?;
    output::print(&format!(
        "{}\n",
        language.filled(Word::AttachLoggedIn, &[&origin])
    ))?;
    Ok(())
}

/// `ostler logout URL`.
pub fn log_out(boot: &Boot, text: &str) -> anyhow::Result<()> {
    let language = boot.language;
    let (origin, _) = parse(text, language)?;
    keep(boot, |all| drop(all.remove(&origin)))?;
    output::print(&format!(
        "{}\n",
        language.filled(Word::AttachLoggedOut, &[&origin])
    ))?;
    Ok(())
}

fn server(boot: &Boot, origin: &str, token: String) -> anyhow::Result<Server> {
    let builder = crate::client::builder(&boot.ca_files());
    let builder = builder.map_err(|why| anyhow!(why.say(boot.language)))?;
    let http = builder.connect_timeout(CONNECT).build()?;
    Ok(Server::new(http, origin, token))
}

fn told(error: &ServerError, origin: &str, language: Language) -> String {
    match error {
        ServerError::Unreachable(why) => language.filled(Word::AttachUnreachable, &[&origin, why]),
        ServerError::Unauthorized(_) => language.filled(Word::AttachWrong, &[&origin]),
        ServerError::Refused { detail, .. } => detail.clone(),
        ServerError::Strange(why) => language.filled(Word::AttachStrange, &[&origin, why]),
    }
}

#[derive(Deserialize)]
struct Projects {
    projects: Vec<Project>,
}

#[derive(Deserialize)]
struct Project {
    id: String,
}

#[derive(Deserialize)]
struct Rows {
    sessions: Vec<Row>,
}

#[derive(Clone, Deserialize)]
struct Row {
    id: String,
    project: String,
    #[serde(default)]
    title: String,
    #[serde(default)]
    updated: String,
    #[serde(default)]
    turns: u64,
    #[serde(default)]
    cost: Option<f64>,
    #[serde(default)]
    bytes: u64,
}

#[derive(Deserialize)]
struct Answered {
    view: View,
}

#[derive(Deserialize)]
struct Files {
    items: Vec<FileItem>,
    truncated: bool,
}

#[derive(Deserialize)]
struct FileItem {
    path: String,
    folder: bool,
}

/// The sessions of a server elsewhere.
#[derive(Clone)]
pub struct RemoteHub {
    server: Server,
    place: Place,
    language: Language,
    /// What the front end lists without waiting.
    rows: Arc<Mutex<Vec<Row>>>,
}

impl RemoteHub {
    pub fn new(boot: &Boot, remote: &Remote) -> anyhow::Result<Self> {
        Ok(Self {
            server: server(boot, &remote.origin, remote.token.clone())?,
            place: remote.place.clone(),
            language: boot.language,
            rows: Arc::default(),
        })
    }

    fn failed(&self, error: &ServerError) -> HubError {
        HubError(told(error, self.server.base(), self.language))
    }

    /// The project of the address, or the first one: that of the folder in which the server was started.
    async fn project(&self) -> Result<String, HubError> {
        if let Place::Project(id) = &self.place {
            return Ok(id.clone());
        }
        let all = self.server.get::<Projects>("/api/projects").await;
        let all = all.map_err(|error| self.failed(&error))?.projects;
        let none = || HubError(self.language.say(Word::AttachNoProject).into());
        all.into_iter().next().map(|one| one.id).ok_or_else(none)
    }

    async fn look(&self) -> Result<Vec<Row>, HubError> {
        let path = format!("/api/sessions?limit={ROWS}");
        let found = self.server.get::<Rows>(&path).await;
        let found = found.map_err(|error| self.failed(&error))?.sessions;
        self.rows().clone_from(&found);
        Ok(found)
    }

    /// The one session whose id begins so, and its project.
    async fn find(&self, beginning: &str) -> Result<Row, HubError> {
        let mut found = self.look().await?;
        found.retain(|row| row.id.starts_with(beginning));
        let none = || HubError(self.language.filled(Word::AttachNoSession, &[&beginning]));
        match found.len() {
            1 => found.pop().ok_or_else(none),
            _ => Err(none()),
        }
    }

    fn rows(&self) -> std::sync::MutexGuard<'_, Vec<Row>> {
        self.rows.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn open_there(&self, which: Open) -> Result<Client, HubError> {
        let which = match (which, &self.place) {
            (Open::New, Place::Session(id)) => Open::Resume(id.clone()),
            (which, _) => which,
        };
        let (project, which) = match which {
            Open::Resume(id) => {
                let row = self.find(&id).await?;
                (row.project, Open::Resume(row.id))
            }
            Open::Fork(id) => {
                let row = self.find(&id).await?;
                (row.project, Open::Fork(row.id))
            }
            Open::New | Open::Last => (self.project().await?, which),
        };
        let opened = self.server.open(&project, &which).await;
        let opened = opened.map_err(|error| self.failed(&error))?;
        let client = self.server.join(&opened.id, opened.after()).await;
        let mut client = client.map_err(|error| self.failed(&error))?;
        client.notes = opened.notes;
        Ok(client)
    }
}

impl Hub for RemoteHub {
    async fn open(&self, which: Open) -> Result<Client, HubError> {
        let client = self.open_there(which).await?;
        // The list of sessions is at hand when it is asked for.
        let hub = self.clone();
        tokio::spawn(async move { hub.look().await });
        let mut client = follow(client, Arc::new(self.clone()));
        let place = self.server.base();
        client
            .notes
            .push(self.language.filled(Word::AttachJoined, &[&place]));
        Ok(client)
    }

    async fn attach(&self, id: &str, after: Option<u64>) -> Result<Client, HubError> {
        let client = self.server.join(id, after).await;
        client.map_err(|error| self.failed(&error))
    }

    fn list(&self) -> Result<Vec<SessionInfo>, HubError> {
        let info = |row: &Row| SessionInfo {
            id: row.id.clone(),
            title: row.title.clone(),
            project: row.project.clone(),
            updated: row.updated.clone(),
            turns: row.turns,
            cost: row.cost,
            bytes: row.bytes,
        };
        let rows = self.rows().iter().map(info).collect();
        let hub = self.clone();
        tokio::spawn(async move { hub.look().await });
        Ok(rows)
    }

    async fn command(&self, line: &str) -> Result<View, HubError> {
        let path = format!("/api/projects/{}/command", self.project().await?);
        let body = json!({"line": line});
        let answer = self.server.post::<Answered>(&path, &body).await;
        let answer = answer.map_err(|error| self.failed(&error))?;
        Ok(answer.view)
    }

    async fn complete(&self, request: &CompletionRequest) -> Completion {
        let none = || request.clone().superseded();
        let Ok(project) = self.project().await else {
            return none();
        };
        let text: String = url::form_urlencoded::byte_serialize(request.text.as_bytes()).collect();
        let limit = request.limit.map(|limit| format!("&limit={limit}"));
        let limit = limit.unwrap_or_default();
        let path = format!("/api/projects/{project}/files?q={text}{limit}");
        let Ok(found) = self.server.get::<Files>(&path).await else {
            return none();
        };
        let item = |FileItem { path, folder }: FileItem| CompletionItem {
            detail: String::new(),
            label: path.clone(),
            insert: match folder {
                true => format!("{path}/"),
                false => path,
            },
            is_folder: folder,
            kind: match folder {
                true => CompletionKind::Folder,
                false => CompletionKind::File,
            },
        };
        Completion {
            text: request.text.clone(),
            items: found.items.into_iter().map(item).collect(),
            truncated: found.truncated,
            superseded: false,
        }
    }
}

impl Reopen for RemoteHub {
    /// Tries for as long as somebody looks: the server may be started again, the machine may have slept.
    fn reopen(&self, lost: Lost) -> BoxFuture<'_, Result<Client, HubError>> {
        Box::pin(async move {
            let mut pauses = PAUSES.into_iter();
            let mut pause = PAUSES[0];
            loop {
                let there = async {
                    // One that was closed meanwhile is opened again.
                    self.server.show(&lost.session).await?;
                    self.server.join(&lost.session, lost.after).await
                };
                match there.await {
                    Ok(client) => return Ok(client),
                    Err(ServerError::Unreachable(_) | ServerError::Refused { status: 410, .. }) => {
                    }
                    Err(error) => return Err(self.failed(&error)),
                }
                pause = pauses.next().unwrap_or(pause);
                tokio::time::sleep(Duration::from_millis(pause)).await;
            }
        })
    }

    fn describe(&self, _: &Client) -> String {
        self.language.say(Word::AttachBack).into()
    }

    fn describe_silence(&self, clients: &Clients) -> String {
        let word = match clients.silent {
            true => Word::AttachLost,
            false => Word::AttachBack,
        };
        self.language.say(word).into()
    }

    fn refuse(&self, line: &OpLine) -> Option<String> {
        line.refuse(self.language)
    }

    fn describe_lost(&self, op: &Op) -> String {
        op.describe_lost(self.language)
    }
}

/// What a command that shows no session says to `--attach`.
pub fn refuse(language: Language) -> anyhow::Error {
    UsageError(language.say(Word::AttachNotHere).into()).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_those_of_the_browser_and_hold_no_token() {
        let english = Language::English;
        for (text, origin, place) in [
            (
                "http://127.0.0.1:8787",
                "http://127.0.0.1:8787",
                Place::Home,
            ),
            ("https://me.example/", "https://me.example", Place::Home),
            (
                "http://[::1]:1/s/abc",
                "http://[::1]:1",
                Place::Session("abc".into()),
            ),
            (
                "http://h:1/p/shop-1/usage",
                "http://h:1",
                Place::Project("shop-1".into()),
            ),
        ] {
            let (found, at) = parse(text, english).map_err(|e| e.0).unwrap();
            assert_eq!((found.as_str(), at), (origin, place));
        }
        for text in ["", "me", "ftp://h", "http://h/?token=x", "http://u:p@h/"] {
            assert!(parse(text, english).is_err(), "{text}");
        }
        assert!(is_near("http://127.0.0.1:1") && is_near("http://localhost:1"));
        assert!(!is_near("http://me.example") && !is_near("http://localhost.example"));
    }
}
