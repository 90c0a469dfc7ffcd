//! Opening a session that another process may have open: by whom it is held, and how it is taken over when that process is
//! gone.

use super::{LocalHub, Past};
use crate::log::{self, LogError};
use crate::store::moved;
use crate::tool::Scope;
use crate::turn::cut_result;
use ostler_context::clients::feed::clean_view;
use ostler_context::clients::live::LiveSessions;
use ostler_guard::{Posture, Rule, Stance};
use ostler_sources::completion::Completer;
use ostler_state::permissions::{SESSION, names_of};
use ostler_wire::{
    Body, Client, Completion, CompletionRequest, Entry, Hub, HubError, Interrupted, Language, Mode,
    Open, Outcome, Role, SessionInfo, TurnEnd, View, Word,
};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

/// Why a session could not be opened.
#[derive(Debug)]
pub enum OpenError {
    /// It is open already, in this process or another one.
    Live {
        id: String,
        /// The same as a sentence for the person.
        message: String,
    },
    Failed(HubError),
}

impl OpenError {
    pub(crate) fn of(error: LogError, language: Language) -> Self {
        let message = error.say(language);
        match error {
            LogError::Locked { id } => Self::Live { id, message },
            LogError::Io { .. } => Self::Failed(HubError(message)),
        }
    }
}

impl From<HubError> for OpenError {
    fn from(error: HubError) -> Self {
        Self::Failed(error)
    }
}

impl From<OpenError> for HubError {
    fn from(error: OpenError) -> Self {
        match error {
            OpenError::Live { message, .. } => Self(message),
            OpenError::Failed(error) => error,
        }
    }
}

impl Hub for LocalHub {
    async fn open(&self, which: Open) -> Result<Client, HubError> {
        Ok(self.try_open(which).await?)
    }

    async fn attach(&self, id: &str, after: Option<u64>) -> Result<Client, HubError> {
        self.live
            .attach(id, after)
            .ok_or_else(|| HubError(self.options.run.language.fill(Word::NotLive, &[id])))
    }

    fn list(&self) -> Result<Vec<SessionInfo>, HubError> {
        self.store().list().map_err(HubError)
    }

    async fn command(&self, line: &str) -> Result<View, HubError> {
        let Some(commands) = &self.options.commands.hub else {
            let text = self.options.run.language.fill(Word::NoCommand, &[line]);
            return Err(HubError(text));
        };
        let mut view = commands.answer(line.to_owned()).await?;
        clean_view(&self.options.run.redactor, &mut view);
        Ok(view)
    }

    async fn complete(&self, request: &CompletionRequest) -> Completion {
        let (policy, paths) = (&self.options.permissions.policy, &self.options.paths);
        let scope = Scope::new(&paths.root, paths.user_home.clone());
        let scope = scope.with_trees(policy.folders.trees());
        let host = self.options.toolbox.host.clone();
        Completer::offering(host, scope, policy)
            .complete(request)
            .await
    }
}

impl LocalHub {
    /// The sessions that run in this process.
    pub fn live(&self) -> &LiveSessions {
        &self.live
    }

    /// The same hub, whose sessions are registered with those of another one of this process.
    pub fn joining(mut self, live: LiveSessions) -> Self {
        self.live = live;
        self
    }

    /// Opens a session, unless it is open already.
    pub async fn try_open(&self, which: Open) -> Result<Client, OpenError> {
        if let Some(path) = self.path_to_own(&which)? {
            // Before servers are started for nothing.
            log::check_free(&path).map_err(|e| OpenError::of(e, self.options.run.language))?;
        }
        if let Some(role) = &self.options.agents.in_place {
            return Ok(self.open_in_place(self.past(which)?, role.clone())?);
        }
        if self.options.run.recall && self.memory.is_there() {
            let memory = self.memory.clone();
            drop(tokio::task::spawn_blocking(move || memory.warm()));
        }
        let failed = self.call_servers().await?;
        let past = self.past(which)?;
        let Some(stood) = past.stood.as_ref().map(of_person) else {
            return Ok(self.new_session(past, failed)?);
        };
        let mut notes = failed;
        notes.extend(describe_strictness(&stood, self.options.run.language));
        Ok(self.kept_strict(&stood).new_session(past, notes)?)
    }

    /// Opens a session whose process is gone, for a client that has seen its entries up to `after` and knows how it stood.
    /// A turn that was cut off is ended. What was tightened for the session holds on; what was allowed for it does not.
    pub async fn take_over(
        &self,
        id: &str,
        after: Option<u64>,
        stood: &Mode,
    ) -> Result<Client, OpenError> {
        let path = self.store().find(id).map_err(HubError)?;
        // The lock is held from here on, while servers start.
        let mut past = self.resume(&path)?;
        self.check_honours(&past, stood)?;
        past.stood = Some(stood.clone());
        end_cut_turn(&mut past).map_err(|e| OpenError::of(e, self.options.run.language))?;
        let hub = self.kept_strict(stood);
        let opened = match &self.options.agents.in_place {
            Some(role) => hub.open_in_place(past, role.clone())?,
            None => hub.new_session(past, self.call_servers().await?)?,
        };
        let client = self.live.attach(&opened.session_id, after);
        let mut client = client.ok_or_else(|| HubError(id.to_owned()))?;
        client.notes = opened.notes;
        Ok(client)
    }

    /// A process that was started in another folder, or holds commands less, is no place for the session to go on: what was
    /// queued would run there, and the flags of this process were said to have no effect.
    fn check_honours(&self, past: &Past, stood: &Mode) -> Result<(), HubError> {
        let language = self.options.run.language;
        let containment = self.options.permissions.policy.containment;
        if moved(&past.entries, &self.options.paths.root, language).is_some() {
            return Err(HubError(
                language.fill(Word::TakeOverElsewhere, &[&past.id]),
            ));
        }
        let added = names_of(&self.options.permissions.policy.added);
        let has_more_folders = || {
            let mut added = added.iter().map(Path::new);
            added.any(|folder| !stood.writable.iter().any(|known| folder.starts_with(known)))
        };
        match containment.holds_as_much_as(&stood.sandbox) && !has_more_folders() {
            true => Ok(()),
            false => Err(HubError(language.fill(Word::TakeOverUnheld, &[&past.id]))),
        }
    }

    /// The same with the rules and the posture of a session that goes on here, where they are stricter.
    fn kept_strict(&self, stood: &Mode) -> Self {
        let mut hub = self.clone();
        let policy = &mut Arc::make_mut(&mut hub.options).permissions.policy;
        let rules = |texts: &[String]| -> Vec<Rule> {
            let parsed = texts.iter().map(|text| Rule::parse(text, SESSION));
            parsed.filter_map(Result::ok).collect()
        };
        policy.rules.deny.extend(rules(&stood.deny));
        policy.rules.ask.extend(rules(&stood.ask));
        let stance = Stance::Posture(policy.posture).stricter(Stance::of_name(&stood.posture));
        policy.posture = match stance {
            Stance::Posture(posture) => posture,
            Stance::Never | Stance::Shell | Stance::Until(..) => Posture::Ask,
        };
        hub
    }

    /// A session goes on where its commands ran: what it knows of files is about those.
    pub(super) fn check_place(&self, entries: &[Entry], log: &Path) -> Result<(), HubError> {
        let mut places = entries.iter().rev().filter_map(|entry| entry.body.place());
        let place = places.next().map(|(place, _)| place);
        let Some(other) = place.filter(|place| *place != self.options.place_name()) else {
            return Ok(());
        };
        let id = log.file_stem().unwrap_or_default().to_string_lossy();
        let language = self.options.run.language;
        Err(HubError(language.fill(Word::PlaceOfSession, &[other, &id])))
    }

    /// The log that is to be written to, if there is one already.
    fn path_to_own(&self, which: &Open) -> Result<Option<PathBuf>, HubError> {
        let found = match which {
            Open::Resume(id) if self.options.run.save => self.store().find(id),
            Open::Last if self.options.run.save => self.store().last(),
            Open::Resume(_) | Open::Last | Open::New | Open::Fork(_) => return Ok(None),
        };
        found.map(Some).map_err(HubError)
    }
}

/// Of how a session stood, what the person tightened. A posture that it only was started in belongs to that start.
fn of_person(stood: &Mode) -> Mode {
    let loosest = Stance::Posture(Posture::Yolo).name(Instant::now());
    Mode {
        posture: match stood.tightened {
            true => stood.posture.clone(),
            false => loosest,
        },
        ..stood.clone()
    }
}

/// What holds on from the last time, for the person; nothing if that is nothing.
fn describe_strictness(stood: &Mode, language: Language) -> Option<String> {
    let posture = stood.tightened.then(|| {
        let stance = Stance::of_name(&stood.posture);
        language.fill(Word::ApprovalIs, &[&stance.shown(Instant::now(), language)])
    });
    let rules = [
        (Word::TookOverDeny, &stood.deny),
        (Word::TookOverAsk, &stood.ask),
    ];
    let rules = rules.into_iter().filter(|(_, rules)| !rules.is_empty());
    let rules = rules.map(|(word, rules)| language.fill(word, &[&rules.join(", ")]));
    let told: Vec<String> = posture.into_iter().chain(rules).collect();
    (!told.is_empty()).then(|| language.fill(Word::StillHolds, &[&told.join(" ")]))
}

fn end_cut_turn(past: &mut Past) -> Result<(), LogError> {
    let calls = cut_calls(&past.entries).into_iter();
    let mut ending: Vec<Body> = calls.map(cut_result).collect();
    if is_turn_open(&past.entries) {
        let outcome = Outcome::Interrupted;
        ending.push(Body::Interrupted(Interrupted::default()));
        ending.push(Body::TurnEnd(TurnEnd { outcome }));
    }
    if ending.is_empty() {
        return Ok(());
    }
    let written = past.log.append(ending)?;
    let written = written.iter().map(|entry| Entry::clone(entry));
    past.entries.extend(written);
    Ok(())
}

/// Calls since the last turn ended that have no result.
fn cut_calls(entries: &[Entry]) -> Vec<String> {
    let mut calls: Vec<String> = Vec::new();
    for entry in entries {
        if let Body::TurnEnd(_) | Body::Rewind(_) = &entry.body {
            calls.clear();
        } else if let Body::ToolUse(call) = &entry.body {
            calls.push(call.id.clone());
        } else if let Body::ToolResult(result) = &entry.body {
            calls.retain(|id| *id != result.tool_use_id);
        }
    }
    calls
}

/// A prompt was taken in and its turn has not ended.
fn is_turn_open(entries: &[Entry]) -> bool {
    let last = entries.iter().rev().find_map(|entry| {
        if let Body::TurnEnd(_) = &entry.body {
            return Some(false);
        }
        let message = entry.body.message()?;
        (message.role == Role::User).then_some(true)
    });
    last.unwrap_or(false)
}
