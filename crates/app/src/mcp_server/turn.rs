//! A prompt in a session, followed to its end: progress to the client, questions to its person, and a stop when the client
//! wants one or the time is over.

use super::asks::{self, Answer};
use super::report::{self, Report, Status};
use futures_util::StreamExt as _;
use futures_util::future::{AbortHandle, Aborted, BoxFuture, abortable};
use futures_util::stream::FuturesUnordered;
use ostler_mcp::server::CallClient;
use ostler_wire::{Ask, Client, Delivery, Delta, Event, Op, OpSender};
use std::collections::HashMap;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::time::{MissedTickBehavior, interval_at, sleep_until};

/// Between two signs of life while nothing happens.
const BEAT: Duration = Duration::from_secs(10);
/// How long a turn that was stopped may take before what does not stop is killed, and before it is left.
const PATIENCE: Duration = Duration::from_millis(1500);
const LEAVING: Duration = Duration::from_secs(4);

type Asking<'a> = BoxFuture<'a, Result<(Arc<Ask>, Answer), Aborted>>;

struct Turn<'a> {
    ops: OpSender,
    caller: &'a CallClient,
    report: Report,
    asking: FuturesUnordered<Asking<'a>>,
    open: HashMap<String, AbortHandle>,
    /// What it did last.
    doing: String,
    stop: Option<Stopping>,
}

struct Stopping {
    status: Status,
    /// When the next thing is done about it.
    next: tokio::time::Instant,
    was_killed: bool,
}

/// Runs a prompt to its end.
pub async fn run(
    session: &mut Client,
    prompt: String,
    caller: &CallClient,
    limit: Option<Duration>,
) -> (Report, Status) {
    let start = tokio::time::Instant::now();
    let mut turn = Turn {
        ops: session.ops.clone(),
        caller,
        report: Report::default(),
        asking: FuturesUnordered::new(),
        open: HashMap::new(),
        doing: "Thinking".into(),
        stop: None,
    };
    let op = Op::Prompt {
        text: prompt,
        delivery: Delivery::Queue,
        images: Vec::new(),
    };
    if turn.ops.send(op).await.is_err() {
        return (turn.report, Status::Lost);
    }
    caller.progress(&turn.doing).await;
    let mut beat = interval_at(start + BEAT, BEAT);
    beat.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let began = Instant::now();
    loop {
        let is_running = turn.stop.is_none();
        let over = limit.map(|limit| start + limit).filter(|_| is_running);
        let next = turn.stop.as_ref().map(|stop| stop.next);
        let ended = tokio::select! {
            event = session.events.next() => match event {
                Some(event) => turn.event(event).await,
                None => Some(Status::Lost),
            },
            Some(answered) = turn.asking.next(), if !turn.asking.is_empty() => {
                if let Ok((ask, answer)) = answered {
                    turn.answered(&ask, &answer).await;
                }
                None
            }
            _ = beat.tick(), if is_running && caller.wants_progress() => {
                let seconds = began.elapsed().as_secs();
                caller.progress(&format!("{} ({seconds} s)", turn.doing)).await;
                None
            }
            () = caller.stopped().cancelled(), if is_running => {
                turn.stop(Status::Cancelled).await;
                None
            }
            () = at(over) => {
                turn.stop(Status::TimedOut).await;
                None
            }
            () = at(next) => turn.press().await,
        };
        if let Some(status) = ended {
            let status = turn.stop.map_or(status, |stop| stop.status);
            return (turn.report, status);
        }
    }
}

async fn at(when: Option<tokio::time::Instant>) {
    match when {
        Some(when) => sleep_until(when).await,
        None => std::future::pending().await,
    }
}

impl<'a> Turn<'a> {
    /// Takes an event in; how the task ended, if it did.
    async fn event(&mut self, event: Event) -> Option<Status> {
        match event {
            Event::Entry(entry) => {
                if let Some(line) = report::progress(&entry) {
                    self.tell(line).await;
                }
                match self.report.follow(&entry) {
                    ControlFlow::Break(outcome) => Some(Status::Turn(outcome)),
                    ControlFlow::Continue(()) => None,
                }
            }
            Event::Ask(ask) => {
                self.ask(ask).await;
                None
            }
            Event::Delta(delta) => self.delta(delta).await,
            Event::Reply(_) => None,
        }
    }

    async fn delta(&mut self, delta: Delta) -> Option<Status> {
        match delta {
            Delta::AskClosed { ask, .. } => {
                if let Some(asking) = self.open.remove(&ask) {
                    asking.abort();
                }
                None
            }
            Delta::Retry {
                after_ms, reason, ..
            } => {
                let seconds = after_ms.div_ceil(1000);
                self.tell(format!("Trying again in {seconds} s: {reason}"))
                    .await;
                None
            }
            Delta::Unrecorded { message } => {
                self.report.fail(message);
                Some(Status::Lost)
            }
            Delta::Idle => Some(Status::Lost),
            Delta::AssistantDelta { .. }
            | Delta::ReasoningDelta { .. }
            | Delta::ToolStarted { .. }
            | Delta::ToolOutput { .. }
            | Delta::Progress { .. }
            | Delta::Mode { .. }
            | Delta::Budget { .. }
            | Delta::Announcement { .. }
            | Delta::OpArrived { .. }
            | Delta::OpDone { .. }
            | Delta::Clients(_)
            | Delta::Queue { .. }
            | Delta::Tasks { .. }
            | Delta::Jobs { .. } => None,
        }
    }

    async fn tell(&mut self, line: String) {
        self.doing = line;
        if self.stop.is_none() {
            self.caller.progress(&self.doing).await;
        }
    }

    /// Where nobody can be asked the session has its own answer.
    async fn ask(&mut self, ask: Arc<Ask>) {
        if !self.caller.can_ask() || self.stop.is_some() {
            return;
        }
        self.tell("Waiting for the person's answer".into()).await;
        let (name, caller) = (ask.ask.clone(), self.caller);
        let put = async move {
            let answer = asks::put(&ask, caller).await;
            (ask, answer)
        };
        let (put, handle) = abortable(put);
        self.asking.push(Box::pin(put));
        self.open.insert(name, handle);
    }

    async fn answered(&mut self, ask: &Ask, answer: &Answer) {
        // It was closed meanwhile.
        if self.open.remove(&ask.ask).is_none() {
            return;
        }
        if let Answer::Unasked(why) = answer {
            self.report
                .warn(&format!("The client could not put a question: {why}"));
        }
        // The session may have ended while the person thought.
        let _ = self.ops.send(answer.op(ask)).await;
    }

    async fn stop(&mut self, status: Status) {
        for (_, asking) in self.open.drain() {
            asking.abort();
        }
        self.stop = Some(Stopping {
            status,
            next: tokio::time::Instant::now() + PATIENCE,
            was_killed: false,
        });
        let _ = self.ops.send(Op::Interrupt).await;
    }

    /// What was stopped has not ended yet.
    async fn press(&mut self) -> Option<Status> {
        let stop = self.stop.as_mut()?;
        if stop.was_killed {
            return Some(stop.status);
        }
        stop.was_killed = true;
        stop.next = tokio::time::Instant::now() + LEAVING;
        let _ = self.ops.send(Op::Interrupt).await;
        None
    }
}
