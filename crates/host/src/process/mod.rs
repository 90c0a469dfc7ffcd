//! A running command: its output as it comes, its end, its input. Here it runs by way of the watchdog on unix; one of
//! another place is heard of over the link to it.

pub mod far;
#[cfg(not(unix))]
mod plain;
#[cfg(unix)]
mod unix;

#[cfg(not(unix))]
use plain as system;
#[cfg(unix)]
use unix as system;

use crate::command::{Output, Signal};
use std::io;

/// A running command. Dropping it kills everything the command started, unless `next` has already told its end: what a
/// finished command left in the background lives on until we end.
pub struct Process(Place<system::Process, far::Process>);

/// The end of everything that a command started, to be waited for by somebody who does not hold its `Process`.
pub struct TreeEnd(Place<system::TreeEnd, far::TreeEnd>);

/// What a finished command left in the background.
pub struct Leftovers(Place<system::Leftovers, far::Leftovers>);

/// Writes to the command's stdin. Dropping it closes a pipe; a terminal stays open.
pub struct Input(Place<system::Input, far::Input>);

enum Place<H, F> {
    Here(H),
    Far(F),
}

#[cfg(unix)]
pub(crate) async fn spawn(
    spawner: &std::sync::Arc<crate::watchdog::Spawner>,
    command: &crate::command::Command,
) -> crate::Result<Process> {
    let process = system::spawn(spawner, command).await?;
    Ok(Process(Place::Here(process)))
}

#[cfg(not(unix))]
pub(crate) fn spawn(command: &crate::command::Command) -> crate::Result<Process> {
    Ok(Process(Place::Here(system::spawn(command)?)))
}

impl Process {
    /// One that was started at another place.
    pub fn far(ends: far::Ends) -> Self {
        Self(Place::Far(far::Process::new(ends)))
    }

    pub fn pid(&self) -> i32 {
        match &self.0 {
            Place::Here(process) => process.pid(),
            Place::Far(process) => process.pid(),
        }
    }

    /// What comes next. After `Output::Exited` only that, again and again. May be cancelled without losing anything.
    pub async fn next(&mut self) -> Output {
        match &mut self.0 {
            Place::Here(process) => process.next().await,
            Place::Far(process) => process.next().await,
        }
    }

    /// To everything that the command started, wherever it went.
    pub fn signal(&self, signal: Signal) {
        match &self.0 {
            Place::Here(process) => process.signal(signal),
            Place::Far(process) => process.signal(signal),
        }
    }

    /// What the command left in the background, once it has ended; `None` if that is nothing.
    pub fn take_leftovers(&mut self) -> Option<Leftovers> {
        Some(Leftovers(match &mut self.0 {
            Place::Here(process) => Place::Here(process.take_leftovers()?),
            Place::Far(process) => Place::Far(process.take_leftovers()?),
        }))
    }

    /// The end of everything that the command started. Dropping the process kills all of it then, also what an ended
    /// command left in the background and nobody took.
    pub fn tree_end(&mut self) -> TreeEnd {
        TreeEnd(match &mut self.0 {
            Place::Here(process) => Place::Here(process.tree_end()),
            Place::Far(process) => Place::Far(process.tree_end()),
        })
    }

    /// The command's stdin, once, if it has one.
    pub fn take_input(&mut self) -> Option<Input> {
        Some(Input(match &mut self.0 {
            Place::Here(process) => Place::Here(process.take_input()?),
            Place::Far(process) => Place::Far(process.take_input()?),
        }))
    }

    /// Waits until some of the bytes are taken, and says how many.
    pub async fn write_stdin(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.0 {
            Place::Here(process) => process.write_stdin(bytes).await,
            Place::Far(process) => process.write_stdin(bytes).await,
        }
    }

    pub fn close_stdin(&mut self) {
        match &mut self.0 {
            Place::Here(process) => process.close_stdin(),
            Place::Far(process) => process.close_stdin(),
        }
    }

    /// Tells a command on a terminal that its window has changed.
    pub fn resize(&self, rows: u16, cols: u16) -> io::Result<()> {
        match &self.0 {
            Place::Here(process) => process.resize(rows, cols),
            Place::Far(process) => process.resize(rows, cols),
        }
    }
}

impl TreeEnd {
    /// Waits until all of it is dead.
    pub async fn wait(&mut self) {
        match &mut self.0 {
            Place::Here(tree) => tree.wait().await,
            Place::Far(tree) => tree.wait().await,
        }
    }

    /// Kills all of it.
    pub fn kill(&self) {
        match &self.0 {
            Place::Here(tree) => tree.kill(),
            Place::Far(tree) => tree.kill(),
        }
    }
}

impl Leftovers {
    pub fn is_alive(&self) -> bool {
        match &self.0 {
            Place::Here(leftovers) => leftovers.is_alive(),
            Place::Far(leftovers) => leftovers.is_alive(),
        }
    }

    /// Waits until the last of it has ended.
    pub async fn wait(&mut self) {
        match &mut self.0 {
            Place::Here(leftovers) => leftovers.wait().await,
            Place::Far(leftovers) => leftovers.wait().await,
        }
    }

    /// Kills all of it, and waits for its end.
    pub async fn end(self) {
        match self.0 {
            Place::Here(leftovers) => leftovers.end().await,
            Place::Far(leftovers) => leftovers.end().await,
        }
    }
}

impl Input {
    /// Waits until some of the bytes are taken, and says how many.
    pub async fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.0 {
            Place::Here(input) => input.write(bytes).await,
            Place::Far(input) => input.write(bytes).await,
        }
    }

    pub async fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        match &mut self.0 {
            Place::Here(input) => input.write_all(bytes).await,
            Place::Far(input) => input.write_all(bytes).await,
        }
    }
}
