//! The system prompt: one template, rendered once per session. Nothing of this machine or this day enters it.

use crate::tools::Tools;

const TEMPLATE: &str = include_str!("prompt.md");

/// `operator` are the instructions of whoever runs it; `project` is the rendered project context, last so that everything
/// before it is shared across projects.
pub fn render(tools: &Tools, operator: &[String], project: &str) -> String {
    let own = standard(tools, operator);
    match project.is_empty() {
        true => own,
        false => format!("{own}\n\n{project}"),
    }
}

fn standard(tools: &Tools, operator: &[String]) -> String {
    let has = |name: &str| tools.names().any(|n| n == name);
    let line = |wanted: bool, text: &str| {
        if wanted {
            format!("{text}\n")
        } else {
            String::new()
        }
    };
    let operator = match operator {
        [] => String::new(),
        lines => format!("\n# Operator\n{}\n", lines.join("\n")),
    };
    TEMPLATE
        .replace(
            "{todo}",
            &line(
                has("todo"),
                "- Keep a todo list for work of three steps or more, and keep it current.",
            ),
        )
        .replace(
            "{ask}",
            &line(
                has("ask"),
                "- Ask only when a wrong guess would cost much; otherwise decide and say so.",
            ),
        )
        .replace(
            "{jobs}",
            &line(
                has("bash_output"),
                "- Start servers and long runs as jobs (`wait: false`), then look at their output.",
            ),
        )
        .replace("{operator}", &operator)
        .trim_end()
        .to_owned()
}
