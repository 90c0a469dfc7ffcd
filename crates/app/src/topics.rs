//! `ostler help TOPIC`: the pages of the documentation, which are in the binary; paged on a terminal, Markdown in a pipe.

use crate::boot;
use crate::exit::{FAILED, OK, TERMINATED};
use crate::keyboard::keyboard;
use crate::{color, hyperlinks, output};
use flate2::read::DeflateDecoder;
use ostler_host::signals::Signals;
use ostler_tui::dialog::Dialog;
use ostler_tui::links::Links;
use ostler_tui::screen::Narrowed;
use ostler_tui::terminal::RESET;
use ostler_tui::theme::{Look, Theme};
use ostler_wire::{Language, Word};
use std::ffi::OsString;
use std::io::{self, IsTerminal, Read as _, Write};

/// A page.
#[derive(Debug, PartialEq, Eq)]
pub struct Topic {
    pub name: &'static str,
    /// Compressed.
    packed: &'static [u8],
}

macro_rules! topics {
    ($($name:literal)*) => {
        /// Every page, in the order of the README.
        const TOPICS: &[Topic] = &[$(Topic {
            name: $name,
            packed: include_bytes!(concat!(env!("OUT_DIR"), "/", $name, ".md")),
        }),*];
    };
}

// tidy: table
topics! {
    "tutorial" "install" "import" "terminal" "exec" "serve" "api" "hosts" "editors" "mcp-server" "providers" "login"
    "permissions" "sandbox" "trust" "rewind"
    "context" "goals" "delegation" "subagents" "memory" "history"
    "skills" "hooks" "mcp"
    "cli" "config" "tools" "sessions" "measurements" "comparison"
}

/// The word that lists the topics.
const LIST: &str = "topics";
const PLACES: [&str; 2] = ["docs", LIST];

/// What `ostler help WORD` is about, where it is no command alone.
#[derive(Debug, PartialEq, Eq)]
pub enum Asked {
    Page(&'static Topic),
    List,
    /// It is neither a topic nor a command.
    Unknown(String),
}

/// Of a command line.
pub fn asked(words: &[OsString], is_command: impl Fn(&str) -> bool) -> Option<Asked> {
    let [_, help, topic] = words else {
        return None;
    };
    let (Some("help"), Some(topic)) = (help.to_str(), topic.to_str()) else {
        return None;
    };
    let page = TOPICS.iter().find(|page| page.name == topic);
    match page {
        Some(page) => Some(Asked::Page(page)),
        None if PLACES.contains(&topic) => Some(Asked::List),
        None if is_command(topic) || topic.starts_with('-') => None,
        None => Some(Asked::Unknown(topic.to_owned())),
    }
}

pub fn run(asked: &Asked, language: Language) -> anyhow::Result<u8> {
    match asked {
        Asked::Page(topic) => show(topic, language),
        Asked::List => {
            let row = |topic: &Topic| format!("  {:<13} {}\n", topic.name, topic.title());
            let rows: String = TOPICS.iter().map(row).collect();
            output::print(&format!("{}\n{rows}", language.say(Word::HelpTopics)))?;
            Ok(OK)
        }
        Asked::Unknown(name) => {
            let known = ostler_config::diagnose::nearest(name, TOPICS.iter().map(|t| t.name));
            let hint = known.map_or_else(String::new, |near| language.fill(Word::OrNear, &[near]));
            output::say(&language.fill(Word::HelpNoTopic, &[name, &hint]));
            Ok(crate::exit::USAGE)
        }
    }
}

fn show(topic: &Topic, language: Language) -> anyhow::Result<u8> {
    let env = boot::environment();
    let dumb = env.get("TERM").is_none_or(|t| t.is_empty() || t == "dumb");
    if dumb || !io::stdin().is_terminal() || !io::stdout().is_terminal() {
        output::print(&topic.text())?;
        return Ok(OK);
    }
    let look = match color::liked(&env) {
        true => Look::default(),
        false => Look::Mono,
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let mut signals = Signals::new()?;
        let theme = Theme::new(look).speaking(language);
        let terminal = (Narrowed::Cuts, hyperlinks::known(&env).then(Links::default));
        let out = io::BufWriter::with_capacity(1 << 16, io::stdout());
        let mut dialog = Dialog::open(keyboard()?, out, theme, terminal)?;
        let text = topic.text();
        let paged = tokio::select! {
            biased;
            paged = dialog.page(&text) => Some(paged),
            _ = signals.next() => None,
        };
        match paged {
            Some(paged) => {
                paged.and(dialog.close())?;
                Ok(OK)
            }
            None => {
                drop(dialog);
                let mut out = io::stdout();
                let told = out.write_all(RESET.as_bytes()).and_then(|()| out.flush());
                Ok(told.map_or(FAILED, |()| TERMINATED))
            }
        }
    })
}

impl Topic {
    fn source(&self) -> String {
        let mut text = String::new();
        let unpacked = DeflateDecoder::new(self.packed).read_to_string(&mut text);
        debug_assert!(unpacked.is_ok(), "{}", self.name);
        text
    }

    fn title(&self) -> String {
        let source = self.source();
        let first = source.lines().next().unwrap_or_default();
        first.trim_start_matches("# ").to_owned()
    }

    /// The page without pictures, whose links name other topics.
    fn text(&self) -> String {
        let source = self.source();
        let lines = source.lines().filter(|line| !line.starts_with("!["));
        let mut text = String::with_capacity(source.len());
        let mut in_code = false;
        for line in lines {
            in_code ^= line.starts_with("```");
            match in_code {
                true => text.push_str(line),
                false => relink(line, &mut text),
            }
            text.push('\n');
        }
        text
    }
}

/// Links to pages become the command that shows them; links into the sources keep their words alone.
fn relink(line: &str, out: &mut String) {
    let mut rest = line;
    while let Some((label, target, after)) = next_link(rest) {
        let (before, words) = label;
        out.push_str(before);
        let page = target.split('#').next().unwrap_or_default();
        let name = page.strip_suffix(".md").unwrap_or_default();
        let is_page = TOPICS.iter().any(|topic| topic.name == name);
        let is_address = target.contains("://");
        match (is_page, is_address) {
            (true, _) if words == page => out.push_str(&format!("`ostler help {name}`")),
            (true, _) => out.push_str(&format!("{words} (`ostler help {name}`)")),
            (false, true) => out.push_str(&format!("[{words}]({target})")),
            (false, false) => out.push_str(words),
        }
        rest = after;
    }
    out.push_str(rest);
}

/// What stands before the next `[words](target)` and its words, its target, and what follows.
fn next_link(text: &str) -> Option<((&str, &str), &str, &str)> {
    let middle = text.find("](")?;
    let start = text.get(..middle)?.rfind('[')?;
    let (target, after) = text.get(middle + 2..)?.split_once(')')?;
    let before = text.get(..start)?;
    let words = text.get(start + 1..middle)?;
    Some(((before, words), target, after))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_asked_for() {
        let is_command = |word: &str| word == "acp";
        for (line, expect) in [
            ("ostler help permissions", Some("permissions")),
            ("ostler help topics", Some("(list)")),
            ("ostler help acp", None),
            ("ostler help", None),
            ("ostler help --plain", None),
            ("ostler exec help", None),
            ("ostler help permisions", Some("permisions?")),
        ] {
            let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
            let got = asked(&words, is_command).map(|asked| match asked {
                Asked::Page(topic) => topic.name.to_owned(),
                Asked::List => "(list)".to_owned(),
                Asked::Unknown(name) => format!("{name}?"),
            });
            assert_eq!(got.as_deref(), expect, "{line}");
        }
    }

    #[test]
    fn every_page_has_a_title_and_no_link_to_a_file() {
        for topic in TOPICS {
            assert!(topic.source().starts_with("# "), "{}", topic.name);
            let text = topic.text();
            let mut targets = text.split("](").skip(1);
            let to_file =
                targets.find(|rest| rest.split(')').next().is_some_and(|t| t.contains(".md")));
            assert_eq!(to_file, None, "{}", topic.name);
            assert!(!text.contains("\n!["), "{}", topic.name);
        }
    }

    #[test]
    fn links_name_topics() {
        for (line, expect) in [
            ("see [trust.md](trust.md)", "see `ostler help trust`"),
            (
                "a [rule](permissions.md#rules) and [x](http://x/y)",
                "a rule (`ostler help permissions`) and [x](http://x/y)",
            ),
            ("[the list](../crates/x.txt).", "the list."),
            ("[below](#rules)", "below"),
            ("no [link] here", "no [link] here"),
        ] {
            let mut out = String::new();
            relink(line, &mut out);
            assert_eq!(out, expect);
        }
    }
}
