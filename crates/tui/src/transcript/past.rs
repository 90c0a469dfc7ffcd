//! What a log says of the past, as cells.

use super::Transcript;
use crate::cell::{Cell, Tool};
use ostler_wire::{Body, Entry, Language};
use std::sync::Arc;

impl Transcript {
    /// What was said before, as it was shown then.
    pub fn show_past(&mut self, entries: &[Arc<Entry>]) {
        for cell in cells(entries, self.language) {
            let cell = match cell {
                Cell::Tool(tool) => {
                    self.over(*tool);
                    continue;
                }
                Cell::Todo(todo) => {
                    self.plan_changed(todo);
                    continue;
                }
                other => other,
            };
            let is_shown = match &cell {
                Cell::Reasoning(_) => self.show_reasoning,
                Cell::Approved(approved) => !approved.goes_without_saying(),
                Cell::User(_)
                | Cell::Assistant(_)
                | Cell::Tool(_)
                | Cell::Lookups(_)
                | Cell::Todo(_)
                | Cell::Notice(_)
                | Cell::Failure(_)
                | Cell::Retry(_)
                | Cell::Turn(_)
                | Cell::Job(_)
                | Cell::Picture(_)
                | Cell::Folded(_) => true,
            };
            if is_shown {
                self.push(cell);
            }
        }
    }
}

/// Cells of a log, every result with its call.
pub fn cells(entries: &[Arc<Entry>], to: Language) -> Vec<Cell> {
    let mut cells: Vec<Cell> = Vec::new();
    let mut open: Vec<(String, usize)> = Vec::new();
    for entry in entries {
        match &entry.body {
            Body::ToolUse(call) => {
                open.push((call.id.clone(), cells.len()));
                cells.push(Cell::Tool(Box::new(Tool::new(call))));
            }
            Body::ToolResult(result) => {
                let at = open.iter().position(|(id, _)| *id == result.tool_use_id);
                let at = at.map(|at| open.swap_remove(at).1);
                if let Some(Cell::Tool(tool)) = at.and_then(|at| cells.get_mut(at)) {
                    tool.finish(result, to);
                }
            }
            // What it began with is no news.
            Body::Settings(_) if cells.is_empty() => {}
            Body::Message(_)
            | Body::Meta(_)
            | Body::Usage(_)
            | Body::Settings(_)
            | Body::Mode(_)
            | Body::Approval(_)
            | Body::Todo(_)
            | Body::Child(_)
            | Body::Notice(_)
            | Body::Error(_)
            | Body::Interrupted(_)
            | Body::TurnEnd(_)
            | Body::Compaction(_)
            | Body::Checkpoint(_)
            | Body::Rewind(_) => cells.extend(Cell::of(&entry.body, to)),
        }
    }
    cells
}
