//! When a key may answer a question. Somebody who types when a question comes up, or who begins a sentence under it, must
//! not answer by that: a question that was drawn a moment ago takes no answer, nor does one under which somebody types,
//! and a key that would answer is held for a moment to see whether more follows. Pure: times come in as values.

use crate::key::{Code, Key};
use crate::layer::{Page, Pick};
use std::time::{Duration, Instant};

/// A question that was drawn less than this ago takes no answer.
pub const GUARD: Duration = Duration::from_millis(500);
/// Typing has paused after this time without a key. People type up to 600 ms per key.
pub const PAUSE: Duration = Duration::from_millis(800);
/// A key that would answer does so after this time without another key. Held keys repeat sooner, and so do typists.
pub const HOLD: Duration = Duration::from_millis(800);
/// A key that comes again within this time may be held down, where the terminal does not say. Systems begin to repeat after
/// 250 to 1,000 ms, and go on faster.
pub const REPEAT: Duration = Duration::from_millis(1_100);

#[derive(Debug, Default)]
pub struct Attention {
    drawn: Option<Drawn>,
    /// The last key or paste, wherever it went.
    typed: Option<Instant>,
    held: Option<Held>,
    run: Option<Run>,
    /// The terminal tells when a key is let go.
    tells_release: bool,
    /// The last key moved within the question: the person looks at it, and Enter takes what they chose.
    is_engaged: bool,
    /// The ask that the text in the composer was begun for.
    text_for: Option<String>,
}

/// The page of a question that is on the screen.
#[derive(Debug)]
struct Drawn {
    page: Page,
    since: Instant,
    /// Since when any page of this question is.
    question_since: Instant,
}

/// A key that comes again and again.
#[derive(Debug)]
struct Run {
    code: Code,
    /// None: it was down before anybody looked.
    since: Option<Instant>,
    last: Instant,
    is_down: bool,
}

/// What the terminal says of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Press {
    /// It came. It may have been down already.
    Key,
    /// It is still down.
    Repeat,
}

/// A key that answers unless another follows.
#[derive(Clone, Debug, PartialEq)]
pub struct Held {
    pub key: Key,
    pub pick: Pick,
    /// Where the cursor of the question was.
    pub before: Pick,
    page: Page,
    since: Instant,
}

impl Held {
    pub fn is_on(&self, page: &Page) -> bool {
        self.page == *page
    }
}

/// Whether a page of a question can be answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Readiness {
    /// The question was on the screen long enough to be seen.
    pub is_seen: bool,
    /// Nobody types.
    pub has_paused: bool,
    /// Keys may answer.
    pub may_answer: bool,
}

impl Attention {
    /// This is on the screen now.
    pub fn set_drawn(&mut self, page: Option<Page>, now: Instant) {
        if self.drawn.as_ref().map(|drawn| &drawn.page) == page.as_ref() {
            return;
        }
        self.is_engaged = false;
        let before = self.drawn.take();
        self.drawn = page.map(|page| {
            let same = before.filter(|before| before.page.0 == page.0);
            Drawn {
                page,
                since: now,
                question_since: same.map_or(now, |before| before.question_since),
            }
        });
    }

    /// What is on the screen has to be looked at anew.
    pub fn forget_drawn(&mut self) {
        self.drawn = None;
    }

    /// A key came, wherever it goes.
    pub fn press(&mut self, key: Key, press: Press, now: Instant) {
        let code = case_folded(key.code);
        // Terminals keep these three as they always were.
        let is_told =
            self.tells_release && !matches!(code, Code::Enter | Code::Tab | Code::Backspace);
        let goes_on = |run: &Run| match (press, is_told) {
            (Press::Repeat, _) => true,
            (Press::Key, true) => run.is_down,
            (Press::Key, false) => now.saturating_duration_since(run.last) < REPEAT,
        };
        let before = self
            .run
            .as_ref()
            .filter(|run| run.code == code && goes_on(run));
        self.run = Some(Run {
            code,
            since: match (before, press) {
                (Some(run), _) => run.since,
                (None, Press::Repeat) => None,
                (None, Press::Key) => Some(now),
            },
            last: now,
            is_down: true,
        });
    }

    /// A key was let go. What is no letter may be told by another name than it came under.
    pub fn release(&mut self, key: Key) {
        self.tells_release = true;
        let code = case_folded(key.code);
        let is_letter = |code: Code| matches!(code, Code::Char(c) if c.is_ascii_alphabetic());
        let is_other = |run: &Run| run.code != code && is_letter(run.code) && is_letter(code);
        if !self.run.as_ref().is_some_and(is_other) {
            self.release_all();
        }
    }

    /// Nobody knows which keys are down.
    pub fn release_all(&mut self) {
        if let Some(run) = &mut self.run {
            run.is_down = false;
        }
    }

    /// The last key was down already when what is on the screen was drawn, and has been since.
    pub fn is_held_over(&self) -> bool {
        let Some(run) = &self.run else { return false };
        let is_early = |since: Instant| {
            let drawn = self.drawn.as_ref();
            run.last > since && drawn.is_none_or(|drawn| since <= drawn.since)
        };
        run.since.is_none_or(is_early)
    }

    pub fn note_key(&mut self, now: Instant) {
        self.typed = Some(now);
        self.is_engaged = false;
    }

    /// A key moved within the question.
    pub fn engage(&mut self) {
        self.is_engaged = true;
    }

    pub fn is_engaged(&self) -> bool {
        self.is_engaged
    }

    pub fn last_key(&self) -> Option<Instant> {
        self.typed
    }

    pub fn readiness(&self, page: &Page, now: Instant) -> Readiness {
        let drawn = self.drawn.as_ref().filter(|drawn| drawn.page == *page);
        let is_past = |at: Instant, time: Duration| now.saturating_duration_since(at) >= time;
        let has_paused = self.typed.is_none_or(|at| is_past(at, PAUSE));
        let is_page_seen = drawn.is_some_and(|drawn| is_past(drawn.since, GUARD));
        Readiness {
            is_seen: drawn.is_some_and(|drawn| is_past(drawn.question_since, GUARD)),
            has_paused,
            may_answer: is_page_seen && (self.is_engaged || has_paused),
        }
    }

    /// A key would pick the first; the cursor was at the second.
    pub fn hold(&mut self, key: Key, [pick, before]: [Pick; 2], page: Page, now: Instant) {
        self.note_key(now);
        self.held = Some(Held {
            key,
            pick,
            before,
            page,
            since: now,
        });
    }

    pub fn held(&self, page: &Page) -> Option<&Held> {
        self.held.as_ref().filter(|held| held.is_on(page))
    }

    pub fn take_held(&mut self) -> Option<Held> {
        self.held.take()
    }

    /// The held key, once no other has followed for long enough.
    pub fn take_due(&mut self, now: Instant) -> Option<Held> {
        let is_due = |held: &Held| now.saturating_duration_since(held.since) >= HOLD;
        self.held.take_if(|held| is_due(held))
    }

    /// Text comes into an empty composer: for this ask, if it could be answered then.
    pub fn begin_text(&mut self, ask: Option<String>) {
        self.text_for = ask;
    }

    /// The text in the composer was begun when this could not be answered yet.
    pub fn has_early_text(&self, ask: &str) -> bool {
        self.text_for.as_deref() != Some(ask)
    }

    /// When the answer of `readiness` or `take_due` changes by itself.
    pub fn wake(&self, page: &Page, now: Instant) -> Option<Instant> {
        let drawn = self.drawn.as_ref().filter(|drawn| drawn.page == *page);
        let seen = drawn.map(|drawn| drawn.since + GUARD);
        let paused = self.typed.map(|at| at + PAUSE);
        let due = self.held.as_ref().map(|held| held.since + HOLD);
        let times = [seen, paused, due].into_iter().flatten();
        // What is held answers at its time even if that has come.
        times.filter(|at| *at > now || Some(*at) == due).min()
    }
}

/// Shift may be let go before the letter.
fn case_folded(code: Code) -> Code {
    match code {
        Code::Char(c) => Code::Char(c.to_lowercase().next().unwrap_or(c)),
        other => other,
    }
}
