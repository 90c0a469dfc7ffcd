//! What was typed on the command line, read; and what is wrong with it, or the help that was asked for, in the person's
//! language. The flags themselves are in `flags`.

use crate::boot;
use crate::exit::USAGE;
use crate::flags::{Cli, Global, chinese};
use clap::error::{ContextKind, Error, ErrorKind};
use clap::{CommandFactory, Parser};
use ostler_wire::{Language, Word};
use std::ffi::OsString;
use std::io::{self, IsTerminal, Write};

/// What the library writes around a help text, and the same in Chinese.
// tidy: table
const FRAME: [(&str, &str); 8] = [
    ("Usage: ", "用法："),
    ("Commands:", "命令："),
    ("Arguments:", "参数："),
    ("Options:", "选项："),
    ("[alias: ", "[别名："),
    ("[aliases: ", "[别名："),
    ("Print help", "显示帮助"),
    ("Print version", "显示版本"),
];

/// Or the exit code where there is nothing to run: help was given, or what was typed cannot be understood.
pub fn parse(words: Vec<OsString>, language: Language) -> Result<Cli, u8> {
    Cli::try_parse_from(&words).map_err(|error| {
        let code = u8::try_from(error.exit_code()).unwrap_or(USAGE);
        // Settings may name another language than the environment does; what is wrong with them matters later.
        let around = boot::surroundings(&Global::default());
        match around.map_or(language, |around| around.language) {
            // A reader that went away is no error.
            Language::English => drop(error.print()),
            Language::Chinese => {
                let translated = chinese::translated(Cli::command());
                let again = translated.try_get_matches_from(words).err();
                drop(tell(&again.unwrap_or(error)));
            }
        }
        code
    })
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
    text + to.say(Word::FlagHelp)
}

#[cfg(test)]
mod tests {
    use super::*;

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
