//! How the utilities print: results to stdout, remarks to stderr, and nothing from a log that drives the terminal.

use ostler_config::text::Explain as _;
use ostler_engine::redact::Redactor;
use ostler_wire::Word;
pub use ostler_wire::{format_size as size, one_line, short_id as short, visible};
use serde::Serialize;
use std::io::{self, IsTerminal, Write};
use std::sync::LazyLock;

/// Writes a result to stdout. A reader that went away is no error.
pub fn print(text: &str) -> anyhow::Result<()> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(e) if e.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        other => Ok(other.explain(|| Word::NoStdout.into())?),
    }
}

/// Takes the secrets that this process has come to know out of what it says beside its sessions.
pub fn redactor() -> &'static Redactor {
    static REDACTOR: LazyLock<Redactor> = LazyLock::new(Redactor::default);
    &REDACTOR
}

/// Writes text that came from a model or a file: as it is through a pipe, with its control characters visible on a terminal.
pub fn print_foreign(text: &str) -> anyhow::Result<()> {
    let text = redactor().text(text.to_owned());
    if io::stdout().is_terminal() {
        print(&visible(&text))
    } else {
        print(&text)
    }
}

pub fn print_json(value: &impl Serialize) -> anyhow::Result<()> {
    print_foreign(&(serde_json::to_string_pretty(value)? + "\n"))
}

/// A remark on stderr. Nobody there to read it is no error.
pub fn say(text: &str) {
    let text = redactor().text(text.to_owned());
    let _ = writeln!(io::stderr(), "{}", visible(&text));
}
