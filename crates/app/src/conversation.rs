//! What every way to talk to a session shares: opening one, showing it on stdout and stderr, and leaving it.

pub mod hub;
pub mod joined;
pub mod questions;
mod switch;

use crate::boot::Boot;
use crate::color::{self, Ink};
use crate::exit::{FAILED, INTERRUPTED, OK};
use crate::print::{End, Format, Printer, Show};
use ostler_config::text::Speak as _;
use ostler_wire::{Client, Event, Op, Open, Outcome, Say as _, Word};
use std::io::{self, IsTerminal as _};
use std::time::Duration;

/// How long a session may take to put its things away.
const CLOSING: Duration = Duration::from_secs(5);

/// The session that the flags speak of.
pub fn which(boot: &Boot) -> Open {
    match (&boot.global.session, &boot.global.fork) {
        (Some(id), _) => Open::Resume(id.clone()),
        (None, Some(id)) => Open::Fork(id.clone()),
        (None, None) => Open::New,
    }
}

/// The exit code of a turn.
pub fn code(end: &End) -> u8 {
    match end {
        End::Turn(Outcome::Done) => OK,
        End::Turn(Outcome::Interrupted) => INTERRUPTED,
        End::Turn(
            Outcome::Error | Outcome::MaxSteps | Outcome::EmptyResponse | Outcome::Refusal,
        )
        | End::Unrecorded => FAILED,
    }
}

/// Waits until the session has put everything away.
pub async fn close(client: Client) {
    end(client, |_| {}).await;
}

/// The same; what was found at the very end, such as what commands left in repositories, is a note.
pub async fn close_noting(client: Client, printer: &mut Printer<Out, Err>) {
    end(client, |event| {
        if let Event::Entry(entry) = event
            && let ostler_wire::Body::Notice(notice) = &entry.body
        {
            // Whoever reads us may be gone.
            let _ = printer.lines(Ink::Yellow, &notice.text);
        }
    })
    .await;
    let _ = printer.flush();
}

/// The same, showing what is still said.
pub async fn close_showing(client: Client, printer: &mut Printer<Out, Err>) {
    end(client, |event| {
        // Whoever reads us may be gone.
        let _ = printer.event(event, &ostler_engine::log::now());
    })
    .await;
    let _ = printer.flush();
}

async fn end(client: Client, mut show: impl FnMut(&Event)) {
    let Client {
        ops, mut events, ..
    } = client;
    // A session that is gone already has nothing to close.
    let _ = ops.send(Op::Close).await;
    drop(ops);
    let over = async {
        while let Some(event) = events.next().await {
            show(&event);
        }
    };
    // Leaving must not hang on work that does not want to end; the watchdog sees to its processes.
    let _ = tokio::time::timeout(CLOSING, over).await;
}

pub type Out = io::BufWriter<io::Stdout>;

pub type Err = io::BufWriter<io::Stderr>;

pub fn printer(boot: &Boot, format: Format) -> Printer<Out, Err> {
    let language = boot.language;
    let display = &boot.loaded.config.display;
    Printer::new(
        io::BufWriter::with_capacity(1 << 16, io::stdout()),
        io::BufWriter::new(io::stderr()),
        format,
        Show {
            tool_calls: display.show_tool_calls && !boot.global.quiet,
            reasoning: display.show_reasoning && !boot.global.quiet,
            tokens: display.show_tokens
                && !boot.global.quiet
                && (boot.global.verbose || wants_tokens(boot)),
            on_terminal: io::stdout().is_terminal(),
            language,
        },
        color::for_stderr(boot.loaded.config.display.color, &boot.env),
    )
}

/// Who sets `show_tokens` wants to see them; the default leaves them to `--verbose`.
fn wants_tokens(boot: &Boot) -> bool {
    boot.loaded.place(&["display", "show_tokens"]).is_some()
}

/// Says on stderr what is odd about the configuration: before anything can fail because of it.
pub fn warn(boot: &Boot, printer: &mut Printer<Out, Err>) -> io::Result<()> {
    for notice in &boot.loaded.notices {
        printer.note(Ink::Yellow, &notice.say(boot.language))?;
    }
    for warning in &boot.dotenv.warnings {
        printer.note(Ink::Yellow, &warning.say(boot.language))?;
    }
    if let Some(text) = crate::sandbox::nothing_holds(boot) {
        printer.note(Ink::Yellow, &text)?;
    }
    quiet(printer.flush())
}

/// Says on stderr what a person should know before the answer comes.
pub fn announce(boot: &Boot, client: &Client, printer: &mut Printer<Out, Err>) -> io::Result<()> {
    let language = boot.language;
    if boot.wanted_model().is_none() && boot.loaded.config.default_model.is_none() {
        printer.note(
            Ink::Grey,
            &language.filled(Word::ModelHeadline, &[&client.snapshot.model]),
        )?;
    }
    // Most have no key in a file, and pay for no second look.
    if boot
        .loaded
        .config
        .providers
        .iter()
        .any(|p| p.api_key.is_some())
        && let Ok(model) = boot.resolver().resolve(&client.snapshot.model)
        && let Some(warning) = model.key.and_then(|key| key.warning)
    {
        printer.note(Ink::Yellow, &warning.say(language))?;
    }
    for note in &client.notes {
        printer.remark(note)?;
    }
    quiet(printer.flush())
}

pub fn quiet(result: io::Result<()>) -> io::Result<()> {
    match result {
        Err(e) if e.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        other => other,
    }
}

/// Nobody reads what is written.
pub fn is_closed_pipe(error: &anyhow::Error) -> bool {
    let cause = error.downcast_ref::<io::Error>();
    cause.is_some_and(|e| e.kind() == io::ErrorKind::BrokenPipe)
}
