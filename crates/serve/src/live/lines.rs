//! Long entries that many streams write at the same time: each is made into a line once, and is gone when the last of them has
//! written it. Short ones are not worth it.

use bytes::Bytes;
use ostler_wire::Entry;
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// Bytes of a line from which on it is shared.
pub const LONG: usize = 16 << 10;
/// Lines that are remembered while somebody writes them.
const MAX_LINES: usize = 8;

#[derive(Default)]
pub struct Lines(Mutex<Vec<(u64, Weak<String>)>>);

/// The line of an entry.
pub enum Line {
    Short(String),
    /// The same bytes for everybody.
    Long(Bytes),
}

struct Shared(Arc<String>);

impl AsRef<[u8]> for Shared {
    fn as_ref(&self) -> &[u8] {
        self.0.as_bytes()
    }
}

impl Lines {
    /// None for what is no JSON at all, and there is none.
    pub fn of(&self, entry: &Entry) -> Option<Line> {
        if let Some(known) = self.known(entry.entry) {
            return Some(Line::Long(Bytes::from_owner(Shared(known))));
        }
        let line = entry.to_line().ok()?;
        if line.len() < LONG {
            return Some(Line::Short(line));
        }
        let line = Arc::new(line);
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|(_, line)| line.strong_count() > 0);
        if all.len() >= MAX_LINES {
            all.remove(0);
        }
        all.push((entry.entry, Arc::downgrade(&line)));
        Some(Line::Long(Bytes::from_owner(Shared(line))))
    }

    fn known(&self, number: u64) -> Option<Arc<String>> {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let found = all.iter().find(|(known, _)| *known == number)?;
        found.1.upgrade()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ostler_wire::{Body, Message};

    fn entry(number: u64, text: &str) -> Entry {
        Entry {
            entry: number,
            parent: None,
            ts: String::new(),
            body: Body::Message(Message::user(text)),
        }
    }

    #[test]
    fn a_long_line_is_one_for_all_and_gone_with_the_last() {
        let lines = Lines::default();
        let long = entry(7, &"x".repeat(LONG));
        let Some(Line::Long(first)) = lines.of(&long) else {
            panic!("a long line is shared");
        };
        let Some(Line::Long(second)) = lines.of(&long) else {
            panic!("a long line is shared");
        };
        assert_eq!(first.as_ptr(), second.as_ptr());
        assert_eq!(first, long.to_line().unwrap());
        drop((first, second));
        assert!(lines.known(7).is_none());
        let short = entry(8, "words");
        let Some(Line::Short(line)) = lines.of(&short) else {
            panic!("a short line is not shared");
        };
        assert_eq!(line, short.to_line().unwrap());
        // More of them than are remembered are right all the same.
        let held: Vec<Bytes> = (0..20)
            .filter_map(|n| match lines.of(&entry(n, &"y".repeat(LONG)))? {
                Line::Long(line) => Some(line),
                Line::Short(_) => None,
            })
            .collect();
        assert_eq!(held.len(), 20);
    }
}
