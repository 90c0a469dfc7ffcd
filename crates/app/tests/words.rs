//! Every visible text goes through the table of words: sources of the front ends have no sentences of their own.

use std::path::{Path, PathBuf};

/// Files and folders whose texts people read.
const FRONT_ENDS: [&str; 42] = [
    "app/src",
    "config/src",
    "store/src/budget.rs",
    "checkpoint/src/apply.rs",
    "checkpoint/src/lib.rs",
    "checkpoint/src/text.rs",
    "engine/src/commands",
    "store/src/history/mod.rs",
    "state/src/hooks/matcher.rs",
    "sources/src/instructions.rs",
    "store/src/log.rs",
    "mcp/src/auth.rs",
    "mcp/src/client.rs",
    "mcp/src/connect.rs",
    "mcp/src/failure.rs",
    "mcp/src/form.rs",
    "mcp/src/handle.rs",
    "mcp/src/launch.rs",
    "mcp/src/lib.rs",
    "mcp/src/listing.rs",
    "mcp/src/servers.rs",
    "mcp/src/stdio.rs",
    "context/src/interfaces/model_plugin.rs",
    "state/src/servers/launch.rs",
    "state/src/servers/mod.rs",
    "guard/src/rules.rs",
    "context/src/sample.rs",
    "sources/src/lib.rs",
    "store/src/sessions.rs",
    "files/src/error.rs",
    "sandbox/src/linux/enter.rs",
    "sandbox/src/lib.rs",
    "llm/src/codec",
    "llm/src/error.rs",
    "llm/src/http",
    "llm/src/key.rs",
    "llm/src/kinds.rs",
    "llm/src/model.rs",
    "llm/src/plugin.rs",
    "wire/src/sse.rs",
    "tui/src",
    "wire/src/why.rs",
];

/// Tables of their own, what only looks like a text, and modes for programs alone.
const OTHER_TABLES: [&str; 13] = [
    // Speaks with models of other programs.
    "app/src/mcp_server",
    // What the model is told of a command in the editor's terminal.
    "app/src/acp/terminal.rs",
    "app/src/bin",
    "app/src/conformance.rs",
    "app/src/flags/chinese.rs",
    "app/src/typed.rs",
    "tui/src/say.rs",
    "tui/src/editor/keymap.rs",
    "tui/src/state/keys.rs",
    "tui/src/diff.rs",
    "tui/src/highlight",
    "tui/src/testing.rs",
    "llm/src/codec/write.rs",
];

/// What is typed, read by models or programs, or names kinds of values inside the configuration.
const ALLOWED: [&str; 52] = [
    // Commands that keys send.
    "mode normal",
    "mode plan",
    "approve ask",
    "approve edits",
    "approve auto",
    "queue edit",
    // What a model is told of a call that cannot be made.
    "it is switched off",
    "There is no contract",
    "The person refused this call",
    // What is wrong with a schema for answers, and what a key means in the schema of the configuration.
    "is outside of the schema",
    "Conversations run commands in a tmux pane",
    // Scripts for a shell.
    "exec sh -c",
    "docker exec -it",
    "kubectl exec -it",
    "for p in git tmux",
    "; done; echo ",
    "then safe",
    "then exec",
    "; fi; fi;",
    // A question for a model.
    "Reply with the single word",
    // Commands of package managers.
    "uninstall ostler",
    "uninstall -g ostler",
    "remove ostler",
    "an object",
    "any value",
    "try again in ",
    "retry in ",
    "# Project Context",
    "memory search",
    "facts, those changed last; search for others",
    "ostler resume",
    "ostler sessions show",
    "ostler setup",
    "not now",
    "nobody is there to",
    "clear yes",
    "this session",
    "[The person added this",
    "deny|remove RULE",
    "Think in ",
    "The test of this small project fails",
    "Your final answer must be",
    "Your answer is not valid",
    "it is not JSON",
    "the top",
    "this line is not an op",
    "404 Not Found",
    "Ostler configuration",
    "# Settings of Ostler for this project",
    "a value was asked for before its key",
    "a whole number",
    "true or false",
];

fn crates() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("the folder of crates")
        .to_owned()
}

fn sources(path: &Path, out: &mut Vec<PathBuf>) {
    if path.is_file() {
        return out.push(path.to_owned());
    }
    for entry in std::fs::read_dir(path).expect("a folder of sources") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if path.is_dir() && name != "snapshots" && name != "tests" {
            sources(&path, out);
        } else if name.ends_with(".rs") && name != "tests.rs" {
            out.push(path);
        }
    }
}

/// The texts in quotes of a file, without its tests and comments.
fn literals(text: &str) -> Vec<String> {
    let code = text.split("#[cfg(test)]").next().unwrap_or_default();
    let mut out = Vec::new();
    for line in code.lines().map(str::trim_start) {
        if line.starts_with("//") || line.contains("reason =") {
            continue;
        }
        let mut rest = line;
        while let Some((_, after)) = rest.split_once('"') {
            let mut end = 0;
            let mut escaped = false;
            for c in after.chars() {
                if c == '"' && !escaped {
                    break;
                }
                escaped = c == '\\' && !escaped;
                end += c.len_utf8();
            }
            out.push(after[..end].to_owned());
            rest = after.get(end + 1..).unwrap_or_default();
        }
    }
    out
}

/// Two words in a row.
fn is_prose(text: &str) -> bool {
    let word = |w: &str| {
        let w = w.trim_end_matches([',', '.', ':', ';']);
        w.len() > 1 && w.chars().all(|c| c.is_ascii_alphabetic())
    };
    let words: Vec<&str> = text.split(' ').collect();
    words.windows(2).any(|pair| pair.iter().all(|w| word(w)))
}

#[test]
fn front_ends_say_nothing_past_the_table() {
    let crates = crates();
    let mut files = Vec::new();
    for path in FRONT_ENDS {
        sources(&crates.join(path), &mut files);
    }
    let has_own = |file: &PathBuf| {
        OTHER_TABLES
            .iter()
            .any(|t| file.starts_with(crates.join(t)))
    };
    files.retain(|file| !has_own(file));
    assert!(files.len() > 40, "{files:?}");
    let mut strays = Vec::new();
    for file in files {
        let text = std::fs::read_to_string(&file).expect("a source");
        let texts = literals(&text).into_iter().filter(|t| is_prose(t));
        let not_allowed = texts.filter(|t| !ALLOWED.iter().any(|a| t.contains(a)));
        strays.extend(not_allowed.map(|t| format!("{}: {t}", file.display())));
    }
    assert!(
        strays.is_empty(),
        "not in the table of words:\n{}",
        strays.join("\n")
    );
}

/// What puts questions to the person. An ask says itself what its choices mean.
const ASKERS: [&str; 6] = [
    "acp/src",
    "tui/src",
    "app/src/asking.rs",
    "app/src/line.rs",
    "app/src/line",
    "app/src/ops.rs",
];
const CHOICES: [&str; 7] = [
    "once",
    "always",
    "always_project",
    "deny",
    "approve",
    "keep",
    "decline",
];

#[test]
fn no_front_end_knows_the_choices_of_an_ask() {
    let mut files = Vec::new();
    for asker in ASKERS {
        sources(&crates().join(asker), &mut files);
    }
    let mut known = Vec::new();
    for file in files {
        let text = std::fs::read_to_string(&file).expect("a source");
        let found = literals(&text);
        let found = found.iter().filter(|t| CHOICES.contains(&t.as_str()));
        known.extend(found.map(|t| format!("{}: {t}", file.display())));
    }
    assert_eq!(known, [""; 0]);
}

/// Where the engine speaks to the person; the rest of it speaks to models.
const SPOKEN: [&str; 12] = [
    "Notice {",
    "View::Text(",
    "View::Error(",
    "Choice::new(",
    "Choice::permission(",
    "Choice::plan(",
    "Choice::refusal(",
    "subject:",
    "detail: Some(",
    "trouble(",
    "notes.push(",
    "notices.push(",
];

/// The code behind a mark, to the end of its brackets or of its line.
fn behind<'a>(code: &'a str, mark: &str) -> Vec<&'a str> {
    let mut out = Vec::new();
    let mut rest = code;
    while let Some(at) = rest.find(mark) {
        let after = &rest[at..];
        let mut depth = 0_i32;
        let end = after.char_indices().position(|(_, c)| {
            depth += i32::from("([{".contains(c)) - i32::from(")]}".contains(c));
            depth < 0 || (depth == 0 && ",;\n".contains(c))
        });
        let end = end.unwrap_or(after.chars().count());
        let end = after
            .char_indices()
            .nth(end)
            .map_or(after.len(), |(i, _)| i);
        out.push(&after[..end]);
        rest = &after[mark.len()..];
    }
    out
}

/// The crates that sessions are made of.
const ENGINE: [&str; 5] = [
    "sources/src",
    "context/src",
    "confine/src",
    "state/src",
    "engine/src",
];

#[test]
fn the_engine_speaks_to_people_by_the_table() {
    let mut files = Vec::new();
    for name in ENGINE {
        sources(&crates().join(name), &mut files);
    }
    let mut strays = Vec::new();
    for file in files {
        let text = std::fs::read_to_string(&file).expect("a source");
        let code = text.split("#[cfg(test)]").next().unwrap_or_default();
        for mark in SPOKEN {
            let said = behind(code, mark).into_iter().flat_map(literals);
            let said = said.filter(|t| is_prose(t) && !ALLOWED.iter().any(|a| t.contains(a)));
            strays.extend(said.map(|t| format!("{}: {mark} {t}", file.display())));
        }
    }
    assert!(
        strays.is_empty(),
        "not in the table of words:\n{}",
        strays.join("\n")
    );
    let code = "Notice { text: say(\"two words\") }; other(\"of no concern\")";
    assert_eq!(
        behind(code, "Notice {"),
        ["Notice { text: say(\"two words\") }"]
    );
}

/// Lines of the engine in which a library's own words are told: what it found wrong with a picture or an index, or that a
/// thread of ours fell over.
const LIBRARIES: [&str; 5] = [
    "left_out(&error.to_string())",
    "Word::HistoryBroken",
    "Word::PictureGarbled",
    "Word::PictureUnread",
    "Err(error) => Err(View::Error(error.to_string())),",
];

/// Whether an error that speaks English by itself is put before the person. `say` has the language.
fn is_raw(line: &str) -> bool {
    let spoken = ["fill(", "View::Error(", "notices.push(", "Notice {"];
    let error = |name: &str| {
        let own = [
            format!("&{name}.to_string()"),
            format!("({name}.to_string())"),
        ];
        own.iter().any(|own| line.contains(own)) || line.contains(&format!("{{{name}}}"))
    };
    spoken.iter().any(|mark| line.contains(mark)) && ["error", "e", "source"].into_iter().any(error)
}

#[test]
fn the_engine_tells_no_error_in_its_own_words() {
    let mut files = Vec::new();
    for name in ENGINE {
        sources(&crates().join(name), &mut files);
    }
    let mut strays = Vec::new();
    for file in files {
        let text = std::fs::read_to_string(&file).expect("a source");
        let code = text.split("#[cfg(test)]").next().unwrap_or_default();
        let raw = code.lines().filter(|line| is_raw(line));
        let raw = raw.filter(|line| !LIBRARIES.iter().any(|known| line.contains(known)));
        strays.extend(raw.map(|line| format!("{}: {}", file.display(), line.trim())));
    }
    assert!(strays.is_empty(), "use `say`:\n{}", strays.join("\n"));
    for (line, expect) in [
        ("View::Error(error.to_string())", true),
        ("language.fill(Word::X, &[&e.to_string()])", true),
        ("notices.push(format!(\"{error}\"))", true),
        ("language.fill(Word::X, &[&more.to_string()])", false),
        ("ToolError::new(code, error.to_string())", false),
        ("View::Error(error.say(language))", false),
    ] {
        assert_eq!(is_raw(line), expect, "{line}");
    }
}

#[test]
fn what_is_prose_and_what_is_not() {
    let found = literals("say(\"two words\"); x(\"a \\\"b\\\" c\") // \"not\"\n// \"a comment\"");
    assert_eq!(found, ["two words", "a \\\"b\\\" c", "not"]);
    for (text, expect) in [
        ("two words", true),
        ("Error: what", true),
        ("{} {}s", false),
        ("[key]", false),
        ("one", false),
        ("a b", false),
    ] {
        assert_eq!(is_prose(text), expect, "{text}");
    }
}
