//! The rooms of a crate from the bottom up, and the rooms below that each may use. A room that is not in a list, an edge
//! that a list does not name, and a list that names more than the code needs are all to be mended.

use super::Violation;
use super::rooms::Rooms;
use std::collections::BTreeSet;

/// A room, and the rooms that it may use. It can only name rooms above its own line, so a list has no circle.
pub type Layer = (&'static str, &'static [&'static str]);

// tidy: table
#[rustfmt::skip]
const LAYERS: &[(&str, &[Layer])] = &[("engine", &[
    // What is done with a session: calls, folds, commands, turns; and on top the task that owns it and the hub that opens it.
    ("dispatch", &[]),
    ("compaction", &["dispatch"]),
    ("commands", &["compaction", "dispatch"]),
    ("turn", &["commands", "compaction", "dispatch"]),
    ("session", &["commands", "turn"]),
]), ("app", &[
    // What has no configuration: exit codes, output, input, colours, flags.
    ("exit", &[]),
    ("output", &[]),
    ("color", &[]),
    ("hyperlinks", &[]),
    ("keyboard", &[]),
    ("print", &["color", "output"]),
    ("input", &[]),
    ("asking", &["input"]),
    ("flags", &[]),
    // Logins, and errors in the person's language.
    ("client", &[]),
    ("auth", &["client"]),
    ("errors", &["auth"]),
    ("schema_check", &["errors"]),
    ("secret", &["errors"]),
    // The process and its configuration.
    ("home", &[]),
    ("location", &["errors", "flags"]),
    ("boot", &["auth", "errors", "flags", "home", "location", "output"]),
    ("models", &["boot"]),
    ("looks", &["boot", "color", "hyperlinks"]),
    ("typed", &["boot", "exit", "flags"]),
    ("topics", &["boot", "color", "exit", "hyperlinks", "keyboard", "output"]),
    ("lenient", &["boot", "errors", "flags", "location", "output"]),
    // Sessions of a server elsewhere.
    ("remote", &["boot", "client", "errors", "flags", "output", "secret"]),
    // What a session may do, from the folders it is granted to the settings of its sandbox.
    ("grants", &["boot"]),
    ("policy", &["boot", "flags", "grants"]),
    ("sandbox", &["boot", "grants", "policy"]),
    ("trust", &["boot", "flags"]),
    ("servers", &["auth", "boot", "trust"]),
    // Programs of other agents.
    ("delegates", &["boot", "grants"]),
    // The settings of the engine.
    ("wiring", &["boot", "delegates", "errors", "flags", "grants", "policy", "sandbox", "servers", "trust"]),
    // Utilities, and those of them that sessions have as commands.
    ("cmd", &["asking", "auth", "boot", "client", "color", "delegates", "errors", "exit", "flags", "grants", "home", "input", "lenient", "output", "policy", "remote", "sandbox", "servers", "trust", "typed", "wiring"]),
    ("setup", &["boot", "cmd", "errors", "exit", "flags", "keyboard", "looks", "models", "output"]),
    ("place", &["asking", "boot", "cmd", "errors", "exit", "flags", "grants", "location", "output", "policy"]),
    ("extras", &["boot", "cmd", "errors", "flags"]),
    // Sessions, and the ways to show one.
    ("connect", &[]),
    ("live", &[]),
    ("conversation", &["boot", "cmd", "color", "errors", "exit", "extras", "flags", "live", "output", "place", "print", "remote", "sandbox", "wiring"]),
    ("drafts", &[]),
    ("pictures", &[]),
    ("prompts", &["boot"]),
    ("around", &["drafts", "keyboard", "pictures", "prompts"]),
    ("front", &["around", "boot", "conversation", "exit", "grants", "looks", "policy", "prompts", "wiring"]),
    ("line", &["asking", "boot", "color", "conversation", "exit", "input", "print", "prompts"]),
    ("ops", &["boot", "color", "conversation", "exit", "input", "print"]),
    ("exec", &["asking", "boot", "color", "conversation", "errors", "exit", "flags", "input", "ops", "print", "schema_check"]),
    ("resume", &["boot", "conversation", "errors", "exec", "flags"]),
    ("demo", &["boot", "color", "exec", "flags", "front", "looks", "output", "print"]),
    ("serve", &["auth", "boot", "cmd", "conversation", "errors", "exit", "flags", "grants", "output", "sandbox", "secret", "setup", "wiring"]),
    ("acp", &["boot", "conversation", "errors", "exit", "flags", "output", "sandbox", "wiring"]),
    ("mcp_server", &["boot", "cmd", "conversation", "delegates", "errors", "exit", "flags", "output", "policy", "sandbox", "serve", "wiring"]),
    ("conformance", &["auth"]),
    ("bin", &[]),
])];

pub fn check(rooms: &[Rooms]) -> Vec<Violation> {
    let of = |name: &str| LAYERS.iter().find(|(known, _)| *known == name);
    let listed = rooms
        .iter()
        .filter_map(|rooms| Some((rooms, of(&rooms.name)?.1)));
    listed
        .flat_map(|(rooms, layers)| compare(rooms, layers))
        .collect()
}

/// What the code of a crate does beside its list, and what the list says beside the code.
fn compare(rooms: &Rooms, layers: &[Layer]) -> Vec<Violation> {
    let mut found = Vec::new();
    let mut mend = |path: String, message: String| {
        found.push(Violation {
            path,
            line: 0,
            message,
        });
    };
    let list = "xtask/src/tidy/layers.rs";
    let of = |room: &str| format!("crates/{}/src/{room}", rooms.name);
    let mut below: BTreeSet<&str> = BTreeSet::new();
    for (room, may) in layers {
        for used in may.iter().filter(|used| !below.contains(**used)) {
            mend(
                list.into(),
                format!("`{room}` may not use `{used}`, which is not below it"),
            );
        }
        below.insert(room);
        let Some(uses) = rooms.uses(room) else {
            mend(
                list.into(),
                format!("there is no room `{room}` in {}", rooms.name),
            );
            continue;
        };
        for (used, from) in uses
            .iter()
            .filter(|(used, _)| !may.contains(&used.as_str()))
        {
            mend(from.clone(), format!("`{room}` may not use `{used}`"));
        }
        for idle in may.iter().filter(|used| !uses.contains_key(**used)) {
            mend(
                list.into(),
                format!("`{room}` does not use `{idle}`: take it off the list"),
            );
        }
    }
    for room in rooms.names().filter(|room| !below.contains(room)) {
        mend(of(room), format!("a room that {list} does not list"));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::super::source::Source;
    use super::*;

    #[test]
    fn edges_are_those_of_the_list() {
        let file = |path: &str, text: &str| Source::new(&format!("crates/x/src/{path}"), text);
        let sources = [
            file(
                "lib.rs",
                "//! X.\nmod low;\npub use low::part;\npub use low::deep::{Thing, Other as Another};\n",
            ),
            file("low.rs", "//! Low.\nuse super::top::Up;\n"),
            file("mid/mod.rs", "//! Mid.\nuse crate::part;\n"),
            file(
                "mid/more.rs",
                "//! More.\nuse super::own;\nuse super::super::extra::E;\n",
            ),
            file("top.rs", "//! Top.\nfn f() { crate::Another::new() }\n"),
            file("extra.rs", "//! Extra.\n"),
        ];
        let rooms = Rooms::of("x", &sources.iter().collect::<Vec<_>>());
        let layers: &[Layer] = &[
            ("low", &["mid"]),
            ("mid", &["low"]),
            ("top", &["low", "mid"]),
            ("gone", &[]),
        ];
        let found: Vec<String> = compare(&rooms, layers)
            .iter()
            .map(ToString::to_string)
            .collect();
        assert_eq!(
            found,
            [
                "xtask/src/tidy/layers.rs:0: `low` may not use `mid`, which is not below it",
                "crates/x/src/low.rs:0: `low` may not use `top`",
                "xtask/src/tidy/layers.rs:0: `low` does not use `mid`: take it off the list",
                "crates/x/src/mid/more.rs:0: `mid` may not use `extra`",
                "xtask/src/tidy/layers.rs:0: `top` does not use `mid`: take it off the list",
                "xtask/src/tidy/layers.rs:0: there is no room `gone` in x",
                "crates/x/src/extra:0: a room that xtask/src/tidy/layers.rs does not list",
            ]
        );
    }
}
