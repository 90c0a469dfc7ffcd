//! `trust`: what is shown before the person decides, and what becomes of the decision.

use crate::support::*;
use ostler_testkit::TempWorkspace;
use serde_json::Value;

const PROJECT: &str = "[permissions]\nallow = [\"Bash(make:*)\"]\n\n[sandbox]\nnetwork = true\n";

fn space() -> TempWorkspace {
    let space = TempWorkspace::new();
    space.write("ostler.toml", PROJECT);
    space
}

fn allowed(space: &TempWorkspace) -> String {
    let out = space
        .ostler(["config", "get", "permissions.allow"])
        .output();
    out.stdout.trim().to_owned()
}

/// The line of `doctor` on this topic.
fn doctor(space: &TempWorkspace) -> String {
    let out = space.ostler(["doctor"]).output();
    let line = out.stdout.lines().find(|line| line.contains(" trust "));
    line.unwrap_or_default().to_owned()
}

#[test]
fn it_shows_asks_and_remembers() {
    let space = space();
    let out = space.ostler(["trust"]).output().exits(2);
    insta::assert_snapshot!(space.shown(&out), @r#"
    exit 2
    ROOT is not trusted. With trust, this takes effect:
      WHAT               WHERE             TEXT
      permissions.allow  ostler.toml:2:10  "Bash(make:*)"
      sandbox.network    ostler.toml:5:1   true
    --- stderr
    ostler: nobody can be asked; say yes with `ostler trust --yes`
    "#);
    assert_eq!(allowed(&space), "[]");
    assert!(!space.home().exists(), "asking leaves no file");
    assert!(
        doctor(&space).contains("note     trust      this project is untrusted: 2 items ignored")
    );
    space.ostler(["trust", "--yes"]).output().ok();
    assert_eq!(allowed(&space), "[\"Bash(make:*)\"]");
    assert!(
        doctor(&space).contains("ok       trust      this project is trusted (2 items in force)")
    );
    let out = space.ostler(["trust"]).output().ok();
    assert!(out.stdout.starts_with(&space.root().display().to_string()));
    assert!(
        out.stdout.contains("is trusted, with 2 items in force:"),
        "{}",
        out.stdout
    );
}

/// The person is asked in words of their own.
#[test]
fn an_untrusted_project_does_not_choose_the_language() {
    let space = TempWorkspace::new();
    space.write("ostler.toml", "language = \"zh\"\n");
    let out = space.ostler(["trust"]).output().exits(2);
    assert!(out.stdout.contains("is not trusted"), "{}", out.stdout);
    assert!(out.stdout.contains("language"), "{}", out.stdout);
    // A file that cannot be read is complained of in the person's language as well.
    space.write("ostler.toml", "language = \"zh\"\nbroken = [\n");
    let out = space.ostler(["doctor"]).output();
    let all = out.stdout + &out.stderr;
    assert!(all.is_ascii() || !all.contains('，'), "{all}");
    space.write("ostler.toml", "language = \"zh\"\n");
    space.ostler(["trust", "--yes"]).output().ok();
    let out = space.ostler(["trust"]).output().ok();
    assert!(out.stdout.contains("受信任"), "{}", out.stdout);
}

#[test]
fn a_change_says_what_is_new() {
    let space = space();
    space.ostler(["trust", "--yes"]).output().ok();
    let changed = PROJECT.replace("make", "curl") + "bash = \"off\"\n";
    space.write("ostler.toml", format!("# by others\n{changed}"));
    assert_eq!(allowed(&space), "[]");
    assert!(doctor(&space).contains("has changed since it was trusted: 3 items ignored"));
    let out = space.ostler(["trust", "--yes"]).output().ok();
    insta::assert_snapshot!(space.shown(&out), @r#"
    exit 0
    ROOT has changed since you trusted it. With trust, this takes effect:
             WHAT               WHERE             TEXT
    changed  permissions.allow  ostler.toml:3:10  "Bash(curl:*)"   (was "Bash(make:*)")
    new      sandbox.bash       ostler.toml:7:1   "off"
             sandbox.network    ostler.toml:6:1   true
    Trusted. A change to any of this asks again.
    "#);
    assert_eq!(allowed(&space), "[\"Bash(curl:*)\"]");
    // Comments, order and what is gone ask nothing.
    space.write(
        "ostler.toml",
        "[permissions] # mine\nallow = [ 'Bash(curl:*)' ]\n",
    );
    assert!(doctor(&space).contains("this project is trusted"));
}

#[test]
fn decisions_are_listed_and_forgotten() {
    let space = space();
    let list = |space: &TempWorkspace| space.shown(&space.ostler(["trust", "--list"]).output());
    insta::assert_snapshot!(list(&space), @r"
    exit 0
    --- stderr
    No project has been decided yet.
    ");
    space.ostler(["trust", "-y"]).output().ok();
    insta::assert_snapshot!(list(&space), @r"
    exit 0
    ANSWER   AGE  ITEMS  PROJECT
    trusted  now      2  ROOT
    ");
    let out = space
        .ostler(["trust", "--list", "--format", "json"])
        .output()
        .ok();
    let json: Value = serde_json::from_str(&out.stdout).unwrap();
    assert_eq!(json[0]["root"], *space.root().display().to_string());
    assert_eq!(json[0]["answer"], "trusted");
    assert_eq!(json[0]["items"][0]["what"], "permissions.allow");
    // A broken project can be forgotten, and by its path from elsewhere.
    space.write("ostler.toml", "[broken\n");
    let elsewhere = space.write("../elsewhere/x", "");
    let run = space.ostler(["trust", "--remove", "../project"]);
    let root = space.root().file_name().unwrap().to_owned();
    assert_eq!(root, "project", "the name that the path above is for");
    run.cwd(elsewhere.parent().unwrap()).output().ok();
    let out = space.ostler(["trust", "--remove"]).output().exits(1);
    assert!(out.stderr.contains("is not in the list"), "{}", out.stderr);
    space.write("ostler.toml", PROJECT);
    assert_eq!(allowed(&space), "[]");
}

#[test]
fn a_setting_that_waits_for_trust_says_so() {
    let space = TempWorkspace::new();
    let set = |key: &str, value: &str| {
        let run = space.ostler(["config", "set", "--project", key, value]);
        run.output().ok().stderr
    };
    assert_eq!(set("permissions.deny", "[\"Net\"]"), "");
    let said = set("permissions.allow", "[\"Bash(ls)\"]");
    assert!(said.contains("`ostler trust`"), "{said}");
    assert_eq!(allowed(&space), "[]");
}

#[test]
fn nothing_to_trust_asks_nothing() {
    let space = TempWorkspace::new();
    space.write("ostler.toml", "[permissions]\ndeny = [\"Bash(rm:*)\"]\n");
    let out = space.ostler(["trust"]).output().ok();
    assert_eq!(out.stdout, "Nothing in this project needs trust.\n");
    assert!(doctor(&space).contains("nothing in this project needs trust"));
}

#[test]
fn a_project_that_would_not_load_is_not_trusted() {
    let space = TempWorkspace::new();
    space.write(
        "ostler.toml",
        "[[providers]]\nname = \"p\"\nbase_url = 12\n",
    );
    let out = space.ostler(["trust", "--yes"]).output().exits(1);
    assert!(out.stderr.contains("fix it first"), "{}", out.stderr);
    assert!(out.stderr.contains("ostler.toml:3"), "{}", out.stderr);
    assert!(doctor(&space).contains("untrusted"));
}

#[test]
fn a_damaged_record_is_told_and_kept() {
    let space = space();
    space.ostler(["trust", "--yes"]).output().ok();
    let path = space.home().join("trust.json");
    let half = space.read(&path)[..30].to_owned();
    space.write(&path, &half);
    assert_eq!(allowed(&space), "[]");
    let out = space.ostler(["doctor"]).output();
    assert!(
        out.stdout.contains("no project is trusted until"),
        "{}",
        out.stdout
    );
    let out = space.ostler(["trust", "--list"]).output().exits(1);
    assert!(out.stderr.contains("trust.json: damaged"), "{}", out.stderr);
    let out = space.ostler(["trust", "--yes"]).output().ok();
    assert!(out.stderr.contains("is kept as"), "{}", out.stderr);
    assert_eq!(space.read(space.home().join("trust.json.damaged-1")), half);
    assert_eq!(allowed(&space), "[\"Bash(make:*)\"]");
}

#[test]
fn for_one_run_by_a_flag() {
    let space = space();
    let run = space.ostler(["--trust-workspace", "config", "get", "permissions.allow"]);
    assert_eq!(run.output().ok().stdout, "[\"Bash(make:*)\"]\n");
    assert!(!space.home().join("trust.json").exists());
    assert_eq!(allowed(&space), "[]");
}

#[cfg(target_os = "linux")]
#[test]
fn a_conversation_begins_with_the_question() {
    let question = "ne[v]er for this content: ";
    let start = |space: &TempWorkspace, talk: &[(&str, &str)]| {
        let mut talk = talk.to_vec();
        talk.push(("> ", "/quit"));
        on_terminal(space, ["--plain", "--model", "demo"], &talk).0
    };
    let space = space();
    let text = start(&space, &[(question, "perhaps"), (question, "n")]);
    assert!(
        text.contains("\"Bash(make:*)\"") && text.contains("Type t, n or v."),
        "{text}"
    );
    assert!(
        text.contains("is not trusted, so these settings are ignored"),
        "{text}"
    );
    assert_eq!(allowed(&space), "[]");
    let text = start(&space, &[(question, "t")]);
    assert!(!text.contains("ignored"), "{text}");
    assert_eq!(allowed(&space), "[\"Bash(make:*)\"]");
    assert!(!start(&space, &[]).contains(question));

    space.write("ostler.toml", PROJECT.replace("make", "sh"));
    let text = start(&space, &[(question, "v")]);
    assert!(text.contains("changed  permissions.allow"), "{text}");
    assert!(!start(&space, &[]).contains(question));
    assert_eq!(allowed(&space), "[]");
    space.write("ostler.toml", PROJECT.replace("make", "zsh"));
    assert!(start(&space, &[(question, "")]).contains(question));
}

#[cfg(target_os = "linux")]
#[test]
fn what_is_typed_before_the_question_is_no_trust() {
    let space = space();
    let talk = [
        ("Bash(make:*)", "t"),
        ("ne[v]er for this content: ", "n"),
        ("> ", "/quit"),
    ];
    let (text, _) = on_terminal(&space, ["--plain", "--model", "demo"], &talk);
    assert_eq!(allowed(&space), "[]", "{text}");
}

#[cfg(target_os = "linux")]
#[test]
fn the_command_asks_on_a_terminal() {
    for (answer, code, allow) in [
        ("y", 0, "[\"Bash(make:*)\"]"),
        ("", 1, "[]"),
        ("n", 1, "[]"),
    ] {
        let space = space();
        let (text, exit) = on_terminal(&space, ["trust"], &[("Trust it? [y/N] ", answer)]);
        assert_eq!(
            (exit, allowed(&space).as_str()),
            (Some(code), allow),
            "{text}"
        );
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_paste_is_no_trust() {
    let question = "ne[v]er for this content: ";
    for pasted in [
        "t\nmore",
        "trust\n",
        "\u{1b}[200~t\u{1b}[201~",
        "\u{1b}[200~t",
    ] {
        let space = space();
        let talk = [(question, pasted), (question, "n"), ("> ", "/quit")];
        let (text, _) = on_terminal(&space, ["--plain", "--model", "demo"], &talk);
        assert!(text.contains("not used as the answer"), "{text}");
        assert_eq!(allowed(&space), "[]", "{text}");
        let talk = [("[y/N] ", pasted.replace('t', "y")), ("[y/N] ", "n".into())];
        let talk = talk.each_ref().map(|(asked, said)| (*asked, said.as_str()));
        let (text, _) = on_terminal(&space, ["trust"], &talk);
        assert_eq!(allowed(&space), "[]", "{text}");
    }
}

/// What runs or grants is on the screen, whole, before it can be trusted.
#[test]
fn what_is_granted_is_shown_whole_with_its_line_breaks() {
    let space = TempWorkspace::new();
    let filler = "x".repeat(4100);
    let command = format!("cargo fmt # keep this in step with\\ntouch pwned # {filler}\\nevil");
    space.write(
        "ostler.toml",
        format!("[[hooks]]\nevent = \"stop\"\ncommand = \"{command}\"\n"),
    );
    let server =
        r#"{"mcpServers": {"s": {"command": "sh", "args": ["-c", "true # a\nserver-evil"]}}}"#;
    space.write(".mcp.json", server);
    let about = "word ".repeat(1000);
    let skill = format!("---\nname: s\ndescription: {about}\nallowed-tools: Bash\n---\nText\n");
    space.write(".ostler/skills/s/SKILL.md", skill);
    let out = space.ostler(["trust"]).output().exits(2);
    for row in [
        "⏎ touch pwned # x",
        "⏎ evil",
        "⏎ server-evil",
        "⏎ allowed-tools: Bash",
    ] {
        assert!(out.stdout.contains(row), "{row}: {}", out.stdout);
    }
}

#[test]
fn what_is_too_long_to_be_shown_is_trusted_by_its_hash_alone() {
    let space = TempWorkspace::new();
    let command = "true\\n".repeat(70) + "evil";
    let hook = |command: &str| format!("[[hooks]]\nevent = \"stop\"\ncommand = \"{command}\"\n");
    space.write("ostler.toml", hook(&command));
    let out = space.ostler(["trust", "--yes"]).output().exits(1);
    assert!(
        out.stdout
            .contains("too many to show here: read ostler.toml"),
        "{}",
        out.stdout
    );
    let (_, hash) = out
        .stderr
        .trim()
        .rsplit_once("ostler trust --read ")
        .expect("a hash");
    assert!(doctor(&space).contains("untrusted"));
    let short = &hash[..4];
    space
        .ostler(["trust", "--yes", "--read", short])
        .output()
        .exits(1);
    // Other content has another hash.
    space.write("ostler.toml", hook(&format!("{command}er")));
    space
        .ostler(["trust", "--yes", "--read", hash])
        .output()
        .exits(1);
    space.write("ostler.toml", hook(&command));
    space
        .ostler(["trust", "--yes", "--read", hash])
        .output()
        .ok();
    assert!(doctor(&space).contains("is trusted"));
}

#[cfg(target_os = "linux")]
#[test]
fn the_question_at_the_start_does_not_trust_what_it_cannot_show() {
    let question = "ne[v]er for this content: ";
    let space = TempWorkspace::new();
    let command = "true\\n".repeat(70);
    let hook = format!(
        "[permissions]\nallow = [\"Bash(make)\"]\n[[hooks]]\nevent = \"stop\"\ncommand = \"{command}\"\n"
    );
    space.write("ostler.toml", hook);
    let talk = [(question, "t"), (question, "n"), ("> ", "/quit")];
    let (text, _) = on_terminal(&space, ["--plain", "--model", "demo"], &talk);
    assert!(text.contains("ostler trust --read "), "{text}");
    assert_eq!(allowed(&space), "[]", "{text}");
}

/// A hundred harmless skills do not hide the one that runs commands: it is named next to the answer, and so much is not
/// trusted by a key.
#[cfg(target_os = "linux")]
#[test]
fn harmless_items_do_not_push_a_powerful_one_out_of_sight() {
    let space = TempWorkspace::new();
    for n in 0..120 {
        let prose = "A line of harmless prose.\n".repeat(19);
        let skill = format!("---\nname: doc-{n:03}\ndescription: chapter {n}\n---\n{prose}");
        space.write(format!(".claude/skills/doc-{n:03}/SKILL.md"), skill);
    }
    let powerful = "---\nname: a\ndescription: help\nallowed-tools: Bash\n---\nRun it.\n";
    space.write(".agents/skills/a/SKILL.md", powerful);
    space.write("ostler.toml", "[permissions]\nallow = [\"Bash(make)\"]\n");
    let question = "ne[v]er for this content: ";
    let talk = [(question, "t"), (question, "n"), ("> ", "/quit")];
    let (text, _) = on_terminal(&space, ["--plain", "--model", "demo"], &talk);
    let (before, _) = text.split_once(question).expect("the question");
    let rows: Vec<&str> = before.lines().rev().take(12).collect();
    assert!(
        rows.iter().any(|row| row.contains("allowed-tools: Bash")),
        "{text}"
    );
    assert!(!text.contains("[t]rust"), "{text}");
    assert_eq!(allowed(&space), "[]", "{text}");
    let out = space.ostler(["trust", "--yes"]).output().exits(1);
    assert!(out.stdout.contains("chapter 77"), "{}", out.stderr);
    let (_, hash) = out.stderr.trim().rsplit_once("--read ").expect("a hash");
    space
        .ostler(["trust", "--yes", "--read", hash])
        .output()
        .ok();
    assert!(doctor(&space).contains("is trusted"));
}

/// On a terminal no row of the list is wider than it: what goes on in the next row is marked.
#[cfg(target_os = "linux")]
#[test]
fn no_row_of_the_list_reaches_the_first_column() {
    let space = TempWorkspace::new();
    let long = "x".repeat(150) + " FAKE.ROW  ostler.toml:1:1  harmless";
    space.write(
        "ostler.toml",
        format!("[permissions]\nallow = [\"Bash({long})\"]\n"),
    );
    let name = format!(".claude/skills/{}/SKILL.md", "n".repeat(90));
    space.write(name, "---\nname: a\ndescription: d\n---\nhi\n");
    let talk = [("ne[v]er for this content: ", "n"), ("> ", "/quit")];
    let (text, _) = on_terminal(&space, ["--plain", "--model", "demo"], &talk);
    let (list, _) = text.split_once("[t]rust").expect("the question");
    for row in list.lines() {
        assert!(
            row.trim_end_matches('\r').chars().count() <= 80,
            "{row}\n{text}"
        );
    }
    assert!(list.contains("FAKE.ROW") || list.contains("↪"), "{text}");
}
