//! What the person types, line by line. A line that was there before a question is no answer to it.

use std::collections::VecDeque;
use tokio::sync::mpsc;

/// Lines typed ahead that are kept.
const MAX_EARLY: usize = 1024;

/// What a line is wanted for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Want {
    Answer,
    Prompt,
    /// Something runs; a command may come all the same.
    Command,
}

pub struct Typed {
    lines: mpsc::Receiver<String>,
    early: VecDeque<String>,
    /// The last line was typed before it was wanted, and stands above.
    pub was_early: bool,
    closed: bool,
    /// A script (not by hand) knows what will be asked, and writes its answers ahead.
    pub by_hand: bool,
}

impl Typed {
    pub fn new(lines: mpsc::Receiver<String>, by_hand: bool) -> Self {
        Self {
            lines,
            early: VecDeque::new(),
            was_early: false,
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

    /// The next line; None at the end of input. Only a prompt may have been typed ahead.
    pub async fn next(&mut self, want: Want) -> Option<String> {
        if want == Want::Prompt
            && let Some(line) = self.early.pop_front()
        {
            self.was_early = true;
            return Some(line);
        }
        self.was_early = false;
        let line = self.lines.recv().await;
        self.closed |= line.is_none();
        line
    }

    /// Ready for a question: what was typed so far is kept for later.
    pub fn set_aside(&mut self) {
        while self.by_hand
            && self.early.len() < MAX_EARLY
            && let Ok(line) = self.lines.try_recv()
        {
            self.early.push_back(line);
        }
    }

    /// Listens again after an end that was none.
    pub fn go_on(&mut self, lines: mpsc::Receiver<String>) {
        (self.lines, self.closed) = (lines, false);
    }

    /// Words for later.
    pub fn keep(&mut self, line: &str) {
        if !line.is_empty() && self.early.len() < MAX_EARLY {
            self.early.push_back(line.to_owned());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn an_answer_is_typed_after_its_question() {
        for (by_hand, expect) in [
            (true, ["yes", "typed", "ahead"]),
            (false, ["typed", "ahead", "yes"]),
        ] {
            let (sender, lines) = mpsc::channel(8);
            let mut typed = Typed::new(lines, by_hand);
            for line in ["typed", "ahead"] {
                sender.send(line.to_owned()).await.unwrap();
            }
            typed.set_aside();
            sender.send("yes".into()).await.unwrap();
            drop(sender);
            let got = [
                typed.next(Want::Answer).await,
                typed.next(Want::Prompt).await,
                typed.next(Want::Prompt).await,
            ];
            assert_eq!(got, expect.map(|line| Some(line.to_owned())), "{by_hand}");
            assert_eq!(typed.next(Want::Prompt).await, None);
            assert!(!typed.listens(Want::Command) && typed.listens(Want::Prompt));
        }
    }
}
