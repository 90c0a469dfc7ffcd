//! Tells a paste from typing on terminals that do not mark it: nobody types a line and goes on within the same moment.
//! Without this every line of a pasted text would be sent by itself.

use crate::key::{Code, Input, Key};
use std::time::{Duration, Instant};

/// Keys that come at once and are no typing, if a line ends among them.
const MANY: usize = 4;
/// A paste that was found goes on as long as its keys come this close.
const CLOSE: Duration = Duration::from_millis(30);

#[derive(Debug, Default)]
pub struct Burst {
    last: Option<Instant>,
}

impl Burst {
    /// Inputs that were there at the same moment, with the keys of a paste made one.
    pub fn gather(&mut self, inputs: Vec<Input>, now: Instant) -> Vec<Input> {
        let goes_on = self
            .last
            .is_some_and(|last| now.saturating_duration_since(last) <= CLOSE);
        let letters: Vec<Option<char>> = inputs.iter().map(letter).collect();
        let all_letters = letters.iter().all(Option::is_some);
        let ends_inside = letters
            .iter()
            .rev()
            .skip(1)
            .any(|letter| *letter == Some('\n'));
        let is_paste = all_letters && (goes_on || (ends_inside && inputs.len() >= MANY));
        if !is_paste {
            self.last = None;
            return inputs;
        }
        self.last = Some(now);
        vec![Input::Paste(letters.into_iter().flatten().collect())]
    }
}

/// What a key writes.
fn letter(input: &Input) -> Option<char> {
    match input {
        Input::Key(Key {
            code,
            ctrl: false,
            alt: false,
            shift: false,
        }) => match code {
            Code::Char(c) => Some(*c),
            Code::Enter => Some('\n'),
            Code::Tab => Some('\t'),
            _ => None,
        },
        // A line feed within a paste comes as ctrl-j.
        Input::Key(Key {
            code: Code::Char('j'),
            ctrl: true,
            alt: false,
            ..
        }) => Some('\n'),
        Input::Key(_)
        | Input::Repeat(_)
        | Input::Release(_)
        | Input::Paste(_)
        | Input::Resize { .. }
        | Input::FocusGained
        | Input::FocusLost => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::keys;

    #[test]
    fn lines_that_come_at_once_are_a_paste() {
        let check = |typed: &str, expect: Option<&str>| {
            let inputs: Vec<Input> = keys(typed).into_iter().map(Input::Key).collect();
            let got = Burst::default().gather(inputs.clone(), Instant::now());
            let expect = match expect {
                Some(text) => vec![Input::Paste(text.into())],
                None => inputs,
            };
            assert_eq!(got, expect, "{typed}");
        };
        check("a", None);
        check("hello", None);
        check("hello<enter>", None);
        check("y<enter>x", None);
        check("one<enter>two", Some("one\ntwo"));
        check("one<enter>two<enter>", Some("one\ntwo\n"));
        check("one<ctrl-j>two", Some("one\ntwo"));
        check("one<enter>two<esc>", None);
    }

    #[test]
    fn a_paste_goes_on_while_its_keys_come_close() {
        let inputs = |typed| keys(typed).into_iter().map(Input::Key).collect::<Vec<_>>();
        let start = Instant::now();
        let mut burst = Burst::default();
        burst.gather(inputs("one<enter>two"), start);
        let soon = start + Duration::from_millis(10);
        assert_eq!(
            burst.gather(inputs("<enter>"), soon),
            [Input::Paste("\n".into())]
        );
        let later = soon + Duration::from_millis(100);
        assert_eq!(burst.gather(inputs("<enter>"), later), inputs("<enter>"));
    }
}
