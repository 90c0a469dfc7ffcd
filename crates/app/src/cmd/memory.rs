//! `ostler memory`: the command `memory` on the command line. Opening an editor is done here.

use super::panel::{hub_context, print_view};
use crate::boot::Boot;
use crate::exit::{FAILED, OK};
use crate::flags::Memory as Args;
use crate::output;
use anyhow::{Context as _, anyhow};
use ostler_config::text::Speak as _;
use ostler_engine::commands::{MemoryRequest, memory};
use ostler_wire::Word;
use std::path::Path;

pub fn run(boot: &Boot, args: Args) -> anyhow::Result<u8> {
    let (request, format) = match args {
        Args::List { archived, format } => match archived {
            true => (MemoryRequest::Archived, format),
            false => (MemoryRequest::List, format),
        },
        Args::Show { id, format } => (MemoryRequest::Show(id), format),
        Args::Search { words, format } => (MemoryRequest::Search(words.join(" ")), format),
        Args::Edit { id } => return edit(boot, &id),
        Args::Archive { id, format } => (MemoryRequest::Archive(id), format),
        Args::Restore { id, format } => (MemoryRequest::Restore(id), format),
        Args::Path { id, format } => (MemoryRequest::Path(id), format),
    };
    print_view(&memory(&hub_context(boot), &request), format)
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
