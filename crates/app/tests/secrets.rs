//! Keys of providers as a session could give them away: by commands, files, prompts, servers and streams. Nobody sees them:
//! not the model, not the log and what lies beside it, not whoever reads the output.

#![cfg(unix)]

mod common;

use common::{Scene, files, of_type};
use ostler_testkit::{Kind, Output, Step};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// Each from another source.
const ENV: &str = "sk-env-Q7w8e9r0t1y2";
const DOTENV: &str = "sk-dotenv/P4o5i6u7y8";
const FILE: &str = "sk-file-M1n2b3v4c5";
const LITERAL: &str = "sk-literal-Z9x8c7v6";
const SETTING: &str = "sk-setting-L2k3j4h5";
const HEADER: &str = "header-token-G6f7d8s9";
const ALL: [&str; 6] = [ENV, DOTENV, FILE, LITERAL, SETTING, HEADER];

/// A person with many keys.
struct Person {
    scene: Scene,
}

impl Person {
    fn new(steps: impl IntoIterator<Item = Step>) -> Self {
        let more = format!(
            "headers = {{ Authorization = \"Bearer {HEADER}\" }}\n\n\
             [[providers]]\nname = \"saved\"\nkind = \"openai\"\nbase_url = \"https://a.invalid\"\nmodel = \"m\"\napi_key_env = \"SAVED_KEY\"\n\n\
             [[providers]]\nname = \"filed\"\nkind = \"openai\"\nbase_url = \"https://b.invalid\"\nmodel = \"m\"\napi_key_file = \"~/filed.key\"\n\n\
             [[providers]]\nname = \"literal\"\nkind = \"openai\"\nbase_url = \"https://c.invalid\"\nmodel = \"m\"\napi_key = \"{LITERAL}\"\n"
        );
        let scene = Scene::with_config(Kind::Chat, &more, steps);
        let space = &scene.space;
        space.write(space.home().join(".env"), format!("SAVED_KEY={DOTENV}\n"));
        space.write(space.user_home().join("filed.key"), format!("{FILE}\n"));
        Self { scene }
    }

    fn exec(&self, format: &str, prompt: &str) -> Output {
        self.scene
            .ostler([
                "exec",
                "--no-sandbox",
                "--yolo",
                "--format",
                format,
                "-p",
                prompt,
            ])
            .env("MOCK_KEY", ENV)
            .env("OSTLER_PROVIDERS__LITERAL__MODEL", "m")
            .env("OSTLER_PROVIDERS__SET__API_KEY", SETTING)
            .env("OSTLER_PROVIDERS__SET__KIND", "openai")
            .env("OSTLER_PROVIDERS__SET__BASE_URL", "https://d.invalid")
            .env("OSTLER_PROVIDERS__SET__MODEL", "m")
            .env("MY_OWN_COPY", format!("Bearer {ENV}"))
            .output()
    }

    /// What the person keeps on purpose.
    fn sources(&self) -> [PathBuf; 3] {
        let space = &self.scene.space;
        [
            space.home().join(".env"),
            space.home().join("config.toml"),
            space.user_home().join("filed.key"),
        ]
    }

    #[track_caller]
    fn nobody_saw(&self, outputs: &[Output]) {
        let mut seen: Vec<(String, String)> = Vec::new();
        for out in outputs {
            seen.push(("stdout".into(), out.stdout.clone()));
            seen.push(("stderr".into(), out.stderr.clone()));
        }
        for request in self.scene.server.requests() {
            seen.push(("a request".into(), request.body.to_string()));
        }
        let sources = self.sources();
        // A checkpoint holds the project's files as they are, for the person alone.
        let is_pack = |path: &Path| path.extension().is_some_and(|e| e == "pack");
        for path in files(self.scene.space.user_home()) {
            if !sources.contains(&path) && !is_pack(&path) {
                let text = String::from_utf8_lossy(&std::fs::read(&path).unwrap()).into_owned();
                seen.push((path.display().to_string(), text));
            }
        }
        for (place, text) in seen {
            for key in ALL {
                let spelled = [key.to_owned(), key.replace('/', "\\/")];
                let found = spelled.iter().any(|key| text.contains(key.as_str()));
                assert!(!found, "{key} is in {place}:\n{text}");
            }
        }
    }
}

fn results(log: &[Value]) -> Vec<String> {
    of_type(log, "tool_result")
        .iter()
        .map(|r| r["output"].to_string())
        .collect()
}

fn turned(text: &str) -> String {
    let turn = |first: u8, c: char| ((c as u8 - first + 13) % 26 + first) as char;
    text.chars()
        .map(|c| match c {
            'a'..='z' => turn(b'a', c),
            'A'..='Z' => turn(b'A', c),
            _ => c,
        })
        .collect()
}

#[test]
fn commands_and_files_that_hold_keys_show_none() {
    let bash = |command: &str| Step::answer().call("bash", json!({"command": command}));
    let long = "cat $OSTLER_HOME/.env; head -c 60000 /dev/zero | tr '\\0' x; cat $HOME/filed.key; \
                head -c 60000 /dev/zero | tr '\\0' y; cat $OSTLER_HOME/.env";
    let person = Person::new([
        bash("cat $OSTLER_HOME/.env $HOME/filed.key $OSTLER_HOME/config.toml"),
        bash(long),
        bash("k=$(cat $HOME/filed.key); printf '%.9s' $k; sleep 0.1; printf '%s\\n' ${k#?????????}; cat $HOME/filed.key >&2"),
        Step::answer().call("read_file", json!({"path": "notes.txt"})),
        Step::answer().call("grep", json!({"pattern": "sk-"})),
        Step::answer().call("edit_file", json!({"path": "notes.txt", "old_string": "one", "new_string": "two"})),
        Step::answer().call("bash", json!({"command": "cat $HOME/filed.key; sleep 0.2; cat $HOME/filed.key", "wait": false})),
        Step::answer().call("bash_output", json!({"job": "j1", "wait": "20s"})),
        Step::answer().text("done"),
    ]);
    let notes = ALL.map(|key| format!("key: {key}\n")).concat() + "one\n";
    person.scene.space.write("notes.txt", &notes);
    let out = person.exec("json", &format!("go with {}", ALL[0])).ok();
    person.nobody_saw(&[out]);
    let log = person.scene.log();
    assert!(!of_type(&log, "checkpoint").is_empty());
    let results = results(&log);
    for (n, result) in results.iter().enumerate() {
        let beginning = result.get(..2000).unwrap_or(result);
        let is_start = result.contains("\"job\":\"j1\"") && n == 6;
        assert!(
            is_start || result.contains("[redacted]"),
            "{n}: {beginning}"
        );
    }
    let kept = files(person.scene.space.home());
    let kept: Vec<_> = kept
        .iter()
        .filter(|p| p.to_string_lossy().contains("stdout-"))
        .collect();
    assert_eq!(kept.len(), 1, "{kept:?}");
    // The file itself is the person's, and only the edit changed it.
    assert_eq!(
        person.scene.space.read("notes.txt"),
        notes.replace("one", "two")
    );
}

#[test]
fn no_tool_opens_the_files_with_keys() {
    let refused = |name: &str, args: Value| Step::answer().call(name, args);
    let person = Person::new([
        refused("read_file", json!({"path": "~/.ostler/.env"})),
        refused("read_file", json!({"path": "link"})),
        refused(
            "edit_file",
            json!({"path": "link", "old_string": "SAVED", "new_string": "x"}),
        ),
        refused(
            "write_file",
            json!({"path": "~/.ostler/auth.json", "content": "{}"}),
        ),
        refused("bash", json!({"command": "cat ~/.ostler/.env"})),
        Step::answer().call(
            "grep",
            json!({"pattern": "SAVED_KEY=", "path": "~/.ostler"}),
        ),
        Step::answer().text("done"),
    ]);
    let space = &person.scene.space;
    let home = space.user_home().join(".ostler");
    if home != space.home() {
        std::os::unix::fs::symlink(space.home(), &home).unwrap();
    }
    std::os::unix::fs::symlink(space.home().join(".env"), space.root().join("link")).unwrap();
    space.write(space.home().join("auth.json"), "{}");
    person.exec("json", "go").ok();
    let results = results(&person.scene.log());
    for result in results.iter().take(5) {
        assert!(
            result.contains("because it holds keys of Ostler"),
            "{results:#?}"
        );
    }
    assert!(!results[5].contains("/.env:"), "{results:#?}");
}

#[test]
fn no_process_of_ours_tells_its_environment() {
    // Turned by thirteen letters, so that nothing can be taken out of it on the way. Only those above the command are ours.
    let turn = "tr 'A-Za-z' 'N-ZA-Mn-za-m'";
    let person = Person::new([
        Step::answer().call("bash", json!({"command": format!("env | {turn}")})),
        Step::answer().call("bash", json!({"command": format!(
            "p=$$; while [ ${{p:-0}} -gt 1 ]; do cat /proc/$p/environ /proc/$p/cmdline; p=$(awk '/^PPid/ {{print $2}}' /proc/$p/status); done 2>/dev/null | tr '\\0' '\\n' | grep -a -e OSTLER_HOME -e sk- -e token | {turn}"
        )})),
        Step::answer().text("done"),
    ]);
    person.exec("json", "go").ok();
    let log = person.scene.log();
    let results = results(&log);
    assert_eq!(results.len(), 2, "{results:#?}");
    // The rest of the environment is there, so the commands have looked.
    let home = turned("OSTLER_HOME");
    assert!(results.iter().all(|r| r.contains(&home)), "{results:#?}");
    for result in &results {
        for key in ALL {
            assert!(!result.contains(&turned(key)), "{key}: {result}");
        }
    }
}

#[test]
fn keys_in_prompts_answers_and_errors_are_taken_out() {
    let halves = |key: &str| {
        let (a, b) = key.split_at(9);
        [
            format!("I see {a}"),
            b.to_owned(),
            " and s".to_owned(),
            "k".to_owned(),
        ]
    };
    let letters: Vec<String> = FILE.chars().map(String::from).collect();
    for format in ["text", "json", "result"] {
        let person = Person::new([Step::answer()
            .reasoning_chunks(halves(DOTENV))
            .chunks(halves(LITERAL))]);
        let out = person
            .exec(format, &format!("my key is {ENV}, is {HEADER} one?"))
            .ok();
        if format == "text" {
            assert_eq!(out.stdout, "I see [redacted] and sk\n");
        }
        let log = person.scene.log();
        let said = of_type(&log, "message");
        assert_eq!(said[0]["text"], "my key is [redacted], is [redacted] one?");
        assert_eq!(said[1]["text"], "I see [redacted] and sk");
        let list = person.scene.ostler(["sessions", "list"]).output().ok();
        assert!(
            list.stdout.contains("my key is [redacted]"),
            "{}",
            list.stdout
        );
        person.nobody_saw(&[out, list]);

        let refused = json!({"error": {"message": format!("bad key {ENV} and {SETTING}")}});
        let person = Person::new([
            Step::answer()
                .chunks(letters.clone())
                .call("bash", json!({"command": format!("echo {LITERAL}")}))
                .id(FILE),
            Step::status(400, &refused.to_string()),
        ]);
        let out = person.exec(format, "go");
        let log = person.scene.log();
        assert_eq!(of_type(&log, "error").len(), 1);
        assert_eq!(
            of_type(&log, "tool_use")[0]["input"]["command"],
            "echo [redacted]"
        );
        assert_eq!(
            of_type(&log, "tool_result")[0]["output"]["data"]["stdout"],
            "[redacted]\n"
        );
        person.nobody_saw(&[out]);
    }
}

#[test]
fn instructions_and_stdin_are_no_way_around() {
    let person = Person::new([Step::answer().text("ok")]);
    person
        .scene
        .space
        .write("AGENTS.md", format!("Use {DOTENV} as the key.\n"));
    let out = person
        .scene
        .ostler(["exec", "what is this?"])
        .env("MOCK_KEY", ENV)
        .stdin(format!("{FILE}\n"))
        .output()
        .ok();
    person.nobody_saw(&[out]);
    let request = person.scene.server.request(0);
    assert!(request.system_text().contains("Use [redacted] as the key."));
    assert!(
        request.last_user_text().contains("[redacted]"),
        "{}",
        request.last_user_text()
    );
}

#[test]
fn short_values_and_text_that_only_looks_like_a_key_stay() {
    let person = Person::new([Step::answer().text("sk-env-Q7w8e9r0t1y and sk-abcdefghijklmnop")]);
    let out = person.exec("text", "say it").ok();
    assert_eq!(out.stdout, "sk-env-Q7w8e9r0t1y and sk-abcdefghijklmnop\n");
}
