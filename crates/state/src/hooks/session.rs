//! The hooks of one session at its moments: which of them are meant, what they are told, and what they say together. The
//! caller writes their notices into the log.

use super::facts::{self, Facts};
use super::{
    Changed, Greeting, Hook, HookContext, Hooks, MAX_STOPS, Matcher, Moment, Permission, QUIET,
    Said, Start, hear,
};
use crate::inbox::Inbox;
use ostler_context::clients::feed::Feed;
use ostler_guard::{Call, Mode, Posture, resolve};
use ostler_wire::{Access, Delta, Json, Language, Message, ToolDeclaration, Word};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

/// What hooks are told of the session that they run in.
#[derive(Clone)]
pub struct SessionFacts {
    pub session: String,
    /// The session that started it, whose affair its prompts and its end are.
    pub parent: Option<String>,
    /// The role that it plays for its parent.
    pub role: Option<String>,
    pub mode: Mode,
    pub posture: Posture,
    pub language: Language,
}

/// What hooks may know of a call.
pub struct HookedCall<'a> {
    pub id: &'a str,
    pub tool: &'a ToolDeclaration,
    /// The arguments as the model wrote them.
    pub input: &'a Json,
    /// The same, read.
    pub args: &'a Value,
    pub accesses: &'a [Access],
    /// It puts a question to the person, which no hook may change.
    pub asks: bool,
}

/// A session as its hooks see it.
pub struct HookSession<'a> {
    pub hooks: &'a mut Hooks,
    pub facts: SessionFacts,
    /// What a hook runs in.
    pub context: HookContext,
    pub feed: &'a Feed,
}

impl HookSession<'_> {
    /// Runs hooks one after the other, until one says no. A stop of the turn ends them, too.
    async fn fire(
        &mut self,
        inbox: &mut Inbox,
        hooks: Vec<Hook>,
        facts: Facts,
        cancel: &CancellationToken,
    ) -> Said {
        let mut said = Said::default();
        let facts = facts.to_json(self);
        for hook in hooks {
            if cancel.is_cancelled() {
                break;
            }
            let language = self.facts.language;
            let running = async {
                let mut running = Box::pin(hear(&hook, &facts, &self.context));
                tokio::select! {
                    biased;
                    said = &mut running => return said,
                    () = tokio::time::sleep(QUIET) => {}
                }
                self.show_progress(&language.fill(Word::HookRuns, &[&hook.shown()]));
                let said = running.await;
                self.show_progress("");
                said
            };
            said.add(inbox.attend(running).await.unwrap_or_default());
            if said.block.is_some() || said.halt.is_some() {
                break;
            }
        }
        said.notices = self.hooks.news(std::mem::take(&mut said.notices));
        said
    }

    fn show_progress(&self, text: &str) {
        self.feed.delta(Delta::Progress {
            id: String::new(),
            name: "hook".into(),
            text: text.into(),
        });
    }

    fn meant_by(&self, moment: Moment, subject: &str) -> Vec<Hook> {
        self.hooks.of(moment, subject).cloned().collect()
    }

    /// Before the first prompt of a process.
    pub async fn on_start(
        &mut self,
        inbox: &mut Inbox,
        start: Start,
        greeting: &mut Greeting,
        cancel: &CancellationToken,
    ) {
        let source = match start {
            Start::New => "startup",
            Start::Resumed => "resume",
            Start::Not => return,
        };
        let hooks = self.meant_by(Moment::SessionStart, source);
        if hooks.is_empty() {
            return;
        }
        let facts = Facts::new(Moment::SessionStart).with("source", source);
        let mut said = self.fire(inbox, hooks, facts, cancel).await;
        said.block = None;
        greeting.unheard = cancel.is_cancelled();
        greeting.take(Moment::SessionStart, said);
    }

    /// Before a prompt is taken in.
    pub async fn on_prompt(
        &mut self,
        inbox: &mut Inbox,
        prompt: &str,
        greeting: &mut Greeting,
        cancel: &CancellationToken,
    ) {
        let hooks = self.meant_by(Moment::UserPrompt, "");
        let facts = Facts::new(Moment::UserPrompt).with("prompt", prompt);
        let said = self.fire(inbox, hooks, facts, cancel).await;
        greeting.unheard = cancel.is_cancelled();
        greeting.take(Moment::UserPrompt, said);
    }

    /// The hooks that a call is for.
    async fn meant(&self, moment: Moment, call: &HookedCall<'_>) -> Vec<(usize, Hook)> {
        let mut meant = Vec::new();
        let all = self.hooks.all.iter().enumerate();
        for (place, hook) in all.filter(|(_, hook)| hook.moment == moment) {
            let mut takes = true;
            for matcher in std::iter::once(&hook.matcher).chain(&hook.only) {
                takes = takes && self.takes_call(matcher, call).await;
            }
            if takes {
                meant.push((place, hook.clone()));
            }
        }
        meant
    }

    async fn takes_call(&self, matcher: &Matcher, call: &HookedCall<'_>) -> bool {
        let scope = &self.context.cx.scope;
        let resolved = match matcher.policy() {
            Some(policy) => {
                let host = self.context.cx.host.as_ref();
                resolve::resolved(host, call.accesses, policy, scope).await
            }
            None => Vec::new(),
        };
        matcher.takes_call(Call {
            tool: call.tool,
            accesses: call.accesses,
            scope,
            resolved: &resolved,
        })
    }

    /// Before a call. What hooks want the model to know goes with the results. `heard`: hooks that had their change.
    pub async fn before_call(
        &mut self,
        inbox: &mut Inbox,
        (call, heard): (&HookedCall<'_>, &[usize]),
        cancel: &CancellationToken,
    ) -> (Said, Option<Changed>) {
        let facts = Facts::of_call(Moment::PreTool, call, &self.context.cx.scope);
        let mut said = Said::default();
        for (place, hook) in self.meant(Moment::PreTool, call).await {
            let name = hook.shown();
            let mut one = self.fire(inbox, vec![hook], facts.clone(), cancel).await;
            if one.permission == Permission::Allow && speaks_as_hook(call.input) {
                one.permission = Permission::AsEver;
                let language = self.facts.language;
                one.notices
                    .push(language.fill(Word::HookAllowsEcho, &[&name]));
            }
            let changed = one.input.take().filter(|_| !heard.contains(&place));
            let scope = &self.context.cx.scope;
            let changed = changed.and_then(|input| facts::taken_back(call, input, scope));
            said.add(one);
            if said.block.is_some() || said.halt.is_some() {
                break;
            }
            if let Some(args) = changed {
                return (said, Some((place, args)));
            }
        }
        (said, None)
    }

    /// After a call that has given `data`.
    pub async fn after_call(
        &mut self,
        inbox: &mut Inbox,
        call: &HookedCall<'_>,
        data: Value,
        cancel: &CancellationToken,
    ) -> Said {
        let hooks = self.meant(Moment::PostTool, call).await;
        let hooks: Vec<Hook> = hooks.into_iter().map(|(_, hook)| hook).collect();
        if hooks.is_empty() || cancel.is_cancelled() {
            return Said::default();
        }
        let facts = Facts::of_call(Moment::PostTool, call, &self.context.cx.scope);
        let facts = facts.with_result(call, data);
        self.fire(inbox, hooks, facts, cancel).await
    }

    /// Why the model shall go on although it has nothing more to do, and what the person is told. `sent_on` counts how
    /// often the model was sent on.
    pub async fn before_stop(
        &mut self,
        inbox: &mut Inbox,
        last_answer: String,
        sent_on: &mut u32,
        cancel: &CancellationToken,
    ) -> (Option<Message>, Vec<String>) {
        let moment = self.facts.end_moment();
        let role = self
            .facts
            .role
            .clone()
            .filter(|_| moment == Moment::SubagentStop);
        // A prompt in the background plays no role, and ends without a word to hooks.
        if moment == Moment::SubagentStop && role.is_none() {
            return (None, Vec::new());
        }
        let hooks = self.meant_by(moment, &role.clone().unwrap_or_default());
        if hooks.is_empty() {
            return (None, Vec::new());
        }
        let mut facts = Facts::new(moment)
            .with("stop_hook_active", *sent_on > 0)
            .with("last_assistant_message", last_answer);
        if let Some(role) = role {
            let transcript = self.hooks.transcript.as_deref();
            let transcript = transcript.map_or_else(String::new, |path| path.display().to_string());
            let parent = self.facts.parent.clone().unwrap_or_default();
            facts = facts
                .with("session_id", parent)
                .with("agent_id", self.facts.session.as_str())
                .with("agent_type", role)
                .with("agent_transcript_path", transcript);
        }
        let mut said = self.fire(inbox, hooks, facts, cancel).await;
        let why = said.block.take().filter(|_| said.halt.is_none());
        if why.is_some() && *sent_on == MAX_STOPS {
            let most = MAX_STOPS.to_string();
            let text = self.facts.language.fill(Word::HookStops, &[&most]);
            said.notices.push(text);
        }
        let note = why.filter(|_| *sent_on < MAX_STOPS).map(|why| {
            *sent_on += 1;
            Message::note(format!("[A hook says that you are not done: {why}]"))
        });
        (note, said.notices)
    }

    /// Before older work is folded. What the person is told.
    pub async fn before_fold(
        &mut self,
        inbox: &mut Inbox,
        (trigger, focus): (&str, Option<&str>),
        cancel: &CancellationToken,
    ) -> Vec<String> {
        let hooks = self.meant_by(Moment::PreCompact, trigger);
        if hooks.is_empty() {
            return Vec::new();
        }
        let facts = Facts::new(Moment::PreCompact)
            .with("trigger", trigger)
            .with("custom_instructions", focus.unwrap_or_default());
        self.fire(inbox, hooks, facts, cancel).await.notices
    }
}

/// Whether the arguments of a call hold the words by which a hook allows one: a hook that prints what it is given, such as
/// one that keeps a log, would pass on the model's words as its own.
fn speaks_as_hook(input: &Json) -> bool {
    let text = input.get().to_ascii_lowercase();
    // Escapes of JSON can spell any letter.
    ["decision", "\\u"].iter().any(|word| text.contains(word))
}

impl SessionFacts {
    /// The moment at which a turn of this session ends.
    pub fn end_moment(&self) -> Moment {
        match self.parent {
            Some(_) => Moment::SubagentStop,
            None => Moment::Stop,
        }
    }
}
