//! `ls`: the entries of a folder, as deep as asked, without what is ignored.

use super::walk;
use crate::tool::{Context, Done, Rendered, Scope, Subject, ToolError, Typed};
use ignore::DirEntry;
use ostler_guard::Guard;
use ostler_host::{Kind, TreeReader};
use ostler_wire::Access;
use ostler_wire::{CallVerb, ResultForm, ToolDeclaration, ToolKind};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use std::path::Path;
use tokio_util::sync::CancellationToken;

const MAX_ENTRIES: usize = 1000;
const MAX_DEPTH: usize = 10;

#[derive(Clone, Copy)]
pub struct Ls;

#[derive(Clone, Deserialize, JsonSchema)]
pub struct Args {
    #[serde(default)]
    path: Option<String>,
    /// Levels; default 1
    #[serde(default)]
    depth: Option<usize>,
}

impl Typed for Ls {
    type Args = Args;
    type Uses = ();
    const NAME: &'static str = "ls";
    const ABOUT: ToolDeclaration = ToolDeclaration::new(Self::NAME, ToolKind::Read)
        .verb(CallVerb::List)
        .result(ResultForm::Entries)
        .common_name("LS");
    const PROSE: &'static str = include_str!("ls.md");

    fn access(&self, args: &Args, scope: &Scope) -> Result<Vec<Access>, ToolError> {
        let base = walk::base(args.path.as_deref(), scope);
        Ok(vec![match args.depth {
            None | Some(0 | 1) => Access::Read(base),
            Some(_) => walk::read_tree(base),
        }])
    }

    fn subject(args: &Args) -> Subject {
        args.path.as_deref().unwrap_or(".").into()
    }

    async fn run(&self, args: Args, cx: Context<()>) -> Result<Done, ToolError> {
        let base = walk::base(args.path.as_deref(), &cx.scope);
        let depth = args.depth.unwrap_or(1).clamp(1, MAX_DEPTH);
        let guard = cx.guard;
        walk::blocking(cx.cancel, move |cancel| list(&base, depth, &guard, cancel)).await
    }

    fn render(data: &Value) -> Rendered {
        let entries = walk::lines(&data["entries"]);
        let mut text = match entries.as_slice() {
            [] => "(empty)".to_owned(),
            some => some.join("\n"),
        };
        if data["truncated"] == true {
            text.push_str(&format!(
                "\n[more than {MAX_ENTRIES} entries; narrow path or depth]"
            ));
        }
        text.into()
    }
}

struct Item {
    depth: usize,
    /// Parts of the path, which sort a folder before its neighbours' children.
    key: Vec<String>,
    shown: String,
}

fn list(
    base: &Path,
    depth: usize,
    guard: &Guard,
    cancel: &CancellationToken,
) -> Result<Done, ToolError> {
    let scope = &guard.scope;
    if walk::check_base(base, guard)? != Kind::Directory {
        let message = format!("{} is a file; use read_file.", scope.shown(base));
        return Err(ToolError::new("not_a_directory", message));
    }
    let base = walk::start(base, guard);
    let base = base.as_path();
    let mut items = Vec::new();
    let mut truncated = false;
    let mut reader = TreeReader::new(guard.border.clone());
    let walker = walk::builder_to(base, depth, guard, &["node_modules"]);
    for (walked, entry) in walker.build().enumerate() {
        if cancel.is_cancelled() {
            return Err(walk::interrupted());
        }
        if walked > walk::MAX_WALKED {
            truncated = true;
            break;
        }
        match entry {
            Ok(entry) if entry.depth() == 0 => {}
            // A folder may have been swapped for a link while it was listed; what is named is what is there.
            Ok(entry) if reader.locate(entry.path()).is_ok() => items.push(item(&entry, base)),
            Ok(_) => {}
            Err(e) if e.depth() == Some(0) => {
                let message = format!("{} cannot be read: {e}.", scope.shown(base));
                return Err(ToolError::new("read_error", message));
            }
            // A folder that may not be read is listed itself; that says enough.
            Err(_) => {}
        }
        if items.len() >= 10 * MAX_ENTRIES {
            truncated |= keep_upper(&mut items);
        }
    }
    truncated |= keep_upper(&mut items);
    items.sort_by(|a, b| a.key.cmp(&b.key));
    let entries: Vec<String> = items.into_iter().map(|i| i.shown).collect();
    Ok(
        json!({"path": scope.named(base).display().to_string(), "entries": entries, "truncated": truncated})
            .into(),
    )
}

/// When not all fit the upper levels matter most. Says whether something was left out.
fn keep_upper(items: &mut Vec<Item>) -> bool {
    let too_many = items.len() > MAX_ENTRIES;
    if too_many {
        items.sort_by(|a, b| (a.depth, &a.key).cmp(&(b.depth, &b.key)));
        items.truncate(MAX_ENTRIES);
    }
    too_many
}

fn item(entry: &DirEntry, base: &Path) -> Item {
    let path = entry.path().strip_prefix(base).unwrap_or(entry.path());
    let key = path
        .iter()
        .map(|part| part.to_string_lossy().into_owned())
        .collect();
    let mut shown = path.display().to_string();
    if entry.file_type().is_some_and(|t| t.is_dir()) {
        shown.push('/');
    } else if entry.path_is_symlink()
        && let Ok(target) = std::fs::read_link(entry.path())
    {
        shown.push_str(&format!(" -> {}", target.display()));
    }
    Item {
        depth: entry.depth(),
        key,
        shown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Bench;

    #[tokio::test]
    async fn entries_in_order_without_what_is_ignored() {
        let bench = Bench::new();
        for file in [
            "b.rs",
            "a/x/deep.rs",
            "a/y",
            ".github/w.yml",
            ".git/config",
            "node_modules/m/i.js",
            "target/t",
        ] {
            bench.put(file, "");
        }
        bench.put(".gitignore", "target\n");
        std::fs::create_dir(bench.path("empty")).unwrap();
        for (args, expect) in [
            (
                json!({}),
                json!([".github/", ".gitignore", "a/", "b.rs", "empty/"]),
            ),
            (json!({"path": "a"}), json!(["x/", "y"])),
            (
                json!({"path": bench.path("a"), "depth": 2}),
                json!(["x/", "x/deep.rs", "y"]),
            ),
            (
                json!({"depth": 2}),
                json!([
                    ".github/",
                    ".github/w.yml",
                    ".gitignore",
                    "a/",
                    "a/x/",
                    "a/y",
                    "b.rs",
                    "empty/"
                ]),
            ),
            (json!({"path": "empty", "depth": 0}), json!([])),
            (
                json!({"path": "node_modules", "depth": 99}),
                json!(["m/", "m/i.js"]),
            ),
            (json!({"path": "target"}), json!(["t"])),
            (json!({"path": ".git"}), json!(["config"])),
        ] {
            let data = bench.run(&Ls, args.clone()).await.unwrap().data;
            assert_eq!(data["entries"], expect, "{args}");
        }
        assert_eq!(
            bench
                .run(&Ls, json!({"path": "none"}))
                .await
                .err()
                .unwrap()
                .code,
            "not_found"
        );
        assert_eq!(
            bench
                .run(&Ls, json!({"path": "b.rs"}))
                .await
                .err()
                .unwrap()
                .code,
            "not_a_directory"
        );
    }

    #[tokio::test]
    async fn a_cut_listing_keeps_the_upper_levels() {
        let bench = Bench::new();
        for n in 0..1100 {
            bench.put(&format!("a/{n:04}"), "");
        }
        bench.put("z", "");
        let data = bench.run(&Ls, json!({"depth": 2})).await.unwrap().data;
        let entries = data["entries"].as_array().unwrap();
        assert_eq!((entries.len(), &data["truncated"]), (1000, &json!(true)));
        assert_eq!((&entries[0], &entries[999]), (&json!("a/"), &json!("z")));
        assert!(
            Ls::render(&data)
                .text
                .ends_with("\nz\n[more than 1000 entries; narrow path or depth]")
        );
    }

    #[cfg(unix)]
    #[tokio::test]
    async fn links_say_where_they_lead_and_are_not_followed() {
        let bench = Bench::new();
        std::os::unix::fs::symlink(bench.root(), bench.path("loop")).unwrap();
        std::os::unix::fs::symlink("nowhere", bench.path("x")).unwrap();
        let data = bench.run(&Ls, json!({"depth": 5})).await.unwrap().data;
        assert_eq!(
            data["entries"],
            json!([
                format!("loop -> {}", bench.root().display()),
                "x -> nowhere"
            ])
        );
    }

    #[test]
    fn a_name_stays_on_its_line() {
        let data = json!({"entries": ["a b", "c\nd", "\u{1b}[2Je", "ž"], "truncated": false});
        assert_eq!(Ls::render(&data).text, "a b\n\"c\\nd\"\n\"\\u001b[2Je\"\nž");
    }

    #[test]
    fn an_empty_folder_is_said() {
        assert_eq!(
            Ls::render(&json!({"entries": [], "truncated": false})).text,
            "(empty)"
        );
    }
}
