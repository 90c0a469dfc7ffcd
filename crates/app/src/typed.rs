//! What was typed on the command line, read; and what is wrong with it, or the help that was asked for, in the person's
//! language. The flags themselves are in `flags`.

use crate::boot;
use crate::exit::USAGE;
use crate::flags::{Cli, Global, chinese};
use clap::error::{ContextKind, ContextValue, Error, ErrorKind};
use clap::{CommandFactory, Parser};
use ostler_config::diagnose::nearest;
use ostler_wire::{Language, Word};
use std::ffi::OsString;
use std::io::{self, IsTerminal, Write};

/// What the library writes around a help text, and the same in Chinese.
// tidy: table
const FRAME: [(&str, &str); 16] = [
    ("Usage: ", "用法："),
    ("Start:", "开始："),
    ("Sessions:", "会话："),
    ("Set up:", "设置："),
    ("Inspect:", "查看："),
    ("[OPTIONS]", "[选项]"),
    ("\"PROMPT\" | COMMAND", "\"提示\" | 命令"),
    (
        "`ostler COMMAND --help` explains a command.",
        "`ostler 命令 --help` 说明某个命令。",
    ),
    (
        "Flags of all commands: ostler --help",
        "所有命令的选项：ostler --help",
    ),
    ("Commands:", "命令："),
    ("Arguments:", "参数："),
    ("Options:", "选项："),
    ("[alias: ", "[别名："),
    ("[aliases: ", "[别名："),
    ("Print help", "显示帮助"),
    ("Print version", "显示版本"),
];

/// Or the exit code where there is nothing to run: help was given, or what was typed cannot be understood.
pub fn parse(mut words: Vec<OsString>, language: Language) -> Result<Cli, u8> {
    let mut parsed = Cli::try_parse_from(&words);
    // A word with a blank in it is no command: it is the first prompt.
    if let Err(error) = &parsed
        && let Some(at) = prompt_at(error, &words)
    {
        words.insert(at, "--start-with".into());
        parsed = Cli::try_parse_from(&words);
    }
    parsed.map_err(|mut error| {
        let code = u8::try_from(error.exit_code()).unwrap_or(USAGE);
        better_tips(&mut error);
        // Settings may name another language than the environment does; what is wrong with them matters later.
        let around = boot::surroundings(&Global::default());
        match around.map_or(language, |around| around.language) {
            // A reader that went away is no error.
            Language::English => drop(print(&error, &words)),
            Language::Chinese => {
                let translated = match error.kind() {
                    ErrorKind::DisplayHelp => grouped(chinese::translated(Cli::command())),
                    _ => chinese::translated(Cli::command()),
                };
                let mut again = translated.try_get_matches_from(words).err();
                if let Some(again) = &mut again {
                    better_tips(again);
                }
                drop(tell(&again.unwrap_or(error)));
            }
        }
        code
    })
}

/// Where the first prompt stands that was taken for a command.
fn prompt_at(error: &Error, words: &[OsString]) -> Option<usize> {
    if error.kind() != ErrorKind::InvalidSubcommand {
        return None;
    }
    let wrong = error.get(ContextKind::InvalidSubcommand)?.to_string();
    let is_prompt = wrong.trim().contains(char::is_whitespace);
    let mut words = words.iter();
    words
        .position(|word| word.to_str() == Some(wrong.as_str()))
        .filter(|_| is_prompt)
}

fn print(error: &Error, words: &[OsString]) -> io::Result<()> {
    // Help of a command shows the flags of all commands once, at the top.
    let is_help = error.kind() == ErrorKind::DisplayHelp;
    let again = is_help
        .then(|| grouped(Cli::command()).try_get_matches_from(words).err())
        .flatten();
    again.as_ref().unwrap_or(error).print()?;
    match hint(error, Language::English) {
        Some(hint) => writeln!(io::stderr(), "{}", hint.trim_start_matches('\n')),
        None => Ok(()),
    }
}

/// What somebody who comes from another agent may have meant.
fn hint(error: &Error, language: Language) -> Option<String> {
    if let Some(ours) = ours(error) {
        return Some(language.fill(Word::FlagPeer, &[ours]));
    }
    if error.kind() != ErrorKind::InvalidSubcommand
        || error.get(ContextKind::SuggestedSubcommand).is_some()
    {
        return None;
    }
    let word = error.get(ContextKind::InvalidSubcommand)?.to_string();
    Some(language.fill(Word::FlagQuote, &[&word]))
}

/// What a flag or a command of another agent is here.
fn ours(error: &Error) -> Option<&'static str> {
    let of = |kind| error.get(kind).map(ToString::to_string);
    match error.kind() {
        ErrorKind::UnknownArgument => {
            let arg = of(ContextKind::InvalidArg)?;
            let peer = PEERS.iter().find(|(theirs, _)| arg.starts_with(theirs));
            peer.map(|(_, ours)| *ours)
        }
        ErrorKind::InvalidSubcommand => {
            let word = of(ContextKind::InvalidSubcommand)?;
            let peer = PEER_COMMANDS.iter().find(|(theirs, _)| *theirs == word);
            peer.map(|(_, ours)| *ours)
        }
        _ => None,
    }
}

/// The library's guesses are by the beginning of a word (`--mode` for `--modle`): the nearest by letters is better, and where
/// we know what is meant there is nothing to guess.
fn better_tips(error: &mut Error) {
    if ours(error).is_some() {
        error.remove(ContextKind::SuggestedArg);
        error.remove(ContextKind::SuggestedSubcommand);
        error.remove(ContextKind::Usage);
        return;
    }
    let Some(wrong) = error.get(ContextKind::InvalidArg).map(ToString::to_string) else {
        return;
    };
    if error.kind() != ErrorKind::UnknownArgument || error.get(ContextKind::SuggestedArg).is_none()
    {
        return;
    }
    let command = Cli::command();
    let flags = command.get_arguments().filter_map(clap::Arg::get_long);
    if let Some(flag) = nearest(wrong.trim_start_matches('-'), flags) {
        let flag = ContextValue::String(format!("--{flag}"));
        error.insert(ContextKind::SuggestedArg, flag);
        error.remove(ContextKind::Usage);
    }
}

/// Commands that other agents have.
// tidy: table
const PEER_COMMANDS: &[(&str, &str)] = &[
    ("version", "ostler --version"),
    ("init", "/init, in a conversation"),
    ("chat", "ostler"),
    ("continue", "ostler -c"),
    ("status", "ostler doctor"),
    ("stats", "ostler usage"),
    ("history", "ostler sessions search WORDS"),
    ("list", "ostler sessions list"),
    ("agent", "ostler agents"),
    ("web", "ostler serve"),
    ("review", "/review, in a conversation"),
];

/// Flags that other agents have, and what they are here.
// tidy: table
const PEERS: &[(&str, &str)] = &[
    ("--print", "-p"),
    ("--full-auto", "--permission-mode auto"),
    ("--ask-for-approval", "--permission-mode"),
    ("--approval-mode", "--permission-mode"),
    ("--yes", "--yolo"),
    ("--dangerously-bypass", "--yolo --no-sandbox"),
    ("--append-system-prompt", "--system-prompt"),
    ("--allowedTools", "--allow"),
    ("--disallowedTools", "--allowed-tools '!NAME'"),
    ("--max-turns", "--max-steps"),
    ("--json", "--format json"),
    ("--cd", "--root"),
    ("--cwd", "--root"),
    ("--image", "@picture.png in the prompt"),
    ("--resume-last", "--continue"),
    ("--last", "--continue"),
];

/// The command line as its help shows it: commands in groups, and the flags of all commands at the top alone.
pub fn grouped(command: clap::Command) -> clap::Command {
    let mut command = command;
    command.build();
    let groups = command_groups(&command);
    command
        .mut_subcommands(hidden)
        .override_usage("ostler [OPTIONS] [\"PROMPT\" | COMMAND]")
        .help_template(format!(
            "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n{groups}\nOptions:\n{{options}}\n\n`ostler COMMAND --help` explains a command, `ostler help TOPIC` shows a page of the documentation, `ostler help topics` lists them."
        ))
}

/// Without the flags of all commands. A command's own may have the same id as one of those.
fn hidden(command: clap::Command) -> clap::Command {
    command
        .mut_args(|arg| match arg.is_global_set() {
            true => arg.hide(true),
            false => arg,
        })
        .mut_subcommands(hidden)
        .after_help("Flags of all commands: ostler --help")
}

/// Names of commands, in the order and under the heads of help.
// tidy: table
const GROUPS: &[(&str, &[&str])] = &[
    (
        "Start",
        &["exec", "resume", "demo", "serve", "acp", "mcp-server"],
    ),
    (
        "Sessions",
        &["sessions", "handoff", "checkpoint", "usage", "cache"],
    ),
    (
        "Set up",
        &[
            "setup", "import", "config", "models", "login", "logout", "auth", "mcp", "trust",
            "host",
        ],
    ),
    (
        "Inspect",
        &[
            "doctor",
            "permissions",
            "memory",
            "skills",
            "agents",
            "man",
            "completions",
            "uninstall",
        ],
    ),
];

fn command_groups(command: &clap::Command) -> String {
    let mut text = String::new();
    for (head, names) in GROUPS {
        text.push_str(&format!("\n{head}:\n"));
        for name in *names {
            let about = command
                .find_subcommand(name)
                .and_then(clap::Command::get_about);
            let about = about.map(ToString::to_string).unwrap_or_default();
            text.push_str(&format!("  {name:<12} {about}\n"));
        }
    }
    text
}

fn tell(error: &Error) -> io::Result<()> {
    let to_stdout = !error.use_stderr();
    let text = match error.kind() {
        ErrorKind::DisplayHelp
        | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand
        | ErrorKind::DisplayVersion => help(error, to_stdout),
        _ => format!("ostler: {}\n", fault(error, Language::Chinese)),
    };
    match to_stdout {
        true => io::stdout().write_all(text.as_bytes()),
        false => io::stderr().write_all(text.as_bytes()),
    }
}

fn help(error: &Error, to_stdout: bool) -> String {
    let is_terminal = match to_stdout {
        true => io::stdout().is_terminal(),
        false => io::stderr().is_terminal(),
    };
    let plain = boot::environment().contains_key("NO_COLOR");
    let text = match is_terminal && !plain {
        true => error.render().ansi().to_string(),
        false => error.render().to_string(),
    };
    FRAME
        .iter()
        .fold(text, |text, (from, to)| text.replace(from, to))
}

/// What is wrong, and where to look further.
pub fn fault(error: &Error, to: Language) -> String {
    let of = |kind| error.get(kind).map(ToString::to_string);
    let arg = of(ContextKind::InvalidArg).unwrap_or_default();
    let value = of(ContextKind::InvalidValue).unwrap_or_default();
    let mut text = match error.kind() {
        ErrorKind::UnknownArgument => to.fill(Word::FlagUnknown, &[&arg]),
        ErrorKind::InvalidSubcommand => {
            let command = of(ContextKind::InvalidSubcommand).unwrap_or_default();
            to.fill(Word::FlagNoCommand, &[&command])
        }
        ErrorKind::InvalidValue if value.is_empty() => to.fill(Word::FlagNoValue, &[&arg]),
        ErrorKind::InvalidValue => to.fill(Word::FlagBadValue, &[&value, &arg]),
        ErrorKind::ValueValidation => {
            let why = std::error::Error::source(error).map(ToString::to_string);
            let text = to.fill(Word::FlagBadValue, &[&value, &arg]);
            why.map_or(text.clone(), |why| to.fill(Word::Because, &[&text, &why]))
        }
        ErrorKind::MissingRequiredArgument => to.fill(Word::FlagMissing, &[&arg]),
        ErrorKind::MissingSubcommand => to.say(Word::FlagWantsCommand).into(),
        ErrorKind::ArgumentConflict => {
            let other = of(ContextKind::PriorArg).unwrap_or_default();
            to.fill(Word::FlagConflict, &[&arg, &other])
        }
        ErrorKind::NoEquals
        | ErrorKind::TooManyValues
        | ErrorKind::TooFewValues
        | ErrorKind::WrongNumberOfValues => to.fill(Word::FlagCount, &[&arg]),
        ErrorKind::InvalidUtf8 => to.say(Word::FlagNotText).into(),
        _ => error.render().to_string().trim_end().to_owned(),
    };
    let meant = [
        ContextKind::SuggestedArg,
        ContextKind::SuggestedSubcommand,
        ContextKind::SuggestedValue,
    ];
    if let Some(meant) = meant.into_iter().find_map(of) {
        text.push_str(&to.fill(Word::FlagMeant, &[&meant]));
    }
    let values = of(ContextKind::ValidValue).filter(|values| !values.is_empty());
    if let Some(values) = values {
        text.push_str(&to.fill(Word::FlagValues, &[&values]));
    }
    let usage = of(ContextKind::Usage).unwrap_or_default();
    let usage = usage.trim().trim_start_matches("Usage:").trim();
    if !usage.is_empty() {
        text.push_str(&to.fill(Word::FlagUsage, &[usage]));
    }
    if let Some(hint) = hint(error, to) {
        text.push_str(&hint);
    }
    text + to.say(Word::FlagHelp)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prompt_is_no_command() {
        let words = |texts: &[&str]| -> Vec<OsString> {
            let all = std::iter::once("ostler").chain(texts.iter().copied());
            all.map(OsString::from).collect()
        };
        for (typed, prompt, resume, last) in [
            (&["fix the bug"][..], Some("fix the bug"), None, false),
            (
                &["--plain", "fix the bug"],
                Some("fix the bug"),
                None,
                false,
            ),
            (&["-c", "and the docs"], Some("and the docs"), None, true),
            (&["-r"], None, Some(""), false),
            (&["-r", "3bec"], None, Some("3bec"), false),
        ] {
            let cli = parse(words(typed), Language::English).unwrap();
            let got = (
                cli.start.as_deref(),
                cli.resume.as_deref(),
                cli.continue_last,
            );
            assert_eq!(got, (prompt, resume, last), "{typed:?}");
            assert!(cli.command.is_none());
        }
        assert!(Cli::try_parse_from(["ostler", "exce"]).is_err());
    }

    #[test]
    fn what_is_meant_is_named() {
        for (typed, expect, never) in [
            ("--modle x", "--model", "'--mode'"),
            ("--continu", "--continue", "nothing"),
            ("--print hi", "Here it is `-p`", "--plain"),
            ("--approval-mode yolo", "`--permission-mode`", "tip"),
            ("version", "`ostler --version`", "sessions"),
            ("init", "`/init, in a conversation`", "in quotes"),
            ("exce", "exec", "in quotes"),
        ] {
            let words = std::iter::once("ostler").chain(typed.split(' '));
            let mut error = Cli::try_parse_from(words).unwrap_err();
            better_tips(&mut error);
            let hint = hint(&error, Language::English).unwrap_or_default();
            let said = format!("{}{hint}", error.render());
            assert!(said.contains(expect) && !said.contains(never), "{said}");
        }
    }

    #[test]
    fn help_has_every_command_once_and_the_flags_of_all_at_the_top() {
        let help = |words: &[&str]| {
            let error = grouped(Cli::command())
                .try_get_matches_from(words)
                .unwrap_err();
            error.render().to_string()
        };
        let top = help(&["ostler", "--help"]);
        for command in Cli::command().get_subcommands() {
            let name = command.get_name();
            let grouped = GROUPS.iter().flat_map(|(_, names)| names.iter());
            assert_eq!(grouped.filter(|n| **n == name).count(), 1, "{name}");
            assert!(top.contains(&format!("\n  {name:<12} ")), "{name}");
        }
        assert!(top.contains("--permission-mode"), "{top}");
        let sub = help(&["ostler", "sessions", "list", "--help"]);
        assert!(sub.contains("--all") && !sub.contains("--effort"), "{sub}");
    }

    #[test]
    fn what_is_typed_wrongly_is_told_in_chinese() {
        for (words, expect) in [
            ("--nope", "没有参数 `--nope`"),
            ("--moedl x", "；是否想用 `--model`？"),
            ("frobnicate", "没有命令 `frobnicate`"),
            (
                "exec --format bad",
                "`bad` 不是 `--format <FORMAT>` 的有效值；可选：text, json, result",
            ),
            ("sessions show", "缺少 `<ID>`"),
            ("--model", "`--model <MODEL>` 需要一个值"),
            ("resume --last x", "不能同时使用"),
            ("checkpoint show x", "`x` 不是 `<ID>` 的有效值"),
        ] {
            let words = std::iter::once("ostler").chain(words.split(' '));
            let error = Cli::try_parse_from(words).unwrap_err();
            let text = fault(&error, Language::Chinese);
            assert!(text.contains(expect), "{text}");
            assert!(text.ends_with("更多信息请用 --help。"), "{text}");
        }
        let words = ["ostler", "sessions", "--help"];
        let error = chinese::translated(Cli::command()).try_get_matches_from(words);
        let text = help(&error.unwrap_err(), true);
        assert!(text.contains("用法：ostler sessions"), "{text}");
        for english in FRAME.map(|(english, _)| english) {
            assert!(!text.contains(english), "{text}");
        }
    }
}
