//! Our own agent in the place of another one, when that one's fallback names a model of ours: a sub-agent session below the
//! session of the other agent, with the same role.

use super::Recorder;
use crate::session::hub::LocalHub;
use ostler_guard::Rule;
use ostler_sources::roles::Role;
use ostler_state::agents::children::{ChildSettings, post, post_prompt};
use ostler_state::agents::foreign::{OwnAgents, OwnEnd, OwnTask};
use ostler_wire::{BoxFuture, Client, Event, Op};
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// How long one that was told to stop may take before it is dropped.
const PATIENCE: Duration = Duration::from_secs(2);

pub struct OwnSession {
    pub hub: LocalHub,
    /// As the session of the other agent was to be opened.
    pub child: ChildSettings,
    pub role: Role,
    /// The session of the other agent.
    pub above: String,
    pub recorder: Arc<Recorder>,
}

impl OwnSession {
    fn settings(&self, task: &OwnTask) -> ChildSettings {
        let mut child = self.child.clone();
        child.parent.clone_from(&self.above);
        child.model.clone_from(&task.model);
        child.effort = None;
        if let Some(role) = &mut child.assigned_role {
            role.network = self.role.capabilities.network;
            role.continues.clone_from(&task.session);
        }
        if !self.role.capabilities.network
            && let Ok(rule) = Rule::parse("Net", &format!("role {}", self.role.name))
        {
            Arc::make_mut(&mut child.policy).rules.deny.push(rule);
        }
        child
    }

    async fn work(&self, task: OwnTask, cancel: CancellationToken) -> Result<OwnEnd, String> {
        let opened = self.hub.open_child(self.settings(&task));
        let (client, session) = opened.map_err(|error| error.to_string())?;
        let session = Stopping(session);
        let end = self.follow(client, task.prompt, &cancel).await;
        drop(session);
        self.recorder.add_spent(end.spent);
        Ok(end)
    }

    async fn follow(
        &self,
        mut client: Client,
        prompt: String,
        cancel: &CancellationToken,
    ) -> OwnEnd {
        let mut end = OwnEnd {
            session: client.session_id.clone(),
            ..OwnEnd::default()
        };
        // A session that is gone already shows by its events.
        let _ = client.ops.send(post_prompt(prompt)).await;
        let mut overdue = None;
        loop {
            tokio::select! {
                () = cancel.cancelled(), if overdue.is_none() => {
                    post(&client.ops, Op::Interrupt);
                    overdue = Some(tokio::time::Instant::now() + PATIENCE);
                }
                () = tokio::time::sleep_until(overdue.unwrap_or_else(tokio::time::Instant::now)), if overdue.is_some() => break,
                event = client.events.next() => match event {
                    Some(Event::Ask(ask)) => self.recorder.relay(&ask, client.ops.clone()),
                    Some(Event::Entry(entry)) => {
                        if end.take(&entry) {
                            break;
                        }
                    }
                    Some(Event::Delta(_) | Event::Reply(_)) => {}
                    None => break,
                },
            }
        }
        let _ = client.ops.try_send(Op::Close);
        end
    }
}

/// Ends the session with the task that waits for it.
struct Stopping(JoinHandle<()>);

impl Drop for Stopping {
    fn drop(&mut self) {
        let session = std::mem::replace(&mut self.0, tokio::spawn(std::future::ready(())));
        // It puts its things away by itself, unless it takes too long.
        tokio::spawn(async move {
            let abort = session.abort_handle();
            if tokio::time::timeout(PATIENCE, session).await.is_err() {
                abort.abort();
            }
        });
    }
}

impl OwnAgents for OwnSession {
    fn run(
        &self,
        task: OwnTask,
        cancel: CancellationToken,
    ) -> BoxFuture<'_, Result<OwnEnd, String>> {
        Box::pin(self.work(task, cancel))
    }
}
