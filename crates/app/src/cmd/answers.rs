//! The commands about no session that answer with a view: the table that front ends ask through a hub. Each view is made by
//! the function whose answer `ostler x` prints. Commands that ask the person, start a program or write a document are not
//! here.

use super::{
    agents, cache, checkpoint, config, doctor, mcp, memory, models, permissions, sessions,
};
use super::{trust, usage};
use crate::boot::Boot;
use crate::errors::Told as _;
use crate::flags::{Command, SessionsCommand};
use crate::lenient::Lenient;
use crate::typed;
use clap::Parser;
use ostler_config::text::Speak as _;
use ostler_engine::HubCommands;
use ostler_wire::{BoxFuture, HubError, View, Word};
use std::sync::Arc;
use tokio::runtime::Handle;

/// Characters of a name that is none.
const MAX_NAME_SHOWN: usize = 60;

/// What the first word of a line stands for.
struct HubCommand {
    name: &'static str,
    /// The command of `ostler`.
    command: &'static str,
    /// What is meant where nothing follows the name.
    usual: &'static [&'static str],
}

const fn row(
    name: &'static str,
    command: &'static str,
    usual: &'static [&'static str],
) -> HubCommand {
    HubCommand {
        name,
        command,
        usual,
    }
}

// tidy: table
#[rustfmt::skip]
const COMMANDS: &[HubCommand] = &[
    row("agents", "agents", &["list"]),
    row("cache", "cache", &["why"]),
    row("checkpoints", "checkpoint", &["list"]),
    row("checkpoint", "checkpoint", &["list"]),
    row("config", "config", &["show"]),
    row("settings", "config", &["show"]),
    row("doctor", "doctor", &[]),
    row("mcp", "mcp", &["list"]),
    row("memory", "memory", &["list"]),
    row("permissions", "permissions", &["list"]),
    row("sessions", "sessions", &["list"]),
    row("skills", "skills", &["list"]),
    row("trust", "trust", &["--list"]),
    row("usage", "usage", &[]),
];

/// A line without the flags of the whole program: it is about the project of the hub.
#[derive(Parser)]
#[command(
    name = "ostler",
    disable_help_subcommand = true,
    disable_help_flag = true
)]
struct Line {
    #[command(subcommand)]
    command: Command,
}

/// Answers lines of front ends, with the configuration as it is then.
pub struct Answers(pub Arc<Boot>);

impl HubCommands for Answers {
    fn answer(&self, line: String) -> BoxFuture<'_, Result<View, HubError>> {
        let boot = self.0.clone();
        Box::pin(async move {
            let language = boot.language;
            // Most of them read many files.
            let runtime = Handle::current();
            let work = move || runtime.block_on(answer(&boot, &line));
            match tokio::task::spawn_blocking(work).await {
                Ok(Ok(view)) => Ok(view),
                Ok(Err(error)) => Err(HubError(language.told(&error))),
                Err(panic) => Err(HubError(panic.to_string())),
            }
        })
    }
}

async fn answer(boot: &Arc<Boot>, line: &str) -> anyhow::Result<View> {
    let language = boot.language;
    let command = parse(line, boot)?;
    let start = Lenient::again(boot);
    let view = view(&start, command).await?;
    view.ok_or_else(|| anyhow::anyhow!(language.filled(Word::HubNoView, &[&line])))
}

fn parse(line: &str, boot: &Boot) -> anyhow::Result<Command> {
    let language = boot.language;
    let words = words(line);
    let (name, rest) = match words.split_first() {
        Some((name, rest)) => (name.as_str(), rest),
        None => ("", &[][..]),
    };
    let Some(row) = COMMANDS.iter().find(|row| row.name == name) else {
        let names: Vec<&str> = COMMANDS.iter().map(|row| row.name).collect();
        let name = ostler_wire::clip(name, MAX_NAME_SHOWN);
        anyhow::bail!(language.filled(Word::HubNoCommand, &[&name, &names.join(", ")]));
    };
    let usual = row.usual.iter().map(|word| (*word).to_owned());
    let rest: Vec<String> = match rest.is_empty() {
        true => usual.collect(),
        false => rest.to_vec(),
    };
    let all = ["ostler", row.command].map(str::to_owned);
    let line = Line::try_parse_from(all.into_iter().chain(rest));
    let line = line.map_err(|error| anyhow::anyhow!(typed::fault(&error, language)))?;
    Ok(line.command)
}

/// What a command answers. `None` where it does something else than answer.
async fn view(start: &Lenient, command: Command) -> anyhow::Result<Option<View>> {
    let boot = &start.boot;
    match command {
        Command::Sessions(SessionsCommand::Stored(args)) => sessions::view(start, &args),
        Command::Config(args) => Ok(config::view(boot, &args)),
        Command::Permissions(args) => permissions::view(start, &args).await,
        Command::Memory(args) => Ok(memory::view(boot, &args)),
        Command::Mcp(args) => mcp::view(start, &args),
        Command::Skills(args) => Ok(Some(agents::skills(boot, &args))),
        Command::Agents(_) => Ok(Some(agents::agents(boot))),
        Command::Doctor(args) => Ok(Some(doctor::answer(start, &args).await)),
        Command::Trust(args) => trust::view(boot, &args),
        Command::Usage(args) => Ok(Some(usage::view(boot, &args))),
        Command::Models { .. } => Ok(Some(models::view(boot))),
        Command::Cache(args) => Ok(Some(cache::view(boot, &args))),
        Command::Checkpoint(args) => checkpoint::view(boot, args).await.map(Some),
        Command::Sessions(SessionsCommand::Resume(_))
        | Command::Exec(_)
        | Command::Resume(_)
        | Command::Handoff(_)
        | Command::Setup(_)
        | Command::Import(_)
        | Command::Login(_)
        | Command::Logout(_)
        | Command::Auth(_)
        | Command::Demo(_)
        | Command::Serve(_)
        | Command::Acp
        | Command::Host(_)
        | Command::McpServer(_)
        | Command::Uninstall(_)
        | Command::Completions { .. }
        | Command::Man => Ok(None),
    }
}

/// The words of a line; quotes keep blanks in a word.
fn words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    for letter in line.chars() {
        match quote {
            Some(open) if letter == open => quote = None,
            Some(_) => word.get_or_insert_default().push(letter),
            None if letter == '"' || letter == '\'' => {
                quote = Some(letter);
                word.get_or_insert_default();
            }
            None if letter.is_whitespace() => words.extend(word.take()),
            None => word.get_or_insert_default().push(letter),
        }
    }
    words.extend(word);
    words
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::boot::Surroundings;
    use crate::flags::{Cli, Global};
    use ostler_config::paths::{Env, Places, Platform};
    use ostler_testkit::TempWorkspace;
    use ostler_wire::Language;
    use serde_json::Value;

    const CONFIG: &str = "[permissions]\nallow = [\"Bash(git status)\"]\n\n[[providers]]\nname = \"mock\"\nkind = \"openai-chat\"\nbase_url = \"http://127.0.0.1:9/v1\"\napi_key = \"sk-hidden-key-0123456789\"\nmodels = [\"m\"]\n";
    const SERVERS: &str = "{\"mcpServers\": {\"files\": {\"command\": \"files-server\"}}}";
    const SKILL: &str = "---\nname: tidy\ndescription: Puts things in order\n---\nSweep.\n";
    const FACT: &str = "---\nname: Ports\ndescription: Where the gateway listens\ntype: reference\ncreated: 2020-01-05T10:00:00Z\nupdated: 2020-01-06T10:00:00Z\n---\nThe quagga gateway is 7741.\n";
    const LEDGER: &str = "{\"ts\":\"2020-01-05T23:30:00.000Z\",\"session\":\"aaaaaaaa-0000-4000-8000-000000000001\",\"project\":\"shop-12345678\",\"role\":\"\",\"provider\":\"mock\",\"model\":\"m\",\"input\":4000,\"cached\":2000,\"cache_write\":0,\"output\":10,\"cost\":1.5}\n";
    const ID: &str = "aaaaaaaa-0000-4000-8000-000000000001";

    fn prepared() -> (TempWorkspace, Arc<Boot>) {
        let space = TempWorkspace::new();
        let home = space.home().to_owned();
        space.write(home.join("config.toml"), CONFIG);
        space.write(home.join("mcp.json"), SERVERS);
        space.write(home.join("skills/tidy/SKILL.md"), SKILL);
        space.write(home.join("memory/global/ports.md"), FACT);
        space.write(home.join("ledger.jsonl"), LEDGER);
        let project = ostler_engine::store::project_name(space.root());
        let log = [
            "{\"entry\":0,\"parent\":null,\"ts\":\"2020-01-01T00:00:00Z\",\"type\":\"meta\",\"schema_version\":1,\"session_id\":\"aaaaaaaa-0000-4000-8000-000000000001\",\"root\":\"/project\",\"prefix\":\"p\"}",
            "{\"entry\":1,\"parent\":0,\"ts\":\"2020-01-01T00:00:01Z\",\"type\":\"message\",\"role\":\"user\",\"text\":\"find the quagga\"}",
        ];
        space.write(
            home.join(format!("sessions/{project}/{ID}.jsonl")),
            log.join("\n") + "\n",
        );
        let text = |path: &std::path::Path| path.display().to_string();
        let env: Env = [
            ("HOME", text(space.user_home())),
            ("OSTLER_HOME", text(&home)),
        ]
        .map(|(name, value)| (name.to_owned(), value))
        .into_iter()
        .collect();
        let mut places = Places::find(&env, space.root(), None, Platform::CURRENT).unwrap();
        places.root = places.root.canonicalize().unwrap();
        let around = Surroundings {
            env,
            places,
            language: Language::English,
        };
        let boot = Boot::at(&Global::default(), around).unwrap();
        (space, Arc::new(boot))
    }

    /// What `ostler x` prints for programs.
    async fn printed(boot: &Arc<Boot>, words: &[&str]) -> Value {
        let words = std::iter::once(&"ostler").chain(words);
        let cli = Cli::try_parse_from(words).unwrap();
        let start = Lenient {
            boot: boot.clone(),
            fault: None,
        };
        let view = view(&start, cli.command.unwrap()).await.unwrap();
        view.unwrap().json()
    }

    #[tokio::test]
    async fn a_hub_answers_each_command_as_the_command_line_does() {
        let (_space, boot) = prepared();
        let json: &[&str] = &["--format", "json"];
        let mut seen = Vec::new();
        for (line, words, format) in [
            ("agents", "agents list", json),
            ("cache", "cache why", json),
            ("checkpoint", "checkpoint list", json),
            ("checkpoints", "checkpoint list", json),
            ("config", "config show", json),
            ("config show --origin", "config show --origin", json),
            ("doctor", "doctor", &["--json"]),
            ("mcp", "mcp list", json),
            ("memory", "memory list", json),
            ("memory search quagga", "memory search quagga", json),
            ("permissions", "permissions list", json),
            (
                "permissions check bash ls",
                "permissions check bash ls",
                json,
            ),
            ("sessions", "sessions list", json),
            ("sessions search \"quagga\"", "sessions search quagga", json),
            ("sessions show aaaa", "sessions show aaaa", json),
            ("settings", "config show", json),
            ("skills", "skills list", json),
            ("trust", "trust --list", json),
            ("usage", "usage", json),
            ("usage --by model", "usage --by model", json),
        ] {
            let asked = Answers(boot.clone()).answer(line.to_owned()).await.unwrap();
            let words: Vec<&str> = words.split(' ').chain(format.iter().copied()).collect();
            let value = asked.json();
            assert_eq!(value, printed(&boot, &words).await, "{line}");
            assert!(
                !value.is_null() && !asked.is_failure() || line == "doctor",
                "{line}"
            );
            seen.push(line);
        }
        let unseen = COMMANDS.iter().filter(|row| !seen.contains(&row.name));
        assert_eq!(unseen.count(), 0);
        let answers = Answers(boot.clone());
        let sessions = answers.answer("sessions".into()).await.unwrap();
        assert_eq!(sessions.json()[0]["id"], ID);
    }

    #[tokio::test]
    async fn what_is_no_such_command_is_an_error_that_helps() {
        let (_space, boot) = prepared();
        for (line, expect) in [
            (
                "frobnicate",
                "There is no command `frobnicate` here. Commands: agents, cache,",
            ),
            ("", "There is no command `` here"),
            ("login", "There is no command `login` here"),
            (
                "config set a b",
                "`ostler config set a b` works on the command line only",
            ),
            ("memory edit x", "works on the command line only"),
            ("trust --yes", "works on the command line only"),
            ("usage --by moon", "is not a valid value"),
            ("usage --root /", "unknown argument `--root`"),
            ("sessions show none", "none"),
        ] {
            let answered = Answers(boot.clone()).answer(line.to_owned()).await;
            let told = match answered {
                Err(HubError(why)) | Ok(View::Error(why)) => why,
                Ok(other) => panic!("{line}: {other:?}"),
            };
            assert!(told.contains(expect), "{line}: {told}");
        }
    }

    #[test]
    fn quotes_keep_blanks_in_a_word() {
        for (line, expect) in [
            ("a  b", vec!["a", "b"]),
            ("check bash \"rm -rf x\"", vec!["check", "bash", "rm -rf x"]),
            ("a '' \"it's\"", vec!["a", "", "it's"]),
            ("", vec![]),
        ] {
            assert_eq!(words(line), expect, "{line}");
        }
    }
}
