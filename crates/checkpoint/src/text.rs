//! Changes for people: how many lines came and went, and a unified diff. Large and binary files are named, not compared.

use super::pack::Packs;
use super::{Change, Checkpoints, Kind, Point, Result, Side, record, tree};
use crate::diff;
use ostler_files::raw;
use ostler_wire::{Language, Word};
use std::fmt::Write as _;
use std::io::Read as _;

/// Bytes of a file that is compared.
const MAX_TEXT: u64 = 1 << 20;
/// Files of one comparison that are looked into; the others are counted.
const MAX_FILES: usize = 500;

/// How much changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Files and links; folders are not counted.
    pub files: usize,
    pub added: usize,
    pub removed: usize,
}

enum Content {
    Nothing,
    Text(String),
    Binary,
    Large,
}

impl Checkpoints {
    pub fn tally(&self, from: u64, to: Point) -> Result<Tally> {
        let mut tally = Tally::default();
        let mut packs = Packs::open(&self.packs_dir())?;
        for change in self.diff(from, to)?.iter().filter(|c| !is_folder(c)) {
            tally.files += 1;
            if tally.files > MAX_FILES {
                continue;
            }
            let sides = (
                self.content_of(&mut packs, change, change.before.as_ref()),
                self.content_of(&mut packs, change, change.after.as_ref()),
            );
            let (Some(old), Some(new)) = (sides.0.text(), sides.1.text()) else {
                continue;
            };
            for line in diff::unified(old, new, usize::MAX).lines() {
                tally.added += usize::from(line.starts_with('+'));
                tally.removed += usize::from(line.starts_with('-'));
            }
        }
        Ok(tally)
    }

    /// At most about so many bytes of it.
    pub fn unified(
        &self,
        from: u64,
        to: Point,
        max_bytes: usize,
        language: Language,
    ) -> Result<String> {
        let changes = self.diff(from, to)?;
        let mut packs = Packs::open(&self.packs_dir())?;
        let mut out = String::new();
        let mut left = 0;
        for (n, change) in changes.iter().enumerate() {
            if out.len() >= max_bytes || n >= MAX_FILES {
                left += 1;
                continue;
            }
            self.write(&mut packs, change, max_bytes, &mut out);
        }
        if left > 0 {
            out.push_str(&language.many(Word::DiffMoreFiles, left, &[&left.to_string()]));
            out.push('\n');
        }
        Ok(out)
    }

    fn write(&self, packs: &mut Packs, change: &Change, max_bytes: usize, out: &mut String) {
        let (path, before, after) = (&change.path, &change.before, &change.after);
        if is_folder(change) {
            let sign = if after.is_some() { '+' } else { '-' };
            if before.is_none() || after.is_none() {
                let _ = writeln!(out, "{sign} {path}/");
            }
            return;
        }
        let old = self.content_of(packs, change, before.as_ref());
        let new = self.content_of(packs, change, after.as_ref());
        let name = |side: &Option<Side>, letter: char| match side {
            Some(_) => format!("{letter}/{path}"),
            None => "/dev/null".to_owned(),
        };
        let _ = writeln!(out, "--- {}\n+++ {}", name(before, 'a'), name(after, 'b'));
        if let (Some(one), Some(other)) = (before, after) {
            if one.kind != other.kind {
                let _ = writeln!(out, "{} → {}", kind(one), kind(other));
            } else if one.mode != other.mode {
                let (one, other) = (one.mode & 0o7777, other.mode & 0o7777);
                let _ = writeln!(out, "mode {one:o} → {other:o}");
            }
        }
        match (&old, &new) {
            (Content::Large, _) | (_, Content::Large) => out.push_str("(large)\n"),
            (Content::Binary, _) | (_, Content::Binary) => out.push_str("(binary)\n"),
            (Content::Nothing | Content::Text(_), Content::Nothing | Content::Text(_)) => {
                let room = max_bytes.saturating_sub(out.len());
                let (old, new) = (old.text(), new.text());
                out.push_str(&diff::unified(
                    old.unwrap_or_default(),
                    new.unwrap_or_default(),
                    room,
                ));
            }
        }
    }

    fn content_of(&self, packs: &mut Packs, change: &Change, side: Option<&Side>) -> Content {
        let Some(side) = side else {
            return Content::Nothing;
        };
        if let Some(target) = &side.target {
            return Content::Text(format!("{target}\n"));
        }
        let hash = side.hash.as_deref().and_then(record::parse);
        let Some(hash) = hash.filter(|_| side.size <= MAX_TEXT) else {
            return match side.kind {
                Kind::Dir => Content::Nothing,
                Kind::File | Kind::Link => Content::Large,
            };
        };
        // What is there now is in no pack.
        let bytes = packs.read_file(&hash, side.size).ok().or_else(|| {
            let path = self.root.join(raw::name(&tree::unquote(&change.path)));
            let mut bytes = Vec::new();
            let file = ostler_files::open_plain(&path).ok()?;
            file.take(MAX_TEXT).read_to_end(&mut bytes).ok()?;
            Some(bytes)
        });
        match bytes.map(String::from_utf8) {
            Some(Ok(text)) if !text.contains('\0') => Content::Text(text),
            Some(Ok(_) | Err(_)) | None => Content::Binary,
        }
    }
}

impl Content {
    fn text(&self) -> Option<&str> {
        match self {
            Content::Nothing => Some(""),
            Content::Text(text) => Some(text),
            Content::Binary | Content::Large => None,
        }
    }
}

fn is_folder(change: &Change) -> bool {
    let folder = |side: &Option<Side>| side.as_ref().is_none_or(|s| s.kind == Kind::Dir);
    folder(&change.before) && folder(&change.after)
}

fn kind(side: &Side) -> &'static str {
    match side.kind {
        Kind::File => "file",
        Kind::Dir => "folder",
        Kind::Link => "link",
    }
}
