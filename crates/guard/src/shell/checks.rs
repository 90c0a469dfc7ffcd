//! A further look at readers whose harm lies in an operand: programs of sed, awk and jq, tests, formats, listings. Each
//! check accepts a form that it surely understands, and says which files it reads beyond those the table knows.

use super::commands::{NPM, NPM_OPTIONS, PUBLIC_ENV, RUSTUP, YARN};
use super::programs::{awk, jq, sed};
use super::spec::{Reader, Sorted};
use super::word::Word;

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
        _ if row.check.starts_with(NEEDS) => needs(row.check, sorted),
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
        "pager" => words.iter().all(|w| !w.starts_with('+') || is_place(w)),
        "sinks" => words.iter().all(|w| super::commands::SINKS.contains(w)),
        "make" => makes_nothing(sorted, &words),
        "cargofmt" => sorted.has("--check") || words.contains(&"--check"),
        "ip" => ip(&words),
        "values" => words.iter().all(|w| !w.contains(['=', '/'])),
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
        "npm" => matches!(words.as_slice(), ["run" | "run-script"]) || managed(&words, NPM),
        "yarn" => managed(&words, YARN),
        "gitformat" => no_signature(sorted),
        "gitlist" => no_signature(sorted) && (words.is_empty() || sorted.is_marked('l')),
        "gitremote" => words.is_empty() || sorted.has("-n"),
        "gitreflog" => !starts_with(
            &words,
            &["expire", "delete", "drop", "exists", "write", "list"],
        ),
        "gitconfig" => options_first(args) && git_config(sorted, &words),
        _ => false,
    };
    fits.then(Vec::new)
}

#[cfg(test)]
pub fn is_known(check: &str) -> bool {
    check.starts_with(NEEDS)
        || [
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
            "pager",
            "sinks",
            "make",
            "cargofmt",
            "ip",
            "values",
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

/// A check that one of the options behind it is given.
const NEEDS: &str = "needs ";
fn needs(check: &str, sorted: &Sorted<'_>) -> bool {
    let mut wanted = check.split(' ').skip(1);
    wanted.any(|option| sorted.has(option))
}

/// Where a pager begins: `+G`, `+10`, `+/text`. Anything else is a command of its own.
fn is_place(word: &str) -> bool {
    let place = word.get(1..).unwrap_or_default();
    matches!(place, "" | "G" | "g" | "F")
        || place.bytes().all(|b| b.is_ascii_digit())
        || place.starts_with('/') && !place.contains(['\n', '\r'])
}

/// Says what would be done. Variables that name a program or are computed are another matter.
fn makes_nothing(sorted: &Sorted<'_>, words: &[&str]) -> bool {
    let dry = [
        "-n",
        "-q",
        "--dry-run",
        "--just-print",
        "--question",
        "--recon",
    ];
    let harmless = |w: &&str| {
        let steers = ["SHELL=", "MAKEFLAGS=", "MAKEFILES=", ".SHELLFLAGS="];
        !w.contains(['$', '`', '!']) && !steers.iter().any(|name| w.starts_with(name))
    };
    dry.iter().any(|o| sorted.has(o)) && words.iter().all(harmless)
}

/// An object of the network, shown.
fn ip(words: &[&str]) -> bool {
    let objects = [
        "a",
        "addr",
        "address",
        "l",
        "link",
        "maddr",
        "n",
        "neigh",
        "neighbor",
        "neighbour",
        "r",
        "route",
        "rule",
        "tuntap",
    ];
    let shows = |verb: &str| matches!(verb, "show" | "list" | "ls" | "sh" | "s" | "l");
    match words {
        [object] => objects.contains(object),
        [object, verb] => objects.contains(object) && shows(verb),
        [object, verb, "dev", _] => objects.contains(object) && shows(verb),
        ["route" | "r", "get", _] => true,
        _ => false,
    }
}

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

/// Behind the first operand a word that looks like an option is a value.
fn options_first(args: Args<'_>) -> bool {
    let mut rest = args
        .iter()
        .skip_while(|a| a.text.starts_with('-') && a.text != "--");
    rest.all(|a| !a.text.starts_with('-'))
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

/// `t` among the letters, or `x` with `O`; nothing that writes, runs or reaches a host.
fn tar(args: Args<'_>) -> Option<Vec<String>> {
    if !args.iter().all(|a| a.is_sure()) {
        return None;
    }
    let mut files = Vec::new();
    let (mut lists, mut takes, mut prints) = (false, false, false);
    let mut rest = args.iter().map(|a| a.text.as_str()).enumerate();
    while let Some((i, word)) = rest.next() {
        if let Some(long) = word.strip_prefix("--") {
            match long.split_once('=') {
                Some(("file", file)) => files.push(file.to_owned()),
                Some(("exclude" | "wildcards", _)) => {}
                Some(_) => return None,
                None if long == "list" => lists = true,
                None if long == "extract" => takes = true,
                None if long == "to-stdout" => prints = true,
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
                    'x' => takes = true,
                    'O' => prints = true,
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
    let shows = lists && !takes || takes && prints && !lists;
    (shows && files.iter().all(|f| !f.contains(':'))).then_some(files)
}
