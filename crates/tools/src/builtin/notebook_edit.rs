//! `notebook_edit`: one cell of a Jupyter notebook, with its outputs cleared and the rest of the file untouched.

use super::files::cells::{self, CellError, Change};
use super::files::rewrite::rewrite;
use super::files::{edits, resolve};
use crate::tool::{Context, Done, FileServices, Rendered, Scope, Subject, ToolError, Typed};
use ostler_wire::Access;
use ostler_wire::{ResultForm, ToolDeclaration, ToolKind, ToolMark};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

#[derive(Clone, Copy)]
pub struct NotebookEdit;

#[derive(Clone, Deserialize, JsonSchema)]
pub struct Args {
    path: String,
    /// Index from 0, or id; to insert: the new index, or the id to follow
    #[serde(default)]
    #[schemars(with = "Option<String>")]
    cell: Option<Cell>,
    #[serde(default)]
    mode: Mode,
    #[serde(default)]
    source: Option<String>,
    #[serde(default)]
    #[schemars(with = "CellType")]
    cell_type: Option<CellType>,
}

#[derive(Clone, Deserialize)]
#[serde(untagged)]
enum Cell {
    Index(u64),
    Id(String),
}

#[derive(Clone, Copy, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Mode {
    #[default]
    Replace,
    Insert,
    Delete,
}

#[derive(Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum CellType {
    Code,
    Markdown,
    Raw,
}

impl CellType {
    fn name(self) -> &'static str {
        match self {
            CellType::Code => "code",
            CellType::Markdown => "markdown",
            CellType::Raw => "raw",
        }
    }
}

impl Mode {
    fn done(self) -> &'static str {
        match self {
            Mode::Replace => "replaced",
            Mode::Insert => "inserted",
            Mode::Delete => "deleted",
        }
    }
}

impl Typed for NotebookEdit {
    type Args = Args;
    type Uses = FileServices;
    const NAME: &'static str = "notebook_edit";
    const ABOUT: ToolDeclaration = ToolDeclaration::new(Self::NAME, ToolKind::Edit)
        .result(ResultForm::Cell)
        .aliases(&["notebookedit"])
        .common_name("NotebookEdit")
        .marks(&[ToolMark::Deferred]);
    const PROSE: &'static str = include_str!("notebook_edit.md");

    fn access(&self, args: &Args, scope: &Scope) -> Result<Vec<Access>, ToolError> {
        Ok(vec![Access::Write(resolve(scope, &args.path)?)])
    }

    fn subject(args: &Args) -> Subject {
        args.path.as_str().into()
    }

    async fn run(&self, args: Args, cx: Context<FileServices>) -> Result<Done, ToolError> {
        let Args {
            path,
            cell,
            mode,
            source,
            cell_type,
        } = args;
        if source.is_none() && !matches!(mode, Mode::Delete) {
            return Err(ToolError::new("invalid_input", "`source` is missing."));
        }
        let shown = path.clone();
        let done = rewrite(&cx, &path, move |content| {
            let source = source.as_deref().unwrap_or_default();
            let change = match mode {
                Mode::Replace => Change::Replace {
                    source,
                    kind: cell_type.map(CellType::name),
                },
                Mode::Insert => Change::Insert {
                    source,
                    kind: cell_type.unwrap_or(CellType::Code).name(),
                },
                Mode::Delete => Change::Delete,
            };
            let cell = cell.map(|cell| match cell {
                Cell::Index(index) => index.to_string(),
                Cell::Id(id) => id,
            });
            let edited =
                cells::edit(content, cell.as_deref(), change).map_err(|e| tell(&shown, &e))?;
            Ok((edited.text, (edited.index, edited.cells)))
        })
        .await?;
        let mut data = done.data();
        let (index, cells) = done.told;
        data["cell"] = index.into();
        data["cells"] = cells.into();
        data["done"] = mode.done().into();
        Ok(data.into())
    }

    fn render(data: &Value) -> Rendered {
        let number = |key: &str| data.get(key).and_then(Value::as_u64).unwrap_or_default();
        let done = data
            .get("done")
            .and_then(Value::as_str)
            .unwrap_or("changed");
        let mut text = format!(
            "Cell {} {done}; {} cells now.",
            number("cell"),
            number("cells")
        );
        edits::note_change(data, &mut text);
        text.into()
    }
}

fn tell(shown: &str, error: &CellError) -> ToolError {
    let code = match error {
        CellError::NotANotebook(_) => "read_error",
        CellError::NoSuchCell { .. } => "cell_not_found",
    };
    ToolError::new(code, format!("{shown}: {error}."))
}

#[cfg(test)]
mod tests;
