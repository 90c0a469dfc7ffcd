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
        if let Body::ToolUse(call) = &entry.body {
            open.push((call.id.clone(), cells.len()));
            cells.push(Cell::Tool(Box::new(Tool::new(call))));
        } else if let Body::ToolResult(result) = &entry.body {
            let at = open.iter().position(|(id, _)| *id == result.tool_use_id);
            let at = at.map(|at| open.swap_remove(at).1);
            if let Some(Cell::Tool(tool)) = at.and_then(|at| cells.get_mut(at)) {
                tool.finish(result, to);
            }
        } else {
            // What it began with is no news.
            let is_first = cells.is_empty() && matches!(entry.body, Body::Settings(_));
            cells.extend(
                (!is_first)
                    .then(|| Cell::of(&entry.body, to))
                    .into_iter()
                    .flatten(),
            );
        }
    }
    cells
}
