//! Commands that other agents run at moments of a session, as entries of `[[hooks]]`.

use crate::agents::{HookForm, moment};
use crate::item::{Item, Kind, Taken};
use crate::settings::text;
use ostler_wire::{Why, Word};
use serde_json::Value;
use std::path::Path;

/// Of one file.
const MAX_HOOKS: usize = 256;
/// Timeouts above this are taken for milliseconds.
const MAX_SECONDS: f64 = 3_600.0;

pub fn hooks(value: &Value, form: HookForm, from: &Path) -> Vec<Item> {
    let mut out = match form {
        HookForm::Groups => groups(value, from),
        HookForm::Tables => tables(value, from),
        HookForm::Program => {
            let why = Word::ImportHookProgram.into();
            vec![Item::new(
                Kind::Hook,
                value.to_string(),
                from,
                Taken::Left(why),
            )]
        }
    };
    out.truncate(MAX_HOOKS);
    out
}

fn groups(value: &Value, from: &Path) -> Vec<Item> {
    let mut out = Vec::new();
    for (event, groups) in value.as_object().into_iter().flatten() {
        for group in groups.as_array().into_iter().flatten() {
            let matcher = text(group, "matcher").unwrap_or_default();
            let inner = group.get("hooks").and_then(Value::as_array);
            for hook in inner.into_iter().flatten() {
                out.push(one(event, matcher, hook, from));
            }
        }
    }
    out
}

fn tables(value: &Value, from: &Path) -> Vec<Item> {
    let list = value.as_array().into_iter().flatten();
    let read = |hook: &Value| {
        let event = text(hook, "event").unwrap_or_default();
        let matcher = text(hook, "match").or_else(|| text(hook, "matcher"));
        one(event, matcher.unwrap_or_default(), hook, from)
    };
    list.map(read).collect()
}

fn one(event: &str, matcher: &str, hook: &Value, from: &Path) -> Item {
    let command = text(hook, "command");
    let name = format!("{event} {}", command.unwrap_or_default());
    let is_command = text(hook, "type").is_none_or(|kind| kind == "command");
    let left = |why: Why| Item::new(Kind::Hook, name.trim(), from, Taken::Left(why));
    let (Some(ours), Some(command), true) = (moment(event), command, is_command) else {
        return left(Why::ours(Word::HookUnknown, [event.into()]));
    };
    // `*` is every call, which is what an empty one says.
    let matcher = if matcher == "*" { "" } else { matcher };
    let timeout = hook.get("timeout").and_then(Value::as_f64);
    let timeout = timeout.filter(|t| t.is_finite() && *t > 0.0);
    let seconds = timeout.map(|t| if t > MAX_SECONDS { t / 1_000.0 } else { t });
    let taken = Taken::Hook {
        event: ours.to_owned(),
        matcher: matcher.to_owned(),
        command: command.to_owned(),
        // A number of seconds that a person wrote fits.
        timeout: seconds.map(|s| s.ceil() as u64),
    };
    Item::new(Kind::Hook, name, from, taken)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn groups_of_commands() {
        let value = json!({
            "PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "check", "timeout": 5}]}],
            "BeforeTool": [{"matcher": "*", "hooks": [{"command": "look", "timeout": 60000}]}],
            "WorktreeCreate": [{"hooks": [{"command": "x"}]}],
            "Stop": [{"hooks": [{"type": "prompt", "prompt": "x"}]}, 3],
        });
        let items = hooks(&value, HookForm::Groups, Path::new("f"));
        let hook = |event: &str, matcher: &str, command: &str, timeout| Taken::Hook {
            event: event.into(),
            matcher: matcher.into(),
            command: command.into(),
            timeout,
        };
        assert_eq!(items[0].taken, hook("pre_tool", "Bash", "check", Some(5)));
        assert_eq!(items[1].taken, hook("pre_tool", "", "look", Some(60)));
        let left = |item: &Item| matches!(item.taken, Taken::Left(_));
        assert!(items[2..].iter().all(left) && items.len() == 4);
    }
}
