//! What the terminal UI needs of the machine around it. The binary gives it; tests give a made-up one. Whatever can take a
//! while is handed out as work, which the loop runs on a thread of its own.

use ostler_wire::Image;
use std::io;

/// One name in a folder, for the menu behind `@`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Name {
    pub name: String,
    pub is_folder: bool,
}

/// Runs on a thread of its own.
pub type Work<T> = Box<dyn FnOnce() -> T + Send>;

pub trait Surroundings {
    /// Names in a folder below the root, noise left out, folders first. Bounded by whoever lists.
    fn list(&self, folder: &str) -> Work<Vec<Name>>;
    /// Lets the person change a text in their own editor and gives it back. The terminal is theirs while it goes on.
    fn editor(&self, text: &str) -> Work<io::Result<String>>;
    /// A picture on the clipboard.
    fn clipboard_image(&self) -> Work<Result<Image, String>>;
    /// The branch of the repository, which can be another one after every turn.
    fn branch(&self) -> Work<Option<String>>;
    /// Remembers a sent prompt, and the one that is being written, which outlives a crash. Does not wait for the disk.
    fn keep(&self, kept: Kept);
    /// Stops the process until the person brings it back.
    fn suspend(&self) -> io::Result<()>;
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kept {
    Sent(String),
    Draft(String),
}
