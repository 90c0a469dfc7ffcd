//! `delete_symbol`: one definition of a source file, found by its grammar, with what belongs to it. Where names are in a
//! file is in `outline`, what goes with one in `cut`.

mod cut;
mod grammar;
mod outline;
#[cfg(test)]
mod tests;

use super::files::rewrite::{objection, preview, rewrite};
use super::files::{diff, edits, resolve};
use crate::tool::{Context, Done, FileServices, Rendered, Scope, Subject, ToolError, Typed};
use grammar::Grammar;
use ostler_wire::Access;
use ostler_wire::{ResultForm, ToolDeclaration, ToolKind, ToolMark};
use outline::{Found, Outline};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use std::path::Path;

const MAX_DIFF: usize = 16 * 1024;
/// Bytes of a file that is parsed.
const MAX_SOURCE: usize = 4 << 20;
/// Names listed when none, or more than one, is the wanted one.
const MAX_LISTED: usize = 10;

#[derive(Clone, Copy)]
pub struct DeleteSymbol;

#[derive(Clone, Deserialize, JsonSchema)]
pub struct Args {
    path: String,
    symbol: String,
}

impl Typed for DeleteSymbol {
    type Args = Args;
    type Uses = FileServices;
    const NAME: &'static str = "delete_symbol";
    const ABOUT: ToolDeclaration = ToolDeclaration::new(Self::NAME, ToolKind::Edit)
        .result(ResultForm::Edit)
        .common_name("Edit")
        .marks(&[ToolMark::Deferred]);
    const PROSE: &'static str = include_str!("delete_symbol.md");

    fn access(&self, args: &Args, scope: &Scope) -> Result<Vec<Access>, ToolError> {
        Ok(vec![Access::Write(resolve(scope, &args.path)?)])
    }

    fn subject(args: &Args) -> Subject {
        Subject::placed(&args.symbol, Some(&args.path))
    }

    async fn run(&self, args: Args, cx: Context<FileServices>) -> Result<Done, ToolError> {
        let Args { path, symbol } = args;
        let file = path.clone();
        let done = rewrite(&cx, &path, move |content| {
            let gone = delete(content, &file, &symbol)?;
            let diff = diff::unified(content, &gone.content, MAX_DIFF);
            Ok((gone.content, (gone.name, gone.line, gone.lines, diff)))
        })
        .await?;
        let mut data = done.data();
        let (name, line, lines, diff) = done.told;
        data["symbol"] = name.into();
        data["line"] = line.into();
        data["lines"] = lines.into();
        data["diff"] = diff.into();
        Ok(data.into())
    }

    async fn preview(&self, args: Args, cx: Context<FileServices>) -> Option<String> {
        let Args { path, symbol } = args;
        let file = path.clone();
        preview(&cx, &path, move |content| {
            delete(content, &file, &symbol).map(|gone| gone.content)
        })
        .await
    }

    async fn objection(&self, args: Args, cx: Context<FileServices>) -> Option<ToolError> {
        let Args { path, symbol } = args;
        let file = path.clone();
        objection(&cx, &path, move |content| {
            delete(content, &file, &symbol).map(|gone| gone.content)
        })
        .await
    }

    fn render(data: &Value) -> Rendered {
        let number = |key: &str| data.get(key).and_then(Value::as_u64).unwrap_or_default();
        let name = data
            .get("symbol")
            .and_then(Value::as_str)
            .unwrap_or_default();
        let mut text = match (number("line"), number("lines")) {
            (line, 1) => format!("Deleted {name}: line {line}."),
            (line, lines) => format!("Deleted {name}: {lines} lines from line {line}."),
        };
        edits::note_change(data, &mut text);
        text.into()
    }
}

/// A definition and its lines, counted from 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Symbol {
    /// With the names of what it is in, and a point between them.
    pub name: String,
    pub from: usize,
    pub to: usize,
}

/// Whether the language of a file is known, by its extension.
pub fn knows(path: &Path) -> bool {
    Grammar::of(path).is_some()
}

/// Every definition of a file in a language that is known.
pub fn symbols(path: &Path, content: &str) -> Vec<Symbol> {
    let Some(grammar) = Grammar::of(path).filter(|_| content.len() <= MAX_SOURCE) else {
        return Vec::new();
    };
    let Some(tree) = grammar.parse(content) else {
        return Vec::new();
    };
    let found = Outline::new(grammar, content, &tree).all.into_iter();
    let symbol = |found: Found<'_>| Symbol {
        name: found.name(),
        from: found.outer.start_position().row + 1,
        to: found.node.end_position().row + 1,
    };
    found.map(symbol).collect()
}

/// A file without a symbol.
struct Gone {
    content: String,
    /// Whole, as it was found.
    name: String,
    /// Where it began, counted from 1.
    line: usize,
    lines: usize,
}

fn delete(content: &str, path: &str, symbol: &str) -> Result<Gone, ToolError> {
    let Some(grammar) = Grammar::of(Path::new(path)) else {
        return Err(ToolError::new(
            "unsupported",
            format!(
                "delete_symbol knows {} by the file's extension. Use delete_range here.",
                grammar::NAMES
            ),
        ));
    };
    if content.len() > MAX_SOURCE {
        let message = format!("The file has more than {MAX_SOURCE} bytes. Use delete_range.");
        return Err(ToolError::new("too_large", message));
    }
    let failed = || {
        ToolError::new(
            "parse_error",
            "The file could not be parsed. Use delete_range.",
        )
    };
    let tree = grammar.parse(content).ok_or_else(failed)?;
    let outline = Outline::new(grammar, content, &tree);
    let found = choose(&outline, symbol)?;
    if found.node.has_error() {
        let message = format!(
            "{} on line {} has parts that could not be parsed, so where it ends is not sure. Use delete_range.",
            found.name(),
            found.line()
        );
        return Err(ToolError::new("parse_error", message));
    }
    if let Some(others) = &found.shared_with {
        let message = format!(
            "{} is declared together with {others} on line {}. Use edit_file.",
            found.name(),
            found.line()
        );
        return Err(ToolError::new("shared_declaration", message));
    }
    let cut = cut::cut(content, found.outer, grammar);
    let after = grammar.parse(&cut.content).ok_or_else(failed)?;
    if after.root_node().has_error() && !tree.root_node().has_error() {
        let message = format!(
            "Without {} the file would not parse any more. Use edit_file.",
            found.name()
        );
        return Err(ToolError::new("would_break", message));
    }
    Ok(Gone {
        content: cut.content,
        name: found.name(),
        line: cut.line,
        lines: cut.lines,
    })
}

/// The one that is meant: by its name, by the end of its path, or by `name:line`.
fn choose<'a, 'tree>(
    outline: &'a Outline<'tree>,
    symbol: &str,
) -> Result<&'a Found<'tree>, ToolError> {
    let symbol = symbol.trim().trim_end_matches("()");
    let (wanted, line) = match symbol.rsplit_once(':') {
        Some((name, line)) if !name.ends_with(':') => match line.trim().parse::<usize>() {
            Ok(line) => (name, Some(line)),
            Err(_) => (symbol, None),
        },
        Some(_) | None => (symbol, None),
    };
    let wanted = outline::segments(wanted);
    if wanted.is_empty() {
        return Err(ToolError::new(
            "invalid_input",
            "Which symbol? It has no name.",
        ));
    }
    let named = |found: &&Found<'_>| found.path.ends_with(&wanted);
    let mut all: Vec<&Found<'_>> = outline.all.iter().filter(named).collect();
    if let Some(line) = line {
        all.retain(|found| found.spans_line(line));
    }
    match all.as_slice() {
        [only] => Ok(only),
        [] => Err(ToolError::new(
            "symbol_not_found",
            nothing(outline, &wanted),
        )),
        many => {
            let mut listed: Vec<String> = many
                .iter()
                .take(MAX_LISTED)
                .map(|found| format!("{}:{}", found.name(), found.line()))
                .collect();
            if many.len() > MAX_LISTED {
                listed.push("…".into());
            }
            let message = format!(
                "{} definitions have this name: {}. Say which one, as name:line.",
                many.len(),
                listed.join(", ")
            );
            Err(ToolError::new("symbol_not_unique", message))
        }
    }
}

fn nothing(outline: &Outline<'_>, wanted: &[String]) -> String {
    let wanted = wanted.join(".");
    let near = outline.nearest(&wanted, MAX_LISTED / 2);
    match near.is_empty() {
        true => format!(
            "There is no definition of {wanted}, nor of anything else that could be deleted by name."
        ),
        false => format!(
            "There is no definition of {wanted}. Nearest: {}.",
            near.join(", ")
        ),
    }
}
