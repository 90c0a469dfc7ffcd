//! The index on disk: words of entries with where they lie, never the text itself. All of it can be made again from the
//! logs, so it is deleted when anything is wrong with it.

use super::remark::Remark;
use super::source::{Lines, Meaning, Source, USER};
use super::terms::{self, Term, Words};
use rusqlite::{Connection, ErrorCode, OptionalExtension as _, params};
use sha2::{Digest, Sha256};
use std::collections::{HashMap, VecDeque};
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Goes up whenever the tables or what is put into them change.
const VERSION: i32 = 2;
const SCHEMA: &str = "
    CREATE TABLE project(id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, next INTEGER NOT NULL DEFAULT 0);
    CREATE TABLE log(id INTEGER PRIMARY KEY, path TEXT UNIQUE, project INTEGER NOT NULL, bytes INTEGER NOT NULL,
        size INTEGER NOT NULL, changed INTEGER NOT NULL, mark INTEGER NOT NULL, next INTEGER NOT NULL,
        title TEXT NOT NULL, prompt INTEGER);
    CREATE TABLE doc(id INTEGER PRIMARY KEY, log INTEGER NOT NULL, entry INTEGER NOT NULL, at INTEGER NOT NULL,
        bytes INTEGER NOT NULL);
    CREATE VIRTUAL TABLE words USING fts5(text, content='', contentless_delete=1,
        tokenize='porter unicode61 remove_diacritics 2');";
/// A document's number has its project in the upper bits: a project is a range.
const PROJECT_SHIFT: u32 = 40;
/// Documents of one transaction, and how long it lasts: others want to write, too.
const BATCH: usize = 2000;
const BATCH_TIME: Duration = Duration::from_millis(250);
/// How long another process is waited for.
const PATIENCE: Duration = Duration::from_millis(250);
/// Documents that are ranked. A word that more have tells little, and counts only when there is no better.
const MAX_RANKED: usize = 3000;
/// Bytes of a file by which it is known again, at its beginning and where it was left.
const MARK: u64 = 256;
/// Counters and offsets are stored as the signed numbers of the database; none comes near.
const MAX_NUMBER: u64 = 1 << 53;

pub struct Index {
    db: Connection,
}

/// A document that a query found.
#[derive(Clone, Debug, PartialEq)]
pub struct Candidate {
    pub log: i64,
    pub entry: u64,
    pub at: u64,
    pub bytes: u64,
    /// Higher is better.
    pub score: f64,
}

/// What is known of a log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct About {
    pub path: PathBuf,
    pub place: String,
    pub title: String,
    /// The last prompt.
    pub prompt: Option<u64>,
}

/// How far a log was read.
struct Row {
    id: i64,
    project: i64,
    bytes: u64,
    size: u64,
    changed: i64,
    /// See [`mark`].
    mark: i64,
    next: u64,
    title: String,
    prompt: Option<u64>,
}

/// The folder of things that may be deleted, and the index in it.
pub fn place(home: &Path) -> PathBuf {
    home.join("cache").join("history.sqlite")
}

impl Index {
    /// The index on disk, made anew if it was broken; one in memory when there can be none on disk.
    pub fn open(home: &Path) -> Result<(Self, Option<Remark>), rusqlite::Error> {
        let path = place(home);
        let mut remark = None;
        let opened = match Self::at(&path) {
            Err(error) if is_broken(&error) => {
                remark = (!is_other_version(&error)).then_some(Remark::Rebuilt);
                remove(&path);
                Self::at(&path)
            }
            other => other,
        };
        match opened {
            Ok(index) => Ok((index, remark)),
            Err(error) => {
                let db = Connection::open_in_memory()?;
                db.execute_batch(SCHEMA)?;
                let remark = Remark::Unkept {
                    path: path.display().to_string(),
                    why: error.to_string(),
                };
                Ok((Self { db }, Some(remark)))
            }
        }
    }

    fn at(path: &Path) -> Result<Self, rusqlite::Error> {
        if let Some(dir) = path.parent() {
            // A folder that cannot be made shows again when the file cannot.
            let _ = ostler_files::private_dir(dir);
        }
        let mut private = ostler_files::private_options();
        let _ = private.create(true).append(true).open(path);
        let db = Connection::open(path)?;
        db.busy_timeout(PATIENCE)?;
        // Readers and a writer beside each other, where the file system can do it.
        db.query_row("PRAGMA journal_mode = WAL", [], |_| Ok(()))?;
        // Nothing waits for the disk: what a power loss tears is made again from the logs.
        db.execute_batch("PRAGMA synchronous = OFF; PRAGMA cache_size = -16000;")?;
        let version = |db: &Connection| db.query_row("PRAGMA user_version", [], |r| r.get(0));
        if version(&db)? == 0 {
            db.execute_batch("BEGIN IMMEDIATE")?;
            // Another process may have been faster.
            if version(&db)? == 0 {
                db.execute_batch(SCHEMA)?;
                db.pragma_update(None, "user_version", VERSION)?;
            }
            db.execute_batch("COMMIT")?;
        }
        match version(&db)? {
            VERSION => Ok(Self { db }),
            _ => Err(rusqlite::Error::InvalidQuery),
        }
    }

    /// Reads what is new in the logs, the first ones first, until the time is over. What is left to say about it.
    pub fn update(
        &mut self,
        sources: &[Source],
        until: Instant,
        stop: &dyn Fn() -> bool,
    ) -> Result<Option<Remark>, rusqlite::Error> {
        let (mut queue, gone) = self.stale(sources)?;
        let result = self.work(&mut queue, &gone, until, stop);
        if !self.db.is_autocommit() {
            // What cannot be rolled back now is rolled back by the next one to open it.
            let _ = self.db.execute_batch("ROLLBACK");
        }
        let (logs, of) = (queue.len(), sources.len());
        let remark = match result {
            Ok(()) => Remark::Behind { logs, of },
            Err(error) if is_broken(&error) => return Err(error),
            Err(error) => match error.sqlite_error_code() {
                Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
                    Remark::Busy { logs, of }
                }
                _ => Remark::Unwritable {
                    logs,
                    of,
                    why: error.to_string(),
                },
            },
        };
        Ok((logs > 0).then_some(remark))
    }

    /// Logs that have grown or are new, and those that are no more.
    fn stale<'a>(
        &self,
        sources: &'a [Source],
    ) -> Result<(VecDeque<&'a Source>, Vec<i64>), rusqlite::Error> {
        let mut known: HashMap<String, (i64, u64, i64)> = HashMap::new();
        let mut select = self
            .db
            .prepare("SELECT path, id, size, changed FROM log WHERE path IS NOT NULL")?;
        let mut rows = select.query([])?;
        while let Some(row) = rows.next()? {
            known.insert(row.get(0)?, (row.get(1)?, number(row, 2)?, row.get(3)?));
        }
        let mut stale = VecDeque::new();
        for source in sources {
            match known.remove(&key(&source.path)) {
                Some((_, size, changed)) if (size, changed) == (source.size, source.changed) => {}
                Some(_) | None => stale.push_back(source),
            }
        }
        // Logs that were not asked for stay while they are there.
        let is_gone = |path: &str| {
            std::fs::metadata(path).is_err_and(|e| e.kind() == std::io::ErrorKind::NotFound)
        };
        let gone = known.into_iter().filter(|(path, _)| is_gone(path));
        Ok((stale, gone.map(|(_, (id, _, _))| id).collect()))
    }

    fn work(
        &mut self,
        queue: &mut VecDeque<&Source>,
        gone: &[i64],
        until: Instant,
        stop: &dyn Fn() -> bool,
    ) -> Result<(), rusqlite::Error> {
        let is_over = || Instant::now() >= until || stop();
        if !gone.is_empty() {
            self.db.execute_batch("BEGIN IMMEDIATE")?;
            for id in gone {
                self.drop_log(*id)?;
            }
            self.db.execute_batch("COMMIT")?;
        }
        while !queue.is_empty() && !is_over() {
            self.db.execute_batch("BEGIN IMMEDIATE")?;
            let end = until.min(Instant::now() + BATCH_TIME);
            let mut room = BATCH;
            while let Some(source) = queue.front() {
                match self.take_in(source, &mut room, end)? {
                    Reached::End => queue.pop_front(),
                    Reached::Limit => break,
                };
            }
            self.db.execute_batch("COMMIT")?;
        }
        while !is_over() && self.sweep()? > 0 {}
        Ok(())
    }

    /// Its documents are found no more, and taken out when there is time.
    fn drop_log(&self, id: i64) -> Result<(), rusqlite::Error> {
        self.db
            .execute("UPDATE log SET path = NULL WHERE id = ?1", [id])?;
        Ok(())
    }

    /// Takes out some documents of logs that are no more. How many.
    fn sweep(&self) -> Result<usize, rusqlite::Error> {
        let dead: Option<i64> = self
            .db
            .query_row("SELECT id FROM log WHERE path IS NULL LIMIT 1", [], |r| {
                r.get(0)
            })
            .optional()?;
        let Some(dead) = dead else {
            return Ok(0);
        };
        self.db.execute_batch("BEGIN IMMEDIATE")?;
        let mut select = self
            .db
            .prepare_cached("SELECT id FROM doc WHERE log = ?1 LIMIT ?2")?;
        let ids = select
            .query_map(params![dead, BATCH as i64], |r| r.get(0))?
            .collect::<Result<Vec<i64>, _>>()?;
        for id in &ids {
            self.db
                .prepare_cached("DELETE FROM words WHERE rowid = ?1")?
                .execute([id])?;
            self.db
                .prepare_cached("DELETE FROM doc WHERE id = ?1")?
                .execute([id])?;
        }
        if ids.len() < BATCH {
            self.db.execute("DELETE FROM log WHERE id = ?1", [dead])?;
        }
        self.db.execute_batch("COMMIT")?;
        Ok(ids.len().max(1))
    }

    /// Reads a log on from where the last one stopped who did.
    fn take_in(
        &self,
        source: &Source,
        room: &mut usize,
        until: Instant,
    ) -> Result<Reached, rusqlite::Error> {
        let mut row = self.row(source)?;
        if (row.size, row.changed) == (source.size, source.changed) {
            return Ok(Reached::End);
        }
        let Ok(mut lines) = Lines::of_log(&source.path, row.bytes) else {
            return Ok(Reached::End);
        };
        let mut doc: i64 = self.db.query_row(
            "SELECT next FROM project WHERE id = ?1",
            [row.project],
            |r| r.get(0),
        )?;
        let reached = loop {
            if *room == 0 || Instant::now() >= until {
                break Reached::Limit;
            }
            // A log that cannot be read further is read again when it changes.
            let Ok(Some(line)) = lines.next() else {
                break Reached::End;
            };
            *room -= 1;
            match lines.meaning(&line) {
                Meaning::Said(said) => {
                    let entry = row.count(said.entry);
                    if said.role == USER {
                        row.prompt = Some(entry);
                    }
                    if said.role == USER && row.title.is_empty() {
                        row.title = crate::title::title_line(&said.text).unwrap_or_default();
                    }
                    let id = (row.project << PROJECT_SHIFT) | doc;
                    doc += 1;
                    self.db
                        .prepare_cached("INSERT INTO words(rowid, text) VALUES (?1, ?2)")?
                        .execute(params![id, terms::indexed(&said.text)])?;
                    self.db
                        .prepare_cached("INSERT INTO doc(id, log, entry, at, bytes) VALUES (?1, ?2, ?3, ?4, ?5)")?
                        .execute(params![id, row.id, signed(entry), signed(line.at), line.bytes.len() as i64])?;
                }
                Meaning::Title(title) => {
                    row.count(None);
                    row.title = title;
                }
                Meaning::Nothing(entry) => {
                    row.count(entry);
                }
            }
        };
        row.bytes = lines.at();
        if reached == Reached::End {
            (row.size, row.changed) = (source.size, source.changed);
        }
        row.mark = mark(&source.path, row.bytes).unwrap_or_default();
        self.save(&row, doc)?;
        Ok(reached)
    }

    /// Where a log was left; a new beginning for one that is not what it was.
    fn row(&self, source: &Source) -> Result<Row, rusqlite::Error> {
        let known = self
            .db
            .prepare_cached(
                "SELECT id, project, bytes, size, changed, mark, next, title, prompt FROM log WHERE path = ?1",
            )?
            .query_row([key(&source.path)], |r| {
                Ok(Row {
                    id: r.get(0)?,
                    project: r.get(1)?,
                    bytes: number(r, 2)?,
                    size: number(r, 3)?,
                    changed: r.get(4)?,
                    mark: r.get(5)?,
                    next: number(r, 6)?,
                    title: r.get(7)?,
                    prompt: r.get::<_, Option<i64>>(8)?.and_then(|n| u64::try_from(n).ok()),
                })
            })
            .optional()?;
        if let Some(row) = known {
            if row.bytes == 0 || mark(&source.path, row.bytes) == Some(row.mark) {
                return Ok(row);
            }
            self.drop_log(row.id)?;
        }
        self.db.execute(
            "INSERT OR IGNORE INTO project(name) VALUES (?1)",
            [&source.place],
        )?;
        let project: i64 = self.db.query_row(
            "SELECT id FROM project WHERE name = ?1",
            [&source.place],
            |r| r.get(0),
        )?;
        self.db.execute(
            "INSERT INTO log(path, project, bytes, size, changed, mark, next, title) VALUES (?1, ?2, 0, -1, 0, 0, 0, '')",
            params![key(&source.path), project],
        )?;
        Ok(Row {
            id: self.db.last_insert_rowid(),
            project,
            bytes: 0,
            size: u64::MAX,
            changed: 0,
            mark: 0,
            next: 0,
            title: String::new(),
            prompt: None,
        })
    }

    fn save(&self, row: &Row, doc: i64) -> Result<(), rusqlite::Error> {
        self.db
            .prepare_cached(
                "UPDATE log SET bytes = ?2, size = ?3, changed = ?4, mark = ?5, next = ?6, title = ?7, prompt = ?8 WHERE id = ?1",
            )?
            .execute(params![
                row.id,
                signed(row.bytes),
                if row.size > MAX_NUMBER { -1 } else { signed(row.size) },
                row.changed,
                row.mark,
                signed(row.next),
                row.title,
                row.prompt.map(signed),
            ])?;
        self.db
            .prepare_cached("UPDATE project SET next = ?2 WHERE id = ?1")?
            .execute(params![row.project, doc])?;
        Ok(())
    }

    /// The best documents for these terms, the best first.
    pub fn best(
        &self,
        terms: &[Term],
        words: Words,
        project: Option<&str>,
        limit: usize,
    ) -> Result<Vec<Candidate>, rusqlite::Error> {
        let Some(range) = self.range(project)? else {
            return Ok(Vec::new());
        };
        let join = |terms: &[&str], by: &str| terms.join(by);
        let all: Vec<&str> = terms.iter().map(|t| t.wanted.as_str()).collect();
        let mut ranked = match words {
            Words::All => self.ranked(&join(&all, " AND "), range)?,
            Words::Any => {
                let mut there = Vec::new();
                for term in &all {
                    there.push((self.count(term, range)?, *term));
                }
                there.retain(|(count, _)| *count > 0);
                let rare: Vec<&str> = there
                    .iter()
                    .filter(|(count, _)| *count <= MAX_RANKED)
                    .map(|(_, term)| *term)
                    .collect();
                let there: Vec<&str> = there.into_iter().map(|(_, term)| term).collect();
                match (rare.is_empty(), there.is_empty()) {
                    (false, _) => self.ranked(&join(&rare, " OR "), range)?,
                    (true, true) => Vec::new(),
                    (true, false) => {
                        let both = self.ranked(&join(&there, " AND "), range)?;
                        match both.is_empty() {
                            true => self.ranked(&join(&there, " OR "), range)?,
                            false => both,
                        }
                    }
                }
            }
        };
        // The later one of two that are as good.
        ranked.sort_by(|(a, one), (b, other)| other.total_cmp(one).then(b.cmp(a)));
        ranked.truncate(limit);
        ranked
            .into_iter()
            .map(|(id, score)| self.candidate(id, score))
            .collect()
    }

    fn range(&self, project: Option<&str>) -> Result<Option<(i64, i64)>, rusqlite::Error> {
        let Some(name) = project else {
            return Ok(Some((0, i64::MAX)));
        };
        let id: Option<i64> = self
            .db
            .query_row("SELECT id FROM project WHERE name = ?1", [name], |r| {
                r.get(0)
            })
            .optional()?;
        Ok(id.map(|id| (id << PROJECT_SHIFT, ((id + 1) << PROJECT_SHIFT) - 1)))
    }

    /// How many documents have a term, as far as it matters.
    fn count(&self, term: &str, (from, to): (i64, i64)) -> Result<usize, rusqlite::Error> {
        let count: i64 = self
            .db
            .prepare_cached(
                "SELECT count(*) FROM (SELECT 1 FROM words WHERE words MATCH ?1 AND rowid BETWEEN ?2 AND ?3 LIMIT ?4)",
            )?
            .query_row(params![term, from, to, MAX_RANKED as i64 + 1], |r| r.get(0))?;
        Ok(usize::try_from(count).unwrap_or(0))
    }

    fn ranked(
        &self,
        expression: &str,
        (from, to): (i64, i64),
    ) -> Result<Vec<(i64, f64)>, rusqlite::Error> {
        self.db
            .prepare_cached(
                "SELECT rowid, -bm25(words) FROM words WHERE words MATCH ?1 AND rowid BETWEEN ?2 AND ?3 ORDER BY rowid DESC LIMIT ?4",
            )?
            .query_map(params![expression, from, to, MAX_RANKED as i64], |r| {
                Ok((r.get(0)?, r.get(1)?))
            })?
            .collect()
    }

    fn candidate(&self, id: i64, score: f64) -> Result<Candidate, rusqlite::Error> {
        self.db
            .prepare_cached("SELECT log, entry, at, bytes FROM doc WHERE id = ?1")?
            .query_row([id], |r| {
                Ok(Candidate {
                    log: r.get(0)?,
                    entry: number(r, 1)?,
                    at: number(r, 2)?,
                    bytes: number(r, 3)?,
                    score,
                })
            })
    }

    /// `None` for a log that is no more.
    pub fn about(&self, log: i64) -> Result<Option<About>, rusqlite::Error> {
        self.db
            .prepare_cached(
                "SELECT path, name, title, prompt FROM log JOIN project ON project.id = log.project WHERE log.id = ?1 AND path IS NOT NULL",
            )?
            .query_row([log], |r| {
                Ok(About {
                    path: PathBuf::from(r.get::<_, String>(0)?),
                    place: r.get(1)?,
                    title: r.get(2)?,
                    prompt: r.get::<_, Option<i64>>(3)?.and_then(|n| u64::try_from(n).ok()),
                })
            })
            .optional()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reached {
    End,
    Limit,
}

impl Row {
    /// The number of the next line, given the one it claims.
    fn count(&mut self, claimed: Option<u64>) -> u64 {
        let number = claimed.filter(|n| *n < MAX_NUMBER).unwrap_or(self.next);
        self.next = self.next.max(number + 1);
        number
    }
}

/// Deletes the index, for whoever comes next to make anew.
pub fn remove(path: &Path) {
    for ending in ["", "-wal", "-shm"] {
        let mut name = path.as_os_str().to_owned();
        name.push(ending);
        // One that cannot be deleted shows again when it is opened.
        let _ = std::fs::remove_file(name);
    }
}

/// Whether a new index would help. A full disk, a folder that may not be written, another process: it would not.
pub fn is_broken(error: &rusqlite::Error) -> bool {
    match error.sqlite_error_code() {
        Some(
            ErrorCode::DatabaseBusy
            | ErrorCode::DatabaseLocked
            | ErrorCode::DiskFull
            | ErrorCode::ReadOnly
            | ErrorCode::SystemIoFailure
            | ErrorCode::CannotOpen
            | ErrorCode::PermissionDenied
            | ErrorCode::FileLockingProtocolFailed
            | ErrorCode::OutOfMemory
            | ErrorCode::OperationInterrupted,
        ) => false,
        Some(_) | None => true,
    }
}

/// Whether it was made by another version, and there is nothing wrong with it.
fn is_other_version(error: &rusqlite::Error) -> bool {
    matches!(error, rusqlite::Error::InvalidQuery)
}

/// What a file begins with, and what stands before the place up to which it was read, in a number. None for one that
/// does not reach so far.
fn mark(path: &Path, read: u64) -> Option<i64> {
    let mut file = std::fs::File::open(path).ok()?;
    let most = MARK.min(read);
    let mut bytes = Vec::new();
    let first = file.by_ref().take(most).read_to_end(&mut bytes).ok()?;
    file.seek(SeekFrom::Start(read - most)).ok()?;
    let last = file.take(most).read_to_end(&mut bytes).ok()?;
    let digest = Sha256::digest(&bytes);
    let number: [u8; 8] = digest.get(..8)?.try_into().ok()?;
    (first as u64 == most && last as u64 == most).then(|| i64::from_le_bytes(number))
}

fn key(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

fn number(row: &rusqlite::Row<'_>, column: usize) -> Result<u64, rusqlite::Error> {
    Ok(u64::try_from(row.get::<_, i64>(column)?).unwrap_or(u64::MAX))
}

fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
