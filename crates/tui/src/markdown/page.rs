//! One block of markdown as rows. Walks the parser's events with a stack of what stands before each row (bars of quotes,
//! markers of lists) and one of styles; nothing recurses, whatever the nesting.

use super::code;
use super::split::Block;
use super::table::{Cell, Table};
use crate::line::{Line, Span, Style};
use crate::links;
use crate::rows::{self, joined};
use crate::theme::{Look, Role, Theme};
use crate::{say, text};
use ostler_wire::Word;
use pulldown_cmark::{
    BlockQuoteKind, CodeBlockKind, Event, HeadingLevel, Options, Parser, Tag, TagEnd,
};
use std::borrow::Cow;

/// Cells that nesting leaves for the text.
const MIN_TEXT: usize = 12;
const MAX_RULE: usize = 40;
/// Definitions of one name that are looked for.
const MAX_ROUNDS: usize = 4;

pub fn rows(block: &Block, columns: usize, theme: &Theme) -> Vec<Line> {
    let options = Options::ENABLE_TABLES
        | Options::ENABLE_STRIKETHROUGH
        | Options::ENABLE_TASKLISTS
        | Options::ENABLE_GFM;
    let source = with_definitions_as_text(&block.source, options);
    let mut page = Page::new(columns, theme, block.number);
    for event in Parser::new_ext(&source, options) {
        page.event(event);
    }
    page.end_paragraph();
    if block.left_out > 0 {
        page.put(Line::new(
            say::more_rows(theme.language, block.left_out),
            theme.style(Role::Faint),
        ));
    }
    page.rows
}

/// A parser takes `[name]: address` out of the text. What it names is often in another block, so it stays in sight.
fn with_definitions_as_text(source: &str, options: Options) -> Cow<'_, str> {
    let mut out = Cow::Borrowed(source);
    if !source.contains("]:") {
        return out;
    }
    // A name that is defined twice is listed once in each round.
    for _ in 0..MAX_ROUNDS {
        let mut starts: Vec<usize> = {
            let parser = Parser::new_ext(&out, options);
            let found = parser.reference_definitions().iter();
            found.map(|(_, definition)| definition.span.start).collect()
        };
        if starts.is_empty() {
            break;
        }
        starts.sort_unstable();
        for start in starts.into_iter().rev() {
            if let Some(bracket) = out.get(start..).and_then(|rest| rest.find('[')) {
                out.to_mut().insert(start + bracket, '\\');
            }
        }
    }
    out
}

/// A link or picture that is open.
struct Target {
    kind: Kind,
    address: String,
    text: String,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Link,
    /// Its text is a name, which is shown when it is whole.
    Picture,
}

/// What stands before the rows of a quote or an item.
struct Before {
    first: Line,
    rest: Line,
    is_used: bool,
}

struct Page<'a> {
    columns: usize,
    theme: &'a Theme,
    rows: Vec<Line>,
    before: Vec<Before>,
    /// Cells that all of `before` takes.
    taken: usize,
    /// The next number of each list around.
    lists: Vec<Option<u64>>,
    number: Option<u64>,
    styles: Vec<Style>,
    links: Vec<Target>,
    paragraph: Line,
    /// A block ended, so that the next one has an empty row before it.
    owes_gap: bool,
    inside: Inside,
}

/// What text goes to, where it is not a paragraph.
#[derive(Default)]
enum Inside {
    #[default]
    Paragraph,
    Code {
        info: String,
        text: String,
    },
    Table {
        table: Table,
        row: Vec<Cell>,
        cell: Cell,
    },
}

impl<'a> Page<'a> {
    fn new(columns: usize, theme: &'a Theme, number: Option<u64>) -> Self {
        Self {
            columns,
            theme,
            rows: Vec::new(),
            before: Vec::new(),
            taken: 0,
            lists: Vec::new(),
            number,
            styles: Vec::new(),
            links: Vec::new(),
            paragraph: Line::default(),
            owes_gap: false,
            inside: Inside::default(),
        }
    }

    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) => self.text(&text),
            Event::Code(code) => {
                let style = self.style().with(self.theme.style(Role::Code));
                match self.theme.look {
                    // Nothing else would tell it from the text.
                    Look::Mono => self.push(&format!("`{code}`"), style),
                    Look::Ansi | Look::Dark | Look::Light => self.push(&code, style),
                }
            }
            Event::Html(html) => self.html(&html),
            Event::InlineHtml(html) => self.inline_html(&html),
            // Models end a line where they want one to end.
            Event::SoftBreak | Event::HardBreak => self.line_break(),
            Event::Rule => {
                self.begin_block();
                let width = self.room().min(MAX_RULE);
                self.put(Line::new("─".repeat(width), self.theme.style(Role::Frame)));
                self.owes_gap = true;
            }
            Event::TaskListMarker(done) => self.task(done),
            Event::InlineMath(text) | Event::DisplayMath(text) | Event::FootnoteReference(text) => {
                self.push(&text, self.style());
            }
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Paragraph | Tag::HtmlBlock => self.begin_block(),
            Tag::Heading { level, .. } => {
                self.begin_block();
                self.styles.push(self.heading(level));
            }
            Tag::BlockQuote(kind) => self.begin_quote(kind),
            Tag::CodeBlock(kind) => {
                self.begin_block();
                let info = match kind {
                    CodeBlockKind::Fenced(info) => info.to_string(),
                    CodeBlockKind::Indented => String::new(),
                };
                self.inside = Inside::Code {
                    info,
                    text: String::new(),
                };
            }
            Tag::List(start) => {
                self.end_paragraph();
                let start = match (self.lists.is_empty(), self.number) {
                    (true, Some(number)) => start.and(Some(number)),
                    (true, None) | (false, _) => start,
                };
                self.lists.push(start);
            }
            Tag::Item => self.begin_item(),
            Tag::Table(alignments) => {
                self.begin_block();
                let table = Table {
                    alignments,
                    ..Table::default()
                };
                self.inside = Inside::Table {
                    table,
                    row: Vec::new(),
                    cell: Vec::new(),
                };
            }
            Tag::Emphasis => self.on(Role::Emphasis),
            Tag::Strong => self.on(Role::Strong),
            Tag::Strikethrough => self.styles.push(Style {
                strike: true,
                ..self.style()
            }),
            Tag::Link { dest_url, .. } => {
                self.begin_target(Kind::Link, &dest_url);
                self.on(Role::Link);
            }
            Tag::Image { dest_url, .. } => self.begin_target(Kind::Picture, &dest_url),
            Tag::TableHead
            | Tag::TableRow
            | Tag::TableCell
            | Tag::FootnoteDefinition(_)
            | Tag::DefinitionList
            | Tag::DefinitionListTitle
            | Tag::DefinitionListDefinition
            | Tag::Superscript
            | Tag::Subscript
            | Tag::MetadataBlock(_) => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Paragraph | TagEnd::HtmlBlock => self.end_block(),
            TagEnd::Heading(_) => {
                self.end_block();
                self.styles.pop();
            }
            TagEnd::BlockQuote(_) => {
                self.end_block();
                self.leave();
            }
            TagEnd::CodeBlock => self.end_code(),
            TagEnd::List(_) => {
                self.lists.pop();
                self.owes_gap |= self.lists.is_empty();
            }
            TagEnd::Item => self.end_item(),
            TagEnd::Table => self.end_table(),
            TagEnd::TableHead => {
                if let Inside::Table { table, row, .. } = &mut self.inside {
                    table.head = std::mem::take(row);
                }
            }
            TagEnd::TableRow => {
                if let Inside::Table { table, row, .. } = &mut self.inside {
                    table.body.push(std::mem::take(row));
                }
            }
            TagEnd::TableCell => self.end_cell(),
            TagEnd::Emphasis | TagEnd::Strong | TagEnd::Strikethrough => {
                self.styles.pop();
            }
            TagEnd::Link => self.end_link(),
            TagEnd::Image => self.end_image(),
            TagEnd::FootnoteDefinition
            | TagEnd::DefinitionList
            | TagEnd::DefinitionListTitle
            | TagEnd::DefinitionListDefinition
            | TagEnd::Superscript
            | TagEnd::Subscript
            | TagEnd::MetadataBlock(_) => {}
        }
    }

    fn text(&mut self, text: &str) {
        match &mut self.inside {
            Inside::Code { text: code, .. } => code.push_str(text),
            Inside::Paragraph | Inside::Table { .. } => self.push(text, self.style()),
        }
    }

    fn html(&mut self, html: &str) {
        for line in html.lines() {
            self.push(line, self.style());
            self.end_paragraph();
        }
    }

    fn inline_html(&mut self, html: &str) {
        let name: String = html
            .chars()
            .filter(|c| !matches!(c, ' ' | '/'))
            .collect::<String>()
            .to_ascii_lowercase();
        match name.as_str() {
            "<br>" => self.line_break(),
            _ => self.push(html, self.style()),
        }
    }

    fn line_break(&mut self) {
        match &mut self.inside {
            Inside::Table { cell, .. } => cell.push(std::mem::take(&mut self.paragraph)),
            Inside::Paragraph | Inside::Code { .. } => {
                let line = std::mem::take(&mut self.paragraph);
                self.put(line);
            }
        }
    }

    fn push(&mut self, text: &str, style: Style) {
        if let Some(target) = self.links.last_mut() {
            target.text.push_str(text);
            if target.kind == Kind::Picture {
                return;
            }
        }
        let link = self.links.last();
        let link = link.and_then(|target| links::address(&target.address));
        self.paragraph.push(Span::new(text, style).leading_to(link));
    }

    fn style(&self) -> Style {
        self.styles.last().copied().unwrap_or(Style::PLAIN)
    }

    fn on(&mut self, role: Role) {
        self.styles.push(self.style().with(self.theme.style(role)));
    }

    fn heading(&self, level: HeadingLevel) -> Style {
        Style {
            underline: level == HeadingLevel::H1,
            italic: level >= HeadingLevel::H4,
            ..self.theme.style(Role::Heading)
        }
    }

    /// Cells that are left for the text.
    fn room(&self) -> usize {
        self.columns.saturating_sub(self.taken).max(MIN_TEXT)
    }

    fn enter(&mut self, first: Line, rest: Line) {
        let is_too_deep = self.room().saturating_sub(rest.width()) < MIN_TEXT;
        let (first, rest) = match is_too_deep {
            true => (Line::default(), Line::default()),
            false => (first, rest),
        };
        self.taken += rest.width();
        self.before.push(Before {
            first,
            rest,
            is_used: false,
        });
    }

    fn leave(&mut self) {
        if let Some(before) = self.before.pop() {
            self.taken = self.taken.saturating_sub(before.rest.width());
        }
    }

    fn begin_block(&mut self) {
        self.end_paragraph();
        if std::mem::take(&mut self.owes_gap) && !self.rows.is_empty() {
            // A marker waits for the text it belongs to.
            let gap = self.before.iter().fold(Line::default(), |line, before| {
                joined(&line, before.rest.clone())
            });
            let is_bar = gap.spans.iter().any(|s| !s.text().trim().is_empty());
            self.rows.push(if is_bar { gap } else { Line::default() });
        }
    }

    fn end_block(&mut self) {
        self.end_paragraph();
        self.owes_gap = true;
    }

    fn end_paragraph(&mut self) {
        if !self.paragraph.is_empty() {
            let line = std::mem::take(&mut self.paragraph);
            self.put(line);
        }
        self.paragraph = Line::default();
    }

    fn begin_quote(&mut self, kind: Option<BlockQuoteKind>) {
        self.begin_block();
        let bar = Line::new("│ ", self.theme.style(Role::Quote));
        self.enter(bar.clone(), bar);
        let name = match kind {
            None => return,
            Some(BlockQuoteKind::Note) => self.theme.language.say(Word::AlertNote),
            Some(BlockQuoteKind::Tip) => self.theme.language.say(Word::AlertTip),
            Some(BlockQuoteKind::Important) => self.theme.language.say(Word::AlertImportant),
            Some(BlockQuoteKind::Warning) => self.theme.language.say(Word::AlertWarning),
            Some(BlockQuoteKind::Caution) => self.theme.language.say(Word::AlertCaution),
        };
        self.put(Line::new(name, self.theme.style(Role::Strong)));
    }

    fn begin_item(&mut self) {
        self.begin_block();
        let marker = match self.lists.last_mut() {
            Some(Some(number)) => {
                let marker = format!("{number}. ");
                *number = number.saturating_add(1);
                marker
            }
            Some(None) | None => BULLETS
                .get(self.lists.len().saturating_sub(1) % BULLETS.len())
                .copied()
                .unwrap_or("- ")
                .to_owned(),
        };
        let rest = rows::spaces(text::width(&marker));
        self.enter(Line::new(marker, self.theme.style(Role::Frame)), rest);
    }

    fn task(&mut self, done: bool) {
        let (mark, role) = match done {
            true => ("☑ ", Role::Good),
            false => ("☐ ", Role::Text),
        };
        let style = self.theme.style(role);
        if let Some(before) = self.before.last_mut().filter(|b| !b.first.is_empty()) {
            // As wide as the marker it stands for.
            let pad = before.rest.width().saturating_sub(text::width(mark));
            before.first = Line::new(format!("{mark}{}", " ".repeat(pad)), style);
        } else {
            self.push(mark, style);
        }
    }

    fn end_item(&mut self) {
        let was_loose = self.paragraph.is_empty() && self.owes_gap;
        self.end_paragraph();
        // An item without text is still one.
        if self
            .before
            .last()
            .is_some_and(|b| !b.is_used && !b.first.is_empty())
        {
            self.put(Line::default());
        }
        self.leave();
        self.owes_gap = was_loose && !self.lists.is_empty();
    }

    fn begin_target(&mut self, kind: Kind, address: &str) {
        self.links.push(Target {
            kind,
            address: address.to_owned(),
            text: String::new(),
        });
    }

    fn end_link(&mut self) {
        self.styles.pop();
        let Some(Target { address, text, .. }) = self.links.pop() else {
            return;
        };
        let plain = |s: &str| {
            s.trim_matches('`')
                .trim_start_matches("mailto:")
                .trim_end_matches('/')
                .to_owned()
        };
        if !address.is_empty() && plain(&text) != plain(&address) {
            let faint = self.style().with(self.theme.style(Role::Faint));
            let link = links::address(&address);
            let shown = Span::new(format!(" ({address})"), faint);
            self.paragraph.push(shown.leading_to(link));
        }
    }

    fn end_image(&mut self) {
        let Some(Target { address, text, .. }) = self.links.pop() else {
            return;
        };
        let name = if text.is_empty() { address } else { text };
        self.push(&say::image(self.theme.language, &name), self.style());
    }

    fn end_code(&mut self) {
        if let Inside::Code { info, text } = std::mem::take(&mut self.inside) {
            for row in code::rows(&info, &text, self.room(), self.theme) {
                self.put_whole(row);
            }
        }
        self.owes_gap = true;
    }

    fn end_cell(&mut self) {
        let last = std::mem::take(&mut self.paragraph);
        if let Inside::Table { row, cell, .. } = &mut self.inside {
            cell.push(last);
            row.push(std::mem::take(cell));
        }
    }

    fn end_table(&mut self) {
        if let Inside::Table { table, .. } = std::mem::take(&mut self.inside) {
            for row in table.rows(self.room(), self.theme) {
                self.put_whole(row);
            }
        }
        self.owes_gap = true;
    }

    /// A paragraph, wrapped.
    fn put(&mut self, line: Line) {
        for row in text::wrap(&line, self.room()) {
            self.put_whole(row);
        }
    }

    /// A row that fits.
    fn put_whole(&mut self, row: Line) {
        let mut out = Line::default();
        for before in &mut self.before {
            let part = match std::mem::replace(&mut before.is_used, true) {
                true => &before.rest,
                false => &before.first,
            };
            part.spans.iter().for_each(|span| out.push(span.clone()));
        }
        row.spans.into_iter().for_each(|span| out.push(span));
        self.rows.push(out);
    }
}

const BULLETS: [&str; 3] = ["• ", "◦ ", "▪ "];
