//! Which git commands show the content of tracked files that their words do not name, and how narrow their pathspecs
//! keep it. What is tracked is looked up elsewhere.

use super::commands::{GIT_CONTENT_FREE, GIT_NAMES_ONLY, GIT_QUIET, GIT_STASH_QUIET, GIT_SUMMARY};

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

/// An option without its value.
fn name_of(arg: &str) -> &str {
    arg.split_once('=').map_or(arg, |(name, _)| name)
}

/// Whether an option is known to bring no content.
fn is_quiet(arg: &str) -> bool {
    let is_count = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
    GIT_QUIET.contains(&name_of(arg))
        || arg.get(1..).is_some_and(is_count)
        || arg.strip_prefix("-n").is_some_and(is_count)
}

/// `HEAD:path` names its file; `:/text` and `^{/text}` name a commit.
fn names_file(object: &str) -> bool {
    let named = object
        .split_once(':')
        .is_some_and(|(_, path)| !path.is_empty());
    named && !object.starts_with(":/") && !object.contains("^{")
}

/// Whether a command may show the content of tracked files that its words do not name: unless it surely does not.
fn has_content(sub: &str, args: &[&str]) -> bool {
    if GIT_CONTENT_FREE.contains(&sub) {
        return sub == "worktree" && args.first() == Some(&"add");
    }
    let options = || args.iter().filter(|a| a.len() > 1 && a.starts_with('-'));
    let objects = || args.iter().filter(|a| !a.starts_with('-'));
    let has = |list: &[&str]| options().any(|a| list.contains(&name_of(a)));
    let loud = !options().all(|a| is_quiet(a));
    let patch = loud || has(&["-u", "-c"]);
    match sub {
        "status" => loud || has(&["-v"]),
        "commit" => options().any(|a| {
            let letters = a
                .split(['m', 'F', 'C', 't', 'u', 'S'])
                .next()
                .unwrap_or_default();
            letters.starts_with("--v") || !a.starts_with("--") && letters.contains('v')
        }),
        "log" => patch || has(&["-L"]),
        "diff-tree" | "diff-files" | "diff-index" => patch,
        "diff" => patch || !has(GIT_SUMMARY),
        "show" => {
            let named = objects().count() > 0 && objects().all(|o| names_file(o));
            (patch || !has(GIT_SUMMARY)) && (loud || !named)
        }
        "stash" => match args.first() {
            None => false,
            Some(first) if GIT_STASH_QUIET.contains(first) => false,
            Some(&"list") => args.len() > 1,
            Some(&"show") => loud || has(&["-u"]),
            Some(_) => true,
        },
        "grep" => loud || !has(GIT_NAMES_ONLY),
        "cat-file" => {
            let named = |o: &&str| names_file(o) || *o == "HEAD" && args.contains(&"-p");
            let tells_kind = matches!(args, ["-t" | "-s" | "-e", _]);
            !(tells_kind || args.len() > 1 && objects().all(named))
        }
        // What is not known may show anything.
        _ => true,
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
            ("log --patch-with-stat", &["./(all tracked files)"]),
            ("log --patch-with-raw", &["./(all tracked files)"]),
            ("log --binary", &["./(all tracked files)"]),
            ("log -up", &["./(all tracked files)"]),
            ("log --remerge-diff", &["./(all tracked files)"]),
            ("log --dd", &["./(all tracked files)"]),
            ("log --pat", &["./(all tracked files)"]),
            ("log -5 --oneline --stat", &[]),
            ("show --stat --binary HEAD", &["./(all tracked files)"]),
            ("show :/fix", &["./(all tracked files)"]),
            ("show HEAD^{/fix}", &["./(all tracked files)"]),
            ("show --stat HEAD", &[]),
            ("diff --stat --binary", &["./(all tracked files)"]),
            (
                "diff --numstat --patch-with-stat",
                &["./(all tracked files)"],
            ),
            ("diff --quiet --no-quiet", &["./(all tracked files)"]),
            ("status -vv", &["./(all tracked files)"]),
            ("status -sb", &[]),
            ("grep -l --no-name-only KEY", &["./(all tracked files)"]),
            ("grep -c --no-count KEY", &["./(all tracked files)"]),
            ("archive HEAD", &["./(all tracked files)"]),
            ("whatchanged -p", &["./(all tracked files)"]),
            ("diff-index -p HEAD", &["./(all tracked files)"]),
            ("diff-tree --name-only -r HEAD", &[]),
            ("format-patch -1 --stdout", &["./(all tracked files)"]),
            ("fast-export HEAD", &["./(all tracked files)"]),
            ("bundle create x HEAD", &["./(all tracked files)"]),
            ("stash show -p", &["./(all tracked files)"]),
            ("stash show", &[]),
            ("stash list", &[]),
            ("stash push", &[]),
            ("unknown", &["./(all tracked files)"]),
            ("push origin main", &[]),
            ("commit -m x", &[]),
            ("commit -v", &["./(all tracked files)"]),
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
