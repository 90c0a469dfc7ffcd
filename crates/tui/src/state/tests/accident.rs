//! No yes by accident: whoever types when a question comes up, or under an open one, grants nothing by that.

use super::*;
use crate::layer::Layer;
use crate::line::Line;
use crate::state::attention::{GUARD, HOLD, PAUSE, REPEAT};
use proptest::prelude::*;

/// What a hand does, and how long after what it did before.
#[derive(Clone, Debug)]
enum Hand {
    Key(char),
    Paste(String),
}

const SENTENCES: [&str; 12] = [
    "yes please\n",
    "actually, use the other one\n",
    "a\nb\nc\n",
    "y\ny\ny\n",
    "\n\n\n\n\n",
    "1\n2\n3\n",
    "123 is what I want\n",
    "no, stop\nyes\nalways\n",
    "s\ny\n",
    "sure, always do that",
    "keep going\n\n",
    "ok",
];

fn any_hand() -> impl Strategy<Value = Vec<Hand>> {
    let keys = |text: &str| text.chars().map(Hand::Key).collect::<Vec<_>>();
    let letters = proptest::sample::select("ynasekoYA1234 \n\n".chars().collect::<Vec<_>>());
    let words = proptest::collection::vec(letters.prop_map(Hand::Key), 2..12);
    let pastes = proptest::sample::select(vec!["y", "y\n", "a", "1\n", "yes\nyes\n", "\n"])
        .prop_map(|text| vec![Hand::Paste(text.to_owned())]);
    let part = prop_oneof![
        3 => proptest::sample::select(SENTENCES.to_vec()).prop_map(keys),
        3 => words,
        1 => pastes,
    ];
    proptest::collection::vec(part, 1..4)
        .prop_map(|parts| parts.concat())
        // One key alone, after a pause, is an answer.
        .prop_filter("a single key", |hands| {
            hands.len() > 1 || matches!(hands.as_slice(), [Hand::Paste(_)])
        })
}

fn any_question() -> impl Strategy<Value = Ask> {
    let kinds = proptest::sample::select(vec![
        AskKind::Permission,
        AskKind::Trust,
        AskKind::Plan,
        AskKind::Budget,
        AskKind::Question,
        AskKind::Elicitation,
    ]);
    let ids = vec![
        "once",
        "session",
        "always",
        "always_repository",
        "deny",
        "approve",
        "edit",
        "keep",
        "accept",
        "decline",
        "opt-red",
        "y-something",
    ];
    let options = proptest::sample::subsequence(ids.clone(), 0..=ids.len()).prop_shuffle();
    let flags = (any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>());
    (kinds, options, flags).prop_map(|(kind, ids, (tool, free_text, multi, from))| {
        let detail = match tool {
            true => "?why not",
            false => "a rule in a file",
        };
        let detail_of = |id: &str| match id {
            "deny" => detail,
            _ => "a rule in a file",
        };
        let options: Vec<(&str, &str, &str)> =
            ids.iter().map(|id| (*id, *id, detail_of(id))).collect();
        let mut asked = Ask {
            tool: tool.then(|| "bash".into()),
            free_text,
            multi,
            from: from.then(|| "t1".into()),
            preview: Some("a plan".into()),
            ..ask(kind, "rm -rf build", &options)
        };
        if from {
            asked.silence.escape = Escape::Answer;
        }
        asked
    })
}

/// A state under a hand, with a virtual clock.
struct Desk {
    state: State,
    canvas: Canvas,
    now: Instant,
    asked: Vec<Ask>,
    answers: Vec<(String, Option<String>)>,
}

impl Desk {
    fn new(vim: bool) -> Self {
        let options = Options {
            vim,
            ..Options::default()
        };
        let editor = Editor::new(options);
        let state = State::new(Settings::default(), editor, Vec::new(), Status::default());
        let canvas = state.canvas(80, 24);
        let mut desk = Self {
            state,
            canvas,
            now: Instant::now(),
            asked: Vec::new(),
            answers: Vec::new(),
        };
        let event = Event::Entry(Arc::new(Entry {
            entry: 0,
            parent: None,
            ts: String::new(),
            body: user("go"),
        }));
        desk.state.event(&event, &desk.canvas, desk.now);
        desk
    }

    fn ask(&mut self, ask: &Ask) {
        let ask = Ask {
            ask: format!("a{}", self.asked.len()),
            ..ask.clone()
        };
        let event = Event::Ask(Arc::new(ask.clone()));
        self.asked.push(ask);
        self.state.event(&event, &self.canvas, self.now);
        self.draw();
    }

    fn draw(&mut self) {
        self.state.frame(&self.canvas, self.now);
        self.state.set_drawn(self.now);
    }

    /// Time passes, and whatever wakes the loop meanwhile does.
    fn advance(&mut self, millis: u64) {
        let until = self.now + Duration::from_millis(millis);
        while let Some(at) = self.state.wake(self.now).filter(|at| *at <= until) {
            self.now = at.max(self.now);
            self.state.passed(self.now);
            self.act();
        }
        self.now = until;
    }

    fn hand(&mut self, hand: &Hand) {
        let input = match hand {
            Hand::Key('\n') => Input::Key(Key::plain(crate::key::Code::Enter)),
            Hand::Key('\t') => Input::Key(Key::plain(crate::key::Code::Tab)),
            Hand::Key(c) => Input::Key(Key::plain(crate::key::Code::Char(*c))),
            Hand::Paste(text) => Input::Paste(text.clone()),
        };
        self.state.input(input, &self.canvas, self.now);
        self.act();
    }

    fn act(&mut self) {
        for effect in self.state.take_effects() {
            match effect {
                Effect::Send(Op::Answer { choice, ask, .. }) => {
                    let asked = self.asked.iter().find(|asked| asked.ask == ask);
                    let chosen = asked.and_then(|a| a.options.iter().find(|o| o.id == choice));
                    let granted = chosen.filter(|chosen| !chosen.refuses);
                    self.answers.push((choice, granted.map(|c| c.id.clone())));
                }
                Effect::Edit(_) => panic!("an editor was opened"),
                _ => {}
            }
        }
        self.draw();
    }
}

/// Every answer is a no or words.
fn grants(desk: &Desk) -> Vec<&str> {
    let answers = desk.answers.iter();
    answers
        .filter_map(|(_, granted)| granted.as_deref())
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::default())]

    #[test]
    fn no_sentence_grants_anything(
        hands in any_hand(),
        gaps in proptest::collection::vec(30_u64..=600, 40),
        comes_at in 0_usize..40,
        within in 0_u64..=600,
        before in 0_u64..3_000,
        question in any_question(),
        more in any::<bool>(),
        vim in any::<bool>(),
    ) {
        let mut desk = Desk::new(vim);
        let comes_at = comes_at % hands.len();
        for (n, hand) in hands.iter().enumerate() {
            let gap = gaps[n % gaps.len()];
            if n == comes_at {
                // Before the first key it may stand there for any time.
                let (first, then) = match n {
                    0 => (0, before),
                    _ => (within.min(gap), gap.saturating_sub(within)),
                };
                desk.advance(first);
                desk.ask(&question);
                desk.advance(then);
            } else {
                desk.advance(gap);
            }
            let answered = desk.answers.len();
            desk.hand(hand);
            if more && desk.answers.len() > answered && desk.asked.len() < 4 {
                desk.ask(&question);
            }
        }
        desk.advance(10_000);
        prop_assert_eq!(grants(&desk), Vec::<&str>::new(), "{:?}", desk.answers);
    }

    /// The same few keys, at any pace, with the question coming up at any moment and another after each answer.
    #[test]
    fn no_repeated_key_answers_anything(
        keys in proptest::collection::vec(proptest::sample::select(vec!['\n', ' ', '\t']), 1..4),
        times in 1_usize..40,
        gaps in proptest::collection::vec(30_u64..=2_000, 1..8),
        comes_at in 0_usize..40,
        within in 0_u64..=2_000,
        question in any_question(),
        vim in any::<bool>(),
    ) {
        let mut desk = Desk::new(vim);
        let comes_at = comes_at % times;
        for n in 0..times {
            let gap = gaps[n % gaps.len()];
            if n == comes_at {
                desk.advance(within.min(gap));
                desk.ask(&question);
                desk.advance(gap.saturating_sub(within));
            } else {
                desk.advance(gap);
            }
            desk.hand(&Hand::Key(keys[n % keys.len()]));
        }
        desk.advance(10_000);
        prop_assert_eq!(&desk.answers, &Vec::new());
        prop_assert!(desk.state.is_asking());
    }
}

/// What the terminal says of a key that is held.
#[derive(Clone, Copy, Debug)]
enum Tells {
    /// The same as of one that is pressed again.
    Nothing,
    /// When it is let go: text repeats as text.
    Release,
    Repeats,
}

proptest! {
    /// One key goes down before the question is drawn and stays down, whatever its terminal tells and however slowly it
    /// repeats.
    #[test]
    fn a_held_key_answers_nothing(
        key in proptest::sample::select("ynasko1234 \n\t".chars().collect::<Vec<_>>()),
        tells in proptest::sample::select(vec![Tells::Nothing, Tells::Release, Tells::Repeats]),
        delay in 0.0..1.0_f64,
        interval in 0.0..1.0_f64,
        times in 1_usize..30,
        comes_at in 0_usize..30,
        within in 0.0..1.0_f64,
        is_other_let_go in any::<bool>(),
        question in any_question(),
        vim in any::<bool>(),
    ) {
        let longest = match (tells, key) {
            (Tells::Repeats, _) => 6_000.0,
            (Tells::Release, key) if !matches!(key, '\n' | '\t') => 6_000.0,
            (Tells::Release | Tells::Nothing, _) => REPEAT.as_millis() as f64 - 10.0,
        };
        let millis = |part: f64| (20.0 + part * (longest - 20.0)) as u64;
        let of = |key: char| Key::plain(match key {
            '\n' => crate::key::Code::Enter,
            '\t' => crate::key::Code::Tab,
            key => crate::key::Code::Char(key),
        });
        let mut desk = Desk::new(vim);
        let give = |desk: &mut Desk, input: Input| {
            desk.state.input(input, &desk.canvas, desk.now);
            desk.act();
        };
        if !matches!(tells, Tells::Nothing) {
            give(&mut desk, Input::Key(of('q')));
            give(&mut desk, Input::Release(of('q')));
            desk.state.editor().set_text("");
        }
        desk.hand(&Hand::Key(key));
        // What is sent by the first press stands no longer in the composer.
        desk.state.editor().set_text("");
        desk.answers.clear();
        for n in 0..times {
            let gap = millis(if n == 0 { delay } else { interval });
            if n == comes_at % times {
                let first = (gap as f64 * within) as u64;
                desk.advance(first);
                desk.ask(&question);
                desk.advance(gap - first);
            } else {
                desk.advance(gap);
            }
            if is_other_let_go && matches!(tells, Tells::Release) && key.is_ascii_alphabetic() {
                give(&mut desk, Input::Release(of('q')));
            }
            match tells {
                Tells::Repeats => give(&mut desk, Input::Repeat(of(key))),
                Tells::Release | Tells::Nothing => desk.hand(&Hand::Key(key)),
            }
        }
        desk.advance(10_000);
        prop_assert_eq!(&desk.answers, &Vec::new());
        prop_assert!(desk.state.is_asking());
    }
}

#[test]
fn who_lets_a_key_go_may_press_it_again() {
    let pressed = |gap: u64, tells: bool| {
        let mut desk = Desk::new(false);
        let give = |desk: &mut Desk, input: fn(Key) -> Input| {
            let key = Key::plain(crate::key::Code::Char('y'));
            desk.state.input(input(key), &desk.canvas, desk.now);
            desk.act();
        };
        give(&mut desk, Input::Key);
        if tells {
            give(&mut desk, Input::Release);
        }
        desk.state.editor().set_text("");
        desk.ask(&permission());
        desk.advance(gap);
        give(&mut desk, Input::Key);
        desk.advance(10_000);
        desk.answers.len()
    };
    assert_eq!(pressed(1_000, true), 1);
    assert_eq!(pressed(1_000, false), 0, "it may have been held");
    assert_eq!(pressed(REPEAT.as_millis() as u64, false), 1);
}

/// Keys at these times after the question was drawn, in ms; what is answered ten seconds later.
fn answered(first_key: Option<i64>, keys: &[(u64, &str)]) -> Vec<String> {
    let mut desk = Desk::new(false);
    if let Some(before) = first_key {
        desk.hand(&Hand::Key('x'));
        desk.state.editor().set_text("");
        desk.advance(u64::try_from(before).unwrap());
    }
    desk.ask(&permission());
    let mut at = 0;
    for (time, typed) in keys {
        desk.advance(time - at);
        at = *time;
        for key in crate::key::keys(typed) {
            desk.state.input(Input::Key(key), &desk.canvas, desk.now);
            desk.act();
        }
    }
    desk.advance(10_000);
    desk.answers
        .iter()
        .map(|(choice, _)| choice.clone())
        .collect()
}

#[test]
fn when_a_key_answers() {
    let [guard, pause, hold] = [GUARD, PAUSE, HOLD].map(|time| time.as_millis() as u64);
    let none: &[&str] = &[];
    for (before, typed, expect) in [
        // Nobody typed: the question has to be seen first.
        (None, vec![(guard - 1, "y")], none),
        (None, vec![(guard, "y")], &["once"]),
        // Enter confirms what was selected, and nothing is.
        (None, vec![(guard, "<enter>")], none),
        (None, vec![(60_000, "<enter>")], none),
        (
            None,
            vec![(1_000, "<enter>"), (1_900, "<enter>"), (2_800, "<enter>")],
            none,
        ),
        // White space is no text: a letter below it answers.
        (None, vec![(1_000, "<space>"), (2_000, "y")], &["once"]),
        (None, vec![(1_000, "<space>"), (1_100, "<enter>")], none),
        (None, vec![(60_000, "y")], &["once"]),
        (None, vec![(60_000, "2")], &["session"]),
        // Somebody typed just before it: a pause has to follow.
        (Some(0), vec![(pause - 1, "y")], none),
        (Some(0), vec![(pause, "y")], &["once"]),
        (Some(400), vec![(guard, "y")], &["once"]),
        // More follows within the time of a slow typist, or a held key repeats.
        (None, vec![(1_000, "y"), (1_000 + hold - 1, "e")], none),
        (None, vec![(1_000, "y"), (1_000 + hold + 1, "e")], &["once"]),
        (
            None,
            vec![(1_000, "<enter>"), (1_660, "<enter>"), (1_700, "<enter>")],
            none,
        ),
        // What was chosen by hand is taken at once.
        (None, vec![(1_000, "<down>"), (1_050, "<enter>")], &["once"]),
        (
            None,
            vec![(1_000, "<down>"), (1_050, "<down>"), (1_100, "<enter>")],
            &["session"],
        ),
        // A text is a no, and a letter with Enter is no yes.
        (None, vec![(1_000, "yes please<enter>")], &["deny"]),
        (None, vec![(1_000, "y"), (1_200, "<enter>")], none),
        (
            None,
            vec![(1_000, "y"), (1_200, "<enter>"), (2_100, "<enter>")],
            &["once"],
        ),
        (None, vec![(1_000, "no"), (1_200, "<enter>")], &["deny"]),
        // What outlives the session takes another key, which has to be as deliberate.
        (None, vec![(1_000, "a")], none),
        (
            None,
            vec![(1_000, "a"), (1_000 + hold + guard - 1, "y")],
            none,
        ),
        (
            None,
            vec![(1_000, "a"), (1_000 + hold + guard, "y")],
            &["always"],
        ),
        (None, vec![(1_000, "a"), (4_000, "n")], none),
    ] {
        assert_eq!(answered(before, &typed), expect, "{before:?} {typed:?}");
    }
}

#[test]
fn a_question_that_was_not_drawn_takes_no_answer() {
    let mut desk = Desk::new(false);
    let event = Event::Ask(Arc::new(permission()));
    desk.state.event(&event, &desk.canvas, desk.now);
    desk.now += Duration::from_secs(60);
    let key = Key::plain(crate::key::Code::Char('y'));
    desk.state.input(Input::Key(key), &desk.canvas, desk.now);
    assert_eq!(desk.state.editor().text(), "y");
    assert!(matches!(desk.state.layers.last(), Some(Layer::Ask(_))));
}

#[test]
fn a_window_that_is_looked_at_again_is_seen_anew() {
    let mut desk = Desk::new(false);
    desk.ask(&permission());
    desk.advance(60_000);
    desk.state.input(Input::FocusGained, &desk.canvas, desk.now);
    desk.draw();
    desk.hand(&Hand::Key('y'));
    desk.advance(10_000);
    assert_eq!(desk.answers, []);
    assert_eq!(desk.state.editor().text(), "y");
}

#[test]
fn a_plan_that_was_changed_is_shown_before_it_is_approved() {
    let mut bench = bench("plan", 60, Look::Mono);
    bench.keys("e<pause>");
    bench.state.edited(Ok("1. Another way".into()), bench.now);
    bench.state.set_drawn(bench.now);
    bench.passes(1_000);
    assert!(bench.shown().contains("Another way"));
    assert!(bench.state.is_asking());
    bench.effects.clear();
    bench.keys("y<pause>");
    let sent = r#"Send(Answer { ask: "a1", choice: "edit", reason: Some("1. Another way") })"#;
    assert_eq!(bench.effects, [sent]);
}

#[test]
fn a_small_window_shows_every_answer_and_what_is_asked() {
    let options = [
        ("once", "allow once", ""),
        (
            "session",
            "allow for this session",
            "Bash(cargo test --workspace --all-features:*)",
        ),
        (
            "always",
            "always allow",
            "Bash(cargo test:*) in ~/.ostler/projects/shop/permissions.toml",
        ),
        (
            "always_repository",
            "always allow, for everybody",
            "Bash(cargo test:*) in ostler.toml",
        ),
        ("deny", "deny", "?why not"),
    ];
    for (columns, rows) in [(40, 12), (80, 24), (20, 12)] {
        let mut desk = Desk::new(false);
        desk.canvas = desk.state.canvas(columns, rows);
        let asked = Ask {
            tool: Some("bash".into()),
            ..ask(AskKind::Permission, "cargo test", &options)
        };
        desk.ask(&asked);
        desk.advance(1_000);
        for selects in [None, Some("<down>"), Some("<down>")] {
            for key in selects.map(crate::key::keys).into_iter().flatten() {
                desk.state.input(Input::Key(key), &desk.canvas, desk.now);
            }
            let frame = desk.state.frame(&desk.canvas, desk.now);
            assert!(frame.rows.len() <= rows, "{columns}x{rows}");
            let shown: Vec<String> = frame.rows.iter().map(Line::text).collect();
            assert!(
                shown.iter().any(|row| row.contains("cargo test")),
                "{shown:?}"
            );
            for key in ['y', 's', 'a', '4', 'n'] {
                let is_row = |row: &&String| {
                    row.get(..).is_some_and(|row| {
                        let row = row.trim_start_matches(['›', ' ']);
                        row.starts_with(&format!("{key}  "))
                    })
                };
                assert!(
                    shown.iter().any(|row| is_row(&row)),
                    "{key} {columns}x{rows} {shown:#?}"
                );
            }
        }
    }
}
