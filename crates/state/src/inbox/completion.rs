//! Answers what clients want completed, in a task of its own: a slow folder holds up neither the session nor another client.
//! One listing runs for each client; of the requests that come meanwhile only the last is looked up, and each other one gets
//! an answer without items.

use super::{AnswerAtOnce, Inbox};
use futures_util::future::BoxFuture;
use futures_util::stream::{FuturesUnordered, StreamExt as _};
use ostler_context::clients::feed::Feed;
use ostler_sources::completion::Completer;
use ostler_wire::{ClientId, Completion, CompletionRequest, ReplyTo, View};
use std::collections::HashMap;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

/// Requests that may wait for the task; it only sorts them, so more is a client that floods.
const MAX_REQUESTS: usize = 256;
/// How long answers are waited for when the session is over.
const PATIENCE: Duration = Duration::from_secs(2);

/// What is answered the moment it comes.
pub(super) struct AtOnce {
    pub command: AnswerAtOnce,
    pub completions: Option<Completions>,
}

/// The task that answers. Dropping it stops the work.
pub(super) struct Completions {
    requests: mpsc::Sender<Wanted>,
    task: JoinHandle<()>,
}

impl Drop for Completions {
    fn drop(&mut self) {
        self.task.abort();
    }
}

struct Wanted {
    request: CompletionRequest,
    reply_to: ReplyTo,
}

/// The requests of one client.
#[derive(Default)]
struct Slot {
    /// It is looked up. `None` once a newer one came.
    current: Option<Wanted>,
    next: Option<Wanted>,
}

type Listing = BoxFuture<'static, (ClientId, Completion)>;

struct Answering {
    completer: Completer,
    feed: Feed,
    slots: HashMap<ClientId, Slot>,
    listings: FuturesUnordered<Listing>,
}

impl Completions {
    pub fn start(completer: Completer, feed: Feed) -> Self {
        let (requests, wanted) = mpsc::channel(MAX_REQUESTS);
        let answering = Answering {
            completer,
            feed,
            slots: HashMap::new(),
            listings: FuturesUnordered::new(),
        };
        Self {
            requests,
            task: tokio::spawn(answering.run(wanted)),
        }
    }
}

impl Answering {
    async fn run(mut self, mut wanted: mpsc::Receiver<Wanted>) {
        let mut is_open = true;
        while is_open || !self.listings.is_empty() {
            tokio::select! {
                biased;
                wanted = wanted.recv(), if is_open => match wanted {
                    Some(wanted) => self.take(wanted),
                    None => is_open = false,
                },
                Some((client, found)) = self.listings.next() => self.answer(client, found),
            }
        }
    }

    fn take(&mut self, wanted: Wanted) {
        let client = wanted.reply_to.client;
        let Some(slot) = self.slots.get_mut(&client) else {
            return self.begin(client, wanted);
        };
        let older = [slot.current.take(), slot.next.replace(wanted)];
        for Wanted { request, reply_to } in older.into_iter().flatten() {
            reply(&self.feed, &reply_to, request.superseded());
        }
    }

    fn begin(&mut self, client: ClientId, wanted: Wanted) {
        let (completer, request) = (self.completer.clone(), wanted.request.clone());
        let listing = async move { (client, completer.complete(&request).await) };
        self.listings.push(Box::pin(listing));
        let slot = self.slots.entry(client).or_default();
        slot.current = Some(wanted);
    }

    fn answer(&mut self, client: ClientId, found: Completion) {
        let slot = self.slots.remove(&client).unwrap_or_default();
        if let Some(Wanted { reply_to, .. }) = slot.current {
            reply(&self.feed, &reply_to, found);
        }
        if let Some(next) = slot.next {
            self.begin(client, next);
        }
    }
}

fn reply(feed: &Feed, to: &ReplyTo, completion: Completion) {
    feed.reply(to, "", View::Completion(completion));
}

impl Inbox {
    /// Sets what answers commands that wait for nothing, and what finds the names behind `@`.
    pub fn answer_with(&mut self, command: AnswerAtOnce, completer: Completer) {
        self.at_once = AtOnce {
            command,
            completions: Some(Completions::start(completer, self.feed.clone())),
        };
    }

    /// A client wants to know what can follow `@`. It gets one answer, whatever happens.
    pub(super) fn complete(&self, request: CompletionRequest, reply_to: ReplyTo) {
        let wanted = Wanted { request, reply_to };
        let refused = match &self.at_once.completions {
            Some(task) => task.requests.try_send(wanted).err(),
            None => Some(mpsc::error::TrySendError::Closed(wanted)),
        };
        if let Some(refused) = refused {
            let Wanted { request, reply_to } = refused.into_inner();
            reply(&self.feed, &reply_to, request.superseded());
        }
    }

    /// The session is over: what clients asked for before is still answered.
    pub async fn finish_completions(&mut self) {
        let Some(mut completions) = self.at_once.completions.take() else {
            return;
        };
        // Nothing more can be asked of it.
        let (closed, _) = mpsc::channel(1);
        drop(std::mem::replace(&mut completions.requests, closed));
        // A folder on a dead disk is not waited for.
        let _ = tokio::time::timeout(PATIENCE, &mut completions.task).await;
    }
}
