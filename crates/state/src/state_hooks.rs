//! The state as the hooks of the session see it.

use crate::SessionState;
use crate::hooks::{
    CALL_ID, HookContext, HookRunner, HookSession, Moment, Said, SessionFacts, notices,
};
use crate::inbox::Notify;
use crate::permissions::Leave;
use ostler_confine::{CallSandbox, Terms};
use ostler_store::log::LogError;
use ostler_tools::builtin::bash::Bash;
use ostler_tools::tool::Typed as _;
use std::time::Instant;
use tokio_util::sync::CancellationToken;

impl SessionState {
    /// Whether a session above started this one: its prompts and its end are the business of that.
    pub fn is_child(&self) -> bool {
        self.account.budget_session != self.account.session
    }

    /// The session for hooks of this moment; `None` where none is set.
    pub fn hook_session(
        &mut self,
        moment: Moment,
        cancel: &CancellationToken,
    ) -> Option<HookSession<'_>> {
        if !self.settings.hooks.has(moment) {
            return None;
        }
        let parent = Some(&self.account.budget_session).filter(|_| self.is_child());
        let facts = SessionFacts {
            session: self.account.session.clone(),
            parent: parent.cloned(),
            role: self.extensions.agents.role.clone(),
            mode: self.permissions.mode,
            posture: self.permissions.posture(&Bash::ABOUT, Instant::now()),
            language: self.settings.language,
        };
        let context = self.hook_context(cancel.clone());
        Some(HookSession {
            hooks: &mut self.settings.hooks,
            facts,
            context,
            feed: &self.feed,
        })
    }

    /// What a command of the model would have, without anything that was granted to one call.
    fn hook_context(&self, cancel: CancellationToken) -> HookContext {
        let leave = Leave::default();
        let terms = self.permissions.terms(&self.policy.rules, &leave);
        let cx = self.context(CALL_ID, &Bash::ABOUT, &leave, cancel);
        HookContext {
            cx: cx.with_services(()),
            machine: self.machine_sandbox(),
            sandbox: self.call_sandbox(CALL_ID, terms),
        }
    }

    /// The sandbox of programs on this machine, where the session is at another place.
    fn machine_sandbox(&self) -> Option<CallSandbox> {
        let machine = self.services.sandbox.machine.as_ref()?;
        let services = &self.services;
        Some(CallSandbox {
            host: machine.host.clone(),
            settings: machine.sandbox.clone(),
            share: machine.share.clone(),
            policy: self.policy.clone(),
            tools: machine.tools.clone(),
            artifacts: services.artifacts.clone(),
            scope: machine.scope.clone(),
            call_id: CALL_ID.into(),
            // What was granted was granted for the place.
            terms: Terms::default(),
            history: None,
            pane: None,
            terminal: None,
        })
    }

    /// What runs when the person is asked something. The parent of a child puts the questions of it.
    pub fn notifier(&mut self) -> Option<Notify> {
        if self.is_child() {
            return None;
        }
        let session = self.hook_session(Moment::Notification, &CancellationToken::new())?;
        let runner = HookRunner::new(session)?;
        Some(Box::new(move |ask| runner.notify(ask)))
    }

    /// Writes into the log what hooks have for the person.
    pub fn tell_hook_notices(&mut self, said: &mut Said) -> Result<(), LogError> {
        match std::mem::take(&mut said.notices) {
            texts if texts.is_empty() => Ok(()),
            texts => self.commit(notices(texts)),
        }
    }
}
