//! `ls`: the entries of a folder, as deep as asked, without what is ignored.

use super::walk::{self, Stopped};
use crate::tool::{Context, Done, Rendered, Scope, Subject, ToolError, Typed};
use ostler_host::Error;
use ostler_host::search::{Found, MAX_ENTRIES, Search};
use ostler_wire::Access;
use ostler_wire::{CallVerb, ResultForm, ToolDeclaration, ToolKind};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

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
        let scope = cx.scope.clone();
        let tree = walk::tree(base.clone(), &cx);
        let found = match walk::search(cx, Search::Entries { tree, depth }).await {
            Err(Stopped::Failed(Error::NotDirectory { .. })) => {
                let message = format!("{} is a file; use read_file.", scope.shown(&base));
                return Err(ToolError::new("not_a_directory", message));
            }
            found => found.map_err(|stopped| stopped.of(&base, &scope))?,
        };
        let Found::Entries(found) = found else {
            return Err(walk::other_answer());
        };
        let path = scope.named(&found.base).display().to_string();
        Ok(json!({"path": path, "entries": found.entries, "truncated": found.truncated}).into())
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
