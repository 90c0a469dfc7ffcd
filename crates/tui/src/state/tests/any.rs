//! Any keys, any events, any sizes: nothing panics, no row is wider than the terminal, and what a terminal shows at the
//! end is the frame.

use super::*;
use crate::screen::{Narrowed, Screen};
use crate::surroundings::FoundPicture;
use ostler_wire::{
    Approval, ErrorEntry, Image, Mode, Notice, Part, Stop, Table, Task, Todo, TodoItem, TodoState,
};
use proptest::prelude::*;
use std::num::NonZeroU16;

const TOOLS: [&str; 9] = [
    "bash",
    "edit_file",
    "read_file",
    "grep",
    "todo",
    "bash_output",
    "ask",
    "ls",
    "odd",
];

#[derive(Clone, Debug)]
enum Step {
    Key(String),
    Paste(String),
    Event(Event),
    Size(u16, u16),
    Wait(u16),
    Focus(bool),
    Answers(bool),
}

fn any_text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        4 => "[a-z]{1,9}",
        4 => Just(" ".to_owned()),
        2 => Just("\n".to_owned()),
        1 => Just("\n\n".to_owned()),
        1 => proptest::sample::select(vec![
            "# ", "- ", "1. ", "> ", "```rust\n", "```\n", "**", "`", "| a | b |\n|---|---|\n| ", " | ", "[x](y)", "---\n",
            "\t", "\r", "\u{1b}[2J", "\u{202e}", "\u{200b}", "\u{301}", "👩‍👩‍👧", "中文字", "שלום", "🇩🇪", "@@ -1 +1 @@\n",
            "\n-old\n+new\n", "\u{e0041}", "\u{9b}1A",
        ])
        .prop_map(str::to_owned),
        1 => "[x中]{60,90}",
    ];
    proptest::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
}

fn any_key() -> impl Strategy<Value = String> {
    let global = GLOBALS.iter().flat_map(|row| row.keys.iter());
    let composer = crate::editor::ACTIONS
        .iter()
        .flat_map(|row| row.keys.iter());
    let layers = ["pageup", "pagedown", "f1", "space", "/"];
    let named: Vec<String> = global
        .chain(composer)
        .chain(&layers)
        .map(|name| format!("<{name}>"))
        .collect();
    let letters: Vec<String> = "ysanek12 /@!#&gGqN中é\\"
        .chars()
        .map(String::from)
        .collect();
    prop_oneof![
        3 => proptest::sample::select(named),
        4 => proptest::sample::select(letters),
        1 => Just("/mod".to_owned()),
    ]
}

fn any_body() -> impl Strategy<Value = Body> {
    let id = prop_oneof![Just("c1"), Just("c2")].prop_map(str::to_owned);
    let tool = proptest::sample::select(TOOLS.to_vec()).prop_map(str::to_owned);
    let answer = |text: String| {
        let part = Part::Text {
            text: text.clone(),
            replay: None,
        };
        Body::Message(Message {
            role: Role::Assistant,
            parts: vec![part],
            stop: Some(Stop::End),
            ..Message::user(text)
        })
    };
    let result = |(id, text, ok): (String, String, bool)| {
        let output = match ok {
            true => {
                json!({"ok": true, "data": {"text": text, "output": text, "stdout": text, "diff": text,
                "path": text, "exit_code": 1, "job": "j1", "matches": [text], "entries": [text]}})
            }
            false => json!({"ok": false, "error": {"code": "x", "message": text}}),
        };
        Body::ToolResult(ToolResult {
            tool_use_id: id,
            output: Json::of(&output),
            ok,
            duration_ms: 1_234,
        })
    };
    let call = |(id, name, text, own): (String, String, String, bool)| {
        let input = json!({"command": text, "path": text, "old": text, "new": text, "pattern": text, "question": text});
        Body::ToolUse(ToolUse {
            id,
            name,
            input: Json::of(&input),
            by: own.then_some(ostler_wire::Caller::Person),
            repair: None,
            via: None,
            title: None,
        })
    };
    let ends = proptest::sample::select(vec![
        End::Done,
        End::Interrupted,
        End::Error,
        End::MaxSteps,
        End::EmptyResponse,
        End::Refusal,
    ]);
    let todo = |(text, n): (String, usize)| {
        let states = [TodoState::Done, TodoState::InProgress, TodoState::Pending];
        let item = |state: &TodoState| TodoItem {
            text: text.clone(),
            state: *state,
        };
        Body::Todo(Todo {
            items: states.iter().cycle().take(n).map(item).collect(),
        })
    };
    prop_oneof![
        3 => any_text().prop_map(|text| user(&text)),
        3 => any_text().prop_map(answer),
        3 => (id.clone(), tool, any_text(), any::<bool>()).prop_map(call),
        3 => (id.clone(), any_text(), any::<bool>()).prop_map(result),
        2 => ends.prop_map(|outcome| Body::TurnEnd(TurnEnd { outcome })),
        1 => (any_text(), 0_usize..9).prop_map(todo),
        1 => any_text().prop_map(|text| Body::Notice(Notice { text })),
        1 => any_text().prop_map(|message| Body::Error(ErrorEntry { kind: "x".into(), message, details: None })),
        1 => Just(Body::Interrupted(Interrupted::default())),
        1 => (id, any_text()).prop_map(|(tool_use_id, text)| Body::Approval(Approval {
            tool_use_id, decision: "once".into(), rule: Some(text.clone()), reason: Some(text.clone()), saved: Some(text),
        })),
        1 => any::<u32>().prop_map(|n| Body::Usage(Usage { input: n.into(), output: 1, cost: Some(f64::from(n)), ..Usage::default() })),
        1 => any_text().prop_map(|text| Body::Mode(Mode { mode: text.clone(), posture: text, goal: None, ..Default::default() })),
    ]
}

fn any_view() -> impl Strategy<Value = View> {
    let rows = proptest::collection::vec(proptest::collection::vec(any_text(), 0..4), 0..5);
    let deed = |text: String| {
        vec![
            Deed::Copy(text.clone()),
            Deed::Compose(text.clone()),
            Deed::Theme(text),
            Deed::Theme(String::new()),
            Deed::Theme("light".into()),
            Deed::Leave,
        ]
    };
    let list = |(title, label): (String, String)| {
        let action = |line: &str| Action {
            label: line.into(),
            act: Act::Command(line.into()),
        };
        View::List(List {
            items: vec![
                Item {
                    detail: label.clone(),
                    label,
                    marked: true,
                    actions: vec![action("one"), action("two")],
                },
                Item::default(),
            ],
            empty: title.clone(),
            title,
            ..List::default()
        })
    };
    prop_oneof![
        any_text().prop_map(View::Text),
        any_text().prop_map(View::Error),
        any_text().prop_map(View::Diff),
        (proptest::collection::vec(any_text(), 0..4), rows)
            .prop_map(|(columns, rows)| View::Table(Table::of_texts(columns, rows))),
        (any_text(), any_text()).prop_map(list),
        any_text()
            .prop_flat_map(move |text| proptest::sample::select(deed(text)))
            .prop_map(View::Do),
    ]
}

fn any_delta() -> impl Strategy<Value = Delta> {
    let (id, name) = ("c1".to_owned(), "bash".to_owned());
    let started = Delta::ToolStarted {
        id: id.clone(),
        name: name.clone(),
    };
    let output = move |chunk| Delta::ToolOutput {
        id: id.clone(),
        name: name.clone(),
        chunk,
    };
    let tasks = |(text, n): (String, usize)| Delta::Tasks {
        tasks: (0..n)
            .map(|n| Task {
                id: format!("t{n}"),
                session: String::new(),
                prompt: text.clone(),
                doing: ostler_wire::Doing::Running(text.clone()),
                seconds: 3,
            })
            .collect(),
    };
    prop_oneof![
        4 => any_text().prop_map(|text| Delta::AssistantDelta { text }),
        2 => any_text().prop_map(|text| Delta::ReasoningDelta { text }),
        1 => Just(started),
        2 => any_text().prop_map(output),
        1 => any_text().prop_map(|reason| Delta::Retry { after_ms: 4_000, attempt: 2, of: 5, reason }),
        1 => any_text().prop_map(|text| Delta::Progress { id: "c1".into(), name: "bash".into(), text }),
        1 => any_text().prop_map(|message| Delta::Unrecorded { message }),
        1 => (any_text(), 0_usize..5).prop_map(tasks),
        1 => (0_usize..3).prop_map(|n| Delta::Jobs { running: (0..n).map(|n| format!("j{n}")).collect() }),
        3 => any_view().prop_map(|view| Delta::Announcement { view: Box::new(view) }),
    ]
}

fn any_ask() -> impl Strategy<Value = Ask> {
    let kinds = proptest::sample::select(vec![
        AskKind::Permission,
        AskKind::Plan,
        AskKind::Question,
        AskKind::Trust,
        AskKind::Elicitation,
        AskKind::Budget,
    ]);
    let flags = (any::<bool>(), any::<bool>(), any::<bool>());
    (kinds, any_text(), any_text(), 0..99_u8, flags).prop_map(
        |(kind, subject, text, id, (multi, free_text, child))| Ask {
            ask: format!("a{id}"),
            multi,
            free_text,
            from: child.then(|| "t1".into()),
            tool: Some(text.clone()),
            preview: child.then(|| text.clone()),
            ..super::ask(
                kind,
                &subject,
                &[
                    ("once", &text, ""),
                    ("deny", "no", &text),
                    ("edit", "", &subject),
                    ("always", "", &subject),
                ],
            )
        },
    )
}

fn any_step() -> impl Strategy<Value = Step> {
    prop_oneof![
        12 => any_key().prop_map(Step::Key),
        1 => any_text().prop_map(Step::Paste),
        5 => any_body().prop_map(|body| Step::Event(Event::Entry(Arc::new(Entry {
            entry: 0, parent: None, ts: String::new(), body,
        })))),
        6 => any_delta().prop_map(|delta| Step::Event(Event::Delta(delta))),
        1 => any_ask().prop_map(|ask| Step::Event(Event::Ask(Arc::new(ask)))),
        1 => (20_u16..300, 1_u16..80).prop_map(|(columns, rows)| Step::Size(columns, rows)),
        2 => (0_u16..12_000).prop_map(Step::Wait),
        1 => any::<bool>().prop_map(Step::Focus),
        1 => any::<bool>().prop_map(Step::Answers),
    ]
}

/// A state on a terminal.
struct Stage {
    state: State,
    now: Instant,
    size: (u16, u16),
    seen: Vec<Arc<Entry>>,
    /// Whatever is asked of the machine around us can be had.
    can: bool,
}

impl Stage {
    fn new(vim: bool) -> Self {
        let settings = Settings {
            notify: true,
            show_reasoning: true,
            ..Settings::default()
        };
        let options = Options {
            vim,
            ..Options::default()
        };
        let command = CommandInfo {
            name: "model".into(),
            help: "choose".into(),
            arguments: "[x]".into(),
            group: ostler_wire::CommandGroup::Session,
        };
        let editor = Editor::new(options);
        Self {
            state: State::new(settings, editor, vec![command], Status::default()),
            now: Instant::now(),
            size: (80, 24),
            seen: Vec::new(),
            can: true,
        }
    }

    fn canvas(&self) -> Canvas {
        let (columns, rows) = self.size;
        self.state.canvas(usize::from(columns), usize::from(rows))
    }

    fn step(&mut self, step: Step) {
        let (canvas, now) = (self.canvas(), self.now);
        match step {
            Step::Key(pressed) => {
                for key in keys(&pressed) {
                    self.state.input(Input::Key(key), &canvas, now);
                }
            }
            Step::Paste(text) => self.state.input(Input::Paste(text), &canvas, now),
            Step::Event(event) => {
                if let Event::Entry(entry) = &event {
                    self.seen.push(entry.clone());
                }
                self.state.event(&event, &canvas, now);
            }
            Step::Size(columns, rows) => self.size = (columns, rows),
            Step::Wait(millis) => {
                self.now += Duration::from_millis(millis.into());
                self.state.passed(self.now);
            }
            Step::Focus(true) => self.state.input(Input::FocusGained, &canvas, now),
            Step::Focus(false) => self.state.input(Input::FocusLost, &canvas, now),
            Step::Answers(can) => self.can = can,
        }
        self.effects();
        self.state.set_drawn(self.now);
    }

    fn picture(&self, image: Image) -> FoundPicture {
        match self.can {
            true => FoundPicture::Found(image),
            false => FoundPicture::TooLarge,
        }
    }

    fn effects(&mut self) {
        let canvas = self.canvas();
        let given = |text: String, can: bool| match can {
            true => Ok(text),
            false => Err("no\u{1b}[2J".into()),
        };
        for effect in self.state.take_effects() {
            match effect {
                Effect::Send(Op::Complete(request)) => {
                    let item = |label: &str, is_folder| CompletionItem {
                        detail: String::new(),
                        insert: label.into(),
                        label: label.into(),
                        is_folder,
                        kind: CompletionKind::Link,
                    };
                    let completion = Completion {
                        text: request.text,
                        items: vec![item("src/", true), item("a\u{1b}[2J中.rs", false)],
                        ..Completion::default()
                    };
                    let reply = View::Completion(completion);
                    let reply = ostler_wire::Reply {
                        op: None,
                        command: String::new(),
                        view: reply,
                        more: false,
                    };
                    let reply = Event::Reply(Arc::new(reply));
                    self.state.event(&reply, &canvas, self.now);
                }
                Effect::Page => self.state.page(&self.seen, &canvas),
                Effect::Edit(text) => self.state.edited(given(text, self.can), self.now),
                Effect::PasteImage => {
                    let image = Image {
                        media_type: "image/png".into(),
                        data: String::new(),
                    };
                    self.state.image(self.picture(image), self.now);
                }
                Effect::Picture(pasted) => {
                    let image = Image {
                        media_type: "image/png".into(),
                        data: String::new(),
                    };
                    self.state.picture(pasted, self.picture(image), self.now);
                }
                Effect::Open(_) => self.state.reopened(Vec::new(), Status::default()),
                Effect::Send(_)
                | Effect::Copy(_)
                | Effect::KeepSent(_)
                | Effect::KeepDraft(_)
                | Effect::Notify(_)
                | Effect::Look
                | Effect::Suspend
                | Effect::Redraw
                | Effect::Leave => {}
            }
        }
    }
}

fn terminal((columns, rows): (u16, u16)) -> vt100::Parser {
    let size = |n: u16| NonZeroU16::new(n).unwrap();
    vt100::Parser::new(size(rows), size(columns), 0)
}

proptest! {
    // `PROPTEST_CASES=10000` looks longer.
    #![proptest_config(ProptestConfig::default())]

    #[test]
    fn any_session_fits_its_terminal(steps in proptest::collection::vec(any_step(), 0..60), vim: bool) {
        let mut stage = Stage::new(vim);
        for step in steps {
            let shown = format!("{step:?}");
            stage.step(step);
            let canvas = stage.canvas();
            let done = stage.state.done(&canvas);
            let frame = stage.state.frame(&canvas, stage.now);
            for row in done.iter().chain(&frame.rows) {
                let most = canvas.columns;
                prop_assert!(row.width() <= most, "{} > {most}: {:?} after {shown}", row.width(), row.text());
                prop_assert!(!row.text().chars().any(char::is_control), "{:?} after {shown}", row.text());
            }
            prop_assert!(frame.rows.len() <= canvas.rows, "{} > {} rows after {shown}", frame.rows.len(), canvas.rows);
            if let Some((row, column)) = frame.caret {
                prop_assert!(row < frame.rows.len().max(1) && column <= canvas.columns, "caret {row} {column} after {shown}");
            }
            stage.state.wake(stage.now);
            stage.state.title();
        }
    }

    /// Painted bit by bit, and painted at once.
    #[test]
    fn the_terminal_shows_the_frame(steps in proptest::collection::vec(any_step(), 0..40)) {
        let mut stage = Stage::new(false);
        let mut vt = terminal(stage.size);
        let mut screen = Screen::new(stage.size.0, stage.size.1, Narrowed::Cuts);
        for step in steps {
            let shown = format!("{step:?}");
            // A terminal of another size is another terminal.
            if is_odd(&step) || matches!(step, Step::Size(..)) {
                continue;
            }
            stage.step(step);
            let canvas = stage.canvas();
            if stage.state.is_paging() {
                continue;
            }
            let done = stage.state.done(&canvas);
            let frame = stage.state.frame(&canvas, stage.now);
            vt.process(screen.paint(&done, frame.clone()).as_bytes());
            let mut anew = terminal(stage.size);
            let mut fresh = Screen::new(stage.size.0, stage.size.1, Narrowed::Cuts);
            anew.process(fresh.paint(&[], frame).as_bytes());
            let rows = |vt: &vt100::Parser| -> Vec<String> {
                let rows = vt.screen().rows(0, stage.size.0);
                let mut rows: Vec<String> = rows.map(|row| row.trim_end().to_owned()).collect();
                while rows.last().is_some_and(String::is_empty) {
                    rows.pop();
                }
                rows
            };
            let (got, expect) = (rows(&vt), rows(&anew));
            prop_assert!(got.ends_with(&expect), "{got:#?}\nfor {expect:#?}\nafter {shown}");
            if !anew.screen().hide_cursor() {
                let from_end = |vt: &vt100::Parser, rows: &[String]| {
                    let (row, column) = vt.screen().cursor_position();
                    (rows.len() as i64 - i64::from(row), column)
                };
                prop_assert_eq!(from_end(&vt, &got), from_end(&anew, &expect), "after {}", shown);
            }
        }
    }

    /// What stands above the live region at the end is all that was ever finished, each row once.
    #[test]
    fn finished_rows_are_in_the_scrollback(steps in proptest::collection::vec(any_step(), 0..40)) {
        let mut stage = Stage::new(false);
        let size = (stage.size.0, 12);
        stage.size = size;
        let mut vt = vt100::Parser::new(NonZeroU16::new(size.1).unwrap(), NonZeroU16::new(size.0).unwrap(), 100_000);
        let mut screen = Screen::new(size.0, size.1, Narrowed::Cuts);
        let mut expect: Vec<String> = Vec::new();
        for step in steps {
            if is_odd(&step) || matches!(step, Step::Size(..)) {
                continue;
            }
            stage.step(step);
            let canvas = stage.canvas();
            if stage.state.is_paging() {
                continue;
            }
            let done = stage.state.done(&canvas);
            let frame = stage.state.frame(&canvas, stage.now);
            expect.extend(done.iter().map(|row| row.text().trim_end().to_owned()));
            vt.process(screen.paint(&done, frame).as_bytes());
        }
        let done = stage.state.done(&stage.canvas());
        expect.extend(done.iter().map(|row| row.text().trim_end().to_owned()));
        vt.process(screen.paint(&done, crate::screen::Frame::default()).as_bytes());
        let mut got = history(&mut vt);
        for rows in [&mut got, &mut expect] {
            // This terminal leaves the sign for what cannot be shown out.
            rows.iter_mut().for_each(|row| *row = row.replace('\u{fffd}', "").trim_end().to_owned());
            while rows.last().is_some_and(String::is_empty) {
                rows.pop();
            }
        }
        prop_assert_eq!(got, expect);
    }

    /// Whatever happens meanwhile, what the person and the model said is printed once, in the order it was said.
    #[test]
    fn words_are_printed_once_and_in_order(turns in proptest::collection::vec(any_turn(), 1..6), vim: bool) {
        let mut stage = Stage::new(vim);
        let (mut printed, mut expect, mut next) = (String::new(), Vec::new(), 0);
        for turn in turns {
            for said in turn {
                let mut words = |n: &mut usize, many: usize, gap: &str| -> String {
                    let words: Vec<String> = (0..many).map(|_| { *n += 1; format!("w{n}w") }).collect();
                    expect.extend(words.iter().cloned());
                    words.join(gap)
                };
                let events = match said {
                    Said::User(many) => vec![entry(user(&words(&mut next, many, " ")))],
                    Said::Answer(many, gap, cuts) => answer_in_pieces(&words(&mut next, many, gap), &cuts),
                    Said::Meanwhile(step) => {
                        stage.step(*step);
                        Vec::new()
                    }
                    Said::Over => vec![entry(Body::TurnEnd(TurnEnd { outcome: End::Done }))],
                };
                for event in events {
                    stage.step(Step::Event(event));
                    print(&mut stage, &mut printed);
                }
            }
        }
        // Leaving ends the pager.
        stage.state.layers.clear();
        print(&mut stage, &mut printed);
        let is_word = |word: &&str| {
            let number = word.strip_prefix('w').and_then(|word| word.strip_suffix('w'));
            number.is_some_and(|n| n.parse::<usize>().is_ok())
        };
        let got: Vec<&str> = printed.split(|c: char| !c.is_ascii_alphanumeric()).filter(is_word).collect();
        prop_assert_eq!(got, expect, "{}", printed);
    }
}

/// Terminals disagree about joined letters.
fn is_odd(step: &Step) -> bool {
    let shown = format!("{step:?}");
    let odd = ["\\u{200d}", "👩", "🇩", "\\u{301}"];
    odd.iter().any(|odd| shown.contains(odd))
}

/// All rows that are or were on the screen.
fn history(vt: &mut vt100::Parser) -> Vec<String> {
    let screen = vt.screen_mut();
    let width = screen.size().1.get();
    screen.set_scrollback(usize::MAX);
    let back = screen.scrollback();
    let mut rows = Vec::new();
    for offset in (1..=back).rev() {
        screen.set_scrollback(offset);
        rows.extend(screen.rows(0, width).next());
    }
    screen.set_scrollback(0);
    rows.extend(screen.rows(0, width));
    rows.iter().map(|row| row.trim_end().to_owned()).collect()
}

#[derive(Clone, Debug)]
enum Said {
    User(usize),
    /// So many words with this between them, streamed in pieces of these sizes before it is there whole.
    Answer(usize, &'static str, Vec<usize>),
    /// Anything that says nothing itself.
    Meanwhile(Box<Step>),
    Over,
}

fn any_turn() -> impl Strategy<Value = Vec<Said>> {
    let quiet = any_step().prop_filter("it says something", |step| match step {
        Step::Event(Event::Entry(entry)) => !matches!(
            entry.body,
            Body::Message(_) | Body::TurnEnd(_) | Body::Notice(_) | Body::Error(_)
        ),
        Step::Event(Event::Delta(delta)) => !matches!(
            delta,
            Delta::AssistantDelta { .. } | Delta::Announcement { .. } | Delta::Unrecorded { .. }
        ),
        Step::Event(Event::Ask(_)) | Step::Key(_) | Step::Paste(_) | Step::Wait(_) => true,
        Step::Size(columns, _) => *columns >= 20,
        Step::Focus(_) | Step::Answers(_) => true,
        Step::Event(Event::Reply(_)) => false,
    });
    let gap = proptest::sample::select(vec![
        " ",
        "\n",
        "\n\n",
        "\n- ",
        "\n\n# ",
        "\n\n```\n",
        ", **x** ",
    ]);
    let cuts = proptest::collection::vec(1_usize..20, 0..30);
    let said = prop_oneof![
        3 => (1_usize..40, gap, cuts).prop_map(|(many, gap, cuts)| Said::Answer(many, gap, cuts)),
        6 => quiet.prop_map(|step| Said::Meanwhile(Box::new(step))),
        1 => (1_usize..9).prop_map(Said::User),
    ];
    ((1_usize..9), proptest::collection::vec(said, 0..12)).prop_map(|(many, mut said)| {
        said.insert(0, Said::User(many));
        said.push(Said::Over);
        said
    })
}

fn entry(body: Body) -> Event {
    Event::Entry(Arc::new(Entry {
        entry: 0,
        parent: None,
        ts: String::new(),
        body,
    }))
}

fn answer_in_pieces(text: &str, cuts: &[usize]) -> Vec<Event> {
    let mut rest = text;
    let mut events = Vec::new();
    for cut in cuts {
        let (piece, after) = rest.split_at(rest.len().min(*cut));
        if !piece.is_empty() {
            let text = piece.to_owned();
            events.push(Event::Delta(Delta::AssistantDelta { text }));
        }
        rest = after;
    }
    events.push(entry(Body::Message(Message {
        role: Role::Assistant,
        parts: vec![Part::Text {
            text: text.to_owned(),
            replay: None,
        }],
        stop: Some(Stop::End),
        ..Message::user(text.to_owned())
    })));
    events
}

fn print(stage: &mut Stage, printed: &mut String) {
    let canvas = stage.canvas();
    if stage.state.is_paging() {
        return;
    }
    for row in stage.state.done(&canvas) {
        printed.push_str(&row.text());
        printed.push('\n');
    }
    stage.state.frame(&canvas, stage.now);
}

#[test]
fn the_mode_of_vim_is_named() {
    let mut stage = Stage::new(true);
    for (key, mode) in [
        ("a", ""),
        ("<esc>", "NORMAL "),
        ("v", "VISUAL "),
        ("<esc>", "NORMAL "),
        ("i", ""),
    ] {
        stage.step(Step::Key(key.into()));
        let frame = stage.state.frame(&stage.canvas(), stage.now);
        let last = frame
            .rows
            .last()
            .map(crate::line::Line::text)
            .unwrap_or_default();
        assert!(last.starts_with(mode), "{key}: {last}");
        assert_eq!(
            last.contains("NORMAL") || last.contains("VISUAL"),
            !mode.is_empty()
        );
    }
}
