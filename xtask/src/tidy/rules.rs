//! The rules that look at one file, or at names across files.

use super::source::Source;
use super::{Violation, edges, spawns};
use std::collections::{HashMap, HashSet};
use std::path::Path;

const MAX_FILE_LINES: usize = 600;
const MAX_FUNCTION_LINES: usize = 80;
const MAX_REQUIRED_METHODS: usize = 6;
const MAX_FIELDS: usize = 12;

/// A comment above a struct that only carries values.
const PLAIN_DATA: &str = "// tidy: plain data";
/// Where every struct is plain data: the configuration, the flags, the vocabulary.
const PLAIN_FILES: &[&str] = &[
    "crates/config/src/schema.rs",
    "crates/app/src/flags.rs",
    "crates/wire/src/",
];

/// Crates that know no vendor.
const NEUTRAL: &[&str] = &[
    "wire",
    "llm",
    "grammars",
    "files",
    "sandbox",
    "checkpoint",
    "host",
    "store",
    "guard",
    "tools",
    "mcp",
    "delegate",
    "sources",
    "context",
    "confine",
    "state",
    "engine",
];
const VENDORS: &[&str] = &[
    "anthropic",
    "claude",
    "openai",
    "chatgpt",
    "gpt-",
    "gemini",
    "deepseek",
    "openrouter",
    "ollama",
    "mistral",
    "qwen",
    "moonshot",
    "kimi",
    "groq",
    "bedrock",
];
/// Crates that may make calls which have no safe form.
const UNSAFE: &[&str] = &["files", "sandbox", "host", "grammars"];
/// Crates that may look at the process they run in.
const AT_HOME: &[&str] = &["app", "xtask", "testkit"];

/// Places where a rule does not hold, and why.
const EXCEPTIONS: &[(Rule, &str, &str)] = &[
    (
        Rule::Vendor("gemini"),
        "crates/llm/src/",
        "the protocol has no other name",
    ),
    (
        Rule::Vendor("claude"),
        "crates/sources/src/instructions.rs",
        "a file name that projects use",
    ),
    (
        Rule::Vendor("gemini"),
        "crates/sources/src/instructions.rs",
        "a file name that projects use",
    ),
    (
        Rule::Process,
        "crates/host/src/watchdog/",
        "the watchdog is a mode of the same program",
    ),
    (
        Rule::Process,
        "crates/host/src/bin/",
        "the helper is a program",
    ),
    (
        Rule::Process,
        "crates/serve/build.rs",
        "a build script is told by the environment and answers by printing",
    ),
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rule {
    Vendor(&'static str),
    Process,
}

/// The files that are not compiled for tests alone.
pub fn production(sources: &[Source]) -> Vec<&Source> {
    let test_files = test_files(sources);
    let is_test_file = |path: &str| test_files.iter().any(|start| path.starts_with(start));
    let all = sources.iter();
    all.filter(|s| !is_test_path(&s.path) && !is_test_file(&s.path))
        .collect()
}

pub fn check(sources: &[Source]) -> Vec<Violation> {
    let production = production(sources);
    let enums = enums(&production);
    let mut found: Vec<Violation> = sources.iter().flat_map(everywhere).collect();
    for source in production {
        found.extend(sizes(source));
        found.extend(process(source));
        found.extend(spawns::check(source));
        found.extend(vendors(source));
        found.extend(catch_alls(source, &enums));
    }
    found.extend(left_out(sources));
    found
}

/// Files beside an `all.rs` of tests that it does not name: nobody would run them.
fn left_out(sources: &[Source]) -> Vec<Violation> {
    let mut found = Vec::new();
    for all in sources.iter().filter(|s| s.path.ends_with("/tests/all.rs")) {
        let folder = all.path.trim_end_matches("all.rs");
        let beside = sources.iter().filter_map(|s| {
            let name = s.path.strip_prefix(folder)?.strip_suffix(".rs")?;
            (name != "all" && !name.contains('/')).then_some((s, name))
        });
        for (source, name) in beside {
            if !all.text.contains(&format!("mod {name};")) {
                found.push(Violation {
                    path: source.path.clone(),
                    line: 1,
                    message: format!("is not run: {} does not name it", all.path),
                });
            }
        }
    }
    found
}

/// Paths of the machine that this runs on.
pub fn machine_paths(path: &str, text: &str, root: &Path, home: Option<&str>) -> Vec<Violation> {
    let checkout = root.to_string_lossy().into_owned();
    let home = home
        .filter(|home| home.len() > 1)
        .map(|home| format!("{}/", home.trim_end_matches('/')));
    let needles = std::iter::once(checkout).chain(home);
    let mut found = Vec::new();
    for needle in needles {
        let inside = |c: char| c.is_alphanumeric() || "._-/}".contains(c);
        let hits = text
            .match_indices(&needle)
            .filter(|(at, _)| !text[..*at].chars().next_back().is_some_and(inside));
        found.extend(hits.map(|(at, _)| Violation {
            path: path.to_owned(),
            line: text[..at].matches('\n').count() + 1,
            message: format!("names a path of this machine ({needle})"),
        }));
    }
    found
}

/// Files and folders of modules that are declared for tests only.
fn test_files(sources: &[Source]) -> Vec<String> {
    let mut out = Vec::new();
    for source in sources {
        let (folder, name) = source.path.rsplit_once('/').unwrap_or(("", &source.path));
        let stem = name.trim_end_matches(".rs");
        let folder = match stem {
            "mod" | "lib" | "main" => folder.to_owned(),
            stem => format!("{folder}/{stem}"),
        };
        for module in &source.test_modules {
            out.push(format!("{folder}/{module}.rs"));
            out.push(format!("{folder}/{module}/"));
        }
    }
    out
}

fn is_test_path(path: &str) -> bool {
    path.contains("/tests/") || path.ends_with("/tests.rs") || path.ends_with("_tests.rs")
}

fn crate_of(path: &str) -> &str {
    let below = path.strip_prefix("crates/").unwrap_or(path);
    below.split('/').next().unwrap_or_default()
}

fn is_excepted(rule: Rule, path: &str) -> bool {
    EXCEPTIONS
        .iter()
        .any(|(known, place, _)| *known == rule && path.starts_with(place))
}

fn at(source: &Source, token: usize, message: String) -> Violation {
    Violation {
        path: source.path.clone(),
        line: source.line_of(source.at(token)),
        message,
    }
}

/// Rules that hold in tests, too.
fn everywhere(source: &Source) -> Vec<Violation> {
    let mut found = Vec::new();
    if !source.text.starts_with("//!") {
        found.push(at(
            source,
            0,
            "does not open with `//!`: what it is, what it is not".into(),
        ));
    }
    for token in 0..source.tokens() {
        let word = source.word(token);
        if word == "unsafe" && !UNSAFE.contains(&crate_of(&source.path)) {
            let message = "`unsafe` outside of files, sandbox, host and grammars";
            found.push(at(source, token, message.into()));
        }
        if matches!(word, "todo" | "unimplemented" | "dbg") && source.word(token + 1) == "!" {
            found.push(at(source, token, format!("`{word}!` is left")));
        }
    }
    found
}

fn sizes(source: &Source) -> Vec<Violation> {
    let mut found = Vec::new();
    let lines = source.production_lines();
    if lines > MAX_FILE_LINES {
        found.push(at(
            source,
            0,
            format!("{lines} lines; at most {MAX_FILE_LINES}"),
        ));
    }
    for token in 0..source.tokens() {
        let start = source.at(token);
        if source.is_test(start) || source.is_table(start) {
            continue;
        }
        let name = source.word(token + 1);
        let is_named = name.starts_with(|c: char| c.is_alphabetic() || c == '_');
        let message = match source.word(token) {
            "fn" if is_named => function(source, token),
            "struct" if is_named => fields(source, token),
            "trait" if is_named => required(source, token),
            _ => None,
        };
        found.extend(message.map(|message| at(source, token, format!("{name}: {message}"))));
    }
    found
}

fn function(source: &Source, token: usize) -> Option<String> {
    let body = source.body(token);
    if source.word(body) != "{" {
        return None;
    }
    let last = source.line_of(source.at(source.closing(body)));
    let lines = last + 1 - source.line_of(source.at(token));
    (lines > MAX_FUNCTION_LINES)
        .then(|| format!("a function of {lines} lines; at most {MAX_FUNCTION_LINES}"))
}

fn fields(source: &Source, token: usize) -> Option<String> {
    let open = source.body(token);
    let is_plain = PLAIN_FILES
        .iter()
        .any(|place| source.path.starts_with(place))
        || source.above(token).contains(PLAIN_DATA);
    if source.word(open) != "{" || is_plain {
        return None;
    }
    let close = source.closing(open);
    let fields = top_level(source, open, close)
        .filter(|t| source.word(*t) == ":")
        .count();
    (fields > MAX_FIELDS).then(|| {
        format!(
            "a struct of {fields} fields; at most {MAX_FIELDS}, unless it is marked `{PLAIN_DATA}`"
        )
    })
}

fn required(source: &Source, token: usize) -> Option<String> {
    let open = source.body(token);
    if source.word(open) != "{" {
        return None;
    }
    let close = source.closing(open);
    let methods = top_level(source, open, close)
        .filter(|t| source.word(*t) == "fn" && source.word(source.body(*t)) == ";")
        .count();
    (methods > MAX_REQUIRED_METHODS)
        .then(|| format!("a trait of {methods} required methods; at most {MAX_REQUIRED_METHODS}"))
}

/// The tokens between two brackets that are not inside further ones.
fn top_level(source: &Source, open: usize, close: usize) -> impl Iterator<Item = usize> {
    let mut token = open + 1;
    std::iter::from_fn(move || {
        while token < close {
            let current = token;
            token += 1;
            if !matches!(source.word(current), "(" | "[" | "{") {
                return Some(current);
            }
            token = source.closing(current) + 1;
        }
        None
    })
}

/// Parts of `std::env` that read nothing of the environment.
fn is_pure_env(source: &Source, token: usize) -> bool {
    let pure = ["split_paths", "join_paths", "consts"];
    let named = match source.word(token) {
        "std" => token + 4,
        _ => token + 2,
    };
    pure.contains(&source.word(named))
}

fn process(source: &Source) -> Vec<Violation> {
    // A build script talks to cargo by its environment and what it prints.
    let is_build_script = source.path.ends_with("/build.rs");
    if is_build_script
        || AT_HOME.contains(&crate_of(&source.path))
        || is_excepted(Rule::Process, &source.path)
    {
        return Vec::new();
    }
    let mut found = Vec::new();
    for token in 0..source.tokens() {
        if source.is_test(source.at(token)) {
            continue;
        }
        let reads = |words: &[&str]| source.reads(token, words);
        let is_first = token == 0 || source.word(token - 1) != "::";
        let macros = ["print", "println", "eprint", "eprintln"];
        let is_env = reads(&["std", "::", "env"]) || (reads(&["env", "::"]) && is_first);
        let what = if is_env && !is_pure_env(source, token) {
            "the environment"
        } else if macros.contains(&source.word(token)) && source.word(token + 1) == "!" {
            "printing"
        } else if ["stdin", "stdout", "stderr"]
            .iter()
            .any(|s| reads(&["io", "::", s]))
        {
            "the standard streams"
        } else if reads(&["process", "::", "exit"]) || reads(&["process", "::", "abort"]) {
            "ending the process"
        } else {
            continue;
        };
        found.push(at(
            source,
            token,
            format!("{what} belongs to app; pass the value in"),
        ));
    }
    found
}

fn vendors(source: &Source) -> Vec<Violation> {
    if !NEUTRAL.contains(&crate_of(&source.path)) {
        return Vec::new();
    }
    let text = source.uncommented.to_lowercase();
    let mut found = Vec::new();
    for vendor in VENDORS {
        if is_excepted(Rule::Vendor(vendor), &source.path) {
            continue;
        }
        for (place, _) in text.match_indices(vendor) {
            if !source.is_test(place) {
                found.push(Violation {
                    path: source.path.clone(),
                    line: source.line_of(place),
                    message: format!("names a vendor ({vendor}); vendors are rows of data files"),
                });
            }
        }
    }
    found
}

/// Variants by crate and name of their enum. Enums of one name in a crate share a row.
type Enums = HashMap<(String, String), HashSet<String>>;

fn enums(sources: &[&Source]) -> Enums {
    let mut out = Enums::new();
    for source in sources {
        for token in 0..source.tokens() {
            if source.word(token) != "enum" {
                continue;
            }
            let open = source.body(token);
            let close = source.closing(open);
            let name = (
                crate_of(&source.path).to_owned(),
                source.word(token + 1).to_owned(),
            );
            let variants = out.entry(name).or_default();
            let mut is_next = true;
            for inner in top_level(source, open, close) {
                match source.word(inner) {
                    "," => is_next = true,
                    "#" => {}
                    name if is_next => {
                        variants.insert(name.to_owned());
                        is_next = false;
                    }
                    _ => {}
                }
            }
        }
    }
    out
}

/// `_ =>` in a match whose other arms are all variants of one of our enums. Matches on pairs, options and the like are
/// not looked at.
fn catch_alls(source: &Source, enums: &Enums) -> Vec<Violation> {
    let mut found = Vec::new();
    let visible = edges::visible_from(crate_of(&source.path));
    for token in 0..source.tokens() {
        if source.word(token) != "match" || source.is_test(source.at(token)) {
            continue;
        }
        let open = source.body(token + 1);
        if source.word(open) != "{" {
            continue;
        }
        let arms = arms(source, open);
        let is_rest = |arm: &usize| source.reads(*arm, &["_", "=>"]);
        let is_ours = |arm: &usize| {
            let name = source.word(*arm);
            let variant = source.word(arm + 2);
            let known = |home: &String| {
                let found = enums.get(&(home.clone(), name.to_owned()));
                found.is_some_and(|variants| variants.contains(variant))
            };
            source.word(arm + 1) == "::" && visible.iter().any(known)
        };
        let (rest, others): (Vec<usize>, Vec<usize>) = arms.into_iter().partition(is_rest);
        if let Some(rest) = rest.first()
            && !others.is_empty()
            && others.iter().all(is_ours)
        {
            let name = others.first().map_or("", |arm| source.word(*arm));
            // A key means something only to whom it is for.
            if name == "Code" {
                continue;
            }
            found.push(at(
                source,
                *rest,
                format!("`_ =>` on our own enum {name}; name the variants"),
            ));
        }
    }
    found
}

/// The first token of each arm.
fn arms(source: &Source, open: usize) -> Vec<usize> {
    let close = source.closing(open);
    let mut out = Vec::new();
    let mut token = open + 1;
    while token < close {
        while source.reads(token, &["#", "["]) {
            token = source.closing(token + 1) + 1;
        }
        out.push(token);
        while token < close && source.word(token) != "=>" {
            token = skip(source, token);
        }
        token += 1;
        if source.word(token) == "{" {
            token = source.closing(token) + 1;
        }
        while token < close && source.word(token) != "," {
            // A block without a comma is followed by the next arm.
            if source.word(token - 1) == "}" {
                break;
            }
            token = skip(source, token);
        }
        if source.word(token) == "," {
            token += 1;
        }
    }
    out
}

/// The token after this one, or after the brackets that it opens.
fn skip(source: &Source, token: usize) -> usize {
    match source.word(token) {
        "(" | "[" | "{" => source.closing(token) + 1,
        _ => token + 1,
    }
}

#[cfg(test)]
mod tests;
