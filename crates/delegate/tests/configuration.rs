//! Documents of backends and roles: what they may hold, what is wrong with them and where, and how layers are merged.

use ostler_delegate::setup::{
    Allowance, Filesystem, OptionValue, Pick, PromptTransport, Setup, check, merge, parse,
};
use serde_json::{Value, json};
use std::path::Path;

fn read(document: &Value) -> Result<Setup, String> {
    parse(Path::new("/p/.three.json"), document.to_string().as_bytes()).map_err(|e| e.to_string())
}

#[test]
fn a_whole_document_is_read_and_unknown_inner_fields_are_passed_over() {
    let setup = read(&json!({
        "backend": {
            "codex": {
                "models": {"gpt/5": {
                    "options": {"effort": "low", "n": 3, "on": true},
                    "variants": {"high": {"effort": "high"}},
                    "id": "unknown",
                }},
                "timeout_secs": 90,
                "fallback": {"model": "claude/default", "patterns": ["x"], "unknown": {}},
                "adapter": {
                    "args_template": ["{{ prompt }}"],
                    "output_parser": {"type": "json_stream", "session_id_path": "a", "message_path": "b", "fallback": "codex"},
                    "filesystem_capabilities": ["read-only"],
                    "prompt_transport": "auto",
                },
                "unknown": [1],
            },
            "claude": {},
        },
        "roles": {
            "oracle": {
                "model": "codex/gpt/5@high",
                "personas": {"description": "d", "prompt": "p"},
                "capabilities": {"filesystem": "read-only", "shell": "deny", "tools": ["Read"], "unknown": 1},
                "enabled": false,
                "timeout_secs": 5,
                "unknown": null,
            },
            "builder": {"model": "claude/default"},
        },
    }))
    .unwrap();
    check(&setup).unwrap();
    let codex = &setup.backend["codex"];
    let model = &codex.models["gpt/5"];
    assert_eq!(model.options["n"], OptionValue::Number(3.into()));
    assert_eq!(
        model.variants["high"]["effort"],
        OptionValue::Text("high".into())
    );
    let adapter = codex.adapter.as_ref().unwrap();
    assert_eq!(adapter.prompt_transport, PromptTransport::Auto);
    assert_eq!(adapter.prompt_max_chars, 32_768);
    let parser = serde_json::to_value(&adapter.output_parser).unwrap();
    assert_eq!(parser["pick"], serde_json::to_value(Pick::Last).unwrap());
    let oracle = &setup.roles["oracle"];
    assert_eq!(oracle.capabilities.filesystem, Filesystem::ReadOnly);
    assert_eq!(oracle.capabilities.shell, Allowance::Deny);
    assert_eq!(oracle.capabilities.network, Allowance::Allow);
    assert!(!oracle.enabled);
    let builder = &setup.roles["builder"];
    assert!(builder.enabled);
    assert_eq!(builder.capabilities.tools, ["*"]);
}

#[test]
fn what_is_wrong_is_said_with_file_and_place() {
    let with = |backend: Value, roles: Value| json!({"backend": backend, "roles": roles});
    let role = |role: Value| with(json!({}), json!({"r": role}));
    let backend = |backend: Value| with(json!({"claude": backend}), json!({}));
    let adapter = |parser: Value, token: &str| {
        backend(json!({"adapter": {"args_template": [token], "output_parser": parser}}))
    };
    for (document, says) in [
        (json!([]), "must be an object"),
        (json!({"backend": {}}), "`roles` is missing"),
        (json!({"roles": {}}), "`backend` is missing"),
        (
            json!({"backend": {}, "roles": {}, "extra": 1}),
            "unknown key `extra`",
        ),
        (
            json!({"backend": {}, "brains": {}}),
            "`brains` is now called `roles`",
        ),
        (
            with(json!({"cursor": {}}), json!({})),
            "backend.cursor: `cursor` is no agent that is known here (known: claude, codex",
        ),
        (
            with(json!([]), json!({})),
            "backend: invalid type: sequence",
        ),
        (role(json!({})), "roles.r: missing field `model`"),
        (
            role(json!({"model": 7})),
            "roles.r.model: invalid type: integer",
        ),
        (
            role(json!({"model": "claude"})),
            "roles.r.model: `claude` is no model reference",
        ),
        (role(json!({"model": "/x"})), "is no model reference"),
        (role(json!({"model": "claude/"})), "is no model reference"),
        (role(json!({"model": "claude/m@"})), "is no model reference"),
        (
            role(json!({"model": "claude/default@high"})),
            "`default` has no variants",
        ),
        (
            role(json!({"model": "ostler/model"})),
            "is no model reference",
        ),
        (role(json!({"model": "acp: "})), "is no model reference"),
        (
            role(json!({"model": "cursor/m"})),
            "roles.r.model: `cursor` is no agent",
        ),
        (
            role(json!({"model": "claude/m", "fallback_models": []})),
            "roles.r: `fallback_models` is not supported",
        ),
        (
            role(json!({"model": "claude/m", "enabled": "yes"})),
            "roles.r.enabled: invalid type",
        ),
        (
            role(json!({"model": "claude/m", "timeout_secs": -1})),
            "roles.r.timeout_secs",
        ),
        (
            role(json!({"model": "claude/m", "personas": {"prompt": "p"}})),
            "roles.r.personas: missing field `description`",
        ),
        (
            role(json!({"model": "claude/m", "capabilities": {"shell": "maybe"}})),
            "roles.r.capabilities.shell: unknown variant `maybe`",
        ),
        (
            backend(json!({"models": {"m": {"options": {"o": {}}}}})),
            "backend.claude.models.m.options.o",
        ),
        (
            backend(json!({"fallback": {"patterns": ["x"]}})),
            "backend.claude.fallback: missing field `model`",
        ),
        (
            backend(json!({"fallback": {"model": "claude/default", "patterns": [" "]}})),
            "backend.claude.fallback: `patterns` holds no text",
        ),
        (
            backend(json!({"fallback": {"model": "x/y", "patterns": ["x"]}})),
            "backend.claude.fallback.model: `x` is no agent",
        ),
        (
            backend(json!({"adapter": {"args_template": []}})),
            "backend.claude.adapter: missing field `output_parser`",
        ),
        (
            adapter(
                json!({"type": "regex", "session_id_pattern": "(", "message_capture_group": 1}),
                "x",
            ),
            "backend.claude.adapter: `(` is no regular expression",
        ),
        (
            adapter(json!({"type": "text"}), "{% if %}"),
            "backend.claude.adapter: `{% if %}` is no template",
        ),
        (
            adapter(
                json!({"type": "json_stream", "session_id_path": "a", "message_path": "b", "fallback": "zz"}),
                "x",
            ),
            "`zz` is no agent",
        ),
        (
            adapter(json!({"type": "xml"}), "x"),
            "backend.claude.adapter",
        ),
    ] {
        let error = read(&document).unwrap_err();
        assert!(error.starts_with("/p/.three.json: "), "{error}");
        assert!(error.contains(says), "{says}\n  in {error}");
    }
    let error = parse(Path::new("/x.json"), b"{ \"backend\": ")
        .unwrap_err()
        .to_string();
    assert!(error.starts_with("/x.json: is not JSON: "), "{error}");
    // A mark of the byte order is no content.
    parse(
        Path::new("/x.json"),
        b"\xef\xbb\xbf{\"backend\":{},\"roles\":{}}",
    )
    .unwrap();
}

#[test]
fn the_project_goes_over_the_person_and_references_are_checked_then() {
    let user = read(&json!({
        "backend": {"claude": {"models": {"a": {"options": {"x": 1}}, "b": {}}, "timeout_secs": 1}},
        "roles": {"one": {"model": "claude/a"}, "two": {"model": "claude/b", "enabled": false}},
    }));
    let project = read(&json!({
        "backend": {"claude": {"models": {"a": {}}, "fallback": {"model": "claude/b", "patterns": ["x"]}}, "codex": {}},
        "roles": {"two": {"model": "codex/default"}},
    }));
    let merged = merge(user.clone().unwrap(), project.unwrap());
    check(&merged).unwrap();
    let claude = &merged.backend["claude"];
    assert!(claude.models["a"].options.is_empty() && claude.models.contains_key("b"));
    assert_eq!(
        (claude.timeout_secs, claude.fallback.is_some()),
        (Some(1), true)
    );
    assert!(merged.roles["two"].enabled);
    assert_eq!(merged.roles["two"].model, "codex/default");
    assert_eq!(merged.roles.len(), 2);
    for (document, says) in [
        (
            json!({"backend": {}, "roles": {"r": {"model": "claude/m"}}}),
            "roles.r.model: refers to the backend `claude`",
        ),
        (
            json!({"backend": {"codex": {"fallback": {"model": "claude/m", "patterns": ["x"]}}}, "roles": {}}),
            "backend.codex.fallback.model: refers to the backend `claude`",
        ),
        (
            json!({"backend": {"codex": {"fallback": {"model": "codex/m", "patterns": ["x"]}}}, "roles": {}}),
            "backend.codex.fallback.model: refers to `m`, which is no model of `backend.codex.models`",
        ),
    ] {
        let error = check(&read(&document).unwrap()).unwrap_err().to_string();
        assert!(error.starts_with(says), "{error}");
    }
    for model in ["claude/default", "ostler/v/m", "acp:some/agent --acp"] {
        let free = json!({"backend": {}, "roles": {"r": {"model": model}}});
        check(&read(&free).unwrap()).unwrap();
    }
}
