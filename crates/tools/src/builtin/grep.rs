//! `grep`: file contents by regular expression, on ripgrep's libraries. What a call asks for; the work is in `search`.

mod search;
#[cfg(test)]
mod tests;

use super::walk;
use crate::tool::{Context, Done, Rendered, Scope, Subject, ToolError, Typed};
use globset::GlobSet;
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use ignore::types::{Types, TypesBuilder};
use ostler_wire::Access;
use ostler_wire::{CallVerb, ResultForm, ToolDeclaration, ToolKind};
use schemars::JsonSchema;
use search::Query;
use serde::Deserialize;
use serde_json::Value;

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
        let named = walk::base(args.path.as_deref(), &cx.scope);
        let query = Query {
            base: walk::start(&named, &cx.guard),
            guard: cx.guard,
            matcher: matcher(&args)?,
            glob: filled(args.glob.as_deref()).map(name_filter).transpose()?,
            types: filled(args.kind.as_deref()).map(types).transpose()?,
            mode: args.mode.unwrap_or_default(),
            context: args.context.unwrap_or(0).min(MAX_CONTEXT),
        };
        walk::blocking(cx.cancel, move |cancel| search::run(&query, cancel)).await
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
                search::MAX_LINE_BYTES >> 20
            ));
        }
        text.into()
    }
}

/// Models leave unused arguments empty.
fn filled(text: Option<&str>) -> Option<&str> {
    text.filter(|t| !t.trim().is_empty())
}

fn matcher(args: &Args) -> Result<RegexMatcher, ToolError> {
    walk::check_pattern(&args.pattern)?;
    RegexMatcherBuilder::new()
        .case_insensitive(args.ignore_case.unwrap_or(false))
        .line_terminator(Some(b'\n'))
        .build(&args.pattern)
        .map_err(|e| {
            ToolError::new(
                "invalid_input",
                format!("The pattern is not a regular expression: {e}\nPut a backslash before ( [ {{ . * + ? | that you mean literally; lines are searched one by one, without look-around."),
            )
        })
}

/// A filter on file names as people write it: without a slash it holds at any depth, `!` turns it round.
pub struct NameFilter {
    glob: GlobSet,
    inverted: bool,
}

impl NameFilter {
    fn allows(&self, below: &std::path::Path) -> bool {
        self.glob.is_match(below) != self.inverted
    }
}

fn name_filter(text: &str) -> Result<NameFilter, ToolError> {
    let (text, inverted) = text
        .strip_prefix('!')
        .map_or((text, false), |rest| (rest, true));
    let text = text.trim_start_matches("./").trim_start_matches('/');
    let anywhere = if text.contains('/') {
        text.to_owned()
    } else {
        format!("**/{text}")
    };
    Ok(NameFilter {
        glob: walk::glob(&anywhere)?,
        inverted,
    })
}

/// A file type by ripgrep's name, or by its extension.
fn types(name: &str) -> Result<Types, ToolError> {
    let mut builder = TypesBuilder::new();
    builder.add_defaults();
    let name = name.trim().trim_start_matches('.');
    if !builder.definitions().iter().any(|d| d.name() == name) {
        // The builder itself refuses a name that is no plain word.
        let _ = builder.add(name, &format!("*.{name}"));
    }
    builder.select(name).build().map_err(|_| {
        ToolError::new(
            "invalid_input",
            format!("There is no file type {name:?}; use glob instead."),
        )
    })
}
