//! Styled rows of text: what cells, layers and the composer are drawn as before they become bytes.

use crate::cells;
use std::sync::Arc;

/// A colour as terminals know them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Color {
    /// One of the sixteen that the person's own palette decides.
    Ansi(u8),
    Indexed(u8),
    Rgb(u8, u8, u8),
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
// tidy: plain data
pub struct Style {
    pub fg: Option<Color>,
    pub bg: Option<Color>,
    pub bold: bool,
    pub dim: bool,
    pub italic: bool,
    pub underline: bool,
    pub strike: bool,
    pub reverse: bool,
}

impl Style {
    pub const PLAIN: Self = Self {
        fg: None,
        bg: None,
        bold: false,
        dim: false,
        italic: false,
        underline: false,
        strike: false,
        reverse: false,
    };

    pub const fn fg(color: Color) -> Self {
        Self {
            fg: Some(color),
            ..Self::PLAIN
        }
    }

    /// This style with all that `over` sets put on top.
    pub fn with(self, over: Self) -> Self {
        Self {
            fg: over.fg.or(self.fg),
            bg: over.bg.or(self.bg),
            bold: self.bold || over.bold,
            dim: self.dim || over.dim,
            italic: self.italic || over.italic,
            underline: self.underline || over.underline,
            strike: self.strike || over.strike,
            reverse: self.reverse || over.reverse,
        }
    }
}

/// A run of one style. Its text has no control characters: they were made visible when it was built.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Span {
    text: String,
    pub style: Style,
    /// Where it leads.
    link: Option<Arc<str>>,
}

impl Span {
    pub fn new(text: impl Into<String>, style: Style) -> Self {
        Self {
            text: cells::visible(text.into()),
            style,
            link: None,
        }
    }

    /// Of a text that has been made visible already.
    pub fn seen(text: impl Into<String>, style: Style) -> Self {
        Self {
            text: text.into(),
            style,
            link: None,
        }
    }

    /// A piece of this one, which leads to the same.
    pub fn part(&self, text: impl Into<String>, style: Style) -> Self {
        Self {
            text: text.into(),
            style,
            link: self.link.clone(),
        }
    }

    /// The same, leading to an address of `links`.
    pub fn leading_to(self, link: Option<Arc<str>>) -> Self {
        Self { link, ..self }
    }

    pub fn link(&self) -> Option<&str> {
        self.link.as_deref()
    }

    pub fn plain(text: impl Into<String>) -> Self {
        Self::new(text, Style::PLAIN)
    }

    pub fn text(&self) -> &str {
        &self.text
    }

    pub fn width(&self) -> usize {
        cells::width(&self.text)
    }
}

/// One row, or, before wrapping, one paragraph.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Line {
    pub spans: Vec<Span>,
}

impl Line {
    pub fn new(text: impl Into<String>, style: Style) -> Self {
        Self {
            spans: vec![Span::new(text, style)],
        }
    }

    pub fn plain(text: impl Into<String>) -> Self {
        Self::new(text, Style::PLAIN)
    }

    pub fn push(&mut self, span: Span) {
        match self.spans.last_mut() {
            Some(last) if last.style == span.style && last.link == span.link => {
                last.text.push_str(&span.text);
            }
            Some(_) | None => self.spans.push(span),
        }
    }

    pub fn width(&self) -> usize {
        self.spans.iter().map(Span::width).sum()
    }

    /// Its text without styles.
    pub fn text(&self) -> String {
        self.spans.iter().map(|s| s.text.as_str()).collect()
    }

    pub fn is_empty(&self) -> bool {
        self.spans.iter().all(|s| s.text.is_empty())
    }

    /// Every span put on top of `style`.
    pub fn on(mut self, style: Style) -> Self {
        for span in &mut self.spans {
            span.style = style.with(span.style);
        }
        self
    }
}

impl FromIterator<Span> for Line {
    fn from_iter<I: IntoIterator<Item = Span>>(spans: I) -> Self {
        let mut line = Self::default();
        spans.into_iter().for_each(|span| line.push(span));
        line
    }
}

impl From<Span> for Line {
    fn from(span: Span) -> Self {
        Self { spans: vec![span] }
    }
}
