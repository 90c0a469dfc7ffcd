//! Logs of sessions that another agent began. What was taken over before is known again; what came since is added behind it,
//! as long as nobody went on here.

use crate::log::{Log, LogError};
use crate::owners::Owners;
use crate::redact::Redactor;
use ostler_wire::{Body, Entry};
use std::path::Path;

/// What became of a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TakenLog {
    New,
    /// So many entries were added.
    Grown(usize),
    /// There is nothing that it does not have.
    Same,
    /// It went on here and there, so nothing was added.
    Forked,
}

/// Writes the entries, each with its time. The first `told` ones are about the log itself and may differ from those there.
pub fn write(
    path: &Path,
    dated: Vec<(String, Body)>,
    told: usize,
    (redactor, owners): (&Redactor, &Owners),
) -> Result<TakenLog, LogError> {
    if !path.exists() {
        let log = Log::plan(path).redacting(redactor.clone());
        log.recorded_by(owners.clone()).append_dated(dated)?;
        return Ok(TakenLog::New);
    }
    let (log, entries, _) = Log::open(path)?;
    let mut log = log.redacting(redactor.clone());
    let common = entries
        .iter()
        .zip(&dated)
        .enumerate()
        .take_while(|(at, (entry, (ts, body)))| {
            *at < told || is_same(entry, (ts, body), *at as u64, redactor)
        })
        .count();
    if common == dated.len() {
        return Ok(TakenLog::Same);
    }
    // Numbers stand in entries, so what is added has to get those that it was made with.
    if common < entries.len() || log.next() != common as u64 {
        return Ok(TakenLog::Forked);
    }
    let rest: Vec<(String, Body)> = dated.into_iter().skip(common).collect();
    let count = rest.len();
    log.append_dated(rest)?;
    Ok(TakenLog::Grown(count))
}

/// Whether an entry is what this body would be, once secrets are out of it.
fn is_same(entry: &Entry, (ts, body): (&String, &Body), number: u64, redactor: &Redactor) -> bool {
    if entry.body == *body {
        return true;
    }
    let made = Entry {
        entry: number,
        parent: number.checked_sub(1),
        ts: ts.clone(),
        body: body.clone(),
    };
    let line = made.to_line().unwrap_or_default();
    let clean = redactor.entry(&line, number);
    clean.is_some_and(|(clean, _)| clean.body == entry.body)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ostler_wire::{Message, Notice};

    fn said(texts: &[&str]) -> Vec<(String, Body)> {
        let first = Body::Notice(Notice {
            text: "from".into(),
        });
        let bodies = texts.iter().map(|text| Body::Message(Message::user(*text)));
        let all = std::iter::once(first).chain(bodies);
        all.map(|body| ("2026-01-02T03:04:05.000Z".to_owned(), body))
            .collect()
    }

    #[test]
    fn a_log_is_taken_once_and_grows_until_it_goes_on_here() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a/b.jsonl");
        let with = (&Redactor::default(), &Owners::default());
        let write = |texts: &[&str]| write(&path, said(texts), 1, with).unwrap();
        assert_eq!(write(&["one"]), TakenLog::New);
        assert_eq!(write(&["one"]), TakenLog::Same);
        assert_eq!(write(&["one", "two", "three"]), TakenLog::Grown(2));
        assert_eq!(write(&["one", "two"]), TakenLog::Same);
        assert_eq!(write(&["one", "other"]), TakenLog::Forked);
        let (mut log, entries, _) = Log::open(&path).unwrap();
        assert_eq!(entries.len(), 4);
        assert_eq!(entries[1].ts, "2026-01-02T03:04:05.000Z");
        log.append(vec![Body::Message(Message::user("here"))])
            .unwrap();
        drop(log);
        assert_eq!(write(&["one", "two", "three"]), TakenLog::Same);
        assert_eq!(write(&["one", "two", "three", "there"]), TakenLog::Forked);
    }
}
