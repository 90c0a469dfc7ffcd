//! A further look at readers whose harm lies in an operand: programs of sed, awk and jq, tests, formats, listings. Each
//! check accepts a form that it surely understands, and says which files it reads beyond those the table knows.

use super::spec::{Reader, Sorted};
use super::word::Word;

/// Environment that says nothing secret of the person.
const PUBLIC_ENV: &[&str] = &[
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "LANG",
    "LANGUAGE",
    "SHELL",
    "PWD",
    "OLDPWD",
    "TERM",
    "TMPDIR",
    "EDITOR",
    "VISUAL",
    "PAGER",
    "TZ",
    "HOSTNAME",
    "DISPLAY",
    "SHLVL",
    "CI",
    "COLUMNS",
    "LINES",
    "NODE_ENV",
    "RUST_LOG",
    "RUST_BACKTRACE",
    "VIRTUAL_ENV",
    "CONDA_DEFAULT_ENV",
    "NVM_DIR",
    "CARGO_TARGET_DIR",
    "RUSTFLAGS",
    "GOFLAGS",
    "CFLAGS",
    "CXXFLAGS",
    "LDFLAGS",
    "CC",
    "CXX",
    "OSTYPE",
    "MACHTYPE",
    "HOSTTYPE",
    "UID",
    "EUID",
    "PPID",
    "RANDOM",
    "SECONDS",
    "LINENO",
    "COLORTERM",
    "XDG_SESSION_TYPE",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "XDG_CACHE_HOME",
    "XDG_RUNTIME_DIR",
    "MAKEFLAGS",
    "BASH_VERSION",
    "ZSH_VERSION",
    "IFS",
    "OPTARG",
    "OPTIND",
];

/// Whether a variable of the environment may be shown unasked.
pub fn is_public(name: &str) -> bool {
    let ends = ["_HOME", "_PATH", "_ROOT", "_DIR", "_VERSION"];
    PUBLIC_ENV.contains(&name)
        || name.starts_with("LC_")
        || ends.iter().any(|end| name.ends_with(end))
}

type Args<'a> = &'a [&'a Word];

/// The files that are read besides, or `None` where the words are not surely harmless.
pub fn run(row: &Reader, sorted: &Sorted<'_>, args: Args<'_>) -> Option<Vec<String>> {
    let words: Vec<&str> = sorted.operands.iter().map(|w| w.text.as_str()).collect();
    let fits = match row.check {
        "" => true,
        "awk" => return awk(args),
        "tar" => return tar(args),
        "sed" => sed(sorted),
        "jq" => jq(sorted),
        "find" => find(args),
        "printf" => printf(args),
        "test" => test(args),
        "ps" => args.iter().all(|a| a.is_sure()) && ps(args),
        "date" => words.len() <= 1 && words.iter().all(|w| w.starts_with('+')),
        "oneword" => words.len() <= 1,
        "setoption" => is_set(sorted),
        "printenv" => !words.is_empty() && words.iter().all(|w| is_public(w)),
        "manual" => words
            .iter()
            .all(|w| !w.contains('/') && !w.starts_with('.')),
        "listed" => !sorted.options.is_empty(),
        "unzip" => ["-l", "-v", "-Z", "-t"].iter().any(|o| sorted.has(o)),
        "aptcache" => starts_with(
            &words,
            &["policy", "show", "search", "depends", "rdepends", "madison"],
        ),
        "lsof" => words.iter().all(|w| w.contains(':') && !w.contains('/')),
        "cloc" => sorted
            .options
            .iter()
            .all(|(name, value)| *name != "--vcs" || value.as_deref() == Some("git")),
        "goflags" => words.iter().all(|w| {
            !w.starts_with('/') && !w.contains("..")
                || w.ends_with("/...") && !w.starts_with('/') && !w.starts_with("..")
        }),
        "rustc" => rustc(sorted),
        "rustup" => RUSTUP.contains(&words.join(" ").as_str()),
        "npm" => managed(&words, NPM),
        "yarn" => managed(&words, YARN),
        "gitformat" => no_signature(sorted),
        "gitlist" => no_signature(sorted) && (words.is_empty() || sorted.is_marked('l')),
        "gitremote" => words.is_empty() || sorted.has("-n"),
        "gitreflog" => !starts_with(
            &words,
            &["expire", "delete", "drop", "exists", "write", "list"],
        ),
        "gitconfig" => git_config(sorted, &words),
        _ => false,
    };
    fits.then(Vec::new)
}

#[cfg(test)]
pub fn is_known(check: &str) -> bool {
    [
        "",
        "awk",
        "tar",
        "sed",
        "jq",
        "find",
        "printf",
        "test",
        "ps",
        "date",
        "oneword",
        "setoption",
        "printenv",
        "manual",
        "listed",
        "unzip",
        "aptcache",
        "lsof",
        "cloc",
        "goflags",
        "rustc",
        "rustup",
        "npm",
        "yarn",
        "gitformat",
        "gitlist",
        "gitremote",
        "gitreflog",
        "gitconfig",
    ]
    .contains(&check)
}

const RUSTUP: &[&str] = &[
    "show",
    "--version",
    "-V",
    "toolchain list",
    "target list",
    "target list --installed",
    "component list",
    "component list --installed",
    "which cargo",
    "which rustc",
    "show active-toolchain",
    "show home",
    "toolchain list -v",
];
const NPM: &[&str] = &[
    "ls",
    "list",
    "la",
    "ll",
    "root",
    "prefix",
    "bin",
    "explain",
    "why",
    "query",
    "pkg get",
    "config get",
    "-v",
    "--version",
];
const YARN: &[&str] = &[
    "--version",
    "-v",
    "list",
    "why",
    "config get",
    "workspaces info",
    "workspaces list",
];
const NPM_OPTIONS: &[&str] = &[
    "-g",
    "--global",
    "--all",
    "--json",
    "--long",
    "-l",
    "--prod",
    "--production",
    "--parseable",
    "-p",
    "--silent",
    "-s",
    "-r",
    "--recursive",
];

fn starts_with(words: &[&str], list: &[&str]) -> bool {
    words.first().is_some_and(|w| list.contains(w))
}

fn managed(words: &[&str], list: &[&str]) -> bool {
    let known = list
        .iter()
        .any(|entry| super::commands::starts(words, entry));
    let first = words.first().copied().unwrap_or_default();
    known
        && (!first.starts_with('-') || words.len() == 1)
        && words.iter().skip(1).all(|w| {
            !w.starts_with('-')
                || NPM_OPTIONS.contains(w)
                || w.starts_with("--depth=")
                || w.starts_with("--omit=")
                || *w == "--depth"
        })
}

fn rustc(sorted: &Sorted<'_>) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '-';
    let shows = ["--version", "-V", "-vV", "--print"]
        .iter()
        .any(|o| sorted.has(o));
    shows
        && sorted
            .options
            .iter()
            .all(|(_, v)| v.as_deref().is_none_or(|v| v.chars().all(plain)))
}

fn is_set(sorted: &Sorted<'_>) -> bool {
    let known = ["pipefail", "errexit", "nounset", "xtrace"];
    !sorted.options.is_empty()
        && sorted
            .options
            .iter()
            .all(|(_, value)| value.as_deref().is_none_or(|v| known.contains(&v)))
}

/// No placeholder that has a signature verified, which runs a program.
fn no_signature(sorted: &Sorted<'_>) -> bool {
    let values = sorted
        .options
        .iter()
        .filter_map(|(_, value)| value.as_deref());
    values
        .into_iter()
        .all(|v| !v.contains("%G") && !v.contains("signature"))
}

/// Says that it looks, and no more than what it looks for.
fn git_config(sorted: &Sorted<'_>, words: &[&str]) -> bool {
    let lists = sorted.has("-l") || sorted.has("--list");
    let gets = ["--get", "--get-all", "--get-regexp"]
        .iter()
        .filter(|o| sorted.has(o))
        .count();
    match words {
        [] | ["list"] => lists || words.len() == 1,
        ["get", name] => gets == 0 && !lists && name.contains('.'),
        [name] => !lists && (gets == 1 || gets == 0 && name.contains('.')),
        _ => false,
    }
}

/// Every word that stands where an option may be is one, so that no predicate hides behind an equals sign.
fn find(args: Args<'_>) -> bool {
    args.iter()
        .all(|a| a.known && !(a.text.starts_with('-') && a.text.contains('=')))
}

/// Conversions of text, or of numbers that stand there as such: some shells compute what they are given.
fn printf(args: Args<'_>) -> bool {
    let args = match args.first() {
        Some(first) if first.is_sure() && first.text == "--" => args.get(1..).unwrap_or_default(),
        Some(_) | None => args,
    };
    let Some((format, values)) = args.split_first() else {
        return true;
    };
    if !format.is_sure() || format.text.starts_with('-') || args.iter().any(|a| a.odd) {
        return false;
    }
    let mut numbers = false;
    let mut rest = format.text.as_str();
    while let Some((_, after)) = rest.split_once('%') {
        let spec = after.trim_start_matches(|c: char| "-+ #'.".contains(c) || c.is_ascii_digit());
        let Some(conversion) = spec.chars().next() else {
            return false;
        };
        match conversion {
            '%' | 's' | 'b' | 'c' | 'q' => {}
            'd' | 'i' | 'u' | 'x' | 'X' | 'o' | 'e' | 'E' | 'f' | 'F' | 'g' | 'G' => numbers = true,
            _ => return false,
        }
        rest = spec.get(conversion.len_utf8()..).unwrap_or_default();
    }
    let is_number = |w: &&Word| {
        w.is_sure()
            && w.text
                .chars()
                .all(|c| c.is_ascii_digit() || "+-.".contains(c))
    };
    // With a format that takes numbers, any value may be taken for one.
    !numbers || values.iter().all(is_number) || mixed(&format.text, values)
}

/// A format that is used once, value by value.
fn mixed(format: &str, values: &[&Word]) -> bool {
    let mut at = 0;
    let mut rest = format;
    while let Some((_, after)) = rest.split_once('%') {
        let spec = after.trim_start_matches(|c: char| "-+ #'.".contains(c) || c.is_ascii_digit());
        let conversion = spec.chars().next().unwrap_or('%');
        rest = spec.get(conversion.len_utf8()..).unwrap_or_default();
        if conversion == '%' {
            continue;
        }
        let value = values.get(at);
        let number = value.is_none_or(|w| {
            w.is_sure()
                && w.text
                    .chars()
                    .all(|c| c.is_ascii_digit() || "+-.".contains(c))
        });
        if value.is_some_and(|w| w.many) || !"sbcq".contains(conversion) && !number {
            return false;
        }
        at += 1;
    }
    at >= values.len()
}

const UNARY: &[&str] = &[
    "-e", "-f", "-d", "-r", "-w", "-x", "-s", "-L", "-h", "-n", "-z", "-t", "-p", "-S", "-b", "-c",
    "-u", "-g", "-k", "-O", "-G",
];
const BINARY: &[&str] = &["=", "!=", "==", "-nt", "-ot", "-ef", "<", ">"];
const NUMERIC: &[&str] = &["-eq", "-ne", "-lt", "-le", "-gt", "-ge"];

/// One comparison or several joined by `&&` and `||`, with its operator where every shell looks for it.
fn test(args: Args<'_>) -> bool {
    if args.iter().any(|a| a.many || a.odd || a.glob || a.brace) {
        return false;
    }
    let joins = |a: &&Word| a.is_sure() && matches!(a.text.as_str(), "&&" | "||");
    args.split(joins).all(|part| {
        let negated = part
            .iter()
            .take_while(|a| a.is_sure() && a.text == "!")
            .count();
        match part.get(negated..).unwrap_or_default() {
            [] => part.is_empty(),
            [_] => true,
            [op, _] => op.is_sure() && UNARY.contains(&op.text.as_str()),
            [a, op, b] if op.is_sure() && NUMERIC.contains(&op.text.as_str()) => {
                let number = |w: &Word| {
                    let digits = w.text.strip_prefix('-').unwrap_or(&w.text);
                    w.is_sure() && !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit())
                };
                number(a) && number(b)
            }
            [_, op, _] => op.is_sure() && BINARY.contains(&op.text.as_str()),
            _ => false,
        }
    })
}

/// No letter and no column that shows the environment.
fn ps(args: Args<'_>) -> bool {
    let mut rest = args.iter().map(|a| a.text.as_str());
    while let Some(word) = rest.next() {
        let value = match word {
            "-o" | "-O" | "-p" | "-u" | "-U" | "-C" | "-g" | "-t" | "--sort" | "--ppid"
            | "--pid" | "-eo" | "-axo" | "-Ao" | "axo" | "-efo" | "o" => {
                rest.next().unwrap_or_default()
            }
            "--no-headers" | "--no-heading" | "--forest" | "--headers" => "",
            _ if word.starts_with("--sort=") => word.get(7..).unwrap_or_default(),
            _ if word.starts_with("--") => return false,
            _ => {
                let unix = word.starts_with('-');
                let letters = word.trim_start_matches('-');
                let known = letters
                    .chars()
                    .all(|c| "auxwflAhjTHLF".contains(c) || c == 'e' && unix);
                // With `u` among them a dash is no longer what it says.
                let mixed = letters.contains('e') && letters.contains(['u', 'x', 'w']);
                let number = !unix && letters.bytes().all(|b| b.is_ascii_digit());
                if !(known && !mixed || number) {
                    return false;
                }
                ""
            }
        };
        if value.contains("env") {
            return false;
        }
    }
    // Words without a dash and `e` anywhere: only whole clusters above.
    !args
        .iter()
        .any(|a| !a.text.starts_with('-') && a.text == "e")
}

/// `t` among the letters, nothing that writes, runs or reaches a host.
fn tar(args: Args<'_>) -> Option<Vec<String>> {
    if !args.iter().all(|a| a.is_sure()) {
        return None;
    }
    let mut files = Vec::new();
    let mut lists = false;
    let mut rest = args.iter().map(|a| a.text.as_str()).enumerate();
    while let Some((i, word)) = rest.next() {
        if let Some(long) = word.strip_prefix("--") {
            match long.split_once('=') {
                Some(("file", file)) => files.push(file.to_owned()),
                Some(("exclude" | "wildcards", _)) => {}
                Some(_) => return None,
                None if long == "list" => lists = true,
                None if [
                    "verbose",
                    "gzip",
                    "bzip2",
                    "xz",
                    "zstd",
                    "wildcards",
                    "full-time",
                ]
                .contains(&long) => {}
                None => return None,
            }
        } else if i == 0 || word.starts_with('-') {
            let letters = word.trim_start_matches('-');
            for (at, letter) in letters.char_indices() {
                match letter {
                    't' => lists = true,
                    'v' | 'z' | 'j' | 'J' | 'a' => {}
                    'f' => {
                        let attached = letters.get(at + 1..).filter(|v| !v.is_empty());
                        // Old letters without a dash take their values in order, from the words behind.
                        let value = match attached {
                            Some(value) if word.starts_with('-') => value,
                            Some(_) | None => rest.next()?.1,
                        };
                        files.push(value.to_owned());
                        if attached.is_some() && word.starts_with('-') {
                            break;
                        }
                    }
                    _ => return None,
                }
            }
        }
    }
    (lists && files.iter().all(|f| !f.contains(':'))).then_some(files)
}

fn jq(sorted: &Sorted<'_>) -> bool {
    let Some(program) = sorted.operands.first() else {
        return false;
    };
    let refused = [
        "env",
        "ENV",
        "import",
        "include",
        "modulemeta",
        "get_search_list",
        "strenv",
        "envsubst",
        "load",
        "load_str",
        "eval",
        "__prog_args",
        "system",
    ];
    let text = program.text.as_str();
    let mut before = ' ';
    let mut word = String::new();
    let mut ahead = ' ';
    for c in text.chars().chain([' ']) {
        if c.is_ascii_alphanumeric() || c == '_' {
            if word.is_empty() {
                ahead = before;
            }
            word.push(c);
        } else {
            // Behind a dot it is the name of a field.
            if refused.contains(&word.as_str())
                && !(ahead == '.' && word == "env")
                && !(ahead == '"' && c == '"')
            {
                return false;
            }
            word.clear();
        }
        before = c;
    }
    program.is_sure()
}

fn sed(sorted: &Sorted<'_>) -> bool {
    let by_option: Vec<&str> = sorted
        .options
        .iter()
        .filter(|(name, _)| matches!(*name, "-e" | "--expression"))
        .map(|(_, value)| value.as_deref().unwrap_or_default())
        .collect();
    if sorted.operands.iter().any(|w| w.glob && w.may_be_option()) {
        return false;
    }
    match by_option.is_empty() {
        true => sorted
            .operands
            .first()
            .is_some_and(|w| w.is_sure() && plain_sed(&w.text)),
        // Several are one script, line by line.
        false => by_option.iter().all(|s| plain_sed(s)),
    }
}

/// Addresses with commands that print, delete or substitute; nothing that reads, writes or runs.
fn plain_sed(script: &str) -> bool {
    let chars: Vec<char> = script.chars().collect();
    let mut at = 0;
    let get = |at: usize| chars.get(at).copied();
    let mut depth = 0usize;
    loop {
        while get(at).is_some_and(|c| c == ';' || c == '\n' || c == ' ' || c == '\t') {
            at += 1;
        }
        let Some(_) = get(at) else {
            return depth == 0;
        };
        let Some(next) = past_addresses(&chars, at) else {
            return false;
        };
        at = next;
        match get(at) {
            Some('{') => {
                depth += 1;
                at += 1;
                continue;
            }
            Some('}') if depth > 0 => {
                depth -= 1;
                at += 1;
            }
            Some('p' | 'd' | '=' | 'n' | 'N' | 'g' | 'G' | 'h' | 'H' | 'x' | 'D' | 'P' | 'l') => {
                at += 1
            }
            Some('q' | 'Q') => {
                at += 1;
                while get(at).is_some_and(|c| c == ' ' || c.is_ascii_digit()) {
                    at += 1;
                }
            }
            Some(command @ ('s' | 'y')) => match past_substitution(&chars, at + 1, command) {
                Some(next) => at = next,
                None => return false,
            },
            Some(_) | None => return false,
        }
        while get(at) == Some(' ') {
            at += 1;
        }
        if !matches!(get(at), None | Some(';' | '\n' | '}')) {
            return false;
        }
    }
}

fn past_addresses(chars: &[char], mut at: usize) -> Option<usize> {
    let get = |at: usize| chars.get(at).copied();
    loop {
        match get(at) {
            Some('/') => {
                at = past_part(chars, at + 1, '/')?;
                while matches!(get(at), Some('I' | 'M')) {
                    at += 1;
                }
            }
            Some(c) if c.is_ascii_digit() || matches!(c, '$' | '+' | '~') => at += 1,
            Some(',' | ' ' | '!') => at += 1,
            Some(_) | None => return Some(at),
        }
    }
}

/// Behind the next delimiter; within a bracket some programs take it for a character.
fn past_part(chars: &[char], mut at: usize, delimiter: char) -> Option<usize> {
    let mut bracket = false;
    loop {
        let c = chars.get(at).copied()?;
        at += 1;
        match c {
            '\n' => return None,
            '\\' => {
                // An escape in a bracket is none to some.
                if bracket || chars.get(at).is_none_or(|c| *c == '\n') {
                    return None;
                }
                at += 1;
            }
            '[' if !bracket => {
                bracket = true;
                // A bracket right at the start of a class is a member of it.
                if chars.get(at) == Some(&'^') {
                    at += 1;
                }
                if chars.get(at) == Some(&']') {
                    at += 1;
                }
            }
            // `[:alpha:]` within a class.
            '[' if matches!(chars.get(at), Some(':' | '.' | '=')) => {
                let kind = chars.get(at).copied()?;
                let rest = chars.get(at + 1..)?;
                let end = rest.windows(2).position(|pair| pair == [kind, ']'])?;
                if rest.get(..end)?.contains(&delimiter) {
                    return None;
                }
                at += end + 3;
            }
            ']' if bracket => bracket = false,
            _ if c == delimiter && bracket => return None,
            _ if c == delimiter => return Some(at),
            _ => {}
        }
    }
}

fn past_substitution(chars: &[char], at: usize, command: char) -> Option<usize> {
    let delimiter = chars
        .get(at)
        .copied()
        .filter(|c| "/|#,:@%!~_".contains(*c))?;
    let at = past_part(chars, at + 1, delimiter)?;
    // The replacement has no classes.
    let mut end = at;
    loop {
        match chars.get(end).copied()? {
            '\\' if chars.get(end + 1).is_some_and(|c| *c != '\n') => end += 2,
            '\\' | '\n' => return None,
            c if c == delimiter => break,
            _ => end += 1,
        }
    }
    let mut at = end + 1;
    if command == 's' {
        while chars
            .get(at)
            .is_some_and(|c| c.is_ascii_digit() || "gpiIM".contains(*c))
        {
            at += 1;
        }
    }
    Some(at)
}

/// `-F` and `-v` with values, one program, then files.
fn awk(args: Args<'_>) -> Option<Vec<String>> {
    let mut rest = args.iter();
    let program = loop {
        let word = rest.next()?;
        if !word.is_sure() {
            return None;
        }
        match word.text.as_str() {
            "--" => break rest.next()?,
            "-F" => {
                rest.next().filter(|w| w.is_sure())?;
            }
            "-v" => {
                let word = rest
                    .next()
                    .filter(|w| w.known && !w.many && !w.glob && !w.brace)?;
                is_setting(&word.text).then_some(())?;
            }
            text if text.starts_with("-F") => {}
            text if text.starts_with("-v") => is_setting(text.get(2..)?).then_some(())?,
            text if text.len() > 1 && text.starts_with('-') => return None,
            _ => break word,
        }
    };
    if !program.is_sure() || !plain_awk(&program.text) {
        return None;
    }
    let mut files = Vec::new();
    for word in rest {
        if !word.known || word.many {
            return None;
        }
        files.push(word.text.clone());
    }
    Some(files)
}

fn is_setting(text: &str) -> bool {
    let name = text.split_once('=').map_or("", |(name, _)| name);
    !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

const AWK_REFUSED: &[&str] = &[
    "system",
    "getline",
    "ARGV",
    "ARGC",
    "close",
    "fflush",
    "load",
    "ENVIRON",
    "PROCINFO",
    "SYMTAB",
    "FUNCTAB",
    "include",
    "namespace",
    "extension",
];

/// Nothing that runs a command, writes a file, reads another or shows the environment.
fn plain_awk(program: &str) -> bool {
    let chars: Vec<char> = program.chars().collect();
    let mut at = 0;
    // The last character that is no blank: after it a value is due, or an operator.
    let mut last = ';';
    let mut word = String::new();
    let mut printing = false;
    while let Some(c) = chars.get(at).copied() {
        if c.is_ascii_alphanumeric() || c == '_' {
            word.push(c);
            at += 1;
            last = c;
            continue;
        }
        if !word.is_empty() {
            if AWK_REFUSED.contains(&word.as_str()) {
                return false;
            }
            printing |= matches!(word.as_str(), "print" | "printf");
            word.clear();
        }
        let next = chars.get(at + 1).copied().unwrap_or(' ');
        at += 1;
        match c {
            '"' => match past_string(&chars, at) {
                Some(end) => at = end,
                None => return false,
            },
            '/' if "(,{};!~&|?:=".contains(last) => match past_part(&chars, at, '/') {
                Some(end) => at = end,
                None => return false,
            },
            '|' if next == '|' => at += 1,
            '|' | '@' | '#' | '`' | '\\' | '\'' => return false,
            '>' if printing || next == '>' => return false,
            '>' if next == '=' => at += 1,
            ';' | '}' => printing = false,
            _ => {}
        }
        if !c.is_whitespace() {
            last = if c == '"' || c == '/' { '"' } else { c };
        } else if c == '\n' {
            last = ';';
        }
    }
    !AWK_REFUSED.contains(&word.as_str())
}

fn past_string(chars: &[char], mut at: usize) -> Option<usize> {
    loop {
        match chars.get(at).copied()? {
            '"' => return Some(at + 1),
            '\\' => at += 2,
            '\n' => return None,
            _ => at += 1,
        }
    }
}
