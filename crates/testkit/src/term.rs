//! A program on a terminal: keys in, a screen out, as a person would see it. Everything it ever wrote is kept.

use std::ffi::OsString;
use std::io::{Read, Write};
use std::num::NonZeroU16;
use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;
use std::process::{Child, ExitStatus};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

const READ_BYTES: usize = 64 * 1024;
/// Rows above the screen that are remembered.
const SCROLLBACK: usize = 20_000;
/// How often a wait looks whether the program has ended.
const LOOK: Duration = Duration::from_millis(50);

pub(crate) type What = (
    PathBuf,
    Vec<OsString>,
    Vec<(OsString, OsString)>,
    Option<PathBuf>,
);

/// A program on a terminal. Dropping it kills its process group.
pub struct Term {
    child: Child,
    /// None once it was closed.
    keys: Option<pty_process::blocking::Pty>,
    /// Kept open, so that the terminal's settings can be read after the program is gone.
    line: OwnedFd,
    shared: Arc<Shared>,
    deadline: Instant,
}

/// A cell of the screen.
#[derive(Clone, Debug)]
pub struct Cell {
    pub row: u16,
    pub column: u16,
    /// Columns that it takes.
    pub wide: u8,
    pub text: String,
    pub look: Look,
}

/// How a cell is drawn; colours as `#rrggbb`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Look {
    pub fg: Option<String>,
    pub bg: Option<String>,
    pub bold: bool,
    pub dim: bool,
    pub italic: bool,
    pub underline: bool,
    pub reverse: bool,
    pub strike: bool,
}

impl Look {
    fn of(cell: &vt100::Cell) -> Self {
        Self {
            fg: color(cell.fgcolor()),
            bg: color(cell.bgcolor()),
            bold: cell.bold(),
            dim: cell.dim(),
            italic: cell.italic(),
            underline: cell.underline(),
            reverse: cell.inverse(),
            strike: false,
        }
    }
}

fn color(color: vt100::Color) -> Option<String> {
    const ANSI: [&str; 16] = [
        "#2e3436", "#cc4b4b", "#5fa04e", "#c4a000", "#4a7fc1", "#9a6fb0", "#3a9ea5", "#d3d7cf",
        "#7a7f86", "#ef6b6b", "#8ae234", "#fce94f", "#729fcf", "#ad7fa8", "#34e2e2", "#eeeeec",
    ];
    match color {
        vt100::Color::Default => None,
        vt100::Color::Idx(n) => ANSI.get(usize::from(n)).map(|c| (*c).to_owned()),
        vt100::Color::Rgb(r, g, b) => Some(format!("#{r:02x}{g:02x}{b:02x}")),
    }
}

struct Shared {
    seen: Mutex<Seen>,
    changed: Condvar,
}

struct Seen {
    vt: vt100::Parser,
    bytes: Vec<u8>,
    /// How many of `bytes` are on the screen.
    shown: usize,
    /// Where an update begins that has not ended: held back until it has, as terminals do.
    open: Option<usize>,
    is_over: bool,
    /// Nobody sits at it any more.
    is_closing: bool,
}

#[track_caller]
pub(crate) fn start(what: What, (columns, rows): (u16, u16), timeout: Duration) -> Term {
    let (program, args, env, cwd) = what;
    let (keys, pts) = pty_process::blocking::open().expect("a terminal");
    keys.resize(pty_process::Size::new(rows, columns))
        .expect("a size");
    let line = rustix::io::fcntl_dupfd_cloexec(pts.as_fd(), 3).expect("a copy of the terminal");
    let mut command = pty_process::blocking::Command::new(&program)
        .args(args)
        .env_clear()
        .envs(env);
    if let Some(cwd) = cwd {
        command = command.current_dir(cwd);
    }
    let child = match command.spawn(pts) {
        Ok(child) => child,
        Err(error) => panic!("cannot start {}: {error}", program.display()),
    };
    let shared = Arc::new(Shared {
        seen: Mutex::new(Seen {
            vt: vt100::Parser::new(size(rows), size(columns), SCROLLBACK),
            bytes: Vec::new(),
            shown: 0,
            open: None,
            is_over: false,
            is_closing: false,
        }),
        changed: Condvar::new(),
    });
    let reader = rustix::io::fcntl_dupfd_cloexec(keys.as_fd(), 3).expect("a copy of the terminal");
    let theirs = shared.clone();
    thread::spawn(move || follow(reader, &theirs));
    Term {
        child,
        keys: Some(keys),
        line,
        shared,
        deadline: Instant::now() + timeout,
    }
}

fn size(n: u16) -> NonZeroU16 {
    NonZeroU16::new(n).expect("a terminal has rows and columns")
}

/// Bytes that a failure shows of what was written last.
const LAST_BYTES: usize = 3000;

/// Begin and end of an update that a terminal shows at once. Both are equally long.
const BEGIN_UPDATE: &[u8] = b"\x1b[?2026h";
const END_UPDATE: &[u8] = b"\x1b[?2026l";

impl Seen {
    fn take(&mut self, bytes: &[u8]) {
        // A mark may have come in two pieces.
        let from = self.bytes.len().saturating_sub(BEGIN_UPDATE.len() - 1);
        self.bytes.extend_from_slice(bytes);
        let new = self.bytes.get(from..).unwrap_or_default();
        let last = |mark: &[u8]| new.windows(mark.len()).rposition(|bytes| bytes == mark);
        let (begin, end) = (last(BEGIN_UPDATE), last(END_UPDATE));
        if begin > end {
            self.open = begin.map(|at| from + at);
        } else if end.is_some() {
            self.open = None;
        }
        self.show(self.open.unwrap_or(self.bytes.len()));
    }

    fn show(&mut self, end: usize) {
        if let Some(bytes) = self.bytes.get(self.shown..end) {
            self.vt.process(bytes);
            self.shown = end;
        }
    }
}

fn follow(fd: OwnedFd, shared: &Shared) {
    let mut file = std::fs::File::from(fd);
    let mut buffer = vec![0; READ_BYTES];
    while !shared.lock().is_closing {
        if !is_readable(&file) {
            continue;
        }
        let Ok(n @ 1..) = file.read(&mut buffer) else {
            break;
        };
        let mut seen = shared.lock();
        let bytes = buffer.get(..n).unwrap_or_default();
        seen.take(bytes);
        shared.changed.notify_all();
    }
    // Closed before anybody is told so.
    drop(file);
    let mut seen = shared.lock();
    let end = seen.bytes.len();
    seen.show(end);
    seen.is_over = true;
    drop(seen);
    shared.changed.notify_all();
}

/// Waits a moment for something to read.
fn is_readable(file: &impl AsFd) -> bool {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let moment = Timespec {
        tv_sec: 0,
        tv_nsec: i64::from(LOOK.subsec_nanos()),
    };
    let mut fds = [PollFd::new(file, PollFlags::IN)];
    poll(&mut fds, Some(&moment)).is_ok_and(|ready| ready > 0)
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Term {
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Types, as bytes: `\r` is Enter, `\x1b` is Esc.
    #[track_caller]
    pub fn keys(&mut self, keys: &str) {
        let terminal = self.keys.as_mut().expect("a terminal that is open");
        let typed = terminal
            .write_all(keys.as_bytes())
            .and_then(|()| terminal.flush());
        if let Err(error) = typed {
            panic!("the program takes no keys: {error}\n{}", self.screen());
        }
    }

    /// Pastes as terminals do that were asked to mark it.
    #[track_caller]
    pub fn paste(&mut self, text: &str) {
        self.keys(&format!("\x1b[200~{text}\x1b[201~"));
    }

    #[track_caller]
    pub fn resize(&mut self, columns: u16, rows: u16) {
        let terminal = self.keys.as_ref().expect("a terminal that is open");
        // What the program paints for the new size must find it.
        let mut seen = self.shared.lock();
        seen.vt.screen_mut().set_size(size(rows), size(columns));
        terminal
            .resize(pty_process::Size::new(rows, columns))
            .expect("a size");
    }

    /// The rows that are to be seen, without spaces at their ends.
    pub fn screen(&self) -> String {
        let seen = self.shared.lock();
        let (_, columns) = seen.vt.screen().size();
        let rows: Vec<String> = seen
            .vt
            .screen()
            .rows(0, columns.get())
            .map(|row| row.trim_end().to_owned())
            .collect();
        rows.join("\n").trim_end().to_owned()
    }

    /// Those and everything above them.
    pub fn history(&self) -> String {
        let mut seen = self.shared.lock();
        let screen = seen.vt.screen_mut();
        let (_, columns) = screen.size();
        screen.set_scrollback(usize::MAX);
        let above = screen.scrollback();
        let mut rows = Vec::new();
        for offset in (1..=above).rev() {
            screen.set_scrollback(offset);
            rows.extend(screen.rows(0, columns.get()).next());
        }
        screen.set_scrollback(0);
        rows.extend(screen.rows(0, columns.get()));
        let rows: Vec<&str> = rows.iter().map(|row| row.trim_end()).collect();
        rows.join("\n").trim_end().to_owned()
    }

    /// Row and column of the cursor, from 0.
    pub fn cursor(&self) -> (u16, u16) {
        self.shared.lock().vt.screen().cursor_position()
    }

    /// Everything it has written.
    pub fn bytes(&self) -> Vec<u8> {
        self.shared.lock().bytes.clone()
    }

    /// How many bytes it has written.
    pub fn written(&self) -> usize {
        self.shared.lock().bytes.len()
    }

    /// Waits until `needle` is among the bytes written from there on.
    #[track_caller]
    pub fn wait_written(&self, from: usize, needle: &str) {
        let mut looked = from;
        let mut seen = self.shared.lock();
        loop {
            let new = seen.bytes.get(looked..).unwrap_or_default();
            if new.windows(needle.len()).any(|w| w == needle.as_bytes()) {
                return;
            }
            looked = seen.bytes.len().saturating_sub(needle.len()).max(from);
            let is_over = seen.is_over || Instant::now() > self.deadline;
            if is_over {
                drop(seen);
                panic!(
                    "never written: {needle}\n--- the screen:\n{}\n---",
                    self.screen()
                );
            }
            seen = match self.shared.changed.wait_timeout(seen, LOOK) {
                Ok((seen, _)) => seen,
                Err(poisoned) => poisoned.into_inner().0,
            };
        }
    }

    /// Where the cursor is, if it can be seen.
    pub fn caret(&self) -> Option<(u16, u16)> {
        let seen = self.shared.lock();
        let screen = seen.vt.screen();
        (!screen.hide_cursor()).then(|| screen.cursor_position())
    }

    /// Everything that can be seen, cell by cell.
    pub fn cells(&self) -> Vec<Cell> {
        let seen = self.shared.lock();
        let screen = seen.vt.screen();
        let (rows, columns) = screen.size();
        let mut cells = Vec::new();
        for row in 0..rows.get() {
            for column in 0..columns.get() {
                let Some(cell) = screen.cell(row, column) else {
                    continue;
                };
                let look = Look::of(cell);
                if cell.is_wide_continuation() || (!cell.has_contents() && look.bg.is_none()) {
                    continue;
                }
                cells.push(Cell {
                    row,
                    column,
                    wide: if cell.is_wide() { 2 } else { 1 },
                    text: cell.contents().to_owned(),
                    look,
                });
            }
        }
        cells
    }

    /// The settings of the terminal, to be compared.
    pub fn settings(&self) -> String {
        match rustix::termios::tcgetattr(&self.line) {
            Ok(t) => format!(
                "{:?} {:?} {:?} {:?}",
                t.input_modes, t.output_modes, t.control_modes, t.local_modes
            ),
            Err(error) => format!("unknown: {error}"),
        }
    }

    /// Waits until the screen contains `needle`.
    #[track_caller]
    pub fn wait_for(&self, needle: &str) -> String {
        self.wait_until(needle, |screen| screen.contains(needle))
    }

    #[track_caller]
    pub fn wait_until(&self, what: &str, holds: impl Fn(&str) -> bool) -> String {
        loop {
            let screen = self.screen();
            if holds(&screen) {
                return screen;
            }
            let seen = self.shared.lock();
            let has_ended = seen.is_over;
            if has_ended || Instant::now() > self.deadline {
                let last = seen.bytes.len().saturating_sub(LAST_BYTES);
                let last = seen.bytes.get(last..).unwrap_or_default();
                let last = last.escape_ascii().to_string();
                drop(seen);
                let screen = self.screen();
                assert!(
                    holds(&screen),
                    "never seen: {what}\n--- the screen (ended: {has_ended}):\n{screen}\n--- written last:\n{last}\n---"
                );
                return screen;
            }
            drop(self.shared.changed.wait_timeout(seen, LOOK));
        }
    }

    /// Sends a signal to the process itself.
    #[track_caller]
    pub fn signal(&self, signal: crate::Signal) {
        let signal = match signal {
            crate::Signal::Interrupt => rustix::process::Signal::INT,
            crate::Signal::Terminate => rustix::process::Signal::TERM,
            crate::Signal::Hangup => rustix::process::Signal::HUP,
            crate::Signal::Quit => rustix::process::Signal::QUIT,
            crate::Signal::Kill => rustix::process::Signal::KILL,
            crate::Signal::Stop => rustix::process::Signal::STOP,
            crate::Signal::Continue => rustix::process::Signal::CONT,
        };
        let pid = i32::try_from(self.child.id())
            .ok()
            .and_then(rustix::process::Pid::from_raw);
        let sent = pid.map(|pid| rustix::process::kill_process(pid, signal));
        assert!(matches!(sent, Some(Ok(()))), "cannot signal: {sent:?}");
    }

    /// Closes the terminal, as somebody does who closes its window.
    pub fn hang_up(&mut self) {
        self.keys = None;
        let mut seen = self.shared.lock();
        seen.is_closing = true;
        while !seen.is_over {
            seen = match self.shared.changed.wait_timeout(seen, LOOK) {
                Ok((seen, _)) => seen,
                Err(poisoned) => poisoned.into_inner().0,
            };
        }
    }

    /// Waits for the end.
    #[track_caller]
    pub fn wait(&mut self) -> ExitStatus {
        loop {
            match self.child.try_wait() {
                Ok(Some(status)) => {
                    self.read_out();
                    return status;
                }
                Ok(None) if Instant::now() < self.deadline => thread::sleep(LOOK / 10),
                Ok(None) => panic!("it did not end\n--- the screen:\n{}\n---", self.screen()),
                Err(error) => panic!("lost track of it: {error}"),
            }
        }
    }
}

impl Term {
    /// Waits until what the program wrote last has been read: nothing is left in the terminal, and nothing comes.
    fn read_out(&self) {
        let mut before = None;
        while Instant::now() < self.deadline {
            let seen = self.shared.lock().bytes.len();
            let is_empty = self.keys.as_ref().is_none_or(|keys| !is_readable(keys));
            if is_empty && before == Some(seen) {
                return;
            }
            before = Some(seen);
            thread::sleep(LOOK / 10);
        }
    }
}

impl Drop for Term {
    fn drop(&mut self) {
        let group = i32::try_from(self.child.id())
            .ok()
            .and_then(rustix::process::Pid::from_raw);
        if let Some(group) = group {
            let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
        }
        let _ = self.child.wait();
    }
}
