//! The binary `ostler`: flags in, a front end out. Logic lives in the crates below.

mod acp;
mod around;
mod asking;
mod auth;
mod boot;
mod client;
mod cmd;
mod color;
mod conformance;
#[cfg(unix)]
mod connect;
mod conversation;
mod delegates;
mod demo;
mod drafts;
mod errors;
mod exec;
mod exit;
mod extras;
mod flags;
mod front;
mod grants;
mod home;
mod hyperlinks;
mod input;
mod keyboard;
mod lenient;
mod line;
mod live;
mod location;
mod looks;
mod mcp_server;
mod models;
mod ops;
mod output;
mod pictures;
mod place;
mod policy;
mod print;
mod prompts;
mod remote;
mod resume;
mod sandbox;
mod schema_check;
mod secret;
mod serve;
mod servers;
mod setup;
mod topics;
mod trust;
mod typed;
mod wiring;

use boot::Boot;
use clap::CommandFactory as _;
use errors::{Told as _, UsageError};
use flags::{Cli, Command, SessionsCommand};
use lenient::Lenient;
use ostler_host::signals::Stop;
use ostler_wire::{Language, Word};
use std::cell::Cell;
use std::ffi::OsString;
use std::io::Write as _;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;
use wiring::plugins::learn;

/// That of the release, which the build is told; else that of the sources.
pub const VERSION: &str = match option_env!("OSTLER_VERSION") {
    Some(version) => version,
    None => env!("CARGO_PKG_VERSION"),
};

fn main() -> ExitCode {
    // The process may have been started to look after the commands of another one.
    ostler_host::watchdog::run_if_asked();
    #[cfg(unix)]
    if let Some(code) = connect::run_if_asked() {
        return code;
    }
    if let Some(code) = place::run_if_asked() {
        return code;
    }
    if let Some(code) = conformance::run_if_asked() {
        return code;
    }
    // Until a configuration is read, which may name another one.
    let language = Cell::new(ostler_config::locale::chosen(None, &boot::environment()));
    let words: Vec<OsString> = std::env::args_os().collect();
    if let Some(topic) = topics::asked(&words, is_command) {
        return match topics::run(&topic, language.get()) {
            Ok(code) => ExitCode::from(code),
            Err(error) => fail(&error, language.get()),
        };
    }
    let cli = match typed::parse(arguments(words), language.get()) {
        Ok(cli) => cli,
        Err(code) => return ExitCode::from(code),
    };
    let runtime = match tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
    {
        Ok(runtime) => runtime,
        Err(error) => return fail(&error.into(), language.get()),
    };
    let wants_result = wants_result(&cli);
    let start = Instant::now();
    let working = async {
        tokio::select! {
            ended = run(cli, &language) => ended,
            stopped = stopped_early() => stopped,
        }
    };
    let code = match runtime.block_on(working) {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            if wants_result {
                let said = language.get().told(&error);
                print::failed_early(&said, exit_code(&error), start.elapsed());
            }
            fail(&error, language.get())
        }
    };
    runtime.block_on(place::finish());
    // Servers and plugins are dead before anybody else reads what they wrote.
    if let Some(notice) = runtime.block_on(ostler_engine::confine::helpers::finish()) {
        let _ = writeln!(std::io::stderr(), "{notice}");
    }
    if let Some(word) = ostler_llm::trust_notice() {
        output::say(language.get().say(word));
    }
    // A thread may still sit in a read of stdin; nothing is worth waiting for.
    runtime.shutdown_background();
    crate::grants::remove_temp();
    code
}

/// The exit code of a signal that nothing else heeds while a server or plugin is there: what it wrote is put back before the
/// process ends. Without one the system ends the process.
async fn stopped_early() -> anyhow::Result<u8> {
    ostler_engine::confine::helpers::started().await;
    Ok(match ostler_host::signals::unhandled().await? {
        Stop::Interrupt => exit::INTERRUPTED,
        Stop::Terminate => exit::TERMINATED,
    })
}

/// `ostler help acp` is `ostler acp --help`.
fn arguments(mut words: Vec<OsString>) -> Vec<OsString> {
    if words.get(1).is_some_and(|word| word == "help") {
        words.remove(1);
        words.push("--help".into());
    }
    // `ostler --attach URL SESSION`.
    if let [_, attach, _, session] = words.as_slice()
        && attach == "--attach"
        && is_session(session)
    {
        words.insert(3, "--session".into());
    }
    words
}

/// Neither a flag nor a command.
fn is_session(word: &std::ffi::OsStr) -> bool {
    word.to_str()
        .is_some_and(|word| !word.starts_with('-') && !is_command(word))
}

fn is_command(word: &str) -> bool {
    flags::Cli::command().find_subcommand(word).is_some()
}

/// `language` becomes that of the configuration as soon as it is read.
async fn run(cli: Cli, language: &Cell<Language>) -> anyhow::Result<u8> {
    if let Some(prompt) = cli.prompt.clone() {
        if cli.command.is_some() {
            return Err(UsageError(language.get().say(Word::PromptAlone).into()).into());
        }
        return prompt_alone(prompt, &cli.global, cli.output, language).await;
    }
    let global = with_place(&cli)?;
    check_place(&global, cli.command.as_ref(), language.get())?;
    let command = with_output(cli.command, cli.output, language.get())?;
    check_attach(&global, command.as_ref(), language.get())?;
    let boot = || -> anyhow::Result<Arc<Boot>> {
        let boot = Boot::new(&global)?;
        language.set(boot.language);
        Ok(Arc::new(remote::attached(boot)?))
    };
    let lenient = || -> anyhow::Result<Lenient> {
        let lenient = Lenient::new(&global)?;
        language.set(lenient.boot.language);
        Ok(lenient)
    };
    match command {
        Some(Command::Exec(args)) => exec::exec(begin(boot()?).await?, args).await,
        Some(Command::Resume(args)) => resume_any(begin(boot()?).await?, args).await,
        Some(Command::Host(what)) => place::run(boot()?, what).await,
        Some(Command::Setup(args)) => set_up(boot()?, args).await,
        Some(Command::Import(args)) => cmd::import::run(lenient()?, args),
        Some(Command::Sessions(SessionsCommand::Resume(args))) => {
            resume_any(lenient()?.strict()?, args).await
        }
        Some(Command::Sessions(SessionsCommand::Stored(args))) => {
            cmd::sessions::run(lenient()?, args)
        }
        Some(Command::Handoff(args)) => cmd::handoff::run(&lenient()?.warned(), args).await,
        Some(Command::Config(args)) => cmd::config::run(lenient()?, args),
        Some(Command::Login(args)) => cmd::login::login(&*boot()?, args).await,
        Some(Command::Logout(args)) => cmd::login::logout(&lenient()?.warned(), args).await,
        Some(Command::Auth(flags::Auth::Login(args))) => cmd::login::login(&*boot()?, args).await,
        Some(Command::Auth(flags::Auth::Logout(args))) => {
            cmd::login::logout(&lenient()?.warned(), args).await
        }
        Some(Command::Auth(flags::Auth::Status { format })) => {
            cmd::login::status(&lenient()?.warned(), format)
        }
        Some(Command::Permissions(args)) => cmd::permissions::run(lenient()?, args).await,
        Some(Command::Memory(args)) => cmd::memory::run(&lenient()?.warned(), &args),
        Some(Command::Mcp(args)) => cmd::mcp::run(boot()?, args).await,
        Some(Command::Skills(args)) => cmd::agents::run_skills(&lenient()?.warned(), &args),
        Some(Command::Agents(args)) => cmd::agents::run_agents(&lenient()?.warned(), &args),
        Some(Command::Doctor(args)) => examine(lenient()?, args).await,
        Some(Command::Trust(args)) => cmd::trust::run(lenient()?, args),
        Some(Command::Models { format }) => cmd::models::run(&*boot()?, format),
        Some(Command::Usage(args)) => cmd::usage::run(&lenient()?.warned(), args),
        Some(Command::Cache(args)) => cmd::cache::run(&lenient()?.warned(), &args),
        Some(Command::Checkpoint(args)) => {
            let boot = place::reach(lenient()?.warned()).await?;
            cmd::checkpoint::run(boot, args).await
        }
        Some(Command::Demo(args)) => demo::run(global, args, language.get()).await,
        Some(Command::Serve(args)) => serve::run(global, args, language).await,
        Some(Command::Acp) => acp::run(&global, language).await,
        Some(Command::McpServer(args)) => Box::pin(mcp_server::run(global, args, language)).await,
        Some(Command::Uninstall(args)) => cmd::uninstall::run(&lenient()?.warned(), &args),
        Some(Command::Completions { shell }) => cmd::completions::completions(shell),
        Some(Command::Man) => cmd::completions::man(),
        None => {
            let boot = boot()?;
            converse(cli.continue_last, cli.resume, cli.start, boot).await
        }
    }
}

/// Setup, and the conversation where the person wants one next.
async fn set_up(boot: Arc<Boot>, args: flags::Setup) -> anyhow::Result<u8> {
    match Box::pin(setup::run(&boot, args)).await? {
        setup::Outcome::Over(code) => Ok(code),
        setup::Outcome::Converse => {
            let boot = begin(Arc::new(boot.anew()?)).await?;
            let which = conversation::which(&boot);
            talk(boot, which, None).await
        }
    }
}

/// A conversation, with the offer of an import before the first one.
async fn converse(
    continue_last: bool,
    resume: Option<String>,
    start: Option<String>,
    mut boot: Arc<Boot>,
) -> anyhow::Result<u8> {
    let ask = async |names: &str| setup::wants_to_import(&boot, names).await;
    if cmd::import::offer(&boot, ask).await? {
        boot = Arc::new(boot.anew()?);
    }
    let boot = begin(boot).await?;
    let which = match (continue_last, resume.as_deref()) {
        (true, _) => ostler_wire::Open::Last,
        (false, Some(id)) if !id.is_empty() => ostler_wire::Open::Resume(id.to_owned()),
        (false, _) => conversation::which(&boot),
    };
    // Without an id the list of sessions is the first thing to see.
    let first = match resume.as_deref() {
        Some("") => Some("/resume".to_owned()),
        _ => start,
    };
    talk(boot, which, first).await
}

/// A session of ours, or one of another agent that is taken over first.
async fn resume_any(boot: Arc<Boot>, mut args: flags::Resume) -> anyhow::Result<u8> {
    if let Some(agent) = args.from.take() {
        match cmd::import::resume_theirs(&boot, &agent, args.id.as_deref())? {
            Some(id) => args.id = Some(id),
            None => return Ok(exit::OK),
        }
    }
    resume::run(boot, args).await
}

/// What stands before every conversation: plugins are known, and the place that the flags name is connected.
async fn begin(boot: Arc<Boot>) -> anyhow::Result<Arc<Boot>> {
    place::reach(learn(boot).await?).await
}

/// `ostler doctor`, with what is found at the place that the flags name.
async fn examine(start: Lenient, args: flags::Doctor) -> anyhow::Result<u8> {
    let found = place::findings(&start.boot).await;
    cmd::doctor::run(start, args, found).await
}

/// The flags with the place of the session that they name, if it belongs to another place than this machine.
fn with_place(cli: &Cli) -> anyhow::Result<flags::Global> {
    let mut global = cli.global.clone();
    let resumed = match &cli.command {
        Some(Command::Resume(args) | Command::Sessions(SessionsCommand::Resume(args))) => {
            args.id.as_deref()
        }
        Some(_) | None => cli.resume.as_deref(),
    };
    let named = resumed.or(global.session.as_deref()).map(str::to_owned);
    if let Some(id) = named.filter(|id| !id.is_empty()) {
        let around = boot::surroundings(&global)?;
        let sessions = around.places.home.join("sessions");
        let found = location::of_session(&global, &around.places.home, &sessions, &id);
        global = found.unwrap_or(global);
    }
    Ok(global)
}

/// Some commands work on this machine alone.
fn check_place(
    global: &flags::Global,
    command: Option<&Command>,
    language: Language,
) -> anyhow::Result<()> {
    let is_here = matches!(
        command,
        Some(
            Command::Serve(_)
                | Command::Acp
                | Command::McpServer(_)
                | Command::Demo(_)
                | Command::Import(_)
                | Command::Sessions(SessionsCommand::Resume(_))
        )
    );
    match is_here && (global.place.names_place() || global.tmux.is_some()) {
        true => Err(UsageError(language.say(Word::PlaceNotHere).into()).into()),
        false => Ok(()),
    }
}

/// Sessions of a server are shown by what shows sessions.
fn check_attach(
    global: &flags::Global,
    command: Option<&Command>,
    language: Language,
) -> anyhow::Result<()> {
    if global.attach.url.is_some() && global.place != flags::PlaceFlags::default() {
        return Err(UsageError(language.say(Word::PlaceNotHere).into()).into());
    }
    let shows = matches!(command, None | Some(Command::Exec(_) | Command::Resume(_)));
    match global.attach.url.is_some() && !shows {
        true => Err(remote::refuse(language)),
        false => Ok(()),
    }
}

/// `ostler -p PROMPT` is `ostler exec -p PROMPT`.
async fn prompt_alone(
    prompt: String,
    global: &flags::Global,
    output: flags::Output,
    language: &Cell<Language>,
) -> anyhow::Result<u8> {
    let boot = Boot::new(global)?;
    language.set(boot.language);
    let boot = begin(Arc::new(remote::attached(boot)?)).await?;
    let args = flags::Exec {
        words: Vec::new(),
        prompt: Some(prompt),
        output,
        input_format: flags::InputFormat::Text,
        output_schema: None,
    };
    exec::exec(boot, args).await
}

/// A conversation, on the terminal UI where that fits.
pub async fn talk(
    boot: Arc<Boot>,
    which: ostler_wire::Open,
    first: Option<String>,
) -> anyhow::Result<u8> {
    if !looks::fits(&boot) {
        return line::run(boot, which, first).await;
    }
    // A session that is there has a model, or is joined where it runs.
    let is_new = matches!(which, ostler_wire::Open::New);
    let boot = match is_new && setup::is_needed(&boot) {
        // Who leaves setup reads what else can be done.
        true => setup::first(&boot).await?.unwrap_or(boot),
        false => boot,
    };
    Box::pin(front::run(boot, which, first)).await
}

/// An output format that stands before a command belongs to it.
fn with_output(
    command: Option<Command>,
    before: flags::Output,
    language: Language,
) -> Result<Option<Command>, UsageError> {
    if !before.is_set() {
        return Ok(command);
    }
    let mut command =
        command.ok_or_else(|| UsageError(language.say(Word::FormatNoPrompt).into()))?;
    let own = match &mut command {
        Command::Exec(args) => &mut args.output,
        Command::Resume(args) | Command::Sessions(SessionsCommand::Resume(args)) => {
            &mut args.output
        }
        Command::Demo(args) => &mut args.output,
        Command::Sessions(SessionsCommand::Stored(_))
        | Command::Handoff(_)
        | Command::Config(_)
        | Command::Permissions(_)
        | Command::Memory(_)
        | Command::Mcp(_)
        | Command::Skills(_)
        | Command::Agents(_)
        | Command::Setup(_)
        | Command::Import(_)
        | Command::Login(_)
        | Command::Logout(_)
        | Command::Auth(_)
        | Command::Doctor(_)
        | Command::Trust(_)
        | Command::Usage(_)
        | Command::Models { .. }
        | Command::Cache(_)
        | Command::Checkpoint(_)
        | Command::Serve(_)
        | Command::Acp
        | Command::Host(_)
        | Command::McpServer(_)
        | Command::Uninstall(_)
        | Command::Completions { .. }
        | Command::Man => {
            return Err(UsageError(language.say(Word::FormatAfter).into()));
        }
    };
    *own = own.or(before);
    Ok(Some(command))
}

/// Whether the reader of stdout waits for a result object, also when nothing could be run.
fn wants_result(cli: &Cli) -> bool {
    let output = match &cli.command {
        None if cli.prompt.is_some() => cli.output,
        Some(Command::Exec(args)) => args.output.or(cli.output),
        Some(Command::Resume(args)) if args.prompt.is_some() => args.output.or(cli.output),
        Some(_) | None => return false,
    };
    matches!(
        exec::format(&output),
        print::Format::Stream | print::Format::Result
    )
}

fn exit_code(error: &anyhow::Error) -> u8 {
    match error.downcast_ref::<UsageError>() {
        Some(_) => exit::USAGE,
        None => exit::FAILED,
    }
}

/// What happened, on stderr; the code says whose fault it was.
fn fail(error: &anyhow::Error, language: Language) -> ExitCode {
    output::say(&format!("ostler: {}", language.told(error)));
    ExitCode::from(exit_code(error))
}
