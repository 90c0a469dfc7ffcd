//! What a call is about, in one line, from its arguments. Tools that we do not know show their arguments.

use crate::rows;
use serde_json::Value;

/// Bytes of a subject; a row shows less.
const MAX: usize = 1_000;
const MAX_NAME: usize = 100;
/// What models call the same argument.
const PATH: &[&str] = &[
    "path",
    "file_path",
    "filename",
    "file",
    "notebook_path",
    "directory",
];
const COMMAND: &[&str] = &["command", "cmd", "script"];
const JOB: &[&str] = &["job", "id", "job_id"];

/// A tool's name as it is shown: those of servers are `server: tool`.
pub fn name(name: &str) -> String {
    let name = rows::head(name, MAX_NAME);
    let of_server = name.strip_prefix("mcp__").and_then(|n| n.split_once("__"));
    match of_server {
        Some((server, tool)) => format!("{server}: {tool}"),
        None => name.to_owned(),
    }
}

pub fn subject(tool: &str, input: &Value) -> String {
    let get = |names: &[&str]| pick(input, names).unwrap_or_default();
    let mut out = match tool {
        "bash" | "shell" | "run_shell" => first_line(get(COMMAND)),
        "bash_input" => format!("{}  {}", get(JOB), first_line(get(&["text", "input"]))),
        "bash_output" | "kill_job" => get(JOB).to_owned(),
        "read_file" | "read" => format!("{}{}", get(PATH), range(input)),
        "write_file" | "write" | "edit_file" | "edit" | "multi_edit" | "delete_range"
        | "notebook_edit" => get(PATH).to_owned(),
        "delete_symbol" => place_after(get(&["symbol", "name"]), pick(input, PATH)),
        "move_file" => {
            let from = get(&["source_path", "source", "from"]);
            format!(
                "{from} → {}",
                get(&["destination_path", "destination", "to"])
            )
        }
        "grep" => {
            let place = pick(input, PATH).or_else(|| pick(input, &["glob", "include", "type"]));
            place_after(get(&["pattern"]), place)
        }
        "glob" => place_after(
            get(&["pattern", "glob"]),
            pick(input, &["path", "directory"]),
        ),
        "ls" => pick(input, PATH).unwrap_or(".").to_owned(),
        "fetch_url" | "web_fetch" => get(&["url"]).to_owned(),
        "web_search" => get(&["query"]).to_owned(),
        "ask" => first_line(get(&["question"])),
        "exit_plan_mode" => first_line(get(&["plan"]).trim_start_matches(['#', ' '])),
        "task" | "read_only_task" => {
            let what = pick(input, &["description"]).unwrap_or(get(&["prompt", "task"]));
            match pick(input, &["role", "subagent_type", "agent"]) {
                Some(role) => format!("{role}  {}", first_line(what)),
                None => first_line(what),
            }
        }
        "skill" | "read_only_skill" => {
            place_after(get(&["name", "skill"]), pick(input, &["arguments", "args"]))
        }
        "remember" => get(&["name", "title", "id"]).to_owned(),
        "forget" => get(&["id"]).to_owned(),
        "memory" => get(&["query", "words", "id"]).to_owned(),
        "todo" | "time" => String::new(),
        _ => arguments(input),
    };
    out.truncate(rows::head(&out, MAX).len());
    out
}

/// The argument that a subject shows the beginning of, or all arguments of a tool that we do not know.
pub fn whole(tool: &str, input: &Value) -> Option<String> {
    let text = match tool {
        "bash" | "shell" | "run_shell" => pick(input, COMMAND)?.to_owned(),
        "ask" => pick(input, &["question"])?.to_owned(),
        "task" | "read_only_task" => pick(input, &["prompt", "task"])?.to_owned(),
        "bash_input" => pick(input, &["text", "input"])?.to_owned(),
        "remember" => return pick(input, &["content", "body", "text"]).map(str::to_owned),
        "bash_output" | "kill_job" | "read_file" | "read" | "write_file" | "write"
        | "edit_file" | "edit" | "multi_edit" | "delete_range" | "delete_symbol"
        | "notebook_edit" | "move_file" | "grep" | "glob" | "ls" | "fetch_url" | "web_fetch"
        | "web_search" | "todo" | "time" | "memory" | "forget" => {
            return None;
        }
        _ => return serde_json::to_string_pretty(input).ok(),
    };
    text.trim_end().contains('\n').then_some(text)
}

pub fn pick<'a>(input: &'a Value, names: &[&str]) -> Option<&'a str> {
    names
        .iter()
        .find_map(|name| input.get(name)?.as_str())
        .filter(|text| !text.is_empty())
}

fn first_line(text: &str) -> String {
    let text = text.trim();
    match text.split_once('\n') {
        Some((first, _)) => format!("{} …", first.trim_end()),
        None => text.to_owned(),
    }
}

fn place_after(what: &str, place: Option<&str>) -> String {
    match place {
        Some(place) => format!("{what}  {place}"),
        None => what.to_owned(),
    }
}

/// `:10-49` for a part of a file.
fn range(input: &Value) -> String {
    let number = |names: &[&str]| names.iter().find_map(|name| input.get(name)?.as_u64());
    match (number(&["offset", "start_line"]), number(&["limit"])) {
        (None, None) => String::new(),
        (first, None) => format!(":{}-", first.unwrap_or(1)),
        (first, Some(count)) => {
            let first = first.unwrap_or(1);
            let last = first.saturating_add(count).saturating_sub(1);
            format!(":{first}-{last}")
        }
    }
}

/// `name: value, name: value`, each on one line.
fn arguments(input: &Value) -> String {
    let Value::Object(fields) = input else {
        return match input {
            Value::Null => String::new(),
            other => other.to_string(),
        };
    };
    let mut out = String::new();
    for (name, value) in fields {
        if out.len() > MAX {
            break;
        }
        if !out.is_empty() {
            out.push_str(", ");
        }
        out.push_str(name);
        out.push_str(": ");
        match value {
            Value::String(text) => out.push_str(rows::head(text, MAX)),
            other => out.push_str(&other.to_string()),
        }
    }
    out.replace('\n', " ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn every_tool_says_what_it_is_about() {
        let check = |tool: &str, input: Value, expect: &str| {
            assert_eq!(subject(tool, &input), expect, "{tool} {input}");
        };
        check(
            "bash",
            json!({"command": "cargo test\n--all"}),
            "cargo test …",
        );
        check("bash", json!({"cmd": "ls"}), "ls");
        check(
            "read_file",
            json!({"path": "a.rs", "offset": 10, "limit": 40}),
            "a.rs:10-49",
        );
        check("read_file", json!({"file_path": "a.rs"}), "a.rs");
        check(
            "grep",
            json!({"pattern": "fn x", "path": "src"}),
            "fn x  src",
        );
        check("glob", json!({"pattern": "**/*.rs"}), "**/*.rs");
        check("ls", json!({}), ".");
        check("move_file", json!({"from": "a", "to": "b"}), "a → b");
        check("bash_input", json!({"job": "j1", "text": "y\n"}), "j1  y");
        check(
            "remember",
            json!({"name": "Ports", "content": "x"}),
            "Ports",
        );
        check("forget", json!({"id": "a1", "revision": "1-x"}), "a1");
        check("memory", json!({"operation": "list"}), "");
        check("todo", json!({"items": []}), "");
        check(
            "task",
            json!({"prompt": "Build\nit", "role": "sprinter", "description": "the thing"}),
            "sprinter  the thing",
        );
        check(
            "read_only_task",
            json!({"prompt": "Look\naround"}),
            "Look …",
        );
        check(
            "skill",
            json!({"name": "commit", "arguments": "all"}),
            "commit  all",
        );
        check(
            "mcp__db__query",
            json!({"sql": "select\n1", "limit": 5}),
            "sql: select 1, limit: 5",
        );
        check("anything", json!(null), "");
        check("anything", json!([1]), "[1]");
        check("bash", json!("not an object"), "");
        assert_eq!(name("mcp__db__query"), "db: query");
        assert!(subject("x", &json!({"a": "é".repeat(9_999)})).len() <= MAX);
    }
}
