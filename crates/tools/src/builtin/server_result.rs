//! What the model reads of a result that a tool of an MCP server gave, whether or not that server is still there. Pure.

use crate::sandbox_report;
use crate::tool::Rendered;
use ostler_wire::Image;
use serde_json::Value;

/// What the model reads of a result.
pub fn render(data: &Value) -> Rendered {
    let images = data.get("images").and_then(Value::as_array);
    let images: Vec<Image> = images
        .into_iter()
        .flatten()
        .filter_map(|item| serde_json::from_value(item.get("image")?.clone()).ok())
        .collect();
    let text = data.get("text").and_then(Value::as_str).unwrap_or_default();
    let text = match (text.is_empty(), images.is_empty()) {
        (true, true) => "(no output)",
        (true, false) | (false, _) => text,
    };
    let mut text = text.to_owned();
    for line in sandbox_report::lines(data) {
        text.push('\n');
        text.push_str(&line);
    }
    Rendered { text, images }
}
