//! Slash commands that the engine answers itself. What they show is a View; front ends only draw it.

use crate::session::Session;
use ostler_wire::View;

struct Command {
    name: &'static str,
    help: &'static str,
    run: fn(&mut Session, &str) -> View,
}

const COMMANDS: &[Command] = &[
    Command {
        name: "model",
        help: "show the model, or go on with another one: /model provider/model",
        run: model,
    },
    Command {
        name: "status",
        help: "session, model, tools and what the prompt weighs",
        run: status,
    },
];

/// Names and one-line descriptions, for help texts and menus.
pub fn list() -> Vec<(&'static str, &'static str)> {
    COMMANDS.iter().map(|c| (c.name, c.help)).collect()
}

pub fn run(session: &mut Session, line: &str) -> View {
    let (name, rest) = line
        .trim()
        .split_once(char::is_whitespace)
        .unwrap_or((line.trim(), ""));
    match COMMANDS.iter().find(|c| c.name == name) {
        Some(command) => (command.run)(session, rest.trim()),
        None => View::Error(format!("There is no command /{name}. Try /help.")),
    }
}

fn model(session: &mut Session, reference: &str) -> View {
    if reference.is_empty() {
        let origin = &session.desk.conversation.model.target().origin;
        return View::Text(format!("Model: {}/{}", origin.provider, origin.model));
    }
    session.switch_model(reference)
}

fn status(session: &mut Session, _: &str) -> View {
    let desk = &session.desk;
    let target = desk.conversation.model.target();
    let names: Vec<&str> = desk.tools.names().collect();
    let row = |key: &str, value: String| vec![key.to_owned(), value];
    View::Table {
        columns: vec!["what".into(), "value".into()],
        rows: vec![
            row("session", desk.account.session.clone()),
            row(
                "model",
                format!("{}/{}", target.origin.provider, target.origin.model),
            ),
            row(
                "key",
                target
                    .key
                    .as_ref()
                    .map_or_else(|| "none".into(), ostler_llm::Key::source),
            ),
            row("root", desk.scope.root.display().to_string()),
            row("tools", names.join(" ")),
            row(
                "prompt",
                format!(
                    "about {} tokens",
                    desk.conversation.bytes() / crate::transcript::BYTES_PER_TOKEN
                ),
            ),
        ],
    }
}
