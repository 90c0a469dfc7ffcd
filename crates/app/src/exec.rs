//! Runs prompts without a conversation: `exec`, `-p`, `demo`, and ops from stdin.

use crate::boot::Boot;
use crate::color::Ink;
use crate::conversation::hub::{Attendance, ConversationHub};
use crate::conversation::joined::Began;
use crate::conversation::{Err, Out, announce, close_noting, code, printer, quiet, warn, which};
use crate::errors::UsageError;
use crate::exit::{OK, TERMINATED};
use crate::flags::{Exec, Format as FlagFormat, InputFormat, Output, OutputFormat};
use crate::input::Typed;
use crate::print::{End, Format, Printer};
use anyhow::Context as _;
use ostler_config::text::Speak as _;
use ostler_engine::PIPED;
use ostler_host::signals::{Signals, Stop};
use ostler_wire::{
    Ask, Client, Delivery, Delta, Event, Hub as _, Language, Op, Open, Outcome, Word,
};
use std::io::{self, IsTerminal, Read, Write};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long a prompt waits for a pipe that has said nothing yet.
const STDIN_PATIENCE: Duration = Duration::from_millis(500);

/// How long a turn that was stopped may take to end.
const PATIENCE: Duration = Duration::from_secs(2);
/// What is taken from a pipe at most.
const MAX_STDIN: u64 = 10 * 1024 * 1024;

/// What to run, and how to show it.
pub struct Job {
    pub open: Open,
    pub prompt: String,
    pub format: Format,
    pub schema: Option<crate::schema_check::Schema>,
    pub farewell: Farewell,
}

/// Whether leaving says how to come back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Farewell {
    Say,
    Silent,
}

pub fn format(output: &Output) -> Format {
    match (output.format, output.output_format) {
        (Some(FlagFormat::Json), _) | (None, Some(OutputFormat::StreamJson)) => Format::Stream,
        (Some(FlagFormat::Result), _) | (None, Some(OutputFormat::Json)) => Format::Result,
        (Some(FlagFormat::Text), _) | (None, Some(OutputFormat::Text) | None) => Format::Text,
    }
}

pub async fn exec(boot: Arc<Boot>, args: Exec) -> anyhow::Result<u8> {
    let language = boot.language;
    let schema = args
        .output_schema
        .as_deref()
        .map(|path| crate::schema_check::Schema::load(path, language))
        .transpose()?;
    if args.input_format == InputFormat::StreamJson {
        if args.prompt.is_some() || !args.words.is_empty() || schema.is_some() {
            let why = language.say(Word::ExecStreamOnly);
            return Err(UsageError(why.into()).into());
        }
        return crate::ops::run(boot, format(&args.output)).await;
    }
    let prompt = prompt(&args, language)?;
    let job = Job {
        open: which(&boot),
        prompt,
        format: format(&args.output),
        schema,
        farewell: Farewell::Say,
    };
    run(boot, job).await
}

/// Runs one prompt to its end and says how it went by the exit code.
pub async fn run(boot: Arc<Boot>, job: Job) -> anyhow::Result<u8> {
    let language = boot.language;
    let start = Instant::now();
    let attendance = match wants_prompts(&boot) {
        true => Attendance::Answers,
        false => Attendance::Nobody,
    };
    let format = match (&job.schema, job.format) {
        // An answer that has to be asked for again is not what the reader of stdout waits for.
        (Some(_), Format::Text) => Format::Final,
        (Some(_) | None, format) => format,
    };
    let mut printer = printer(&boot, format);
    let hub = ConversationHub::start(boot.clone(), attendance, |boot| warn(boot, &mut printer))?;
    let mut client = hub.open(job.open).await?;
    announce(&boot, &client, &mut printer)?;
    let instruction = job
        .schema
        .as_ref()
        .map(crate::schema_check::Schema::instruction);
    let prompt = match instruction {
        Some(instruction) => format!("{}\n\n{instruction}", job.prompt),
        None => job.prompt,
    };
    let mut signals = Signals::new()?;
    let answers = match attendance {
        Attendance::Answers => Answers::Terminal(language, None),
        Attendance::Nobody | Attendance::Program { .. } => Answers::Nobody,
    };
    let mut end = turn(
        &mut client,
        &mut printer,
        &mut signals,
        prompt,
        answers,
        language,
    )
    .await?;
    if let (Some(schema), Ended::Turn(End::Turn(Outcome::Done))) = (&job.schema, &end) {
        end = hold_to(
            schema,
            &mut client,
            &mut printer,
            &mut signals,
            end,
            language,
        )
        .await?;
    }
    let (end, code) = match end {
        Ended::Turn(end) => (end.clone(), code(&end)),
        Ended::ClosedPipe => return Ok(OK),
        Ended::Terminated => (End::Turn(Outcome::Interrupted), TERMINATED),
    };
    printer.result(&client.session_id, &end, start.elapsed())?;
    if job.farewell == Farewell::Say
        && !boot.global.quiet
        && !boot.global.no_save
        && boot.global.attach.remote.is_none()
        && end != End::Unrecorded
    {
        let id = client
            .session_id
            .get(..8)
            .unwrap_or(&client.session_id)
            .to_owned();
        printer.note(Ink::Grey, &format!("ostler resume {id}"))?;
    }
    quiet(printer.flush())?;
    close_noting(client, &mut printer).await;
    Ok(code)
}

/// How watching a turn ended.
pub enum Ended {
    Turn(End),
    /// Nobody reads our output any more.
    ClosedPipe,
    Terminated,
}

/// Sends a prompt and shows what happens until the turn is over.
pub async fn turn(
    client: &mut Client,
    printer: &mut Printer<Out, Err>,
    signals: &mut Signals,
    prompt: String,
    mut answers: Answers,
    language: Language,
) -> anyhow::Result<Ended> {
    let op = Op::Prompt {
        text: prompt,
        delivery: Delivery::Queue,
        images: Vec::new(),
    };
    let mut first = None;
    if client.snapshot.clients.is_remote() {
        match crate::conversation::joined::begin(client, printer, signals, op, language).await? {
            Began::Turn(event) => first = Some(*event),
            Began::Stopped(stop) => {
                printer.note(Ink::Grey, language.say(Word::PromptWaits))?;
                return Ok(match stop {
                    Stop::Interrupt => Ended::Turn(End::Turn(Outcome::Interrupted)),
                    Stop::Terminate => Ended::Terminated,
                });
            }
        }
    } else {
        let sent = client.ops.send(op).await;
        sent.context(language.say(Word::SessionEnded))?;
    }
    let mut stops = 0;
    loop {
        let event = tokio::select! {
            event = next(client, &mut first) => event,
            stop = signals.next() => match stopped(client, printer, stop, &mut stops, language).await? {
                Some(ended) => return Ok(ended),
                None => continue,
            },
        };
        let Some(event) = event else {
            anyhow::bail!(language.say(Word::EndedBadly));
        };
        match show(client, printer, event) {
            Ok(Shown::End(end)) => return Ok(Ended::Turn(end)),
            Ok(Shown::Gone) => anyhow::bail!(language.say(Word::EndedBadly)),
            Ok(Shown::Ask(ask)) => {
                let stop = tokio::select! {
                    answer = answers.get(&ask) => {
                        if let Some(answer) = answer? {
                            // The session may have ended while the person thought.
                            let _ = client.ops.send(answer).await;
                        }
                        continue;
                    }
                    stop = signals.next() => stop,
                };
                if let Some(ended) = stopped(client, printer, stop, &mut stops, language).await? {
                    return Ok(ended);
                }
            }
            Ok(Shown::Events) => {}
            Err(e) if e.kind() == io::ErrorKind::BrokenPipe => {
                client
                    .ops
                    .send(Op::Interrupt)
                    .await
                    .context(language.say(Word::SessionEnded))?;
                wait_for_end(client).await;
                return Ok(Ended::ClosedPipe);
            }
            Err(e) => return Err(e).context(language.say(Word::NoStdout)),
        }
    }
}

async fn next(client: &mut Client, first: &mut Option<Event>) -> Option<Event> {
    match first.take() {
        Some(event) => Some(event),
        None => client.events.next().await,
    }
}

/// The first Ctrl-C ends the turn as it should; a second does not wait for more to show, and who is told to go shows what
/// there is and goes.
async fn stopped(
    client: &mut Client,
    printer: &mut Printer<Out, Err>,
    stop: Stop,
    stops: &mut u32,
    language: Language,
) -> anyhow::Result<Option<Ended>> {
    *stops += 1;
    let interrupt = client.ops.send(Op::Interrupt).await;
    interrupt.context(language.say(Word::SessionEnded))?;
    let ended = match stop {
        Stop::Interrupt if *stops == 1 => return Ok(None),
        Stop::Interrupt => Ended::Turn(End::Turn(Outcome::Interrupted)),
        Stop::Terminate => {
            // Output that nobody takes any more must not keep us.
            let _ = tokio::time::timeout(PATIENCE, show_to_end(client, printer)).await;
            return Ok(Some(Ended::Terminated));
        }
    };
    wait_for_end(client).await;
    Ok(Some(ended))
}

async fn show_to_end(client: &mut Client, printer: &mut Printer<Out, Err>) -> io::Result<()> {
    while let Some(event) = client.events.next().await {
        if matches!(show(client, printer, event)?, Shown::End(_) | Shown::Gone) {
            break;
        }
    }
    Ok(())
}

enum Shown {
    Events,
    Ask(Arc<Ask>),
    End(End),
    /// The process that ran the turn is gone.
    Gone,
}

/// Shows an event and all others that have come meanwhile, in one write.
fn show(client: &mut Client, printer: &mut Printer<Out, Err>, first: Event) -> io::Result<Shown> {
    let now = ostler_engine::log::now();
    let mut next = Some(first);
    while let Some(event) = next {
        let end = printer.event(&event, &now)?;
        if let Some(end) = end {
            printer.flush()?;
            return Ok(Shown::End(end));
        }
        if let Event::Ask(ask) = event {
            printer.flush()?;
            return Ok(Shown::Ask(ask));
        }
        if event == Event::Delta(Delta::Idle) {
            printer.flush()?;
            return Ok(Shown::Gone);
        }
        next = client.events.try_next();
    }
    printer.flush()?;
    Ok(Shown::Events)
}

/// Where answers to asks come from.
pub enum Answers {
    Nobody,
    Terminal(Language, Option<Typed>),
}

impl Answers {
    async fn get(&mut self, ask: &Ask) -> io::Result<Option<Op>> {
        match self {
            Answers::Nobody => Ok(None),
            Answers::Terminal(language, lines) => {
                // Nothing is read before somebody is asked.
                let lines =
                    lines.get_or_insert_with(|| Typed::new(crate::input::read_lines(None), true));
                crate::asking::on_terminal(ask, *language, lines)
                    .await
                    .map(Some)
            }
        }
    }
}

async fn wait_for_end(client: &mut Client) {
    let _ = tokio::time::timeout(PATIENCE, async {
        while let Some(event) = client.events.next().await {
            if matches!(&event, Event::Entry(e) if matches!(e.body, ostler_wire::Body::TurnEnd(_)))
            {
                break;
            }
        }
    })
    .await;
}

async fn hold_to(
    schema: &crate::schema_check::Schema,
    client: &mut Client,
    printer: &mut Printer<Out, Err>,
    signals: &mut Signals,
    end: Ended,
    language: Language,
) -> anyhow::Result<Ended> {
    let Err(why) = schema.check(&printer.tally.text) else {
        return Ok(end);
    };
    printer.note(
        Ink::Yellow,
        &language.filled(Word::ExecSchemaAgain, &[&why]),
    )?;
    let again = turn(
        client,
        printer,
        signals,
        schema.repair(&why),
        Answers::Nobody,
        language,
    )
    .await?;
    if matches!(again, Ended::Turn(End::Turn(Outcome::Done)))
        && let Err(why) = schema.check(&printer.tally.text)
    {
        let message = language.filled(Word::ExecSchemaBad, &[&why]);
        printer.note(Ink::Red, &language.filled(Word::ErrorIs, &[&message]))?;
        printer.tally.error = Some(("output_schema".into(), message));
        return Ok(Ended::Turn(End::Turn(Outcome::Error)));
    }
    Ok(again)
}

/// `--permission-mode ask` with a terminal prompts on it.
fn wants_prompts(boot: &Boot) -> bool {
    boot.global.permission_mode == Some(crate::flags::PermissionMode::Ask)
        && io::stdin().is_terminal()
        && io::stderr().is_terminal()
}

/// The prompt of the flags, with what a pipe brings.
pub fn prompt(args: &Exec, language: Language) -> anyhow::Result<String> {
    let words = args.words.join(" ");
    let given = match (&args.prompt, words.as_str()) {
        (Some(prompt), _) => Some(prompt.clone()),
        (None, "" | "-") => None,
        (None, words) => Some(words.to_owned()),
    };
    let stdin = io::stdin();
    let Some(given) = given else {
        if stdin.is_terminal() {
            return Err(UsageError(language.say(Word::ExecNoPrompt).into()).into());
        }
        let text = read_all(stdin.lock(), language)?;
        if text.trim().is_empty() {
            return Err(UsageError(language.say(Word::ExecStdinEmpty).into()).into());
        }
        return Ok(text);
    };
    if given.trim().is_empty() {
        return Err(UsageError(language.say(Word::ExecEmpty).into()).into());
    }
    if stdin.is_terminal() {
        return Ok(given);
    }
    Ok(match piped(language)? {
        Some(text) if text.trim().is_empty() => given,
        Some(text) => format!("{given}{PIPED}{text}\n</stdin>"),
        None => {
            let _ = writeln!(io::stderr(), "{}", language.say(Word::ExecNoData));
            given
        }
    })
}

/// What the pipe has to say, or nothing when its first byte does not come in time.
fn piped(language: Language) -> anyhow::Result<Option<String>> {
    let (sender, receiver) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let mut stdin = io::stdin().lock();
        let mut first = [0; 1];
        let read = stdin.read(&mut first);
        // The receiver may have given up.
        let _ = sender.send(None);
        let rest = read.and_then(|n| {
            let mut bytes = first.get(..n).unwrap_or_default().to_vec();
            stdin.take(MAX_STDIN + 1).read_to_end(&mut bytes)?;
            Ok(bytes)
        });
        let _ = sender.send(Some(rest));
    });
    if receiver.recv_timeout(STDIN_PATIENCE).is_err() {
        return Ok(None);
    }
    match receiver.recv() {
        Ok(Some(bytes)) => Ok(Some(cut(
            bytes.context(language.say(Word::ExecNoStdin))?,
            language,
        ))),
        Ok(None) | Err(_) => Ok(None),
    }
}

fn read_all(input: impl Read, language: Language) -> anyhow::Result<String> {
    let mut bytes = Vec::new();
    input
        .take(MAX_STDIN + 1)
        .read_to_end(&mut bytes)
        .context(language.say(Word::ExecNoStdin))?;
    Ok(cut(bytes, language))
}

/// The text of a pipe, with a word on stderr when it brought too much.
fn cut(mut bytes: Vec<u8>, language: Language) -> String {
    if bytes.len() as u64 > MAX_STDIN {
        bytes.truncate(usize::try_from(MAX_STDIN).unwrap_or(usize::MAX));
        let most = MAX_STDIN >> 20;
        let _ = writeln!(
            io::stderr(),
            "{}",
            language.filled(Word::ExecStdinLong, &[&most])
        );
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
