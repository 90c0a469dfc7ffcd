//! What a run of a tool works with. The sandbox is part of it: dispatch has it made for the terms that a call was judged for, and
//! a tool only has its `Programs` to start one in it.

use crate::SessionState;
use crate::agents::Delegation;
use crate::agents::foreign::Approval;
use crate::permissions::Leave;
use crate::servers::ServerServices;
use ostler_confine::{CallSandbox, HistoryGround, Terms};
use ostler_context::side_request::SideRequest;
use ostler_tools::tool::{Context, Delegate, Extension, Services};
use ostler_wire::{ToolDeclaration, ToolKind, is_server_tool};
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

impl SessionState {
    /// What a run of this tool works with.
    pub fn context(
        &self,
        call_id: &str,
        tool: &ToolDeclaration,
        leave: &Leave,
        cancel: CancellationToken,
    ) -> Context {
        if let Some(temp) = &self.services.sandbox.settings.temp {
            // What cannot be made is said by the command or tool that wants it.
            let _ = temp.scratch.make();
        }
        let terms = self.permissions.terms(&self.policy.rules, leave);
        let sandbox = self.sandbox_with(call_id, terms, leave);
        let delegates = tool.kind == ToolKind::Delegate;
        Context {
            call_id: call_id.to_owned(),
            tool: tool.name.as_ref().into(),
            scope: self.scope.clone(),
            host: self.services.host.clone(),
            guard: self.guard(tool).opening(&leave.paths),
            cancel: cancel.clone(),
            deltas: self.feed.sink(),
            language: self.settings.language,
            artifacts: self.services.artifacts.clone(),
            answer: None,
            services: Services {
                settings: self.services.settings.clone(),
                seen: self.services.seen.clone(),
                hidden: sandbox.settings.policy.forbid_read.as_slice().into(),
                jobs: self.services.jobs.clone(),
                history: self.services.history.clone(),
                memory: self.settings.recall.memory.clone(),
                todo: self.services.todo.clone(),
                extension: match is_server_tool(&tool.name) {
                    true => Extension::new(self.server_services(sandbox.clone(), cancel)),
                    false => Extension::default(),
                },
                delegate: delegates.then(|| -> Arc<dyn Delegate> {
                    Arc::new(self.delegation_of(sandbox.clone(), leave))
                }),
                programs: Arc::new(sandbox),
            },
        }
    }

    /// The same for a call. What it was not given by anybody binds another agent, not the git that makes worktrees.
    fn delegation_of(&self, mut sandbox: CallSandbox, leave: &Leave) -> Delegation {
        sandbox.terms.sees_as_reader = false;
        sandbox.terms.shown.clear();
        Delegation {
            approval: match leave.sees_as_reader {
                true => Approval::Held,
                false => Approval::Given,
            },
            ..self.delegation(sandbox)
        }
    }

    /// The sandbox of a call's programs under these terms.
    pub fn call_sandbox(&self, call_id: &str, terms: Terms) -> CallSandbox {
        let services = &self.services;
        CallSandbox {
            host: services.host.clone(),
            settings: services.sandbox.settings.clone(),
            share: services.sandbox.share.clone(),
            policy: self.policy.clone(),
            tools: services.settings.clone(),
            artifacts: services.artifacts.clone(),
            scope: self.scope.clone(),
            call_id: call_id.to_owned(),
            terms,
            history: None,
            pane: services.sandbox.pane.clone(),
            terminal: services.sandbox.terminal.clone(),
        }
    }

    /// The same for a call with this leave: what nobody approved takes nothing of the history.
    pub fn sandbox_with(&self, call_id: &str, terms: Terms, leave: &Leave) -> CallSandbox {
        let ground = || HistoryGround {
            root: self.scope.root.clone(),
            place: self.services.checkpoints.place(),
        };
        CallSandbox {
            history: leave.is_unapproved.then(ground),
            ..self.call_sandbox(call_id, terms)
        }
    }

    /// For a tool of a server.
    fn server_services(&self, sandbox: CallSandbox, cancel: CancellationToken) -> ServerServices {
        ServerServices {
            sandbox,
            questions: self.settings.server_questions.clone(),
            side_request: self.side_request(cancel),
        }
    }

    /// A request beside the conversation, to its model.
    pub fn side_request(&self, cancel: CancellationToken) -> SideRequest {
        SideRequest {
            account: self.account.clone(),
            model: self.conversation.model.clone(),
            feed: self.feed.clone(),
            language: self.settings.language,
            services: self.settings.side_requests.services.clone(),
            cancel,
        }
    }
}
