//! Sessions at another place: the project and its commands are there, the keys and the session here. A container is stood
//! in for by a program that shows another file system; ssh is a real server on the loopback address.

#![cfg(target_os = "linux")]

mod common;
#[path = "hosts/container.rs"]
mod container;
#[path = "hosts/contract.rs"]
mod contract;
#[path = "hosts/image.rs"]
mod image;
#[path = "hosts/ssh.rs"]
mod ssh;
#[path = "hosts/switch.rs"]
mod switch;
#[path = "hosts/tmux.rs"]
mod tmux;
#[path = "hosts/trouble.rs"]
mod trouble;

use common::{Scene, skipped};
use ostler_testkit::{Output, json_lines};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// The helper, which is built beside the program. Without it there is nothing to try.
fn helper() -> Option<PathBuf> {
    let helper = Path::new(env!("CARGO_BIN_EXE_ostler")).with_file_name("ostler-host");
    match helper.is_file() {
        true => Some(helper),
        false => {
            skipped("the helper ostler-host is not built: cargo build -p ostler-host");
            None
        }
    }
}

fn is_there(program: &str) -> bool {
    let found = ["/usr/bin", "/usr/sbin", "/bin"]
        .iter()
        .any(|dir| Path::new(dir).join(program).exists());
    if !found {
        skipped(&format!("{program} is not installed"));
    }
    found
}

/// What the model read of its calls, in their order.
fn told(out: &Output) -> Vec<String> {
    let lines = json_lines(&out.stdout);
    let results = lines.iter().filter(|line| line["type"] == "tool_result");
    results
        .map(|result: &Value| result["output"].to_string())
        .collect()
}

fn session_id(out: &Output) -> String {
    let lines = json_lines(&out.stdout);
    let meta = lines.iter().find(|line| line["type"] == "meta").unwrap();
    meta["session_id"].as_str().unwrap().to_owned()
}

fn meta_of(scene: &Scene) -> Value {
    let log = common::files(&scene.space.home().join("sessions"))
        .into_iter()
        .find(|path| path.extension().is_some_and(|ext| ext == "jsonl"))
        .expect("a session was saved");
    let text = std::fs::read_to_string(log).unwrap();
    serde_json::from_str(text.lines().next().unwrap()).unwrap()
}
