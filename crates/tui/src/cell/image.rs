//! A picture, by its name: terminals show text.

use super::Fold;
use crate::line::Line;
use crate::theme::{Role, Theme};
use crate::{rows, say};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Picture {
    pub name: String,
}

impl Picture {
    pub fn rows(&self, columns: usize, theme: &Theme, _: Fold) -> Vec<Line> {
        rows::prose(
            &say::image(theme.language, &self.name),
            theme.style(Role::Accent),
            columns,
        )
    }
}
