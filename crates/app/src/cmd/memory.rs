//! `ostler memory`: the command `memory` on the command line. Opening an editor is done here.

use super::panel::{hub_context, print_view};
use crate::boot::Boot;
use crate::exit::{FAILED, OK};
use crate::flags::Memory as Args;
use crate::output;
use anyhow::{Context as _, anyhow};
use ostler_config::text::Speak as _;
use ostler_engine::commands::{MemoryRequest, memory};
use ostler_wire::{View, Word};
use std::path::Path;

pub fn run(boot: &Boot, args: &Args) -> anyhow::Result<u8> {
    let format = match args {
        Args::List { format, .. }
        | Args::Show { format, .. }
        | Args::Search { format, .. }
        | Args::Archive { format, .. }
        | Args::Restore { format, .. }
        | Args::Path { format, .. } => *format,
        Args::Edit { id } => return edit(boot, id),
    };
    match view(boot, args) {
        Some(view) => print_view(&view, format),
        None => Ok(OK),
    }
}

/// `None` for what opens an editor.
pub fn view(boot: &Boot, args: &Args) -> Option<View> {
    let request = match args {
        Args::List { archived: true, .. } => MemoryRequest::Archived,
        Args::List { .. } => MemoryRequest::List,
        Args::Show { id, .. } => MemoryRequest::Show(id.clone()),
        Args::Search { words, .. } => MemoryRequest::Search(words.join(" ")),
        Args::Edit { .. } => return None,
        Args::Archive { id, .. } => MemoryRequest::Archive(id.clone()),
        Args::Restore { id, .. } => MemoryRequest::Restore(id.clone()),
        Args::Path { id, .. } => MemoryRequest::Path(id.clone()),
    };
    Some(memory(&hub_context(boot), &request))
}

fn edit(boot: &Boot, id: &str) -> anyhow::Result<u8> {
    let language = boot.language;
    let context = hub_context(boot);
    let path = context.memory.path_of(id)?;
    let set = |name: &&str| boot.env.get(*name).filter(|value| !value.trim().is_empty());
    let editor = ["VISUAL", "EDITOR"].iter().find_map(set);
    let Some(editor) = editor else {
        return Err(anyhow!(
            language.filled(Word::MemNoEditor, &[&path.display()])
        ));
    };
    let status = opened(boot, editor, &path)
        .with_context(|| language.filled(Word::CannotStart, &[&editor]))?;
    // A file that is no fact any more is named at once, while it can still be mended.
    for left in context.memory.left_out()? {
        output::say(&left.say(language));
    }
    Ok(if status.success() { OK } else { FAILED })
}

fn opened(boot: &Boot, editor: &str, path: &Path) -> std::io::Result<std::process::ExitStatus> {
    let language = boot.language;
    let mut words = editor.split_whitespace();
    let program = words.next().unwrap_or(editor);
    let programs = crate::grants::programs(boot);
    let Some(found) = programs.find(program) else {
        let why = language.filled(Word::NoSafeProgram, &[&program]);
        return Err(std::io::Error::other(why));
    };
    let mut command = std::process::Command::new(found);
    command.env("PATH", programs.path());
    // Editors read settings of the folder they start in, which is not to be the project.
    if let Some(folder) = path.parent() {
        command.current_dir(folder);
    }
    command.args(words).arg(path).status()
}
