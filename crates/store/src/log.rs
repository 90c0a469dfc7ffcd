//! The session log: append-only JSONL, one writer, one `write(2)` per append, readable whatever happened to it.
//! It stores and numbers entries; it does not know what they mean.

use crate::owners::Owners;
use crate::redact::Redactor;
use ostler_wire::{Body, Entry, EntryError, Language, Say, Word};
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

#[cfg(test)]
mod tests;

#[derive(Debug, thiserror::Error)]
pub enum LogError {
    #[error("{}", self.say(Language::English))]
    Locked { id: String },
    #[error("{}", self.say(Language::English))]
    Io {
        path: PathBuf,
        doing: Word,
        source: io::Error,
    },
}

impl LogError {
    pub fn say(&self, language: Language) -> String {
        match self {
            LogError::Locked { id } => language.fill(Word::LogLocked, &[id, id]),
            LogError::Io {
                path,
                doing,
                source,
            } => {
                let (path, why) = (path.display().to_string(), source.say(language));
                let values = [
                    &path,
                    language.say(*doing),
                    &why,
                    language.say(hint(source)),
                ];
                language.fill(Word::LogFault, &values)
            }
        }
    }
}

/// What was wrong with a log that opened all the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Damage {
    /// Lines that are not entries and not torn tails.
    pub bad_lines: usize,
    /// The last line had no end and could not be read.
    pub torn: bool,
}

impl Damage {
    /// A sentence for the person, or nothing to say.
    pub fn notice(&self, language: Language) -> Option<String> {
        let also = match self.torn {
            true => language.say(Word::DamageAlso),
            false => "",
        };
        match (self.bad_lines, self.torn) {
            (0, false) => None,
            (0, true) => Some(language.say(Word::DamageTorn).into()),
            (n, _) => Some(language.many(Word::DamageLines, n, &[&n.to_string(), also])),
        }
    }
}

enum Sink {
    /// Made by the first append: a session without a prompt leaves no file.
    Planned {
        path: PathBuf,
    },
    File {
        file: File,
        path: PathBuf,
    },
    Memory(Arc<Mutex<Vec<Arc<Entry>>>>),
}

/// The one writer of a session.
pub struct Log {
    sink: Sink,
    next: u64,
    head: Option<u64>,
    /// The file does not end with a line break, so the next write starts with one.
    unended: bool,
    syncing: Option<tokio::task::JoinHandle<()>>,
    redactor: Redactor,
    /// Where it is recorded that the file is ours, once it is made.
    owners: Owners,
}

impl Log {
    /// A new log, whose file is made and locked by the first append.
    pub fn plan(path: &Path) -> Self {
        Self {
            sink: Sink::Planned {
                path: path.to_owned(),
            },
            next: 0,
            head: None,
            unended: false,
            syncing: None,
            redactor: Redactor::default(),
            owners: Owners::default(),
        }
    }

    /// Keeps these secrets out of every entry from now on.
    pub fn redacting(mut self, redactor: Redactor) -> Self {
        self.redactor = redactor;
        self
    }

    /// Records the file as the person's own when it is made.
    pub fn recorded_by(mut self, owners: Owners) -> Self {
        self.owners = owners;
        self
    }

    fn create(&mut self) -> Result<(), LogError> {
        let Sink::Planned { path } = &self.sink else {
            return Ok(());
        };
        if let Some(dir) = path.parent() {
            ostler_files::private_dir(dir).map_err(|e| fault(path, Word::LogNotMade, e))?;
        }
        let file = ostler_files::private_options()
            .append(true)
            .create_new(true)
            .open(path)
            .map_err(|e| fault(path, Word::LogNotMade, e))?;
        lock(&file, path)?;
        let recorded = file
            .metadata()
            .and_then(|made| self.owners.record(path, &made));
        recorded.map_err(|e| fault(path, Word::LogNotMade, e))?;
        self.sink = Sink::File {
            file,
            path: path.clone(),
        };
        Ok(())
    }

    /// A log that lives as long as the process (`--no-save`).
    pub fn memory() -> Self {
        Self {
            sink: Sink::Memory(Arc::default()),
            next: 0,
            head: None,
            unended: false,
            syncing: None,
            redactor: Redactor::default(),
            owners: Owners::default(),
        }
    }

    /// Opens a log for appending and reads what is in it.
    pub fn open(path: &Path) -> Result<(Self, Vec<Entry>, Damage), LogError> {
        check_regular(path).map_err(|e| fault(path, Word::LogNotOpened, e))?;
        let file = OpenOptions::new()
            .append(true)
            .read(true)
            .open(path)
            .map_err(|e| fault(path, Word::LogNotOpened, e))?;
        lock(&file, path)?;
        let bytes = std::fs::read(path).map_err(|e| fault(path, Word::LogNotRead, e))?;
        let (entries, next, damage) = parse(&bytes);
        let log = Self {
            sink: Sink::File {
                file,
                path: path.to_owned(),
            },
            next,
            head: entries.last().map(|e| e.entry),
            unended: bytes.last().is_some_and(|b| *b != b'\n'),
            syncing: None,
            redactor: Redactor::default(),
            owners: Owners::default(),
        };
        Ok((log, entries, damage))
    }

    /// Stores the bodies as one write. They are on disk, and may be shown, when this returns.
    pub fn append(&mut self, bodies: Vec<Body>) -> Result<Vec<Arc<Entry>>, LogError> {
        let ts = now();
        let dated = bodies.into_iter().map(|body| (ts.clone(), body));
        self.append_dated(dated.collect())
    }

    /// The same for what happened at other times.
    pub fn append_dated(
        &mut self,
        bodies: Vec<(String, Body)>,
    ) -> Result<Vec<Arc<Entry>>, LogError> {
        self.create()?;
        let (mut number, mut parent) = (self.next, self.head);
        let mut entries = Vec::with_capacity(bodies.len());
        let mut text = String::new();
        if self.unended {
            text.push('\n');
        }
        for (ts, body) in bodies {
            let mut entry = Entry {
                entry: number,
                parent,
                ts,
                body,
            };
            // Our own types always serialise; an entry that did not would be no line at all.
            if let Ok(mut line) = entry.to_line() {
                // Here and nowhere else: what is folded, shown and written is the same text.
                if let Some(clean) = self.redactor.entry(&line, number) {
                    (entry, line) = clean;
                }
                text.push_str(&line);
                text.push('\n');
                parent = Some(number);
                number += 1;
                entries.push(Arc::new(entry));
            }
        }
        // Whatever becomes of the write, these numbers are used up: a part of it may be on disk.
        self.next = number;
        match &mut self.sink {
            Sink::File { file, path } => {
                if let Err(e) = file.write_all(text.as_bytes()) {
                    self.unended = true;
                    return Err(fault(path, Word::LogNotWritten, e));
                }
                self.unended = false;
            }
            // `create` has just made it a file.
            Sink::Planned { .. } => {}
            Sink::Memory(kept) => {
                if let Ok(mut kept) = kept.lock() {
                    kept.extend(entries.iter().cloned());
                }
            }
        }
        self.head = parent;
        Ok(entries)
    }

    /// Makes what was written survive a power loss. Runs beside the session.
    pub fn sync_in_background(&mut self) {
        if let Sink::File { file, .. } = &self.sink
            && let Ok(file) = file.try_clone()
        {
            self.syncing = Some(tokio::task::spawn_blocking(move || {
                // A disk that cannot sync has nothing better to offer; the write itself succeeded.
                let _ = file.sync_data();
            }));
        }
    }

    /// Waits for the last sync, before the process ends.
    pub async fn synced(&mut self) {
        if let Some(syncing) = self.syncing.take() {
            // It only ends early when the runtime does.
            let _ = syncing.await;
        }
    }

    pub fn head(&self) -> Option<u64> {
        self.head
    }

    /// The number that the next entry gets.
    pub fn next(&self) -> u64 {
        self.next
    }

    /// The next entry follows this one (rewind).
    pub fn set_head(&mut self, entry: u64) {
        self.head = Some(entry);
    }

    pub fn is_empty(&self) -> bool {
        self.head.is_none()
    }

    /// Where late subscribers read from.
    /// The entries of the branch that the log is on, oldest first.
    pub fn branch(&self) -> Vec<Entry> {
        let all = self.source().entries_after(None).into_iter();
        branch(all.map(Arc::unwrap_or_clone).collect())
    }

    pub fn source(&self) -> Source {
        match &self.sink {
            Sink::File { path, .. } | Sink::Planned { path } => Source::File(path.clone()),
            Sink::Memory(kept) => Source::Memory(kept.clone()),
        }
    }
}

#[derive(Clone)]
pub enum Source {
    File(PathBuf),
    Memory(Arc<Mutex<Vec<Arc<Entry>>>>),
}

impl Source {
    pub fn entries_after(&self, last: Option<u64>) -> Vec<Arc<Entry>> {
        let is_later = |e: &Entry| last.is_none_or(|last| e.entry > last);
        match self {
            Source::File(path) => match std::fs::read(path) {
                Ok(bytes) => {
                    let (entries, _, _) = parse(&bytes);
                    entries.into_iter().filter(is_later).map(Arc::new).collect()
                }
                Err(_) => Vec::new(),
            },
            Source::Memory(kept) => kept.lock().map_or_else(
                |_| Vec::new(),
                |kept| kept.iter().filter(|e| is_later(e)).cloned().collect(),
            ),
        }
    }
}

/// A log is a file. A project may bring a pipe, a device or a link under the name of one, and reading that has no end.
fn check_regular(path: &Path) -> io::Result<()> {
    match std::fs::symlink_metadata(path)?.is_file() {
        true => Ok(()),
        false => Err(io::Error::from(io::ErrorKind::InvalidInput)),
    }
}

/// Whether a log could be opened for appending now.
pub fn check_free(path: &Path) -> Result<(), LogError> {
    // A log that cannot be opened is explained by `Log::open`.
    let open = || {
        check_regular(path)?;
        OpenOptions::new().append(true).open(path)
    };
    match open() {
        Ok(file) => lock(&file, path),
        Err(_) => Ok(()),
    }
}

/// Reads a log that nobody has to own: lists, exports, searches.
pub fn read(path: &Path) -> Result<(Vec<Entry>, Damage), LogError> {
    check_regular(path).map_err(|e| fault(path, Word::LogNotRead, e))?;
    let bytes = std::fs::read(path).map_err(|e| fault(path, Word::LogNotRead, e))?;
    let (entries, _, damage) = parse(&bytes);
    Ok((entries, damage))
}

/// The last entries of the branch that a log is on, or the last ones before an entry, oldest first; and whether there are
/// older ones. Of a long log only the end is read, where that says it all.
pub fn page(
    path: &Path,
    before: Option<u64>,
    limit: usize,
) -> Result<(Vec<Entry>, bool), LogError> {
    let failed = |e| fault(path, Word::LogNotRead, e);
    check_regular(path).map_err(failed)?;
    if before.is_none()
        && let Some(entries) = tail(path, limit).map_err(failed)?
    {
        return Ok((entries, true));
    }
    let (entries, _) = read(path)?;
    let mut branch = branch(entries);
    branch.retain(|entry| before.is_none_or(|before| entry.entry < before));
    let older = branch.len().saturating_sub(limit);
    branch.drain(..older);
    Ok((branch, older > 0))
}

/// Bytes at the end of a log that are read first.
const TAIL: u64 = 1 << 20;

/// That many entries from the end of a log that is longer than what is read of it. None where they do not all follow each
/// other, or are more than that.
fn tail(path: &Path, limit: usize) -> io::Result<Option<Vec<Entry>>> {
    let mut file = File::open(path)?;
    let Some(start) = file.metadata()?.len().checked_sub(TAIL) else {
        return Ok(None);
    };
    file.seek(SeekFrom::Start(start))?;
    let mut bytes = Vec::new();
    file.take(TAIL).read_to_end(&mut bytes)?;
    // The first line has lost its beginning.
    let whole = memchr::memchr(b'\n', &bytes).and_then(|end| bytes.get(end + 1..));
    let parsed = parse_lines(whole.unwrap_or_default(), 0);
    let mut entries = parsed.entries;
    let follows = |pair: &[Entry]| matches!(pair, [a, b] if b.parent == Some(a.entry));
    let is_whole = parsed.bad_lines == 0 && !parsed.torn && !parsed.unnumbered;
    if !is_whole || entries.len() <= limit || !entries.windows(2).all(follows) {
        return Ok(None);
    }
    entries.drain(..entries.len() - limit);
    Ok(Some(entries))
}

/// The branch that ends at the newest entry, oldest first. A parent that is lost is replaced by the nearest entry before it.
pub fn branch(entries: Vec<Entry>) -> Vec<Entry> {
    let linear = entries
        .windows(2)
        .all(|pair| matches!(pair, [a, b] if b.parent == Some(a.entry)));
    if linear {
        return entries;
    }
    let mut places: Vec<(u64, usize)> = entries
        .iter()
        .enumerate()
        .map(|(place, e)| (e.entry, place))
        .collect();
    places.sort_unstable();
    let mut keep = vec![false; entries.len()];
    let mut at = entries.len().checked_sub(1);
    while let Some(place) = at {
        if let Some(flag) = keep.get_mut(place) {
            *flag = true;
        }
        let parent = entries.get(place).and_then(|e| e.parent);
        at = place_before(place, parent, &places);
    }
    entries
        .into_iter()
        .zip(keep)
        .filter_map(|(entry, keep)| keep.then_some(entry))
        .collect()
}

/// Entries with garbled numbers that are passed over in search of a parent.
const MAX_STEPS: usize = 16;

/// Where the entry lies that the one at `place` follows. What comes earlier is decided by the place in the file: a number may
/// be garbled, and following numbers alone could lose the past or go round in circles.
fn place_before(place: usize, parent: Option<u64>, places: &[(u64, usize)]) -> Option<usize> {
    let previous = place.checked_sub(1)?;
    let Some(parent) = parent else {
        return Some(previous);
    };
    let end = places.partition_point(|(number, _)| *number <= parent);
    let known = places.get(..end).unwrap_or_default().iter().rev();
    let earlier = known
        .take(MAX_STEPS)
        .map(|(_, found)| *found)
        .find(|found| *found < place);
    Some(earlier.unwrap_or(previous))
}

pub fn now() -> String {
    format!("{:.3}", jiff::Timestamp::now())
}

/// Bytes from which a log is parsed by two threads.
const PARALLEL_FROM: usize = 1 << 20;
/// The largest number that a line is believed to have; a counter never gets there.
const MAX_NUMBER: u64 = 1 << 53;

/// Entries in file order, the next free number, and what could not be read.
fn parse(bytes: &[u8]) -> (Vec<Entry>, u64, Damage) {
    let middle = memchr::memchr(b'\n', bytes.get(bytes.len() / 2..).unwrap_or_default())
        .map(|i| bytes.len() / 2 + i + 1)
        .filter(|_| bytes.len() >= PARALLEL_FROM);
    let (mut first, second) = match middle.and_then(|m| bytes.split_at_checked(m)) {
        None => (parse_lines(bytes, 0), Parsed::default()),
        Some((left, right)) => {
            let (first, second) = std::thread::scope(|scope| {
                let first = scope.spawn(|| parse_lines(left, 0));
                let second = parse_lines(right, 0);
                (first.join().unwrap_or_default(), second)
            });
            // Lines without numbers are counted from the start of the file.
            let second = match second.unnumbered {
                true => parse_lines(right, first.next),
                false => second,
            };
            (first, second)
        }
    };
    first.entries.extend(second.entries);
    // NUL alone is what a loss of power can leave of a whole log.
    let is_blank = first.entries.is_empty() && bytes.contains(&0);
    let bad_lines = first.bad_lines + second.bad_lines;
    let damage = Damage {
        bad_lines: bad_lines.max(usize::from(is_blank)),
        torn: first.torn || second.torn,
    };
    (first.entries, first.next.max(second.next), damage)
}

#[derive(Default)]
struct Parsed {
    entries: Vec<Entry>,
    /// Above every number so far.
    next: u64,
    /// Some line had no number, or none to believe.
    unnumbered: bool,
    bad_lines: usize,
    torn: bool,
}

impl Parsed {
    /// The number that a line gets for the one it claims.
    fn number(&mut self, claimed: u64) -> u64 {
        let number = if claimed > MAX_NUMBER {
            self.unnumbered = true;
            self.next
        } else {
            claimed
        };
        self.next = self.next.max(number + 1);
        number
    }
}

fn parse_lines(bytes: &[u8], next: u64) -> Parsed {
    let mut out = Parsed {
        next,
        ..Parsed::default()
    };
    let mut rest = bytes;
    while !rest.is_empty() {
        // File systems that lose power may leave runs of NUL where a write was under way; no line has one in it.
        let end = memchr::memchr2(b'\n', 0, rest);
        let (line, more) = match end {
            Some(i) => (rest.get(..i), rest.get(i + 1..)),
            None => (Some(rest), None),
        };
        rest = more.unwrap_or_default();
        let line = line.unwrap_or_default().trim_ascii();
        if line.is_empty() {
            continue;
        }
        let parsed = match std::str::from_utf8(line) {
            Ok(text) => Entry::from_line(text, u64::MAX),
            Err(_) => Err(EntryError::Broken(serde::de::Error::custom("not UTF-8"))),
        };
        match parsed {
            Ok(mut entry) => {
                let claimed = std::mem::take(&mut entry.entry);
                entry.entry = out.number(claimed);
                if entry.entry != claimed {
                    entry.parent = entry.entry.checked_sub(1);
                }
                out.entries.push(entry);
            }
            Err(EntryError::Unknown { entry, .. }) => {
                out.number(entry);
            }
            Err(EntryError::Broken(_)) if end.is_none() => out.torn = true,
            Err(EntryError::Broken(_)) => out.bad_lines += 1,
        }
    }
    out
}

fn lock(file: &File, path: &Path) -> Result<(), LogError> {
    match file.try_lock() {
        Ok(()) => Ok(()),
        Err(TryLockError::WouldBlock) => Err(LogError::Locked {
            id: path
                .file_stem()
                .map(|s| s.to_string_lossy().into_owned())
                .unwrap_or_default(),
        }),
        // Some network file systems have no locks; a session there is better than none.
        Err(TryLockError::Error(e)) if e.kind() == io::ErrorKind::Unsupported => Ok(()),
        Err(TryLockError::Error(e)) => Err(fault(path, Word::LogNotLocked, e)),
    }
}

fn fault(path: &Path, doing: Word, source: io::Error) -> LogError {
    LogError::Io {
        path: path.to_owned(),
        doing,
        source,
    }
}

/// What to do about it.
fn hint(source: &io::Error) -> Word {
    match source.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Word::LogHintSpace,
        io::ErrorKind::PermissionDenied
        | io::ErrorKind::ReadOnlyFilesystem
        | io::ErrorKind::NotADirectory => Word::LogHintRights,
        _ => Word::LogHintDisk,
    }
}
