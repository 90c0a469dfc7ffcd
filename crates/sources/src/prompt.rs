//! The system prompt: one template, rendered once per session. Nothing of this machine or this day enters it.

use ostler_tools::builtin::Tools;

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
    let operator = match operator {
        [] => String::new(),
        lines => format!("\n# Operator\n{}\n", lines.join("\n")),
    };
    let advice = tools.declarations().filter_map(|about| about.advice);
    let advice: String = advice.map(|line| format!("- {line}\n")).collect();
    TEMPLATE
        .replace("{advice}", &advice)
        .replace("{operator}", &operator)
        .trim_end()
        .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tools(filter: &[&str]) -> Tools {
        let filter: Vec<String> = filter.iter().map(|f| (*f).to_owned()).collect();
        Tools::new(&filter)
    }

    #[test]
    fn it_speaks_of_tools_that_are_there() {
        for (tool, words) in [
            ("todo", "todo list"),
            ("ask", "Ask only when"),
            ("bash_output", "as jobs"),
        ] {
            let with = render(&tools(&[]), &[], "");
            let without = render(&tools(&[&format!("!{tool}")]), &[], "");
            assert!(with.contains(words) && !without.contains(words), "{tool}");
        }
        assert!(!render(&tools(&["time"]), &[], "").contains(['{', '}']));
    }

    #[test]
    fn the_default_prefix_is_small() {
        let idle = ostler_tools::builtin::declarations();
        let marks = [
            ostler_wire::ToolMark::NeedsBackends,
            ostler_wire::ToolMark::NeedsPane,
        ];
        let idle = idle.filter(|about| marks.iter().any(|mark| about.has(*mark)));
        let idle: Vec<String> = idle.map(|about| format!("!{}", about.name)).collect();
        for (filter, max_tokens) in [(&[][..], 2_500), (&["!tool_search"], 4_000)] {
            let absent = idle.iter().map(String::as_str);
            let filter: Vec<&str> = filter.iter().copied().chain(absent).collect();
            let tools = tools(&filter);
            let specs = tools.specs();
            let of = |spec: &ostler_wire::ToolSpec| {
                spec.name.len() + spec.description.len() + spec.parameters.get().len()
            };
            let bytes = render(&tools, &[], "").len() + specs.iter().map(of).sum::<usize>();
            // JSON has shorter tokens than prose: three bytes each are more than any tokenizer needs.
            assert!(bytes / 3 <= max_tokens, "{filter:?}: {bytes} bytes");
        }
    }

    #[test]
    fn what_differs_between_projects_comes_last() {
        let alone = render(&tools(&[]), &[], "");
        let operated = render(
            &tools(&[]),
            &["Be kind.".into(), "Think in English.".into()],
            "",
        );
        let project = render(
            &tools(&[]),
            &["Be kind.".into(), "Think in English.".into()],
            "# Project Context",
        );
        assert_eq!(
            operated,
            format!("{alone}\n\n# Operator\nBe kind.\nThink in English.")
        );
        assert_eq!(project, format!("{operated}\n\n# Project Context"));
    }

    #[test]
    fn words_of_the_operator_are_no_template() {
        let text = render(&tools(&["time"]), &["{todo} {operator}".into()], "{ask}");
        assert!(
            text.ends_with("# Operator\n{todo} {operator}\n\n{ask}"),
            "{text}"
        );
    }
}
