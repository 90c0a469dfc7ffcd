//! A tool says everything about itself in its own file, so nobody else needs its name: neither to show its calls nor to judge
//! them. Also counts the places that a new tool has to be written down in.

use super::Violation;
use super::source::Source;

/// Where the built-in tools are: `NAME.rs` and `NAME.md` each.
const TOOLS: &str = "crates/tools/src/builtin/";
/// How a tool's file says its name.
const SAYS: [&str; 2] = ["const NAME: &'static str = \"", "pub const NAME: &str = \""];

/// Where a word is a tool's name and something else, and what.
// tidy: table
const EXCEPTIONS: &[(&str, &[&str], &str)] = &[];

/// The tools' names, from their own files.
pub fn names(sources: &[&Source]) -> Vec<String> {
    let own = sources.iter().filter(|s| s.path.starts_with(TOOLS));
    let name = |source: &&Source| {
        let rest = SAYS.iter().find_map(|says| {
            let at = source.uncommented.find(says)?;
            source.uncommented.get(at + says.len()..)
        })?;
        rest.split('"').next().map(str::to_owned)
    };
    own.filter_map(|source| name(&source)).collect()
}

pub fn check(sources: &[&Source]) -> Vec<Violation> {
    let names = names(sources);
    let ships = |path: &str| path.starts_with("crates/") && !path.starts_with("crates/testkit/");
    let shipped = sources.iter().filter(|source| ships(&source.path));
    shipped
        .flat_map(|source| names.iter().flat_map(|name| literals(source, name)))
        .collect()
}

fn literals(source: &Source, name: &str) -> Vec<Violation> {
    let own = format!("{TOOLS}{name}");
    let is_own = source.path == format!("{own}.rs") || source.path.starts_with(&format!("{own}/"));
    let is_known = EXCEPTIONS
        .iter()
        .any(|(path, words, _)| source.path.starts_with(path) && words.contains(&name));
    if is_own || is_known {
        return Vec::new();
    }
    let literal = format!("\"{name}\"");
    let found = source.uncommented.match_indices(&literal);
    let found = found.filter(|(at, _)| !source.is_test(*at));
    let violation = |(at, _): (usize, &str)| Violation {
        path: source.path.clone(),
        line: source.line_of(at),
        message: format!(
            "{literal} is a tool's name; what is to know of it follows from its declaration"
        ),
    };
    found.map(violation).collect()
}
