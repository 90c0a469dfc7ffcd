//! Sessions as files: where they lie, which there are, and how to look into them without owning them.

use crate::history::History;
use crate::log;
use crate::owners::Owners;
use crate::title::title_line;
use ostler_wire::{Body, Entry, ForkedFrom, Language, Role, Say, SessionInfo, Word};
use sha2::{Digest, Sha256};
use std::collections::HashSet;
use std::fs;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

#[cfg(test)]
mod tests;

/// Bytes of a log's first line that are looked at.
const MAX_FIRST: usize = 4096;

pub struct Store {
    sessions: PathBuf,
    project: String,
    language: Language,
    owners: Owners,
}

impl Store {
    pub fn new(sessions: &Path, root: &Path) -> Self {
        Self {
            sessions: sessions.to_owned(),
            project: project_name(root),
            language: Language::default(),
            owners: Owners::default(),
        }
    }

    /// The same, knowing which logs are those of the person with this home. The others are foreign: they can be read by
    /// name, and nothing is taken from them.
    pub fn of_home(mut self, home: &Path) -> Self {
        self.owners = Owners::new(&self.sessions, home);
        self
    }

    pub fn owners(&self) -> &Owners {
        &self.owners
    }

    /// The same, saying what is wrong in a language.
    pub fn speaking(mut self, language: Language) -> Self {
        self.language = language;
        self
    }

    pub fn project(&self) -> &str {
        &self.project
    }

    pub fn path_of(&self, id: &str) -> PathBuf {
        self.sessions
            .join(&self.project)
            .join(format!("{id}.jsonl"))
    }

    /// What can be found again; `session` is who asks.
    pub fn history(&self, home: &Path, session: Option<&str>) -> History {
        History {
            home: home.to_owned(),
            sessions: self.sessions.clone(),
            project: self.project.clone(),
            session: session.map(str::to_owned),
        }
    }

    /// The folder beside a log: artifacts and jobs.
    pub fn folder_of(&self, id: &str) -> PathBuf {
        self.sessions.join(&self.project).join(id)
    }

    /// There is no such session, as a sentence.
    pub fn unknown(&self, id: &str) -> String {
        self.language.fill(Word::StoreNoSession, &[id])
    }

    /// A session of any project by its id or a unique beginning of it.
    pub fn find(&self, id: &str) -> Result<PathBuf, String> {
        if id.len() < 4 || !id.chars().all(|c| c.is_ascii_hexdigit() || c == '-') {
            return Err(self.language.fill(Word::StoreNoId, &[id]));
        }
        let mut found: Vec<PathBuf> = self
            .all_logs()
            .into_iter()
            .filter(|p| {
                p.file_stem()
                    .is_some_and(|s| s.to_string_lossy().starts_with(id))
            })
            .collect();
        match (found.pop(), found.is_empty()) {
            (None, _) => Err(self.language.fill(Word::StoreNoSession, &[id])),
            (Some(path), true) => Ok(path),
            (Some(_), false) => Err(self
                .language
                .fill(Word::StoreSeveral, &[&(found.len() + 1).to_string(), id])),
        }
    }

    /// The newest session of this project that the person's own Ostler wrote.
    pub fn last(&self) -> Result<PathBuf, String> {
        self.readable()?;
        let mut logs = logs_in(&self.sessions.join(&self.project));
        logs.retain(|log| self.owners.has(log));
        logs.sort_by_key(|p| std::cmp::Reverse(modified(p)));
        // Work for another session is not what the person was at.
        let own = logs.iter().position(|log| !is_child(log)).unwrap_or(0);
        let none = || self.language.say(Word::StoreNone).to_owned();
        logs.into_iter().nth(own).ok_or_else(none)
    }

    /// Sessions of this project, newest first.
    pub fn list(&self) -> Result<Vec<SessionInfo>, String> {
        self.readable()?;
        Ok(infos(logs_in(&self.sessions.join(&self.project))))
    }

    /// Those that the person's own Ostler wrote.
    pub fn list_written(&self) -> Result<Vec<SessionInfo>, String> {
        self.readable()?;
        let mut logs = logs_in(&self.sessions.join(&self.project));
        logs.retain(|log| self.owners.has(log));
        Ok(infos(logs))
    }

    /// Those that the person began: work for another session is left out.
    pub fn list_own(&self) -> Result<Vec<SessionInfo>, String> {
        Ok(infos(self.own_logs()?))
    }

    /// The logs of these, in no order.
    pub fn own_logs(&self) -> Result<Vec<PathBuf>, String> {
        self.readable()?;
        let mut logs = logs_in(&self.sessions.join(&self.project));
        logs.retain(|log| self.owners.has(log) && !is_child(log));
        Ok(logs)
    }

    pub fn list_all(&self) -> Result<Vec<SessionInfo>, String> {
        self.readable()?;
        Ok(infos(self.all_logs()))
    }

    pub fn read(&self, id: &str) -> Result<(Vec<Entry>, log::Damage), String> {
        log::read(&self.find(id)?).map_err(|e| e.say(self.language))
    }

    /// Removes a session and what lies beside it.
    pub fn delete(&self, id: &str) -> Result<String, String> {
        let path = self.find(id)?;
        remove(&path).map_err(|e| {
            let values = [&path.display().to_string(), &e.say(self.language)];
            self.language
                .fill(Word::StoreUndeleted, &values.map(String::as_str))
        })
    }

    /// Removes the oldest sessions of all projects until the rest fits. Open ones and the newest stay.
    pub fn gc(&self, quota: u64, dry_run: DryRun) -> Vec<(String, u64)> {
        let mut logs: Vec<(PathBuf, u64)> = self
            .all_logs()
            .into_iter()
            .map(|p| (p.clone(), weight(&p)))
            .collect();
        logs.sort_by_key(|(p, _)| modified(p));
        let mut total: u64 = logs.iter().map(|(_, bytes)| bytes).sum();
        logs.pop();
        let mut gone = Vec::new();
        for (path, bytes) in logs {
            if total <= quota {
                break;
            }
            let is_free = fs::File::open(&path).is_ok_and(|f| f.try_lock().is_ok());
            if !is_free {
                continue;
            }
            if dry_run == DryRun::No && remove(&path).is_err() {
                continue;
            }
            total = total.saturating_sub(bytes);
            gone.push((stem(&path), bytes));
        }
        gone
    }

    /// Every prefix that a log names. None if one of the logs cannot be read.
    pub fn prefixes(&self) -> Option<HashSet<String>> {
        const NAMES: &[u8] = b"\"prefix\":\"";
        let mut found = HashSet::new();
        for path in self.all_logs() {
            let bytes = fs::read(&path).ok()?;
            for at in memchr::memmem::find_iter(&bytes, NAMES) {
                let rest = bytes.get(at + NAMES.len()..).unwrap_or_default();
                let hash = rest.split(|b| *b == b'"').next().unwrap_or_default();
                found.insert(String::from_utf8_lossy(hash).into_owned());
            }
        }
        Some(found)
    }

    /// Folders that are there but cannot be read are not the same as none.
    fn readable(&self) -> Result<(), String> {
        for folder in [&self.sessions, &self.sessions.join(&self.project)] {
            match fs::read_dir(folder) {
                Err(e) if e.kind() != io::ErrorKind::NotFound => {
                    return Err({
                        let values = [&folder.display().to_string(), &e.say(self.language)];
                        self.language
                            .fill(Word::FileUnread, &values.map(String::as_str))
                    });
                }
                Ok(_) | Err(_) => {}
            }
        }
        Ok(())
    }

    fn all_logs(&self) -> Vec<PathBuf> {
        let Ok(projects) = fs::read_dir(&self.sessions) else {
            return Vec::new();
        };
        projects
            .flatten()
            .flat_map(|p| logs_in(&p.path()))
            .collect()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DryRun {
    Yes,
    No,
}

/// Last path component and 8 hex digits of the root's hash.
pub fn project_name(root: &Path) -> String {
    let digest = Sha256::digest(root.as_os_str().as_encoded_bytes());
    let hex = ostler_wire::hex::short(&digest, 4);
    let name: String = root
        .file_name()
        .map(|n| n.to_string_lossy().into_owned())
        .unwrap_or_else(|| "root".into())
        .chars()
        .map(|c| {
            if c.is_alphanumeric() || "-_.".contains(c) {
                c
            } else {
                '_'
            }
        })
        .take(60)
        .collect();
    format!("{name}-{hex}")
}

/// Where the checkpoints of a project are kept.
pub fn checkpoints_dir(home: &Path, root: &Path) -> PathBuf {
    let root = fs::canonicalize(root).unwrap_or_else(|_| root.to_owned());
    home.join("checkpoints").join(project_name(&root))
}

/// The title somebody gave, or the beginning of the first prompt.
pub fn title(entries: &[Entry]) -> String {
    let given = entries.iter().rev().find_map(|e| {
        if let Body::Settings(s) = &e.body {
            s.title.clone()
        } else {
            None
        }
    });
    let first = || entries.iter().find_map(|e| first_line(&e.body));
    given.or_else(first).unwrap_or_else(|| "(no prompt)".into())
}

fn first_line(body: &Body) -> Option<String> {
    let Body::Message(message) = body else {
        return None;
    };
    if message.role != Role::User {
        return None;
    }
    title_line(message.shown())
}

fn infos(logs: Vec<PathBuf>) -> Vec<SessionInfo> {
    let mut out: Vec<SessionInfo> = logs.iter().filter_map(|p| info(p)).collect();
    out.sort_by(|a, b| b.updated.cmp(&a.updated));
    out
}

/// What a list says of one log. It is read whole.
pub fn info(path: &Path) -> Option<SessionInfo> {
    let (entries, _) = log::read(path).ok()?;
    let (mut turns, mut cost, mut updated) = (0, None, String::new());
    let copied = entries.first().map_or(0, |first| copies(&first.body));
    for entry in &entries {
        if entry.ts > updated {
            updated.clone_from(&entry.ts);
        }
        if let Body::Usage(usage) = &entry.body
            && entry.entry > copied
        {
            cost = usage.cost.map(|more| cost.unwrap_or(0.0) + more).or(cost);
        } else if matches!(&entry.body, Body::Message(m) if m.role == Role::User) {
            turns += 1;
        }
    }
    Some(SessionInfo {
        id: stem(path),
        title: title(&entries),
        project: path.parent().map(stem).unwrap_or_default(),
        updated,
        turns,
        cost,
        bytes: weight(path),
    })
}

/// Entries that a fork takes over.
pub fn copied(entries: &[Entry]) -> u64 {
    let counts = |e: &&Entry| !matches!(e.body, Body::Meta(_));
    entries.iter().filter(counts).count() as u64
}

/// The beginning of a fork, as its first line has it. `is_own` says whether the person's own Ostler wrote the log.
pub fn forked(session: String, entries: &[Entry], is_own: Own) -> ForkedFrom {
    let copied = copied(entries);
    let foreign = match is_own {
        Own::No => copied,
        Own::Yes => {
            let before = foreign(entries);
            let is_foreign = |e: &&Entry| !matches!(e.body, Body::Meta(_)) && e.entry <= before;
            entries.iter().filter(is_foreign).count() as u64
        }
    };
    ForkedFrom {
        session,
        entry: entries.last().map_or(0, |e| e.entry),
        copied,
        foreign,
    }
}

/// Whether a log was written by the person's own Ostler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Own {
    Yes,
    No,
}

/// The number of the last entry of a log that was copied from somebody else's; 0 where there is none.
pub fn foreign(entries: &[Entry]) -> u64 {
    let meta = entries.first().and_then(|first| first.body.meta());
    let from = meta.and_then(|meta| meta.forked_from.as_ref());
    from.map_or(0, |from| from.foreign)
}

/// Where a session worked, as far as its log says.
pub fn root_of(entries: &[Entry]) -> Option<&str> {
    let mut roots = entries.iter().rev().filter_map(|entry| {
        let meta = || entry.body.meta().map(|meta| meta.root.as_str());
        entry.body.place().map(|(_, root)| root).or_else(meta)
    });
    roots.find(|root| !root.is_empty())
}

/// A session that goes on in another folder than it began in.
pub fn moved(entries: &[Entry], root: &Path, language: Language) -> Option<String> {
    let began = root_of(entries)?;
    let here = root.display().to_string();
    (began != here).then(|| language.fill(Word::SessionMoved, &[began, &here]))
}

/// How many of the entries after this first one are copies of another session's.
pub fn copies(first: &Body) -> u64 {
    if let Body::Meta(meta) = first {
        meta.forked_from.as_ref().map_or(0, |from| from.copied)
    } else {
        0
    }
}

fn logs_in(dir: &Path) -> Vec<PathBuf> {
    let Ok(files) = fs::read_dir(dir) else {
        return Vec::new();
    };
    files
        .flatten()
        .map(|f| f.path())
        .filter(|p| p.extension().is_some_and(|e| e == "jsonl"))
        .filter(|p| fs::symlink_metadata(p).is_ok_and(|m| m.is_file()))
        .collect()
}

fn stem(path: &Path) -> String {
    path.file_stem()
        .map(|s| s.to_string_lossy().into_owned())
        .unwrap_or_default()
}

/// Whether a log is that of a sub-agent, by its first line.
fn is_child(path: &Path) -> bool {
    let mut first = [0; MAX_FIRST];
    let read = fs::File::open(path).and_then(|mut file| file.read(&mut first));
    let line = first.get(..read.unwrap_or(0)).unwrap_or_default();
    let line = line.split(|b| *b == b'\n').next().unwrap_or_default();
    memchr::memmem::find(line, b"\"child_of\":{").is_some()
}

fn modified(path: &Path) -> std::time::SystemTime {
    fs::metadata(path)
        .and_then(|m| m.modified())
        .unwrap_or(std::time::UNIX_EPOCH)
}

/// Bytes of a log and the folder beside it.
fn weight(path: &Path) -> u64 {
    let beside = fs::read_dir(path.with_extension(""))
        .map(|files| {
            files
                .flatten()
                .filter_map(|f| f.metadata().ok())
                .map(|m| m.len())
                .sum()
        })
        .unwrap_or(0u64);
    fs::metadata(path).map(|m| m.len()).unwrap_or(0) + beside
}

fn remove(path: &Path) -> io::Result<String> {
    fs::remove_file(path)?;
    match fs::remove_dir_all(path.with_extension("")) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(e),
        Ok(()) | Err(_) => {}
    }
    if let Some(project) = path.parent() {
        // It stays while other sessions are in it.
        let _ = fs::remove_dir(project);
    }
    Ok(stem(path))
}
