//! The sessions of this process and of others: opens them, lets other terminals join those that run here, joins those that
//! run elsewhere, and takes one over when its process is gone.

use ostler_attach::{Attach, AttachError, Lost, Refusal, Reopen, attach, follow, serve};
use ostler_engine::{HubSettings, LiveSessions, LocalHub, OpenError};
use ostler_host::socket;
use ostler_llm::Transport;
use ostler_wire::{
    BoxFuture, Client, Clients, Completion, CompletionRequest, Hub, HubError, Language, Op, OpLine,
    Open, SessionInfo, View, Word,
};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long the owner of a session may take to answer.
const ANSWER: Duration = Duration::from_secs(1);
/// How long a session whose owner is gone is tried to be continued.
const RECOVERY: Duration = Duration::from_secs(30);
/// The head start of a client over the next younger one when a session is taken over.
const HEAD_START: Duration = Duration::from_millis(200);
/// Time between two attempts.
const RETRY: Duration = Duration::from_millis(20);
/// How long sessions may take to end when the process leaves.
const CLOSING: Duration = Duration::from_secs(5);
/// In the home: a socket for each session that runs.
const FOLDER: &str = "live";

/// Opens sessions, here or where they run already.
#[derive(Clone)]
pub struct SessionHub {
    hub: LocalHub,
    sockets: PathBuf,
    language: Language,
    is_saved: bool,
}

impl SessionHub {
    /// `live`: where the sessions of this process are registered.
    pub fn new(options: HubSettings, transport: Arc<Transport>, live: LiveSessions) -> Self {
        let options = Arc::new(options);
        Self {
            language: options.run.language,
            is_saved: options.run.save,
            sockets: options.paths.home.join(FOLDER),
            hub: LocalHub::new(options, transport).joining(live),
        }
    }

    /// Opens a session for this process alone; one that runs elsewhere is refused.
    pub async fn open_own(&self, which: Open) -> Result<Client, OpenError> {
        let client = self.hub.try_open(which).await?;
        self.listen(&client.session_id);
        Ok(client)
    }

    /// Ends all sessions of this process. Clients in other processes take them over.
    pub async fn close(&self) {
        // Leaving must not hang on work that does not want to end; the watchdog sees to its processes.
        let _ = tokio::time::timeout(CLOSING, self.hub.live().close()).await;
    }

    /// Lets other processes join a session, from its first entry on.
    fn listen(&self, id: &str) {
        if !self.is_saved {
            return;
        }
        let (hub, id) = (self.hub.clone(), id.to_owned());
        let place = (self.sockets.clone(), self.language);
        tokio::spawn(async move {
            let live = hub.live().clone();
            tokio::select! {
                () = live.ended(&id) => {}
                () = accept(hub, place, &id) => {}
            }
        });
    }

    async fn join(&self, id: &str, after: Option<u64>) -> Result<Client, AttachError> {
        if let Some(client) = self.hub.live().attach(id, after) {
            return Ok(client);
        }
        let stream = socket::connect(&self.sockets, &socket_name(id)).await?;
        attach(stream, crate::VERSION, id, after).await
    }

    /// Joins a session that is open elsewhere, or opens it when it has ended meanwhile.
    async fn join_or_open(&self, id: String) -> Result<Client, HubError> {
        let until = Instant::now() + ANSWER;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            match tokio::time::timeout(left, self.join(&id, None)).await {
                Ok(Ok(client)) if client.snapshot.clients.is_remote() => {
                    let mut client = follow(client, Arc::new(self.clone()));
                    client.notes.push(self.language.say(Word::Joined).into());
                    return Ok(client);
                }
                Ok(Ok(client)) => return Ok(client),
                Ok(Err(AttachError::Refused(Refusal::Version { version, .. }))) => {
                    return Err(self.another_version(&id, &version));
                }
                Ok(Err(AttachError::Io(error)))
                    if error.kind() == std::io::ErrorKind::InvalidData =>
                {
                    return Err(self.another_version(&id, "?"));
                }
                Ok(Err(AttachError::Io(error)))
                    if error.kind() == std::io::ErrorKind::PermissionDenied =>
                {
                    let values = [id.as_str(), &id];
                    return Err(HubError(self.language.fill(Word::OwnerForeign, &values)));
                }
                Ok(Err(AttachError::Refused(Refusal::NoSession { .. }) | AttachError::Io(_))) => {}
                Err(_) => return Err(self.silent(&id)),
            }
            if until <= Instant::now() {
                return Err(self.silent(&id));
            }
            tokio::time::sleep(RETRY).await;
            match self.open_own(Open::Resume(id.clone())).await {
                Err(OpenError::Live { .. }) => {}
                Ok(client) => return Ok(client),
                Err(OpenError::Failed(error)) => return Err(error),
            }
        }
    }

    fn silent(&self, id: &str) -> HubError {
        let word = match socket::is_inside_session() {
            true => Word::OwnerRefuses,
            false => Word::OwnerSilent,
        };
        HubError(self.language.fill(word, &[id, id]))
    }

    fn another_version(&self, id: &str, version: &str) -> HubError {
        let values = [id, version, crate::VERSION, id];
        HubError(self.language.fill(Word::OwnerVersion, &values))
    }

    async fn recover(&self, lost: Lost) -> Result<Client, HubError> {
        let Lost {
            session,
            after,
            rank,
            mode,
        } = lost;
        let begin = Instant::now();
        // The terminal of the process that is gone may count as an older one; then each waits a little longer.
        let wait = HEAD_START * u32::try_from(rank).unwrap_or(0);
        while begin.elapsed() < RECOVERY {
            if let Ok(Ok(client)) = tokio::time::timeout(ANSWER, self.join(&session, after)).await {
                return Ok(client);
            }
            if begin.elapsed() >= wait {
                match self.hub.take_over(&session, after, &mode).await {
                    Ok(client) => {
                        self.listen(&client.session_id);
                        return Ok(client);
                    }
                    Err(OpenError::Live { .. }) => {}
                    Err(OpenError::Failed(HubError(why))) => {
                        return Err(HubError(self.language.fill(Word::OwnerGone, &[&why])));
                    }
                }
            }
            tokio::time::sleep(RETRY).await;
        }
        Err(self.silent(&session))
    }
}

fn socket_name(id: &str) -> String {
    format!("{id}.sock")
}

async fn accept(hub: LocalHub, (sockets, language): (PathBuf, Language), id: &str) {
    if !hub.live().begun(id).await {
        return;
    }
    // Where nothing can listen, other terminals are told to work on a copy.
    let listener = match socket::listen(&sockets, &socket_name(id)) {
        Ok(listener) => listener,
        Err(error) if error.kind() == std::io::ErrorKind::Unsupported => return,
        Err(error) => {
            let path = sockets.join(socket_name(id));
            let values = [&path.display().to_string(), &error.to_string()];
            let text = language.fill(Word::NoSocket, &values.map(String::as_str));
            return hub.live().announce(id, View::Text(text));
        }
    };
    while let Ok(stream) = listener.accept().await {
        let sessions = Served {
            hub: hub.clone(),
            id: id.to_owned(),
        };
        // What becomes of a connection is the other end's to notice.
        tokio::spawn(async move { serve(stream, crate::VERSION, &sessions).await });
    }
}

/// The session that one socket stands for.
struct Served {
    hub: LocalHub,
    id: String,
}

impl Attach for Served {
    fn attach(
        &self,
        session: String,
        after: Option<u64>,
    ) -> BoxFuture<'_, Result<Client, HubError>> {
        Box::pin(async move {
            let id = match session == self.id {
                true => &self.id,
                false => "",
            };
            self.hub.attach(id, after).await
        })
    }

    fn now(&self) -> String {
        ostler_engine::log::now()
    }
}

impl Reopen for SessionHub {
    fn reopen(&self, lost: Lost) -> BoxFuture<'_, Result<Client, HubError>> {
        Box::pin(self.recover(lost))
    }

    fn describe(&self, client: &Client) -> String {
        let language = self.language;
        if client.snapshot.clients.is_remote() {
            return language.say(Word::OwnerChanged).into();
        }
        let mode = &client.snapshot.mode;
        let mut told = vec![
            language.say(Word::TookOver).to_owned(),
            language.fill(Word::TookOverApprovals, &[&mode.posture]),
        ];
        for (word, rules) in [
            (Word::TookOverDeny, &mode.deny),
            (Word::TookOverAsk, &mode.ask),
        ] {
            if !rules.is_empty() {
                told.push(language.fill(word, &[&rules.join(", ")]));
            }
        }
        told.join(" ")
    }

    fn describe_silence(&self, clients: &Clients) -> String {
        let word = match clients.silent {
            true => Word::OwnerStopped,
            false => Word::OwnerBack,
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

impl Hub for SessionHub {
    async fn open(&self, which: Open) -> Result<Client, HubError> {
        match self.open_own(which).await {
            Err(OpenError::Live { id, .. }) => self.join_or_open(id).await,
            other => Ok(other?),
        }
    }

    async fn attach(&self, id: &str, after: Option<u64>) -> Result<Client, HubError> {
        self.hub.attach(id, after).await
    }

    fn list(&self) -> Result<Vec<SessionInfo>, HubError> {
        self.hub.list()
    }

    async fn command(&self, line: &str) -> Result<View, HubError> {
        self.hub.command(line).await
    }

    async fn complete(&self, request: &CompletionRequest) -> Completion {
        self.hub.complete(request).await
    }
}
