//! The model behind the browser's tests: what it does is chosen by the first word of the prompt, so that any number of
//! sessions can be under way at once.

use ostler_testkit::{Captured, Server, Step, Trouble};
use serde_json::json;
use std::io::Read as _;
use std::time::Duration;

const PACE: Duration = Duration::from_millis(25);
const KEPT: usize = 4;

const DONE: &str = "The tests pass again.\n\n| where | was | is |\n|---|---:|---:|\n| `Cart.net` | 88 | 90 |\n| `Cart.gross` | 104.72 | 107.1 |\n\n- **What was wrong:** a coupon of 10 % took *10 cents* instead of a tenth.\n- **What changed:** one line in `shop/cart.py`.\n\n```python\ndef net(self):\n    net = sum(item.price * item.count for item in self.items)\n    if self.coupon:\n        net -= net * self.coupon.percent // 100\n    return net\n```\n\nSee [the docs](https://example.com/coupons) for how coupons add up.";

const HOSTILE: &str = "<script>window.hit = 1</script> <img src=x onerror=\"window.hit=1\"> <svg onload=\"window.hit=1\"></svg>\n\n[press](javascript:window.hit=1) [data](data:text/html,<script>window.hit=1</script>) [vb](vbscript:x) [ok](https://example.com/)\n\n![pixel](https://example.com/pixel.png) ![own](/api/me) ![data](data:image/svg+xml,<svg/onload=hit>)\n\n<iframe src=\"https://example.com\"></iframe> <a href=\"javascript:hit\">x</a>\n\nEsc: \u{1b}[31mred\u{1b}[0m \u{1b}]0;title\u{7} turned: \u{202e}gnp.exe\n\n```html\n<script>window.hit = 1</script>\n```\n\n";

/// Starts it; dropping it stops it.
pub fn start() -> Server {
    Server::builder()
        .answering(answer)
        .lenient()
        .keep_bodies(KEPT)
        .models(["mock-model", "wise-2"])
        .start()
}

/// Says where it is, and goes on until its input ends.
pub fn wait() -> anyhow::Result<bool> {
    let server = start();
    println!("{}", server.url());
    let mut rest = Vec::new();
    std::io::stdin().read_to_end(&mut rest)?;
    Ok(true)
}

fn answer(request: &Captured) -> Step {
    let text = request.last_user_text();
    let prompt = text.lines().rev().find(|line| !line.trim().is_empty());
    let prompt = prompt.unwrap_or_default().trim();
    let (word, rest) = prompt.split_once(' ').unwrap_or((prompt, ""));
    let at = calls_since_prompt(request);
    match word {
        "fix" => fix(at),
        "slow" => Step::answer().words(160).pace(PACE),
        "run" => one(at, "bash", json!({"command": rest}), "It ran."),
        "live" => {
            let command = "for n in 1 2 3 4 5 6; do echo row $n; sleep 0.2; done";
            one(at, "bash", json!({"command": command}), "All rows came.")
        }
        "edit" => edit(at),
        "write" => {
            let content = format!("{rest}\n");
            one(
                at,
                "write_file",
                json!({"path": "notes.txt", "content": content}),
                "It is written.",
            )
        }
        "list" => one(at, "ls", json!({"path": "odd"}), "Those are the files."),
        "question" => {
            let question =
                json!({"question": "Which database?", "choices": ["SQLite", "PostgreSQL"]});
            one(at, "ask", question, "Then it is that one.")
        }
        "several" => {
            let question = json!({"question": "What shall run?", "choices": ["lint", "types", "tests"], "multi": true});
            one(at, "ask", question, "They ran.")
        }
        "plan" => {
            let plan = "# Plan\n\n1. Read the **cart**\n2. Fix the discount\n3. Run the tests\n";
            one(
                at,
                "exit_plan_mode",
                json!({"plan": plan}),
                "The plan stands.",
            )
        }
        "job" => {
            let command = "while true; do echo tick; sleep 0.5; done";
            one(
                at,
                "bash",
                json!({"command": command, "wait": false}),
                "It runs in the background.",
            )
        }
        "order" => one(at, "mcp__shop__order", json!({}), "It is ordered."),
        // A sub-agent, which streams for a while.
        "task" => {
            let input = json!({"role": "explore", "prompt": "slow"});
            one(at, "task", input, "It was looked into.")
        }
        "hostile" => Step::answer().text(&format!("{HOSTILE}{}", wide_table())),
        "fail" => Step::refuse(Trouble::BadKey),
        _ => Step::answer().text(&format!("You said: {prompt}")),
    }
}

/// A call, then a sentence.
fn one(at: usize, tool: &str, input: serde_json::Value, after: &str) -> Step {
    match at {
        0 => Step::answer().call(tool, input),
        _ => Step::answer().text(after),
    }
}

fn edit(at: usize) -> Step {
    let old = "net -= self.coupon.percent";
    let new = "net -= net * self.coupon.percent // 100";
    let input = json!({"path": "shop/cart.py", "old": old, "new": new});
    match at {
        0 => Step::answer().call("read_file", json!({"path": "shop/cart.py"})),
        1 => Step::answer()
            .text("The coupon is taken as an amount.")
            .call("edit_file", input),
        _ => Step::answer().text("The discount is a share now."),
    }
}

/// What a coding agent does all day.
fn fix(at: usize) -> Step {
    let todo = |states: [&str; 3]| {
        let texts = ["reproduce the failure", "fix the discount", "run the tests"];
        let items = texts.into_iter().zip(states);
        let items = items.map(|(text, state)| json!({"text": text, "state": state}));
        json!({"items": items.collect::<Vec<_>>()})
    };
    let test = json!({"command": "python3 -m unittest 2>&1 || true"});
    let edit = json!({"path": "shop/cart.py", "old": "net -= self.coupon.percent", "new": "net -= net * self.coupon.percent // 100"});
    let log = json!({"path": "CHANGELOG.md", "old": "# Changes\n", "new": "# Changes\n\n- A coupon takes its share of the price.\n"});
    match at {
        0 => Step::answer()
            .reasoning("The test says 88 where 90 is expected. A coupon of ten percent on a hundred should leave ninety, so the discount is likely taken as an amount.")
            .text("I look at the cart and its tests first.")
            .call("read_file", json!({"path": "shop/cart.py"}))
            .call("read_file", json!({"path": "CHANGELOG.md"})),
        2 => Step::answer()
            .call("todo", todo(["done", "in_progress", "pending"]))
            .call("bash", test),
        4 => Step::answer()
            .text("The coupon is taken as an amount. I make it a share of the price.")
            .call("edit_file", edit),
        5 => Step::answer()
            .text("Now a line in the changelog.")
            .call("edit_file", log),
        6 => Step::answer().call("todo", todo(["done", "done", "done"])),
        _ => Step::answer().text(DONE),
    }
}

fn wide_table() -> String {
    let row = |cell: &str| format!("|{}\n", format!(" {cell} |").repeat(40));
    let rows: String = (0..60).map(|n| row(&format!("cell {n}"))).collect();
    format!("{}{}{rows}", row("name"), row("---"))
}

/// Results of tools after the last prompt.
fn calls_since_prompt(request: &Captured) -> usize {
    let messages = request.body["messages"].as_array();
    let messages = messages.into_iter().flatten().rev();
    let since = messages.take_while(|message| message["role"] != "user");
    since.filter(|message| message["role"] == "tool").count()
}
