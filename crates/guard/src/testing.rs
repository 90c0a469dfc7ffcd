//! Declarations of tools by name, for tests only. The real ones are with the tools, which use this crate.

use ostler_wire::{ToolDeclaration, ToolFact, ToolKind, ToolMark};

/// What a tool of this name declares, as far as the rules care.
pub fn tool(name: &str) -> &'static ToolDeclaration {
    let declaration = match name {
        "bash" | "bash_input" => {
            ToolDeclaration::new("", ToolKind::Run).marks(&[ToolMark::RunsCommands])
        }
        "write_file" => ToolDeclaration::new("", ToolKind::Edit).marks(&[ToolMark::ReplacesWhole]),
        "edit_file" | "delete_range" => ToolDeclaration::new("", ToolKind::Edit),
        "move_file" => ToolDeclaration::new("", ToolKind::Edit).fact(ToolFact::FileMoved),
        "read_file" | "grep" | "ls" | "glob" => ToolDeclaration::new("", ToolKind::Read),
        "fetch_url" => ToolDeclaration::new("", ToolKind::Net).aliases(&["web_fetch"]),
        "web_search" => ToolDeclaration::new("", ToolKind::Net),
        "task" => ToolDeclaration::new("", ToolKind::Delegate),
        _ => ToolDeclaration::new("", ToolKind::Other),
    };
    Box::leak(Box::new(ToolDeclaration {
        name: name.to_owned().into(),
        ..declaration
    }))
}
