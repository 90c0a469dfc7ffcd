//! What the terminal UI needs of the machine around it. The binary gives it; tests give a made-up one.

use ostler_wire::Image;
use std::io;

/// One name in a folder, for the menu behind `@`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Name {
    pub name: String,
    pub is_folder: bool,
}

/// Runs on a thread of its own; gives back the changed text.
pub type Editing = Box<dyn FnOnce() -> io::Result<String> + Send>;

pub trait Surroundings {
    /// Names in a folder below the root, noise left out, folders first. Bounded by whoever lists.
    fn list(&self, folder: &str) -> Vec<Name>;
    /// Work that lets the person change a text in their own editor. The terminal is theirs while it goes on.
    fn editor(&mut self, text: &str) -> Editing;
    /// A picture on the clipboard.
    fn clipboard_image(&mut self) -> Result<Image, String>;
    /// Remembers a sent prompt, and the one that is being written, which outlives a crash.
    fn keep(&mut self, kept: Kept<'_>);
    /// Stops the process until the person brings it back.
    fn suspend(&mut self) -> io::Result<()>;
    /// Branch of the repository, or whatever else belongs into the status line and changes from turn to turn.
    fn branch(&self) -> Option<String>;
}

pub enum Kept<'a> {
    Sent(&'a str),
    Draft(&'a str),
}
