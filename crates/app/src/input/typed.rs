//! What the person types, line by line. A line that was begun before a question could be read is no answer to it, nor is
//! one of several that come at once.

use super::{Line, Lines};
use std::collections::VecDeque;
use std::time::{Duration, Instant};
use tokio::sync::{mpsc, watch};

/// Lines typed ahead that are kept.
const MAX_EARLY: usize = 1024;
/// Lines that come closer than this are a paste: nobody types one as fast.
pub const PASTED: Duration = Duration::from_millis(200);

/// Typing has paused after this time without a key.
pub const PAUSE: Duration = Duration::from_millis(800);

/// What a line is wanted for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Want {
    Answer,
    Prompt,
    /// Something runs; a command may come all the same.
    Command,
}

/// A line that was typed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Said {
    Line(String),
    /// It was typed before it was wanted, and stands above.
    Early(String),
    /// The question was not open when it came, or others came with it.
    NoAnswer(String),
    /// The end of the input.
    Over,
}

pub struct Typed {
    lines: mpsc::Receiver<Line>,
    last_byte: watch::Receiver<Option<Instant>>,
    early: VecDeque<String>,
    /// The last line that came while a question stood there, and what may be the answer to it.
    last: Option<Instant>,
    candidate: Option<Line>,
    /// A line that came with another, and is no answer.
    refused: Option<String>,
    /// Since when a question takes an answer.
    open: Option<Instant>,
    closed: bool,
    /// A script (not by hand) knows what will be asked, and writes its answers ahead.
    pub by_hand: bool,
}

impl Typed {
    pub fn new(Lines { lines, last_byte }: Lines, by_hand: bool) -> Self {
        Self {
            lines,
            last_byte,
            early: VecDeque::new(),
            last: None,
            candidate: None,
            refused: None,
            open: None,
            closed: false,
            by_hand,
        }
    }

    /// Whether to read at all. A script's lines wait for what runs.
    pub fn listens(&self, want: Want) -> bool {
        match want {
            Want::Answer | Want::Prompt => true,
            Want::Command => self.by_hand && !self.closed,
        }
    }

    /// The next line. Only a prompt may have been typed ahead. Nothing is lost when this is dropped.
    pub async fn next(&mut self, want: Want) -> Said {
        if want == Want::Answer && self.by_hand {
            return self.next_answer().await;
        }
        self.reject_candidate();
        if want == Want::Prompt
            && let Some(line) = self.early.pop_front()
        {
            return Said::Early(line);
        }
        match self.receive().await {
            Some(line) => Said::Line(line.text),
            None => Said::Over,
        }
    }

    /// A line that was begun after the question was open, with no other close to it.
    async fn next_answer(&mut self) -> Said {
        if let Some(line) = self.refused.take() {
            return Said::NoAnswer(line);
        }
        loop {
            let Some(candidate) = &self.candidate else {
                let Some(line) = self.receive().await else {
                    return Said::Over;
                };
                let is_close = |last: Instant| line.at.saturating_duration_since(last) < PASTED;
                let is_pasted = self.last.is_some_and(is_close);
                let is_open = self.open.is_some_and(|open| line.begun >= open);
                self.last = Some(line.at);
                if is_pasted || !is_open {
                    return Said::NoAnswer(erased(&line.text));
                }
                self.candidate = Some(line);
                continue;
            };
            let until = candidate.at + PASTED;
            tokio::select! {
                biased;
                more = self.lines.recv() => match more {
                    Some(more) if more.at < until => {
                        self.last = Some(more.at);
                        self.refused = Some(more.text);
                        let first = self.candidate.take();
                        return Said::NoAnswer(first.map(|line| line.text).unwrap_or_default());
                    }
                    // It waits for what is asked next.
                    Some(more) => {
                        self.last = Some(more.at);
                        self.keep(&more.text);
                    }
                    None => self.closed = true,
                },
                () = tokio::time::sleep_until(until.into()) => {}
            }
            if let Some(line) = self.candidate.take() {
                return Said::Line(line.text);
            }
        }
    }

    /// What was not taken as an answer is kept like a line that was typed ahead.
    fn reject_candidate(&mut self) {
        let candidate = self.candidate.take().map(|line| line.text);
        for line in candidate.into_iter().chain(self.refused.take()) {
            self.keep(&line);
        }
    }

    async fn receive(&mut self) -> Option<Line> {
        let line = self.lines.recv().await;
        self.closed |= line.is_none();
        line
    }

    /// A question is put: what was typed so far is kept for later, and nothing answers yet.
    pub fn set_aside(&mut self) {
        self.open = None;
        self.reject_candidate();
        while self.by_hand
            && self.early.len() < MAX_EARLY
            && let Ok(line) = self.lines.try_recv()
        {
            self.last = Some(line.at);
            self.keep(&erased(&line.text));
        }
    }

    /// The question takes an answer from now on.
    pub fn open(&mut self, now: Instant) {
        self.open = Some(now);
    }

    /// When typing will have paused, if it has not by now.
    pub fn pauses_at(&self, now: Instant) -> Option<Instant> {
        let last = (*self.last_byte.borrow())?;
        Some(last + PAUSE).filter(|at| *at > now && self.by_hand)
    }

    /// A prompt was typed ahead.
    pub fn has_early(&self) -> bool {
        let refused = self.candidate.is_some() || self.refused.is_some();
        refused || !self.early.is_empty()
    }

    /// Listens again after an end that was none.
    pub fn go_on(&mut self, lines: Lines) {
        (self.lines, self.last_byte, self.closed) = (lines.lines, lines.last_byte, false);
    }

    /// Words for later.
    pub fn keep(&mut self, line: &str) {
        if !line.is_empty() && self.early.len() < MAX_EARLY {
            self.early.push_back(line.to_owned());
        }
    }
}

/// A line of which some keys came one by one, without what the person erased.
fn erased(line: &str) -> String {
    const ERASE: [char; 2] = ['\u{7f}', '\u{8}'];
    const KILL: char = '\u{15}';
    let mut out = String::new();
    for c in line.chars() {
        match c {
            _ if ERASE.contains(&c) => {
                out.pop();
            }
            KILL => out.clear(),
            _ if c.is_control() && c != '\t' => {}
            _ => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(text: &str, at: Instant) -> Line {
        Line {
            is_cut: false,
            text: text.into(),
            begun: at,
            at,
        }
    }

    fn channel() -> (mpsc::Sender<Line>, Lines) {
        let (sender, lines) = mpsc::channel(8);
        let (_, last_byte) = watch::channel(None);
        (sender, Lines { lines, last_byte })
    }

    #[tokio::test]
    async fn a_line_that_was_begun_before_the_question_answers_nothing() {
        let start = long_ago();
        let later = |millis| start + Duration::from_millis(millis);
        let (sender, lines) = channel();
        let mut typed = Typed::new(lines, true);
        typed.set_aside();
        typed.open(later(500));
        for (text, begun, at) in [
            ("y", 100, 1_000),
            ("apply\u{7f}\u{7f}\u{7f}\u{7f}\u{7f}y", 499, 2_000),
            ("y", 3_000, 3_100),
        ] {
            let line = Line {
                begun: later(begun),
                ..line(text, later(at))
            };
            sender.send(line).await.unwrap();
        }
        for expect in [
            Said::NoAnswer("y".into()),
            Said::NoAnswer("y".into()),
            Said::Line("y".into()),
        ] {
            assert_eq!(typed.next(Want::Answer).await, expect);
        }
    }

    /// Times since then have passed, so that nothing is waited for.
    fn long_ago() -> Instant {
        let ago = Duration::from_secs(10);
        Instant::now().checked_sub(ago).expect("a clock that runs")
    }

    #[tokio::test]
    async fn an_answer_is_typed_after_its_question() {
        for by_hand in [true, false] {
            let start = long_ago();
            let later = |millis| start + Duration::from_millis(millis);
            let (sender, lines) = channel();
            let mut typed = Typed::new(lines, by_hand);
            for text in ["typed", "ahead"] {
                sender.send(line(text, start)).await.unwrap();
            }
            typed.set_aside();
            // Before the question is open, and after.
            sender.send(line("y", later(300))).await.unwrap();
            typed.open(later(500));
            sender.send(line("yes", later(1_500))).await.unwrap();
            drop(sender);
            let said = |text: &str| Said::Line(text.into());
            let early = |text: &str| Said::Early(text.into());
            let (wants, expect) = match by_hand {
                true => (
                    [Want::Answer, Want::Answer, Want::Prompt, Want::Prompt],
                    [
                        Said::NoAnswer("y".into()),
                        said("yes"),
                        early("typed"),
                        early("ahead"),
                    ],
                ),
                false => (
                    [Want::Answer, Want::Answer, Want::Prompt, Want::Prompt],
                    [said("typed"), said("ahead"), said("y"), said("yes")],
                ),
            };
            for (want, expect) in wants.into_iter().zip(expect) {
                assert_eq!(typed.next(want).await, expect, "{by_hand}");
            }
            assert_eq!(typed.next(Want::Prompt).await, Said::Over);
            assert!(!typed.listens(Want::Command) && typed.listens(Want::Prompt));
        }
    }

    #[tokio::test]
    async fn lines_that_come_at_once_answer_nothing() {
        let start = long_ago();
        let later = |millis| start + Duration::from_millis(millis);
        let (sender, lines) = channel();
        let mut typed = Typed::new(lines, true);
        typed.set_aside();
        typed.open(start);
        for (text, at) in [
            ("y", 1_000),
            ("and more", 1_001),
            ("y", 1_002),
            ("y", 3_000),
        ] {
            sender.send(line(text, later(at))).await.unwrap();
        }
        for text in ["y", "and more", "y"] {
            assert_eq!(typed.next(Want::Answer).await, Said::NoAnswer(text.into()));
        }
        assert_eq!(typed.next(Want::Answer).await, Said::Line("y".into()));
    }
}
