//! What the model reads of a command's result. Pure, and shared by all tools about commands.

use crate::sandbox_report;
use serde_json::Value;

/// The key of a result that says how the call was judged the second time.
pub const JUDGED_AGAIN: &str = "judged_again";

pub fn render(data: &Value) -> String {
    let text = |key: &str| data[key].as_str().unwrap_or_default();
    let (stdout, mut stderr) = (
        last_newline_off(text("stdout")),
        last_newline_off(text("stderr")),
    );
    let timed_out = data["timed_out"] == true;
    let mut end = None;
    if timed_out {
        let (before, line) = stderr.rsplit_once('\n').unwrap_or(("", stderr));
        stderr = before;
        end = Some(format!(
            "[{line} and killed; give wait \"10m\" or false when it needs longer]"
        ));
    }
    let mut parts: Vec<String> = Vec::new();
    if !stdout.is_empty() {
        parts.push(stdout.to_owned());
    }
    if !stderr.is_empty() {
        if !stdout.is_empty() {
            parts.push("[stderr]".into());
        }
        parts.push(stderr.to_owned());
    }
    parts.extend(end.or_else(|| status(data)));
    parts.extend(sandbox_report::lines(data));
    parts.extend(judged_again(data));
    if parts.is_empty() {
        return "(no output)".into();
    }
    parts.join("\n")
}

/// How the command stands, when that is not simply "done".
fn status(data: &Value) -> Option<String> {
    let code = data["exit_code"].as_i64();
    match (data["job"].as_str(), data["state"].as_str(), code) {
        (Some(job), Some("running"), _) => Some(format!("[job {job} is running]")),
        (Some(job), Some("killed"), _) => Some(format!("[job {job} was killed]")),
        (Some(job), Some(_), Some(code)) => Some(format!("[job {job} ended: exit {code}]")),
        (Some(job), _, _) => Some(format!("[running as job {job}]")),
        (None, _, Some(0) | None) => None,
        (None, _, Some(code)) => Some(format!("exit {code}")),
    }
}

/// How a command was judged that ran as a reader and was refused a change.
fn judged_again(data: &Value) -> Option<String> {
    let judged = data.get(JUDGED_AGAIN)?;
    Some(match judged["refused"].as_str() {
        Some(why) => format!(
            "[It ran as a command that only reads, and was refused a change. To run it as one that may write was not allowed: {why}]"
        ),
        None => "[It first ran as a command that only reads and was refused a change; this is its output as one that may write.]".into(),
    })
}

fn last_newline_off(text: &str) -> &str {
    text.strip_suffix('\n').unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn short_and_complete() {
        let check = |data: Value, expect: &str| assert_eq!(render(&data), expect, "{data}");
        check(
            json!({"stdout": "a\n", "stderr": "", "exit_code": 0, "timed_out": false}),
            "a",
        );
        check(
            json!({"stdout": "", "stderr": "", "exit_code": 0}),
            "(no output)",
        );
        check(
            json!({"stdout": "", "stderr": "", "exit_code": 1}),
            "exit 1",
        );
        check(
            json!({"stdout": "a\n\n", "stderr": "b\n", "exit_code": 2}),
            "a\n\n[stderr]\nb\nexit 2",
        );
        check(json!({"stdout": "", "stderr": "b\n", "exit_code": 0}), "b");
        check(
            json!({"stdout": "a\n", "stderr": "timed out after 2s", "exit_code": -1, "timed_out": true}),
            "a\n[timed out after 2s and killed; give wait \"10m\" or false when it needs longer]",
        );
        check(
            json!({"stdout": "", "stderr": "b\ntimed out after 2s", "exit_code": -1, "timed_out": true}),
            "b\n[timed out after 2s and killed; give wait \"10m\" or false when it needs longer]",
        );
        check(
            json!({"stdout": "a", "stderr": "", "exit_code": null, "job": "j1"}),
            "a\n[running as job j1]",
        );
        check(
            json!({"stdout": "", "exit_code": null, "job": "j1", "state": "running"}),
            "[job j1 is running]",
        );
        check(
            json!({"stdout": "x", "exit_code": 3, "job": "j1", "state": "exited"}),
            "x\n[job j1 ended: exit 3]",
        );
        check(
            json!({"stdout": "", "exit_code": 143, "job": "j1", "state": "killed"}),
            "[job j1 was killed]",
        );
        check(
            json!({"stdout": "", "stderr": "b", "exit_code": 2, "denied": {"what": "/x", "hint": "no /x"}}),
            "b\nexit 2\n[sandbox: no /x]",
        );
        let again = "[It first ran as a command that only reads and was refused a change; this is its output as one that may write.]";
        check(
            json!({"stdout": "a", JUDGED_AGAIN: "writer"}),
            &format!("a\n{again}"),
        );
        check(json!({}), "(no output)");
    }
}
