//! Checks on line-oriented JSON output.

use serde_json::Value;

/// Every non-empty line of `text` as JSON. Panics with the line, its number and its neighbours.
#[track_caller]
pub fn json_lines(text: &str) -> Vec<Value> {
    let lines: Vec<&str> = text.lines().collect();
    lines
        .iter()
        .enumerate()
        .filter(|(_, line)| !line.trim().is_empty())
        .map(|(at, line)| match serde_json::from_str(line) {
            Ok(value) => value,
            Err(error) => {
                let from = at.saturating_sub(1);
                let around: String = lines
                    .iter()
                    .enumerate()
                    .skip(from)
                    .take(3)
                    .map(|(n, l)| format!("\n  {}| {}", n + 1, clip(l)))
                    .collect();
                panic!("line {} is not JSON: {error}{around}", at + 1)
            }
        })
        .collect()
}

/// The `type` of each object, in order; `?` where there is none.
pub fn types(values: &[Value]) -> Vec<&str> {
    values
        .iter()
        .map(|v| v["type"].as_str().unwrap_or("?"))
        .collect()
}

/// The only value of `type` `name`. Panics when there is none or more than one.
#[track_caller]
pub fn only<'a>(values: &'a [Value], name: &str) -> &'a Value {
    let found: Vec<&Value> = values.iter().filter(|v| v["type"] == name).collect();
    match found[..] {
        [one] => one,
        _ => panic!(
            "expected one `{name}`, found {} among {:?}",
            found.len(),
            types(values)
        ),
    }
}

const CLIP_CHARS: usize = 400;

fn clip(line: &str) -> String {
    match line.char_indices().nth(CLIP_CHARS) {
        Some((at, _)) => format!("{}… ({} bytes)", &line[..at], line.len()),
        None => line.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn reads_lines_and_skips_blanks() {
        let lines = json_lines("{\"type\":\"a\"}\n\n{\"x\":1}\n");
        assert_eq!(lines, vec![json!({"type": "a"}), json!({"x": 1})]);
        assert_eq!(types(&lines), vec!["a", "?"]);
        assert_eq!(only(&lines, "a"), &json!({"type": "a"}));
    }

    #[test]
    #[should_panic(expected = "line 2 is not JSON: expected ident")]
    fn names_the_bad_line() {
        json_lines("{}\nnope\n{}");
    }

    #[test]
    #[should_panic(expected = "expected one `a`, found 2")]
    fn only_refuses_two() {
        only(&[json!({"type": "a"}), json!({"type": "a"})], "a");
    }
}
