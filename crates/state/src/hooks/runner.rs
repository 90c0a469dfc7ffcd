//! Hooks that tell the person that they are waited for. Nobody waits for these, and what they print is not looked at.

use super::run::{Ended, HookContext, run};
use super::{Hook, HookSession, Moment, facts::Facts, verdict};
use ostler_tools::builtin::declaration;
use ostler_wire::{Ask, AskKind, Delta, Language, ToolMark, View};
use serde_json::Value;
use std::sync::Arc;
use tokio::sync::Semaphore;

/// Notifications on their way at once; more are dropped.
const MAX_RINGING: usize = 4;
/// Characters of what the person is asked.
const MAX_MESSAGE: usize = 2_000;

pub struct HookRunner {
    hooks: Vec<Hook>,
    /// What every one of them is told, as an object.
    facts: Value,
    cx: HookContext,
    language: Language,
    room: Arc<Semaphore>,
}

impl HookRunner {
    /// None where no hook waits for notifications.
    pub fn new(session: HookSession<'_>) -> Option<Self> {
        let hooks = session.hooks.all().iter();
        let hooks: Vec<Hook> = hooks
            .filter(|h| h.moment == Moment::Notification)
            .cloned()
            .collect();
        if hooks.is_empty() {
            return None;
        }
        let facts = Facts::new(Moment::Notification).to_json(&session);
        Some(Self {
            hooks,
            facts: serde_json::from_str(&facts).unwrap_or_default(),
            language: session.facts.language,
            cx: session.context,
            room: Arc::new(Semaphore::new(MAX_RINGING)),
        })
    }

    pub fn notify(&self, ask: &Ask) {
        let kind = kind(ask.kind);
        let hooks: Vec<Hook> = self
            .hooks
            .iter()
            .filter(|h| h.matcher.takes(kind))
            .cloned()
            .collect();
        let Ok(room) = self.room.clone().try_acquire_owned() else {
            return;
        };
        let mut facts = self.facts.clone();
        if let Some(facts) = facts.as_object_mut() {
            let message = match ask.tool.as_deref() {
                Some(tool) if is_private(tool) => tool,
                Some(_) | None => ask.subject.as_str(),
            };
            let message: String = message.chars().take(MAX_MESSAGE).collect();
            facts.insert("message".into(), message.into());
            facts.insert("title".into(), "Ostler".into());
            facts.insert("notification_type".into(), kind.into());
        }
        let (facts, cx, language) = (facts.to_string(), self.cx.clone(), self.language);
        tokio::spawn(async move {
            for hook in hooks {
                let ended = match run(&hook, &facts, &cx.placed(hook.on)).await {
                    Ended::Exited(code, _, stderr) => Ended::Exited(code, String::new(), stderr),
                    ended @ (Ended::TimedOut | Ended::Cancelled | Ended::NotRun(_)) => ended,
                };
                for text in verdict::judge(&hook, ended, language).notices {
                    let view = View::Error(text);
                    let view = Box::new(view);
                    cx.cx.deltas.send(Delta::Announcement { view });
                }
            }
            drop(room);
        });
    }
}

/// Whether a hook gets the name of a tool alone.
fn is_private(tool: &str) -> bool {
    declaration(tool).is_some_and(|about| about.has(ToolMark::Private))
}

fn kind(kind: AskKind) -> &'static str {
    match kind {
        AskKind::Permission | AskKind::Plan | AskKind::Trust | AskKind::Budget => {
            "permission_prompt"
        }
        AskKind::Question | AskKind::Elicitation | AskKind::Secret => "elicitation_dialog",
    }
}
