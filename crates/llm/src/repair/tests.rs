//! Tables of what models get wrong: what is mended, and what is refused because it could mean two things.

use super::{
    Doubt, Ended, Written, arguments, calls_in_text, coerce, drop_repeats, mentioned_calls,
};
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
            "True, False, None or the like",
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
            r#"{"a":"ls -la""#,
            r#"{"a":"ls -la"}"#,
            "missing closing marks",
        ),
        (
            r#"{"a":{"b":[1,2]"#,
            r#"{"a":{"b":[1,2]}}"#,
            "missing closing marks",
        ),
        (r#"{"a":true"#, r#"{"a":true}"#, "missing closing marks"),
        (
            r#"Sure: {"a":1} and done."#,
            r#"{"a":1}"#,
            "text around the object",
        ),
        (
            r#"<args>{"a":1}</args></tool_call>"#,
            r#"{"a":1}"#,
            "marks after the object, text around the object",
        ),
        (
            r#""a":1,"b":"x""#,
            r#"{"a":1,"b":"x"}"#,
            "missing outer braces, missing closing marks",
        ),
        (
            "{\"a\":1, // one\n/* two */ \"b\":\"// #\"}",
            r#"{"a":1,"b":"// #"}"#,
            "comments",
        ),
        (
            "{\"a\":\"x\"\n\"b\":1 \"c\":2}",
            r#"{"a":"x","b":1,"c":2}"#,
            "a missing comma",
        ),
        (
            "{,\"a\":1,,\"b\":2}",
            r#"{"a":1,"b":2}"#,
            "a trailing comma",
        ),
        (
            r#"{"a"=1;"b"：2}"#,
            r#"{"a":1,"b":2}"#,
            "other signs for a colon or a comma",
        ),
        (
            r#"{“a”: “it’s "x"”}"#,
            r#"{"a":"it’s \"x\""}"#,
            "typographic quotes",
        ),
        ("{`a`:`x`}", r#"{"a":"x"}"#, "typographic quotes"),
        (
            r#"{"a":[1,2]]}"#,
            r#"{"a":[1,2]}"#,
            "marks after the object",
        ),
        (
            r#"{"a":+4,"b":1_000,"c":.5,"d":4.}"#,
            r#"{"a":4,"b":1000,"c":0.5,"d":4}"#,
            "a number in another notation",
        ),
        (r#"{\"a\":\"x\"}"#, r#"{"a":"x"}"#, "JSON inside a string"),
        ("\u{feff}{\"a\":1,}", r#"{"a":1}"#, "a trailing comma"),
        ("undefined", "{}", "no arguments"),
        ("[]", "{}", "no arguments"),
        (r#"{"a":1,"a":1}"#, r#"{"a":1,"a":1}"#, "a name twice"),
        (
            r#"{"a":"print(\'hi\')"}"#,
            r#"{"a":"print('hi')"}"#,
            "unknown escapes",
        ),
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
        (r#"{"a":"\u12","b":"xyz"}"#, "four hexadecimal digits"),
        // The shell's own way to write an apostrophe, and a dollar that is no variable.
        (r#"{"a":"echo 'it'\''s'"}"#, "both `'` and `\\'`"),
        (r#"{"a":"x = 'it\'s'"}"#, "both `'` and `\\'`"),
        (r#"{"a":"echo \$HOME"}"#, "can mean two things"),
        (r#"{"a":"echo \`date\`"}"#, "can mean two things"),
        (r#"{"a":1,"a":2}"#, "`a` twice, with different values"),
        (r#"{"b":[{"a":1,"c":2,"a":"1"}]}"#, "`a` twice"),
        (r#"{"a" 1}"#, "a quote inside a string is not escaped"),
        (r#"{a 1}"#, "`:` after a name"),
        (r#"{"a":1}{"a":2}"#, "several different objects"),
        (
            r#"{"a":1} && rm -rf b"#,
            "text after the object, from `&& rm -rf b`",
        ),
        (r#"never {"a":1}"#, "do not begin with `{`"),
        (r#"{"a":"x" y"}"#, "a quote inside a string is not escaped"),
        (
            r#"{"a":"x""b":1}"#,
            "a quote inside a string is not escaped",
        ),
        (
            r#"{"a":["x" "y"]}"#,
            "a quote inside a string is not escaped",
        ),
        (r#"{"a":[1,,2]}"#, "there should be a value"),
        (r#"{"a":`${x}`}"#, "has `${` in it"),
        (r#"{"a":`\n`}"#, "a backslash in a string between backticks"),
        (r#"{“a”:“x” y”}"#, "a quote inside a string is not escaped"),
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

/// Whatever the vendor says of the end, what was lost is not made up.
#[test]
fn a_value_that_was_cut_is_never_completed() {
    for text in [
        "{",
        r#"{"a""#,
        r#"{"a":"#,
        r#"{"a":1,"#,
        r#"{"a":"x","#,
        r#"{"a":"x}"#,
        r#"{"a":"x\"#,
        r#"{"a":"x\u00"#,
        r#"{"a":"ls -la"#,
        r#"{"command": "rm -rf build"#,
        r#"{"path":"w.txt","content":"line1\nline2"#,
        r#"{"path":"w.txt","content":""#,
        r#"{"a":{"b":1"#,
        r#"{"a":[1,2"#,
        r#"{"a":-"#,
        r#"{"a":1.5e"#,
        r#"{"a":tru"#,
        r#"{"a":"x","b":nul"#,
        r#"{"a":"x","limi"#,
        r#"{"a":"x",limi"#,
        // The apostrophe may be one of the text.
        "{'a':'it'",
        "```json\n{\"a\":\"x",
    ] {
        for ended in [Ended::Whole, Ended::Cut] {
            let error = arguments(text, ended).map(|m| m.text).unwrap_err();
            let size = format!("cut off after {} bytes", text.len());
            assert!(error.contains(&size), "{text}: {error}");
            assert!(error.contains("again, in smaller parts"), "{text}: {error}");
        }
    }
}

/// At an output limit not even a bracket is added.
#[test]
fn a_call_that_was_cut_is_never_completed() {
    for text in [
        "",
        r#"{"a":{"b":true"#,
        r#"{"a":"ls -la""#,
        r#"{"a":[1]"#,
        "```json\n{\"a\":null",
    ] {
        let error = arguments(text, Ended::Cut).map(|m| m.text).unwrap_err();
        assert!(error.contains("cut off"), "{text}: {error}");
        assert!(arguments(text, Ended::Whole).is_ok(), "{text}");
    }
}

/// A list that is open may lack items, whatever the vendor says of the end.
#[test]
fn a_list_is_never_closed() {
    for text in [
        r#"{"a":{"b":["x","y""#,
        r#"{"path":"a","edits":[{"old":"x","new":"y"}"#,
        r#"{"a":[1"#,
    ] {
        let error = arguments(text, Ended::Whole).map(|m| m.text).unwrap_err();
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
        (json!({"depth": "", "all": "None"}), json!({})),
        (json!({"depth": "5.0"}), json!({"depth": 5})),
        (json!({"all": "yes"}), json!({"all": true})),
        (json!({"all": "0"}), json!({"all": false})),
        (json!({"all": 1}), json!({"all": true})),
        (json!({"names": "['a', 'b']"}), json!({"names": ["a", "b"]})),
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
        json!({"all": "perhaps"}),
        json!({"all": 2}),
        json!({"all": -1}),
        json!({"path": ""}),
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
        ("bash<|channel|>commentary", "bash"),
        ("commentary to=functions.bash", "bash"),
        ("functions:functions.bash()", "bash"),
        ("`bash`", "bash"),
        ("Default_API:read_file", "read_file"),
        ("ssh.bash", "ssh.bash"),
        ("photo=bash", "photo=bash"),
        ("bash", "bash"),
        ("functions.bash", "bash"),
        ("functions.bash:0", "bash"),
        ("default_api.read_file", "read_file"),
        ("ls:12", "ls"),
        (" ls ", "ls"),
        // Not ours to guess.
        ("functions.", "functions."),
        ("bash:x", "bash:x"),
        ("my.bash", "my.bash"),
        ("", ""),
    ] {
        assert_eq!(super::bare_name(name), expect, "{name}");
    }
}

const TOOLS: [&str; 3] = ["ls", "bash", "read_file"];

#[test]
fn calls_written_as_text() {
    let bash = ("bash", r#"{"command":"ls -la"}"#);
    let ls = ("ls", "{}");
    for (text, before, calls) in [
        (
            "Yes.\n<tool_call>\n{\"name\": \"bash\", \"arguments\": {\"command\": \"ls -la\"}}\n</tool_call>",
            "Yes.",
            vec![bash],
        ),
        (
            "<tool_call>{\"name\":\"ls\"}</tool_call>\n<tool_call>{'name':'ls','arguments':{}}</tool_call>",
            "",
            vec![ls, ls],
        ),
        (
            "<tool_call>{\"name\":\"ls\",\"arguments\":{}}</tool_call><|im_end|>",
            "",
            vec![ls],
        ),
        (
            "<minimax:tool_call>\n<invoke name=\"ls\">\n</invoke>\n</minimax:tool_call>",
            "",
            vec![ls],
        ),
        (
            "<｜DSML｜function_calls>\n<｜DSML｜invoke name=\"bash\">\n<｜DSML｜parameter name=\"command\" string=\"true\">ls -la</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜function_calls>",
            "",
            vec![bash],
        ),
        (
            "<|channel|>commentary to=functions.bash <|constrain|>json<|message|>{\"command\":\"ls -la\"}<|call|>",
            "",
            vec![bash],
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
            "<function=ls></function><function=bash><parameter=command>ls -la</parameter></function>",
            "",
            vec![ls, bash],
        ),
        (
            "ok\n<function_calls>\n<invoke name=\"bash\">\n<parameter name=\"command\">ls -la</parameter>\n</invoke>\n<invoke name=\"ls\">\n</invoke>\n</function_calls>",
            "ok",
            vec![bash, ls],
        ),
        (
            "<function=bash>\n<parameter=command>\nls -la\n</parameter>\n</function>\n</tool_call>",
            "",
            vec![bash],
        ),
        (
            "<think>Hm.</think><tool_call>{\"name\":\"ls\",\"arguments\":{}}</tool_call>",
            "<think>Hm.</think>",
            vec![ls],
        ),
        // The result says that there is no such tool.
        (
            "<tool_call>{\"name\":\"find_all\",\"arguments\":{}}</tool_call>",
            "",
            vec![("find_all", "{}")],
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
            "I look.\n<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>bash\n```json\n{\"command\": \"ls -la\"}\n```<｜tool▁call▁end｜>\n<｜tool▁call▁begin｜>function<｜tool▁sep｜>ls\n```json\n{}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜><｜end▁of▁sentence｜>",
            "I look.",
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
        let calls: Vec<_> = calls
            .into_iter()
            .map(|(name, args): (&str, &str)| (name.to_owned(), args.to_owned()))
            .collect();
        let expect = Written::Calls(before.to_owned(), calls);
        assert_eq!(written(text, Ended::Whole), expect, "{text}");
    }
}

#[test]
fn every_notation_reads_its_examples() {
    for notation in super::notation::table().notation {
        assert!(!notation.must.is_empty() && !notation.must_not.is_empty());
        for text in &notation.must {
            let expect = Written::Calls(String::new(), vec![("ls".to_owned(), "{}".to_owned())]);
            let found = match written(text, Ended::Whole) {
                Written::Calls(before, calls) => {
                    let bare =
                        |(name, args): (String, String)| (super::bare_name(&name).to_owned(), args);
                    Written::Calls(before, calls.into_iter().map(bare).collect())
                }
                other => other,
            };
            assert_eq!(found, expect, "{}: {text}", notation.name);
            for before in ["Never do this:\n", "```\n", "> ", "- ", "`", "It writes "] {
                let found = written(&format!("{before}{text}"), Ended::Whole);
                assert!(
                    !matches!(found, Written::Calls(..)),
                    "{before}{text}: {found:?}"
                );
            }
            // Without a piece of its end it is no call any more, or the same one without marks that say nothing.
            for (at, _) in text.char_indices().skip(1) {
                if let Written::Calls(_, calls) = written(&text[..at], Ended::Cut) {
                    assert_eq!(calls.len(), 1, "{}", &text[..at]);
                    assert_eq!(calls[0].1, "{}", "{}", &text[..at]);
                }
            }
        }
        for text in &notation.must_not {
            for ended in [Ended::Whole, Ended::Cut] {
                let found = written(text, ended);
                assert!(!matches!(found, Written::Calls(..)), "{text}: {found:?}");
            }
        }
    }
}

#[test]
fn calls_in_notations_that_are_not_read_are_told() {
    for text in [
        "<ls>\n<path>a</path>\n</ls>",
        "I look.\n\n<bash>\n<command>x</command>\n</bash>\n",
        "<bash>x</bash>",
        "<tool_use>\n<tool_name>ls</tool_name>\n</tool_use>",
        "bash(command=\"x\")",
        "[ls(path=\"a\"), bash(command='x')]",
        "I look.\n\nls(path=\"a\")",
        "```tool_code\nprint(default_api.ls())\n```",
        "Action: ls\nAction Input: {\"path\": \"a\"}",
        "Thought: I look.\nAction: ls\nAction Input: a",
    ] {
        let expect = Written::Unsure(Doubt::Foreign);
        assert_eq!(written(text, Ended::Whole), expect, "{text}");
    }
    for text in [
        "See <ls> for that.",
        "<b>ls</b>",
        "```xml\n<ls>\n</ls>\n```",
        "It is `ls(path=\"a\")`.",
        "The helper is ls(path).",
        "f(x=1)",
        "[ls] is a link",
        "Action is needed.",
        "Action: none",
        "```python\nls(path=\"a\")\n```",
        "<ls>\n</ls>\nis how it looks.",
    ] {
        assert_eq!(written(text, Ended::Whole), Written::Nothing, "{text}");
    }
}

fn written(text: &str, ended: Ended) -> Written {
    calls_in_text(text, ended, |name| TOOLS.contains(&name))
}

#[test]
fn values_between_tags_keep_their_text() {
    let text = "<function=bash>\n<parameter=command>\n\n  if a < b; then\n\techo \"x\"\n  fi\n\n</parameter>\n</function>";
    let Written::Calls(_, calls) = written(text, Ended::Whole) else {
        panic!("nothing in {text}");
    };
    let expect = json!({"command": "\n  if a < b; then\n\techo \"x\"\n  fi\n"});
    assert_eq!(calls, [("bash".to_owned(), expect.to_string())]);
}

#[test]
fn text_that_only_talks_about_calls() {
    for text in [
        "",
        "Just an answer with {\"name\": \"ls\"} in it.",
        "Call it like this:\n```json\n{\"name\":\"ls\",\"arguments\":{}}\n```\nand see.",
        "I'll look.\n```json\n{\"name\": \"bash\", \"arguments\": {\"command\": \"ls -la\"}}\n```\n",
        "Here is an example of a tool call:\n\n```json\n{\"name\": \"bash\", \"arguments\": {\"command\": \"rm -rf build\"}}\n```",
        "- So:\n  ```\n  {\"tool\":\"ls\",\"parameters\":{}}\n  ```",
        "See:\n```sh\nls\n```\nNow.\n```json\n[{\"name\":\"ls\",\"arguments\":{}}]\n```",
        "````md\n```\nx\n```\n<tool_call>{\"name\":\"ls\",\"arguments\":{}}</tool_call>\n````",
        "~~~\n<tool_call>{\"name\":\"ls\",\"arguments\":{}}</tool_call>",
        "```tool_call\n<tool_call>{\"name\":\"ls\",\"arguments\":{}}</tool_call>\n```",
        "    <tool_call>{\"name\":\"ls\",\"arguments\":{}}</tool_call>",
        "\t<tool_call>{\"name\":\"ls\",\"arguments\":{}}</tool_call>",
        "> <tool_call>{\"name\":\"ls\",\"arguments\":{}}</tool_call>",
        "> So. <tool_call>{\"name\":\"ls\",\"arguments\":{}}</tool_call>",
        "- <tool_call>{\"name\":\"ls\",\"arguments\":{}}</tool_call>",
        "- So. <tool_call>{\"name\":\"ls\",\"arguments\":{}}</tool_call>",
        "1. <tool_call>{\"name\":\"ls\",\"arguments\":{}}</tool_call>",
        "2) Then. <tool_call>{\"name\":\"ls\",\"arguments\":{}}</tool_call>",
        "```json\n{\"name\":\"rm\",\"arguments\":{}}\n```",
        "```json\n{\"name\":\"ls\"}\n```",
        "```json\n{\"name\":\"ls\",\"arguments\":{},\"version\":\"1\"}\n```",
        "```python\n{\"name\":\"ls\",\"arguments\":{}}\n```",
        "```json\n{\"name\":\"ls\",\"arguments\":{}}",
        "```xml\n<tool_call>{\"name\":\"ls\",\"arguments\":{}}</tool_call>\n```",
        "```xml\n<tool_call>{\"name\":\"ls\",\"arguments\":{}}</tool_call>",
        "Write `<tool_call>{\"name\":\"ls\",\"arguments\":{}}</tool_call>`",
        "<!--\n<tool_call>{\"name\":\"ls\",\"arguments\":{}}</tool_call>\n-->",
        "<tool_call> is the tag that Qwen uses.",
        "{\"name\":\"ls\",\"arguments\":{}} done",
        "{\"name\":\"ls\"}",
        "[1, 2, 3]",
        "[TOOL_CALLS]",
    ] {
        assert_eq!(written(text, Ended::Whole), Written::Nothing, "{text}");
    }
}

#[test]
fn what_is_not_run_for_doubt() {
    use Doubt::{Example, Misplaced, Unmarked, Unreadable};
    for (text, doubt) in [
        ("{\"name\":\"ls\",\"arguments\":{}}", Unmarked),
        (r#"[{"name":"ls","arguments":{}}]"#, Unmarked),
        (
            r#"{"type":"function","function":{"name":"ls","arguments":{}}}"#,
            Unmarked,
        ),
        ("```json {\"name\":\"ls\",\"arguments\":{}} ```", Unmarked),
        (
            "```json\n{\"name\": \"bash\", \"arguments\": {\"command\": \"rm -rf build\"}}\n```",
            Unmarked,
        ),
        (
            "```\n[{\"name\":\"ls\",\"parameters\":{}},{\"name\":\"bash\",\"arguments\":\"{}\"}]\n```",
            Unmarked,
        ),
        (
            "An example of a call:\n\n<tool_call>{\"name\":\"ls\",\"arguments\":{}}</tool_call>",
            Example,
        ),
        (
            "In its syntax this would be\n<function=ls></function>",
            Example,
        ),
        (
            "示例：\n<tool_call>{\"name\":\"ls\",\"arguments\":{}}</tool_call>",
            Example,
        ),
        (
            "<think>I could call\n<tool_call>{\"name\":\"ls\",\"arguments\":{}}</tool_call>",
            Example,
        ),
        (
            "[THINK]Or so.\n<tool_call>{\"name\":\"ls\",\"arguments\":{}}</tool_call>",
            Example,
        ),
        (
            "<quote>\n<tool_call>{\"name\":\"ls\",\"arguments\":{}}</tool_call>",
            Example,
        ),
        (
            "Let me see.\n<tool_call>{\"name\":\"ls\",\"arguments\":{",
            Unreadable,
        ),
        (
            "<tool_call>{\"name\":\"bash\",\"arguments\":{\"command\":\"rm -rf bu",
            Unreadable,
        ),
        (
            "<tool_call>{\"name\":\"ls\",\"arguments\":[1]}</tool_call>",
            Unreadable,
        ),
        (
            "<tool_call>{\"name\":\"ls\",\"name\":\"bash\",\"arguments\":{}}</tool_call>",
            Unreadable,
        ),
        (
            "Mistral writes [TOOL_CALLS][{\"name\":\"ls\",\"arguments\":{}}]",
            Misplaced,
        ),
        (
            "Qwen writes: <tool_call>{\"name\":\"ls\",\"arguments\":{}}</tool_call>",
            Misplaced,
        ),
        (
            "DeepSeek has <｜tool▁calls▁begin｜><｜tool▁call▁begin｜>ls<｜tool▁sep｜>{}<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
            Misplaced,
        ),
        (
            "The form is <tool_call>\n<function=ls>\n</function>",
            Misplaced,
        ),
        (
            "<tool_call>{\"name\":\"ls\",\"arguments\":{}}</tool_call> is what I would send.",
            Misplaced,
        ),
        (
            "<tool_call>{\"name\":\"ls\",\"arguments\":{}}</tool_call> then <tool_call>{\"name\":\"ls\",\"arguments\":{}}</tool_call>",
            Misplaced,
        ),
        (
            "I look.<tool_call>{\"name\":\"ls\",\"arguments\":{}}</tool_call>",
            Misplaced,
        ),
        (
            "> <tool_call>{\"name\":\"ls\",\"arguments\":{}}</tool_call>\n\nI look.\n<tool_call>{\"name\":\"ls\",\"arguments\":{}}</tool_call>",
            Example,
        ),
        ("<function=ls", Unreadable),
        (
            "<function=bash><parameter=command>a</parameter><parameter=command>b</parameter></function>",
            Unreadable,
        ),
        ("<function=bash><parameter=command>rm -rf bu", Unreadable),
        ("<invoke name=\"ls\"><parameter name=\"x\">1", Unreadable),
        ("[TOOL_CALLS]ls", Unreadable),
        ("<|python_tag|>print(1)", Unreadable),
        ("<｜tool▁calls▁begin｜><｜tool▁calls▁end｜>", Unreadable),
    ] {
        let expect = Written::Unsure(doubt);
        assert_eq!(written(text, Ended::Whole), expect, "{text}");
    }
    // The closing marks must be there, whatever the vendor says of the end: another parameter may have been to come.
    for text in [
        "<function=bash><parameter=command>rm -rf *</parameter>",
        "<invoke name=\"bash\"><parameter name=\"command\">rm -rf *</parameter>\n",
        "<function_calls><invoke name=\"ls\"></invoke>",
        "<tool_call>bash\n<arg_key>command</arg_key>\n<arg_value>rm -rf *</arg_value>",
        "<tool_call>{\"name\":\"ls\",\"arguments\":{}}",
        "<tool_call>{\"name\":\"ls\",\"arguments\":{}}<|im_end|>",
        "<tool_call>\n<function=ls>\n</function>",
        "<|tool_call_begin|>bash<|tool_call_argument_begin|>{}",
        "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>ls<｜tool▁sep｜>{}<｜tool▁call▁end｜>",
        "<|channel|>commentary to=functions.ls<|message|>{}",
    ] {
        for ended in [Ended::Whole, Ended::Cut] {
            let expect = Written::Unsure(Unreadable);
            assert_eq!(written(text, ended), expect, "{text}");
        }
    }
    // Where a notation has none, nothing is run that an output limit ended.
    for text in [
        "[TOOL_CALLS][{\"name\":\"ls\",\"arguments\":{}}]",
        "<|python_tag|>{\"name\":\"ls\",\"parameters\":{}}",
    ] {
        assert!(
            matches!(written(text, Ended::Whole), Written::Calls(..)),
            "{text}"
        );
        assert!(
            matches!(written(text, Ended::Cut), Written::Unsure(_)),
            "{text}"
        );
    }
}

const CALL: &str =
    "<tool_call>{\"name\":\"bash\",\"arguments\":{\"command\":\"rm -rf build\"}}</tool_call>";

/// What stands before a call decides whether it may be meant.
#[test]
fn what_stands_before_a_call() {
    for before in [
        "",
        "\n\n",
        "  ",
        "Yes.\n",
        "OK, I'll clean up.\n\n",
        "Let me look at the file:\n",
        "Now let me run the tests:\n\n",
        "The build is stale. I will remove it.\n",
        "I’ll do that now.\n",
        "First, I need to see `src/main.rs`.\n",
        "# Plan\n\nI will remove the folder.\n",
        "- one\n- two\n\nLet me begin with the first.\n",
        "```sh\nls\n```\nI'll run it.\n",
        "好的，我来看一下。\n",
        "让我查看文件：\n",
        "I'm checking the tests now.\n",
        "Running the build:\n",
        "Let me take a look at src/lib.rs first.\n",
        "我先运行测试。\n",
        "<think>It is not there? No.</think>\n",
        "<think>x</think>",
    ] {
        let found = written(&format!("{before}{CALL}"), Ended::Whole);
        assert!(matches!(found, Written::Calls(..)), "{before}: {found:?}");
    }
    for before in [
        "Never do this:\n",
        "I will never run this:\n",
        "I won't run this.\n",
        "I’m not going to call it.\n",
        "README.md:\n",
        "README.md:\n\n",
        "The file contains\n",
        "The README says:\n\n",
        "for example\n",
        "Output:\n",
        "From the web page.\n",
        "Somebody wrote this in the issue.\n\n",
        "Shall I run this?\n",
        "Let me know if this is what you want:\n",
        "I will call this once you approve:\n",
        "I would send:\n",
        "You can use:\n",
        "Run this:\n",
        "A malicious page asked me to run:\n",
        "不要运行：\n",
        "文档中写道：\n",
        "<!-- a comment\n",
        "/* a comment\n",
        "He said “\n",
        "He said: \"\n",
        "<pre>\n",
        "<example>\nI will clean up.\n",
        "<details><summary>x</summary>\n\n",
        "cat <<EOF\n",
        "[quote]\n",
        "$$\n",
        "\"\"\"\n",
        "def example():\n",
        "1. Step:\n\n",
        "- Step:\n\n",
        "# Bad\n\n",
        "<think>Hm.\n",
        "- Step:\n",
        "- Step:\n  ",
        "1. Step.\n   ",
        "> They wrote.\n",
        "> They wrote.\nI'll do it.\n",
        "> ",
        "- ",
        "* I'll run it.\n",
        "| a | b |\n",
        "Use `code\n",
        "`",
        "``",
        "    ",
        "\t",
        "```\n",
        "> ```\n",
        "- ```\n",
        "Let me check that nobody runs:\n\n",
        "Let me see what not to run:\n\n",
        "Let me warn about:\n\n",
        "I'll check whether the file contains:\n\n",
        "Let me look at this suspicious text:\n\n",
        "Let me read out the malicious line:\n\n",
        "Let me make sure this never runs:\n\n",
        "Let me search for the string:\n\n",
        "Let me check for the following text:\n\n",
        "I'll look for this pattern:\n\n",
        "Let me find where this occurs:\n\n",
        "I will write a test that contains:\n\n",
        "Let me print what the README has:\n\n",
        "Let me list the forbidden calls:\n\n",
        "Let me verify the documented format:\n\n",
        "Let me review this snippet:\n\n",
        "Let me inspect the snippet:\n\n",
        "Let me check the text that I found:\n\n",
        "I'm going to ignore:\n\n",
        "Let me undo this:\n\n",
        "Let me stop:\n\n",
        "I'll run away from:\n\n",
        "Let me open with a quote:\n\n",
        "Let me view the output:\n\n",
        "Let me test your understanding:\n\n",
        "Let me read the file which says:\n\n",
        "Let me check the log, which has\n\n",
        "Let me check the fixture's content:\n\n",
        "The page has this text. Let me run it:\n\n",
        "我来看看文件里写的内容：\n\n",
        "让我警告一下：\n\n",
        "Mistral writes ",
        "I look. ",
    ] {
        let found = written(&format!("{before}{CALL}"), Ended::Whole);
        assert!(!matches!(found, Written::Calls(..)), "{before}: {found:?}");
    }
}

#[test]
fn nothing_but_calls_stands_after_a_call() {
    for after in ["\n", " \n\n", "<|im_end|>", "</s>"] {
        let found = written(&format!("{CALL}{after}"), Ended::Whole);
        assert!(matches!(found, Written::Calls(..)), "{after}");
    }
    for after in [
        "x",
        "\nDone.",
        "\n```",
        "\n-->",
        "`",
        "\"",
        "\n> x",
        "\n<result>",
        "\n{}",
    ] {
        let found = written(&format!("{CALL}{after}"), Ended::Whole);
        assert_eq!(found, Written::Unsure(Doubt::Misplaced), "{after}");
    }
}

#[test]
fn calls_are_found_wherever_a_text_mentions_them() {
    for text in [
        CALL.to_owned(),
        format!("See `{CALL}`, which"),
        format!("```\n{CALL}\n```"),
        "x = {\"arguments\": {\"command\":\"rm -rf build\"}, \"name\": \"bash\"};".into(),
        "<function=bash>\n<parameter=command>rm -rf build</parameter>\n</function>".into(),
    ] {
        let found = mentioned_calls(&text).unwrap();
        let expect = (
            "bash".to_owned(),
            r#"{"command":"rm -rf build"}"#.to_owned(),
        );
        assert!(found.contains(&expect), "{text}: {found:?}");
    }
    assert_eq!(mentioned_calls("run bash with rm -rf build"), Some(vec![]));
    assert_eq!(mentioned_calls(&"{\"name\": 1".repeat(20_000)), None);
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
        assert!(!matches!(written(&text, Ended::Whole), Written::Calls(..)));
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
        // What is completed lacked brackets only: every value in it is one that was sent whole.
        if let Ok(mended) = arguments(cut, Ended::Whole) {
            let added = mended.text.strip_prefix(cut);
            prop_assert!(added.is_some_and(|a| a.chars().all(|c| matches!(c, '}' | ']'))), "{}", cut);
        }
    }

    #[test]
    fn nothing_panics(text in r#"[\[\]{}"':,\\a1 \n`<>=;|/]{0,60}"#) {
        if let Ok(mended) = arguments(&text, Ended::Whole) {
            prop_assert!(serde_json::from_str::<serde_json::Map<String, Value>>(&mended.text).is_ok());
        }
        _ = written(&text, Ended::Whole);
        _ = written(&format!("<tool_call>{text}"), Ended::Cut);
    }
}
