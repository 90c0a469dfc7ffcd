//! Paths that only stand in a text which a command takes: the message of a commit, the code of a script. Pure.

use super::normalise;
use ostler_wire::Segment;
use std::path::Path;

/// Programs that take texts for people, and the options before such a text.
const TEXT_TAKERS: [&str; 9] = [
    "git", "gh", "glab", "hub", "jj", "hg", "svn", "echo", "printf",
];
const TEXT_OPTIONS: [&str; 9] = [
    "-m",
    "-am",
    "--message",
    "--body",
    "-b",
    "--title",
    "-t",
    "--notes",
    "--description",
];

/// Whether a path only stands in a text that the command takes, as in the message of a commit or the code of a script.
/// In code it counts as a name where it is more than a separator or the name of one folder.
pub fn is_mention(segment: &Segment, path: &Path) -> bool {
    // The part of an address behind its scheme looks like a path.
    if segment.text.contains(&format!("/{}", path.display())) {
        return true;
    }
    let program = segment
        .argv
        .first()
        .map(|name| name.rsplit('/').next().unwrap_or(name));
    let takes_text = program.is_some_and(|name| TEXT_TAKERS.contains(&name));
    let prints = matches!(program, Some("echo" | "printf"));
    let is_text = |word: &str| word.contains(|c: char| c.is_whitespace() || "()'\";{}".contains(c));
    let holds = |word: &str| {
        let mut pieces = word.split(|c: char| c.is_whitespace() || "=,:;|&<>()`\"'@".contains(c));
        pieces.any(|piece| !piece.is_empty() && normalise(Path::new(piece)) == path)
    };
    let mut in_text = false;
    let words = segment.argv.iter().skip(1);
    for (before, word) in std::iter::once("")
        .chain(segment.argv.iter().skip(1).map(String::as_str))
        .zip(words)
    {
        match (holds(word), is_text(word)) {
            (false, _) => {}
            (true, false) => return false,
            (true, true) => {
                let is_message = takes_text && (prints || TEXT_OPTIONS.contains(&before));
                let is_long = path.components().count() > 2;
                if is_long && !is_message {
                    return false;
                }
                in_text = true;
            }
        }
    }
    in_text
}
