//! What is to be said about a search beside what it found.

use ostler_wire::{Language, Word};

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Remark {
    /// There was no time to read all logs.
    Behind {
        logs: usize,
        of: usize,
    },
    /// Another process was writing.
    Busy {
        logs: usize,
        of: usize,
    },
    Unwritable {
        logs: usize,
        of: usize,
        why: String,
    },
    /// There is none on disk, and why.
    Unkept {
        path: String,
        why: String,
    },
    /// It was broken, and thrown away.
    Rebuilt,
}

impl Remark {
    pub fn say(&self, language: Language) -> String {
        let count = |word, logs: &usize, of: &usize| {
            language.many(word, *logs, &[&logs.to_string(), &of.to_string()])
        };
        match self {
            Remark::Behind { logs, of } => count(Word::HistoryBehind, logs, of),
            Remark::Busy { logs, of } => count(Word::HistoryBusy, logs, of),
            Remark::Unwritable { logs, of, why } => {
                let (logs, of) = (logs.to_string(), of.to_string());
                language.fill(Word::HistoryStuck, &[&logs, &of, why])
            }
            Remark::Unkept { path, why } => language.fill(Word::HistoryUnkept, &[path, why]),
            Remark::Rebuilt => language.say(Word::HistoryRebuilt).into(),
        }
    }
}
