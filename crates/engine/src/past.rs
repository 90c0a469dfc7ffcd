//! What the entries of a past say about how a session goes on: its settings, its mode, its folder.

use crate::policy::Mode;
use ostler_wire::{Body, Entry, Settings};
use std::path::Path;

/// Entries that a fork takes over.
pub fn copied(entries: &[Entry]) -> u64 {
    let counts = |e: &&Entry| !matches!(e.body, Body::Meta(_));
    entries.iter().filter(counts).count() as u64
}

/// A session that goes on in another folder than it began in.
pub fn moved(entries: &[Entry], root: &Path) -> Option<String> {
    let roots = entries.iter().filter_map(|entry| {
        if let Body::Meta(meta) = &entry.body {
            Some(meta.root.as_str())
        } else {
            None
        }
    });
    let began = roots.rev().find(|root| !root.is_empty())?;
    let here = root.display().to_string();
    (began != here).then(|| {
        format!("This session began in {began}; it goes on in {here}. Paths in it may mean other files now.")
    })
}

/// The model and prefix that the last settings of these entries speak of.
pub fn settings_of(past: &[Entry], opening: &[Body]) -> Settings {
    let mut out = Settings::default();
    for body in past.iter().map(|e| &e.body).chain(opening) {
        if let Body::Settings(s) = body {
            out.model = s.model.clone().or(out.model);
            out.prefix = s.prefix.clone().or(out.prefix);
        } else if let Body::Meta(m) = body {
            out.prefix = Some(m.prefix.clone());
        }
    }
    out
}

/// The mode that a session was left in. One that this version does not know is none of ours.
pub fn mode_of(past: &[Entry]) -> Mode {
    let mut mode = Mode::default();
    for entry in past {
        if let Body::Mode(entry) = &entry.body {
            mode = Mode::parse(&entry.mode).unwrap_or_default();
        }
    }
    mode
}
