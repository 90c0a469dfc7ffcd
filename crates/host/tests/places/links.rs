//! The places that the cases run on, and what can happen to a link.

use crate::cases;
use crate::common::*;
use bytes::Bytes;
use ostler_host::remote::{PlaceFacts, Remote, Unreached, serve};
use ostler_host::{Border, Error, Exit, Host, Local, Output, Span, Stdio};
use std::path::Path;
use std::process::{ExitCode, Stdio as ProcessStdio};
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, DuplexStream};

/// The argument by which this program is a helper.
pub const HELPER: &str = "__helper";
const VERSION: &str = "1.2.3";

pub const ALL: &[Case] = cases![
    a_chatty_login_is_skipped,
    no_helper_is_said_with_what_was_printed,
    another_version_is_refused,
    a_cut_link_tells_everybody,
    garbage_cuts_the_link,
    garbage_ends_the_helper,
    a_killed_helper_is_an_error_and_takes_all_with_it,
    a_slow_link_is_only_slow,
];

fn facts() -> PlaceFacts {
    PlaceFacts {
        // Nothing is written into the home of whoever runs the tests.
        checkpoints: None,
        ..PlaceFacts::here(VERSION, "/".into(), env())
    }
}

/// What `main` does when it is started as a helper.
pub fn run_helper() -> ExitCode {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let facts = facts();
    let served = serve(&facts, tokio::io::stdin(), tokio::io::stdout());
    runtime.block_on(served).unwrap();
    runtime.shutdown_background();
    ExitCode::SUCCESS
}

/// Two streams between a helper in this process and whoever connects.
fn pair() -> (DuplexStream, DuplexStream) {
    let (ours, their_output) = tokio::io::duplex(64 << 10);
    let (their_input, output) = tokio::io::duplex(64 << 10);
    tokio::spawn(async move { serve(&facts(), their_input, their_output).await });
    (ours, output)
}

async fn in_memory() -> Remote {
    let (input, output) = pair();
    Remote::connect("memory", VERSION, input, output)
        .await
        .unwrap()
}

/// A helper of its own process, by a shell that first prints this.
async fn by_process(chatter: &str) -> (Remote, tokio::process::Child) {
    let (mut child, input, output) = start(chatter);
    let connected = Remote::connect("process", VERSION, input, output).await;
    match connected {
        Ok(remote) => (remote, child),
        Err(error) => {
            child.start_kill().unwrap();
            panic!("{error:?}");
        }
    }
}

fn start(
    chatter: &str,
) -> (
    tokio::process::Child,
    tokio::process::ChildStdout,
    tokio::process::ChildStdin,
) {
    let mut child = tokio::process::Command::new("sh")
        .arg("-c")
        .arg(format!("{chatter}\nexec \"$0\" {HELPER}"))
        .arg(std::env::current_exe().unwrap())
        .stdin(ProcessStdio::piped())
        .stdout(ProcessStdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let output = child.stdin.take().unwrap();
    let input = child.stdout.take().unwrap();
    (child, input, output)
}

/// A host, and the process that serves it.
struct Kept {
    remote: Remote,
    _child: tokio::process::Child,
}

/// Every place that the contract holds on.
pub async fn places() -> Vec<(&'static str, Arc<dyn Host>)> {
    let (remote, child) = by_process("true").await;
    let kept = Box::leak(Box::new(Kept {
        remote,
        _child: child,
    }));
    vec![
        ("here", Arc::new(Local::new()) as Arc<dyn Host>),
        ("memory", Arc::new(in_memory().await)),
        ("process", Arc::new(kept.remote.clone())),
    ]
}

/// A helper of its own process, behind a line on which each byte takes this long, in each direction.
pub async fn delayed(delay: Duration) -> Arc<dyn Host> {
    let (child, input, output) = start("true");
    let (near, far) = tokio::io::duplex(1 << 20);
    let (from_us, to_us) = tokio::io::split(far);
    tokio::spawn(late(input, to_us, delay));
    tokio::spawn(late(from_us, output, delay));
    let (input, output) = tokio::io::split(near);
    let remote = Remote::connect("delayed", VERSION, input, output).await;
    let kept = Box::leak(Box::new(Kept {
        remote: remote.unwrap(),
        _child: child,
    }));
    Arc::new(kept.remote.clone())
}

/// Passes bytes on when their time has come. What comes close together stays close together.
async fn late(mut from: impl AsyncRead + Unpin, mut to: impl AsyncWrite + Unpin, delay: Duration) {
    let (pass, mut passed) =
        tokio::sync::mpsc::unbounded_channel::<(tokio::time::Instant, Vec<u8>)>();
    let writing = async move {
        while let Some((at, bytes)) = passed.recv().await {
            tokio::time::sleep_until(at).await;
            if to.write_all(&bytes).await.is_err() || to.flush().await.is_err() {
                return;
            }
        }
    };
    let reading = async move {
        let mut piece = vec![0; 64 << 10];
        while let Ok(length @ 1..) = from.read(&mut piece).await {
            let bytes = piece[..length].to_vec();
            if pass
                .send((tokio::time::Instant::now() + delay, bytes))
                .is_err()
            {
                return;
            }
        }
    };
    tokio::join!(writing, reading);
}

fn open() -> Arc<Border> {
    Arc::new(Border::none())
}

fn sleeper(script: &str) -> ostler_host::Command {
    ostler_host::Command {
        argv: vec!["sh".into(), "-c".into(), script.into()],
        cwd: "/".into(),
        env: env(),
        stdio: Stdio::Pipes,
        sandbox: None,
    }
}

fn is_cut<T>(result: Result<T, Error>) -> bool {
    matches!(result, Err(Error::Unreachable { .. }))
}

async fn a_chatty_login_is_skipped() {
    let chatter = "printf 'Welcome to the machine\\n\\000\\377ostler-hos\\033[1m'; head -c 100000 /dev/zero; read -t 0 x || true";
    let (remote, _child) = by_process(chatter).await;
    assert!(remote.stat(Path::new("/")).await.is_ok());
}

async fn no_helper_is_said_with_what_was_printed() {
    let (_child, input, output) = start("echo 'This account is closed.'; exit 1");
    let error = Remote::connect("p", VERSION, input, output)
        .await
        .err()
        .unwrap();
    assert!(
        matches!(&error, Unreached::NoHelper(said) if said == "This account is closed."),
        "{error:?}"
    );
}

async fn another_version_is_refused() {
    let (input, output) = pair();
    let error = Remote::connect("p", "9.9.9", input, output).await.err();
    assert!(
        matches!(&error, Some(Unreached::OtherVersion { theirs, .. }) if theirs == VERSION),
        "{error:?}"
    );
}

async fn a_cut_link_tells_everybody() {
    // A relay that can be cut.
    let (mut far_in, mut far_out) = pair();
    let (near_in, mut to_near) = tokio::io::duplex(1024);
    let (mut from_near, near_out) = tokio::io::duplex(1024);
    let (cut, mut is_cut_now) = tokio::sync::oneshot::channel::<()>();
    tokio::spawn(async move {
        let up = tokio::io::copy(&mut far_in, &mut to_near);
        let down = tokio::io::copy(&mut from_near, &mut far_out);
        tokio::select! {
            _ = up => {}
            _ = down => {}
            _ = &mut is_cut_now => {}
        }
    });
    let remote = Remote::connect("box", VERSION, near_in, near_out)
        .await
        .unwrap();
    let mut process = remote
        .spawn(sleeper("echo ready; sleep 1000"))
        .await
        .unwrap();
    assert_eq!(
        process.next().await,
        Output::Stdout(Bytes::from_static(b"ready\n"))
    );
    let waiting = remote.clone();
    let waits = tokio::spawn(async move {
        let mut slow = waiting.spawn(sleeper("sleep 1000")).await.unwrap();
        slow.next().await
    });
    cut.send(()).unwrap();
    assert_eq!(process.next().await, Output::Exited(Exit::LOST));
    assert_eq!(process.next().await, Output::Exited(Exit::LOST));
    let ended = tokio::time::timeout(Duration::from_secs(20), waits)
        .await
        .unwrap();
    // Either it was begun before the cut, or refused by it.
    assert!(ended.is_err() || matches!(ended, Ok(Output::Exited(Exit::LOST))));
    let error = remote.stat(Path::new("/")).await.unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("the connection to box is lost: "),
        "{error}"
    );
    assert!(remote.lost().is_some());
    assert!(is_cut(remote.spawn(sleeper("true")).await.map(drop)));
    process.signal(ostler_host::Signal::Kill);
}

async fn garbage_cuts_the_link() {
    let (mut far_in, mut far_out) = pair();
    let (near_in, mut to_near) = tokio::io::duplex(1 << 20);
    let (mut from_near, near_out) = tokio::io::duplex(1 << 20);
    let (poison, mut poisoned) = tokio::sync::oneshot::channel::<()>();
    tokio::spawn(async move {
        let mut buffer = vec![0; 4096];
        let mut back = vec![0; 4096];
        loop {
            tokio::select! {
                count = far_in.read(&mut buffer) => {
                    to_near.write_all(&buffer[..count.unwrap()]).await.unwrap();
                }
                count = from_near.read(&mut back) => {
                    let count = count.unwrap();
                    if count == 0 { return }
                    far_out.write_all(&back[..count]).await.unwrap();
                }
                _ = &mut poisoned => {
                    to_near.write_all(&[0xfe; 4096]).await.unwrap();
                    tokio::time::sleep(Duration::from_secs(60)).await;
                }
            }
        }
    });
    let remote = Remote::connect("box", VERSION, near_in, near_out)
        .await
        .unwrap();
    remote.stat(Path::new("/")).await.unwrap();
    poison.send(()).unwrap();
    let error = loop {
        if let Err(error) = remote.stat(Path::new("/")).await {
            break error;
        }
    };
    assert!(
        error.to_string().contains("not what the helper sends"),
        "{error}"
    );
}

async fn garbage_ends_the_helper() {
    let (mut child, mut input, mut output) = start("true");
    let mut first = [0; 16];
    input.read_exact(&mut first).await.unwrap();
    output.write_all(&first).await.unwrap();
    output.write_all(&[0xee; 100_000]).await.unwrap();
    let ended = tokio::time::timeout(Duration::from_secs(20), child.wait()).await;
    assert!(ended.unwrap().unwrap().success());
}

async fn a_killed_helper_is_an_error_and_takes_all_with_it() {
    let (remote, _child) = by_process("true").await;
    let mut process = remote
        .spawn(sleeper("setsid sleep 1000 & echo $!; wait"))
        .await
        .unwrap();
    let Output::Stdout(pid) = process.next().await else {
        panic!("no output");
    };
    let pid = String::from_utf8_lossy(&pid).trim().to_owned();
    let helper = remote.facts().pid.to_string();
    let reading = {
        let remote = remote.clone();
        tokio::spawn(async move {
            // Long enough for the kill to come in between.
            remote
                .read(Path::new("/dev/zero"), Span::head(1), &open())
                .await
                .err();
            loop {
                if let Err(error) = remote.stat(Path::new("/")).await {
                    return error;
                }
            }
        })
    };
    let killed = std::process::Command::new("kill")
        .args(["-9", &helper])
        .status();
    assert!(killed.unwrap().success());
    assert_eq!(process.next().await, Output::Exited(Exit::LOST));
    let error = reading.await.unwrap();
    assert!(
        matches!(&error, Error::Unreachable { place, .. } if place == "process"),
        "{error:?}"
    );
    // Its watchdog ends what it had started.
    while Path::new("/proc").join(&pid).exists() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

async fn a_slow_link_is_only_slow() {
    let (mut far_in, mut far_out) = pair();
    let (near_in, mut to_near) = tokio::io::duplex(1 << 20);
    let (mut from_near, near_out) = tokio::io::duplex(1 << 20);
    // A few bytes at a time: no frame comes whole.
    tokio::spawn(async move {
        let mut piece = [0; 7];
        while let Ok(count @ 1..) = far_in.read(&mut piece).await {
            to_near.write_all(&piece[..count]).await.unwrap();
            tokio::task::yield_now().await;
        }
    });
    tokio::spawn(async move {
        let mut piece = [0; 5];
        while let Ok(count @ 1..) = from_near.read(&mut piece).await {
            far_out.write_all(&piece[..count]).await.unwrap();
            tokio::task::yield_now().await;
        }
    });
    let remote = Remote::connect("box", VERSION, near_in, near_out)
        .await
        .unwrap();
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), vec![b'y'; 300_000]).unwrap();
    let read = remote
        .read(file.path(), Span::head(1 << 20), &open())
        .await
        .unwrap();
    assert_eq!(read.bytes.len(), 300_000);
    let mut process = remote.spawn(sleeper("seq 1 20000")).await.unwrap();
    let mut out = Vec::new();
    while let Output::Stdout(bytes) = process.next().await {
        out.extend_from_slice(&bytes);
    }
    assert!(out.ends_with(b"19999\n20000\n"), "{}", out.len());
}
