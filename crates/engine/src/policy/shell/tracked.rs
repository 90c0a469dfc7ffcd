//! Which git commands show the content of tracked files that their words do not name, and how narrow their pathspecs
//! keep it. What is tracked is looked up elsewhere.

/// A path that ends so stands for the files below it that git tracks: `src/(tracked files)`.
pub const TRACKED: &str = "(tracked files";
/// The same for all of a repository, wherever in it the command runs.
pub const ALL_TRACKED: &str = "(all tracked files";
/// Between that and the pathspecs that are left out.
const BUT: &str = " but ";

/// What a git command shows: one path per place.
pub fn shown(args: &[&str]) -> Vec<String> {
    let mut rest = args.iter().copied().skip_while(|a| a.starts_with('-'));
    let Some(sub) = rest.next() else {
        return Vec::new();
    };
    let args: Vec<&str> = rest.collect();
    let (before, specs) = match args.iter().position(|a| *a == "--") {
        Some(at) => (
            args.get(..at).unwrap_or_default(),
            args.get(at + 1..).unwrap_or_default(),
        ),
        None => (args.as_slice(), &[][..]),
    };
    if !has_content(sub, before) {
        return Vec::new();
    }
    let mut left_out: Vec<&str> = Vec::new();
    let mut places: Vec<&str> = Vec::new();
    for spec in specs {
        match excluded(spec) {
            Some(name) => left_out.push(name),
            None => places.push(spec),
        }
    }
    let but = match left_out.is_empty() {
        true => ")".to_owned(),
        false => format!("{BUT}{})", left_out.join(", ")),
    };
    // What a pattern or other magic may mean is not worth knowing.
    let odd = |spec: &&str| spec.starts_with(':') || spec.contains(['*', '?', '[']);
    if places.is_empty() || places.iter().any(odd) {
        return vec![format!("./{ALL_TRACKED}{but}")];
    }
    let below = |place: &&str| format!("{}/{TRACKED}{but}", place.trim_end_matches('/'));
    places.iter().map(below).collect()
}

/// The pathspecs that a last component of such a path leaves out; `None` when it is none.
pub fn left_out(name: &str) -> Option<Vec<&str>> {
    let rest = name
        .strip_prefix(TRACKED)
        .or_else(|| name.strip_prefix(ALL_TRACKED))?
        .strip_suffix(')')?;
    let list = rest.strip_prefix(BUT).unwrap_or_default();
    Some(list.split(", ").filter(|n| !n.is_empty()).collect())
}

/// The name in a pathspec that leaves it out.
pub fn excluded(spec: &str) -> Option<&str> {
    let name = [":!", ":^", ":(exclude)"]
        .iter()
        .find_map(|magic| spec.strip_prefix(magic))?;
    let plain = !name.is_empty() && !name.contains([':', '(', ')', '*', '?', '[', ',']);
    plain.then_some(name.trim_end_matches('/'))
}

/// Whether a git command shows files that are not tracked, too.
pub fn looks_further(args: &[&str]) -> bool {
    let rest = args.iter().skip_while(|a| a.starts_with('-'));
    let mut rest = rest.take_while(|a| **a != "--");
    let far = |a: &&str| {
        // A unique beginning of a long option is that option.
        a.len() > 4 && ("--untracked".starts_with(*a) || "--no-index".starts_with(*a))
    };
    rest.next() == Some(&"grep") && rest.any(far)
}

fn has_content(sub: &str, args: &[&str]) -> bool {
    let patch = args.iter().any(|a| {
        matches!(*a, "-p" | "-u" | "--patch" | "-c" | "--cc" | "--full-diff")
            || a.starts_with("-U")
            || a.starts_with("-L")
            || a.starts_with("--unified")
    });
    let summary = args.iter().any(|a| {
        [
            "--stat",
            "--numstat",
            "--shortstat",
            "--name-",
            "--summary",
            "--dirstat",
        ]
        .iter()
        .any(|o| a.starts_with(o))
            || matches!(*a, "-s" | "--no-patch" | "--quiet")
    });
    let names_only = || {
        args.iter().any(|a| {
            matches!(
                *a,
                "-l" | "-L" | "-c" | "--files-with-matches" | "--count" | "-q"
            )
        })
    };
    let objects = || args.iter().filter(|a| !a.starts_with('-'));
    match sub {
        "diff" => patch || !summary,
        // `HEAD:path` names its file.
        "show" => {
            (patch || !summary) && !(objects().count() > 0 && objects().all(|o| o.contains(':')))
        }
        "log" | "stash" | "whatchanged" => patch,
        "grep" => !names_only(),
        "cat-file" => args.contains(&"-p") && !objects().all(|o| o.contains(':') || *o == "HEAD"),
        "archive" | "format-patch" => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_git_shows() {
        for (words, expect) in [
            ("status", &[][..]),
            ("diff", &["./(all tracked files)"]),
            ("--no-pager diff HEAD~1", &["./(all tracked files)"]),
            ("diff --stat", &[]),
            ("diff --stat -p", &["./(all tracked files)"]),
            (
                "diff -- src docs/",
                &["src/(tracked files)", "docs/(tracked files)"],
            ),
            (
                "diff -- . :!.env :(exclude)a",
                &["./(tracked files but .env, a)"],
            ),
            ("diff -- :!.env", &["./(all tracked files but .env)"]),
            ("diff -- :!*.x", &["./(all tracked files)"]),
            ("diff -- *.rs", &["./(all tracked files)"]),
            ("show HEAD:src/a.rs", &[]),
            ("show HEAD", &["./(all tracked files)"]),
            ("log --oneline", &[]),
            ("log -p -1", &["./(all tracked files)"]),
            ("grep -n x -- src", &["src/(tracked files)"]),
            ("grep -l x", &[]),
            ("cat-file -t HEAD", &[]),
            ("cat-file -p 1234", &["./(all tracked files)"]),
            ("", &[]),
        ] {
            let args: Vec<&str> = words.split_whitespace().collect();
            assert_eq!(shown(&args), expect, "{words}");
        }
        assert_eq!(
            left_out("(tracked files but .env, a)"),
            Some(vec![".env", "a"])
        );
        assert_eq!(left_out("(all tracked files)"), Some(vec![]));
        assert_eq!(left_out("(tracked files"), None);
        assert_eq!(left_out("src"), None);
    }
}
