//! Commands that documents show, held against the program's own help.

use super::markdown::Document;
use std::collections::HashMap;

/// What shows that the rest is a command of ours.
const STARTS: &[&str] = &["ostler ", "$ ostler ", "cargo run --release -- "];

/// The help of a command by its words; `None` when there is no such command.
type Ask<'a> = &'a mut dyn FnMut(&[&str]) -> Option<String>;

pub fn check(documents: &[Document], ask: Ask<'_>) -> Vec<String> {
    let mut helps: HashMap<String, Option<String>> = HashMap::new();
    let mut help = |words: &[&str]| {
        helps
            .entry(words.join(" "))
            .or_insert_with(|| ask(words))
            .clone()
    };
    let mut wrong = Vec::new();
    for document in documents {
        for line in &document.lines {
            for code in &line.code {
                for command in commands(code) {
                    if let Some(why) = fault(command, &mut help) {
                        let place = format!("{}:{}", document.path, line.number);
                        wrong.push(format!("{place}: `{}`: {why}", command.trim()));
                    }
                }
            }
        }
    }
    wrong
}

/// The commands of a line, without the program's name. One may follow another one's pipe.
fn commands(code: &str) -> impl Iterator<Item = &str> {
    code.split(['|', ';'])
        .map(str::trim)
        .filter_map(|part| STARTS.iter().find_map(|start| part.strip_prefix(start)))
}

fn fault(command: &str, help: Ask<'_>) -> Option<String> {
    let plain = command.split(['#', '"', '\'', '>', '<']).next()?;
    let words: Vec<&str> = plain.split_whitespace().collect();
    let mut path: Vec<&str> = Vec::new();
    let top = help(&[])?;
    let mut text = top.clone();
    let mut is_path = true;
    let mut after_flag = false;
    for word in words {
        let flag = word.split('=').next().unwrap_or_default();
        if flag.starts_with('-') && flag.len() > 1 && flag != "--" {
            let is_shared = text.contains(SHARED_FLAGS) && flags(&top).any(|known| known == flag);
            if !is_shared && !flags(&text).any(|known| known == flag) {
                let of: Vec<&str> = ["ostler"].into_iter().chain(path).collect();
                return Some(format!("{} has no {flag}", of.join(" ")));
            }
            after_flag = true;
            continue;
        }
        // What follows is a page of the documentation, or a command.
        if path.is_empty() && word == "help" {
            return None;
        }
        let names: Vec<&str> = subcommands(&text).collect();
        let is_name = word.chars().all(|c| c.is_ascii_lowercase() || c == '-');
        let is_value = std::mem::take(&mut after_flag) && !names.contains(&word);
        if !is_path || is_value {
            continue;
        }
        if names.is_empty() || !is_name {
            is_path = false;
            continue;
        }
        let is_listed = names.contains(&word);
        path.push(word);
        // An alias is not listed; of what is no command the help is that of the commands above.
        let own = help(&path).filter(|own| is_listed || *own != text);
        let Some(own) = own else {
            return Some(format!("there is no command {word}"));
        };
        text = own;
    }
    None
}

/// What stands in the help of a command that takes the flags of the top, too.
const SHARED_FLAGS: &str = "Flags of all commands:";
/// Headings of a help that list no commands.
const OTHER_LISTS: [&str; 2] = ["Arguments:", "Options:"];

/// Names and aliases in the lists of commands, whatever stands above them.
fn subcommands(help: &str) -> impl Iterator<Item = &str> {
    let lists = help.split("\n\n").filter(|list| {
        let heading = list.lines().next().unwrap_or_default();
        heading.ends_with(':') && !OTHER_LISTS.contains(&heading)
    });
    lists
        .flat_map(|list| list.lines().skip(1))
        .flat_map(|line| {
            let name = line.strip_prefix("  ").filter(|l| !l.starts_with(' '));
            let name = name.and_then(|l| l.split_whitespace().next());
            let aliases = line.split("[alias").nth(1).unwrap_or_default();
            let aliases = aliases.split([':', ']']).nth(1).unwrap_or_default();
            name.into_iter()
                .chain(aliases.split(',').map(str::trim).filter(|a| !a.is_empty()))
        })
}

fn flags(help: &str) -> impl Iterator<Item = &str> {
    help.split([' ', ',', '\n', '[', ']', '='])
        .filter(|word| word.starts_with('-') && word.len() > 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOP: &str = "\
Usage: ostler [OPTIONS] [COMMAND]

Start:
  exec      Run one prompt [aliases: run]

Look:
  sessions  List sessions

Options:
  -p, --prompt <PROMPT>  Run
      --root <DIR>       Work in
";

    fn help(words: &[&str]) -> Option<String> {
        match words {
            [] => Some(TOP.into()),
            ["exec" | "run"] => Some(
                "Usage: x\n\nOptions:\n      --format <F>\n\nFlags of all commands: x\n".into(),
            ),
            ["sessions"] => Some("Commands:\n  show  What was said\n\nOptions:\n".into()),
            ["sessions", "show"] => Some("Usage: y <ID>\n\nOptions:\n      --format <F>\n".into()),
            _ => None,
        }
    }

    #[test]
    fn only_what_the_program_knows() {
        for (line, expect) in [
            ("ostler exec -p \"explain --this\"", None),
            ("git diff | ostler run --format json -p x", None),
            ("cargo run --release -- exec", None),
            ("ostler -p \"x\"", None),
            ("ostler --root there exec --format json", None),
            ("ostler sessions show 1f2e --format=json > out", None),
            ("ostler <command>", None),
            ("ostler 0.1.0", None),
            ("`ostler.toml`", None),
            ("ostler help permissions", None),
            ("ostler fly", Some("there is no command fly")),
            ("ostler exec --wings", Some("ostler exec has no --wings")),
            ("ostler sessions fly", Some("there is no command fly")),
            (
                "ostler sessions show x -p y",
                Some("ostler sessions show has no -p"),
            ),
        ] {
            let document = Document::new("a.md", &format!("```\n{line}\n```\n"));
            let found = check(&[document], &mut help);
            let expect: Vec<String> = expect
                .map(|why| {
                    let shown = line.strip_prefix("ostler ").unwrap_or(line);
                    format!("a.md:2: `{shown}`: {why}")
                })
                .into_iter()
                .collect();
            assert_eq!(found, expect, "{line}");
        }
    }
}
