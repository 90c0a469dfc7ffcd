//! What the editor can ask for: each request of the protocol, and the sessions that it has open.

mod opening;

use crate::backend::{Backend, Listed};
use crate::flow::Flow;
use crate::protocol::{
    Connection, Editor, Error, ErrorCode, Responder, error, invalid, schema as s,
};
use crate::session::Wish;
use crate::transport;
use agent_client_protocol as acp;
use agent_client_protocol::schema::ProtocolVersion;
use agent_client_protocol::{ConnectTo, Role};
use opening::{Opened, Opening, wishes};
use ostler_wire::{Language, Open, Word};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::{mpsc, oneshot};

/// Sessions that are open at once.
const MAX_OPEN: usize = 64;
/// Sessions of one answer to `session/list`.
const PAGE: usize = 50;
/// How long the last lines may take to be written.
const FLUSH: Duration = Duration::from_secs(2);
/// How we call ourselves.
const NAME: &str = "ostler";
const TITLE: &str = "Ostler";

pub struct Agent {
    pub backend: Arc<dyn Backend>,
    flow: Arc<Flow>,
    client: Mutex<s::ClientCapabilities>,
    sessions: Mutex<HashMap<String, mpsc::Sender<Wish>>>,
}

/// What of the past an editor wants of a session.
#[derive(Clone, Copy)]
enum Past {
    None,
    /// It has shown it before.
    Known,
    Shown,
}

pub async fn serve(
    input: impl AsyncRead + Send + Sync + Unpin + 'static,
    output: impl AsyncWrite + Send + Unpin + 'static,
    backend: Arc<dyn Backend>,
) {
    let flow = Arc::new(Flow::default());
    let (lines, receiver) = transport::lines(input, backend.about().language);
    let writing = tokio::spawn(transport::write(output, receiver, flow.clone()));
    let agent = Arc::new(Agent {
        backend,
        flow,
        client: Mutex::default(),
        sessions: Mutex::default(),
    });
    // The end of the editor's stream is the end; what went wrong with it, it knows.
    let _ = connect(&agent, lines).await;
    // Each session ends with its last wish.
    agent.sessions().clear();
    drop(agent);
    let _ = tokio::time::timeout(FLUSH, writing).await;
}

/// Adds a handler of one kind of request to those that are there.
macro_rules! on_request {
    ($handlers:expr, $agent:expr, |$this:ident, $request:ident: $kind:ty, $to:ident, $cx:ident| $answer:expr) => {{
        let $this: Arc<Agent> = $agent.clone();
        $handlers.on_receive_request(
            async move |$request: $kind, $to, $cx: Connection| $answer,
            acp::on_receive_request!(),
        )
    }};
}

/// Every handler hands its work to a task, so that the next message is read at once.
async fn connect<T>(agent: &Arc<Agent>, lines: T) -> Result<(), Error>
where
    T: ConnectTo<<acp::Agent as Role>::Counterpart> + 'static,
    acp::Agent: Role,
    T: ConnectTo<acp::Agent>,
{
    let on = acp::Agent.v1().name(NAME);
    let on = on_request!(on, agent, |this, r: s::InitializeRequest, to, _cx| {
        to.respond(this.initialize(r))
    });
    let on = on_request!(on, agent, |this, r: s::NewSessionRequest, to, cx| {
        this.new_session(r, to, cx);
        Ok(())
    });
    let on = on_request!(on, agent, |this, r: s::LoadSessionRequest, to, cx| {
        this.load_session(r, to, cx);
        Ok(())
    });
    let on = on_request!(on, agent, |this, r: s::ResumeSessionRequest, to, cx| {
        this.resume_session(r, to, cx);
        Ok(())
    });
    let on = on_request!(on, agent, |this, r: s::ListSessionsRequest, to, _cx| {
        this.list_sessions(r, to);
        Ok(())
    });
    let on = on_request!(on, agent, |this, r: s::CloseSessionRequest, to, _cx| {
        this.close_session(r, to);
        Ok(())
    });
    let on = on_request!(on, agent, |this, r: s::DeleteSessionRequest, to, _cx| {
        this.delete_session(r, to);
        Ok(())
    });
    let on = on_request!(on, agent, |this, r: s::PromptRequest, to, _cx| {
        let id = r.session_id.clone();
        this.wish(&id, to, |to| Wish::Prompt(r.prompt, to))
    });
    let on = on_request!(on, agent, |this, r: s::SetSessionModeRequest, to, _cx| {
        let id = r.session_id.clone();
        this.wish(&id, to, |to| Wish::Mode(r.mode_id, to))
    });
    let on = on_request!(on, agent, |this,
                                     r: s::SetSessionConfigOptionRequest,
                                     to,
                                     _cx| {
        let id = r.session_id.clone();
        this.wish(&id, to, |to| Wish::Option(r, to))
    });
    let this = agent.clone();
    let on = on.on_receive_notification(
        async move |n: s::CancelNotification, _| {
            if let Some(wishes) = this.wishes(&n.session_id.0) {
                // A session that has ended has nothing to cancel.
                let _ = wishes.try_send(Wish::Cancel);
            }
            Ok(())
        },
        acp::on_receive_notification!(),
    );
    on.connect_to(lines).await
}

impl Agent {
    pub fn language(&self) -> Language {
        self.backend.about().language
    }

    pub fn capabilities(&self) -> s::ClientCapabilities {
        let client = self.client.lock();
        client.unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn sessions(&self) -> MutexGuard<'_, HashMap<String, mpsc::Sender<Wish>>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Where the wishes of an open session go.
    pub fn wishes(&self, id: &str) -> Option<mpsc::Sender<Wish>> {
        self.sessions().get(id).cloned()
    }

    pub fn check_room(&self) -> Result<(), Error> {
        match self.sessions().len() < MAX_OPEN {
            true => Ok(()),
            false => {
                let many = MAX_OPEN.to_string();
                let why = self.language().fill(Word::AcpTooMany, &[&many]);
                Err(error(ErrorCode::INVALID_REQUEST, why))
            }
        }
    }

    fn not_open(&self, id: &s::SessionId) -> Error {
        let why = self.language().fill(Word::AcpNotOpen, &[&id.0]);
        error(ErrorCode::RESOURCE_NOT_FOUND, why)
    }

    /// Passes a wish on to its session.
    fn wish<T: acp::JsonRpcResponse>(
        &self,
        id: &s::SessionId,
        to: Responder<T>,
        wish: impl FnOnce(Responder<T>) -> Wish,
    ) -> Result<(), Error> {
        let Some(wishes) = self.wishes(&id.0) else {
            return to.respond_with_error(self.not_open(id));
        };
        match wishes.try_reserve() {
            Ok(permit) => {
                permit.send(wish(to));
                Ok(())
            }
            Err(mpsc::error::TrySendError::Closed(())) => to.respond_with_error(self.not_open(id)),
            Err(mpsc::error::TrySendError::Full(())) => {
                let why = self.language().say(Word::AcpTurnRuns);
                to.respond_with_error(error(ErrorCode::INVALID_REQUEST, why))
            }
        }
    }

    fn initialize(&self, request: s::InitializeRequest) -> s::InitializeResponse {
        let mut client = self.client.lock().unwrap_or_else(PoisonError::into_inner);
        *client = request.client_capabilities;
        let about = self.backend.about();
        let sessions = s::SessionCapabilities::new()
            .list(s::SessionListCapabilities::new())
            .resume(s::SessionResumeCapabilities::new())
            .close(s::SessionCloseCapabilities::new())
            .delete(s::SessionDeleteCapabilities::new());
        let prompts = s::PromptCapabilities::new()
            .image(true)
            .embedded_context(true);
        let capabilities = s::AgentCapabilities::new()
            .load_session(true)
            .prompt_capabilities(prompts)
            .mcp_capabilities(s::McpCapabilities::new().http(true).sse(true))
            .session_capabilities(sessions);
        s::InitializeResponse::new(ProtocolVersion::V1)
            .agent_capabilities(capabilities)
            .agent_info(s::Implementation::new(NAME, about.version).title(TITLE.to_owned()))
    }

    fn new_session(
        self: &Arc<Self>,
        request: s::NewSessionRequest,
        to: Responder<s::NewSessionResponse>,
        cx: Connection,
    ) {
        let opening = Opening {
            cwd: request.cwd,
            servers: request.mcp_servers,
            which: Open::New,
            request: to.id().clone(),
        };
        self.begin(opening, Past::None, to, cx, |id, modes, options| {
            s::NewSessionResponse::new(id)
                .modes(modes)
                .config_options(options)
        });
    }

    fn load_session(
        self: &Arc<Self>,
        request: s::LoadSessionRequest,
        to: Responder<s::LoadSessionResponse>,
        cx: Connection,
    ) {
        let opening = Opening {
            cwd: request.cwd,
            servers: request.mcp_servers,
            which: Open::Resume(request.session_id.0.to_string()),
            request: to.id().clone(),
        };
        self.begin(opening, Past::Shown, to, cx, |_, modes, options| {
            s::LoadSessionResponse::new()
                .modes(modes)
                .config_options(options)
        });
    }

    fn resume_session(
        self: &Arc<Self>,
        request: s::ResumeSessionRequest,
        to: Responder<s::ResumeSessionResponse>,
        cx: Connection,
    ) {
        let opening = Opening {
            cwd: request.cwd,
            servers: request.mcp_servers,
            which: Open::Resume(request.session_id.0.to_string()),
            request: to.id().clone(),
        };
        self.begin(opening, Past::Known, to, cx, |_, modes, options| {
            s::ResumeSessionResponse::new()
                .modes(modes)
                .config_options(options)
        });
    }

    /// Opens a session and serves it until it is over.
    fn begin<T: acp::JsonRpcResponse>(
        self: &Arc<Self>,
        opening: Opening,
        past: Past,
        to: Responder<T>,
        cx: Connection,
        response: impl FnOnce(s::SessionId, s::SessionModeState, Vec<s::SessionConfigOption>) -> T
        + Send
        + 'static,
    ) {
        let this = self.clone();
        tokio::spawn(async move {
            let editor = Editor::new(cx, this.flow.clone());
            let cancelled = to.cancellation();
            let opened = cancelled
                .run_until_cancelled(this.open(editor, opening))
                .await;
            let Opened { mut session, notes } = match opened {
                Ok(opened) => opened,
                // The editor may be gone.
                Err(error) => return drop(to.respond_with_error(error)),
            };
            match past {
                Past::None => {}
                Past::Known => session.recall().await,
                Past::Shown => session.replay().await,
            }
            let id = session.id().clone();
            let (sender, receiver) = wishes();
            let registered = sender.clone();
            this.sessions().insert(id.0.to_string(), registered);
            let response = response(id.clone(), session.modes(), session.options());
            let _ = to.respond(response);
            session.introduce(&notes).await;
            // Without the agent the wishes end, and with them the session.
            let weak = Arc::downgrade(&this);
            drop(this);
            let own = sender.downgrade();
            drop(sender);
            session.run(receiver).await;
            if let (Some(this), own) = (weak.upgrade(), own.upgrade()) {
                let mut sessions = this.sessions();
                let is_own = |known: &mpsc::Sender<Wish>| match &own {
                    Some(own) => known.same_channel(own),
                    None => known.is_closed(),
                };
                if sessions.get(&*id.0).is_some_and(is_own) {
                    sessions.remove(&*id.0);
                }
            }
        });
    }

    fn list_sessions(
        self: &Arc<Self>,
        request: s::ListSessionsRequest,
        to: Responder<s::ListSessionsResponse>,
    ) {
        let this = self.clone();
        tokio::spawn(async move {
            // The editor may be gone.
            let _ = to.respond_with_result(this.list(request).await);
        });
    }

    async fn list(
        &self,
        request: s::ListSessionsRequest,
    ) -> Result<s::ListSessionsResponse, Error> {
        if let Some(cwd) = request.cwd.as_ref().filter(|cwd| !cwd.is_absolute()) {
            let shown = cwd.display().to_string();
            return Err(invalid(self.language().fill(Word::AcpRelative, &[&shown])));
        }
        let first = match &request.cursor {
            None => 0,
            Some(cursor) => cursor
                .parse::<usize>()
                .map_err(|_| invalid(format!("cursor: {cursor}")))?,
        };
        let all = self.backend.list(request.cwd).await?;
        let rest = all.len().saturating_sub(first);
        let next = (rest > PAGE).then(|| (first + PAGE).to_string());
        let page = all.into_iter().skip(first).take(PAGE);
        let page = page.map(|listed| {
            let Listed {
                id,
                root,
                title,
                updated,
            } = listed;
            let title = Some(title).filter(|title| !title.is_empty());
            s::SessionInfo::new(id, root)
                .title(title)
                .updated_at(updated)
        });
        Ok(s::ListSessionsResponse::new(page.collect()).next_cursor(next))
    }

    fn close_session(
        self: &Arc<Self>,
        request: s::CloseSessionRequest,
        to: Responder<s::CloseSessionResponse>,
    ) {
        let this = self.clone();
        tokio::spawn(async move {
            let closed = match this.close(&request.session_id).await {
                true => Ok(s::CloseSessionResponse::new()),
                false => Err(this.not_open(&request.session_id)),
            };
            let _ = to.respond_with_result(closed);
        });
    }

    /// Ends a session that is open here.
    async fn close(&self, id: &s::SessionId) -> bool {
        let Some(wishes) = self.wishes(&id.0) else {
            return false;
        };
        let (done, ended) = oneshot::channel();
        if wishes.send(Wish::Close(done)).await.is_ok() {
            // It has ended also where it does not say so.
            let _ = ended.await;
        }
        self.sessions().remove(&*id.0);
        true
    }

    fn delete_session(
        self: &Arc<Self>,
        request: s::DeleteSessionRequest,
        to: Responder<s::DeleteSessionResponse>,
    ) {
        let this = self.clone();
        tokio::spawn(async move {
            this.close(&request.session_id).await;
            let id = request.session_id.0.to_string();
            let deleted = this.backend.delete(id).await;
            let deleted = deleted.map(|()| s::DeleteSessionResponse::new());
            let _ = to.respond_with_result(deleted.map_err(Error::from));
        });
    }
}
