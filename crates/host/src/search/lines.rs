//! The search in files: walk, sort, then search in parallel so that the answer is the same every time and stops early.

use super::walk::{self, Tree};
use super::{FoundLines, LineQuery, Mode, Stop};
use globset::GlobSet;
use grep_matcher::Matcher;
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, Sink, SinkContext, SinkMatch};
use ignore::WalkState;
use ignore::types::{Types, TypesBuilder};
use ostler_files::TreeReader;
use ostler_files::{Error, Result};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

pub const MAX_MATCHES: usize = 200;
const MAX_BYTES: usize = 32 * 1024;
const MAX_LINE_CHARS: usize = 500;
/// Characters kept before a match in a line that is too long.
const LEAD_CHARS: usize = 100;
/// The longest line that is searched; a file with a longer one is skipped and counted.
pub const MAX_LINE_BYTES: usize = 16 * 1024 * 1024;
const MAX_THREADS: usize = 8;

struct Query<'a> {
    tree: &'a Tree,
    base: PathBuf,
    matcher: RegexMatcher,
    glob: Option<NameFilter>,
    types: Option<Types>,
    mode: Mode,
    context: usize,
}

/// What a pattern is matched by, or what is wrong with it.
pub fn matcher(pattern: &str, ignore_case: bool) -> std::result::Result<RegexMatcher, String> {
    RegexMatcherBuilder::new()
        .case_insensitive(ignore_case)
        .line_terminator(Some(b'\n'))
        .build(pattern)
        .map_err(|error| error.to_string())
}

/// A filter on file names as people write it: without a slash it holds at any depth, `!` turns it round.
pub struct NameFilter {
    glob: GlobSet,
    inverted: bool,
}

impl NameFilter {
    pub fn new(text: &str) -> std::result::Result<Self, String> {
        let (text, inverted) = text
            .strip_prefix('!')
            .map_or((text, false), |rest| (rest, true));
        let text = text.trim_start_matches("./").trim_start_matches('/');
        let anywhere = match text.contains('/') {
            true => text.to_owned(),
            false => format!("**/{text}"),
        };
        Ok(Self {
            glob: walk::glob(&anywhere)?,
            inverted,
        })
    }

    fn allows(&self, below: &Path) -> bool {
        self.glob.is_match(below) != self.inverted
    }
}

/// A file type by ripgrep's name, or by its extension; none if it cannot be one.
pub fn types(name: &str) -> Option<Types> {
    let mut builder = TypesBuilder::new();
    builder.add_defaults();
    let name = name.trim().trim_start_matches('.');
    if !builder.definitions().iter().any(|d| d.name() == name) {
        // The builder itself refuses a name that is no plain word.
        let _ = builder.add(name, &format!("*.{name}"));
    }
    builder.select(name).build().ok()
}

pub fn find(tree: &Tree, asked: &LineQuery, stop: &Stop) -> Result<FoundLines> {
    let bad = |text: String| Error::Search { text };
    walk::check_base(tree)?;
    let query = Query {
        tree,
        base: walk::start(tree),
        matcher: matcher(&asked.pattern, asked.ignore_case).map_err(bad)?,
        glob: asked
            .glob
            .as_deref()
            .map(NameFilter::new)
            .transpose()
            .map_err(bad)?,
        types: match asked.kind.as_deref() {
            Some(kind) => Some(types(kind).ok_or_else(|| bad(kind.to_owned()))?),
            None => None,
        },
        mode: asked.mode,
        context: asked.context,
    };
    let query = &query;
    let threads = std::thread::available_parallelism()
        .map_or(1, usize::from)
        .min(MAX_THREADS);
    let (files, partial) = files(query, threads, stop);
    let found = Hit::none(files.len());
    if files.len() < 2 * threads {
        found.work(query, &files, stop);
    } else {
        std::thread::scope(|scope| {
            for _ in 0..threads {
                scope.spawn(|| found.work(query, &files, stop));
            }
        });
    }
    if stop.is_asked() {
        return Err(walk::stopped());
    }
    Ok(answer(found, query, files.len(), partial))
}

/// Every file to search, in order, and whether there are more than one call may look at.
fn files(query: &Query<'_>, threads: usize, stop: &Stop) -> (Vec<PathBuf>, bool) {
    let found = Mutex::new(Vec::new());
    let walked = AtomicUsize::new(0);
    let partial = AtomicBool::new(false);
    let mut builder = walk::builder(&query.base, query.tree, &[]);
    if let Some(types) = &query.types {
        builder.types(types.clone());
    }
    builder.threads(threads).build_parallel().run(|| {
        Box::new(|entry| {
            if stop.is_asked() {
                return WalkState::Quit;
            }
            if walked.fetch_add(1, Ordering::Relaxed) >= walk::MAX_WALKED {
                partial.store(true, Ordering::Relaxed);
                return WalkState::Quit;
            }
            // Folders that may not be read have nothing to search.
            let Ok(entry) = entry else {
                return WalkState::Continue;
            };
            // A named symlink is followed; a fifo is never opened, it would wait for ever.
            let is_file = match entry.file_type() {
                Some(kind) if kind.is_symlink() => entry.depth() == 0 && entry.path().is_file(),
                kind => kind.is_some_and(|k| k.is_file()),
            };
            let below = entry
                .path()
                .strip_prefix(&query.base)
                .unwrap_or(entry.path());
            let named = query
                .glob
                .as_ref()
                .is_none_or(|g| entry.depth() == 0 || g.allows(below));
            if is_file && named && query.tree.reads(entry.path()) {
                found
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .push(entry.into_path());
            }
            WalkState::Continue
        })
    });
    let mut files = found.into_inner().unwrap_or_else(PoisonError::into_inner);
    files.sort_unstable();
    (files, partial.into_inner())
}

/// What the threads found so far. Keeps the first files, in order, that together have more matches than are shown:
/// whatever the threads' timing, that is the same set, and it is small.
struct Hit {
    next: AtomicUsize,
    /// Files from here on cannot be in the answer.
    limit: AtomicUsize,
    skipped: AtomicU64,
    kept: Mutex<(BTreeMap<usize, Hits>, usize)>,
}

#[derive(Default)]
struct Hits {
    lines: Vec<Line>,
    matches: usize,
}

struct Line {
    text: String,
    is_match: bool,
}

impl Hit {
    fn none(files: usize) -> Self {
        Self {
            next: AtomicUsize::new(0),
            limit: AtomicUsize::new(files),
            skipped: AtomicU64::new(0),
            kept: Mutex::default(),
        }
    }

    fn work(&self, query: &Query<'_>, files: &[PathBuf], stop: &Stop) {
        let mut searcher = SearcherBuilder::new()
            .binary_detection(BinaryDetection::quit(0))
            .heap_limit(Some(MAX_LINE_BYTES))
            .line_number(query.mode == Mode::Content)
            .before_context(query.context)
            .after_context(query.context)
            .build();
        let mut reader = TreeReader::new(query.tree.border.clone());
        loop {
            let index = self.next.fetch_add(1, Ordering::Relaxed);
            if index >= self.limit.load(Ordering::Relaxed) || stop.is_asked() {
                return;
            }
            let Some(path) = files.get(index) else { return };
            let file = match reader.open(path) {
                Ok(file) => Stoppable { file, stop },
                // It was swapped for one that may not be read, or was let pass by its name alone.
                Err(Error::Withheld { .. } | Error::Beyond { .. }) => continue,
                Err(_) => {
                    self.skipped.fetch_add(1, Ordering::Relaxed);
                    continue;
                }
            };
            match search(&mut searcher, query, path, file) {
                Ok(hits) if hits.matches > 0 => self.keep(index, hits),
                Ok(_) => {}
                Err(_) => {
                    self.skipped.fetch_add(1, Ordering::Relaxed);
                }
            }
        }
    }

    fn keep(&self, index: usize, hits: Hits) {
        let mut guard = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let (kept, matches) = &mut *guard;
        *matches += hits.matches;
        kept.insert(index, hits);
        while let Some(last) = kept.last_entry() {
            let without = *matches - last.get().matches;
            if without <= MAX_MATCHES {
                break;
            }
            *matches = without;
            self.limit.fetch_min(*last.key(), Ordering::Relaxed);
            last.remove();
        }
    }
}

fn search(
    searcher: &mut Searcher,
    query: &Query<'_>,
    path: &Path,
    file: Stoppable<'_>,
) -> io::Result<Hits> {
    let mut sink = FileSink {
        query,
        shown: walk::one_line(&query.tree.shown(path)).into_owned(),
        hits: Hits::default(),
        bytes: 0,
        binary: false,
    };
    searcher.search_reader(&query.matcher, file, &mut sink)?;
    if sink.binary {
        return Ok(Hits::default());
    }
    let FileSink { shown, hits, .. } = sink;
    let text = match query.mode {
        Mode::Content => return Ok(hits),
        Mode::Files | Mode::Count if hits.matches == 0 => return Ok(hits),
        Mode::Files => shown,
        Mode::Count => format!("{shown}:{}", hits.matches),
    };
    Ok(Hits {
        lines: vec![Line {
            text,
            is_match: true,
        }],
        matches: 1,
    })
}

/// A file whose reading ends when the call is cancelled.
struct Stoppable<'a> {
    file: File,
    stop: &'a Stop,
}

impl Read for Stoppable<'_> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        if self.stop.is_asked() {
            return Err(io::Error::other("cancelled"));
        }
        self.file.read(buf)
    }
}

struct FileSink<'a> {
    query: &'a Query<'a>,
    shown: String,
    hits: Hits,
    bytes: usize,
    binary: bool,
}

impl FileSink<'_> {
    fn push(&mut self, text: String, is_match: bool) {
        self.bytes += text.len() + 1;
        self.hits.lines.push(Line { text, is_match });
    }
}

impl Sink for FileSink<'_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> io::Result<bool> {
        self.hits.matches += 1;
        Ok(match self.query.mode {
            Mode::Files => false,
            Mode::Count => true,
            Mode::Content => {
                let at = self
                    .query
                    .matcher
                    .find(found.bytes())
                    .ok()
                    .flatten()
                    .map_or(0, |m| m.start());
                let text = shorten(found.bytes(), at);
                let number = found.line_number().unwrap_or(0);
                self.push(format!("{}:{number}:{text}", self.shown), true);
                self.hits.matches <= MAX_MATCHES && self.bytes <= MAX_BYTES
            }
        })
    }

    fn context(&mut self, _: &Searcher, around: &SinkContext<'_>) -> io::Result<bool> {
        if self.query.mode == Mode::Content {
            let number = around.line_number().unwrap_or(0);
            let text = shorten(around.bytes(), 0);
            self.push(format!("{}-{number}-{text}", self.shown), false);
        }
        Ok(self.bytes <= MAX_BYTES)
    }

    fn context_break(&mut self, _: &Searcher) -> io::Result<bool> {
        if self.query.mode == Mode::Content {
            self.push("--".into(), false);
        }
        Ok(true)
    }

    fn binary_data(&mut self, _: &Searcher, _: u64) -> io::Result<bool> {
        self.binary = true;
        Ok(false)
    }
}

/// The line as text; of a long one the part around the byte `at`.
fn shorten(line: &[u8], at: usize) -> String {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    let decode = |from: usize, to: usize| {
        let part = line.get(from..to.min(line.len())).unwrap_or_default();
        String::from_utf8_lossy(part).into_owned()
    };
    // A character has at most four bytes; one more window than needed keeps cut characters out of what is shown.
    if line.len() <= 4 * MAX_LINE_CHARS {
        let whole = decode(0, line.len());
        if whole.chars().count() <= MAX_LINE_CHARS {
            return whole;
        }
    }
    let at = if at < MAX_LINE_CHARS / 2 { 0 } else { at };
    let before = decode(at.saturating_sub(4 * (LEAD_CHARS + 1)), at);
    let lead = before.chars().count().saturating_sub(LEAD_CHARS);
    let mut shown: String = before.chars().skip(lead).collect();
    if at > 0 {
        shown.insert(0, '…');
    }
    let after = decode(at, at + 4 * (MAX_LINE_CHARS + 1));
    let room = MAX_LINE_CHARS - LEAD_CHARS.min(at);
    shown.extend(after.chars().take(room));
    if after.chars().count() > room {
        shown.push('…');
    }
    shown
}

fn answer(found: Hit, query: &Query<'_>, searched: usize, partial: bool) -> FoundLines {
    let (kept, _) = found
        .kept
        .into_inner()
        .unwrap_or_else(PoisonError::into_inner);
    let mut lines: Vec<String> = Vec::new();
    let (mut count, mut bytes, mut truncated) = (0, 0, partial);
    'all: for hits in kept.into_values() {
        if query.context > 0 && !lines.is_empty() {
            lines.push("--".into());
        }
        for line in hits.lines {
            bytes += line.text.len() + 1;
            if bytes > MAX_BYTES || line.is_match && count == MAX_MATCHES {
                truncated = true;
                break 'all;
            }
            count += usize::from(line.is_match);
            lines.push(line.text);
        }
    }
    let skipped = found.skipped.into_inner();
    FoundLines {
        lines,
        count,
        searched,
        truncated,
        // After an early end the number would depend on timing.
        skipped: (skipped > 0 && !truncated).then_some(skipped),
    }
}
