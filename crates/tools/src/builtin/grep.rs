//! `grep`: file contents by regular expression, on ripgrep's libraries. What a call asks for; the work is in `search`.

#[cfg(test)]
mod tests;

use super::walk;
use crate::tool::{Context, Done, Rendered, Scope, Subject, ToolError, Typed};
use ostler_host::search::{self, Found, LineQuery, MAX_LINE_BYTES, NameFilter, Search};
use ostler_wire::Access;
use ostler_wire::{CallVerb, ResultForm, ToolDeclaration, ToolKind};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

const MAX_CONTEXT: usize = 20;

#[derive(Clone, Copy)]
pub struct Grep;

#[derive(Clone, Deserialize, JsonSchema)]
pub struct Args {
    /// Rust regex
    pattern: String,
    #[serde(default)]
    path: Option<String>,
    /// e.g. *.rs
    #[serde(default)]
    glob: Option<String>,
    /// e.g. rust
    #[serde(default, rename = "type")]
    kind: Option<String>,
    #[serde(default)]
    #[schemars(with = "Mode")]
    mode: Option<Mode>,
    #[serde(default)]
    context: Option<usize>,
    #[serde(default)]
    ignore_case: Option<bool>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    #[default]
    Content,
    Files,
    Count,
}

impl Typed for Grep {
    type Args = Args;
    type Uses = ();
    const NAME: &'static str = "grep";
    const ABOUT: ToolDeclaration = ToolDeclaration::new(Self::NAME, ToolKind::Read)
        .verb(CallVerb::Search)
        .result(ResultForm::Matches)
        .common_name("Grep");
    const PROSE: &'static str = include_str!("grep.md");

    fn access(&self, args: &Args, scope: &Scope) -> Result<Vec<Access>, ToolError> {
        Ok(vec![walk::read_tree(walk::base(
            args.path.as_deref(),
            scope,
        ))])
    }

    fn subject(args: &Args) -> Subject {
        let place = args.path.as_deref().or(args.glob.as_deref());
        Subject::placed(&args.pattern, place.or(args.kind.as_deref()))
    }

    async fn run(&self, args: Args, cx: Context<()>) -> Result<Done, ToolError> {
        let base = walk::base(args.path.as_deref(), &cx.scope);
        let query = query(args)?;
        let scope = cx.scope.clone();
        let tree = walk::tree(base.clone(), &cx);
        let found = walk::search(cx, Search::Lines { tree, query }).await;
        let Found::Lines(found) = found.map_err(|stopped| stopped.of(&base, &scope))? else {
            return Err(walk::other_answer());
        };
        let mut data = json!({
            "matches": found.lines,
            "count": found.count,
            "searched": found.searched,
            "truncated": found.truncated,
        });
        if let Some(skipped) = found.skipped {
            data["skipped"] = skipped.into();
        }
        Ok(data.into())
    }

    fn render(data: &Value) -> Rendered {
        let lines: Vec<&str> = data["matches"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        let mut text = match lines.as_slice() {
            [] if data["searched"] == 0 => "There is no file to search there: path, glob and type leave none, or all are ignored.".into(),
            [] => format!("No matches in {} files.", data["searched"]),
            some => some.join("\n"),
        };
        if data["truncated"] == true {
            text.push_str(&format!(
                "\n[cut after {} matches; narrow pattern, path, glob or type]",
                data["count"]
            ));
        }
        if let Some(skipped) = data["skipped"].as_u64() {
            text.push_str(&format!(
                "\n[{skipped} files could not be searched: not readable, or with a line over {} MB]",
                MAX_LINE_BYTES >> 20
            ));
        }
        text.into()
    }
}

/// Models leave unused arguments empty.
fn filled(text: Option<&str>) -> Option<&str> {
    text.filter(|t| !t.trim().is_empty())
}

/// What to look for. What is wrong with it is said before anything is searched.
fn query(args: Args) -> Result<LineQuery, ToolError> {
    walk::check_pattern(&args.pattern)?;
    let ignore_case = args.ignore_case.unwrap_or(false);
    search::matcher(&args.pattern, ignore_case).map_err(|e| {
        ToolError::new(
            "invalid_input",
            format!("The pattern is not a regular expression: {e}\nPut a backslash before ( [ {{ . * + ? | that you mean literally; lines are searched one by one, without look-around."),
        )
    })?;
    let glob = filled(args.glob.as_deref());
    if let Some(glob) = glob {
        walk::check_pattern(glob)?;
        NameFilter::new(glob).map_err(|why| ToolError::new("invalid_input", why))?;
    }
    let kind = filled(args.kind.as_deref());
    if let Some(name) = kind.map(|kind| kind.trim().trim_start_matches('.')) {
        search::types(name).ok_or_else(|| {
            ToolError::new(
                "invalid_input",
                format!("There is no file type {name:?}; use glob instead."),
            )
        })?;
    }
    Ok(LineQuery {
        ignore_case,
        glob: glob.map(str::to_owned),
        kind: kind.map(str::to_owned),
        mode: match args.mode.unwrap_or_default() {
            Mode::Content => search::Mode::Content,
            Mode::Files => search::Mode::Files,
            Mode::Count => search::Mode::Count,
        },
        context: args.context.unwrap_or(0).min(MAX_CONTEXT),
        pattern: args.pattern,
    })
}
