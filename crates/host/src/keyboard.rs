//! What is typed on the terminal, as bytes, through a handle of our own that never blocks: nothing is read that somebody
//! else waits for once it is dropped, and no byte waits for the next one to come.

use std::io;

/// What happened at the terminal.
#[derive(Debug, PartialEq, Eq)]
pub enum Typed {
    Bytes(Vec<u8>),
    /// It has another size.
    Resized,
    /// It is gone.
    Over,
}

/// Bytes that are read at a time.
const READ_BYTES: usize = 64 << 10;
/// Bytes that are read before they are handed out.
#[cfg(unix)]
const AT_ONCE: usize = 1 << 20;

/// Drops what was typed on a terminal and not read yet.
#[cfg(unix)]
pub fn forget_typed(terminal: impl std::os::fd::AsFd) {
    // What is no terminal has nothing typed ahead.
    let _ = rustix::termios::tcflush(terminal, rustix::termios::QueueSelector::IFlush);
}

/// Without such terminals nothing is dropped.
#[cfg(not(unix))]
pub fn forget_typed<T>(_terminal: T) {}

/// A terminal in another mode. Its own comes back when this is dropped.
#[cfg(unix)]
#[derive(Debug)]
struct ChangedMode {
    terminal: std::os::fd::OwnedFd,
    before: rustix::termios::Termios,
}

#[cfg(unix)]
impl ChangedMode {
    /// None where there is no terminal.
    fn set(
        terminal: impl std::os::fd::AsFd,
        when: rustix::termios::OptionalActions,
        change: impl FnOnce(&mut rustix::termios::Termios),
    ) -> Option<Self> {
        let terminal = terminal.as_fd().try_clone_to_owned().ok()?;
        let before = rustix::termios::tcgetattr(&terminal).ok()?;
        let mut mode = before.clone();
        change(&mut mode);
        rustix::termios::tcsetattr(&terminal, when, &mode).ok()?;
        Some(Self { terminal, before })
    }
}

#[cfg(unix)]
impl Drop for ChangedMode {
    fn drop(&mut self) {
        // A terminal that is gone needs no mode.
        let _ = rustix::termios::tcsetattr(
            &self.terminal,
            rustix::termios::OptionalActions::Now,
            &self.before,
        );
    }
}

/// A terminal that does not show what is typed, until this is dropped.
#[cfg(unix)]
#[derive(Debug)]
pub struct Hidden(#[expect(dead_code, reason = "it is there to be dropped")] ChangedMode);

#[cfg(unix)]
impl Hidden {
    /// None where there is no terminal.
    pub fn start(terminal: impl std::os::fd::AsFd) -> Option<Self> {
        use rustix::termios::{LocalModes, OptionalActions};
        let hide = |mode: &mut rustix::termios::Termios| mode.local_modes.remove(LocalModes::ECHO);
        ChangedMode::set(terminal, OptionalActions::Flush, hide).map(Self)
    }
}

/// Without such terminals what is typed is shown.
#[cfg(not(unix))]
#[derive(Debug)]
pub struct Hidden;

#[cfg(not(unix))]
impl Hidden {
    pub fn start<T>(_terminal: T) -> Option<Self> {
        None
    }
}

/// A terminal that hands over every key at once, also those of a line that was begun before. Its own line mode comes back
/// when this is dropped.
#[cfg(unix)]
#[derive(Debug)]
pub struct KeyByKey(ChangedMode);

#[cfg(unix)]
impl KeyByKey {
    /// None where there is no terminal.
    pub fn start(terminal: impl std::os::fd::AsFd) -> Option<Self> {
        use rustix::termios::{LocalModes, OptionalActions, SpecialCodeIndex};
        let change = |mode: &mut rustix::termios::Termios| {
            mode.local_modes.remove(LocalModes::ICANON);
            mode.special_codes[SpecialCodeIndex::VMIN] = 1;
            mode.special_codes[SpecialCodeIndex::VTIME] = 0;
        };
        ChangedMode::set(terminal, OptionalActions::Now, change).map(Self)
    }

    /// Drops what is typed until nothing came for this long.
    pub fn forget_until_pause(&self, pause: std::time::Duration) {
        use rustix::event::{PollFd, PollFlags, Timespec, poll};
        let pause = Timespec::try_from(pause).ok();
        let mut buffer = [0; 1024];
        loop {
            let mut fds = [PollFd::new(&self.0.terminal, PollFlags::IN)];
            match poll(&mut fds, pause.as_ref()) {
                Ok(1..) => match rustix::io::read(&self.0.terminal, &mut buffer) {
                    Ok(1..) | Err(rustix::io::Errno::INTR) => {}
                    Ok(0) | Err(_) => return,
                },
                Err(rustix::io::Errno::INTR) => {}
                Ok(0) | Err(_) => return,
            }
        }
    }
}

#[cfg(unix)]
impl KeyByKey {
    /// Whether nothing is typed for this long. What is typed stays to be read.
    pub fn is_quiet_for(&self, time: std::time::Duration) -> bool {
        use rustix::event::{PollFd, PollFlags, Timespec, poll};
        let time = Timespec::try_from(time).ok();
        loop {
            let mut fds = [PollFd::new(&self.0.terminal, PollFlags::IN)];
            match poll(&mut fds, time.as_ref()) {
                Err(rustix::io::Errno::INTR) => {}
                Ok(0) => return true,
                Ok(_) | Err(_) => return false,
            }
        }
    }
}

/// A terminal that hands over every key at once and shows none, for whoever edits a line there. Keys that stop a program do
/// so, and what is printed looks as always. Its own mode comes back when this is dropped.
#[cfg(unix)]
#[derive(Debug)]
pub struct SilentKeys(#[expect(dead_code, reason = "it is there to be dropped")] ChangedMode);

#[cfg(unix)]
impl SilentKeys {
    /// None where there is no terminal.
    pub fn start(terminal: impl std::os::fd::AsFd) -> Option<Self> {
        use rustix::termios::{InputModes, LocalModes, OptionalActions, SpecialCodeIndex};
        let change = |mode: &mut rustix::termios::Termios| {
            let shown = LocalModes::ICANON | LocalModes::ECHO | LocalModes::IEXTEN;
            mode.local_modes.remove(shown);
            mode.input_modes.remove(InputModes::ICRNL);
            mode.special_codes[SpecialCodeIndex::VMIN] = 1;
            mode.special_codes[SpecialCodeIndex::VTIME] = 0;
        };
        ChangedMode::set(terminal, OptionalActions::Now, change).map(Self)
    }
}

/// Without such terminals nobody edits a line but the terminal.
#[cfg(not(unix))]
#[derive(Debug)]
pub struct SilentKeys;

#[cfg(not(unix))]
impl SilentKeys {
    pub fn start<T>(_terminal: T) -> Option<Self> {
        None
    }
}

/// Without such terminals lines come whole.
#[cfg(not(unix))]
#[derive(Debug)]
pub struct KeyByKey;

#[cfg(not(unix))]
impl KeyByKey {
    pub fn start<T>(_terminal: T) -> Option<Self> {
        None
    }

    pub fn forget_until_pause(&self, _pause: std::time::Duration) {}

    pub fn is_quiet_for(&self, _time: std::time::Duration) -> bool {
        true
    }
}

#[cfg(unix)]
pub struct Keyboard {
    terminal: tokio::io::unix::AsyncFd<std::os::fd::OwnedFd>,
    resized: tokio::signal::unix::Signal,
    buffer: Vec<u8>,
}

#[cfg(unix)]
impl Keyboard {
    /// The terminal behind this handle.
    pub fn open(input: impl std::os::fd::AsFd) -> io::Result<Self> {
        use rustix::fs::{Mode, OFlags};
        use tokio::io::unix::AsyncFd;
        use tokio::signal::unix::{SignalKind, signal};
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let open = |path: &std::ffi::CStr| rustix::fs::open(path, flags, Mode::empty());
        // By its own name: not every system can wait for the name that stands for all of them.
        let named = rustix::termios::ttyname(input, Vec::new());
        let terminal = named
            .and_then(|name| open(&name))
            .or_else(|_| open(c"/dev/tty"))?;
        // SAFETY: the handle is ours alone; it is neither closed nor exchanged before it is dropped.
        let terminal = unsafe { AsyncFd::register(terminal)? };
        Ok(Self {
            terminal,
            resized: signal(SignalKind::window_change())?,
            buffer: vec![0; READ_BYTES],
        })
    }

    /// Everything that came at once. Nothing is lost when this is dropped.
    pub async fn next(&mut self) -> io::Result<Typed> {
        loop {
            let mut guard = tokio::select! {
                biased;
                readable = self.terminal.readable() => readable?,
                _ = self.resized.recv() => return Ok(Typed::Resized),
            };
            let mut bytes = Vec::new();
            while bytes.len() < AT_ONCE {
                use rustix::io::Errno;
                match rustix::io::read(guard.get_inner(), &mut self.buffer) {
                    Ok(n @ 1..) => {
                        bytes.extend_from_slice(self.buffer.get(..n).unwrap_or_default())
                    }
                    Err(Errno::INTR) => {}
                    Err(Errno::AGAIN) => {
                        guard.clear_ready();
                        break;
                    }
                    // What a terminal says that was closed. What came before is told first.
                    Ok(0) | Err(Errno::IO) if bytes.is_empty() => return Ok(Typed::Over),
                    Ok(0) | Err(Errno::IO) => break,
                    Err(error) => return Err(error.into()),
                }
            }
            if !bytes.is_empty() {
                return Ok(Typed::Bytes(bytes));
            }
        }
    }
}

/// Where the terminal cannot be waited for, a thread waits. It keeps the handle, so somebody else may lose a key.
#[cfg(not(unix))]
pub struct Keyboard {
    typed: tokio::sync::mpsc::Receiver<io::Result<Typed>>,
}

#[cfg(not(unix))]
impl Keyboard {
    pub fn open(mut input: impl io::Read + Send + 'static) -> io::Result<Self> {
        let (to, typed) = tokio::sync::mpsc::channel(16);
        std::thread::spawn(move || {
            let mut buffer = vec![0; READ_BYTES];
            loop {
                let typed = input.read(&mut buffer).map(|n| match n {
                    0 => Typed::Over,
                    n => Typed::Bytes(buffer.get(..n).unwrap_or_default().to_vec()),
                });
                let is_over = !matches!(typed, Ok(Typed::Bytes(_)));
                if to.blocking_send(typed).is_err() || is_over {
                    return;
                }
            }
        });
        Ok(Self { typed })
    }

    pub async fn next(&mut self) -> io::Result<Typed> {
        self.typed.recv().await.unwrap_or(Ok(Typed::Over))
    }
}
