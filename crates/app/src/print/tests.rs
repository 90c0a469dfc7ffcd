//! Streams that are one terminal, and streams that are two pipes.

use super::*;
use std::cell::RefCell;
use std::rc::Rc;

/// One of two streams to the same place; bytes arrive when it is flushed, as those of a buffered stream do.
#[derive(Clone, Default)]
struct Stream {
    waiting: Vec<u8>,
    place: Rc<RefCell<Vec<u8>>>,
}

impl Write for Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.waiting.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.place.borrow_mut().append(&mut self.waiting);
        Ok(())
    }
}

fn reasoning(text: &str) -> Event {
    Event::Delta(Delta::ReasoningDelta { text: text.into() })
}

fn answer(text: &str) -> Event {
    Event::Delta(Delta::AssistantDelta { text: text.into() })
}

fn retry() -> Event {
    Event::Delta(Delta::Retry {
        after_ms: 1_000,
        attempt: 1,
        of: 5,
        reason: "busy".into(),
    })
}

/// What a terminal shows, or what each of two pipes gets.
fn printed(events: &[Event], on_terminal: bool) -> [String; 2] {
    let out = Stream::default();
    let err = match on_terminal {
        true => Stream {
            place: out.place.clone(),
            ..Stream::default()
        },
        false => Stream::default(),
    };
    let places = [out.place.clone(), err.place.clone()];
    let show = Show {
        tool_calls: true,
        reasoning: true,
        tokens: false,
        on_terminal,
        language: Language::English,
    };
    let mut printer = Printer::new(out, err, Format::Text, show, Paint::None);
    for event in events {
        printer.event(event, "").unwrap();
    }
    printer.flush().unwrap();
    places.map(|place| String::from_utf8(place.borrow().clone()).unwrap())
}

#[test]
fn streamed_reasoning_flows_and_the_answer_has_its_own_line() {
    let thought = ["Let me", " th", "ink about it.\n", "Then", " go."].map(reasoning);
    let said = ["I'll re", "produce it."].map(answer);
    let events: Vec<Event> = thought.into_iter().chain(said).collect();
    let [terminal, _] = printed(&events, true);
    assert_eq!(
        terminal,
        "Let me think about it.\nThen go.\nI'll reproduce it."
    );
    let [out, err] = printed(&events, false);
    assert_eq!(out, "I'll reproduce it.");
    assert_eq!(err, "Let me think about it.\nThen go.\n");
}

#[test]
fn what_comes_between_has_a_line_of_its_own_and_its_place() {
    let events = [
        answer("One.\n"),
        reasoning("Hm"),
        retry(),
        reasoning("Hm"),
        reasoning("m."),
        answer("Two"),
        reasoning("Oh"),
        reasoning("."),
        answer("."),
    ];
    let [terminal, _] = printed(&events, true);
    assert_eq!(
        terminal,
        "One.\nHm\nTry 1 of 5 failed; trying again in 1.0 s: busy\nHmm.\nTwo\nOh.\n."
    );
    // Nothing splits the words that a pipe gets.
    let [out, err] = printed(&events, false);
    assert_eq!(out, "One.\nTwo.");
    assert_eq!(
        err,
        "Hm\nTry 1 of 5 failed; trying again in 1.0 s: busy\nHmm.\nOh.\n"
    );
}
