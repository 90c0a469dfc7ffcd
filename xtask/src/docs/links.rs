//! Links between documents: the file is there, and so is the heading. Addresses on the web are not visited.

use super::markdown::Document;
use std::path::{Component, Path, PathBuf};

pub fn check(documents: &[Document], root: &Path) -> Vec<String> {
    let mut wrong = Vec::new();
    for document in documents {
        for line in &document.lines {
            for target in targets(&line.prose) {
                if let Some(why) = fault(document, target, documents, root) {
                    let place = format!("{}:{}", document.path, line.number);
                    wrong.push(format!("{place}: the link {target} {why}"));
                }
            }
        }
    }
    wrong
}

/// What stands in the round brackets of `[text](target)`.
fn targets(prose: &str) -> impl Iterator<Item = &str> {
    prose
        .split("](")
        .skip(1)
        .filter_map(|rest| rest.split(')').next())
}

fn fault(
    from: &Document,
    target: &str,
    documents: &[Document],
    root: &Path,
) -> Option<&'static str> {
    if target.contains("://") || target.starts_with("mailto:") {
        return None;
    }
    let (file, anchor) = target.split_once('#').unwrap_or((target, ""));
    let path = match file {
        "" => from.path.clone(),
        file => {
            let folder = Path::new(&from.path).parent().unwrap_or(Path::new(""));
            plain(&folder.join(file))?
        }
    };
    let Some(there) = documents.iter().find(|d| d.path == path) else {
        return (!root.join(&path).exists()).then_some("leads nowhere");
    };
    let is_known = anchor.is_empty() || there.anchors().iter().any(|a| a == anchor);
    (!is_known).then_some("names a heading that is not there")
}

/// A path below the root without `..`, with `/`.
fn plain(path: &Path) -> Option<String> {
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => _ = out.pop(),
            Component::CurDir => {}
            Component::Prefix(_) | Component::RootDir | Component::Normal(_) => out.push(part),
        }
    }
    Some(out.to_str()?.replace('\\', "/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_lead_somewhere() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let check = |line: &str, expect: &[&str]| {
            let one = Document::new("src/a.md", &format!("# Top of it\n{line}\n"));
            let other = Document::new("src/main.rs", "## There\n");
            assert_eq!(check(&[one, other], root), expect, "{line}");
        };
        check(
            "[x](main.rs) [y](../Cargo.toml) [z](https://nowhere.invalid/)",
            &[],
        );
        check("[x](#top-of-it) [y](main.rs#there)", &[]);
        check(
            "[x](gone.md)",
            &["src/a.md:2: the link gone.md leads nowhere"],
        );
        check(
            "[x](main.rs#here)",
            &["src/a.md:2: the link main.rs#here names a heading that is not there"],
        );
        check("`[x](gone.md)`", &[]);
    }
}
