//! A tool says everything about itself in its own file, so nobody else needs its name: neither to show its calls nor to judge
//! them. Also counts the places that a new tool has to be written down in.

use super::Violation;
use super::source::Source;

/// Where the built-in tools are: `NAME.rs` and `NAME.md` each.
const TOOLS: &str = "crates/tools/src/builtin/";
/// The one list of them.
const LIST: &str = "crates/tools/src/builtin/mod.rs";
/// Tools that one file may work with without being a list of them.
const MOST_NAMED: usize = 4;
/// How a tool's file says its name.
const SAYS: [&str; 2] = ["const NAME: &'static str = \"", "pub const NAME: &str = \""];

/// Where a word is a tool's name and something else, and what.
// tidy: table
const EXCEPTIONS: &[(&str, &[&str], &str)] = &[
    (
        "crates/guard/src/shell/",
        &["bash", "batch", "grep", "ls", "skill", "task", "time"],
        "programs of a shell",
    ),
    (
        "crates/guard/src/plain_look.rs",
        &["grep", "ls"],
        "programs of a shell",
    ),
    (
        "crates/guard/src/scope.rs",
        &["bash"],
        "programs of a shell",
    ),
    (
        "crates/confine/src/outside.rs",
        &["bash"],
        "the ending of a script",
    ),
    (
        "crates/app/src/boot/shell.rs",
        &["bash"],
        "the program that is the shell",
    ),
    (
        "crates/tools/src/arguments/argv.rs",
        &["bash"],
        "the program that is the shell",
    ),
    (
        "crates/guard/src/rules.rs",
        &["bash", "delegate"],
        "a name in rules that stands for several tools",
    ),
    (
        "crates/guard/src/call.rs",
        &["memory"],
        "what an access is called",
    ),
    ("crates/guard/src/policy.rs", &["ask"], "a posture"),
    (
        "crates/import/src/item.rs",
        &["ask", "memory"],
        "a list of rules; instructions of others",
    ),
    (
        "crates/import/src/sessions/parts.rs",
        &["time"],
        "a key of another agent",
    ),
    ("crates/guard/src/stance.rs", &["ask"], "a posture"),
    ("crates/tui/src/say.rs", &["ask"], "a posture"),
    ("crates/tui/src/state/walk.rs", &["ask"], "a posture"),
    ("crates/acp/src/choices.rs", &["ask"], "a posture"),
    (
        "crates/delegate/src/run/acp/opening.rs",
        &["ask"],
        "a mode of an agent",
    ),
    (
        "crates/app/src/mcp_server/tools.rs",
        &["batch", "roundtable"],
        "tools of our own MCP server",
    ),
    (
        "crates/app/src/topics.rs",
        &["memory"],
        "a page of the documentation",
    ),
    (
        "crates/app/src/typed.rs",
        &["memory"],
        "a command of the command line",
    ),
    (
        "crates/config/src/",
        &["ask", "bash", "memory"],
        "keys of the configuration, and folders of the home",
    ),
    (
        "crates/app/src/policy.rs",
        &["bash"],
        "a key of the configuration",
    ),
    (
        "crates/app/src/sandbox/home.rs",
        &["memory"],
        "a folder of the home",
    ),
    (
        "crates/app/src/cmd/answers.rs",
        &["memory"],
        "a command of the command line",
    ),
    (
        "crates/app/src/cmd/permissions.rs",
        &["ask"],
        "a list of rules",
    ),
    (
        "crates/engine/src/commands",
        &["ask", "delegate", "memory"],
        "lists of rules, kinds of access and the command /memory",
    ),
    (
        "crates/state/src/hooks/verdict.rs",
        &["ask"],
        "what a hook may decide",
    ),
    (
        "crates/state/src/agents/skill.rs",
        &["skill"],
        "a key of a result",
    ),
    (
        "crates/engine/src/dispatch",
        &["memory", "skill", "task"],
        "parameters of tools, and what an access is called",
    ),
    (
        "crates/context/src/audit.rs",
        &["memory"],
        "what an access is called",
    ),
    (
        "crates/context/src/digest/",
        &["todo"],
        "what a digest counts",
    ),
    ("crates/sandbox/src/", &["todo"], "a file of git"),
    (
        "crates/llm/src/demo.rs",
        &["bash", "edit_file", "ls", "read_file"],
        "a scripted model that calls tools, as a model does",
    ),
    (
        "crates/store/src/",
        &["memory", "task"],
        "a folder of the home, and a role in the ledger",
    ),
    (
        "crates/tools/src/builtin/files/edits.rs",
        &["time"],
        "a word of a sentence",
    ),
    (
        "crates/wire/src/",
        &["ask", "skill", "task", "time", "todo"],
        "kinds of entries and events, and texts",
    ),
];

/// The tools' names, from their own files.
pub fn names(sources: &[&Source]) -> Vec<String> {
    let own = sources.iter().filter(|s| s.path.starts_with(TOOLS));
    let name = |source: &&Source| -> Option<String> {
        let rest = SAYS.iter().find_map(|says| {
            let at = source.uncommented.find(says)?;
            source.uncommented.get(at + says.len()..)
        })?;
        rest.split('"').next().map(str::to_owned)
    };
    own.filter_map(name).collect()
}

pub fn check(sources: &[&Source]) -> Vec<Violation> {
    let names = names(sources);
    let mut found = places(sources, &names);
    found.extend(elsewhere(sources, &names));
    found
}

/// A tool is two files of its own and its rows in the one list; there is no second list.
fn places(sources: &[&Source], names: &[String]) -> Vec<Violation> {
    let mut found = Vec::new();
    let mut say = |path: String, message: String| {
        found.push(Violation {
            path,
            line: 0,
            message,
        });
    };
    let list = sources.iter().find(|source| source.path == LIST);
    let list = list.map_or("", |source| source.uncommented.as_str());
    for name in names {
        if !crate::root().join(format!("{TOOLS}{name}.md")).exists() {
            say(format!("{TOOLS}{name}.rs"), format!("has no {name}.md"));
        }
        for row in [format!("pub mod {name};"), format!("&{name}::")] {
            if list.matches(&row).count() != 1 {
                say(LIST.into(), format!("has not one row `{row}`"));
            }
        }
    }
    for source in sources.iter().filter(|source| source.path != LIST) {
        let production = production(source);
        let named = names
            .iter()
            .filter(|name| production.contains(&format!("::{name}::")))
            .count();
        if named > MOST_NAMED {
            let message = format!("names {named} tools: a second list of them");
            say(source.path.clone(), message);
        }
    }
    found
}

/// The code of a file up to its tests.
fn production(source: &Source) -> &str {
    let text = source.uncommented.as_str();
    let tests = text.find("#[cfg(test)]\nmod tests {");
    tests.and_then(|at| text.get(..at)).unwrap_or(text)
}

fn elsewhere(sources: &[&Source], names: &[String]) -> Vec<Violation> {
    let ships = |path: &str| path.starts_with("crates/") && !path.starts_with("crates/testkit/");
    let shipped = sources.iter().filter(|source| ships(&source.path));
    shipped
        .flat_map(|source| names.iter().flat_map(|name| literals(source, name)))
        .collect()
}

fn literals(source: &Source, name: &str) -> Vec<Violation> {
    let own = format!("{TOOLS}{name}");
    let is_own = source.path == format!("{own}.rs") || source.path.starts_with(&format!("{own}/"));
    let is_known = EXCEPTIONS
        .iter()
        .any(|(path, words, _)| source.path.starts_with(path) && words.contains(&name));
    if is_own || is_known {
        return Vec::new();
    }
    let literal = format!("\"{name}\"");
    let found = source.uncommented.match_indices(&literal);
    let found = found.filter(|(at, _)| !source.is_test(*at));
    let violation = |(at, _): (usize, &str)| Violation {
        path: source.path.clone(),
        line: source.line_of(at),
        message: format!(
            "{literal} is a tool's name; what is to know of it follows from its declaration"
        ),
    };
    found.map(violation).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_exception_is_needed() {
        for (place, _, _) in EXCEPTIONS {
            let root = crate::root();
            let file = root.join(format!("{place}.rs"));
            assert!(root.join(place).exists() || file.exists(), "{place}");
        }
    }

    #[test]
    fn names_outside_of_their_own_files_are_found() {
        let file = |path: &str, text: &str| Source::new(path, &format!("//! X.\n{text}\n"));
        let own = "const NAME: &'static str = \"read_file\"; fn x() { y(\"read_file\") }";
        let sources = [
            file("crates/tools/src/builtin/read_file.rs", own),
            file(
                "crates/tools/src/builtin/mod.rs",
                "pub mod read_file;\nstatic B: X = &[&read_file::ReadFile];",
            ),
            file("crates/tui/src/a.rs", "fn x() { name == \"read_file\" }"),
            file(
                "crates/tui/src/b.rs",
                "// \"read_file\"\n#[cfg(test)]\nmod tests {\n    const X: &str = \"read_file\";\n}",
            ),
            file("crates/llm/src/demo.rs", "fn x() { call(\"read_file\") }"),
        ];
        let found = check(&sources.iter().collect::<Vec<_>>());
        let paths: Vec<&str> = found.iter().map(|v| v.path.as_str()).collect();
        assert_eq!(paths, ["crates/tui/src/a.rs"], "{found:?}");
        let found = check(&[&sources[0]]);
        assert_eq!(found.len(), 2, "{found:?}");
    }
}
