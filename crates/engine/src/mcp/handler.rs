//! Our answers to what servers ask and tell on their own: where the work is done, how far a call has come, that a list has
//! changed. Nothing of it changes a session by itself.
#![expect(
    deprecated,
    reason = "servers of the revisions before 2026-07-28 still use roots and logging"
)]

use super::form::{Asker, Form, Reply};
use super::sampling;
use super::stdio::Noise;
use super::text;
use crate::aside::{Said, Wanted};
use rmcp::ClientHandler;
use rmcp::model::{
    ClientCapabilities, ClientConfig, CreateMessageRequestParams, CreateMessageResult,
    ElicitRequestParams, ElicitResult, ElicitationAction, ElicitationCapability, ErrorCode,
    ErrorData, Extensions, FormElicitationCapability, Implementation, ListRootsResult,
    LoggingMessageNotificationParam, ProgressNotificationParam, ProgressToken, ProtocolVersion,
    RequestId, Root, TASKS_EXTENSION_ID,
};
use rmcp::service::{InboundStreamOrigin, NotificationContext, RequestContext, RoleClient};
use serde_json::Map;
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::{Notify, RwLock, RwLockReadGuard, mpsc};

/// Of a line that a server logs.
const MAX_LINE: usize = 2_000;
/// Signs of life of one call that may wait to be seen.
const MAX_SIGNS: usize = 16;
const MAX_MESSAGE: usize = 200;
/// Of the standard, for a person who says no.
const REFUSED: ErrorCode = ErrorCode(-1);

/// What servers tell while they work. Cheap to clone.
#[derive(Clone, Default)]
pub struct Talk(Arc<Told>);

#[derive(Default)]
struct Told {
    /// Those whose calls are under way and who can ask somebody, the newest last.
    askers: Mutex<Vec<(RequestId, Arc<dyn Asker>)>>,
    /// Held while a request goes out whose caller is not among them yet.
    sending: RwLock<()>,
    /// Questions that wait for somebody's answer.
    asking: AtomicUsize,
    /// Calls that want to hear how far they have come.
    calls: Mutex<HashMap<ProgressToken, mpsc::Sender<String>>>,
    changed: Notify,
}

impl Talk {
    fn calls(&self) -> MutexGuard<'_, HashMap<ProgressToken, mpsc::Sender<String>>> {
        self.0.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until a list has changed since the last time.
    pub async fn changed(&self) {
        self.0.changed.notified().await;
    }

    pub fn change(&self) {
        self.0.changed.notify_one();
    }

    fn askers(&self) -> MutexGuard<'_, Vec<(RequestId, Arc<dyn Asker>)>> {
        self.0.askers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whoever asks back meanwhile is heard when this is dropped.
    pub async fn sending(&self) -> RwLockReadGuard<'_, ()> {
        self.0.sending.read().await
    }

    /// Whom the server's questions about a request go to, for as long as this is held.
    pub fn lend(&self, asker: Arc<dyn Asker>, request: &RequestId) -> Lent {
        self.askers().push((request.clone(), asker));
        Lent {
            talk: self.clone(),
            request: request.clone(),
        }
    }

    /// Whether the person is being asked: they have all the time that they want.
    pub fn is_asking(&self) -> bool {
        self.0.asking.load(Ordering::Relaxed) > 0
    }

    /// Where nobody can be asked, nobody answers.
    async fn ask(&self, form: Form, from: &Extensions) -> Reply {
        let Some(asker) = self.asker(from).await else {
            return Reply::Cancel;
        };
        let _asking = self.asking();
        asker.ask(form).await
    }

    async fn sample(&self, wanted: Wanted, from: &Extensions) -> Result<Said, String> {
        let asker = self.asker(from).await;
        let asker = asker.ok_or("no call of it is under way")?;
        let _asking = self.asking();
        asker.sample(wanted).await
    }

    /// Whoever made the call that a question belongs to. A program of the revisions before 2026-07-28 does not say which:
    /// then it is whoever called last.
    async fn asker(&self, from: &Extensions) -> Option<Arc<dyn Asker>> {
        if let Some(Asked(asker)) = from.get::<Asked>() {
            return asker.clone();
        }
        let _all_known = self.0.sending.write().await;
        let askers = self.askers();
        let found = match from.get::<InboundStreamOrigin>() {
            Some(InboundStreamOrigin::OutboundRequest(id)) => {
                askers.iter().find(|(request, _)| request == id)
            }
            Some(InboundStreamOrigin::Unassociated) | None => askers.last(),
        };
        found.map(|(_, asker)| asker.clone())
    }

    /// Whoever waits may be dropped while it does.
    fn asking(&self) -> Asking {
        self.0.asking.fetch_add(1, Ordering::Relaxed);
        Asking(self.clone())
    }

    /// Signs of life of a call, for as long as this is held.
    pub fn listen(&self, token: ProgressToken) -> (Listening, mpsc::Receiver<String>) {
        let (sender, receiver) = mpsc::channel(MAX_SIGNS);
        self.calls().insert(token.clone(), sender);
        let talk = self.clone();
        (Listening { talk, token }, receiver)
    }
}

struct Asking(Talk);

impl Drop for Asking {
    fn drop(&mut self) {
        self.0.0.asking.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Marks a question whose caller is known.
#[derive(Clone)]
pub struct Asked(pub Option<Arc<dyn Asker>>);

pub struct Lent {
    talk: Talk,
    request: RequestId,
}

impl Drop for Lent {
    fn drop(&mut self) {
        self.talk
            .askers()
            .retain(|(request, _)| *request != self.request);
    }
}

pub struct Listening {
    talk: Talk,
    token: ProgressToken,
}

impl Drop for Listening {
    fn drop(&mut self) {
        self.talk.calls().remove(&self.token);
    }
}

/// Our end of a connection.
#[derive(Clone)]
pub struct Handler {
    pub version: String,
    pub protocol: ProtocolVersion,
    pub root: PathBuf,
    /// Somebody can be asked.
    pub attended: bool,
    /// It may have a model's word, now or when the person says so.
    pub sampling: bool,
    pub noise: Noise,
    pub talk: Talk,
}

impl ClientHandler for Handler {
    fn get_info(&self) -> ClientConfig {
        let mut capabilities = ClientCapabilities::default();
        let tasks = (TASKS_EXTENSION_ID.to_owned(), Map::new());
        capabilities.extensions = Some([tasks].into());
        capabilities.roots = Some(Default::default());
        if self.attended {
            let mut elicitation = ElicitationCapability::default();
            elicitation.form = Some(FormElicitationCapability::default());
            elicitation.url = Some(Default::default());
            capabilities.elicitation = Some(elicitation);
        }
        if self.sampling {
            capabilities.sampling = Some(Default::default());
        }
        let us = Implementation::new("ostler", self.version.clone());
        ClientConfig::new(capabilities, us).with_protocol_version(self.protocol.clone())
    }

    async fn list_roots(
        &self,
        _: RequestContext<RoleClient>,
    ) -> Result<ListRootsResult, ErrorData> {
        let root = url::Url::from_directory_path(&self.root)
            .map(|url| url.to_string())
            .unwrap_or_default();
        let root = Root::new(root.trim_end_matches('/'));
        Ok(ListRootsResult::new(vec![root.with_name("workspace")]))
    }

    async fn create_elicitation(
        &self,
        request: ElicitRequestParams,
        context: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        let form = match &request {
            ElicitRequestParams::FormElicitationParams {
                message,
                requested_schema,
                ..
            } => {
                let schema = serde_json::to_value(requested_schema).unwrap_or_default();
                Form::new(message, &schema)
            }
            ElicitRequestParams::UrlElicitationParams { message, url, .. } => {
                Form::page(message, url)
            }
            _ => return Ok(ElicitResult::new(ElicitationAction::Decline)),
        };
        let is_page = form.page.is_some();
        Ok(match self.talk.ask(form, &context.extensions).await {
            Reply::Accept(_) if is_page => ElicitResult::new(ElicitationAction::Accept),
            Reply::Accept(values) => {
                ElicitResult::new(ElicitationAction::Accept).with_content(values.into())
            }
            Reply::Decline => ElicitResult::new(ElicitationAction::Decline),
            Reply::Cancel => ElicitResult::new(ElicitationAction::Cancel),
        })
    }

    async fn create_message(
        &self,
        request: CreateMessageRequestParams,
        context: RequestContext<RoleClient>,
    ) -> Result<CreateMessageResult, ErrorData> {
        let wanted = sampling::wanted(request);
        let wanted = wanted.map_err(|why| ErrorData::invalid_params(why, None))?;
        let said = self.talk.sample(wanted, &context.extensions).await;
        said.map(sampling::result)
            .map_err(|why| ErrorData::new(REFUSED, format!("No sampling: {why}."), None))
    }

    async fn on_progress(
        &self,
        params: ProgressNotificationParam,
        _: NotificationContext<RoleClient>,
    ) {
        let sender = self.talk.calls().get(&params.progress_token).cloned();
        if let Some(sender) = sender {
            // Who is not heard now is heard with the next sign.
            let _ = sender.try_send(far(&params));
        }
    }

    async fn on_logging_message(
        &self,
        params: LoggingMessageNotificationParam,
        _: NotificationContext<RoleClient>,
    ) {
        let data = match &params.data {
            serde_json::Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        let line = format!("{:?}: {}\n", params.level, text::cut(&data, MAX_LINE));
        self.noise.log(line.as_bytes());
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.talk.change();
    }

    async fn on_prompt_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.talk.change();
    }

    async fn on_resource_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.talk.change();
    }
}

/// `3/10 reading`, for people.
fn far(params: &ProgressNotificationParam) -> String {
    let message = params.message.as_deref().unwrap_or_default();
    let message = text::line(message, MAX_MESSAGE);
    let done = match params.total.filter(|total| *total > 0.0) {
        Some(total) => format!("{}/{total}", params.progress),
        None => params.progress.to_string(),
    };
    format!("{done} {message}").trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt as _;
    use futures_util::future::BoxFuture;

    struct Nobody;

    impl Asker for Nobody {
        fn ask(&self, _: Form) -> BoxFuture<'_, Reply> {
            Box::pin(std::future::ready(Reply::Cancel))
        }

        fn sample(&self, _: Wanted) -> BoxFuture<'_, Result<Said, String>> {
            Box::pin(std::future::ready(Err(String::new())))
        }
    }

    fn from(origin: Option<InboundStreamOrigin>) -> Extensions {
        let mut from = Extensions::new();
        origin.map(|origin| from.insert(origin));
        from
    }

    #[tokio::test]
    async fn questions_go_to_the_caller_that_they_belong_to() {
        let talk = Talk::default();
        let [one, two]: [Arc<dyn Asker>; 2] = [Arc::new(Nobody), Arc::new(Nobody)];
        let id = |n: i64| RequestId::Number(n);
        let of = |n: i64| from(Some(InboundStreamOrigin::OutboundRequest(id(n))));
        let first = talk.lend(one.clone(), &id(1));
        let _second = talk.lend(two.clone(), &id(2));
        let mut marked = of(2);
        marked.insert(Asked(Some(one.clone())));
        let mut unasked = of(2);
        unasked.insert(Asked(None));
        let loose = from(Some(InboundStreamOrigin::Unassociated));
        for (from, expect) in [
            (of(1), Some(&one)),
            (of(2), Some(&two)),
            (of(3), None),
            (marked, Some(&one)),
            (unasked, None),
            (loose, Some(&two)),
            (from(None), Some(&two)),
        ] {
            let found = talk.asker(&from).await;
            assert!(match (&found, expect) {
                (Some(found), Some(expect)) => Arc::ptr_eq(found, expect),
                (None, None) => true,
                (Some(_), None) | (None, Some(_)) => false,
            });
        }
        drop(first);
        assert!(talk.asker(&of(1)).await.is_none());
    }

    #[tokio::test]
    async fn a_question_waits_until_its_caller_is_known() {
        let talk = Talk::default();
        let sending = talk.sending().await;
        let from = from(None);
        assert!(talk.asker(&from).now_or_never().is_none());
        let _lent = talk.lend(Arc::new(Nobody), &RequestId::Number(1));
        drop(sending);
        assert!(talk.asker(&from).await.is_some());
    }
}
