//! Tables of what models get wrong: what is mended, and what is refused because it could mean two things.

use super::{Ended, arguments, calls_in_text, coerce, drop_repeats};
use crate::AnswerPart;
use proptest::prelude::*;
use serde_json::{Value, json};

#[test]
fn good_arguments_stay_as_they_are() {
    for text in [
        "{}",
        r#"{"path":"a.txt","n":1.0,"big":12345678901234567890123}"#,
        r#"{ "a" : [ {"b": null} ], "a2": "\u00e9\n" }"#,
    ] {
        for ended in [Ended::Whole, Ended::Cut] {
            let mended = arguments(&format!(" {text}\n"), ended).unwrap();
            assert_eq!((mended.text.as_str(), mended.note), (text, None));
        }
    }
}

#[test]
fn what_is_mended() {
    for (text, expect, note) in [
        ("", "{}", "no arguments"),
        (" \n", "{}", "no arguments"),
        ("null", "{}", "no arguments"),
        ("```json\n{\"a\":1}\n```", r#"{"a":1}"#, "a code fence"),
        ("```\n{'a':1}", r#"{"a":1}"#, "a code fence, single quotes"),
        (r#"{"a":1,}"#, r#"{"a":1}"#, "a trailing comma"),
        (r#"{"a":[1,2,],}"#, r#"{"a":[1,2]}"#, "a trailing comma"),
        (
            r#"{'a': 'say "hi"'}"#,
            r#"{"a":"say \"hi\""}"#,
            "single quotes",
        ),
        (r#"{'a': "it's"}"#, r#"{"a":"it's"}"#, "single quotes"),
        (
            r#"{'a': 'it\'s'}"#,
            r#"{"a":"it's"}"#,
            "single quotes, unknown escapes",
        ),
        (
            "{path: \"a\", max-depth: 2, _x: 3}",
            r#"{"path":"a","max-depth":2,"_x":3}"#,
            "keys without quotes",
        ),
        (
            r#"{"a": True, "b": False, "c": None}"#,
            r#"{"a":true,"b":false,"c":null}"#,
            "True, False or None",
        ),
        (
            "{\"a\":\"one\ntwo\tthree\u{1}\"}",
            r#"{"a":"one\ntwo\tthree\u0001"}"#,
            "raw line breaks in a string",
        ),
        (
            r#"{"a":"\d+\.\s"}"#,
            r#"{"a":"\\d+\\.\\s"}"#,
            "unknown escapes",
        ),
        (r#"{"a":1}{"a":1}"#, r#"{"a":1}"#, "the object repeated"),
        (
            "{\"a\":1}\n{\"a\": 1}\n{'a':1}",
            r#"{"a":1}"#,
            "the object repeated, single quotes",
        ),
        (r#"{}{"a":1}"#, r#"{"a":1}"#, "the object repeated"),
        (r#"{"a":1}{}"#, r#"{"a":1}"#, "the object repeated"),
        (
            r#""{\"a\":\"x\\ny\"}""#,
            r#"{"a":"x\ny"}"#,
            "JSON inside a string",
        ),
        (
            r#""\"{\\\"a\\\":1}\"""#,
            r#"{"a":1}"#,
            "JSON inside a string",
        ),
        (r#"[{"a":1}]"#, r#"{"a":1}"#, "a list around the object"),
        (
            r#"{"a":{"b":1}}}"#,
            r#"{"a":{"b":1}}"#,
            "marks after the object",
        ),
        ("{\"a\":1}\n```", r#"{"a":1}"#, "marks after the object"),
        (
            r#"{"a":{"b":[1,2"#,
            r#"{"a":{"b":[1,2]}}"#,
            "missing closing marks",
        ),
        (
            r#"{"a":"ls -la"#,
            r#"{"a":"ls -la"}"#,
            "missing closing marks",
        ),
        (r#"{"a":true"#, r#"{"a":true}"#, "missing closing marks"),
        (
            r#"{"n":1.50,"u":"é\u00e9","m":-2e3,}"#,
            r#"{"n":1.50,"u":"é\u00e9","m":-2e3}"#,
            "a trailing comma",
        ),
    ] {
        let mended = arguments(text, Ended::Whole).unwrap_or_else(|e| panic!("{text}: {e}"));
        assert_eq!(mended.text, expect, "{text}");
        assert_eq!(mended.note, Some(format!("mended {note}")), "{text}");
        assert_eq!(
            Value::Object(mended.value),
            serde_json::from_str::<Value>(expect).unwrap()
        );
    }
}

#[test]
fn what_is_refused() {
    for (text, words) in [
        ("hello", "do not begin with `{`"),
        ("3", "a single value"),
        ("true", "a single value"),
        (r#""text""#, "do not begin with `{`"),
        ("[1,2]", "they are a list"),
        (r#"[{"a":1},{"a":2}]"#, "they are a list"),
        ("{", "end too early"),
        (r#"{"a""#, "end too early"),
        (r#"{"a":"#, "end too early"),
        (r#"{"a":1,"#, "end too early"),
        (r#"{"a":"x}"#, "end too early"),
        (r#"{"a":"x\"#, "end too early"),
        (
            r#"{"a":"x, "b":"y"}"#,
            "a quote inside a string is not escaped",
        ),
        (
            r#"{"a":"say "hi" now"}"#,
            "a quote inside a string is not escaped",
        ),
        (r#"{'a': 'it's'}"#, "a quote inside a string is not escaped"),
        (r#"{"a":content}"#, "`content` should be in double quotes"),
        (r#"{"a":01}"#, "`01` is not a number"),
        (r#"{"a":"\u12"}"#, "four hexadecimal digits"),
        (r#"{"a" 1}"#, "a quote inside a string is not escaped"),
        (r#"{a 1}"#, "`:` after a name"),
        (r#"{"a":1;"b":2}"#, "there should be `,` or `}`"),
        (r#"{"a":1}{"a":2}"#, "several different objects"),
        (
            r#"{"a":1} and then"#,
            "text after the object, from `and then`",
        ),
        (r#"{"a":}"#, "there should be a value"),
        (r#"{1:2}"#, "a name in double quotes"),
    ] {
        let error = arguments(text, Ended::Whole).map(|m| m.text).unwrap_err();
        assert!(error.contains(words), "{text}: {error}");
    }
    let deep = format!("{{\"a\":{}", "[".repeat(5_000));
    let error = arguments(&deep, Ended::Whole).unwrap_err();
    assert!(error.contains("nested too deeply"), "{error}");
}

#[test]
fn a_call_that_was_cut_is_never_completed() {
    for text in [
        r#"{"a":{"b":1"#,
        r#"{"a":"ls -la"#,
        r#"{"a":1,"#,
        "{",
        "```json\n{\"a\":1",
    ] {
        let error = arguments(text, Ended::Cut).map(|m| m.text).unwrap_err();
        assert!(error.contains("cut off"), "{text}: {error}");
    }
}

#[test]
fn values_are_fitted_to_the_schema() {
    let schema = json!({
        "type": "object",
        "required": ["path"],
        "properties": {
            "path": {"type": "string"},
            "limit": {"type": ["integer", "null"]},
            "depth": {"type": "integer"},
            "ratio": {"type": "number"},
            "all": {"type": "boolean"},
            "names": {"type": "array", "items": {"type": "string"}},
            "edits": {"type": "array", "items": {"$ref": "#/$defs/Edit"}},
            "opts": {"anyOf": [{"$ref": "#/$defs/Edit"}, {"type": "null"}]},
            "wait": {"type": ["boolean", "number", "string"]},
            "mode": {"enum": ["a", "b"]},
            "free": {}
        },
        "$defs": {"Edit": {"type": "object", "required": ["old"], "properties": {
            "old": {"type": "string"}, "count": {"type": "integer"}
        }}}
    });
    for (args, expect) in [
        (json!({"depth": "5"}), json!({"depth": 5})),
        (json!({"depth": " -5 "}), json!({"depth": -5})),
        (json!({"depth": 5.0}), json!({"depth": 5})),
        (json!({"ratio": "2.5"}), json!({"ratio": 2.5})),
        (json!({"all": "true"}), json!({"all": true})),
        (json!({"all": "False"}), json!({"all": false})),
        (json!({"limit": "null"}), json!({"limit": null})),
        (json!({"limit": null}), json!({"limit": null})),
        (json!({"path": 7}), json!({"path": "7"})),
        (json!({"names": "a"}), json!({"names": ["a"]})),
        (
            json!({"names": "[\"a\", \"b\"]"}),
            json!({"names": ["a", "b"]}),
        ),
        (json!({"names": [1, "b"]}), json!({"names": ["1", "b"]})),
        (
            json!({"edits": {"old": "x"}}),
            json!({"edits": [{"old": "x"}]}),
        ),
        (
            json!({"edits": "[{\"old\": 1, \"count\": \"2\"}]"}),
            json!({"edits": [{"old": "1", "count": 2}]}),
        ),
        (
            json!({"edits": [{"old": "x", "count": null}]}),
            json!({"edits": [{"old": "x"}]}),
        ),
        (
            json!({"opts": "{\"old\": \"x\", \"count\": \"3\"}"}),
            json!({"opts": {"old": "x", "count": 3}}),
        ),
        (json!({"depth": null, "names": null}), json!({})),
    ] {
        let mut fitted = args.clone();
        let notes = coerce(&mut fitted, &schema);
        assert_eq!(fitted, expect, "{args}");
        assert_eq!(notes.is_empty(), args == expect, "{notes:?}");
    }
    for same in [
        json!({"path": "5", "wait": "10", "mode": "a", "free": "true"}),
        json!({"path": null}),
        json!({"path": true}),
        json!({"path": 1.5}),
        json!({"depth": "five"}),
        json!({"depth": "1e3"}),
        json!({"depth": 5.5}),
        json!({"all": "yes"}),
        json!({"all": 1}),
        json!({"names": {"x": 1}}),
        json!({"names": [["a"]]}),
        json!({"edits": "x"}),
        json!({"opts": "{broken"}),
        json!({"other": "5"}),
        json!("5"),
    ] {
        let mut fitted = same.clone();
        assert_eq!(coerce(&mut fitted, &schema), [""; 0]);
        assert_eq!(fitted, same);
    }
    let looped = json!({"anyOf": [{"$ref": "#"}, {"$ref": "#"}]});
    assert_eq!(coerce(&mut json!({"a": 1}), &looped), [""; 0]);
}

#[test]
fn names_are_freed_of_their_notation() {
    for (name, expect) in [
        ("bash", "bash"),
        ("functions.bash", "bash"),
        ("functions.bash:0", "bash"),
        ("default_api.read_file", "read_file"),
        ("ls:12", "ls"),
        (" ls ", "ls"),
        // Not ours to guess.
        ("functions.rm", "functions.rm"),
        ("bash:x", "bash:x"),
        ("my.bash", "my.bash"),
        ("", ""),
    ] {
        assert_eq!(super::tool_name(name, &TOOLS), expect, "{name}");
    }
    assert_eq!(super::tool_name("tools.x", &["x", "tools.x"]), "tools.x");
}

const TOOLS: [&str; 3] = ["ls", "bash", "read_file"];

#[test]
fn calls_written_as_text() {
    let bash = ("bash", r#"{"command":"ls -la"}"#);
    let ls = ("ls", "{}");
    for (text, before, calls) in [
        (
            "I'll look.\n```json\n{\"name\": \"bash\", \"arguments\": {\"command\": \"ls -la\"}}\n```\n",
            "I'll look.",
            vec![bash],
        ),
        (
            "```json {\"name\":\"ls\",\"arguments\":{}} ```",
            "",
            vec![ls],
        ),
        (
            "```\n[{\"name\":\"ls\",\"parameters\":{}},{\"name\":\"bash\",\"arguments\":\"{\\\"command\\\":\\\"ls -la\\\"}\"}]\n```",
            "",
            vec![ls, bash],
        ),
        (
            "```json\n{\"name\":\"ls\",\"arguments\":{}}\n```\n```json\n{\"name\":\"ls\",\"arguments\":{}}\n```",
            "",
            vec![ls, ls],
        ),
        (
            "See:\n```sh\nls\n```\nNow.\n```json\n{\"name\":\"ls\",\"arguments\":{}}\n```",
            "See:\n```sh\nls\n```\nNow.",
            vec![ls],
        ),
        ("{\"name\":\"ls\",\"arguments\":{}}", "", vec![ls]),
        (
            r#"{"type":"function","function":{"name":"ls","arguments":{}}}"#,
            "",
            vec![ls],
        ),
        (
            "Yes. <tool_call>\n{\"name\": \"bash\", \"arguments\": {\"command\": \"ls -la\"}}\n</tool_call>",
            "Yes.",
            vec![bash],
        ),
        (
            "<tool_call>{\"name\":\"ls\"}</tool_call>\n<tool_call>{'name':'ls','arguments':{}}</tool_call>",
            "",
            vec![ls, ls],
        ),
        (
            "<tool_call>{\"name\":\"ls\",\"arguments\":{}}<|im_end|>",
            "",
            vec![ls],
        ),
        (
            "<tool_call>\n<function=bash>\n<parameter=command>\nls -la\n</parameter>\n</function>\n</tool_call>",
            "",
            vec![bash],
        ),
        (
            "<tool_call>bash\n<arg_key>command</arg_key>\n<arg_value>ls -la</arg_value>\n</tool_call>",
            "",
            vec![bash],
        ),
        ("<tool_call>ls</tool_call>", "", vec![ls]),
        (
            "<function=bash>{\"command\": \"ls -la\"}</function>",
            "",
            vec![bash],
        ),
        (
            "<function=ls></function><function=bash><parameter=command>ls -la</parameter>",
            "",
            vec![ls, bash],
        ),
        (
            "ok\n<function_calls>\n<invoke name=\"bash\">\n<parameter name=\"command\">ls -la</parameter>\n</invoke>\n<invoke name=\"ls\">\n</invoke>\n</function_calls>",
            "ok",
            vec![bash, ls],
        ),
        (
            "<x:function_calls><x:invoke name=\"ls\"></x:invoke></x:function_calls>",
            "",
            vec![ls],
        ),
        ("<invoke name='ls'>\n</invoke>", "", vec![ls]),
        (
            "[TOOL_CALLS][{\"name\": \"ls\", \"arguments\": {}}]</s>",
            "",
            vec![ls],
        ),
        (
            "[TOOL_CALLS]bash[ARGS]{\"command\": \"ls -la\"}[TOOL_CALLS]ls[ARGS]{}",
            "",
            vec![bash, ls],
        ),
        (
            "<|python_tag|>{\"name\": \"ls\", \"parameters\": {}}<|eom_id|>",
            "",
            vec![ls],
        ),
        (
            "<|python_tag|>{\"name\":\"ls\",\"parameters\":{}}; {\"name\":\"bash\",\"parameters\":{\"command\":\"ls -la\"}}",
            "",
            vec![ls, bash],
        ),
        (
            "a<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>bash\n```json\n{\"command\": \"ls -la\"}\n```<｜tool▁call▁end｜>\n<｜tool▁call▁begin｜>function<｜tool▁sep｜>ls\n```json\n{}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜><｜end▁of▁sentence｜>",
            "a",
            vec![bash, ls],
        ),
        (
            "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>ls<｜tool▁sep｜>{}<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
            "",
            vec![ls],
        ),
        (
            "<|tool_calls_section_begin|><|tool_call_begin|>functions.bash:0<|tool_call_argument_begin|>{\"command\":\"ls -la\"}<|tool_call_end|><|tool_calls_section_end|>",
            "",
            vec![bash],
        ),
    ] {
        let found = calls_in_text(text, &TOOLS).unwrap_or_else(|| panic!("nothing in {text}"));
        let calls: Vec<_> = calls
            .into_iter()
            .map(|(name, args)| (name.to_owned(), args.to_owned()))
            .collect();
        assert_eq!(found, (before.to_owned(), calls), "{text}");
    }
}

#[test]
fn values_between_tags_keep_their_text() {
    let text = "<function=bash>\n<parameter=command>\n\n  if a < b; then\n\techo \"x\"\n  fi\n\n</parameter>\n</function>";
    let (_, calls) = calls_in_text(text, &TOOLS).unwrap();
    let expect = json!({"command": "\n  if a < b; then\n\techo \"x\"\n  fi\n"});
    assert_eq!(calls, [("bash".to_owned(), expect.to_string())]);
}

#[test]
fn text_that_only_talks_about_calls() {
    for text in [
        "",
        "Just an answer with {\"name\": \"ls\"} in it.",
        "Call it like this:\n```json\n{\"name\":\"ls\",\"arguments\":{}}\n```\nand see.",
        "```json\n{\"name\":\"rm\",\"arguments\":{}}\n```",
        "```json\n{\"name\":\"ls\"}\n```",
        "```json\n{\"name\":\"ls\",\"arguments\":{},\"version\":\"1\"}\n```",
        "```python\n{\"name\":\"ls\",\"arguments\":{}}\n```",
        "```json\n{\"name\":\"ls\",\"arguments\":{}}",
        "```xml\n<tool_call>{\"name\":\"ls\",\"arguments\":{}}</tool_call>\n```",
        "```xml\n<tool_call>{\"name\":\"ls\",\"arguments\":{}}</tool_call>",
        "Write `<tool_call>{\"name\":\"ls\",\"arguments\":{}}</tool_call>`",
        "<tool_call>{\"name\":\"ls\",\"arguments\":{}}</tool_call> is what I would send.",
        "<tool_call>{\"name\":\"ls\",\"arguments\":{}}</tool_call> then <tool_call>{\"name\":\"ls\",\"arguments\":{}}</tool_call>",
        "<tool_call>{\"name\":\"ls\",\"arguments\":{",
        "<tool_call>{\"name\":\"ls\",\"arguments\":[1]}</tool_call>",
        "<function=ls",
        "<function=unknown></function>",
        "<invoke name=\"ls\"><parameter name=\"x\">1",
        "{\"name\":\"ls\",\"arguments\":{}} done",
        "{\"name\":\"ls\"}",
        "[1, 2, 3]",
        "[TOOL_CALLS]",
        "[TOOL_CALLS]ls",
        "<|python_tag|>print(1)",
        "<｜tool▁calls▁begin｜><｜tool▁calls▁end｜>",
    ] {
        assert_eq!(calls_in_text(text, &TOOLS), None, "{text}");
    }
}

#[test]
fn hostile_input_costs_little() {
    let big = 900_000;
    for text in [
        "<".repeat(big),
        "[".repeat(big),
        "{".repeat(big),
        "```\n".repeat(big / 4),
        "<tool_call>".repeat(big / 11),
        "<invoke name=\"ls\"><parameter name=\"x\">".to_owned() + &"</".repeat(big / 2),
        "<function=ls>".to_owned() + &"<parameter=a>".repeat(big / 13),
        "[TOOL_CALLS]".to_owned() + &"{\"a\":".repeat(big / 5),
    ] {
        assert_eq!(calls_in_text(&text, &TOOLS), None);
    }
    for text in [
        "{".repeat(big),
        "{\"a\":\"".to_owned() + &"\\".repeat(big),
        "{}".repeat(big / 2),
    ] {
        _ = arguments(&text, Ended::Whole);
    }
    assert!(arguments(&"{'".repeat(3 << 20), Ended::Whole).is_err());
}

#[test]
fn only_calls_with_one_id_are_repeats() {
    let call = |id: &str, arguments: &str| AnswerPart::Call {
        id: id.into(),
        name: "bash".into(),
        arguments: arguments.into(),
        replay: None,
    };
    let text = AnswerPart::Text {
        text: "x".into(),
        replay: None,
    };
    for (parts, dropped) in [
        (vec![call("1", "{}"), call("1", "{}"), call("1", "{}")], 2),
        (vec![call("1", "{}"), call("2", "{}")], 0),
        (vec![call("", "{}"), call("", "{}")], 0),
        (vec![call("1", "{}"), call("1", "{\"a\":1}")], 0),
        (vec![call("1", "{}"), text.clone(), call("1", "{}")], 0),
        (vec![text.clone(), text], 0),
    ] {
        let mut kept = parts.clone();
        assert_eq!(drop_repeats(&mut kept), dropped);
        assert_eq!(kept.len(), parts.len() - dropped);
    }
}

fn any_object() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        ".{0,12}".prop_map(Value::from),
    ];
    let value = leaf.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(".{0,6}", inner, 0..4)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    });
    prop::collection::btree_map("[a-z]{1,6}", value, 0..4)
        .prop_map(|map| Value::Object(map.into_iter().collect()))
}

proptest! {
    #[test]
    fn a_repair_never_changes_the_meaning(object in any_object()) {
        let text = object.to_string();
        // What our reader makes of good JSON is what the strict one makes of it.
        let read = super::json::read(&text, Ended::Cut);
        let Ok(read) = read else { panic!("{text}") };
        prop_assert!(read.fixes.is_empty());
        prop_assert_eq!(serde_json::from_str::<Value>(&read.json).unwrap(), object.clone());
        let fenced = arguments(&format!("```json\n{text}\n```"), Ended::Whole).unwrap();
        prop_assert_eq!(Value::Object(fenced.value), object.clone());
        let encoded = arguments(&Value::String(text).to_string(), Ended::Whole).unwrap();
        prop_assert_eq!(Value::Object(encoded.value), object);
    }

    #[test]
    fn a_cut_object_is_refused_or_stays_unfinished(object in any_object(), at in any::<prop::sample::Index>()) {
        let text = object.to_string();
        let ends: Vec<usize> = text.char_indices().map(|(at, _)| at).skip(1).collect();
        prop_assume!(!ends.is_empty());
        let cut = &text[..ends[at.index(ends.len())]];
        prop_assert!(arguments(cut, Ended::Cut).is_err(), "{}", cut);
    }

    #[test]
    fn nothing_panics(text in r#"[\[\]{}"':,\\a1 \n`<>=;|/]{0,60}"#) {
        if let Ok(mended) = arguments(&text, Ended::Whole) {
            prop_assert!(serde_json::from_str::<serde_json::Map<String, Value>>(&mended.text).is_ok());
        }
        _ = calls_in_text(&text, &TOOLS);
        _ = calls_in_text(&format!("<tool_call>{text}"), &TOOLS);
    }
}
