//! Lists, lines of text and pages where there is no session: what setup asks, what help shows. Each method shows one thing
//! and gives back what the person did with it.

use crate::canvas::Canvas;
use crate::key::{Code, Input, Key};
use crate::layer::{Field, Pager, Picker, Step};
use crate::line::{Line, Span};
use crate::links::Links;
use crate::rows;
use crate::screen::{Frame, Narrowed, Screen};
use crate::surroundings::Keyboard;
use crate::terminal::{self, Inputs, Raw};
use crate::text;
use crate::theme::{Role, Theme};
use crate::transcript::{TICK, spinner};
use ostler_wire::{Act, List, Word};
use std::collections::VecDeque;
use std::io::{self, Write};
use std::time::Instant;

/// Bullets that stand for what is typed and not shown.
const MAX_BULLETS: usize = 40;

/// How a line looks while it is typed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Typing {
    Shown,
    /// A key or a password.
    Hidden,
}

/// A line that is asked for.
#[derive(Clone, Copy, Debug)]
pub struct Question<'a> {
    pub title: &'a str,
    /// What helps to answer it, below the title.
    pub hint: &'a str,
    pub typing: Typing,
}

/// The terminal, until it is left.
pub struct Dialog<K, W: Write> {
    raw: Raw,
    inputs: Inputs<K>,
    /// Typed while something else stood there.
    waiting: VecDeque<Input>,
    screen: Screen,
    out: W,
    theme: Theme,
}

impl<K: Keyboard, W: Write> Dialog<K, W> {
    pub fn open(
        keyboard: K,
        mut out: W,
        theme: Theme,
        (narrowed, links): (Narrowed, Option<Links>),
    ) -> io::Result<Self> {
        let (columns, rows) = terminal::size();
        Ok(Self {
            raw: Raw::enter(&mut out)?,
            inputs: Inputs::new(keyboard),
            waiting: VecDeque::new(),
            screen: Screen::new(columns, rows, narrowed).with_links(links),
            out,
            theme,
        })
    }

    /// Prints something that stays.
    pub fn tell(&mut self, text: &str, role: Role) -> io::Result<()> {
        let canvas = self.canvas();
        let rows = rows::prose(text, canvas.style(role), canvas.columns);
        self.paint(&rows, Frame::default())
    }

    /// One of the list, by the command of its action; none where the person closed it or the terminal is gone.
    pub async fn choose(&mut self, list: List) -> io::Result<Option<String>> {
        let mut picker = Picker::new(list);
        loop {
            let canvas = self.canvas();
            let frame = picker.frame(&canvas);
            self.paint(&[], frame)?;
            match self.next().await? {
                None => return Ok(None),
                Some(Input::Paste(text)) => picker.paste(&text),
                Some(Input::Key(key)) => match picker.key(key) {
                    Step::Stay => {}
                    Step::Act(Act::Command(line)) => return Ok(Some(line)),
                    Step::Act(Act::Do(_))
                    | Step::Close
                    | Step::Answer(_)
                    | Step::Edit(_)
                    | Step::Stop => return Ok(None),
                },
                Some(
                    Input::Repeat(_)
                    | Input::Release(_)
                    | Input::Resize { .. }
                    | Input::FocusGained
                    | Input::FocusLost,
                ) => {}
            }
        }
    }

    /// A line of text; none where the person went back.
    pub async fn ask(&mut self, question: Question<'_>) -> io::Result<Option<String>> {
        let mut field = Field::default();
        loop {
            let canvas = self.canvas();
            let frame = ask_frame(&question, &field, &canvas);
            self.paint(&[], frame)?;
            match self.next().await? {
                None => return Ok(None),
                Some(Input::Paste(text)) => field.push(text.trim()),
                Some(Input::Key(key)) if is_leaving(key) => return Ok(None),
                Some(Input::Key(key)) if key.code == Code::Enter => {
                    return Ok(Some(field.text.trim().to_owned()));
                }
                Some(Input::Key(key)) => {
                    field.key(key);
                }
                Some(
                    Input::Repeat(_)
                    | Input::Release(_)
                    | Input::Resize { .. }
                    | Input::FocusGained
                    | Input::FocusLost,
                ) => {}
            }
        }
    }

    /// Says that something is under way until it is done; none where the person did not wait.
    pub async fn wait<T>(
        &mut self,
        says: &str,
        work: impl Future<Output = T>,
    ) -> io::Result<Option<T>> {
        let since = Instant::now();
        let mut work = std::pin::pin!(work);
        loop {
            let canvas = self.canvas();
            let sign = canvas.span(spinner(since, Instant::now()), Role::Accent);
            let mut row = Line::from(sign);
            row.push(canvas.span(format!(" {says}"), Role::Text));
            row.push(canvas.span(format!("  {}", canvas.say(Word::StopKey)), Role::Faint));
            let rows = vec![text::cut(&row, canvas.columns)];
            self.paint(&[], Frame { rows, caret: None })?;
            tokio::select! {
                biased;
                done = work.as_mut() => return Ok(Some(done)),
                input = self.inputs.next() => {
                    let inputs = input?;
                    let is_left = inputs.is_empty();
                    if is_left || inputs.iter().any(|input| matches!(input, Input::Key(key) if is_leaving(*key))) {
                        return Ok(None);
                    }
                    self.waiting.extend(inputs);
                }
                () = tokio::time::sleep(TICK) => {}
            }
        }
    }

    /// Pages through a text on the alternate screen, from its beginning, until the person leaves.
    pub async fn page(&mut self, markdown: &str) -> io::Result<()> {
        let (columns, rows) = terminal::size();
        let links = self.screen.links().cloned();
        let above = Screen::new(columns, rows, Narrowed::Cuts).with_links(links);
        let below = std::mem::replace(&mut self.screen, above);
        self.out.write_all(b"\x1b[?1049h\x1b[2J\x1b[H")?;
        let ended = self.paged(markdown).await;
        self.out.write_all(b"\x1b[?1049l")?;
        self.screen = below;
        ended
    }

    async fn paged(&mut self, markdown: &str) -> io::Result<()> {
        let rows =
            |canvas: &Canvas| crate::markdown::render(markdown, canvas.columns, &canvas.theme);
        let mut canvas = self.canvas();
        let mut pager = Pager::from_start(rows(&canvas));
        loop {
            let frame = pager.frame(&canvas);
            self.paint(&[], frame)?;
            match self.next().await? {
                None => return Ok(()),
                Some(Input::Key(key)) => match pager.key(key, &canvas) {
                    Step::Stay => {}
                    Step::Close | Step::Act(_) | Step::Answer(_) | Step::Edit(_) | Step::Stop => {
                        return Ok(());
                    }
                },
                Some(Input::Resize { .. }) => {
                    let wider = self.canvas();
                    self.out.write_all(b"\x1b[2J\x1b[H")?;
                    self.screen.forget();
                    if wider.columns != canvas.columns {
                        pager.rewrap(rows(&wider));
                    }
                    canvas = wider;
                }
                Some(
                    Input::Repeat(_)
                    | Input::Release(_)
                    | Input::Paste(_)
                    | Input::FocusGained
                    | Input::FocusLost,
                ) => {}
            }
        }
    }

    /// Leaves the terminal as it was.
    pub fn close(mut self) -> io::Result<()> {
        let bytes = self.screen.leave();
        self.out.write_all(bytes.as_bytes())?;
        self.out.flush()?;
        self.raw.leave(&mut self.out)
    }

    async fn next(&mut self) -> io::Result<Option<Input>> {
        if self.waiting.is_empty() {
            self.waiting.extend(self.inputs.next().await?);
        }
        // Nothing here is answered by how long a key is down.
        let input = self.waiting.pop_front().map(|input| match input {
            Input::Repeat(key) => Input::Key(key),
            other => other,
        });
        if let Some(Input::Resize { columns, rows }) = &input {
            self.screen.resize(*columns, *rows);
        }
        Ok(input)
    }

    fn canvas(&self) -> Canvas {
        Canvas {
            columns: self.screen.columns(),
            rows: self.screen.rows(),
            theme: self.theme,
        }
    }

    fn paint(&mut self, done: &[Line], frame: Frame) -> io::Result<()> {
        let (columns, rows) = terminal::size();
        self.screen.resize(columns, rows);
        let bytes = self.screen.paint(done, frame);
        self.out.write_all(bytes.as_bytes())?;
        self.out.flush()
    }
}

impl<K, W: Write> Drop for Dialog<K, W> {
    fn drop(&mut self) {
        // Whoever closed it has left already. A terminal that is gone needs nothing.
        let _ = self.raw.leave(&mut self.out);
    }
}

/// Esc, Ctrl-C, and Ctrl-D.
fn is_leaving(key: Key) -> bool {
    key.code == Code::Esc || key.ctrl && matches!(key.code, Code::Char('c' | 'd'))
}

fn ask_frame(question: &Question<'_>, field: &Field, canvas: &Canvas) -> Frame {
    let mut out = text::wrap(&canvas.line(question.title, Role::Heading), canvas.columns);
    out.extend(rows::prose(
        question.hint,
        canvas.style(Role::Faint),
        canvas.columns,
    ));
    let room = canvas.columns.saturating_sub(2);
    let (shown, column) = match question.typing {
        Typing::Shown => field.shown(room),
        Typing::Hidden => {
            let typed = field.text.chars().count();
            let count = typed.min(MAX_BULLETS).min(room.saturating_sub(1));
            ("•".repeat(count), count)
        }
    };
    let mut row = Line::from(canvas.span("› ", Role::Accent));
    row.push(Span::plain(shown));
    let caret = Some((out.len(), column + 2));
    out.push(row);
    out.push(canvas.line(canvas.say(Word::DialogKeys), Role::Faint));
    let rows = out
        .iter()
        .map(|row| text::cut(row, canvas.columns))
        .collect();
    Frame { rows, caret }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::plain;

    #[test]
    fn a_key_is_never_shown() {
        let canvas = Canvas {
            columns: 40,
            rows: 10,
            theme: Theme::default(),
        };
        let mut field = Field::default();
        field.push("sk-secret-中文");
        let frame = |typing| {
            let question = Question {
                title: "Key for acme",
                hint: "Get one at https://acme.example/keys",
                typing,
            };
            let frame = ask_frame(&question, &field, &canvas);
            (plain(&frame.rows), frame.caret)
        };
        let (shown, caret) = frame(Typing::Hidden);
        assert!(
            !shown.contains("sk-") && shown.contains("› ••••••••••••\n"),
            "{shown}"
        );
        assert_eq!(caret, Some((2, 14)));
        let (shown, caret) = frame(Typing::Shown);
        assert!(shown.contains("› sk-secret-中文\n"), "{shown}");
        assert_eq!(caret, Some((2, 16)));
        field.push(&"x".repeat(200));
        let question = Question {
            title: "Key",
            hint: "",
            typing: Typing::Hidden,
        };
        let frame = ask_frame(&question, &field, &canvas);
        assert!(frame.rows.iter().all(|row| row.width() <= 40));
    }
}
