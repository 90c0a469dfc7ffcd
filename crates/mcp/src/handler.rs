//! Our answers to what servers ask and tell on their own: where the work is done, how far a call has come, that a list has
//! changed. Nothing of it changes a session by itself.
#![expect(
    deprecated,
    reason = "servers of the revisions before 2026-07-28 still use roots and logging"
)]

use crate::form::{Asker, Form, FormReply};
use crate::sampling;
use crate::sampling::{SamplingAnswer, SamplingRequest};
use crate::stdio::ServerLog;
use crate::text;
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

/// Calls under way on one connection: who answers the server's questions about them and who follows their progress. Cheap
/// to clone.
#[derive(Clone, Default)]
pub struct PendingCalls(Arc<PendingState>);

#[derive(Default)]
struct PendingState {
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

impl PendingCalls {
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

    /// Questions of the server wait until this is dropped.
    pub async fn sending(&self) -> RwLockReadGuard<'_, ()> {
        self.0.sending.read().await
    }

    /// Whom the server's questions about a request go to, for as long as this is held.
    pub fn register_asker(&self, asker: Arc<dyn Asker>, request: &RequestId) -> AskerGuard {
        self.askers().push((request.clone(), asker));
        AskerGuard {
            pending: self.clone(),
            request: request.clone(),
        }
    }

    /// Whether the person is being asked: they have all the time that they want.
    pub fn is_asking(&self) -> bool {
        self.0.asking.load(Ordering::Relaxed) > 0
    }

    /// Where nobody can be asked, nobody answers.
    async fn ask(&self, form: Form, from: &Extensions) -> FormReply {
        let Some(asker) = self.asker(from).await else {
            return FormReply::Cancel;
        };
        let _asking = self.asking();
        asker.ask(form).await
    }

    async fn sample(
        &self,
        wanted: SamplingRequest,
        from: &Extensions,
    ) -> Result<SamplingAnswer, String> {
        let asker = self.asker(from).await;
        let asker = asker.ok_or("no call of it is under way")?;
        let _asking = self.asking();
        asker.sample(wanted).await
    }

    /// Whoever made the call that a question belongs to. A program of the revisions before 2026-07-28 does not say which:
    /// then it is whoever called last.
    async fn asker(&self, from: &Extensions) -> Option<Arc<dyn Asker>> {
        if let Some(CallAsker(asker)) = from.get::<CallAsker>() {
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
    fn asking(&self) -> AskingGuard {
        self.0.asking.fetch_add(1, Ordering::Relaxed);
        AskingGuard(self.clone())
    }

    /// Signs of life of a call, for as long as this is held.
    pub fn listen(&self, token: ProgressToken) -> (ProgressGuard, mpsc::Receiver<String>) {
        let (sender, receiver) = mpsc::channel(MAX_SIGNS);
        self.calls().insert(token.clone(), sender);
        let pending = self.clone();
        (ProgressGuard { pending, token }, receiver)
    }
}

struct AskingGuard(PendingCalls);

impl Drop for AskingGuard {
    fn drop(&mut self) {
        self.0.0.asking.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Marks a question whose caller is known.
#[derive(Clone)]
pub struct CallAsker(pub Option<Arc<dyn Asker>>);

pub struct AskerGuard {
    pending: PendingCalls,
    request: RequestId,
}

impl Drop for AskerGuard {
    fn drop(&mut self) {
        self.pending
            .askers()
            .retain(|(request, _)| *request != self.request);
    }
}

pub struct ProgressGuard {
    pending: PendingCalls,
    token: ProgressToken,
}

impl Drop for ProgressGuard {
    fn drop(&mut self) {
        self.pending.calls().remove(&self.token);
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
    pub log: ServerLog,
    pub pending: PendingCalls,
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
                match Form::page(message, url) {
                    Some(form) => form,
                    None => return Ok(ElicitResult::new(ElicitationAction::Decline)),
                }
            }
            _ => return Ok(ElicitResult::new(ElicitationAction::Decline)),
        };
        let is_page = form.page.is_some();
        Ok(match self.pending.ask(form, &context.extensions).await {
            FormReply::Accept(_) if is_page => ElicitResult::new(ElicitationAction::Accept),
            FormReply::Accept(values) => {
                ElicitResult::new(ElicitationAction::Accept).with_content(values.into())
            }
            FormReply::Decline => ElicitResult::new(ElicitationAction::Decline),
            FormReply::Cancel => ElicitResult::new(ElicitationAction::Cancel),
        })
    }

    async fn create_message(
        &self,
        request: CreateMessageRequestParams,
        context: RequestContext<RoleClient>,
    ) -> Result<CreateMessageResult, ErrorData> {
        let wanted = sampling::wanted(request);
        let wanted = wanted.map_err(|why| ErrorData::invalid_params(why, None))?;
        let said = self.pending.sample(wanted, &context.extensions).await;
        said.map(sampling::result)
            .map_err(|why| ErrorData::new(REFUSED, format!("No sampling: {why}."), None))
    }

    async fn on_progress(
        &self,
        params: ProgressNotificationParam,
        _: NotificationContext<RoleClient>,
    ) {
        let sender = self.pending.calls().get(&params.progress_token).cloned();
        if let Some(sender) = sender {
            // A sign that is dropped here is followed by the next one.
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
        self.log.append(line.as_bytes());
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.pending.change();
    }

    async fn on_prompt_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.pending.change();
    }

    async fn on_resource_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.pending.change();
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
        fn ask(&self, _: Form) -> BoxFuture<'_, FormReply> {
            Box::pin(std::future::ready(FormReply::Cancel))
        }

        fn sample(&self, _: SamplingRequest) -> BoxFuture<'_, Result<SamplingAnswer, String>> {
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
        let pending = PendingCalls::default();
        let [one, two]: [Arc<dyn Asker>; 2] = [Arc::new(Nobody), Arc::new(Nobody)];
        let id = |n: i64| RequestId::Number(n);
        let of = |n: i64| from(Some(InboundStreamOrigin::OutboundRequest(id(n))));
        let first = pending.register_asker(one.clone(), &id(1));
        let _second = pending.register_asker(two.clone(), &id(2));
        let mut marked = of(2);
        marked.insert(CallAsker(Some(one.clone())));
        let mut unasked = of(2);
        unasked.insert(CallAsker(None));
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
            let found = pending.asker(&from).await;
            assert!(match (&found, expect) {
                (Some(found), Some(expect)) => Arc::ptr_eq(found, expect),
                (None, None) => true,
                (Some(_), None) | (None, Some(_)) => false,
            });
        }
        drop(first);
        assert!(pending.asker(&of(1)).await.is_none());
    }

    #[tokio::test]
    async fn a_question_waits_until_its_caller_is_known() {
        let pending = PendingCalls::default();
        let sending = pending.sending().await;
        let from = from(None);
        assert!(pending.asker(&from).now_or_never().is_none());
        let _lent = pending.register_asker(Arc::new(Nobody), &RequestId::Number(1));
        drop(sending);
        assert!(pending.asker(&from).await.is_some());
    }
}
