//! Who starts programs. `confine/spawn.rs` does, in the sandbox that fits; every other place is a row here with its reason.
//! None of the rows runs a program that a project's tree names.

use super::Violation;
use super::source::Source;

/// Where programs are started, and why not by `confine::spawn`.
// tidy: table
const PLACES: &[(&str, &str)] = &[
    (
        "crates/confine/src/spawn.rs",
        "the one function that starts programs of a session",
    ),
    ("crates/host/src/local.rs", "the host behind that function"),
    (
        "crates/grammars/build.rs",
        "asks cargo where sources are, while it builds",
    ),
    (
        "crates/app/src/acp/editor.rs",
        "passes what that function starts on to the host",
    ),
    ("crates/host/src/process/", "the host behind that function"),
    (
        "crates/host/src/watchdog/",
        "the watchdog is a mode of the same program",
    ),
    (
        "crates/sandbox/src/linux/bubblewrap.rs",
        "tries once whether the sandbox program works, with /bin/true",
    ),
    (
        "crates/host/src/remote/",
        "the helper at another place, behind that function",
    ),
    (
        "crates/host/src/pane",
        "tmux, by a flag of the person, and what it types into the pane",
    ),
    (
        "crates/tools/src/builtin/bash.rs",
        "in the pane that the person shares, which a call gets after it was judged as one without a layer",
    ),
    (
        "crates/app/src/place/check.rs",
        "looks at a place for doctor: a script of ours, run by the helper",
    ),
    (
        "crates/app/src/place/routed.rs",
        "passes what that function starts on to the helper",
    ),
    (
        "crates/app/src/place/reach.rs",
        "the person's ssh or exec prefix, named by a flag or their own file",
    ),
    (
        "crates/app/src/auth/browser.rs",
        "opens a page in the person's browser",
    ),
    (
        "crates/app/src/around.rs",
        "the person's editor on a file of ours, in a folder of ours",
    ),
    (
        "crates/app/src/cmd/memory.rs",
        "the person's editor on a fact, from a command that the person types",
    ),
    (
        "crates/app/src/pictures.rs",
        "programs of the desktop that print the clipboard",
    ),
];
/// Where `PATH` is taken apart, and why that finds no program to be run outside of the sandbox.
// tidy: table
const LOOKUPS: &[(&str, &str)] = &[
    (
        "crates/host/src/program.rs",
        "the one place that finds programs, in folders that no command can write in",
    ),
    (
        "crates/guard/src/scope.rs",
        "whether a name leads to a program of the project, which is then no reader",
    ),
    (
        "crates/confine/src/changeable.rs",
        "whether a server's program could have been changed",
    ),
    (
        "crates/files/src/git_settings.rs",
        "where the git of a folder of programs has settings of the machine; nothing is run",
    ),
    (
        "crates/app/src/boot/shell.rs",
        "the shell of commands, which runs in the sandbox",
    ),
    ("crates/app/src/grants/", "which folders commands see"),
];
/// What does not ship: it only tests.
const UNSHIPPED: &str = "crates/testkit/";
/// After `spawn(`: a thread or a task, not a program.
const TASKS: &[&str] = &["move", "|", "async", "tokio"];

pub fn check(source: &Source) -> Vec<Violation> {
    let is_code = source.path.starts_with("crates/") && source.path.contains("/src/");
    let known = |(place, _): &(&str, &str)| source.path.starts_with(place);
    if !is_code || source.path.starts_with(UNSHIPPED) {
        return Vec::new();
    }
    let mut all = Vec::new();
    if !LOOKUPS.iter().any(known) {
        all.extend(lookups(source));
    }
    if PLACES.iter().any(known) {
        return all;
    }
    let found = (0..source.tokens()).filter(|token| {
        let is_test = source.is_test(source.at(*token));
        !is_test && (names_command(source, *token) || spawns(source, *token))
    });
    let line = |token: usize| Violation {
        path: source.path.clone(),
        line: source.line_of(source.at(token)),
        message: "starts a program; `confine::spawn` does that, in the sandbox".into(),
    };
    all.extend(found.map(line));
    all
}

/// Programs that are looked for by name.
fn lookups(source: &Source) -> Vec<Violation> {
    let found = (0..source.tokens()).filter(|token| {
        let is_test = source.is_test(source.at(*token));
        !is_test && source.word(*token) == "split_paths"
    });
    let line = |token: usize| Violation {
        path: source.path.clone(),
        line: source.line_of(source.at(token)),
        message: "looks for a program by PATH; `ostler_host::Programs` does that".into(),
    };
    found.map(line).collect()
}

/// `process::Command`, also in a list of names.
fn names_command(source: &Source, token: usize) -> bool {
    if !source.reads(token, &["process", "::"]) {
        return false;
    }
    match source.word(token + 2) {
        "Command" => true,
        "{" => (token + 3..source.closing(token + 2)).any(|inner| source.word(inner) == "Command"),
        _ => false,
    }
}

/// A call of `spawn` on something that takes a command, not work for a thread or a task.
fn spawns(source: &Source, token: usize) -> bool {
    let is_call = source.reads(token, &[".", "spawn", "("])
        || source.reads(token, &["Host", "::", "spawn", "("]);
    let inner = match source.word(token) {
        "." => token + 3,
        _ => token + 4,
    };
    is_call && !TASKS.contains(&source.word(inner))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_started_in_one_place() {
        let check = |path: &str, text: &str, expect: &[usize]| {
            let source = Source::new(path, &format!("//! A file.\n{text}"));
            let lines: Vec<usize> = check(&source).iter().map(|v| v.line).collect();
            assert_eq!(lines, expect, "{path}: {text}");
        };
        let engine = "crates/engine/src/a.rs";
        check(engine, "fn f() { host.spawn(command).await }", &[2]);
        check(engine, "fn f() { Host::spawn(&*h, command) }", &[2]);
        check(engine, "fn f() { command.spawn() }", &[2]);
        check(engine, "use std::process::Command;\n", &[2]);
        check(engine, "use std::process::{self, Command};\n", &[2]);
        check(engine, "\nfn f() { tokio::process::Command::new(x) }", &[3]);
        check(engine, "fn f() { std::process::exit(1) }", &[]);
        check(engine, "fn f() { tokio::spawn(work) }", &[]);
        check(engine, "fn f() { scope.spawn(|| work()) }", &[]);
        check(engine, "fn f() { scope.spawn(move || work()) }", &[]);
        check(engine, "fn f() { set.spawn(async move { work() }) }", &[]);
        check(engine, "fn f() { confine::spawn(&services, command) }", &[]);
        check(
            engine,
            "#[cfg(test)]\nmod tests {\n    fn f() { host.spawn(command) }\n}\n",
            &[],
        );
        let spawn = "crates/confine/src/spawn.rs";
        check(spawn, "fn f() { host.spawn(command) }", &[]);
        check("xtask/src/a.rs", "use std::process::Command;\n", &[]);
        check(
            "crates/app/src/boot.rs",
            "use std::process::Command;\n",
            &[2],
        );
    }

    #[test]
    fn every_row_is_needed() {
        for (place, _) in PLACES {
            assert!(crate::root().join(place).exists(), "{place}");
        }
    }
}
