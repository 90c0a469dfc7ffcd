//! A program that never looks for the hidden mode, as this one under the standard harness, gets its watchdogs by plain
//! fork; commands behave the same. Also the file operations through the trait.
#![cfg(target_os = "linux")]

mod common;

use common::*;
use ostler_host::{Exit, Host, Local, Roots, Signal, Span, WriteOptions};

#[tokio::test]
async fn runs_and_ends() {
    let ran = run_to_end(&Local::new(), sh("echo out; echo err >&2; exit 3")).await;
    let expected = Ran {
        stdout: "out\n".into(),
        stderr: "err\n".into(),
        exit: code(3),
    };
    assert_eq!(ran, expected);
}

#[tokio::test]
async fn nothing_is_inherited() {
    let ran = run_to_end(&Local::new(), sh("ls /proc/$$/fd; true")).await;
    assert_eq!(ran.stdout, "0\n1\n2\n");
}

#[tokio::test]
async fn kills_what_escaped() {
    let local = Local::new();
    let script = "( setsid sh -c 'sleep 1000 & echo $!' & ); sleep 1000";
    let mut process = local.spawn(sh(script)).await.unwrap();
    let escaped = watch("escaped", &lines(&mut process, 1).await[0]);
    process.signal(Signal::Term);
    assert_eq!(finish(&mut process).await.exit, signal(15));
    escaped.assert_dies().await;
}

/// Two watchdogs of one process: the end of one must not be taken out on the other.
#[tokio::test]
async fn a_killed_watchdog_takes_only_its_own() {
    let (one, other) = (Local::new(), Local::new());
    let mut lost = one.spawn(sh("sleep 1000")).await.unwrap();
    let mut kept = other.spawn(sh("sleep 1000")).await.unwrap();
    let keeper = parent(lost.pid());
    parent(keeper.pid.as_raw_nonzero().get()).kill();
    assert_eq!(finish(&mut lost).await.exit, Exit::LOST);
    assert_eq!(run_to_end(&one, sh("exit 4")).await.exit, code(4));
    kept.signal(Signal::Int);
    assert_eq!(finish(&mut kept).await.exit, signal(2));
}

/// The runtime that a watchdog was started on is gone; the next command starts another.
#[test]
fn outlives_a_runtime() {
    let local = Local::new();
    for number in 0..3 {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        let ran = runtime.block_on(run_to_end(&local, sh(&format!("exit {number}"))));
        assert_eq!(ran.exit, code(number));
    }
}

#[tokio::test]
async fn files_through_the_trait() {
    let folder = tempfile::tempdir().unwrap();
    let host: std::sync::Arc<dyn Host> = std::sync::Arc::new(Local::new());
    let path = folder.path().join("new/file");
    let border = std::sync::Arc::new(ostler_host::Border::none());
    let options = WriteOptions {
        roots: Roots {
            writable: vec![folder.path().into()],
            ..Roots::default()
        },
        create_parents: true,
    };
    let written = host.write(&path, "text".into(), options).await.unwrap();
    assert!(written.created);
    let content = host.read(&path, Span::head(100), &border).await.unwrap();
    assert_eq!(&content.bytes[..], b"text");
    assert_eq!(content.stat, host.stat(&path).await.unwrap());
    let listing = host.list(folder.path(), 10, &border).await.unwrap();
    assert_eq!(listing.entries[0].name, "new");
}
