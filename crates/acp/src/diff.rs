//! Unified diffs as pairs of texts, which is how the protocol shows changes: one pair for each piece of a file.

use crate::protocol::schema::Diff;
use std::path::{Path, PathBuf};

/// Pieces of one change that are shown.
const MAX_PIECES: usize = 64;

/// The pieces of a unified diff. Paths of its headers are resolved in `root`; without a header it is about `path`.
pub fn pieces(unified: &str, root: &Path, path: Option<&Path>) -> Vec<Diff> {
    let mut out = Vec::new();
    let mut at = path.map(Path::to_owned);
    let mut piece: Option<Piece> = None;
    let mut lines = unified.lines().peekable();
    while let Some(line) = lines.next() {
        let is_head =
            line.starts_with("--- ") && lines.peek().is_some_and(|l| l.starts_with("+++ "));
        if is_head {
            out.extend(piece.take().and_then(|piece| piece.shown(at.as_deref())));
            let new = lines.next().unwrap_or_default();
            let named = named(new.trim_start_matches("+++ "))
                .or_else(|| named(line.trim_start_matches("--- ")));
            // What the call names is what the editor has open.
            at = path.map(Path::to_owned).or(named.map(|p| root.join(p)));
        } else if line.starts_with("@@") {
            out.extend(piece.take().and_then(|piece| piece.shown(at.as_deref())));
            piece = Some(Piece::default());
        } else if let Some(piece) = &mut piece {
            piece.take_line(line);
        }
    }
    out.extend(piece.and_then(|piece| piece.shown(at.as_deref())));
    out.truncate(MAX_PIECES);
    out
}

/// The path of a header, without the marks that git puts before it and the time that others put behind it.
fn named(header: &str) -> Option<PathBuf> {
    let path = header.split('\t').next().unwrap_or_default().trim();
    let bare = path.strip_prefix("a/").or_else(|| path.strip_prefix("b/"));
    let path = bare.unwrap_or(path);
    (!path.is_empty() && path != "/dev/null").then(|| PathBuf::from(path))
}

#[derive(Default)]
struct Piece {
    old: String,
    new: String,
}

impl Piece {
    fn take_line(&mut self, line: &str) {
        let (mark, text) = match line.split_at_checked(1) {
            Some((mark, text)) => (mark, text),
            // An empty line of context whose blank was cut off.
            None => (" ", ""),
        };
        let add = |to: &mut String| {
            to.push_str(text);
            to.push('\n');
        };
        match mark {
            "-" => add(&mut self.old),
            "+" => add(&mut self.new),
            " " => {
                add(&mut self.old);
                add(&mut self.new);
            }
            // `\ No newline at end of file` and what stands between files.
            _ => {}
        }
    }

    fn shown(self, path: Option<&Path>) -> Option<Diff> {
        let path = path?;
        let is_change = self.old != self.new;
        let old = (!self.old.is_empty()).then_some(self.old);
        is_change.then(|| Diff::new(path, self.new).old_text(old))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_of_a_diff() {
        let text = "--- a/src/a.rs\n+++ b/src/a.rs\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n@@ -9,1 +9,2 @@\n nine\n+ten\n\\ No newline at end of file\n--- /dev/null\n+++ b/new.txt\n@@ -0,0 +1 @@\n+hello\n";
        let found = pieces(text, Path::new("/p"), None);
        let shown: Vec<_> = found
            .iter()
            .map(|d| {
                let path = d.path.to_string_lossy().into_owned();
                (path, d.old_text.clone(), d.new_text.clone())
            })
            .collect();
        let text = |text: &str| Some(text.to_owned());
        assert_eq!(
            shown,
            [
                (
                    "/p/src/a.rs".into(),
                    text("one\ntwo\nthree\n"),
                    "one\n2\nthree\n".into()
                ),
                ("/p/src/a.rs".into(), text("nine\n"), "nine\nten\n".into()),
                ("/p/new.txt".into(), None, "hello\n".into()),
            ]
        );
    }

    #[test]
    fn a_diff_without_headers_is_about_the_file_of_the_call() {
        let found = pieces(
            "@@ -1 +1 @@\n-- old\n+++ new\n",
            Path::new("/p"),
            Some(Path::new("/p/x")),
        );
        let [piece] = found.as_slice() else {
            panic!("{found:?}")
        };
        assert_eq!(piece.old_text.as_deref(), Some("- old\n"));
        assert_eq!(piece.new_text, "++ new\n");
        assert!(pieces("nothing", Path::new("/p"), None).is_empty());
    }
}
