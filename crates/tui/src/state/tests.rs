//! What keys do in which state, and what is on the screen then: one snapshot, read as a table of `state | keys`.

mod accident;
mod any;
mod attention;
mod turns;
mod whole;

use super::*;
use crate::editor::Options;
use crate::key::keys;
use crate::testing::marked;
use insta::assert_snapshot;
use ostler_wire::{
    Action, Ask, AskKind, Choice, Compaction, Deed, Delta, DigestBy, Escape, Goal, GoalState,
    Interrupted, Item, Json, List, Message, Outcome as End, PermissionChoice, PlanChoice,
    PreviewFormat, Silence, ToolResult, ToolUse, TurnEnd, Usage,
};
use ostler_wire::{
    Body, CallTitle, Completion, CompletionItem, CompletionKind, CompletionRequest, Event,
    ResultForm, Role, ToolKind, View,
};
use serde_json::json;
use std::fmt::Write as _;

/// A state with a clock of its own.
struct Bench {
    state: State,
    canvas: Canvas,
    start: Instant,
    now: Instant,
    entries: u64,
    effects: Vec<String>,
}

impl Bench {
    fn new(columns: usize, look: Look) -> Self {
        let settings = Settings {
            look,
            notify: true,
            show_reasoning: true,
            title: "ostler here".into(),
            ..Settings::default()
        };
        let command = |name: &str, help: &str, arguments: &str| CommandInfo {
            name: name.into(),
            help: help.into(),
            arguments: arguments.into(),
            group: ostler_wire::CommandGroup::Session,
        };
        let commands = vec![
            command("help", "this list", ""),
            command("model", "choose the model", "[name]"),
            command("mode", "show or change the mode", "[name]"),
            command("new", "a new session", ""),
        ];
        let mut status = Status::default();
        status.model = "acme/wise-2".into();
        status.branch = Some("main".into());
        status.mode = Some(ostler_wire::Mode {
            mode: "normal".into(),
            posture: "ask".into(),
            goal: None,
            ..Default::default()
        });
        let options = Options {
            history: vec!["an old prompt".into()],
            ..Options::default()
        };
        let mut state = State::new(settings, Editor::new(options), commands, status);
        state.effects.clear();
        let canvas = state.canvas(columns, 24);
        let now = Instant::now();
        Self {
            state,
            canvas,
            start: now,
            now,
            entries: 0,
            effects: Vec::new(),
        }
    }

    fn event(&mut self, event: &Event) {
        self.state.event(event, &self.canvas, self.now);
        self.state.set_drawn(self.now);
    }

    fn entry(&mut self, body: Body) {
        let entry = Entry {
            entry: self.entries,
            parent: None,
            ts: String::new(),
            body,
        };
        self.entries += 1;
        self.event(&Event::Entry(Arc::new(entry)));
    }

    fn delta(&mut self, delta: Delta) {
        self.event(&Event::Delta(delta));
    }

    fn reply(&mut self, view: View) {
        self.event(&Event::Reply(Arc::new(ostler_wire::Reply {
            op: None,
            command: String::new(),
            view,
            more: false,
        })));
    }

    fn passes(&mut self, millis: u64) {
        self.now += Duration::from_millis(millis);
        self.state.passed(self.now);
        self.act();
        self.state.set_drawn(self.now);
    }

    /// Keys as `keys` reads them; `<wait>` lets three seconds pass, `<pause>` one, `<paste>` pastes two lines, `<blur>`
    /// looks away.
    fn keys(&mut self, text: &str) {
        let text = text.replace('<', "\0<").replace('>', ">\0");
        for part in text.split('\0').filter(|part| !part.is_empty()) {
            let input = match part {
                "<wait>" => {
                    self.passes(3_000);
                    continue;
                }
                "<pause>" => {
                    self.passes(1_000);
                    continue;
                }
                "<paste>" => Input::Paste("one\ntwo".into()),
                "<blur>" => Input::FocusLost,
                part => {
                    for key in keys(part) {
                        self.input(Input::Key(key));
                    }
                    continue;
                }
            };
            self.input(input);
        }
    }

    fn input(&mut self, input: Input) {
        self.now += Duration::from_millis(50);
        self.state.input(input, &self.canvas, self.now);
        self.act();
        self.state.set_drawn(self.now);
    }

    fn act(&mut self) {
        let effects = self.state.take_effects();
        for effect in effects {
            if let Effect::Send(Op::Complete(request)) = &effect {
                self.reply(View::Completion(completion(request)));
                continue;
            }
            match effect {
                // Kept often, and tested where it is written.
                Effect::KeepDraft(_) | Effect::Look => {}
                effect => self.effects.push(format!("{effect:?}")),
            }
        }
    }

    /// Finished rows, the live region with the caret as `▏`, and what is to be done.
    fn shown(&mut self) -> String {
        let mut out = String::new();
        for row in self.state.done(&self.canvas) {
            let _ = writeln!(out, "  {}", row.text());
        }
        let frame = self.state.frame(&self.canvas, self.now);
        for (n, row) in frame.rows.iter().enumerate() {
            let mut text = row.text();
            if let Some((_, column)) = frame.caret.filter(|(row, _)| *row == n) {
                let at = at_column(&text, column);
                text.insert(at, '▏');
            }
            let _ = writeln!(out, "| {text}");
        }
        for effect in &self.effects {
            let _ = writeln!(out, "→ {effect}");
        }
        let lines: Vec<&str> = out.lines().map(str::trim_end).collect();
        lines.join("\n")
    }
}

/// What a session answers for a project of three files.
fn completion(request: &CompletionRequest) -> Completion {
    let files: &[&str] = match request.text.rsplit_once('/') {
        None => &["src/", "Cargo.toml"],
        Some(("src", _)) => &["src/main.rs", "src/lib.rs"],
        Some(_) => &[],
    };
    let item = |insert: &&str| CompletionItem {
        detail: String::new(),
        insert: (*insert).to_owned(),
        label: match insert.strip_prefix("src/") {
            Some(name) if !name.is_empty() => name.to_owned(),
            Some(_) | None => (*insert).to_owned(),
        },
        is_folder: insert.ends_with('/'),
        kind: match insert.ends_with('/') {
            true => CompletionKind::Folder,
            false => CompletionKind::File,
        },
    };
    Completion {
        text: request.text.clone(),
        items: files.iter().map(item).collect(),
        ..Completion::default()
    }
}

fn at_column(text: &str, column: usize) -> usize {
    let mut used = 0;
    for (at, c) in text.char_indices() {
        if used >= column {
            return at;
        }
        used += crate::text::width(c.encode_utf8(&mut [0; 4]));
    }
    text.len()
}

fn user(text: &str) -> Body {
    Body::Message(Message::user(text))
}

fn ask(kind: AskKind, subject: &str, options: &[(&str, &str, &str)]) -> Ask {
    let options: Vec<Choice> = options.iter().map(|option| choice(*option)).collect();
    let no = options.iter().find(|choice| choice.refuses);
    Ask {
        ask: "a1".into(),
        kind,
        subject: subject.into(),
        silence: no.map_or_else(Silence::default, |no| Silence::refuses(&no.id)),
        options,
        ..Ask::default()
    }
}

/// A choice as the engine describes the one with this id. A detail that begins with a question mark is what its reason is
/// to say.
fn choice((id, label, detail): (&str, &str, &str)) -> Choice {
    let permission = PermissionChoice::from_id(id);
    let plan = PlanChoice::from_id(id);
    let choice = match id {
        _ if permission.id() == id => Choice::permission(permission, label),
        _ if plan.id() == id => Choice::plan(plan, label),
        "decline" => Choice::refusal(id, label),
        _ => Choice::new(id, label),
    };
    match detail.strip_prefix('?') {
        Some(hint) => choice.with_reason(hint),
        None if detail.is_empty() => choice,
        None => choice.with_detail(detail),
    }
}

fn permission() -> Ask {
    Ask {
        tool: Some("bash".into()),
        title: "Run this command?".into(),
        ..ask(
            AskKind::Permission,
            "cargo test --all",
            &[
                ("once", "allow once", ""),
                ("session", "allow for this session", "cargo test:*"),
                (
                    "always",
                    "always allow",
                    "Bash(cargo test:*) in ~/.ostler/config.toml",
                ),
                ("deny", "deny", "?why not"),
            ],
        )
    }
}

/// The states that the tests begin in.
fn bench(state: &str, columns: usize, look: Look) -> Bench {
    let mut bench = Bench::new(columns, look);
    let working = |bench: &mut Bench| {
        bench.entry(user("go"));
        bench.passes(1_000);
    };
    match state {
        "idle" => {}
        "busy" => {
            bench.delta(Delta::Tasks {
                tasks: vec![ostler_wire::Task {
                    id: "t1".into(),
                    session: String::new(),
                    prompt: "look around".into(),
                    doing: ostler_wire::Doing::Thinking,
                    seconds: 4,
                }],
            });
            let running = vec!["j1".into(), "j2".into()];
            bench.delta(Delta::Jobs { running });
        }
        "working" => working(&mut bench),
        "speaking" => {
            working(&mut bench);
            let text = "# So\n\nFirst **this**, then that.\n\nAnd th".into();
            bench.delta(Delta::AssistantDelta { text });
        }
        "running" => {
            working(&mut bench);
            bench.entry(Body::ToolUse(ToolUse {
                id: "c1".into(),
                name: "bash".into(),
                input: Json::of(&json!({"command": "make"})),
                by: None,
                via: None,
                repair: None,
                title: Some(CallTitle {
                    kind: ToolKind::Run,
                    verb: Some(ostler_wire::CallVerb::Run),
                    subject: "make".into(),
                    body: Some("command".into()),
                    result: ResultForm::Command,
                }),
            }));
            let (id, name) = ("c1".to_owned(), "bash".to_owned());
            bench.delta(Delta::ToolStarted {
                id: id.clone(),
                name: name.clone(),
            });
            let chunk = "cc a.c\ncc b.c\n".into();
            bench.delta(Delta::ToolOutput { id, name, chunk });
            bench.passes(2_000);
        }
        "retrying" => {
            working(&mut bench);
            bench.delta(Delta::Retry {
                after_ms: 8_000,
                attempt: 2,
                of: 5,
                reason: "HTTP 529: overloaded".into(),
            });
            bench.passes(3_000);
        }
        "approval" | "new approval" => {
            working(&mut bench);
            bench.event(&Event::Ask(Arc::new(permission())));
        }
        "writing" => {
            working(&mut bench);
            bench.keys("yes bu");
            bench.event(&Event::Ask(Arc::new(permission())));
        }
        "edit approval" => {
            working(&mut bench);
            let diff = "@@ -1,2 +1,2 @@\n fn main() {\n-    old(name);\n+    new(name);\n";
            bench.event(&Event::Ask(Arc::new(Ask {
                subject: "src/main.rs".into(),
                tool: Some("edit_file".into()),
                title: "Edit this file?".into(),
                preview: Some(diff.into()),
                preview_format: PreviewFormat::Diff,
                ..permission()
            })));
        }
        "plan" => {
            working(&mut bench);
            let options = [
                ("approve", "approve and go on", ""),
                ("edit", "edit it first", ""),
                ("keep", "keep planning", "?what to change"),
            ];
            bench.event(&Event::Ask(Arc::new(Ask {
                title: "The plan is ready".into(),
                preview: Some("# Plan\n\n1. Look\n2. Fix".into()),
                preview_format: PreviewFormat::Markdown,
                ..ask(AskKind::Plan, "plan", &options)
            })));
        }
        "budget" | "task budget" => {
            working(&mut bench);
            let options = [
                (
                    "once",
                    "raise it and continue",
                    "to $5.00, until Ostler ends",
                ),
                ("deny", "stop here", ""),
            ];
            let subject = "The budget of the run is $2.50: $2.25 is used or reserved, and the next request may need $0.5000 more.";
            let mut asked = Ask {
                title: "The budget is reached".into(),
                ..ask(AskKind::Budget, subject, &options)
            };
            if state == "task budget" {
                asked.from = Some("t1".to_owned());
                asked.silence.escape = Escape::Answer;
            }
            bench.event(&Event::Ask(Arc::new(asked)));
        }
        "question" | "multi" | "words" => {
            working(&mut bench);
            let options: &[(&str, &str, &str)] = match state {
                "words" => &[],
                _ => &[("red", "red", ""), ("blue", "blue", "like the sea")],
            };
            bench.event(&Event::Ask(Arc::new(Ask {
                multi: state == "multi",
                free_text: true,
                ..ask(AskKind::Question, "Which colour?", options)
            })));
        }
        "picker" | "sessions" => {
            let act = |label: &str, line: &str| Action {
                label: label.into(),
                act: Act::Command(line.into()),
            };
            let item = |label: &str, marked| Item {
                label: label.into(),
                detail: "3 turns".into(),
                marked,
                actions: vec![
                    act("resume", &format!("resume {label}")),
                    act("fork", &format!("fork {label}")),
                ],
            };
            let list = List {
                title: "Resume".into(),
                items: vec![
                    item("alpha", false),
                    item("beta", true),
                    item("gamma", false),
                ],
                empty: "none".into(),
                search: Some("resume".to_owned()).filter(|_| state == "sessions"),
            };
            bench.reply(View::List(list));
        }
        "pager" => {
            let entry = |n, body| {
                Arc::new(Entry {
                    entry: n,
                    parent: None,
                    ts: String::new(),
                    body,
                })
            };
            let said = (0..40).map(|n| entry(n, user(&format!("prompt {n}"))));
            let canvas = bench.canvas;
            bench.state.page(&said.collect::<Vec<_>>(), &canvas);
        }
        other => panic!("no state {other}"),
    }
    if bench.state.is_asking() && state != "writing" && state != "new approval" {
        bench.passes(1_000);
    }
    bench
}

fn table(rows: &[(&str, &str)]) -> String {
    let mut out = String::new();
    for (state, typed) in rows {
        let mut bench = bench(state, 60, Look::Mono);
        bench.keys(typed);
        let _ = writeln!(out, "\n═══ {state} │ {typed}\n{}", bench.shown());
    }
    out
}

#[test]
fn keys_in_the_composer() {
    assert_snapshot!(table(&[
        ("idle", ""),
        ("idle", "hello"),
        ("idle", "hello<enter>"),
        ("idle", "  <enter>"),
        ("idle", "one<shift-enter>two<enter>"),
        ("idle", "中文👩‍👩‍👧x"),
        ("idle", "<up>"),
        ("idle", "<paste>"),
        ("idle", "!ls -l<enter>"),
        ("idle", "# remember this<enter>"),
        ("idle", "/etc/hosts is odd<enter>"),
        ("idle", "<ctrl-g>"),
        ("idle", "<ctrl-v>"),
        ("idle", "<ctrl-l>"),
        ("idle", "<ctrl-z>"),
        ("idle", "<ctrl-t>"),
        ("idle", "<shift-tab>"),
        ("idle", "<tab>"),
        ("idle", "<esc>"),
        ("idle", "<esc><esc>"),
        ("idle", "<esc><wait><esc>"),
        ("idle", "<esc>x<esc>"),
        ("idle", "<ctrl-d>"),
        ("idle", "<ctrl-c>"),
        ("idle", "<ctrl-c><ctrl-c>"),
        ("idle", "<ctrl-c><wait><ctrl-c>"),
        ("idle", "text<ctrl-c>"),
        ("busy", "<ctrl-d>"),
        ("busy", "<ctrl-d><wait><ctrl-d>"),
        ("busy", "<ctrl-d><wait><wait><wait><wait><ctrl-d>"),
        ("busy", "<ctrl-c>"),
        ("busy", "<ctrl-c><ctrl-c>"),
    ]));
}

#[test]
fn keys_in_the_menus() {
    assert_snapshot!(table(&[
        ("idle", "/"),
        ("idle", "/mod"),
        ("idle", "/mod<down>"),
        ("idle", "/mod<tab>"),
        ("idle", "/mod<enter>"),
        ("idle", "/mod<esc>"),
        ("idle", "/mod<esc>el<enter>"),
        ("idle", "/nothing<enter>"),
        ("idle", "see @"),
        ("idle", "see @<enter>"),
        ("idle", "see @<enter>li<tab>"),
        ("idle", "see @src/nothing"),
        ("idle", "see @<esc>"),
        ("working", "/mod<tab>"),
    ]));
}

#[test]
fn keys_while_it_works() {
    assert_snapshot!(table(&[
        ("working", ""),
        ("working", "<wait>"),
        ("working", "also this<enter>"),
        ("working", "later this<tab>"),
        ("working", "<tab>"),
        ("working", "<esc>"),
        ("working", "<ctrl-c>"),
        ("speaking", ""),
        ("running", ""),
        ("running", "<esc>"),
        ("retrying", ""),
        ("retrying", "<wait>"),
        ("retrying", "<esc>"),
    ]));
}

#[test]
fn keys_in_layers() {
    assert_snapshot!(table(&[
        ("new approval", ""),
        ("new approval", "y<enter>"),
        ("new approval", "<enter><enter>"),
        ("approval", ""),
        ("approval", "y"),
        ("approval", "y<pause>"),
        ("approval", "y<esc><pause>"),
        ("approval", "y<esc><pause><enter><pause>"),
        ("approval", "y<down><pause>"),
        ("approval", "y<enter>"),
        ("approval", "y<enter><pause><enter><pause>"),
        ("approval", "yes, but wait"),
        ("approval", "yes, but wait<enter>"),
        ("approval", "sure, yes<esc>"),
        ("approval", "s<pause>"),
        ("approval", "2<pause>"),
        ("approval", "a<pause>"),
        ("approval", "a<pause><pause>y<pause>"),
        ("approval", "a<pause><pause><esc>"),
        ("approval", "a<pause>y<pause>"),
        ("approval", "<enter>"),
        ("approval", "<enter><pause>"),
        ("approval", "<enter><enter><enter><pause>"),
        ("approval", "<down><enter>"),
        ("approval", "<down><down><enter>"),
        ("approval", "<up>"),
        ("approval", "n<pause>"),
        ("approval", "n<pause>use the other<backspace><enter>"),
        ("approval", "n<pause><enter>"),
        ("approval", "n<enter>"),
        ("approval", "n<pause>wait<esc>"),
        ("approval", "n<pause>wait<esc><esc>"),
        ("approval", "<paste>"),
        ("approval", "<paste><enter>"),
        ("approval", "/status<enter>"),
        ("approval", "x<pause>y<pause>"),
        ("approval", "x<esc><esc>"),
        ("approval", "<esc>"),
        ("approval", "<ctrl-c>"),
        ("writing", "t y<enter>"),
        ("writing", "t<wait>y"),
        ("writing", "t<wait><enter>"),
        ("edit approval", ""),
        ("edit approval", "<enter><pause>"),
        ("plan", ""),
        ("plan", "y<pause>"),
        ("plan", "e<pause>"),
        ("plan", "k<pause>more tests<enter>"),
        ("plan", "more tests<enter>"),
        ("question", ""),
        ("question", "2<pause>"),
        ("question", "2 of them<enter>"),
        ("question", "<down><down><enter>"),
        ("question", "green<enter>"),
        ("question", "<paste><enter>"),
        ("question", "9"),
        ("multi", "1<pause><down> <enter>"),
        ("multi", "<space>"),
        ("multi", "<down><space>"),
        ("multi", "<down><space>and green<enter>"),
        ("words", "any<enter>"),
        ("words", "<enter>"),
        ("picker", ""),
        ("picker", "<enter>"),
        ("picker", "<tab>"),
        ("picker", "<tab><enter>"),
        ("picker", "gam<enter>"),
        ("picker", "zzz"),
        ("picker", "zzz<enter>"),
        ("picker", "<esc>"),
        ("pager", ""),
        ("pager", "gj"),
        ("pager", "/prompt 7<enter>"),
        ("pager", "q"),
    ]));
}

#[test]
fn keys_about_budgets_and_sessions() {
    assert_snapshot!(table(&[
        ("budget", ""),
        ("budget", "y<pause>"),
        ("budget", "n<pause>"),
        ("budget", "later<enter>"),
        ("budget", "<down><enter>"),
        ("budget", "<esc>"),
        ("task budget", ""),
        ("sessions", ""),
        ("sessions", "gam"),
        ("sessions", "gam<enter>"),
        ("sessions", "gam<down><enter>"),
        ("sessions", "what was said"),
        ("sessions", "what was said<enter>"),
        ("sessions", " <enter>"),
    ]));
}

#[test]
fn layouts_at_every_width_and_look() {
    for (columns, look) in [
        (40, Look::Mono),
        (80, Look::Dark),
        (80, Look::Light),
        (120, Look::Mono),
    ] {
        let mut out = String::new();
        let rows = [
            // panel + status
            ("edit approval", ""),
            ("plan", ""),
            ("question", ""),
            ("picker", ""),
            // panel + composer + status
            ("idle", "/mo"),
            ("idle", "look at @"),
            (
                "running",
                "and a rather long line that has to be wrapped somewhere",
            ),
            ("retrying", ""),
        ];
        for (state, typed) in rows {
            let mut bench = bench(state, columns, look);
            bench.keys(typed);
            let mut shown = bench.state.done(&bench.canvas);
            shown.extend(bench.state.frame(&bench.canvas, bench.now).rows);
            assert!(shown.iter().all(|row| row.width() <= columns), "{state}");
            let _ = writeln!(out, "\n═══ {state} │ {typed}\n{}", marked(&shown));
        }
        assert_snapshot!(format!("layout_{}_{columns}", look.name()), out);
    }
}

#[test]
fn no_layout_is_larger_than_its_terminal() {
    let states = [
        "idle",
        "working",
        "speaking",
        "running",
        "retrying",
        "approval",
        "writing",
        "edit approval",
        "plan",
        "question",
        "multi",
        "words",
        "picker",
        "sessions",
        "budget",
        "pager",
    ];
    for state in states {
        for (columns, rows) in [(1, 1), (2, 3), (10, 5), (40, 10), (300, 100)] {
            for typed in ["", "/m", "@", "中文中文中文中文中文中文中文"] {
                let mut bench = bench(state, columns, Look::Ansi);
                bench.canvas.rows = rows;
                bench.keys(typed);
                let mut screen = crate::screen::Screen::new(
                    u16::try_from(columns).unwrap(),
                    u16::try_from(rows).unwrap(),
                    crate::screen::Narrowed::Breaks,
                );
                let done = bench.state.done(&bench.canvas);
                let frame = bench.state.frame(&bench.canvas, bench.now);
                if let Some((row, _)) = frame.caret {
                    assert!(row < frame.rows.len(), "{state} {columns}x{rows} {typed}");
                }
                assert!(!screen.paint(&done, frame).is_empty());
            }
        }
    }
}

#[test]
fn a_turn_that_ends_leaves_nothing_behind() {
    let mut bench = bench("approval", 60, Look::Mono);
    bench.keys("<blur>");
    bench.entry(Body::Interrupted(Interrupted::default()));
    bench.entry(Body::TurnEnd(TurnEnd {
        outcome: End::Interrupted,
    }));
    assert!(!bench.state.is_asking() && !bench.state.is_working());
    let effects = bench.state.take_effects();
    assert_eq!(
        effects,
        [Effect::Look, Effect::Notify("finished: go".into())]
    );
    assert_eq!(bench.state.wake(bench.now), None);
    assert_snapshot!(bench.shown());
}

#[test]
fn jobs_and_usage_are_in_the_status_line() {
    let mut bench = bench("running", 80, Look::Mono);
    bench.state.status.window = 1_000;
    let status = |bench: &Bench| bench.state.status.line(&bench.canvas, None).text();
    let running = vec!["j1".into()];
    bench.delta(Delta::Jobs { running });
    bench.entry(Body::Usage(Usage {
        input: 400,
        output: 100,
        cached: 300,
        ..Usage::default()
    }));
    assert_eq!(
        status(&bench),
        "wise-2 · asks first (shift-tab) · context 50% · cached 75% · jobs 1 · main"
    );
    let running = Vec::new();
    bench.delta(Delta::Jobs { running });
    assert_eq!(
        status(&bench),
        "wise-2 · asks first (shift-tab) · context 50% · cached 75% · main         ? keys"
    );
    for (posture, shown) in [
        ("edits", "accepts edits"),
        ("auto for 10m", "auto for 10m"),
        ("yolo", "yolo"),
        ("yolo for commands", "commands auto-approved"),
        ("refuse", "deny all"),
    ] {
        bench.entry(Body::Mode(ostler_wire::Mode {
            mode: "plan".into(),
            posture: posture.into(),
            goal: None,
            ..Default::default()
        }));
        let shown = format!("wise-2 · plan · {shown} (shift-tab) · ");
        assert!(status(&bench).starts_with(&shown), "{}", status(&bench));
    }
}

#[test]
fn a_picture_that_is_too_large_is_named_and_not_sent() {
    use crate::surroundings::FoundPicture;
    let mut bench = Bench::new(60, Look::Mono);
    bench.state.image(FoundPicture::TooLarge, bench.now);
    assert!(
        bench.shown().contains("larger than 20 MiB"),
        "{}",
        bench.shown()
    );
    // The path that was pasted stays what it is.
    let pasted = "/tmp/large.png".to_owned();
    bench
        .state
        .picture(pasted, FoundPicture::TooLarge, bench.now);
    let shown = bench.shown();
    assert!(
        shown.contains("/tmp/large.png") && shown.contains("larger than 20 MiB"),
        "{shown}"
    );
}
