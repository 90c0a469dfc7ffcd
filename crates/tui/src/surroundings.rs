//! What the terminal UI needs of the machine around it. The binary gives it; tests give a made-up one. Whatever can take a
//! while is handed out as work, which the loop runs on a thread of its own.

use ostler_wire::Image;
use std::io;

/// Runs on a thread of its own.
pub type Work<T> = Box<dyn FnOnce() -> T + Send>;

pub trait Surroundings {
    type Keyboard: Keyboard;

    /// What is typed from now on, until it is dropped.
    fn keyboard(&self) -> io::Result<Self::Keyboard>;
    fn fetch(&self, what: Fetch) -> Work<Fetched>;
    /// Lets the person change a text in their own editor and gives it back. The terminal is theirs while it goes on.
    fn editor(&self, text: &str) -> Work<io::Result<String>>;
    /// Remembers a sent prompt, and the one that is being written, which outlives a crash. Does not wait for the disk.
    fn keep(&self, kept: Kept);
    /// Stops the process until the person brings it back.
    fn suspend(&self) -> io::Result<()>;
}

pub trait Keyboard {
    /// Can be dropped while it waits, and loses nothing.
    fn next(&mut self) -> impl Future<Output = io::Result<Typed>>;
}

/// What happened at the terminal.
#[derive(Debug, PartialEq, Eq)]
pub enum Typed {
    Bytes(Vec<u8>),
    /// It has another size.
    Resized,
    /// It is gone.
    Over,
}

/// What can be looked up around us.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fetch {
    /// A picture on the clipboard.
    Image,
    /// The picture at a path that was pasted.
    Picture(String),
    /// The branch of the repository, which can be another one after every turn.
    Branch,
    /// What was being written in a session.
    Draft(String),
}

/// A picture that was looked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FoundPicture {
    Found(Image),
    None,
    /// It has more than `MAX_PICTURE` bytes.
    TooLarge,
}

#[derive(Debug)]
pub enum Fetched {
    /// None without one, or without a program that can read it.
    Image(FoundPicture),
    /// None where the path that was pasted leads to no picture.
    Picture {
        pasted: String,
        image: FoundPicture,
    },
    Branch(Option<String>),
    Draft(Option<String>),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kept {
    Sent(String),
    /// What is being written in a session; empty when there is nothing.
    Draft {
        session: String,
        text: String,
    },
}
