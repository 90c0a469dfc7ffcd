//! What becomes of parameters that a tool does not know, by tables. Whole calls are tried where answers are accepted.

use super::table::{Rows, sections};
use super::*;
use crate::builtin::{builtin_specs, fit_arguments};
use serde_json::json;

fn find_shape(tool: &str) -> Option<Shape> {
    let spec = builtin_specs().iter().find(|spec| spec.name == tool)?;
    Some(Shape::of(&spec.parameters.to_value()))
}

/// The arguments as the tool reads them, or what the model is told.
fn fitted(tool: &str, args: &Value) -> Result<(Value, Vec<String>), String> {
    let fitted = fit_arguments(tool, args).unwrap_or_else(|| panic!("no tool {tool}"));
    let (args, repairs) = fitted.map_err(|error| error.message)?;
    Ok((args, repairs.iter().map(ToString::to_string).collect()))
}

#[test]
fn the_table_speaks_of_tools_and_parameters_that_exist() {
    let names = sections().unwrap();
    assert!(names.len() > 30, "{names:?}");
    for name in names {
        let (tool, list) = name.split_once('.').unwrap_or((&name, ""));
        // Sections for several tools.
        if name == "every" || name.starts_with("a ") || name.starts_with("an ") {
            continue;
        }
        let shape = find_shape(tool).unwrap_or_else(|| panic!("no tool {tool}"));
        let shape = match shape.find(list).map(|field| &field.kind) {
            Some(Kind::Items(items)) => items,
            Some(Kind::Plain | Kind::Words(_)) => panic!("{name} is no list of objects"),
            None => &shape,
        };
        let hidden = ["replace_all"];
        for (foreign, to) in Rows::of(&name).mapped() {
            let known = shape.find(to).is_some() || hidden.contains(&to);
            assert!(known, "{name}: {foreign} is mapped to {to}");
            assert!(shape.find(foreign).is_none(), "{name}: {foreign} is known");
        }
    }
}

#[test]
fn arguments_as_they_should_be_are_left_alone() {
    for (tool, args) in [
        (
            "bash",
            json!({"command": "ls", "cwd": "src", "wait": false, "tty": true}),
        ),
        (
            "todo",
            json!({"items": [{"text": "a", "state": "pending"}]}),
        ),
        (
            "multi_edit",
            json!({"path": "a", "edits": [{"old": "x", "new": "y", "expected_replacements": 2}]}),
        ),
        (
            "grep",
            json!({"pattern": "x", "type": "rust", "mode": "files"}),
        ),
        ("skill", json!({"name": "bash", "arguments": "x"})),
        (
            "remember",
            json!({"name": "n", "description": "d", "content": "c"}),
        ),
        ("time", json!({})),
    ] {
        assert_eq!(fitted(tool, &args), Ok((args.clone(), vec![])), "{tool}");
    }
}

#[test]
fn what_was_changed_is_told() {
    for (tool, args, expect, repairs) in [
        (
            "bash",
            json!({"command": "rm -rf *", "working_directory": "build", "description": "Clean"}),
            json!({"command": "rm -rf *", "cwd": "build"}),
            &["description ignored", "working_directory taken as cwd"][..],
        ),
        (
            "Read",
            json!({"filePath": "a", "view_range": [10, 20]}),
            json!({"path": "a", "offset": 10, "limit": 11}),
            &[
                "filePath taken as path",
                "view_range taken as offset",
                "view_range taken as limit",
            ],
        ),
        (
            "ls",
            json!({"arguments": {"dir": "src"}}),
            json!({"path": "src"}),
            &["arguments taken out of arguments", "dir taken as path"],
        ),
        (
            "todo",
            json!({"todos": [{"id": 1, "content": "a", "status": "Completed"}]}),
            json!({"items": [{"text": "a", "state": "done"}]}),
            &[
                "todos taken as items",
                "items[0].id ignored",
                "items[0].content taken as text",
                "items[0].status taken as state",
                "value Completed taken as done",
            ],
        ),
    ] {
        let (args, told) = fitted(tool, &args).unwrap();
        assert_eq!(
            (args, told),
            (expect, repairs.iter().map(|r| (*r).to_owned()).collect())
        );
    }
}

#[test]
fn what_is_refused_says_why_and_what_there_is() {
    for (tool, args, message) in [
        (
            "bash",
            json!({"command": "ls", "comand": "x"}),
            "Nothing was run. bash has no parameter `comand`; the nearest is `command`. bash takes: command (required), wait, cwd, tty.",
        ),
        (
            "write_file",
            json!({"path": "a", "content": "x", "append": true}),
            "Nothing was run. `append` is not possible: write_file replaces the whole file, so text would be lost. To add to it use edit_file, or `cat >>` in bash. write_file takes: path (required), content (required).",
        ),
        (
            "read_file",
            json!({"path": "a", "file_path": "b"}),
            "Nothing was run. `file_path` and `path` both mean `path`, and differ; send `path` only. read_file takes: path (required), offset, limit.",
        ),
        (
            "multi_edit",
            json!({"path": "a", "edits": [{"old": "x", "new": "y", "neww": 1}]}),
            "Nothing was run. multi_edit has no parameter `edits[0].neww`; the nearest is `new`. There are: old (required), new (required), expected_replacements. multi_edit takes: path (required), edits (required).",
        ),
        (
            "multi_edit",
            json!({"path": "a", "edits": [["x", "y"]]}),
            "Nothing was run. `edits[0]` has to be an object with: old (required), new (required), expected_replacements. multi_edit takes: path (required), edits (required).",
        ),
        (
            "time",
            json!({"zzz": 1}),
            "Nothing was run. time has no parameter `zzz`. time takes: no parameters.",
        ),
        (
            "bash",
            json!(["rm -rf *"]),
            "The arguments of bash have to be an object. It takes: command (required), wait, cwd, tty.",
        ),
    ] {
        assert_eq!(fitted(tool, &args).unwrap_err(), message);
    }
}

#[test]
fn every_tool_refuses_what_it_does_not_know() {
    for spec in builtin_specs() {
        let error = fitted(&spec.name, &json!({"qqqq_xyz": "1"})).unwrap_err();
        assert!(error.contains("has no parameter `qqqq_xyz`"), "{error}");
        let error = fitted(&spec.name, &json!({"dry_run": true})).unwrap_err();
        assert!(error.contains("`dry_run` is not possible"), "{error}");
        let (args, repairs) = fitted(&spec.name, &json!({"dry_run": false})).unwrap();
        assert_eq!((args, repairs.len()), (json!({}), 1), "{}", spec.name);
    }
}
