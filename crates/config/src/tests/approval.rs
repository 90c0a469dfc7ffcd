//! What counts as the same project as the one that was trusted, and how that is remembered.

use std::fs;

use super::super::trust::{
    Answer, Approval, Book, Difference, Known, MAX_ITEMS, Record, State, TrustError, Workspace,
};
use super::{Bench, read};
use insta::assert_snapshot;

const PROJECT: &str = r#"
[permissions]
allow = ["Bash(make:*)", "Bash(ls)"]
mode = "allow"

[[providers]]
name = "p"
kind = "openai"
base_url = "https://p.test"
api_key = "sk-very-secret"
"#;

/// The project now, against a record of how it was.
fn after(before: &str, now: &str) -> Workspace {
    let record = Bench::new().project(before).record();
    let bench = Bench::new().project(now);
    let loaded = bench.load_with(Approval::Recorded(Some(&record)));
    loaded.unwrap().workspace
}

fn lines(workspace: &Workspace) -> String {
    let line = |difference| match difference {
        Difference::Added(item) => format!("+ {} {} {}\n", item.place, item.what, item.text),
        Difference::Changed(item, old) => {
            format!(
                "~ {} {} {} was {}\n",
                item.place, item.what, item.text, old.text
            )
        }
        Difference::Removed(old) => format!("- {} {}\n", old.what, old.text),
        Difference::Same(item) => format!("  {} {} {}\n", item.place, item.what, item.text),
    };
    workspace.differences().into_iter().map(line).collect()
}

#[test]
fn items_are_shown_with_their_place_and_without_secrets() {
    let workspace = Bench::new().project(PROJECT).load().unwrap().workspace;
    assert_eq!(workspace.state, State::Untrusted);
    assert_snapshot!(lines(&workspace), @r#"
    + ostler.toml:3:26 permissions.allow "Bash(ls)"
    + ostler.toml:3:10 permissions.allow "Bash(make:*)"
    + ostler.toml:4:1 permissions.mode "allow"
    + ostler.toml:6:1 providers.p { api_key = "********", base_url = "https://p.test", kind = "openai", name = "p" }
    "#);
}

#[test]
fn only_what_is_new_asks_again() {
    let reordered = r#"
# A comment.
[[providers]]
api_key = "sk-very-secret" # another
base_url = 'https://p.test'
name = "p"
kind = "openai"

[permissions]
mode = "allow"
allow = [
    "Bash(ls)",
    "Bash(make:*)",
    "Bash(ls)",
]
deny = ["Bash(rm:*)"]
"#;
    let allow = |rules: &str| format!("[permissions]\nallow = [{rules}]\n");
    for (before, now, expect) in [
        (PROJECT, PROJECT.to_owned(), State::Trusted),
        (PROJECT, reordered.to_owned(), State::Trusted),
        (PROJECT, allow("'Bash(ls)'"), State::Trusted),
        (PROJECT, String::new(), State::Trusted),
        (PROJECT, PROJECT.replace("make", "sh"), State::Changed),
        (PROJECT, PROJECT.replace("p.test", "q.test"), State::Changed),
        (PROJECT, PROJECT.replace("very", "other"), State::Changed),
        (PROJECT, PROJECT.replace("\"p\"", "\"q\""), State::Changed),
        (
            PROJECT,
            format!("{PROJECT}headers = {{ A = 'b' }}\n"),
            State::Changed,
        ),
        (
            PROJECT,
            format!("{PROJECT}[sandbox]\nnetwork = true\n"),
            State::Changed,
        ),
        ("", allow("'Bash(ls)'"), State::Changed),
        (
            "",
            "[display]\ncolor = 'never'\n".to_owned(),
            State::Trusted,
        ),
    ] {
        assert_eq!(after(before, &now).state, expect, "{now}");
    }
}

#[test]
fn a_change_is_told_item_by_item() {
    let now = PROJECT
        .replace("\"allow\"", "\"allow\" # loose")
        .replace("Bash(ls)", "Bash(curl:*)")
        .replace("p.test", "evil.test")
        + "[tools.shell]\nenv_pass = ['KEY']\n";
    assert_snapshot!(lines(&after(PROJECT, &now)), @r#"
    ~ ostler.toml:3:26 permissions.allow "Bash(curl:*)" was "Bash(ls)"
    ~ ostler.toml:6:1 providers.p { api_key = "********", base_url = "https://evil.test", kind = "openai", name = "p" } was { api_key = "********", base_url = "https://p.test", kind = "openai", name = "p" }
    + ostler.toml:12:13 tools.shell.env_pass passes the variable KEY to commands, hooks and MCP servers; only your own file can pass on the key of a provider
      ostler.toml:3:10 permissions.allow "Bash(make:*)"
      ostler.toml:4:1 permissions.mode "allow"
    "#);
    let now = "[permissions]\nallow = ['Bash']\n";
    assert_snapshot!(lines(&after(PROJECT, now)), @r#"
    + ostler.toml:2:10 permissions.allow "Bash"
    - permissions.allow "Bash(ls)"
    - permissions.allow "Bash(make:*)"
    - permissions.mode "allow"
    - providers.p { api_key = "********", base_url = "https://p.test", kind = "openai", name = "p" }
    "#);
}

#[test]
fn a_no_holds_for_what_it_was_said_to() {
    let mut record = Bench::new().project(PROJECT).record();
    record.answer = Answer::Refused;
    for (now, expect) in [
        (PROJECT.to_owned(), State::Refused),
        (PROJECT.replace("make", "sh"), State::Untrusted),
        (String::new(), State::NotNeeded),
    ] {
        let bench = Bench::new().project(&now);
        let loaded = bench.load_with(Approval::Recorded(Some(&record))).unwrap();
        assert_eq!(loaded.workspace.state, expect, "{now}");
        assert!(loaded.config.permissions.allow.is_empty());
    }
}

#[test]
fn a_stricter_file_of_ones_own_makes_more_need_trust() {
    let project = "[permissions]\nmode = 'ask'\n[tools]\nenabled = []\n";
    let plain = Bench::new().project(project);
    assert_eq!(plain.load().unwrap().workspace.state, State::NotNeeded);
    let own = "[permissions]\nmode = 'deny'\n[tools]\nenabled = ['read_file']\n";
    let strict = Bench::new().user(own).project(project);
    let loaded = strict.load().unwrap();
    assert_eq!(loaded.workspace.state, State::Untrusted);
    assert_eq!(loaded.config.tools.enabled, ["read_file"]);
}

#[test]
fn empty_lists_and_tightening_need_no_trust() {
    for project in [
        "",
        "[permissions]\nallow = []\ndeny = ['Bash']\nheadless = 'deny'\n",
        "[sandbox]\nallow_write = []\nbash = 'require'\n",
        "[agent]\nmax_steps = 1\n",
    ] {
        let loaded = Bench::new().project(project).load().unwrap();
        assert_eq!(loaded.workspace.state, State::NotNeeded, "{project}");
    }
}

#[test]
fn what_runs_or_is_beside_the_file_counts() {
    let bench = Bench::new().project("[[hooks]]\nevent = 'stop'\ncommand = 'curl evil'\n[[plugins]]\nname = 'x'\ncommand = 'sh'\n[backend.codex.adapter]\nargs_template = ['sh']\n");
    let servers = r#"{"mcpServers": {"b": {"command": "sh", "env": {"API_TOKEN": "secret"}}, "a\u001b[2J\n": {"url": "http://x"}}}"#;
    fs::write(bench.path("work/.mcp.json"), servers).unwrap();
    assert_snapshot!(lines(&bench.load().unwrap().workspace), @r#"
    + .mcp.json:1:73 .mcp.json."a\u{1b}[2J\n" { url = "http://x" }
    + .mcp.json:1:17 .mcp.json.b { command = "sh", env = { API_TOKEN = "********" } }
    + ostler.toml:7:10 backend.codex { adapter = { args_template = ["sh"] } }
    + ostler.toml:1:1 hooks { command = "curl evil", event = "stop" }
    + ostler.toml:4:1 plugins.x { command = "sh", name = "x" }
    "#);
    let record = bench.record();
    let state = || {
        let loaded = bench.load_with(Approval::Recorded(Some(&record)));
        loaded.unwrap().workspace.state
    };
    assert_eq!(state(), State::Trusted);
    for other in [servers.replace("sh", "bash"), "{".into(), "[]".into()] {
        fs::write(bench.path("work/.mcp.json"), &other).unwrap();
        assert_eq!(state(), State::Changed, "{other}");
    }
}

#[test]
fn files_of_the_project_are_trusted_with_their_content() {
    let project = "[network]\nca_file = 'ca.pem'\n[tools.shell]\npath = './sh'\n";
    let bench = Bench::new().project(project);
    let put = |name: &str, text: &str| fs::write(bench.path("work").join(name), text).unwrap();
    put("ca.pem", "a");
    put("sh", "b");
    assert_snapshot!(lines(&bench.load().unwrap().workspace), @r#"
    + ostler.toml:2:1 network.ca_file "ca.pem" (content ca978112)
    + ostler.toml:4:1 tools.shell.path "./sh" (content 3e23e816)
    "#);
    let record = bench.record();
    let state = || {
        let loaded = bench.load_with(Approval::Recorded(Some(&record)));
        loaded.unwrap().workspace.state
    };
    assert_eq!(state(), State::Trusted);
    put("ca.pem", "c");
    assert_eq!(state(), State::Changed);
    put("ca.pem", "a");
    assert_eq!(state(), State::Trusted);
    fs::remove_file(bench.path("work/sh")).unwrap();
    assert_eq!(state(), State::Changed);
}

#[cfg(unix)]
#[test]
fn a_prompt_file_is_trusted_with_its_content_and_the_place_it_lies_in() {
    let project = "[agent]\nsystem_prompt_file = 'p.md'\n";
    let bench = Bench::new().project(project);
    let work = bench.path("work");
    fs::write(work.join("real.md"), "a").unwrap();
    fs::write(work.join("other.md"), "a").unwrap();
    fs::write(bench.path("outside.md"), "a").unwrap();
    let link = |to: &str| {
        let _ = fs::remove_file(work.join("p.md"));
        std::os::unix::fs::symlink(to, work.join("p.md")).unwrap();
    };
    link("real.md");
    assert_snapshot!(lines(&bench.load().unwrap().workspace), @r#"+ ostler.toml:2:1 agent.system_prompt_file "p.md" -> real.md (content ca978112)"#);
    let record = bench.record();
    let state = || {
        let loaded = bench.load_with(Approval::Recorded(Some(&record)));
        loaded.unwrap().workspace.state
    };
    assert_eq!(state(), State::Trusted);
    fs::write(work.join("real.md"), "b").unwrap();
    assert_eq!(state(), State::Changed);
    fs::write(work.join("real.md"), "a").unwrap();
    assert_eq!(state(), State::Trusted);
    for other in ["other.md", "../outside.md"] {
        link(other);
        assert_eq!(state(), State::Changed, "{other}");
    }
    let shown = lines(&bench.load().unwrap().workspace);
    assert!(shown.contains("outside.md"), "{shown}");
}

fn record(items: usize) -> Record {
    let known = |n: usize| Known {
        what: "w".into(),
        text: "t".into(),
        hash: n.to_string(),
    };
    Record {
        answer: Answer::Trusted,
        since: "2026-01-01T00:00:00Z".into(),
        items: (0..items).map(known).collect(),
    }
}

#[test]
fn records_are_private_and_come_back() {
    let bench = Bench::new();
    let (path, root) = (bench.places().trust(), bench.path("work"));
    let mut book = Book::load(&path);
    assert!(book.record(&root).is_none() && book.fault.is_none());
    assert_eq!(book.set(&path, &root, Some(record(2))).unwrap(), None);
    assert_eq!(Book::load(&path).record(&root), Some(&record(2)));
    assert_eq!(Book::load(&path).record(&bench.path("work/sub")), None);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = path.metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
    let too_many = book.set(&path, &root, Some(record(MAX_ITEMS + 1)));
    assert!(matches!(too_many, Err(TrustError::TooMany(_))));
    let mut book = Book::load(&path);
    book.set(&path, &root, None).unwrap();
    assert_eq!(Book::load(&path).workspaces.len(), 0);
}

#[test]
fn a_damaged_file_trusts_nothing_and_is_kept() {
    let bench = Bench::new();
    let (path, root) = (bench.places().trust(), bench.path("work"));
    for (n, damaged) in ["{", "", "[]", r#"{"version":99,"workspaces":{}}"#]
        .into_iter()
        .enumerate()
    {
        fs::write(&path, damaged).unwrap();
        let mut book = Book::load(&path);
        assert!(book.record(&root).is_none());
        let fault = book.fault.clone().unwrap().to_string();
        assert!(fault.contains("no project is trusted"), "{fault}");
        let aside = book.set(&path, &root, Some(record(1))).unwrap().unwrap();
        assert_eq!(read(&aside), damaged);
        assert!(aside.ends_with(format!("trust.json.damaged-{}", n + 1)));
        assert_eq!(Book::load(&path).record(&root), Some(&record(1)));
    }
}
