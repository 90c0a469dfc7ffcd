//! Hooks, as `[[hooks]]` and the settings files of others have them: read, and where each came from. Running them is the
//! engine's.

use crate::paths::Places;
use crate::read::read_text;
pub use crate::schema::{HookConfig, HookEvent, RunsOn};
use crate::tree::{Node, Place, position};
use crate::trust::Item;
use crate::values::from_json;
use ostler_wire::Why;
use serde_json::Value;
use std::path::Path;
use std::time::Duration;

/// Of one file; nobody has more.
const MAX_HOOKS: usize = 256;
/// Where others keep theirs.
pub const SETTINGS: [&str; 2] = [".claude/settings.json", ".claude/settings.local.json"];

/// A hook as others write it.
pub struct Foreign {
    pub event: String,
    pub matcher: String,
    /// None of a kind that is no command.
    pub command: Option<String>,
    pub timeout: Option<Duration>,
    /// The calls that it is for, beside its matcher.
    pub only: Option<String>,
    pub is_async: bool,
    /// As it stands in the file, with its matcher.
    pub whole: Value,
    pub position: Option<(usize, usize)>,
}

/// The hooks of a settings file; none where there is no file, or they are switched off.
pub fn read(path: &Path, places: &Places) -> Result<Vec<Foreign>, Why> {
    let text = read_text(path, &places.shown(path)).map_err(|report| report.title.clone())?;
    let Some(text) = text else {
        return Ok(Vec::new());
    };
    let settings: Value =
        serde_json::from_str(&text).map_err(|error| Why::from(error.to_string()))?;
    if settings.get("disableAllHooks") == Some(&Value::Bool(true)) {
        return Ok(Vec::new());
    }
    let Some(events) = settings.get("hooks").and_then(Value::as_object) else {
        return Ok(Vec::new());
    };
    let mut out = Vec::new();
    for (event, groups) in events {
        for group in groups.as_array().into_iter().flatten() {
            let matcher = group
                .get("matcher")
                .and_then(Value::as_str)
                .unwrap_or_default();
            let hooks = group.get("hooks").and_then(Value::as_array);
            for hook in hooks.into_iter().flatten() {
                let word = |key: &str| hook.get(key).and_then(Value::as_str);
                let command = word("command").filter(|c| !c.trim().is_empty());
                let command = command.filter(|_| word("type").is_none_or(|kind| kind == "command"));
                let seconds = hook.get("timeout").and_then(Value::as_f64);
                let seconds = seconds.filter(|seconds| *seconds > 0.0);
                let mut whole = hook.clone();
                if let Some(fields) = whole.as_object_mut() {
                    fields.insert("matcher".into(), matcher.into());
                }
                let quoted = command.map(|command| Value::from(command).to_string());
                let at = quoted.and_then(|quoted| text.find(&quoted));
                out.push(Foreign {
                    event: event.clone(),
                    matcher: matcher.to_owned(),
                    command: command.map(str::to_owned),
                    timeout: seconds.and_then(|s| Duration::try_from_secs_f64(s).ok()),
                    only: word("if").map(str::to_owned),
                    is_async: hook.get("async") == Some(&Value::Bool(true)),
                    whole,
                    position: at.map(|at| position(&text, at)),
                });
            }
        }
    }
    out.truncate(MAX_HOOKS);
    Ok(out)
}

/// What of a project's settings files would run. What cannot be read does not.
pub fn items(places: &Places) -> Vec<Item> {
    let mut out = Vec::new();
    for file in SETTINGS {
        for one in read(&places.root.join(file), places).unwrap_or_default() {
            let Some(node) = from_json(one.whole).filter(|_| one.command.is_some()) else {
                continue;
            };
            let place = Place {
                name: places.shown(&places.root.join(file)),
                position: one.position,
            };
            out.push(item(file, &one.event, &node, place));
        }
    }
    out
}

fn item(file: &str, event: &str, node: &Node, place: Place) -> Item {
    crate::items::item(&format!("{file}.hooks"), Some(event), node, place)
}
