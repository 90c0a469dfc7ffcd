//! The first read-only classifier for shell text: plain listed words with nothing clever around them are readers.
//! Pure and total; what it is not sure about is one segment that is not read-only. It is no shell parser.

mod readers;

use ostler_wire::Segment;
use readers::{Check, Options, Reader};

/// Longer commands are scripts; nobody needs them to be readers.
const MAX_COMMAND: usize = 4096;

/// The plain commands of a shell line when all are readers, else the whole line as one segment that is not.
pub fn segments(command: &str) -> Vec<Segment> {
    readers_of(command).unwrap_or_else(|| {
        vec![Segment {
            text: command.to_owned(),
            read_only: false,
        }]
    })
}

fn readers_of(command: &str) -> Option<Vec<Segment>> {
    let commands = split(command)?;
    if commands.is_empty() || !commands.iter().all(|words| is_reader(words)) {
        return None;
    }
    Some(
        commands
            .iter()
            .map(|words| Segment {
                text: words.join(" "),
                read_only: true,
            })
            .collect(),
    )
}

/// Simple commands as words after quote removal; `None` when the text has anything but words, quotes, `;` and newlines.
fn split(command: &str) -> Option<Vec<Vec<String>>> {
    if command.len() > MAX_COMMAND {
        return None;
    }
    let mut commands = Vec::new();
    let mut words: Vec<String> = Vec::new();
    let mut word: Option<String> = None;
    let mut chars = command.chars();
    while let Some(c) = chars.next() {
        match c {
            ' ' | '\t' => words.extend(word.take()),
            ';' | '\n' => {
                words.extend(word.take());
                if !words.is_empty() {
                    commands.push(std::mem::take(&mut words));
                } else if c == ';' {
                    return None;
                }
            }
            '\'' | '"' => {
                let word = word.get_or_insert_default();
                loop {
                    match chars.next()? {
                        end if end == c => break,
                        '\0' => return None,
                        '$' | '`' | '\\' | '!' if c == '"' => return None,
                        inside => word.push(inside),
                    }
                }
            }
            plain if is_plain(plain) => word.get_or_insert_default().push(plain),
            _ => return None,
        }
    }
    words.extend(word);
    if !words.is_empty() {
        commands.push(words);
    }
    Some(commands)
}

/// Means itself, unquoted, in every shell we know.
fn is_plain(c: char) -> bool {
    c.is_alphanumeric() || "-_./:,@+=%^".contains(c)
}

fn is_reader(words: &[String]) -> bool {
    let mut words: Vec<&str> = words.iter().map(String::as_str).collect();
    if words.starts_with(&["git", "--no-pager"]) {
        words.remove(1);
    }
    readers::READERS.iter().any(|reader| {
        let name: Vec<&str> = reader.words.split(' ').collect();
        words
            .strip_prefix(name.as_slice())
            .is_some_and(|args| accepts(reader, args))
    })
}

fn accepts(reader: &Reader, args: &[&str]) -> bool {
    let operands = || args.iter().filter(|arg| !is_option(arg));
    let options_fit = args
        .iter()
        .filter(|arg| is_option(arg))
        .all(|arg| option_fits(&reader.options, arg));
    options_fit
        && match reader.check {
            Check::Any => true,
            Check::Alone => args.is_empty(),
            Check::NoOperands => operands().next().is_none(),
            Check::OneOperand => operands().count() <= 1 && !args.contains(&"--"),
            Check::DateFormat => operands().all(|arg| arg.starts_with('+')),
            Check::Listing => args.contains(&"--list") || operands().next().is_none(),
            // These look into their operands, and some shells expand what they find there.
            Check::Inert => args.iter().all(|arg| !arg.contains(['$', '`', '['])),
            Check::Printf => {
                args.iter().all(|arg| !arg.contains(['$', '`', '[']))
                    && args.first().is_none_or(|format| plain_format(format))
            }
        }
}

/// A lone `-` is a file.
fn is_option(arg: &str) -> bool {
    arg.len() > 1 && arg.starts_with('-')
}

fn option_fits(options: &Options, arg: &str) -> bool {
    let name = arg.split_once('=').map_or(arg, |(name, _)| name);
    match options {
        Options::Only(allowed) => {
            allowed.contains(&name) || allowed.contains(&"-1") && is_count(arg)
        }
        Options::Except { long, short } => {
            if name.starts_with("--") {
                // A unique beginning of a long option is that option.
                name == "--" || !long.iter().any(|bad| bad.starts_with(name))
            } else {
                !arg.contains(|c| short.contains(c))
            }
        }
    }
}

/// `-20`, as in `git log -20`.
fn is_count(arg: &str) -> bool {
    arg.strip_prefix('-')
        .is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()))
}

/// No `%n`, which assigns a variable in some shells, and no option such as `-v`.
fn plain_format(format: &str) -> bool {
    let mut rest = format;
    while let Some((_, after)) = rest.split_once('%') {
        let spec = after.trim_start_matches(|c: char| "-+ #'.*".contains(c) || c.is_ascii_digit());
        let Some(conversion) = spec.chars().next() else {
            return false;
        };
        if !"%sdiuxXocbqeEfFgG".contains(conversion) {
            return false;
        }
        rest = &spec[conversion.len_utf8()..];
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_read_only(command: &str) -> bool {
        segments(command).iter().all(|s| s.read_only)
    }

    #[test]
    fn every_row_keeps_its_examples() {
        for reader in readers::READERS {
            assert!(!reader.yes.is_empty(), "{} needs an example", reader.words);
            for example in reader.yes {
                assert!(is_read_only(example), "{example}");
                assert!(example.starts_with(reader.words), "{example}");
            }
            for example in reader.no {
                assert!(!is_read_only(example), "{example}");
                assert!(example.starts_with(reader.words), "{example}");
            }
        }
    }

    #[test]
    fn plain_commands_become_segments_after_quote_removal() {
        let check = |command: &str, expect: &[&str]| {
            let texts: Vec<String> = segments(command).into_iter().map(|s| s.text).collect();
            assert_eq!(texts, expect, "{command}");
            assert!(is_read_only(command), "{command}");
        };
        check("ls", &["ls"]);
        check("  ls   -la\tsrc ", &["ls -la src"]);
        check("sleep 0.3; echo 'a b';", &["sleep 0.3", "echo a b"]);
        check("pwd\n\nls\n", &["pwd", "ls"]);
        check(r#"grep -rn "fn main" src"#, &["grep -rn fn main src"]);
        check("grep -E '^a|b$(c)' x", &["grep -E ^a|b$(c) x"]);
        check("'ls' ''", &["ls "]);
        check("git --no-pager log -5", &["git --no-pager log -5"]);
        check("echo žluťoučký 日本", &["echo žluťoučký 日本"]);
    }

    #[test]
    fn anything_clever_is_one_writer() {
        let long = format!("echo {}", "a".repeat(MAX_COMMAND));
        let commands = [
            "",
            " ",
            "\n",
            ";",
            ";;",
            "; ls",
            "ls;; ls",
            "rm x",
            "ls; rm x",
            "ls\nrm x",
            "ls && pwd",
            "ls || pwd",
            "ls & pwd",
            "ls | wc",
            "ls > x",
            "cat < x",
            "ls 2>&1",
            "echo $HOME",
            "echo `id`",
            "echo \"$(id)\"",
            "echo \"`id`\"",
            "echo \"\\x\"",
            "echo \"!x\"",
            "ls *.rs",
            "ls a?",
            "ls [ab]",
            "ls {a,b}",
            "ls ~",
            "ls \\\n-la",
            "(ls)",
            "! ls",
            "ls # x",
            "A=1 ls",
            "PATH=x ls",
            "echo 'open",
            "echo \"open",
            "ls\rrm x",
            "ls\u{a0}x",
            "ls\0",
            "'ls x'",
            "/bin/ls",
            "sudo ls",
            "env ls",
            "exec ls",
            "time ls",
            "if true; then ls; fi",
            "cd /; ls",
            "git",
            "git -c core.fsmonitor=x status",
            "git -C x status",
            "git --exec-path=x log",
            "command rm x",
            "eval ls",
            "source x",
            ". x",
            "sh -c ls",
            "xargs ls",
            "LS",
            "ls\u{2028}rm",
            long.as_str(),
        ];
        for command in commands {
            let expect = [Segment {
                text: command.to_owned(),
                read_only: false,
            }];
            assert_eq!(segments(command), expect, "{command:?}");
        }
    }

    proptest::proptest! {
        #[test]
        fn it_is_total_and_never_lets_an_operator_through(text in "[ -~\n]{0,40}") {
            let command = format!("ls {text}");
            let all = segments(&command);
            if all.iter().all(|s| s.read_only) {
                let clever = unquoted(&command).contains(|c| "$`<>|&*?[]{}~\\()!#".contains(c));
                proptest::prop_assert!(!clever);
            }
        }
    }

    /// The text outside of quotes, by the simplest reading of it.
    fn unquoted(command: &str) -> String {
        let mut quote = None;
        let mut out = String::new();
        for c in command.chars() {
            match quote {
                Some(open) if c == open => quote = None,
                Some(_) => {}
                None if c == '\'' || c == '"' => quote = Some(c),
                None => out.push(c),
            }
        }
        out
    }
}
