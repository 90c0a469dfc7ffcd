//! `glob`: files by name pattern, newest first.

use super::walk;
use crate::tool::{Context, Done, Rendered, Scope, Subject, ToolError, Typed};
use globset::GlobSet;
use ignore::DirEntry;
use ostler_guard::Guard;
use ostler_host::TreeReader;
use ostler_wire::Access;
use ostler_wire::{CallVerb, ResultForm, ToolDeclaration, ToolKind};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::path::{Path, PathBuf};
use std::time::SystemTime;
use tokio_util::sync::CancellationToken;

const MAX_PATHS: usize = 1000;

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
        let matcher = walk::glob(&pattern)?;
        let guard = cx.guard;
        walk::blocking(cx.cancel, move |cancel| {
            find(&base, &matcher, &guard, cancel)
        })
        .await
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
                walk::MAX_WALKED
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

fn find(
    base: &Path,
    matcher: &GlobSet,
    guard: &Guard,
    cancel: &CancellationToken,
) -> Result<Done, ToolError> {
    let scope = &guard.scope;
    walk::check_base(base, guard)?;
    let base = walk::start(base, guard);
    let base = base.as_path();
    // The oldest of the kept ones is on top.
    let mut kept: BinaryHeap<(Reverse<SystemTime>, PathBuf)> = BinaryHeap::new();
    let mut total = 0u64;
    let mut partial = false;
    for (walked, entry) in walk::builder(base, guard, &[]).build().enumerate() {
        if cancel.is_cancelled() {
            return Err(walk::interrupted());
        }
        if walked >= walk::MAX_WALKED {
            partial = true;
            break;
        }
        // What cannot be read has no files to offer.
        let Ok(entry) = entry else { continue };
        let below = entry.path().strip_prefix(base).unwrap_or(entry.path());
        if !matcher.is_match(below) || !is_file(&entry) {
            continue;
        }
        let modified = entry.metadata().ok().and_then(|m| m.modified().ok());
        total += 1;
        kept.push((
            Reverse(modified.unwrap_or(SystemTime::UNIX_EPOCH)),
            entry.into_path(),
        ));
        if kept.len() > MAX_PATHS {
            kept.pop();
        }
    }
    let mut reader = TreeReader::new(guard.border.clone());
    let found = kept.into_sorted_vec().into_iter().map(|(_, path)| path);
    // A folder may have been swapped for a link while it was listed; what is named is what is there.
    let found: Vec<PathBuf> = found.filter(|path| reader.locate(path).is_ok()).collect();
    let paths: Vec<String> = found.iter().map(|path| scope.shown(path)).collect();
    let truncated = partial || total > paths.len() as u64;
    let mut data = json!({"paths": paths, "total": total, "truncated": truncated});
    if partial {
        data["partial"] = true.into();
    }
    Ok(data.into())
}

fn is_file(entry: &DirEntry) -> bool {
    if entry.path_is_symlink() {
        return entry.path().is_file();
    }
    entry.file_type().is_some_and(|t| t.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Bench;
    use std::fs::File;
    use std::time::Duration;

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
