//! What a mention after `@` may name: the names of one folder of the project that may be read.

use crate::boot::Boot;
use ostler_host::Border;
use ostler_serve::backend::{FileItem, Files};
use std::path::{Component, Path};

/// Names of one folder that are looked at.
const MAX_NAMES: usize = 10_000;
/// Never worth a mention.
const NOISE: [&str; 3] = [".git", "node_modules", "__pycache__"];

/// The query is a path from the root: its folder is listed, its last part has to be in the names.
pub fn list(boot: &Boot, query: &str, limit: usize) -> Files {
    let border = crate::policy::border(boot);
    below(&boot.places.root, query, limit, &border)
}

fn below(root: &Path, query: &str, limit: usize, border: &Border) -> Files {
    let (folder, part) = query.rsplit_once('/').unwrap_or(("", query));
    let is_plain = |one: Component<'_>| matches!(one, Component::Normal(_) | Component::CurDir);
    let place = root.join(folder);
    let real = ostler_host::real_path(&place);
    let stays = Path::new(folder).components().all(is_plain) && real.starts_with(root);
    if query.starts_with('/') || !stays || !border.judge(&real).is_open() {
        return Files::default();
    }
    let Ok(entries) = std::fs::read_dir(&place) else {
        return Files::default();
    };
    let part = part.to_lowercase();
    let mut items: Vec<FileItem> = Vec::new();
    for entry in entries.flatten().take(MAX_NAMES) {
        let Ok(name) = entry.file_name().into_string() else {
            continue;
        };
        // A name that breaks the line cannot be typed.
        let odd = name.chars().any(|c| c.is_control() || c.is_whitespace());
        if odd || NOISE.contains(&name.as_str()) || !name.to_lowercase().contains(&part) {
            continue;
        }
        let real = ostler_host::real_path(&entry.path());
        if !real.starts_with(root) || !border.judge(&real).is_open() {
            continue;
        }
        items.push(FileItem {
            folder: real.is_dir(),
            path: match folder {
                "" => name,
                folder => format!("{folder}/{name}"),
            },
        });
    }
    items.sort_by(|a, b| b.folder.cmp(&a.folder).then_with(|| a.path.cmp(&b.path)));
    let truncated = items.len() > limit;
    items.truncate(limit);
    Files { items, truncated }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stay_in_the_project() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        for path in ["p/src/main.rs", "p/src/map.rs", "p/README.md", "secret"] {
            let path = root.join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "").unwrap();
        }
        let check = |query: &str, expect: &[&str]| {
            let found = below(&root.join("p"), query, 10, &Border::none());
            let found: Vec<&str> = found.items.iter().map(|i| i.path.as_str()).collect();
            assert_eq!(found, expect, "{query}");
        };
        check("", &["src", "README.md"]);
        check("read", &["README.md"]);
        check("src/", &["src/main.rs", "src/map.rs"]);
        check("src/MAI", &["src/main.rs"]);
        check("../", &[]);
        check("src/../../", &[]);
        check("/", &[]);
        check("~/", &[]);
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink(&root, root.join("p/out")).unwrap();
            check("out/", &[]);
            check("out", &[]);
        }
    }
}
