//! `cargo xtask pictures`: real terminal output of the program, drawn as PNG into `docs/images`. The screen is read cell by
//! cell, written as HTML and photographed by a browser without a window (`chromium`).

use crate::ostler::{self, Profile};
use crate::root;
use anyhow::{Context as _, ensure};
use ostler_testkit::{Kind, Look, Server, Step, TempWorkspace, Term, config_text};
use serde_json::json;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

const COLUMNS: u16 = 92;
/// Size of a cell in the pictures.
const CELL: (u32, u32) = (9, 19);
const MARGIN: u32 = 14;
/// Pictures are drawn this many times larger, for sharp letters.
const SCALE: u32 = 1;
const LONGEST: Duration = Duration::from_secs(60);

const ANSWER: &str = "\
The parser drops the last line when a file has **no newline** at its end. Two places do it:

| place | what happens |
|---|---|
| `read_lines` | splits at `\\n` and forgets the rest |
| `count` | counts newlines, not lines |

1. Keep the rest in `read_lines`.
2. Let `count` ask `read_lines`.

```rust
fn read_lines(text: &str) -> Vec<&str> {
    // The last line may have no end.
    text.lines().collect()
}
```
";

struct Scene {
    name: &'static str,
    rows: u16,
    more: &'static str,
    steps: fn() -> Vec<Step>,
    act: fn(&mut Term),
}

const DARK: &str = "[ui]\ntheme = \"dark\"\n[sandbox]\nbash = \"off\"\n";
const LIGHT: &str = "[ui]\ntheme = \"light\"\n[sandbox]\nbash = \"off\"\n";

const SCENES: &[Scene] = &[
    Scene {
        name: "session",
        rows: 38,
        more: DARK,
        steps: || {
            vec![
                Step::answer()
                    .text("I look at the parser first.")
                    .call("grep", json!({"pattern": "fn read_lines", "path": "src"})),
                Step::answer().call("read_file", json!({"path": "src/lines.rs"})),
                Step::answer().text(ANSWER),
            ]
        },
        act: |term| {
            term.keys("why does the parser lose the last line?\r");
            term.wait_for("lines().collect()");
            still(term);
        },
    },
    Scene {
        name: "approval",
        rows: 22,
        more: DARK,
        steps: || {
            let edit = json!({"path": "src/lines.rs", "old": "    text.split('\\n').collect()", "new": "    // The last line may have no end.\n    text.lines().collect()"});
            vec![
                Step::answer().call("read_file", json!({"path": "src/lines.rs"})),
                Step::answer().text("Now I fix it.").call("edit_file", edit),
            ]
        },
        act: |term| {
            term.keys("fix read_lines\r");
            answerable(term, "Edit this file?");
            term.keys("\x1b[B\x1b[B\x1b[B");
            term.wait_for("› a");
        },
    },
    Scene {
        name: "session-light",
        rows: 30,
        more: LIGHT,
        steps: || {
            let edit = json!({"path": "src/lines.rs", "old": "    text.split('\\n').collect()", "new": "    text.lines().collect()"});
            vec![
                Step::answer().call("read_file", json!({"path": "src/lines.rs"})),
                Step::answer().call("edit_file", edit),
                Step::answer().call("bash", json!({"command": "echo 'running 2 tests'; echo 'test last_line ... ok'; echo 'test empty ... ok'"})),
                Step::answer().text("`read_lines` keeps the last line now, and both tests pass."),
            ]
        },
        act: |term| {
            term.keys("fix read_lines and test it\r");
            answerable(term, "Edit this file?");
            term.keys("s");
            answerable(term, "Run this command?");
            term.keys("y");
            term.wait_for("both tests pass");
            still(term);
        },
    },
    Scene {
        name: "plan",
        rows: 22,
        more: LIGHT,
        steps: || {
            let plan = "# Keep the last line\n\n1. `read_lines`: use `lines()`\n2. `count`: ask `read_lines`\n3. Tests for a file **without** a newline at its end\n\n> Nothing else reads these files.";
            vec![Step::answer().call("exit_plan_mode", json!({"plan": plan}))]
        },
        act: |term| {
            term.keys("\x1b[Z");
            term.wait_for("· plan");
            term.keys("plan the change\r");
            answerable(term, "The plan is ready");
        },
    },
    Scene {
        name: "picker",
        rows: 18,
        more: DARK,
        steps: Vec::new,
        act: |term| {
            term.keys("/mo");
            term.wait_for("/model");
        },
    },
    Scene {
        name: "rewind",
        rows: 24,
        more: DARK,
        steps: || {
            let edit = json!({"path": "src/lines.rs", "old": "    text.split('\\n').collect()", "new": "    text.lines().collect()"});
            let test = "echo 'test last_line ... ok' | tee result.txt";
            vec![
                Step::answer().call("edit_file", edit),
                Step::answer().text("`read_lines` keeps the last line now."),
                Step::answer().call("bash", json!({"command": test})),
                Step::answer().text("The test passes. Its output is in `result.txt`."),
            ]
        },
        act: |term| {
            term.keys("fix read_lines\r");
            answerable(term, "Edit this file?");
            term.keys("y");
            term.wait_for("keeps the last line now");
            still(term);
            term.keys("test it and keep the output\r");
            answerable(term, "Run this command?");
            term.keys("y");
            term.wait_for("The test passes");
            still(term);
            term.keys("\x1b");
            term.wait_for("press esc again");
            term.keys("\x1b");
            term.wait_for("Rewind to before");
        },
    },
    Scene {
        name: "sandbox",
        rows: 20,
        more: "[ui]\ntheme = \"dark\"\n",
        steps: || {
            vec![
                Step::answer()
                    .text("The project has a script for that. I'll run it.")
                    .call("bash", json!({"command": "sh newer.sh"})),
            ]
        },
        act: |term| {
            term.keys("is there a newer version?\r");
            answerable(term, "Run this command?");
            term.keys("y");
            answerable(term, "Blocked by the sandbox");
        },
    },
    Scene {
        name: "chinese",
        rows: 24,
        more: "[ui]\ntheme = \"dark\"\n",
        steps: || {
            vec![
                Step::answer()
                    .text("先看看有哪些测试，然后**运行**它们。")
                    .call("bash", json!({"command": "cargo test --all"})),
            ]
        },
        act: |term| {
            term.keys("运行所有测试\r");
            answerable(term, "运行此命令？");
        },
    },
];

pub fn run() -> anyhow::Result<bool> {
    let program = ostler::build(Profile::Debug)?;
    let folder = root().join("docs/images");
    fs::create_dir_all(&folder)?;
    for scene in SCENES {
        let (html, rows) = play(scene, &program);
        photograph(
            &html,
            (COLUMNS, rows),
            &folder.join(format!("{}.png", scene.name)),
        )?;
        println!("docs/images/{}.png", scene.name);
    }
    Ok(true)
}

/// The screen after its scene, as HTML, and its rows.
fn play(scene: &Scene, program: &Path) -> (String, u16) {
    let server = Server::start((scene.steps)());
    let space = TempWorkspace::new();
    let config = config_text(&server, Kind::Chat).replace("mock-model", "wise-2");
    // The key that follows must not be one of the provider's.
    let language = match scene.name {
        "chinese" => "language = \"zh\"\n",
        _ => "",
    };
    let config = format!("{language}{config}{}", scene.more);
    space.write(space.home().join("config.toml"), config);
    space.write(
        "src/lines.rs",
        "/// All lines of a text.\npub fn read_lines(text: &str) -> Vec<&str> {\n    text.split('\\n').collect()\n}\n",
    );
    space.write(
        "newer.sh",
        "curl -fsS --max-time 10 http://calc.example/latest\n",
    );
    space.git_init();
    let run = space.run(program).timeout(LONGEST);
    let mut term = run.on_terminal(COLUMNS, scene.rows);
    term.wait_for("/help");
    (scene.act)(&mut term);
    term.wait_until("the last row", |screen| {
        screen
            .lines()
            .last()
            .is_some_and(|l| l.starts_with("wise-2"))
    });
    let (foreground, background) = match scene.more.contains("light") {
        true => ("#24292f", "#ffffff"),
        false => ("#d6dbe1", "#16191d"),
    };
    let last = term.cells().iter().map(|cell| cell.row).max().unwrap_or(0);
    (html(&term, foreground, background), last + 1)
}

/// A question takes keys: they do nothing in its first moments.
fn answerable(term: &Term, title: &str) {
    term.wait_until("a question that takes keys", |s| {
        s.contains(title) && s.contains("↑↓") && s.contains("esc")
    });
}

/// The turn is over.
fn still(term: &Term) {
    term.wait_until("an idle prompt", |s| {
        s.contains("› Ask") && !s.contains("esc stops")
    });
}

fn html(term: &Term, foreground: &str, background: &str) -> String {
    let (width, height) = CELL;
    let mut out = format!(
        "<!doctype html><meta charset=utf-8><style>\
         body{{margin:{MARGIN}px;background:{background};color:{foreground};\
         font:15px 'DejaVu Sans Mono','Noto Sans Mono CJK SC',monospace}}\
         i,b{{position:absolute;height:{height}px;line-height:{height}px;white-space:pre;font-style:normal;font-weight:normal}}\
         </style>"
    );
    for cell in term.cells() {
        let Look {
            fg,
            bg,
            bold,
            dim,
            italic,
            underline,
            reverse,
            strike,
        } = cell.look;
        let mut fg = fg.unwrap_or_else(|| foreground.to_owned());
        let mut bg = bg;
        if reverse {
            bg = Some(std::mem::replace(
                &mut fg,
                bg.unwrap_or_else(|| background.to_owned()),
            ));
        }
        let mut style = format!(
            "left:{}px;top:{}px;min-width:{}px;color:{fg};",
            MARGIN + u32::from(cell.column) * width,
            MARGIN + u32::from(cell.row) * height,
            width * u32::from(cell.wide),
        );
        for (on, css) in [
            (bold, "font-weight:bold;"),
            (dim, "opacity:.62;"),
            (italic, "font-style:italic;"),
            (underline, "text-decoration:underline;"),
            (strike, "text-decoration:line-through;"),
        ] {
            if on {
                style.push_str(css);
            }
        }
        if let Some(bg) = bg {
            let _ = write!(style, "background:{bg};");
        }
        let text = cell.text.replace('&', "&amp;").replace('<', "&lt;");
        let _ = write!(out, "<b style=\"{style}\">{text}</b>");
    }
    if let Some((row, column)) = term.caret() {
        let _ = write!(
            out,
            "<i style=\"left:{}px;top:{}px;width:{width}px;background:{foreground};opacity:.7\"></i>",
            MARGIN + u32::from(column) * width,
            MARGIN + u32::from(row) * height,
        );
    }
    out
}

fn photograph(html: &str, (columns, rows): (u16, u16), picture: &Path) -> anyhow::Result<()> {
    let space = TempWorkspace::new();
    let page = space.write("page.html", html);
    let width = u32::from(columns) * CELL.0 + 2 * MARGIN;
    let height = u32::from(rows) * CELL.1 + 2 * MARGIN;
    let status = Command::new("chromium")
        .args([
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--hide-scrollbars",
        ])
        .arg(format!("--force-device-scale-factor={SCALE}"))
        .arg(format!("--window-size={width},{height}"))
        .arg(format!("--screenshot={}", picture.display()))
        .arg(format!("file://{}", page.display()))
        .stderr(Stdio::null())
        .status()
        .context("chromium cannot be started")?;
    ensure!(
        status.success(),
        "chromium made no picture of {}",
        picture.display()
    );
    Ok(())
}
