//! One task for one role, from the request to the outcome.

use super::Delegation;
use super::place::{Place, named};
use crate::activity::{Activity, Notice, NoticeSource, Watcher};
use crate::contract;
use crate::outcome::{FailureKind, Outcome};
use crate::request::Request;
use crate::resolve::{Resolved, Target, resolve};
use crate::run::{self, Failure, Job, Ran};
use crate::services::MAX_DEPTH;
use crate::sessions::{self, KeyParts, Lock, LockError, Record};
use crate::setup::{Persona, Role, Setup};
use std::path::PathBuf;
use std::sync::Arc;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// Bytes of a prompt.
const MAX_PROMPT: usize = 8 << 20;
/// Characters of what is no id that are shown.
const MAX_SHOWN: usize = 80;

/// A request, as part of what it is made.
#[derive(Clone, Copy)]
pub struct Call<'c> {
    pub request: &'c Request,
    /// Tells tasks of a batch apart that would share a session.
    pub task: Option<&'c str>,
    /// In place of one of the configuration.
    pub role: Option<&'c Role>,
}

/// Everything that a run needs and that is known before it.
struct Ready<'c> {
    request: &'c Request,
    place: Place,
    resolved: Resolved,
    until: Instant,
    watcher: Arc<dyn Watcher>,
    cancel: &'c CancellationToken,
}

impl Delegation {
    pub(super) async fn task(
        &self,
        call: Call<'_>,
        watcher: Arc<dyn Watcher>,
        cancel: &CancellationToken,
    ) -> Outcome {
        let request = call.request;
        let role = named(request.role.as_deref()).unwrap_or_default();
        let mut outcome = Outcome {
            role: role.clone(),
            role_id: role,
            contract: request.contract.map(|contract| contract.name().to_owned()),
            ..Outcome::default()
        };
        let failure = match self.prepare(call, watcher, cancel, &mut outcome) {
            Ok(ready) => self.carry_out(&ready, &mut outcome).await,
            Err(failure) => Some(failure),
        };
        if let Some(failure) = failure {
            outcome.failure = Some(failure.kind);
            outcome.error = Some(failure.text);
        }
        outcome.success = outcome.error.is_none();
        outcome.backend_session_id.clone_from(&outcome.session_id);
        outcome.message.clone_from(&outcome.agent_messages);
        outcome
    }

    fn prepare<'c>(
        &self,
        call: Call<'c>,
        watcher: Arc<dyn Watcher>,
        cancel: &'c CancellationToken,
        outcome: &mut Outcome,
    ) -> Result<Ready<'c>, Failure> {
        let request = call.request;
        let wrong = |why: String| Failure::new(FailureKind::Request, why);
        if self.defaults.depth >= MAX_DEPTH {
            return Err(wrong(format!(
                "this agent was itself called by an agent that was called by one: no deeper than {MAX_DEPTH}"
            )));
        }
        if request.prompt.trim().is_empty() {
            return Err(wrong("`PROMPT` is empty".to_owned()));
        }
        if request.prompt.len() > MAX_PROMPT {
            let most = MAX_PROMPT >> 20;
            return Err(wrong(format!("`PROMPT` is longer than {most} MiB")));
        }
        let (cd, client) = (request.cd.as_deref(), request.client.as_deref());
        let place = self.place(cd, client, request.conversation_id.as_deref())?;
        let mut setup = match call.role {
            Some(_) => self
                .setup(&place)
                .map(|loaded| loaded.setup)
                .unwrap_or_default(),
            None => self.setup(&place)?.setup,
        };
        if outcome.role.is_empty() && call.role.is_none() {
            return Err(wrong(missing_role(&setup)));
        }
        if let Some(role) = call.role {
            setup.roles.insert(outcome.role_id.clone(), role.clone());
        }
        let mut resolved =
            resolve(&setup, &outcome.role_id, request.timeout_secs).map_err(wrong)?;
        if call.role.is_some() {
            resolved.persona = None;
        }
        self.check_session(request, &place, resolved.target.backend())
            .map_err(wrong)?;
        outcome.warnings.append(&mut resolved.warnings);
        name_target(outcome, &resolved.target);
        outcome.session_key = session_key(call, &place, outcome);
        Ok(Ready {
            request,
            place,
            until: Instant::now() + resolved.timeout,
            resolved,
            watcher,
            cancel,
        })
    }

    /// A session that the caller names is an argument of a program: it has to be one, and one that was begun from here unless
    /// the person was asked about it.
    fn check_session(&self, request: &Request, place: &Place, backend: &str) -> Result<(), String> {
        let named = named(request.session_id.as_deref());
        let Some(session) = named.filter(|_| !request.force_new_session) else {
            return Ok(());
        };
        if !sessions::is_id(&session) {
            let shown: String = session.chars().take(MAX_SHOWN).collect();
            return Err(format!(
                "`SESSION_ID` has not the form of one (letters, digits, and `-_.:/` after the first): {shown}"
            ));
        }
        let root = key_root(request, place);
        if request.is_session_approved
            || sessions::is_known(&self.services.sessions, backend, &root, &session)
        {
            return Ok(());
        }
        Err(format!(
            "`SESSION_ID` {session} names no conversation with `{backend}` that was begun from here in this project: use one that a result of an earlier call names, or leave it out. Another one needs the person's permission, as for a call that may write"
        ))
    }

    /// Waits for the session key, runs the role's target, and the fallback if it is for one. What went wrong comes back.
    async fn carry_out(&self, ready: &Ready<'_>, outcome: &mut Outcome) -> Option<Failure> {
        let key = outcome.session_key.clone();
        let locked = sessions::lock(&self.services.sessions, &key, ready.until, ready.cancel);
        let mut lock = match locked.await {
            Ok(lock) => lock,
            Err(error) => {
                let kind = match &error {
                    LockError::Busy(_) => FailureKind::Timeout,
                    LockError::Cancelled(_) => FailureKind::Cancelled,
                    LockError::Io { .. } => FailureKind::NotStarted,
                };
                return Some(Failure::new(kind, error.to_string()));
            }
        };
        let target = &ready.resolved.target;
        let record = choose_session(ready, &mut lock, &key, outcome);
        let session = record.as_ref();
        outcome.resumed = session.is_some();
        let patterns = ready
            .resolved
            .fallback
            .as_ref()
            .map(|fallback| fallback.patterns.as_slice());
        let patterns = patterns.unwrap_or_default();
        let mut ran = self.run_once(ready, target, session, patterns).await;
        let is_lost = ran
            .failure
            .as_ref()
            .is_some_and(|failure| failure.is_session_lost);
        if is_lost && ready.request.session_id.is_none() {
            let lost = session
                .map(|record| record.session.as_str())
                .unwrap_or_default();
            warn(
                ready,
                outcome,
                format!("the session `{lost}` is gone: a new one was begun"),
            );
            outcome.resumed = false;
            ran = self.run_once(ready, target, None, patterns).await;
        }
        let mut used = target;
        if let Some(takeover) = &ready.resolved.fallback
            && ran
                .failure
                .as_ref()
                .is_some_and(|failure| failure.is_for_fallback)
        {
            used = &takeover.target;
            let names = format!("{} -> {}", target.reference, used.reference);
            let why = ran.failure.as_ref().map(|failure| failure.text.as_str());
            let why = why.and_then(|why| why.lines().next()).unwrap_or_default();
            warn(
                ready,
                outcome,
                format!("model fallback used: {names} ({why})"),
            );
            name_target(outcome, used);
            let same = session.filter(|_| used.backend() == target.backend());
            outcome.resumed = same.is_some();
            let first = std::mem::take(&mut ran.warnings);
            ran = self.run_once(ready, used, same, &[]).await;
            ran.warnings.splice(0..0, first);
        }
        if let Some(odd) = ran.session.take_if(|id| !sessions::is_id(id)) {
            let shown: String = odd.chars().take(MAX_SHOWN).collect();
            warn(
                ready,
                outcome,
                format!("what the agent calls its session has not the form of an id: {shown}"),
            );
        }
        remember((&mut lock, ready), &key, used, &ran, outcome);
        self.finish(ready, ran, outcome).await
    }

    async fn run_once(
        &self,
        ready: &Ready<'_>,
        target: &Target,
        session: Option<&Record>,
        patterns: &[String],
    ) -> Ran {
        let persona = ready
            .resolved
            .persona
            .as_ref()
            .filter(|_| session.is_none());
        let prompt = prompt(ready.request, persona);
        let job = Job {
            services: &self.services,
            target,
            role: ready
                .request
                .role
                .as_deref()
                .map(str::trim)
                .unwrap_or_default(),
            prompt: &prompt,
            session: session.map(|record| record.session.as_str()),
            used: session.and_then(|record| record.usage),
            cwd: &ready.place.cwd,
            depth: self.defaults.depth + 1,
            until: ready.until,
            patterns,
            watcher: &ready.watcher,
            cancel: ready.cancel,
        };
        Box::pin(run::run(job)).await
    }

    /// Puts what came of it into the outcome, and holds the answer to its contract.
    async fn finish(&self, ready: &Ready<'_>, ran: Ran, outcome: &mut Outcome) -> Option<Failure> {
        outcome.warnings.extend(ran.warnings);
        outcome.session_id = ran.session.unwrap_or_default();
        outcome.agent_messages = ran.message.unwrap_or_default();
        outcome.cost = ran.cost;
        if ran.failure.is_some() {
            return ran.failure;
        }
        self.hold_to_contract(ready, outcome).await
    }

    async fn hold_to_contract(&self, ready: &Ready<'_>, outcome: &mut Outcome) -> Option<Failure> {
        if ready.request.contract.is_none() && !ready.request.validate_patch {
            return None;
        }
        let patch = contract::find_patch(&outcome.agent_messages);
        outcome.patch_format = Some(patch.format.name().to_owned());
        if ready.request.contract.is_some() {
            outcome.contract_errors = contract::errors(&outcome.agent_messages, &patch);
        }
        if ready.request.validate_patch {
            let checked = self
                .check_patch(&ready.place.cwd, &patch, ready.cancel)
                .await;
            outcome.patch_apply_check_ok = Some(checked.is_ok());
            match checked {
                Ok(output) => outcome.patch_apply_check_output = Some(output),
                Err(why) => {
                    outcome
                        .contract_errors
                        .push(format!("the patch does not apply: {why}"));
                    outcome.patch_apply_check_output = Some(why);
                }
            }
        }
        match outcome.contract_errors.is_empty() {
            true => None,
            false => {
                let why = outcome.contract_errors.join("; ");
                let why = format!("the answer breaks its contract: {why}");
                Some(Failure::new(FailureKind::Contract, why))
            }
        }
    }
}

/// A new session if one is wanted, else that of the call, else that of the key.
fn choose_session(
    ready: &Ready<'_>,
    lock: &mut Lock,
    key: &str,
    outcome: &mut Outcome,
) -> Option<Record> {
    let explicit = named(ready.request.session_id.as_deref());
    if ready.request.force_new_session {
        if explicit.is_some() {
            let warning = "SESSION_ID is ignored: `force_new_session` is set";
            outcome.warnings.push(warning.to_owned());
        }
        return None;
    }
    let backend = ready.resolved.target.backend();
    let fits = |record: &Record| record.backend == backend && sessions::is_id(&record.session);
    let remembered = lock.read(key).filter(fits);
    match (explicit, remembered) {
        (Some(session), Some(record)) if record.session == session => Some(record),
        (Some(session), _) => Some(Record {
            session,
            ..Record::default()
        }),
        (None, remembered) => remembered,
    }
}

fn missing_role(setup: &Setup) -> String {
    let enabled = setup.roles.iter().filter(|(_, role)| role.enabled);
    let roles: Vec<&str> = enabled.map(|(name, _)| name.as_str()).collect();
    match roles.is_empty() {
        true => "`role` is missing, and no roles are configured".to_owned(),
        false => format!("`role` is missing (roles: {})", roles.join(", ")),
    }
}

fn name_target(outcome: &mut Outcome, target: &Target) {
    target.backend().clone_into(&mut outcome.backend);
    let reference = &target.reference;
    outcome.model = Some(match &reference.variant {
        Some(variant) => format!("{}@{variant}", reference.model),
        None => reference.model.clone(),
    });
}

/// That of the call, or one that is made of who calls where.
fn session_key(call: Call<'_>, place: &Place, outcome: &mut Outcome) -> String {
    if let Some(key) = named(call.request.session_key.as_deref()) {
        return key;
    }
    if place.conversation_id.is_none() {
        outcome.warnings.push(
            "no `conversation_id`: other conversations in this repository go on with the same session of this role"
                .to_owned(),
        );
    }
    let root = key_root(call.request, place);
    KeyParts {
        repo_root: &root,
        role: &outcome.role,
        role_id: &outcome.role_id,
        client: place.client.as_deref(),
        conversation_id: place.conversation_id.as_deref(),
        task: call.task,
    }
    .key()
}

/// The repository that conversations belong to.
fn key_root(request: &Request, place: &Place) -> PathBuf {
    let root = request.key_root.clone();
    root.unwrap_or_else(|| sessions::repo_root(&place.cwd))
}

/// The persona first, then the task, then the form of the answer.
fn prompt(request: &Request, persona: Option<&Persona>) -> String {
    let persona = persona
        .map(|persona| persona.prompt.trim())
        .filter(|text| !text.is_empty());
    let form = request.contract.map(|_| contract::INSTRUCTIONS);
    let parts = persona
        .into_iter()
        .chain([request.prompt.as_str()])
        .chain(form);
    parts.collect::<Vec<_>>().join("\n\n")
}

fn warn(ready: &Ready<'_>, outcome: &mut Outcome, text: String) {
    ready.watcher.activity(Activity::Notice(Notice {
        from: NoticeSource::Ours,
        text: text.clone(),
    }));
    outcome.warnings.push(text);
}

/// Keeps the session for the next call, unless nothing came of it.
fn remember(
    (lock, ready): (&mut Lock, &Ready<'_>),
    key: &str,
    used: &Target,
    ran: &Ran,
    outcome: &mut Outcome,
) {
    let is_worth = match ran.failure.as_ref().map(|failure| failure.kind) {
        None | Some(FailureKind::Timeout | FailureKind::Cancelled | FailureKind::Contract) => true,
        Some(
            FailureKind::Request
            | FailureKind::Setup
            | FailureKind::NotStarted
            | FailureKind::Agent,
        ) => false,
    };
    let Some(session) = ran.session.as_ref().filter(|_| is_worth) else {
        return;
    };
    let record = Record {
        key: key.to_owned(),
        backend: used.backend().to_owned(),
        session: session.clone(),
        root: key_root(ready.request, &ready.place),
        earlier: Vec::new(),
        usage: ran.told_cost,
    };
    if let Err(error) = lock.write(record) {
        outcome
            .warnings
            .push(format!("the session could not be remembered: {error}"));
    }
}
