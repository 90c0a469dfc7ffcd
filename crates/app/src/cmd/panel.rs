//! Prints what a command answers, the same view that a slash command has: text for people or JSON for programs on stdout,
//! remarks on stderr, and an exit code.

use crate::boot::Boot;
use crate::exit::{FAILED, OK};
use crate::flags::Listing;
use crate::output;
use anyhow::anyhow;
use ostler_engine::commands::HubContext;
use ostler_engine::memory::Memory;
use ostler_engine::store::project_name;
use ostler_wire::View;
use std::io::IsTerminal;
use std::sync::Arc;

/// What commands get that are about no session.
pub fn hub_context(boot: &Boot) -> HubContext {
    let language = boot.language;
    let project = project_name(&boot.places.root);
    let memory = Memory::new(&boot.places.home, &project, boot.redactor.clone());
    HubContext {
        home: boot.places.home.clone(),
        root: boot.places.root.clone(),
        store: boot.store(),
        memory: Arc::new(memory),
        language,
    }
}

pub fn print_view(view: &View, format: Listing) -> anyhow::Result<u8> {
    if let View::Error(why) = view {
        return Err(anyhow!(why.clone()));
    }
    match (format, view) {
        (Listing::Json, _) => output::print_json(&view.json())?,
        (Listing::Text, View::Table(table)) if table.rows.is_empty() => {
            if !table.empty.is_empty() {
                output::say(table.empty.trim_end());
            }
        }
        // Through a pipe a text goes as it is.
        (Listing::Text, View::Report(report)) => match report.text.trim_end_matches('\n') {
            "" => {}
            text => output::print_foreign(&format!("{text}\n"))?,
        },
        (Listing::Text, _) => output::print_foreign(&view.plain(terminal_width()))?,
    }
    for remark in view.remarks() {
        output::say(remark);
    }
    Ok(if view.is_failure() { FAILED } else { OK })
}

/// The columns of the terminal on stdout, when there is one.
pub fn terminal_width() -> Option<usize> {
    if !std::io::stdout().is_terminal() {
        return None;
    }
    terminal_size::terminal_size().map(|(width, _)| usize::from(width.0))
}
