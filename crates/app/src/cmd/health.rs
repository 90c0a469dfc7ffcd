//! The state of what lies in `<home>`: whether it can be written, and what became of logs and ledger. Bounded, however much
//! there is.

use super::doctor::{Finding, Status};
use crate::output;
use ostler_config::text::Speak as _;
use ostler_engine::ledger::Ledger;
use ostler_engine::log;
use ostler_wire::{Language, Word};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// Logs that are counted.
const MAX_LOGS: usize = 100_000;
/// Bytes of logs that are read, newest first.
const MAX_READ: u64 = 256 * 1024 * 1024;
/// A larger ledger is only measured.
const MAX_LEDGER: u64 = 256 * 1024 * 1024;
/// Damaged logs that are named.
const MAX_NAMED: usize = 5;

pub fn home(home: &Path, language: Language) -> Finding {
    let shown = home.display();
    match writable(home, language) {
        Ok(()) => Finding::ok("home", language.filled(Word::DocHomeFine, &[&shown])),
        Err(error) => Finding::new(
            Status::Problem,
            "home",
            language.filled(Word::CannotWrite, &[&shown, &error]),
        )
        .fix(language.say(Word::DocHomeFix)),
    }
}

/// Tries the folder, or the nearest one above it that is there: making it can wait until it is needed.
fn writable(home: &Path, language: Language) -> io::Result<()> {
    let mut folder = home;
    loop {
        match folder.metadata() {
            Ok(metadata) if metadata.is_dir() => break,
            Ok(_) => {
                return Err(io::Error::other(
                    language.filled(Word::NoFolder, &[&folder.display()]),
                ));
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => match folder.parent() {
                Some(parent) => folder = parent,
                None => return Err(error),
            },
            Err(error) => return Err(error),
        }
    }
    tempfile::NamedTempFile::new_in(folder).map(drop)
}

struct LogFile {
    path: PathBuf,
    bytes: u64,
    modified: SystemTime,
}

pub fn sessions(dir: &Path, language: Language) -> Vec<Finding> {
    let mut logs = match logs(dir) {
        Ok(logs) => logs,
        Err(error) => {
            let text = language.filled(Word::CannotRead, &[&dir.display(), &error]);
            return vec![
                Finding::new(Status::Problem, "sessions", text)
                    .fix(language.say(Word::DocCheckRights)),
            ];
        }
    };
    logs.sort_by_key(|log| std::cmp::Reverse(log.modified));
    let total = logs.iter().map(|log| log.bytes).sum();
    let (mut read, mut looked, mut damaged) = (0, 0, Vec::new());
    for log in &logs {
        read += log.bytes;
        if read > MAX_READ {
            break;
        }
        looked += 1;
        damaged.extend(harm(&log.path, language));
    }
    let mut text = language.filled(
        Word::DocSessions,
        &[
            &language.counted(logs.len(), Word::ManySessions),
            &output::size(total),
            &dir.display(),
        ],
    );
    if looked < logs.len() {
        text.push_str(&language.filled(Word::DocOnlyNewest, &[&looked]));
    }
    let mut findings = vec![Finding::ok("sessions", text)];
    if !damaged.is_empty() {
        let text = format!(
            "{}: {}",
            language.counted(damaged.len(), Word::ManyDamagedLogs),
            named(&damaged, language)
        );
        findings.push(
            Finding::new(Status::Note, "sessions", text).fix(language.say(Word::DocDamagedOpen)),
        );
    }
    findings
}

fn logs(dir: &Path) -> io::Result<Vec<LogFile>> {
    let projects = match fs::read_dir(dir) {
        Ok(projects) => projects,
        Err(error) if is_absent(&error) => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let files = projects
        .flatten()
        .filter_map(|project| fs::read_dir(project.path()).ok())
        .flatten()
        .flatten();
    let logs = files.filter_map(|file| {
        let path = file.path();
        let metadata = file.metadata().ok()?;
        path.extension()
            .is_some_and(|e| e == "jsonl")
            .then_some(LogFile {
                path,
                bytes: metadata.len(),
                modified: metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH),
            })
    });
    Ok(logs.take(MAX_LOGS).collect())
}

/// What is wrong with a log, in a few words.
fn harm(path: &Path, language: Language) -> Option<String> {
    let id = path
        .file_stem()
        .map(|s| s.to_string_lossy().into_owned())
        .unwrap_or_default();
    let what = match log::read(path) {
        Err(_) => language.say(Word::DocUnreadable).into(),
        Ok((_, damage)) => match (damage.bad_lines, damage.torn) {
            (0, false) => return None,
            (0, true) => language.say(Word::DocCutOff).into(),
            (lines, false) => language.counted(lines, Word::ManyBadLines),
            (lines, true) => language.filled(
                Word::DocAlsoCut,
                &[&language.counted(lines, Word::ManyBadLines)],
            ),
        },
    };
    Some(format!("{} ({what})", output::short(&id)))
}

fn named(damaged: &[String], language: Language) -> String {
    let mut names: Vec<String> = damaged.iter().take(MAX_NAMED).cloned().collect();
    if let Some(more) = damaged
        .len()
        .checked_sub(MAX_NAMED)
        .filter(|more| *more > 0)
    {
        names.push(language.filled(Word::AndMore, &[&more]));
    }
    names.join(", ")
}

pub fn ledger(home: &Path, language: Language) -> Finding {
    let path = home.join("ledger.jsonl");
    let bytes = match fs::metadata(&path) {
        Ok(metadata) => metadata.len(),
        Err(error) if is_absent(&error) => {
            return Finding::ok("ledger", language.say(Word::DocNoRequests));
        }
        Err(error) => return unreadable(&path, &error, language),
    };
    if bytes > MAX_LEDGER {
        return Finding::ok(
            "ledger",
            language.filled(Word::DocHas, &[&path.display(), &output::size(bytes)]),
        );
    }
    let (lines, all) = match (Ledger::new(home).lines(), fs::read(&path)) {
        (Ok(lines), Ok(bytes)) => (
            lines.len(),
            bytes
                .split(|b| *b == b'\n')
                .filter(|l| !l.trim_ascii().is_empty())
                .count(),
        ),
        (Err(error), _) | (_, Err(error)) => return unreadable(&path, &error, language),
    };
    match all.saturating_sub(lines) {
        0 => Finding::ok(
            "ledger",
            language.filled(
                Word::DocRequestsIn,
                &[
                    &language.counted(lines, Word::ManyRequests),
                    &path.display(),
                ],
            ),
        ),
        bad => Finding::new(
            Status::Note,
            "ledger",
            language.filled(
                Word::DocLedgerBad,
                &[&language.counted(bad, Word::Lines), &all, &path.display()],
            ),
        ),
    }
}

/// A home that cannot be is a finding of its own.
fn is_absent(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
    )
}

fn unreadable(path: &Path, error: &io::Error, language: Language) -> Finding {
    Finding::new(
        Status::Problem,
        "ledger",
        language.filled(Word::CannotRead, &[&path.display(), &error]),
    )
    .fix(language.say(Word::DocLedgerFix))
}
