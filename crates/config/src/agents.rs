//! `[roles.*]` and `[skills]`: who may work for a session and what they can be told, as it is written, and the folders of a
//! project that the rest of it lies in.

use crate::paths::{Places, is_inside};
pub use crate::schema::{Filesystem, RoleConfig};
use crate::tree::Place;
use crate::trust::Item;
use ostler_files::{Border, Error};
use ostler_guard::definitions::{Wanted, files};
use ostler_sandbox::read_unchanged;
use ostler_wire::{Language, Word};
use std::path::Path;

/// Of a project, the more important first.
pub const PROJECT: [(&str, Wanted); 9] = [
    (".ostler/agents", Wanted::Roles),
    (".claude/agents", Wanted::Roles),
    (".ostler/skills", Wanted::Skills),
    (".claude/skills", Wanted::Skills),
    (".agents/skills", Wanted::Skills),
    (".codex/skills", Wanted::Skills),
    (".gemini/skills", Wanted::Skills),
    (".opencode/skill", Wanted::Skills),
    (".opencode/skills", Wanted::Skills),
];
/// Bytes of one file.
const MAX_BYTES: u64 = 256 << 10;

/// What a project brings of roles and skills: each file is one thing to trust, with its content.
pub fn items(places: &Places) -> Vec<Item> {
    let mut out = Vec::new();
    for (folder, wanted) in PROJECT {
        for file in files(&places.root.join(folder), wanted).0 {
            let (name, place) = named(&file, places);
            let text = match is_inside(&file, &places.root) {
                true => read(&file),
                false => Err("outside".into()),
            };
            match text {
                Ok(Some(text)) => out.push(Item::of_file(name, place, &text)),
                Ok(None) => {}
                Err(why) => out.push(Item::new(name, place, why.as_str(), &why)),
            }
        }
    }
    out
}

/// The text of a file; nothing if it is one that a running command has made. An error is part of what is trusted, so it does not depend on the language of the reader.
pub fn read(file: &Path) -> Result<Option<String>, String> {
    let read = match read_unchanged(file, MAX_BYTES, &Border::none()) {
        Err(Error::NotFound { .. }) => return Ok(None),
        read => read.map_err(|error| error.to_string())?,
    };
    if read.truncated {
        return Err(Language::English.fill(Word::IoTooLarge, &[""]));
    }
    let text = String::from_utf8(read.bytes.into()).map_err(|error| error.to_string())?;
    Ok(Some(text))
}

/// What a file is called wherever one stands, and where it is from here.
pub fn named(file: &Path, places: &Places) -> (String, Place) {
    let inner = file.strip_prefix(&places.root).unwrap_or(file);
    let place = Place {
        name: places.shown(file),
        position: None,
    };
    (inner.display().to_string(), place)
}
