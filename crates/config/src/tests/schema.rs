//! The schema, the documentation and the code say the same.

use super::super::check::parse_base_url;
use super::super::json_schema::json_schema;
use super::super::paths::{Env, NoHome, Places, Platform, config_files};
use super::super::project::lists_of;
use super::super::schema::Config;
use super::super::show::{Origins, settings};
use super::super::units::ByteSize;
use super::Bench;
use std::path::Path;

/// All keys of the schema, dotted; list items and free names as `[]` and `<name>`.
fn keys(schema: &serde_json::Value, root: &serde_json::Value, prefix: &str, out: &mut Vec<String>) {
    let schema = match schema.get("$ref").and_then(|name| name.as_str()) {
        Some(name) => root.pointer(name.trim_start_matches('#')).unwrap(),
        None => schema,
    };
    if let Some([only]) = schema
        .get("anyOf")
        .and_then(|list| list.as_array())
        .map(Vec::as_slice)
    {
        return keys(only, root, prefix, out);
    }
    if let Some(properties) = schema.get("properties").and_then(|map| map.as_object()) {
        for (name, child) in properties {
            let path = if prefix.is_empty() {
                name.clone()
            } else {
                format!("{prefix}.{name}")
            };
            keys(child, root, &path, out);
        }
    } else if let Some(items) = schema
        .get("items")
        .filter(|items| items.get("$ref").is_some())
    {
        keys(items, root, prefix, out);
    } else if let Some(values) = schema
        .get("additionalProperties")
        .filter(|values| values.get("$ref").is_some())
    {
        keys(values, root, &format!("{prefix}.<name>"), out);
    } else {
        out.push(prefix.to_owned());
    }
}

#[test]
fn a_pane_is_no_place_and_stands_beside_them() {
    let bench = Bench::new().user("[host]\ntmux = true\n[host.dev]\nexec = ['env']\n");
    let loaded = bench.load().unwrap();
    assert_eq!(loaded.notices, []);
    assert!(loaded.config.helper.tmux);
    let places: Vec<&String> = loaded.config.host.keys().collect();
    assert_eq!(places, ["dev"]);
    // A place may be called so, too.
    let bench = Bench::new().user("[host.tmux]\nexec = ['env']\n");
    let loaded = bench.load().unwrap();
    assert!(!loaded.config.helper.tmux && loaded.config.host.contains_key("tmux"));
    // A repository decides neither.
    let bench = Bench::new().project("[host]\ntmux = true\n");
    assert!(!bench.load().unwrap().config.helper.tmux);
}

/// Of a new key somebody has to say what it may do in a project's file.
#[test]
fn every_key_is_judged_for_a_project_s_file() {
    let schema = json_schema();
    let mut all = Vec::new();
    keys(&schema, &schema, "", &mut all);
    let wrong: Vec<String> = all
        .iter()
        .map(|key| (key, lists_of(key)))
        .filter(|(_, lists)| lists.len() != 1)
        .map(|(key, lists)| format!("{key}: {lists:?}"))
        .collect();
    assert!(all.len() > 50 && wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn every_key_is_described_and_documented() {
    let schema = json_schema();
    let mut all = Vec::new();
    keys(&schema, &schema, "", &mut all);
    assert!(all.len() > 60, "{all:?}");
    let docs = include_str!("../../../../docs/config.md");
    let missing: Vec<&String> = all
        .iter()
        .filter(|path| {
            let name = path.rsplit('.').next().unwrap_or_default();
            !docs.contains(&format!("`{name}`")) && !docs.contains(&format!("`{path}`"))
        })
        .collect();
    assert!(missing.is_empty(), "not in docs/config.md: {missing:?}");
    let text = schema.to_string();
    assert!(!text.contains("null"), "TOML has no null");
    assert!(text.contains("Context window in tokens"));
}

#[test]
fn documented_defaults_are_the_real_ones() {
    let docs = include_str!("../../../../docs/config.md");
    let loaded = Bench::new().load().unwrap();
    let usual = ostler_llm::Timeouts::default();
    let timeouts = [
        ("connect", usual.connect),
        ("headers", usual.headers),
        ("first_token", usual.first_token),
        ("idle", usual.idle),
    ];
    let rows = settings(&loaded)
        .into_iter()
        .map(|setting| setting.line(Origins::Hidden))
        .chain(
            timeouts.map(|(name, time)| format!("network.timeouts.{name} = {}", time.as_secs())),
        );
    let mut checked = 0;
    for row in rows {
        let (key, value) = row.split_once(" = ").unwrap();
        let name = key.rsplit('.').next().unwrap();
        let expected = format!("| `{name}` | `{value}` |");
        assert!(docs.contains(&expected), "docs/config.md lacks {expected}");
        checked += 1;
    }
    assert!(checked > 25);
}

#[test]
fn examples_in_the_documentation_load() {
    let docs = include_str!("../../../../docs/config.md");
    let blocks: Vec<&str> = docs
        .split("```toml\n")
        .skip(1)
        .map(|block| block.split("```").next().unwrap_or_default())
        .collect();
    assert!(blocks.len() >= 3);
    for block in blocks {
        let bench = Bench::new().user(block);
        let loaded = bench
            .load()
            .unwrap_or_else(|error| panic!("{error}\n{block}"));
        assert_eq!(loaded.notices, [], "{block}");
    }
}

#[test]
fn the_schema_knows_what_the_loader_knows() {
    let schema = json_schema();
    let names: Vec<&String> = schema["properties"].as_object().unwrap().keys().collect();
    let config = serde_json::to_value(Config::default()).unwrap();
    let mut fields: Vec<&String> = config.as_object().unwrap().keys().collect();
    fields.sort();
    let mut sorted = names.clone();
    sorted.sort();
    assert_eq!(sorted, fields);
    assert_eq!(
        schema["$defs"]["ToolsConfig"]["additionalProperties"]["type"],
        "boolean"
    );
    assert_eq!(
        schema["$defs"]["ToolsConfig"]["properties"].get("switches"),
        None
    );
    assert_eq!(
        schema["$defs"]["AgentConfig"]["additionalProperties"],
        false
    );
}

#[test]
fn sizes() {
    let cases = [
        ("2GB", Some(2_000_000_000)),
        ("500 MiB", Some(500 << 20)),
        (" 7kb ", Some(7_000)),
        ("0", Some(0)),
        ("10B", Some(10)),
        ("", None),
        ("GB", None),
        ("2.5GB", None),
        ("-1", None),
        ("99999999999TB", None),
        ("2 X", None),
    ];
    for (text, bytes) in cases {
        assert_eq!(ByteSize::parse(text).map(|size| size.0), bytes, "{text}");
    }
    for (bytes, text) in [
        (2_000_000_000, "2GB"),
        (1_500_000, "1500KB"),
        (7, "7B"),
        (0, "0"),
    ] {
        assert_eq!(ByteSize(bytes).to_string(), text);
        assert_eq!(ByteSize::parse(text), Some(ByteSize(bytes)));
    }
}

#[test]
fn base_urls() {
    for good in ["https://a.test/v1", "http://127.0.0.1:80", "http://[::1]/x"] {
        assert!(matches!(parse_base_url(good), Ok(Some(_))), "{good}");
    }
    assert!(matches!(parse_base_url(""), Ok(None)));
    for bad in [
        "a.test",
        "localhost:80",
        "ftp://x",
        "https://",
        "file:///etc/passwd",
        "http://a b",
    ] {
        assert!(parse_base_url(bad).is_err(), "{bad}");
    }
}

#[test]
fn homes() {
    let env = |pairs: &[(&str, &str)]| -> Env {
        pairs
            .iter()
            .map(|(name, value)| (name.to_string(), value.to_string()))
            .collect()
    };
    let cwd = Path::new("/code");
    let home = |pairs: &[(&str, &str)], platform| {
        Places::find(&env(pairs), cwd, None, platform)
            .map(|places| places.home.display().to_string().replace('\\', "/"))
    };
    use Platform::{Unix, Windows};
    assert_eq!(home(&[("HOME", "/h")], Unix), Ok("/h/.ostler".into()));
    assert_eq!(
        home(&[("HOME", "/h"), ("OSTLER_HOME", "/o")], Unix),
        Ok("/o".into())
    );
    assert_eq!(
        home(&[("HOME", "/h"), ("OSTLER_HOME", "")], Unix),
        Ok("/h/.ostler".into())
    );
    assert_eq!(
        home(&[("HOME", "/h"), ("OSTLER_HOME", "~/x")], Unix),
        Ok("/h/x".into())
    );
    assert_eq!(
        home(&[("OSTLER_HOME", "here/../there")], Unix),
        Ok("/code/there".into())
    );
    assert_eq!(home(&[("APPDATA", "/a")], Windows), Ok("/a/ostler".into()));
    assert_eq!(home(&[], Unix), Err(NoHome("HOME")));
    assert_eq!(home(&[("HOME", "/h")], Windows), Err(NoHome("APPDATA")));
    let places = Places::find(&env(&[("HOME", "/h")]), cwd, Some(Path::new("sub")), Unix).unwrap();
    assert_eq!(places.root, Path::new("/code/sub"));
    assert_eq!(
        places.shown(Path::new("/code/sub/ostler.toml")),
        "sub/ostler.toml"
    );
    assert_eq!(places.shown(Path::new("/h/x")), "/h/x");
}

#[test]
fn config_path_lists_the_files() {
    let bench = Bench::new().user("");
    let files = config_files(&bench.places(), None);
    let listed: Vec<(&str, String, bool)> = files
        .iter()
        .map(|file| {
            (
                file.what,
                bench.clean(&file.path.display().to_string()),
                file.exists,
            )
        })
        .collect();
    assert_eq!(
        listed,
        [
            ("keys", "~/.ostler/.env".into(), false),
            ("user", "~/.ostler/config.toml".into(), true),
            ("project", "WORK/ostler.toml".into(), false),
        ]
    );
    let named = config_files(&bench.places(), Some(Path::new("mine.toml")));
    assert_eq!(named[1].path, bench.path("work/mine.toml"));
}
