//! Blocks of code as rows: a faint tag for the language, lines indented, coloured, folded.

use crate::highlight;
use crate::line::Line;
use crate::rows::{self, spaces};
use crate::text;
use crate::theme::{Role, Theme};

const INDENT: usize = 2;

/// The row above a block, where it has a language.
pub fn tag(info: &str, columns: usize, theme: &Theme) -> Option<Line> {
    (!info.is_empty()).then(|| {
        let line = Line::new(
            format!("{}{info}", " ".repeat(INDENT)),
            theme.style(Role::Faint),
        );
        text::cut(&line, columns)
    })
}

pub fn line(block: &mut highlight::Block, code: &str, columns: usize, theme: &Theme) -> Vec<Line> {
    let coloured = block.line(code, theme);
    if coloured.is_empty() {
        return vec![Line::default()];
    }
    let folded = rows::fold(&coloured, columns.saturating_sub(INDENT));
    rows::indent(folded, &spaces(INDENT), &spaces(INDENT))
}

/// A whole block.
pub fn rows(info: &str, code: &str, columns: usize, theme: &Theme) -> Vec<Line> {
    let mut block = highlight::Block::new(info);
    let mut out: Vec<Line> = tag(info, columns, theme).into_iter().collect();
    for code in code.lines() {
        out.extend(line(&mut block, code, columns, theme));
    }
    out
}
