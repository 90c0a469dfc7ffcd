//! What a call of a server's tool touches, as far as its arguments tell: file arguments by the names that servers agree on,
//! and any other text that is the path of something on the disk, count as read and written, so that path rules bind them.
//! A server reads a relative path in the folder that it was started in, so a path counts there, too. It looks at the disk:
//! only what is there tells a path from another text.

use super::shell::DEEP;
use super::{Scope, normalise};
use ostler_host::Followed;
use ostler_wire::Access;
use serde_json::Value;
use std::borrow::Cow;
use std::path::{Component, Path, PathBuf};

/// Files that one call may name; with more of them it is judged as if it named all there are.
const MAX_FILES: usize = 256;

/// Arguments are looked into this deep; what is deeper may be any file. No parser of ours takes so deep a value.
const MAX_DEPTH: usize = 192;
/// Parts of a text that may be a list of paths; with more of them it is judged as if it named all there are.
const MAX_PIECES: usize = 4096;

/// Words at the end of an argument's name that make it a path. A text that is none resolves to a name in the project.
const PATH_WORDS: [&str; 26] = [
    "path",
    "paths",
    "file",
    "files",
    "filename",
    "filenames",
    "filepath",
    "filepaths",
    "dir",
    "dirs",
    "directory",
    "directories",
    "folder",
    "folders",
    "root",
    "cwd",
    "uri",
    "uris",
    "source",
    "src",
    "destination",
    "dest",
    "dst",
    "target",
    "output",
    "input",
];

/// The folder in which every process sees something else.
const PER_PROCESS: &str = "/proc";
/// What may stand around a path, and between those of a list.
const QUOTES: [char; 5] = ['\'', '"', '`', '<', '>'];
const BETWEEN: [char; 8] = [',', ';', '|', '\n', '"', '\'', '[', ']'];
/// Bytes of a path that a system opens. Servers shorten a longer text in ways of their own before they open it.
const MAX_PATH: usize = 4096;

/// `starts` are folders besides the root from which the server may take relative paths.
pub fn mcp_accesses(
    server: &str,
    tool: &str,
    args: &Value,
    scope: &Scope,
    starts: &[PathBuf],
) -> Vec<Access> {
    let mut out = vec![Access::Mcp {
        server: server.to_owned(),
        tool: tool.to_owned(),
        read_only: false,
    }];
    let mut texts = Vec::new();
    collect(args, IsPath::No, MAX_DEPTH, &mut texts);
    let mut paths: Vec<PathBuf> = Vec::new();
    for (text, is_path) in texts {
        let pieces = match is_path {
            IsPath::Yes => pieces(text),
            IsPath::No => Vec::new(),
        };
        if pieces.len() > MAX_PIECES {
            paths = vec![PathBuf::from(DEEP)];
            break;
        }
        // One of a list counts if something is there: it may be a part of a text.
        let pieces = pieces.into_iter().map(|piece| (piece, IsPath::No));
        for (text, is_path) in pieces.chain([(text, is_path)]) {
            for spelling in spellings(text, scope) {
                match addressed(&spelling) {
                    None => paths.extend(files(&spelling, is_path, scope, starts)),
                    Some(named) => {
                        let each = named.iter();
                        paths.extend(each.flat_map(|path| files(path, IsPath::Yes, scope, starts)));
                    }
                }
            }
        }
        if paths.len() > MAX_FILES {
            paths = vec![PathBuf::from(DEEP)];
            break;
        }
    }
    paths.dedup();
    for path in paths {
        // A server that is given a folder may go through all that is in it.
        out.push(Access::Read(match path.is_dir() {
            true => path.join("**"),
            false => path.clone(),
        }));
        out.push(Access::Write(path));
    }
    out
}

/// Whether a text is a path, because of the name that it has.
#[derive(Clone, Copy, PartialEq, Eq)]
enum IsPath {
    Yes,
    No,
}

/// Each text of the arguments at any depth, and whether the name of its argument, or of one above it, makes it a path.
fn collect<'a>(
    value: &'a Value,
    is_path: IsPath,
    depth: usize,
    found: &mut Vec<(&'a str, IsPath)>,
) {
    let Some(depth) = depth.checked_sub(1) else {
        return found.push((DEEP, IsPath::Yes));
    };
    match value {
        Value::String(text) => found.push((text, is_path)),
        Value::Array(items) => {
            for item in items {
                collect(item, is_path, depth, found);
            }
        }
        Value::Object(fields) => {
            for (name, value) in fields {
                found.push((name, IsPath::No));
                let is_path = match names_path(name) {
                    true => IsPath::Yes,
                    false => is_path,
                };
                collect(value, is_path, depth, found);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// `path`, `file_path`, `repoPath`, `OUTPUT_DIR`: the last word of the name says that it is a place on the disk.
fn names_path(argument: &str) -> bool {
    let mut words = String::new();
    let mut after_small = false;
    for c in argument.trim().chars() {
        if c.is_uppercase() && after_small {
            words.push('_');
        }
        after_small = !c.is_uppercase();
        words.extend(c.to_lowercase());
    }
    let last = words.rsplit(['_', '-', '.', ' ']).next();
    PATH_WORDS.contains(&last.unwrap_or_default())
}

/// A text as it stands, and as a server may take it: without blanks around it, up to a zero byte, behind the name of an
/// option, without quotes, decoded, with homes and variables put in, and the folder of a pattern.
fn spellings(text: &str, scope: &Scope) -> Vec<String> {
    let mut out = vec![text.to_owned()];
    let bare = text.split('\0').next().unwrap_or_default();
    out.push(
        bare.trim_matches(|c: char| c.is_whitespace() || c.is_control())
            .to_owned(),
    );
    for text in out.clone() {
        out.extend(text.split_once('=').map(|(_, value)| value.to_owned()));
    }
    for text in out.clone() {
        let bare = text.trim_matches(QUOTES);
        out.extend((bare != text).then(|| bare.to_owned()));
    }
    for text in out.clone() {
        out.extend(decoded(&text));
    }
    let home = scope.user_home.as_deref().and_then(Path::to_str);
    for text in out.clone() {
        if let Some(home) = home {
            out.push(text.replace("${HOME}", home).replace("$HOME", home));
        }
        out.extend(other_home(&text, scope));
    }
    for text in out.clone() {
        let pattern = text.find(['*', '?', '[', '{']);
        let before = pattern.and_then(|at| text.get(..at));
        let folder = before.and_then(|before| before.rsplit_once('/'));
        out.extend(folder.map(|(folder, _)| format!("{folder}/")));
    }
    out.sort();
    out.dedup();
    out
}

/// `~name/x`: homes lie beside each other.
fn other_home(text: &str, scope: &Scope) -> Option<String> {
    let rest = text.strip_prefix('~').filter(|rest| !rest.is_empty())?;
    let home = scope.user_home.as_deref()?;
    let (name, below) = rest.split_once('/').unwrap_or((rest, ""));
    if name.is_empty() {
        return None;
    }
    let theirs = match name {
        "root" => PathBuf::from("/root"),
        name => home.parent()?.join(name),
    };
    theirs.join(below).to_str().map(str::to_owned)
}

/// The same of a call that only looks: what it names is read, and nothing is written.
pub fn mcp_looks(accesses: Vec<Access>) -> Vec<Access> {
    let look = |access: Access| match access {
        Access::Mcp { server, tool, .. } => Some(Access::Mcp {
            server,
            tool,
            read_only: true,
        }),
        Access::Write(_) => None,
        Access::Read(_)
        | Access::Run(_)
        | Access::Net(_)
        | Access::Job(_)
        | Access::Delegate { .. }
        | Access::Memory
        | Access::History => Some(access),
    };
    accesses.into_iter().filter_map(look).collect()
}

/// The parts of a text that may be a list of paths; none if it has only one.
fn pieces(text: &str) -> Vec<&str> {
    if !text.contains(BETWEEN) {
        return Vec::new();
    }
    let pieces = text.split(BETWEEN).map(str::trim);
    let pieces = pieces.filter(|piece| piece.contains(char::is_alphanumeric));
    pieces.take(MAX_PIECES + 1).collect()
}

/// With its `%2f` and the like as what they stand for, if it has such.
fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let code = after.get(..2).filter(|_| *first == b'%');
        let code = code.and_then(|code| std::str::from_utf8(code).ok());
        let code = code.and_then(|code| u8::from_str_radix(code, 16).ok());
        bytes.push(code.unwrap_or(*first));
        rest = after
            .get(if code.is_some() { 2 } else { 0 }..)
            .unwrap_or_default();
    }
    let text_of = String::from_utf8(bytes).ok()?;
    (text_of != text).then_some(text_of)
}

/// The paths that a `file:` address may mean: servers read them with a library, or take off its beginning. `None` for what is
/// none.
fn addressed(text: &str) -> Option<Vec<String>> {
    let (scheme, rest) = text.split_once(':')?;
    if !scheme.eq_ignore_ascii_case("file") {
        return None;
    }
    let mut paths = Vec::new();
    // Whatever host it names, most take the path alone.
    paths.extend(url::Url::parse(text).ok().map(|url| url.path().to_owned()));
    let bare = rest.strip_prefix("//").unwrap_or(rest);
    paths.push(bare.to_owned());
    paths.extend(bare.split(['?', '#']).next().map(str::to_owned));
    // Behind the host.
    paths.extend(
        bare.find('/')
            .and_then(|at| bare.get(at..))
            .map(str::to_owned),
    );
    let more: Vec<String> = paths.iter().filter_map(|path| decoded(path)).collect();
    paths.extend(more);
    paths.retain(|path| !path.is_empty());
    paths.sort();
    paths.dedup();
    Some(paths)
}

/// The files that a text may mean. Addresses name none. What only might
/// be a path, because it has another name or another start than the root, counts if something is there. A path with a
/// variable may be any.
fn files(text: &str, is_path: IsPath, scope: &Scope, starts: &[PathBuf]) -> Vec<PathBuf> {
    if text.contains("://") || text.is_empty() {
        return Vec::new();
    }
    let Some(text) = shortened(text) else {
        return match is_path {
            IsPath::Yes => vec![PathBuf::from(DEEP)],
            IsPath::No => Vec::new(),
        };
    };
    let text = text.as_ref();
    if is_path == IsPath::Yes && has_variable(text) {
        return vec![PathBuf::from(DEEP)];
    }
    let own = scope.path(text);
    let joined = starts.iter().chain([&scope.root]).map(|s| s.join(text));
    if joined
        .chain([own.clone()])
        .any(|path| depends_on_process(&path))
    {
        return vec![PathBuf::from(DEEP)];
    }
    let is_there = |path: &PathBuf| path.symlink_metadata().is_ok();
    // A new file in a folder that is there.
    let may_be_made =
        |path: &PathBuf| text.contains('/') && path.parent().is_some_and(Path::is_dir);
    let mut out = Vec::new();
    // The server may see another folder for temporary files than commands do.
    for start in starts.iter().chain([&scope.root]) {
        let joined = start.join(text);
        // The system follows a link before it goes up from it.
        let climbs = joined.components().any(|part| part == Component::ParentDir);
        out.extend(climbs.then(|| ostler_host::real_path(&joined)));
        let path = normalise(&joined);
        let counts = is_there(&path) || is_path == IsPath::Yes && may_be_made(&path);
        out.extend((path != own && counts).then_some(path));
    }
    if is_path == IsPath::Yes || is_there(&own) {
        out.push(own);
    }
    out
}

/// A text that is longer than any path, as libraries shorten it: without empty parts and `.`, and if that is not enough
/// without what `..` takes back. `None` if it is too long even so.
fn shortened(text: &str) -> Option<Cow<'_, str>> {
    if text.len() <= MAX_PATH {
        return Some(Cow::Borrowed(text));
    }
    let short: PathBuf = Path::new(text).components().collect();
    let short = match short.as_os_str().len() > MAX_PATH {
        true => normalise(&short),
        false => short,
    };
    let short = short.into_os_string().into_string().ok()?;
    (short.len() <= MAX_PATH).then_some(Cow::Owned(short))
}

/// Whether what lies at a path depends on the process that opens it: the path leads there, or a link on its way does.
fn depends_on_process(path: &Path) -> bool {
    let Followed { real, links } = ostler_host::follow_links(path);
    let mut places = links.iter().map(PathBuf::as_path).chain([&*real, path]);
    places.any(|place| place.starts_with(PER_PROCESS))
}

/// `$NAME` or `${NAME}`, but for the home, which is put in.
fn has_variable(text: &str) -> bool {
    let begins = |c: char| c == '{' || c == '_' || c.is_ascii_alphabetic();
    let mut behind = text.split('$').skip(1);
    behind.any(|rest| {
        rest.starts_with(begins) && !rest.starts_with("HOME") && !rest.starts_with("{HOME}")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::tool;
    use crate::{Call, Policy, Rule, Verdict};
    use serde_json::json;

    #[test]
    fn a_servers_tool_reads_outside_only_when_asked_or_allowed() {
        let scope = Scope::new("/repo", Some("/home/me".into()));
        let mut policy = Policy::default();
        policy.folders.forbidden = vec!["/home/me/.ssh".into()];
        for (args, looks, allowed) in [
            (json!({"path": "a"}), Verdict::Allow, Verdict::Allow),
            (json!({"path": "~/x"}), Verdict::Ask, Verdict::Allow),
            (
                json!({"path": "/usr/share/x"}),
                Verdict::Allow,
                Verdict::Allow,
            ),
            (json!({"root_dir": "../x"}), Verdict::Ask, Verdict::Allow),
            (json!({"path": "~/.ssh/id"}), Verdict::Deny, Verdict::Deny),
            (
                json!({"uri": "file:///home/me/.ssh"}),
                Verdict::Deny,
                Verdict::Deny,
            ),
            (json!({"target": "/etc/x"}), Verdict::Ask, Verdict::Allow),
            (json!({"query": "/no/such"}), Verdict::Allow, Verdict::Allow),
        ] {
            let accesses = mcp_accesses("files", "get", &args, &scope, &[]);
            let call = Call {
                tool: tool("mcp__files__get"),
                accesses: &mcp_looks(accesses.clone()),
                scope: &scope,
                resolved: &[],
            };
            assert_eq!(policy.decide(call).verdict, looks, "{args}");
            let mut policy = policy.clone();
            policy.rules.allow = vec![Rule::parse("mcp__files", "x:1").unwrap()];
            let call = Call {
                accesses: &accesses,
                ..call
            };
            assert_eq!(policy.decide(call).verdict, allowed, "{args}");
        }
    }

    #[test]
    fn path_rules_bind_the_tools_of_servers() {
        let scope = Scope::new("/repo", Some("/home/me".into()));
        let rule = |text: &str| Rule::parse(text, "x:1").unwrap();
        let mut policy = Policy::default();
        policy.rules.deny = vec![rule("Read(.env)"), rule("Edit(gen/**)")];
        policy.rules.allow = vec![rule("mcp__files")];
        let many: Vec<String> = (0..400).map(|i| format!("f{i}")).collect();
        for (args, expect) in [
            (json!({"path": "a"}), Verdict::Allow),
            (json!({"path": "sub/../.env"}), Verdict::Deny),
            (json!({"file_path": "/repo/.env"}), Verdict::Deny),
            (json!({"paths": ["a", ".env"]}), Verdict::Deny),
            (json!({"uri": "file:///repo/%2eenv"}), Verdict::Deny),
            (json!({"uri": "FILE:///repo/.env"}), Verdict::Deny),
            (json!({"uri": "https://a.example/.env"}), Verdict::Allow),
            (json!({"path": "gen/x"}), Verdict::Deny),
            (json!({"path": 7}), Verdict::Allow),
            (json!({"other": ".env"}), Verdict::Allow),
            (json!({"other": "file:///repo/.env"}), Verdict::Deny),
            (json!({"repoPath": "/repo/.env"}), Verdict::Deny),
            (json!({"files": ["a", {"path": ".env"}]}), Verdict::Deny),
            (json!({"edits": [{"file": ".env"}]}), Verdict::Deny),
            (json!({"sourceDirectory": "gen/sub"}), Verdict::Deny),
            (json!({"paths": many}), Verdict::Deny),
            (json!({"PATH": ".env"}), Verdict::Deny),
            (json!({"FILE_PATH": ".env"}), Verdict::Deny),
            (json!({"path": {"value": ".env"}}), Verdict::Deny),
            (json!({"paths": {"a": {"b": [".env"]}}}), Verdict::Deny),
            (json!({"path": " .env\n"}), Verdict::Deny),
            (json!({"path": ".env\u{0}.txt"}), Verdict::Deny),
            (json!({"src": ".env"}), Verdict::Deny),
            (json!({"uri": "file://localhost/repo/.env"}), Verdict::Deny),
            (json!({"uri": "file://host/repo/.env"}), Verdict::Deny),
            (json!({"uri": "file:.env"}), Verdict::Deny),
            (json!({"uri": "file:///repo/.env?x#y"}), Verdict::Deny),
            (json!({"uri": "'file:///repo/.env'"}), Verdict::Deny),
            (json!({"uri": "file%3A%2F%2F%2Frepo%2F.env"}), Verdict::Deny),
            (json!({"path": "\".env\""}), Verdict::Deny),
            (json!({"path": "%2erepo"}), Verdict::Allow),
            (json!({"path": "%2eenv"}), Verdict::Deny),
            (json!(null), Verdict::Allow),
            // Longer than a path, until a server's library has shortened it.
            (
                json!({"path": format!("/repo/{}.env", "./".repeat(2100))}),
                Verdict::Deny,
            ),
            (
                json!({"path": format!("/repo{}.env", "/".repeat(4200))}),
                Verdict::Deny,
            ),
            (
                json!({"path": format!("{}.env", "a/../".repeat(2100))}),
                Verdict::Deny,
            ),
            (
                json!({"path": format!("/repo/{}a", "b/".repeat(2100))}),
                Verdict::Deny,
            ),
            (json!({"content": "b/ ".repeat(2100)}), Verdict::Allow),
            (
                json!({"uri": format!("file:///repo/{}.env", "./".repeat(2100))}),
                Verdict::Deny,
            ),
            (
                json!({"path": format!("{}.env", "b, ".repeat(5000))}),
                Verdict::Deny,
            ),
            (nested(20, json!({"path": ".env"})), Verdict::Deny),
            (nested(120, json!({"path": ".env"})), Verdict::Deny),
        ] {
            let accesses = mcp_accesses("files", "get", &args, &scope, &[]);
            let call = Call {
                tool: tool("mcp__files__get"),
                accesses: &accesses,
                scope: &scope,
                resolved: &[],
            };
            assert_eq!(policy.decide(call).verdict, expect, "{args}");
        }
    }

    fn nested(depth: usize, within: Value) -> Value {
        (0..depth).fold(within, |value, _| json!([value]))
    }

    /// A server of the person's sees the machine's `/tmp`, one in the sandbox that of the session: both count.
    #[test]
    fn an_address_below_tmp_is_that_of_the_machine_too() {
        let dir = std::env::temp_dir().join(format!("ostler-mcp-tmp-{}", std::process::id()));
        let own = dir.join("own");
        std::fs::create_dir_all(&own).unwrap();
        std::fs::write(dir.join("secret"), "x").unwrap();
        let scope = Scope::new("/repo", None).with_temp(Some(own.clone()), Vec::new());
        let secret = dir.join("secret");
        let mut policy = Policy::default();
        let deny = Rule::parse(&format!("Read({})", secret.display()), "x:1").unwrap();
        for rules in [vec![], vec![deny]] {
            policy.rules.deny = rules;
            let expect = match policy.rules.deny.is_empty() {
                true => Verdict::Ask,
                false => Verdict::Deny,
            };
            for args in [
                json!({"path": secret}),
                json!({"uri": format!("file://{}", secret.display())}),
                json!({"other": format!("file://localhost{}", secret.display())}),
                json!({"x": [format!("FILE:{}", secret.display())]}),
            ] {
                let accesses = mcp_accesses("files", "get", &args, &scope, &[]);
                let call = Call {
                    tool: tool("mcp__files__get"),
                    accesses: &mcp_looks(accesses),
                    scope: &scope,
                    resolved: &[],
                };
                assert_eq!(policy.decide(call).verdict, expect, "{args}");
            }
        }
        std::fs::remove_dir_all(&dir).unwrap();
    }

    /// A server that was started in a folder of its own, or in the person's home, takes relative paths from there.
    #[test]
    fn relative_paths_count_where_the_server_stands() {
        let place = std::env::temp_dir().join(format!("ostler-mcp-{}", std::process::id()));
        let (root, home) = (place.join("home/repo"), place.join("home"));
        for folder in ["home/repo", "home/.ssh", "own"] {
            std::fs::create_dir_all(place.join(folder)).unwrap();
        }
        for file in ["home/.ssh/id", "home/notes", "own/secret", "home/repo/.env"] {
            std::fs::write(place.join(file), "x").unwrap();
        }
        std::fs::create_dir_all(home.join("docs")).unwrap();
        #[cfg(unix)]
        for (target, link) in [
            (home.join("docs"), "out"),
            ("/proc/self/cwd".into(), "here"),
            ("/proc/self".into(), "self"),
        ] {
            std::os::unix::fs::symlink(target, root.join(link)).unwrap();
        }
        let scope = Scope::new(&root, Some(home.clone()));
        let mut policy = Policy::default();
        policy.folders.forbidden = vec![home.join(".ssh")];
        policy.rules.deny = vec![Rule::parse("Read(.env)", "x:1").unwrap()];
        for (args, expect) in [
            (json!({"path": ".ssh/id"}), Verdict::Deny),
            (json!({"other": ".ssh/id"}), Verdict::Deny),
            (json!({"path": "notes"}), Verdict::Ask),
            (json!({"path": "no-notes"}), Verdict::Allow),
            (json!({"path": "secret"}), Verdict::Ask),
            (json!({"path": "repo/.env"}), Verdict::Deny),
            (json!({"other": ".env"}), Verdict::Deny),
            (json!({"source": "a word"}), Verdict::Allow),
            (json!({"path": "~me/notes"}), Verdict::Ask),
            (json!({"path": "$HOME/.ssh/id"}), Verdict::Deny),
            (json!({"other": "${HOME}/.ssh/id"}), Verdict::Deny),
            (json!({"path": "$XDG_DATA_HOME/x"}), Verdict::Deny),
            (
                json!({"args": [format!("--file={}", home.join("notes").display())]}),
                Verdict::Ask,
            ),
            (
                json!({"files": {home.join("notes").to_str().unwrap(): true}}),
                Verdict::Ask,
            ),
            (
                json!({"pattern": format!("{}/*", home.display())}),
                Verdict::Deny,
            ),
            (json!({"paths": "a,.env"}), Verdict::Deny),
            (json!({"paths": "[\"a\", \".env\"]"}), Verdict::Deny),
            (json!({"paths": "a;.ssh/id"}), Verdict::Deny),
            (json!({"input": "[//] or, so"}), Verdict::Allow),
            (
                json!({"uri": format!("file://{}", home.join("notes").display())}),
                Verdict::Ask,
            ),
            (json!({"path": "/"}), Verdict::Deny),
            (json!({"path": "/proc/self/cwd/.ssh/id"}), Verdict::Deny),
            (json!({"other": "/proc/thread-self/cwd/x"}), Verdict::Deny),
            // What leads there leads elsewhere for the server.
            (json!({"path": "here/.ssh/id"}), Verdict::Deny),
            (json!({"other": "here/notes"}), Verdict::Deny),
            (json!({"path": "self/cwd/notes"}), Verdict::Deny),
            (json!({"name": "/dev/fd/../cwd/notes"}), Verdict::Deny),
            (
                json!({"uri": format!("file://{}/here/notes", root.display())}),
                Verdict::Deny,
            ),
            // Through a link the way up leads elsewhere.
            (json!({"path": "out/../notes"}), Verdict::Ask),
            (json!({"path": "out/../.ssh/id"}), Verdict::Deny),
            (json!({"path": "/etc"}), Verdict::Ask),
            (json!({"path": "/tmp"}), Verdict::Deny),
        ] {
            let starts = [place.join("own"), home.clone()];
            let accesses = mcp_accesses("files", "get", &args, &scope, &starts);
            let call = Call {
                tool: tool("mcp__files__get"),
                accesses: &mcp_looks(accesses),
                scope: &scope,
                resolved: &[],
            };
            assert_eq!(policy.decide(call).verdict, expect, "{args}");
        }
        std::fs::remove_dir_all(&place).unwrap();
    }
}
