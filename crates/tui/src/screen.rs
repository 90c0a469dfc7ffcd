//! From rows to bytes. Finished rows are printed once and scroll away into the terminal's own memory; below them stands
//! the live region, of which only what changed is painted. Pure: bytes out, nothing is read back.

use crate::line::{Color, Line, Span, Style};
use crate::links::Links;
use crate::text;
use std::fmt::Write as _;

/// Begin and end of an update that the terminal shows at once.
const BEGIN: &str = "\x1b[?2026h\x1b[?25l";
const END: &str = "\x1b[?2026l";
/// Rows of the live region are cut where the terminal has become narrower than we know; finished ones are wrapped.
const NO_WRAP: &str = "\x1b[?7l";
const WRAP: &str = "\x1b[?7h";

/// Erases the row of the cursor from there on, and all below it. In two steps: where everything is erased at once from the
/// first cell of the terminal, some keep a copy of what stood there in their scrollback.
const ERASE: &str = "\x1b[K\x1b7\x1b[B\x1b[J\x1b8";

/// The live region, top to bottom.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Frame {
    pub rows: Vec<Line>,
    /// Row and column of the cursor; hidden without.
    pub caret: Option<(usize, usize)>,
}

/// What a terminal does to rows that have become too wide for it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Narrowed {
    /// Most break them into several.
    #[default]
    Breaks,
    /// Some cut them.
    Cuts,
}

/// What stands on the terminal.
#[derive(Debug)]
pub struct Screen {
    columns: usize,
    rows: usize,
    narrowed: Narrowed,
    /// None where the terminal does not know links.
    links: Option<Links>,
    shown: Frame,
    /// Row of `shown` that the cursor is in.
    at: usize,
    stale: bool,
}

impl Screen {
    pub fn new(columns: u16, rows: u16, narrowed: Narrowed) -> Self {
        Self {
            columns: usize::from(columns).max(1),
            rows: usize::from(rows).max(1),
            narrowed,
            links: None,
            shown: Frame::default(),
            at: 0,
            stale: true,
        }
    }

    pub fn with_links(self, links: Option<Links>) -> Self {
        Self { links, ..self }
    }

    pub fn links(&self) -> Option<&Links> {
        self.links.as_ref()
    }

    pub fn columns(&self) -> usize {
        self.columns
    }

    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The terminal has another size. Whether anything is different now.
    pub fn resize(&mut self, columns: u16, rows: u16) -> bool {
        let (columns, rows) = (usize::from(columns).max(1), usize::from(rows).max(1));
        if (columns, rows) == (self.columns, self.rows) {
            return false;
        }
        (self.columns, self.rows, self.stale) = (columns, rows, true);
        true
    }

    /// Rows of the terminal from the top of the live region down to the cursor, as the terminal has them now.
    fn down(&self) -> usize {
        let broken = |width: usize| match self.narrowed {
            Narrowed::Breaks => width.max(1).div_ceil(self.columns),
            Narrowed::Cuts => 1,
        };
        let above = self.shown.rows.iter().take(self.at);
        let above: usize = above.map(|row| broken(row.width())).sum();
        let within = match (self.narrowed, self.shown.caret) {
            (Narrowed::Breaks, Some((row, column))) if row == self.at => column / self.columns,
            (Narrowed::Breaks | Narrowed::Cuts, _) => 0,
        };
        (above + within).min(self.rows.saturating_sub(1))
    }

    /// Nothing that was painted is there any more: another program has used the terminal.
    pub fn forget(&mut self) {
        (self.shown, self.at, self.stale) = (Frame::default(), 0, true);
    }

    /// Prints `done` above the live region and brings it to `frame`. Empty when nothing is to be changed.
    pub fn paint(&mut self, done: &[Line], mut frame: Frame) -> String {
        self.fit(&mut frame);
        if done.is_empty() && !self.stale && frame == self.shown {
            return String::new();
        }
        let mut out = String::from(BEGIN);
        if !done.is_empty() || self.stale || frame.rows.len() != self.shown.rows.len() {
            self.whole(&mut out, done, &frame);
        } else {
            self.changed(&mut out, &frame);
        }
        self.place_caret(&mut out, &frame);
        out.push_str(END);
        (self.shown, self.stale) = (frame, false);
        out
    }

    /// Takes the live region away and leaves the cursor at the start of a row.
    pub fn leave(&mut self) -> String {
        let mut out = String::from(BEGIN);
        self.to_top(&mut out);
        out.push_str(ERASE);
        out.push_str("\x1b[?25h");
        out.push_str(END);
        self.forget();
        out
    }

    /// A region higher than the terminal would scroll itself away: its upper rows give way.
    fn fit(&self, frame: &mut Frame) {
        let over = frame.rows.len().saturating_sub(self.rows);
        frame.rows.drain(..over);
        frame.caret = frame.caret.map(|(row, column)| {
            (
                row.saturating_sub(over),
                column.min(self.columns.saturating_sub(1)),
            )
        });
        for row in &mut frame.rows {
            if row.width() > self.columns {
                *row = text::cut(row, self.columns);
            }
        }
    }

    fn whole(&mut self, out: &mut String, done: &[Line], frame: &Frame) {
        self.to_top(out);
        out.push_str(ERASE);
        let rows = done.iter().chain(&frame.rows);
        for (n, row) in rows.enumerate() {
            if n > 0 {
                out.push_str("\r\n");
            }
            if n == done.len() {
                out.push_str(NO_WRAP);
            }
            write_row(out, row, self.links.as_ref());
        }
        out.push_str(WRAP);
        // The cursor must not be left on a finished row.
        if frame.rows.is_empty() && !done.is_empty() {
            out.push_str("\r\n");
        }
        self.at = frame.rows.len().saturating_sub(1);
    }

    fn changed(&mut self, out: &mut String, frame: &Frame) {
        for (n, (new, old)) in frame.rows.iter().zip(&self.shown.rows).enumerate() {
            if new == old {
                continue;
            }
            move_row(out, self.at, n);
            self.at = n;
            out.push_str(NO_WRAP);
            // Erased first: after a full row the cursor still stands on its last cell.
            out.push_str("\r\x1b[K");
            write_row(out, new, self.links.as_ref());
            out.push_str(WRAP);
        }
    }

    fn to_top(&self, out: &mut String) {
        out.push('\r');
        move_row(out, self.down(), 0);
    }

    fn place_caret(&mut self, out: &mut String, frame: &Frame) {
        let Some((row, column)) = frame.caret else {
            return;
        };
        move_row(out, self.at, row);
        self.at = row;
        out.push('\r');
        if column > 0 {
            let _ = write!(out, "\x1b[{column}C");
        }
        out.push_str("\x1b[?25h");
    }
}

fn move_row(out: &mut String, from: usize, to: usize) {
    if to < from {
        let _ = write!(out, "\x1b[{}A", from - to);
    } else if to > from {
        let _ = write!(out, "\x1b[{}B", to - from);
    }
}

/// A row with its styles, which end with it.
fn write_row(out: &mut String, row: &Line, links: Option<&Links>) {
    for span in &row.spans {
        match (links, span.link()) {
            (Some(links), Some(target)) => links.write(out, target, |out| write_span(out, span)),
            (Some(_) | None, _) => write_span(out, span),
        }
    }
}

fn write_span(out: &mut String, span: &Span) {
    if span.style == Style::PLAIN {
        return out.push_str(span.text());
    }
    write_style(out, span.style);
    out.push_str(span.text());
    out.push_str("\x1b[0m");
}

fn write_style(out: &mut String, style: Style) {
    let mut codes: Vec<String> = Vec::new();
    for (on, code) in [
        (style.bold, "1"),
        (style.dim, "2"),
        (style.italic, "3"),
        (style.underline, "4"),
        (style.reverse, "7"),
        (style.strike, "9"),
    ] {
        if on {
            codes.push(code.into());
        }
    }
    codes.extend(style.fg.map(|color| color_code(color, 30)));
    codes.extend(style.bg.map(|color| color_code(color, 40)));
    let _ = write!(out, "\x1b[{}m", codes.join(";"));
}

fn color_code(color: Color, base: u8) -> String {
    match color {
        Color::Ansi(n @ 0..=7) => (base + n).to_string(),
        Color::Ansi(n) => (base + 60 + (n & 7)).to_string(),
        Color::Indexed(n) => format!("{};5;{n}", base + 8),
        Color::Rgb(r, g, b) => format!("{};2;{r};{g};{b}", base + 8),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Term {
        vt: vt100::Parser,
        screen: Screen,
    }

    fn size(n: u16) -> std::num::NonZeroU16 {
        std::num::NonZeroU16::new(n).unwrap()
    }

    impl Term {
        fn new(columns: u16, rows: u16) -> Self {
            Self {
                vt: vt100::Parser::new(size(rows), size(columns), 1000),
                screen: Screen::new(columns, rows, Narrowed::Cuts),
            }
        }

        fn paint(&mut self, done: &[&str], live: &[&str], caret: Option<(usize, usize)>) -> usize {
            let done: Vec<Line> = done.iter().map(|t| Line::plain(*t)).collect();
            let rows = live.iter().map(|t| Line::plain(*t)).collect();
            let bytes = self.screen.paint(&done, Frame { rows, caret });
            // From the first cell on some terminals would keep a copy.
            let erased = bytes.matches("\x1b[J").count();
            assert_eq!(erased, bytes.matches("\x1b[B\x1b[J").count(), "{bytes:?}");
            self.vt.process(bytes.as_bytes());
            bytes.len()
        }

        /// All rows that are or were on the screen, without blank ones at the end.
        fn all(&mut self) -> Vec<String> {
            let screen = self.vt.screen_mut();
            screen.set_scrollback(usize::MAX);
            let back = screen.scrollback();
            let (height, width) = screen.size();
            let (height, width) = (height.get(), width.get());
            let mut rows = Vec::new();
            for offset in (1..=back).rev() {
                screen.set_scrollback(offset);
                rows.extend(screen.rows(0, width).next());
            }
            screen.set_scrollback(0);
            rows.extend(screen.rows(0, width).take(usize::from(height)));
            let mut rows: Vec<String> = rows.iter().map(|r| r.trim_end().to_owned()).collect();
            while rows.last().is_some_and(String::is_empty) {
                rows.pop();
            }
            rows
        }
    }

    #[test]
    fn finished_rows_are_printed_once_above_the_live_ones() {
        let mut term = Term::new(20, 6);
        term.paint(&["hello"], &["> ", "status"], Some((0, 2)));
        assert_eq!(term.all(), ["hello", ">", "status"]);
        assert_eq!(term.vt.screen().cursor_position(), (1, 2));
        let lines: Vec<String> = (0..20).map(|n| format!("line {n}")).collect();
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        term.paint(&lines, &["> x", "status"], Some((0, 3)));
        let mut expect = vec!["hello"];
        expect.extend(&lines);
        expect.extend(["> x", "status"]);
        assert_eq!(term.all(), expect);
        // The region grows and shrinks without a trace.
        term.paint(&[], &["a", "b", "> x", "status"], Some((2, 3)));
        term.paint(&["end"], &["> ", "status"], Some((0, 2)));
        let mut expect = vec!["hello"];
        expect.extend(&lines);
        expect.extend(["end", ">", "status"]);
        assert_eq!(term.all(), expect);
    }

    #[test]
    fn only_changes_are_written() {
        let mut term = Term::new(40, 10);
        let first = term.paint(&[], &["one", "two", "three"], Some((1, 0)));
        assert_eq!(term.paint(&[], &["one", "two", "three"], Some((1, 0))), 0);
        let change = term.paint(&[], &["one", "2", "three"], Some((1, 1)));
        assert!(change < first, "{change} {first}");
        assert_eq!(term.all(), ["one", "2", "three"]);
    }

    #[test]
    fn full_rows_leave_no_gap() {
        let mut term = Term::new(5, 6);
        term.paint(&["12345", "67890"], &["abcde", "fg"], Some((1, 2)));
        term.paint(&[], &["vwxyz", "fg"], Some((1, 2)));
        assert_eq!(term.all(), ["12345", "67890", "vwxyz", "fg"]);
    }

    #[test]
    fn a_region_higher_than_the_terminal_keeps_its_end() {
        let mut term = Term::new(10, 3);
        term.paint(&["x"], &["1", "2", "3", "4", "5"], Some((4, 1)));
        term.paint(&[], &["1", "2", "3", "4", "6"], Some((4, 1)));
        assert_eq!(term.all(), ["x", "3", "4", "6"]);
        assert_eq!(term.vt.screen().cursor_position(), (2, 1));
    }

    #[test]
    fn styles_end_with_their_span() {
        let style = Style {
            bold: true,
            bg: Some(Color::Rgb(1, 2, 3)),
            ..Style::fg(Color::Ansi(9))
        };
        let mut out = String::new();
        write_row(&mut out, &Line::new("x", style), None);
        assert_eq!(out, "\x1b[1;91;48;2;1;2;3mx\x1b[0m");
    }

    #[test]
    fn links_are_written_where_the_terminal_knows_them() {
        let text = Line::plain("see https://a.example/long-enough and more");
        let rows = text::wrap(&text, 20);
        let bytes = |links: Option<Links>| {
            let mut screen = Screen::new(20, 5, Narrowed::Cuts).with_links(links);
            screen.paint(&rows, Frame::default())
        };
        assert!(!bytes(None).contains("\x1b]8;"));
        let linked = bytes(Some(Links::default()));
        let opened = linked
            .matches(";https://a.example/long-enough\x1b\\")
            .count();
        assert_eq!((rows.len(), opened), (3, 2), "{linked:?}");
        assert_eq!(linked.matches("\x1b]8;;\x1b\\").count(), opened);
    }

    #[test]
    fn leaving_takes_the_region_away() {
        let mut term = Term::new(10, 5);
        term.paint(&["kept"], &["a", "b"], Some((0, 1)));
        let bytes = term.screen.leave();
        term.vt.process(bytes.as_bytes());
        assert_eq!(term.all(), ["kept"]);
        assert_eq!(term.vt.screen().cursor_position(), (1, 0));
    }
}
