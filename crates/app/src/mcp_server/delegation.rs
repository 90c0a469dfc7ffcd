//! The tools for other agents: `three`, `batch` (also called `roundtable-batch`), `roundtable` and `info`.

use super::books::Books;
use super::folders::{Folders, Place};
use super::ground::{GroundKey, Grounds};
use super::roles::{Rights, Team, Work};
use crate::boot::Boot;
use ostler_delegate::activity::{
    Activity, Group, Member, PermissionAnswer, PermissionRequest, PieceKind, Watcher,
};
use ostler_delegate::outcome::{Cost, NamedOutcome, Outcome};
use ostler_delegate::request::{BatchRequest, InfoRequest, Request, RoundtableRequest};
use ostler_mcp::server::{CallClient, ToolAnswer};
use ostler_wire::{BoxFuture, clip, one_line};
use serde::Serialize;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::mpsc;
use tokio::time::{MissedTickBehavior, interval_at};
use tokio_util::sync::CancellationToken;

/// Notes that may wait to be sent; more are dropped.
const NOTES: usize = 256;
/// Between two signs of life while nothing happens.
const BEAT: Duration = Duration::from_secs(10);
/// Characters of a line about what an agent does.
const MAX_LINE: usize = 200;

/// Something that the client is told while agents work.
enum Note {
    /// How far it has come.
    Line(String),
    /// A task has begun or ended.
    Event(Value),
}

/// What the call of each tool shares.
pub struct Delegations<'a> {
    pub boot: &'a Boot,
    pub folders: &'a Folders,
    pub client: &'a CallClient,
    /// What calls of before were made from.
    pub grounds: &'a Grounds,
    /// Under which the calls of this server are counted.
    pub session: &'a str,
}

impl Delegations<'_> {
    pub async fn three(&self, mut request: Request) -> ToolAnswer {
        let team = match self.begin(&mut request.cd, request.client.as_deref()) {
            Ok(team) => team,
            Err(why) => return ToolAnswer::error(why),
        };
        let role = request.role.clone().unwrap_or_default();
        if let Some(why) = team.refuse(&[&role], Work::Tasks, self.client).await {
            return ToolAnswer::error(why);
        }
        let (group, notes) = self.group(&team);
        let member = Member {
            name: request.name.clone().unwrap_or_else(|| role.clone()),
            role,
            ..Member::default()
        };
        let work = async {
            let watcher = group.started(&member);
            let stop = group.stop.clone();
            let outcome = team.delegation.three(&request, watcher, &stop).await;
            group.finished(&member, &outcome);
            outcome
        };
        let mut outcome = self.followed(notes, work).await;
        outcome.warnings.extend(team.end().await);
        let text = said(&outcome);
        answer(text, &outcome, outcome.success)
    }

    pub async fn batch(&self, mut request: BatchRequest) -> ToolAnswer {
        let place = match self.place(request.cd.as_deref()) {
            Ok(place) => place,
            Err(why) => return ToolAnswer::error(why),
        };
        request.cd = Some(place.folder.display().to_string());
        for (index, task) in request.tasks.iter_mut().enumerate() {
            match self.inner(&place.folder, task.cd.as_deref()) {
                Ok(inner) => task.cd = inner,
                Err(why) => return ToolAnswer::error(format!("tasks[{index}].cd: {why}")),
            }
        }
        let client = match client_of(&request) {
            Ok(client) => client.map(str::to_owned),
            Err(why) => return ToolAnswer::error(why),
        };
        let team = match self.team(&place, client.as_deref()) {
            Ok(team) => team,
            Err(why) => return ToolAnswer::error(why),
        };
        let roles = request.tasks.iter().filter_map(|task| task.role.as_deref());
        let roles: Vec<&str> = roles.collect();
        if let Some(why) = team.refuse(&roles, Work::Tasks, self.client).await {
            return ToolAnswer::error(why);
        }
        let (group, notes) = self.group(&team);
        let stop = group.stop.clone();
        let work = team.delegation.batch(&request, Arc::new(group), &stop);
        let outcome = self.followed(notes, work).await;
        self.end(team).await;
        let text = all_said(outcome.error.as_deref(), &outcome.results);
        answer(text, &outcome, is_any_fine(&outcome.results))
    }

    pub async fn roundtable(&self, mut request: RoundtableRequest) -> ToolAnswer {
        let team = match self.begin(&mut request.cd, request.client.as_deref()) {
            Ok(team) => team,
            Err(why) => return ToolAnswer::error(why),
        };
        let roles = request.participants.iter();
        let roles = roles.map(|one| one.role.as_deref().unwrap_or(&one.name));
        let roles: Vec<&str> = roles.collect();
        if let Some(why) = team.refuse(&roles, Work::Talk, self.client).await {
            return ToolAnswer::error(why);
        }
        let (group, notes) = self.group(&team);
        let stop = group.stop.clone();
        let work = team.delegation.roundtable(&request, Arc::new(group), &stop);
        let outcome = self.followed(notes, work).await;
        self.end(team).await;
        let text = all_said(outcome.error.as_deref(), &outcome.contributions);
        answer(text, &outcome, is_any_fine(&outcome.contributions))
    }

    pub async fn info(&self, mut request: InfoRequest) -> ToolAnswer {
        let team = match self.begin(&mut request.cd, request.client.as_deref()) {
            Ok(team) => team,
            Err(why) => return ToolAnswer::error(why),
        };
        let info = team.delegation.info(&request);
        team.end().await;
        let lines = info.roles.iter().map(|role| {
            let state = match (role.enabled, &role.problem) {
                (false, _) => " (disabled)".to_owned(),
                (true, Some(problem)) => format!(" (cannot be used: {problem})"),
                (true, None) => String::new(),
            };
            format!("{}: {}{state}", role.role, role.model)
        });
        let lines: Vec<String> = lines.collect();
        let text = match (&info.error, lines.is_empty()) {
            (Some(error), _) => error.clone(),
            (None, true) => "No roles are configured for other agents in this folder.".to_owned(),
            (None, false) => lines.join("\n"),
        };
        answer(text, &info, info.error.is_none())
    }

    /// Who works on a call, in the folder that its request then names.
    fn begin(&self, cd: &mut Option<String>, client: Option<&str>) -> Result<Team, String> {
        let place = self.place(cd.as_deref())?;
        *cd = Some(place.folder.display().to_string());
        self.team(&place, client)
    }

    fn team(&self, place: &Place, name: Option<&str>) -> Result<Team, String> {
        let key = GroundKey {
            root: place.root.clone(),
            client: name.map(str::to_owned),
            can_ask: self.client.can_ask(),
        };
        let ground = self.grounds.find(self.boot, &key)?;
        Ok(Team::new(&ground, place, self.session))
    }

    fn place(&self, cd: Option<&str>) -> Result<Place, String> {
        self.folders.find(cd.map(Path::new))
    }

    /// The folder of one task of several; the sandbox of all is that of the first.
    fn inner(&self, folder: &Path, cd: Option<&str>) -> Result<Option<String>, String> {
        let Some(cd) = cd.filter(|cd| !cd.is_empty()) else {
            return Ok(None);
        };
        let found = self.folders.find(Some(&folder.join(cd)))?.folder;
        match found.starts_with(folder) {
            true => Ok(Some(found.display().to_string())),
            false => Err(format!(
                "{} is not below {}, where the call works",
                found.display(),
                folder.display()
            )),
        }
    }

    fn group(&self, team: &Team) -> (Notes, mpsc::Receiver<Note>) {
        let (sender, receiver) = mpsc::channel(NOTES);
        let notes = Notes {
            sender,
            rights: team.rights.clone(),
            books: team.books.clone(),
            client: self.client.clone(),
            stop: self.client.stopped().child_token(),
        };
        (notes, receiver)
    }

    /// Does the work, and tells the client of it as it happens.
    async fn followed<T>(
        &self,
        mut notes: mpsc::Receiver<Note>,
        work: impl Future<Output = T>,
    ) -> T {
        let begun = Instant::now();
        let mut doing = "Working".to_owned();
        let mut beat = interval_at(tokio::time::Instant::now() + BEAT, BEAT);
        beat.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut work = std::pin::pin!(work);
        let done = loop {
            tokio::select! {
                done = work.as_mut() => break done,
                Some(note) = notes.recv() => self.tell(note, &mut doing).await,
                _ = beat.tick(), if self.client.wants_progress() => {
                    let seconds = begun.elapsed().as_secs();
                    self.client.progress(&format!("{doing} ({seconds} s)")).await;
                }
            }
        };
        while let Ok(note) = notes.try_recv() {
            self.tell(note, &mut doing).await;
        }
        done
    }

    async fn tell(&self, note: Note, doing: &mut String) {
        match note {
            Note::Line(line) => {
                self.client.progress(&line).await;
                *doing = line;
            }
            Note::Event(event) => self.client.log(event).await,
        }
    }

    async fn end(&self, team: Team) {
        for line in team.end().await {
            self.client
                .log(json!({"event": "notice", "text": line}))
                .await;
        }
    }
}

/// Whose documents count for all tasks.
fn client_of(request: &BatchRequest) -> Result<Option<&str>, String> {
    let own = request.tasks.iter().map(|task| &task.client);
    let named = own.chain([&request.client]).flatten().map(String::as_str);
    let named: BTreeSet<&str> = named.collect();
    match named.len() {
        0 | 1 => Ok(named.first().copied()),
        _ => {
            let named: Vec<&str> = named.into_iter().collect();
            Err(format!(
                "A batch goes by the documents of one client, and this one names several ({}). Send one for each.",
                named.join(", ")
            ))
        }
    }
}

/// Follows tasks: what they do becomes notes.
#[derive(Clone)]
struct Notes {
    sender: mpsc::Sender<Note>,
    rights: Rights,
    books: Books,
    client: CallClient,
    /// Ends the agents: the client wants it, or the budget is spent.
    stop: CancellationToken,
}

impl Group for Notes {
    fn started(&self, member: &Member) -> Arc<dyn Watcher> {
        let event = json!({
            "event": "started",
            "index": member.index,
            "name": member.name,
            "role": member.role,
        });
        let _ = self.sender.try_send(Note::Event(event));
        Arc::new(Follower {
            name: member.name.clone(),
            role: member.role.clone(),
            notes: self.clone(),
            used: Mutex::default(),
        })
    }

    fn finished(&self, member: &Member, outcome: &Outcome) {
        let event = json!({
            "event": "completed",
            "index": member.index,
            "name": member.name,
            "role": member.role,
            "success": outcome.success,
            "error": outcome.error,
        });
        let _ = self.sender.try_send(Note::Event(event));
        let end = match outcome.success {
            true => "completed",
            false => "failed",
        };
        let line = format!("{} {end}", member.name);
        let _ = self.sender.try_send(Note::Line(line.trim().to_owned()));
    }
}

/// Follows one task.
struct Follower {
    name: String,
    role: String,
    notes: Notes,
    used: Mutex<Used>,
}

/// What the agent of a task has used up to now.
#[derive(Default)]
struct Used {
    backend: String,
    cost: Cost,
}

impl Follower {
    fn tell(&self, line: &str) {
        let line = clip(&one_line(line), MAX_LINE);
        let line = match self.name.is_empty() {
            true => line,
            false => format!("{}: {line}", self.name),
        };
        // What is not told is in the result.
        let _ = self.notes.sender.try_send(Note::Line(line));
    }

    fn count(&self, activity: &Activity) {
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        if let Activity::Started(started) = activity {
            *used = Used {
                backend: started.backend.clone(),
                cost: Cost::default(),
            };
        }
        if let Activity::Usage(now) = activity {
            let before = std::mem::replace(&mut used.cost, *now);
            let books = &self.notes.books;
            books.book(&self.role, &used.backend, (before, *now));
            if let Some(why) = books.breach(&self.role) {
                self.tell(&why);
                self.notes.stop.cancel();
            }
        }
    }
}

impl Watcher for Follower {
    fn activity(&self, activity: Activity) {
        self.count(&activity);
        if let Some(line) = line(&activity) {
            self.tell(&line);
        }
    }

    fn permission(&self, request: PermissionRequest) -> BoxFuture<'_, PermissionAnswer> {
        Box::pin(self.notes.rights.decide(request, &self.notes.client))
    }
}

/// What an activity says of how far a task has come.
fn line(activity: &Activity) -> Option<String> {
    match activity {
        Activity::Started(started) => Some(format!("started {}", started.backend)),
        Activity::Message(text) => text.lines().next().map(str::to_owned),
        Activity::ToolStarted(tool) => Some(tool.title.clone()),
        Activity::Retry(retry) => Some(format!("tries again: {}", retry.message)),
        Activity::Piece(piece) => match piece.kind {
            PieceKind::Message | PieceKind::Reasoning => None,
        },
        Activity::Session(_)
        | Activity::Reasoning(_)
        | Activity::ToolFinished(_)
        | Activity::Plan(_)
        | Activity::Usage(_)
        | Activity::Notice(_) => None,
    }
    .filter(|line| !line.trim().is_empty())
}

fn said(outcome: &Outcome) -> String {
    let error = outcome.error.clone().unwrap_or_default();
    let broken = outcome.contract_errors.join("\n");
    let parts = [error, broken, outcome.message.clone()];
    let parts = parts.iter().filter(|part| !part.trim().is_empty());
    parts.map(String::as_str).collect::<Vec<_>>().join("\n\n")
}

/// What some tasks gave counts, also where others failed.
fn is_any_fine(all: &[NamedOutcome]) -> bool {
    all.iter().any(|one| one.outcome.success)
}

fn all_said(error: Option<&str>, all: &[NamedOutcome]) -> String {
    let error = error.map(str::to_owned);
    let parts = all.iter().map(|one| {
        let name = match one.name.is_empty() {
            true => &one.outcome.role,
            false => &one.name,
        };
        format!("## {name}\n\n{}", said(&one.outcome))
    });
    let parts: Vec<String> = error.into_iter().chain(parts).collect();
    parts.join("\n\n")
}

fn answer(text: String, data: &impl Serialize, is_fine: bool) -> ToolAnswer {
    ToolAnswer {
        text,
        data: serde_json::to_value(data).ok(),
        is_error: !is_fine,
    }
}
