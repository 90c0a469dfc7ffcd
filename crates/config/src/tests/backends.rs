//! Backends and roles in TOML, and the documents of Three: which of them count, how they are laid over each other, and what
//! is wrong with one.

use super::Bench;
use crate::schema::{Filesystem, Pick};
use crate::trust::Approval;
use crate::units::{Allowance, Scalar};
use insta::assert_snapshot;
use std::fs;

fn with_files(bench: Bench, files: &[(&str, &str)]) -> Bench {
    for (name, text) in files {
        let path = bench.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    bench
}

fn role(model: &str) -> String {
    format!(r#"{{"roles": {{"oracle": {{"model": "{model}"}}}}}}"#)
}

const TOML: &str = r#"
[backend.codex]
timeout_secs = 90
fallback = { model = "claude/default", patterns = ["429", "rate limit"] }
[backend.codex.models.gpt]
options = { effort = "low", steps = 3, quick = true, share = 0.5 }
variants.high = { effort = "high" }
[backend.codex.adapter]
args_template = ["exec", "{{ prompt }}"]
output_parser = { type = "json_stream", session_id_path = "a.b", message_path = "c", pick = "last" }
filesystem_capabilities = ["read-only"]
prompt_transport = "auto"
[roles.reviewer]
model = "codex/gpt@high"
capabilities = { filesystem = "read-only", shell = "deny", network = true, tools = ["*"] }
"#;

#[test]
fn backends_and_roles_are_read() {
    let config = Bench::new().user(TOML).load().unwrap().config;
    let codex = &config.backend["codex"];
    assert_eq!(codex.timeout_secs, Some(90));
    let options = &codex.models["gpt"].options;
    assert_eq!(options["steps"], Scalar::Integer(3));
    assert_eq!(options["quick"], Scalar::Flag(true));
    assert_eq!(options["share"], Scalar::Number(0.5));
    assert_eq!(options["effort"], Scalar::Text("low".into()));
    assert_eq!(
        codex.models["gpt"].variants["high"]["effort"],
        Scalar::Text("high".into())
    );
    assert_eq!(codex.fallback.as_ref().unwrap().patterns.len(), 2);
    let parser = codex.adapter.output_parser.as_ref().unwrap();
    assert_eq!(parser.pick, Some(Pick::Last));
    let caps = &config.roles["reviewer"].capabilities;
    assert_eq!(caps.filesystem, Some(Filesystem::ReadOnly));
    assert_eq!(caps.shell, Some(Allowance(false)));
    assert_eq!(caps.network, Some(Allowance(true)));
}

#[test]
fn what_cannot_hold_is_an_error() {
    let seen = |text: &str| Bench::new().user(text).seen();
    assert_snapshot!(seen("[backend.cursor]\n[roles.a]\nmodel = 'acme/big'\n[roles.b]\nmodel = 'codex'\n[roles.c]\nmodel = 'codex/default@high'\n[roles.d]\nmodel = 'codex/'\n"), @r#"
    error: `backend.cursor` names the backend `cursor`, which Ostler does not know
     --> ~/.ostler/config.toml:1:10
      |
    1 | [backend.cursor]
      |          ^^^^^^
      |
      = help: backends are claude, codex, gemini, kimi, opencode, pi, qwen, reasonix

    error: `acme/big` names the backend `acme`, which Ostler does not know
     --> ~/.ostler/config.toml:3:9
      |
    3 | model = 'acme/big'
      |         ^^^^^^^^^^
      |
      = help: backends are claude, codex, gemini, kimi, opencode, pi, qwen, reasonix; a model of Ostler's own is written `ostler/acme/big`

    error: `codex` is not a model of a backend; write `backend/model`, `backend/model@variant` or `backend/default`
     --> ~/.ostler/config.toml:5:9
      |
    5 | model = 'codex'
      |         ^^^^^^^

    error: `codex/default@high` is not a model of a backend; write `backend/model`, `backend/model@variant` or `backend/default`
     --> ~/.ostler/config.toml:7:9
      |
    7 | model = 'codex/default@high'
      |         ^^^^^^^^^^^^^^^^^^^^

    error: `codex/` is not a model of a backend; write `backend/model`, `backend/model@variant` or `backend/default`
     --> ~/.ostler/config.toml:9:9
      |
    9 | model = 'codex/'
      |         ^^^^^^^^
    "#);
    assert_snapshot!(seen("[backend.codex]\nfallback = { model = 'acme/x', patterns = [' '] }\n[backend.codex.adapter]\noutput_parser = { type = 'regex' }\n[backend.pi]\nfallback = { model = 'codex/x' }\n"), @r#"
    error: `acme/x` names the backend `acme`, which Ostler does not know
     --> ~/.ostler/config.toml:2:22
      |
    2 | fallback = { model = 'acme/x', patterns = [' '] }
      |                      ^^^^^^^^
      |
      = help: backends are claude, codex, gemini, kimi, opencode, pi, qwen, reasonix; a model of Ostler's own is written `ostler/acme/x`

    error: `backend.codex.fallback.patterns` is empty, so it would never apply
     --> ~/.ostler/config.toml:2:43
      |
    2 | fallback = { model = 'acme/x', patterns = [' '] }
      |                                           ^^^^^

    error: `backend.codex.adapter.output_parser` needs `session_id_pattern`
     --> ~/.ostler/config.toml:4:17
      |
    4 | output_parser = { type = 'regex' }
      |                 ^^^^^^^^^^^^^^^^^^

    error: `backend.codex.adapter.output_parser` needs `message_capture_group`
     --> ~/.ostler/config.toml:4:17
      |
    4 | output_parser = { type = 'regex' }
      |                 ^^^^^^^^^^^^^^^^^^

    error: `backend.pi.fallback` has no `patterns`
     --> ~/.ostler/config.toml:6:1
      |
    6 | fallback = { model = 'codex/x' }
      | ^^^^^^^^ `patterns` is missing here
      |
      = help: add `patterns = …` to this table
    "#);
    assert_snapshot!(seen("[backend.codex.models.x]\noptions = { a = [1] }\n[roles.a]\ncapabilities = { shell = 'never', filesystem = 'all' }\n"), @r#"
    error: `backend.codex.models.x.options.a` must be a string, a number, true or false, not a list
     --> ~/.ostler/config.toml:2:17
      |
    2 | options = { a = [1] }
      |                 ^^^ expected a string, a number, true or false

    error: `roles.a.capabilities.shell` must be "allow", "deny", true or false; it is a string
     --> ~/.ostler/config.toml:4:26
      |
    4 | capabilities = { shell = 'never', filesystem = 'all' }
      |                          ^^^^^^^ expected "allow", "deny", true or false

    error: `roles.a.capabilities.filesystem` must be one of "read-write", "read-only"
     --> ~/.ostler/config.toml:4:48
      |
    4 | capabilities = { shell = 'never', filesystem = 'all' }
      |                                                ^^^^^ not one of these
    "#);
}

/// The first file that exists is the document of its layer; a project's lies over the person's.
#[test]
fn the_document_of_a_client_replaces_the_plain_one() {
    let user = "home/.config/three/config.json";
    let user_client = "home/.config/three/config-codex.json";
    let project = "work/.three/config.json";
    let project_client = "work/.three/config-codex.json";
    let plain = "work/.three.json";
    let check = |client: &str, files: &[&str], expect: Option<&str>| {
        let texts: Vec<(&str, String)> = files
            .iter()
            .map(|name| (*name, role(&format!("codex/{name}"))))
            .collect();
        let files: Vec<(&str, &str)> = texts.iter().map(|(n, t)| (*n, t.as_str())).collect();
        let bench = with_files(Bench::new().env("THREE_CLIENT", client), &files).trusted();
        let config = bench.load().unwrap().config;
        let model = config.roles.get("oracle").and_then(|r| r.model.clone());
        let expect = expect.map(|name| format!("codex/{name}"));
        assert_eq!(model, expect, "{client} {files:?}");
    };
    check("", &[], None);
    check("", &[user, user_client], Some(user));
    check("", &[user_client, project_client], None);
    check("codex", &[user, user_client], Some(user_client));
    check("kimi", &[user, user_client], Some(user));
    check("codex", &[user_client, plain], Some(plain));
    check("codex", &[project, plain], Some(project));
    check(
        "codex",
        &[project_client, project, plain],
        Some(project_client),
    );
    check("", &[project_client, plain, user], Some(plain));
}

#[test]
fn toml_of_a_layer_lies_over_its_document_and_both_are_merged() {
    let document = r#"{"backend": {"codex": {"timeout_secs": 5, "models": {"a": {}}}}, "roles": {"docs": {"model": "codex/a", "later": 1}}}"#;
    let bench =
        Bench::new().user("[backend.codex]\ntimeout_secs = 7\n[roles.docs]\nenabled = false\n");
    let bench = with_files(bench, &[("home/.config/three/config.json", document)]);
    assert_snapshot!(bench.seen(), @r#"
    backend.codex.timeout_secs = 7  # ~/.ostler/config.toml:2:1
    roles.docs.capabilities.filesystem = "read-write"  # ~/.config/three/config.json:1:76
    roles.docs.capabilities.network = "allow"  # ~/.config/three/config.json:1:76
    roles.docs.capabilities.shell = "allow"  # ~/.config/three/config.json:1:76
    roles.docs.capabilities.tools = ["*"]  # ~/.config/three/config.json:1:76
    roles.docs.enabled = false  # ~/.ostler/config.toml:4:1
    roles.docs.model = "codex/a"  # ~/.config/three/config.json:1:85
    "#);
}

/// A role of a document may do everything that it does not say otherwise, also one with a name of ours.
#[test]
fn capabilities_of_a_document_default_to_all() {
    let bench = with_files(
        Bench::new(),
        &[(
            "home/.config/three/config.json",
            r#"{"roles": {"oracle": {"model": "codex/default", "capabilities": {"shell": "deny"}}}}"#,
        )],
    );
    let config = bench.load().unwrap().config;
    let caps = &config.roles["oracle"].capabilities;
    assert_eq!(caps.filesystem, Some(Filesystem::ReadWrite));
    assert_eq!(caps.shell, Some(Allowance(false)));
    assert_eq!(caps.network, Some(Allowance(true)));
}

#[test]
fn a_document_says_what_is_wrong_with_it() {
    let seen =
        |text: &str| with_files(Bench::new(), &[("home/.config/three/config.json", text)]).seen();
    assert_snapshot!(seen("{\n  \"brains\": {},\n  \"$schema\": \"x\",\n  \"backend\": {\"cursor\": {}},\n  \"roles\": {\"a\": {}, \"b\": {\"model\": 1}, \"c\": {\"model\": \"codex/x\", \"fallback_models\": []}}\n}\n"), @r#"
    error: `brains` is not allowed here: the document has `backend` and `roles`, and nothing else
     --> ~/.config/three/config.json:2:3
      |
    2 |   "brains": {},
      |   ^^^^^^^^
      |
      = help: rename `brains` to `roles`

    error: `$schema` is not allowed here: the document has `backend` and `roles`, and nothing else
     --> ~/.config/three/config.json:3:3
      |
    3 |   "$schema": "x",
      |   ^^^^^^^^^
      |
      = help: remove it, or move it to the file that it belongs to

    error: `backend.cursor` names the backend `cursor`, which Ostler does not know
     --> ~/.config/three/config.json:4:15
      |
    4 |   "backend": {"cursor": {}},
      |               ^^^^^^^^
      |
      = help: backends are claude, codex, gemini, kimi, opencode, pi, qwen, reasonix

    error: `roles.a` has no `model`
     --> ~/.config/three/config.json:5:13
      |
    5 |   "roles": {"a": {}, "b": {"model": 1}, "c": {"model": "codex/x", "fallback_models": []}}
      |             ^^^ `model` is missing here

    error: `roles.b.model` must be a string, not 1
     --> ~/.config/three/config.json:5:28
      |
    5 |   "roles": {"a": {}, "b": {"model": 1}, "c": {"model": "codex/x", "fallback_models": []}}
      |                            ^^^^^^^ expected a string
      |
      = help: put it in quotes: "1"
    "#);
    assert_snapshot!(seen("{\"roles\": {\"a\": \n  oops}}"), @r#"
    error: this file is not valid JSON: expected value at line 2 column 3
     --> ~/.config/three/config.json:2:3
      |
    2 |   oops}}
      |   ^
    "#);
    assert_snapshot!(seen("[]"), @r#"
    error: must be a table, not a string
     --> ~/.config/three/config.json:1:1
      |
    1 | []
      | ^
    "#);
    assert_snapshot!(Bench::new().env("THREE_CLIENT", "../x").seen(), @r#"
    error: `../x` is not a valid client name: use letters, digits, `-`, `_` and `.`
    --> THREE_CLIENT
     = help: set THREE_CLIENT to the name of a client, or unset it
    "#);
}

#[test]
fn a_projects_document_waits_for_trust_and_names_no_variables() {
    let document = r#"{"backend": {"codex": {"env_pass": ["MY_TOKEN"]}}, "roles": {"docs": {"model": "codex/default"}}}"#;
    let make = || with_files(Bench::new(), &[("work/.three.json", document)]);
    let loaded = make().load().unwrap();
    assert!(loaded.config.roles.is_empty() && loaded.config.backend.is_empty());
    let items = loaded.workspace.items.iter();
    let items: Vec<String> = items
        .map(|item| format!("{} {}", item.place, item.what))
        .collect();
    assert_eq!(
        items,
        [
            ".three.json:1:14 .three.json.backend.codex",
            ".three.json:1:62 .three.json.roles.docs",
        ]
    );
    let loaded = make().trusted().load().unwrap();
    assert_eq!(loaded.config.roles.len(), 1);
    assert!(loaded.config.backend["codex"].env_pass.is_empty());
    // A broken one is no reason not to start in a folder that nobody trusts.
    let broken = with_files(Bench::new(), &[("work/.three.json", "{")]);
    assert_eq!(broken.load().unwrap().workspace.items.len(), 1);
    assert!(broken.load_with(Approval::ThisRun).is_err());
}
