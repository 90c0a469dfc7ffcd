//! `glob`: files by name pattern, newest first.

use super::walk;
use crate::tool::{Context, Done, Rendered, Scope, Subject, ToolError, Typed};
use ostler_host::search::{Found, MAX_PATHS, MAX_WALKED, Search};
use ostler_wire::Access;
use ostler_wire::{CallVerb, ResultForm, ToolDeclaration, ToolKind};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use std::path::PathBuf;

#[derive(Clone, Copy)]
pub struct Glob;

#[derive(Clone, Deserialize, JsonSchema)]
pub struct Args {
    pattern: String,
    #[serde(default)]
    path: Option<String>,
}

impl Typed for Glob {
    type Args = Args;
    type Uses = ();
    const NAME: &'static str = "glob";
    const ABOUT: ToolDeclaration = ToolDeclaration::new(Self::NAME, ToolKind::Read)
        .verb(CallVerb::Find)
        .result(ResultForm::Paths)
        .common_name("Glob");
    const PROSE: &'static str = include_str!("glob.md");

    fn access(&self, args: &Args, scope: &Scope) -> Result<Vec<Access>, ToolError> {
        Ok(vec![walk::read_tree(target(args, scope).0)])
    }

    fn subject(args: &Args) -> Subject {
        Subject::placed(&args.pattern, args.path.as_deref())
    }

    async fn run(&self, args: Args, cx: Context<()>) -> Result<Done, ToolError> {
        let (base, pattern) = target(&args, &cx.scope);
        walk::glob(&pattern)?;
        let scope = cx.scope.clone();
        let tree = walk::tree(base.clone(), &cx);
        let found = walk::search(cx, Search::Names { tree, pattern }).await;
        let Found::Names(found) = found.map_err(|stopped| stopped.of(&base, &scope))? else {
            return Err(walk::other_answer());
        };
        let mut data =
            json!({"paths": found.paths, "total": found.total, "truncated": found.truncated});
        if found.partial {
            data["partial"] = true.into();
        }
        Ok(data.into())
    }

    fn render(data: &Value) -> Rendered {
        let paths = walk::lines(&data["paths"]);
        let mut text = match paths.as_slice() {
            [] => "No files match. Use **/ for any depth; ignored files are left out.".to_owned(),
            some => some.join("\n"),
        };
        if data["partial"] == true {
            text.push_str(&format!(
                "\n[stopped after {} entries; narrow path]",
                MAX_WALKED
            ));
        } else if data["truncated"] == true {
            text.push_str(&format!("\n[the newest {MAX_PATHS} of {}]", data["total"]));
        }
        text.into()
    }
}

/// Where to walk and what to match below it: the pattern's leading plain folders belong to the place.
fn target(args: &Args, scope: &Scope) -> (PathBuf, String) {
    let parts: Vec<&str> = args.pattern.split('/').collect();
    let plain = parts
        .iter()
        .take(parts.len() - 1)
        .take_while(|part| !part.contains(['*', '?', '[', '{', '\\']))
        .count();
    let (folders, rest) = parts.split_at(plain);
    let base = walk::base(args.path.as_deref(), scope);
    let base = match folders {
        [] => base,
        // An absolute pattern, whose first part is empty.
        [""] => PathBuf::from("/"),
        some => {
            let inner = Scope::new(base, scope.user_home.clone());
            inner.path(&some.join("/"))
        }
    };
    (base, rest.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Bench;
    use std::fs::File;
    use std::time::{Duration, SystemTime};

    fn put(bench: &Bench, name: &str, age: u64) {
        let path = bench.put(name, "");
        let time = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000 - age);
        File::options()
            .write(true)
            .open(path)
            .unwrap()
            .set_modified(time)
            .unwrap();
    }

    #[tokio::test]
    async fn newest_first() {
        let bench = Bench::new();
        put(&bench, "old.rs", 9);
        put(&bench, "src/new.rs", 1);
        put(&bench, "src/mid/mid.rs", 5);
        put(&bench, "src/mid/same.rs", 5);
        put(&bench, "src/x.py", 2);
        put(&bench, ".github/w.yml", 3);
        put(&bench, ".git/x.rs", 0);
        put(&bench, "target/y.rs", 0);
        bench.put(".gitignore", "target\n");
        let root = bench.root().display().to_string();
        for (args, expect) in [
            (
                json!({"pattern": "**/*.rs"}),
                json!(["src/new.rs", "src/mid/mid.rs", "src/mid/same.rs", "old.rs"]),
            ),
            (json!({"pattern": "*.rs"}), json!(["old.rs"])),
            (
                json!({"pattern": "src/*.{rs,py}"}),
                json!(["src/new.rs", "src/x.py"]),
            ),
            (
                json!({"pattern": "src/**"}),
                json!([
                    "src/new.rs",
                    "src/x.py",
                    "src/mid/mid.rs",
                    "src/mid/same.rs"
                ]),
            ),
            (
                json!({"pattern": "*.py", "path": "src"}),
                json!(["src/x.py"]),
            ),
            (
                json!({"pattern": "./src/mid/m?d.rs"}),
                json!(["src/mid/mid.rs"]),
            ),
            (
                json!({"pattern": format!("{root}/src/*.py")}),
                json!(["src/x.py"]),
            ),
            (json!({"pattern": "../project/*.rs"}), json!(["old.rs"])),
            (json!({"pattern": "old.rs"}), json!(["old.rs"])),
            (json!({"pattern": "**/*.yml"}), json!([".github/w.yml"])),
            (json!({"pattern": "target/*"}), json!(["target/y.rs"])),
            (json!({"pattern": "src"}), json!([])),
            (json!({"pattern": ""}), json!([])),
        ] {
            let data = bench.run(&Glob, args.clone()).await.unwrap().data;
            assert_eq!(data["paths"], expect, "{args}");
        }
        let nested = format!("{}b{}", "{a,".repeat(300), "}".repeat(300));
        for (args, code) in [
            (json!({"pattern": "a[b"}), "invalid_input"),
            (json!({"pattern": nested}), "invalid_input"),
            (json!({"pattern": "?".repeat(1_000_000)}), "invalid_input"),
            (json!({"pattern": "*", "path": "none"}), "not_found"),
        ] {
            assert_eq!(bench.run(&Glob, args).await.err().unwrap().code, code);
        }
    }

    #[tokio::test]
    async fn the_newest_of_too_many() {
        let bench = Bench::new();
        for n in 0..1010 {
            put(&bench, &format!("{n:04}"), n);
        }
        let data = bench
            .run(&Glob, json!({"pattern": "*"}))
            .await
            .unwrap()
            .data;
        let paths = data["paths"].as_array().unwrap();
        assert_eq!((paths.len(), &data["total"]), (1000, &json!(1010)));
        assert_eq!((&paths[0], &paths[999]), (&json!("0000"), &json!("0999")));
        assert!(
            Glob::render(&data)
                .text
                .ends_with("\n[the newest 1000 of 1010]")
        );
    }

    #[test]
    fn what_is_read_is_declared() {
        let scope = Bench::new().context("glob").scope;
        let check = |pattern: &str, path: &str, expect: &str| {
            let args = json!({"pattern": pattern, "path": path});
            let access = crate::testing::access(&Glob, &args, &scope).unwrap();
            assert_eq!(
                access,
                [Access::Read(scope.path(expect))],
                "{pattern} {path}"
            );
        };
        check("*.rs", "", "");
        check("src/a/*.rs", "b", "b/src/a");
        // Anybody may list these folders; a tree below one is another matter.
        check("/etc/*.conf", "b", "/etc/**");
        check("/*", "b", "/**");
        check("../*.rs", "b", "");
    }
}
