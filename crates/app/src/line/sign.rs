//! The sign before the line that the person types, and the line itself where the terminal lets it be edited.

use super::Talk;
use crate::boot::Boot;
use crate::input::EditedLine;
use crate::prompts::Prompts;
use ostler_tui::text::width;
use std::io::{self, IsTerminal as _, Write as _};

/// A terminal that knows no codes.
const DUMB: &str = "dumb";

/// The editor of prompts; none where no person types, or where the terminal cannot show what is edited.
pub fn edited_line(boot: &Boot) -> Option<EditedLine> {
    let is_dumb = boot
        .env
        .get("TERM")
        .is_none_or(|term| term.is_empty() || term == DUMB);
    if is_dumb || cfg!(not(unix)) || !io::stdin().is_terminal() || !io::stderr().is_terminal() {
        return None;
    }
    let prompts = Prompts::of(boot);
    let history = prompts.all();
    let remember = move |text: &str| {
        // A prompt that is not kept is no reason to stop.
        let _ = prompts.add(text);
    };
    Some(EditedLine::new(history, Box::new(remember)))
}

/// The terminal gets its own mode back also where the conversation ends in the middle of a line.
#[derive(Default)]
pub struct OnScreen(pub Option<EditedLine>);

impl Drop for OnScreen {
    fn drop(&mut self) {
        if let Some(edited) = &self.0 {
            // A terminal that is gone needs no mode.
            let _ = edited.hide();
        }
    }
}

impl Talk {
    /// Shows the sign. What was typed ahead is not edited any more.
    pub(super) fn show_sign(&mut self) -> io::Result<()> {
        let sign = self.sign();
        let cells = width(&self.plain_sign());
        let edited = self.shown.edited.0.as_ref();
        let is_edited = match edited.filter(|_| !self.lines.has_early()) {
            Some(edited) => edited.show(&sign, cells)?,
            None => false,
        };
        if !is_edited {
            let mut err = io::stderr();
            write!(err, "{sign}")?;
            err.flush()?;
        }
        self.shown.sign = true;
        Ok(())
    }

    /// The cursor stands behind the sign; what comes now gets a line of its own.
    pub(super) fn end_sign(&mut self) -> io::Result<()> {
        if !std::mem::take(&mut self.shown.sign) {
            return Ok(());
        }
        match self
            .shown
            .edited
            .0
            .as_ref()
            .filter(|edited| edited.is_shown())
        {
            Some(edited) => edited.hide(),
            None => writeln!(io::stderr()),
        }
    }

    /// The person leaves the sign as it stands.
    pub(super) fn leave_sign(&mut self) -> io::Result<()> {
        if let Some(edited) = &self.shown.edited.0 {
            edited.release();
        }
        self.end_sign()
    }

    /// A line was taken. One that was typed ahead is shown where it would have been typed.
    pub(super) fn take_sign(&mut self, early: Option<&str>) -> io::Result<()> {
        let was_shown = std::mem::take(&mut self.shown.sign);
        match early.filter(|_| was_shown) {
            Some(line) => writeln!(io::stderr(), "{line}"),
            None => Ok(()),
        }
    }

    /// Drops what is written of a prompt. Whether there was something.
    pub(super) fn clear_written(&mut self) -> io::Result<bool> {
        let was_written = match &self.shown.edited.0 {
            Some(edited) => edited.clear()?,
            None => false,
        };
        if was_written {
            self.shown.sign = false;
        }
        Ok(was_written)
    }
}
