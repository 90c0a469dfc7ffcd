//! From the words of one command to what they cause: files by the text that names them, hosts, marks, and whether the
//! command is a known reader. Paths are not resolved here, and nothing is looked up.

use super::commands::{self, Files};
use super::readers::{self, Check, Options, Reader};
use super::word::Word;
use ostler_wire::Mark;

/// Everything below a folder, and everything visible below it.
pub const DEEP: &str = "/**";
pub const DEEP_VISIBLE: &str = "/[!.]**";

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Touch {
    Read(String),
    Write(String),
    /// `*` where the words do not tell the host.
    Net(String),
}

#[derive(Default)]
pub struct Effects {
    pub touches: Vec<Touch>,
    pub marks: Vec<Mark>,
    /// A known reader, as far as its words tell; where it reads is in `touches`.
    pub reader: bool,
    /// Whether the touches are all that it does to files.
    pub understood: bool,
    /// What it runs is in no text that can be read here. Its own words are known all the same.
    pub runs_text: bool,
}

pub fn of(words: &[Word]) -> Effects {
    let mut out = Effects::default();
    let texts: Vec<&str> = words.iter().map(|w| w.text.as_str()).collect();
    let Some((name, args)) = words.split_first() else {
        return out;
    };
    let base = name.text.rsplit('/').next().unwrap_or_default();
    if commands::PRIVILEGE.contains(&base) {
        out.marks.push(Mark::Privilege);
    }
    if commands::PROCESS.contains(&base) {
        out.marks.push(Mark::Process);
    }
    if is_reader(words) {
        out.reader = true;
        out.understood = true;
        reads(base, args, &mut out);
        return out;
    }
    let short = [base].into_iter().chain(texts.iter().skip(1).copied());
    let short: Vec<&str> = short.collect();
    if commands::NET_ANY
        .iter()
        .any(|entry| commands::starts(&short, entry))
    {
        out.touches.push(Touch::Net("*".into()));
    }
    if commands::NET_OPERANDS.contains(&base) {
        net(args, &mut out);
    }
    if let Some(writer) = commands::WRITERS.iter().find(|w| w.name == base) {
        out.understood = true;
        out.marks.extend(writer.mark);
        writes(writer.files, args, &mut out);
    }
    match base {
        "dd" => out.touches.extend(args.iter().filter_map(|a| {
            let read = a.text.strip_prefix("if=").map(|p| Touch::Read(p.into()));
            read.or_else(|| a.text.strip_prefix("of=").map(|p| Touch::Write(p.into())))
        })),
        "sed" | "perl"
            if args.iter().any(|a| {
                a.text.starts_with("-i")
                    || a.text.starts_with("--in-place")
                    || short_has(&a.text, 'i')
            }) =>
        {
            out.touches
                .extend(operands(args).skip(1).map(|a| Touch::Write(a.text.clone())));
        }
        "sort" => out
            .touches
            .extend(value_of(args, "-o", "--output").map(Touch::Write)),
        _ => {}
    }
    let runs_text = commands::INTERPRETERS.contains(&base)
        || commands::SHELLS.contains(&base)
        || base == "parallel";
    out.runs_text = runs_text;
    if runs_text || words.iter().any(|w| !w.known) {
        out.marks.push(Mark::Unsure);
    }
    out
}

fn operands(args: &[Word]) -> impl Iterator<Item = &Word> {
    args.iter().filter(|a| !is_option(&a.text))
}

/// A lone `-` is a file.
pub fn is_option(arg: &str) -> bool {
    arg.len() > 1 && arg.starts_with('-')
}

fn short_has(arg: &str, letter: char) -> bool {
    is_option(arg) && !arg.starts_with("--") && arg.contains(letter)
}

fn value_of(args: &[Word], short: &str, long: &str) -> Option<String> {
    args.iter().enumerate().find_map(|(i, arg)| {
        let text = arg.text.as_str();
        if text == short || text == long {
            return args.get(i + 1).map(|a| a.text.clone());
        }
        let value = text
            .strip_prefix(long)
            .and_then(|rest| rest.strip_prefix('='));
        value
            .or_else(|| text.strip_prefix(short).filter(|v| !v.is_empty()))
            .map(str::to_owned)
    })
}

/// Operands of these are no files.
const PATHLESS: &[&str] = &[
    "echo", "printf", "true", "false", ":", "test", "sleep", "pwd", "seq", "basename", "dirname",
    "date", "expr", "uname", "id", "whoami", "nproc", "uptime", "ps", "pgrep", "env", "printenv",
    "hostname", "which", "type", "command", "tr", "cargo", "rustc", "node", "npm", "python",
    "python3", "go", "tput", "tsc", "pip", "pip3", "rustup", "java", "groups", "tty", "arch",
    "free", "git",
];
/// The first operand of these is a pattern or a program.
const PATTERN_FIRST: &[&str] = &[
    "grep", "egrep", "fgrep", "rg", "ag", "jq", "sed", "awk", "ack",
];

fn reads(base: &str, args: &[Word], out: &mut Effects) {
    // What git shows of a file is the file: a path behind a revision, or beside it, is named by its words.
    out.understood = base != "git";
    if base == "git" {
        let words: Vec<&str> = args.iter().map(|a| a.text.as_str()).collect();
        out.touches
            .extend(super::tracked::shown(&words).into_iter().map(Touch::Read));
        if super::tracked::looks_further(&words) {
            out.touches.push(Touch::Read(format!(".{DEEP}")));
        }
    }
    if PATHLESS.contains(&base) {
        return;
    }
    // An unknown word may be an option or several words, wherever it stands.
    if args
        .iter()
        .any(|a| !a.known && (a.many || a.may_be_option()))
    {
        out.marks.push(Mark::Unsure);
        out.reader = false;
    }
    let pattern_by_option = args.iter().any(|a| {
        short_has(&a.text, 'e')
            || short_has(&a.text, 'f')
            || [
                "--regexp",
                "--file",
                "--files",
                "--expression",
                "--from-file",
            ]
            .iter()
            .any(|o| a.text.starts_with(o))
    });
    let awk_or_sed = matches!(base, "sed" | "awk");
    // Behind a long option the first operand may be that option's value.
    let first = args.iter().position(|a| !is_option(&a.text));
    let before = first
        .and_then(|i| i.checked_sub(1))
        .and_then(|i| args.get(i));
    let is_value = before
        .is_some_and(|a| a.text.len() > 2 && a.text.starts_with("--") && !a.text.contains('='));
    let has_pattern = PATTERN_FIRST.contains(&base) && !is_value;
    let skip = usize::from(has_pattern && (awk_or_sed || !pattern_by_option));
    let below = below(base, args);
    let bases = args
        .iter()
        .filter(|a| !matches!(a.text.as_str(), "-L" | "-P" | "-H"));
    let bases = bases.take_while(|a| !a.text.starts_with(['-', '!', '(']));
    let listed: Vec<&Word> = match base {
        "find" => bases.collect(),
        _ => operands(args).skip(skip).collect(),
    };
    let any = listed.len() > usize::from(PATTERN_FIRST.contains(&base) && is_value);
    for word in listed {
        if !word.known {
            out.marks.push(Mark::Unsure);
            out.reader = false;
        }
        out.touches.push(Touch::Read(word.text.clone()));
        if let Some(below) = below {
            out.touches.push(Touch::Read(format!(
                "{}{below}",
                word.text.trim_end_matches('/')
            )));
        }
    }
    if !any && (below.is_some() || matches!(base, "ls" | "find" | "tree" | "du")) {
        out.touches
            .push(Touch::Read(format!(".{}", below.unwrap_or_default())));
    }
    option_values(args, out);
}

/// Files that options name.
fn option_values(args: &[Word], out: &mut Effects) {
    for arg in args.iter().filter(|a| is_option(&a.text)) {
        let value = match arg.text.split_once('=') {
            Some((_, value)) => Some(value),
            // `-f/etc/x`: the value hangs on the letter.
            None if arg.text.contains('/') => arg.text.get(2..),
            None => None,
        };
        out.touches.extend(
            value
                .filter(|v| v.contains('/') || v.starts_with('.'))
                .map(|v| Touch::Read(v.into())),
        );
    }
}

/// What of a folder's tree is read along with it.
fn below(base: &str, args: &[Word]) -> Option<&'static str> {
    let deep = match base {
        "grep" | "egrep" | "fgrep" => args.iter().any(|a| {
            short_has(&a.text, 'r') || short_has(&a.text, 'R') || a.text.contains("recursive")
        }),
        "diff" => args
            .iter()
            .any(|a| short_has(&a.text, 'r') || a.text == "--recursive"),
        _ => false,
    };
    let unhidden = args.iter().any(|a| {
        short_has(&a.text, 'u')
            || short_has(&a.text, '.')
            || ["--hidden", "--no-ignore", "--unrestricted"]
                .iter()
                .any(|o| a.text.starts_with(o))
    });
    match base {
        "rg" | "ag" if !unhidden => Some(DEEP_VISIBLE),
        "rg" | "ag" => Some(DEEP),
        _ => deep.then_some(DEEP),
    }
}

fn writes(files: Files, args: &[Word], out: &mut Effects) {
    let deep = args.iter().any(|a| {
        short_has(&a.text, 'r')
            || short_has(&a.text, 'R')
            || short_has(&a.text, 'a')
            || a.text == "--recursive"
            || a.text == "--archive"
    });
    let list: Vec<&Word> = args
        .iter()
        .skip_while(|a| a.text == "--")
        .filter(|a| !is_option(&a.text))
        .collect();
    let after_dashes = args
        .iter()
        .skip_while(|a| a.text != "--")
        .skip(1)
        .filter(|a| is_option(&a.text));
    let list: Vec<&Word> = list.into_iter().chain(after_dashes).collect();
    if list.iter().any(|w| !w.known || w.many) {
        out.marks.push(Mark::Unsure);
    }
    let mut write = |text: &str| {
        out.touches.push(Touch::Write(text.to_owned()));
        if deep {
            out.touches.push(Touch::Write(format!(
                "{}{DEEP}",
                text.trim_end_matches('/')
            )));
        }
    };
    let target = value_of(args, "-t", "--target-directory")
        .filter(|_| matches!(files, Files::CopyToLast | Files::Move));
    match files {
        Files::Write | Files::WriteAfterFirst => list.iter().for_each(|w| write(&w.text)),
        Files::CopyToLast | Files::Move => {
            let moved = list.len() - usize::from(target.is_none() && !list.is_empty());
            let last = target.or_else(|| list.last().map(|w| w.text.clone()));
            let Some(last) = last else { return };
            write(&last);
            for word in &list {
                let name = word
                    .text
                    .trim_end_matches('/')
                    .rsplit('/')
                    .next()
                    .unwrap_or_default();
                write(&format!("{}/{name}", last.trim_end_matches('/')));
                if files == Files::Move {
                    write(&word.text);
                }
            }
            // `ln a` makes ./a.
            if list.len() == 1 {
                let name = last
                    .trim_end_matches('/')
                    .rsplit('/')
                    .next()
                    .unwrap_or_default()
                    .to_owned();
                write(&name);
            }
            for word in &list {
                out.touches.push(Touch::Read(word.text.clone()));
                if deep {
                    out.touches.push(Touch::Read(format!(
                        "{}{DEEP}",
                        word.text.trim_end_matches('/')
                    )));
                }
            }
            // A folder takes along what is in it.
            if files == Files::Move {
                let below = |word: &&Word| format!("{}{DEEP}", word.text.trim_end_matches('/'));
                let moved = list.iter().take(moved).map(below);
                out.touches.extend(moved.map(Touch::Write));
            }
        }
    }
}

fn net(args: &[Word], out: &mut Effects) {
    // `-d @file` sends that file, `@-` the input.
    let sent = |word: &&Word| word.text.starts_with('@');
    let files = operands(args)
        .filter(sent)
        .map(|w| w.text.get(1..).unwrap_or_default());
    out.touches.extend(
        files
            .filter(|file| *file != "-")
            .map(|file| Touch::Read(file.into())),
    );
    let hosts = || operands(args).filter(|word| !sent(word));
    let before = out.touches.len();
    for word in hosts() {
        if let Some(host) = host_of(&word.text).filter(|_| word.known && !word.glob) {
            out.touches.push(Touch::Net(host));
        }
    }
    let sure = out.touches.len() > before && hosts().all(|w| w.known && host_of(&w.text).is_some());
    if !sure {
        out.touches.push(Touch::Net("*".into()));
    }
    out.touches
        .extend(value_of(args, "-o", "--output").map(Touch::Write));
}

/// The host of a URL, of `user@host:path`, or of a bare name.
fn host_of(text: &str) -> Option<String> {
    let (scheme, rest) = match text.split_once("://") {
        Some((scheme, rest)) => (Some(scheme), rest),
        None => (None, text),
    };
    let authority = rest.split(['/', '?', '#']).next()?;
    let host = authority.rsplit('@').next()?;
    let host = match scheme {
        Some(_) => host,
        None => host.split(':').next()?,
    };
    let plausible =
        host.contains('.') || host == "localhost" || scheme.is_some() || text.contains('@');
    let clean = !host.is_empty()
        && host
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || ".-:".contains(c));
    (plausible && clean).then(|| host.to_ascii_lowercase())
}

/// Known to change nothing, wherever it looks.
fn is_reader(words: &[Word]) -> bool {
    let mut words: Vec<&Word> = words.iter().collect();
    let starts = |words: &[&Word], name: &[&str]| {
        words.len() >= name.len()
            && words
                .iter()
                .zip(name)
                .all(|(w, n)| w.text == *n && w.is_sure())
    };
    if starts(&words, &["git", "--no-pager"]) {
        words.remove(1);
    }
    if starts(&words, &["find"]) {
        without_exec(&mut words);
    }
    readers::READERS.iter().any(|reader| {
        let name: Vec<&str> = reader.words.split(' ').collect();
        starts(&words, &name)
            && words
                .get(name.len()..)
                .is_some_and(|args| accepts(reader, args))
    })
}

/// Takes out `-exec … {} +` and its like: what they run is judged by itself.
fn without_exec(words: &mut Vec<&Word>) {
    while let Some(from) = words.iter().position(|w| w.text == "-exec" && w.is_sure()) {
        let is_end = |w: &&Word| matches!(w.text.as_str(), ";" | "+");
        let Some(length) = words.iter().skip(from).position(is_end) else {
            return;
        };
        words.drain(from..=from + length);
    }
}

fn accepts(reader: &Reader, args: &[&Word]) -> bool {
    let free = matches!(
        reader.options,
        Options::Except {
            long: [],
            short: ""
        }
    ) && matches!(reader.check, Check::Any);
    if !free
        && args
            .iter()
            .any(|a| !a.is_sure() && (a.may_be_option() || a.many))
    {
        return false;
    }
    // Hidden characters and shell-dependent spellings are for a person to look at.
    if args.iter().any(|a| a.odd) {
        return false;
    }
    let fixed = !matches!(reader.check, Check::Any);
    if fixed && args.iter().any(|a| !a.known) {
        return matches!(reader.check, Check::Printf)
            && args
                .first()
                .is_some_and(|f| f.is_sure() && plain_format(&f.text))
            && options_fit(reader, args);
    }
    options_fit(reader, args) && check(&reader.check, args)
}

fn options_fit(reader: &Reader, args: &[&Word]) -> bool {
    args.iter()
        .filter(|a| is_option(&a.text))
        .all(|a| option_fits(&reader.options, &a.text))
}

fn check(check: &Check, args: &[&Word]) -> bool {
    let operands = || {
        args.iter()
            .map(|a| a.text.as_str())
            .filter(|a| !is_option(a))
    };
    let inert = || args.iter().all(|a| !a.text.contains(['$', '`', '[']));
    match check {
        Check::Any => true,
        Check::Alone => args.is_empty(),
        Check::NoOperands => operands().next().is_none(),
        Check::OneOperand => {
            operands().count() <= 1 && !args.iter().any(|a| a.text == "--" || a.glob)
        }
        Check::DateFormat => operands().all(|arg| arg.starts_with('+')),
        Check::Listing => args.iter().any(|a| a.text == "--list") || operands().next().is_none(),
        // These look into their operands, and some shells expand what they find there.
        Check::Inert => inert(),
        Check::Printf => inert() && args.first().is_none_or(|format| plain_format(&format.text)),
        Check::Sed => sed_scripts(args).is_some_and(|scripts| scripts.iter().all(|s| plain_sed(s))),
        Check::Config => {
            let list = args
                .iter()
                .any(|a| matches!(a.text.as_str(), "-l" | "--list"));
            let get = args.iter().filter(|a| a.text.starts_with("--get")).count() == 1;
            operands().count() <= usize::from(!list) && (list != get)
        }
        Check::Awk => operands().next().is_some_and(plain_awk),
        Check::Jq => !args.iter().any(|a| {
            ["import", "include"]
                .iter()
                .any(|word| a.text.contains(word))
        }),
    }
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
        rest = spec.get(conversion.len_utf8()..).unwrap_or_default();
    }
    !format.starts_with('-')
}

/// The scripts of a sed command: behind each `-e`, or the first operand.
fn sed_scripts<'a>(args: &[&'a Word]) -> Option<Vec<&'a str>> {
    let by_option: Vec<&str> = args
        .windows(2)
        .filter_map(|pair| match pair {
            [option, script] if option.text == "-e" => Some(script.text.as_str()),
            _ => None,
        })
        .collect();
    if !by_option.is_empty() {
        return Some(by_option);
    }
    args.iter()
        .find(|a| !is_option(&a.text))
        .map(|a| vec![a.text.as_str()])
}

/// Addresses with `p`, `d`, `q` or `=`, or one substitution that neither writes nor runs.
fn plain_sed(script: &str) -> bool {
    let script = script.trim();
    if !script.is_empty()
        && script
            .chars()
            .all(|c| c.is_ascii_digit() || ",$pdq;=!+~ ".contains(c))
    {
        return true;
    }
    if script.contains(['\n', ';', '{', '\\']) && !script.starts_with("s/") {
        return false;
    }
    if let Some(rest) = script.strip_prefix('s') {
        let Some(delimiter) = rest.chars().next().filter(|c| "/|#,:@".contains(*c)) else {
            return false;
        };
        let parts: Vec<&str> = rest.split(delimiter).collect();
        return matches!(parts.as_slice(), [_, _, _, flags] if flags.chars().all(|c| c.is_ascii_digit() || "gpiI".contains(c)))
            && !script.contains(['\\', '\n']);
    }
    let mut rest = script;
    while let Some(after) = rest.strip_prefix('/') {
        let Some((_, tail)) = after.split_once('/') else {
            return false;
        };
        rest = tail.strip_prefix(',').unwrap_or(tail);
    }
    matches!(rest, "p" | "d" | "q" | "=" | "!d" | "!p") && script.starts_with('/')
}

/// Nothing that runs a command, writes a file or reads another.
fn plain_awk(program: &str) -> bool {
    let program = program.replace(">=", "").replace("||", "");
    !program.contains(['>', '|', '@', '`'])
        && ![
            "system", "getline", "ARGV", "ARGC", "close", "fflush", "load", "ENVIRON",
        ]
        .iter()
        .any(|word| program.contains(word))
}
