//! A link that breaks and is made again: what runs goes on, no byte is lost, nothing runs twice, and when nobody comes back
//! it ends.

use crate::cases;
use crate::common::*;
use ostler_host::remote::{Dial, Dialed, OverProgram, PlaceFacts, Remote, Streams, keep, relay};
use ostler_host::{Command, Error, Exit, Host, Local, Output, Signal, Stdio};
use std::path::Path;
use std::process::ExitCode;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// The arguments by which this program is a part of a helper.
pub const RELAY: &str = "__relay";
pub const KEEPER: &str = "__keeper";
const VERSION: &str = "1.2.3";
const LONG: Duration = Duration::from_secs(60);

pub const ALL: &[Case] = cases![
    a_command_outlives_the_connection,
    output_waits_while_there_is_no_connection,
    a_clean_end_ends_what_runs,
    nobody_comes_back_and_it_ends,
    a_killed_helper_is_gone_for_good,
    input_and_calls_go_on_after_a_cut,
    a_stranger_is_not_let_in,
    what_a_killed_helper_could_not_put_back_is_put_back_by_the_next,
];

/// What `main` does when it is started as a part of a helper.
pub fn run_part(keeps: bool) -> ExitCode {
    let facts = || PlaceFacts::here(VERSION, "/".into(), std::env::vars_os().collect());
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let served = runtime.block_on(async {
        let (input, output) = (tokio::io::stdin(), tokio::io::stdout());
        if keeps {
            return keep(&facts(), (input, output), let_go).await;
        }
        let keeper = [std::env::current_exe()?.into(), KEEPER.into()];
        let env = std::env::vars_os().collect();
        let streams = Streams { input, output, env };
        relay(streams, &keeper, facts).await
    });
    runtime.shutdown_background();
    match served {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

fn let_go() -> std::io::Result<()> {
    let null = std::fs::OpenOptions::new()
        .read(true)
        .write(true)
        .open("/dev/null")?;
    rustix::stdio::dup2_stdin(&null)?;
    rustix::stdio::dup2_stdout(&null)?;
    Ok(())
}

/// A helper, and the processes that connected to it.
struct Place {
    folder: tempfile::TempDir,
    relays: Arc<Mutex<Vec<i32>>>,
    /// Whether somebody gets through to it.
    is_up: Arc<Mutex<bool>>,
    dial: Dial,
}

fn place() -> Place {
    let folder = tempfile::tempdir().unwrap();
    let relays = Arc::new(Mutex::new(Vec::new()));
    let is_up = Arc::new(Mutex::new(true));
    let mut env = env();
    for name in ["XDG_CACHE_HOME", "XDG_DATA_HOME"] {
        env.push((name.into(), folder.path().into()));
    }
    let command = Command {
        argv: vec![std::env::current_exe().unwrap().into(), RELAY.into()],
        cwd: "/".into(),
        env,
        stdio: Stdio::PipesWithStdin,
        sandbox: None,
    };
    let host = Arc::new(Local::new());
    let (known, through) = (relays.clone(), is_up.clone());
    let dial: Dial = Arc::new(move || {
        let (host, known) = (host.clone(), known.clone());
        let mut command = command.clone();
        if !*through.lock().unwrap() {
            command.argv = vec!["false".into()];
        }
        Box::pin(async move {
            let process = host.spawn(command).await?;
            known.lock().unwrap().push(process.pid());
            Ok(Dialed::new(process))
        })
    });
    Place {
        folder,
        relays,
        is_up,
        dial,
    }
}

impl Place {
    async fn connect(&self, grace: Duration) -> Remote {
        let link = OverProgram {
            place: "box",
            version: VERSION,
            patience: LONG,
            first_patience: LONG,
            grace,
            key: [7; 32],
            dial: self.dial.clone(),
        };
        match link.connect().await {
            Ok(remote) => remote,
            Err(error) => panic!("{error:?}"),
        }
    }

    /// Ends the process that passes bytes on, as a network that breaks does.
    fn cut(&self) {
        let pid = *self.relays.lock().unwrap().last().unwrap();
        kill(pid);
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.folder.path().join(name)
    }

    fn sockets(&self) -> usize {
        let files = std::fs::read_dir(self.path("ostler/run"));
        files.into_iter().flatten().count()
    }
}

fn kill(pid: i32) {
    let pid = rustix::process::Pid::from_raw(pid).unwrap();
    // It may have ended by itself.
    let _gone = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
}

async fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    while !is_so() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let _ = what;
}

/// When the link has been cut, or has been made again.
async fn until_cut(remote: &Remote, wanted: bool) {
    let mut state = remote.interruptions().unwrap();
    let found = state.wait_for(|state| state.is_some() == wanted);
    found.await.unwrap();
}

fn is_alive(pid: &str) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"));
    stat.is_ok_and(|stat| !stat.contains(") Z "))
}

async fn first_line(process: &mut ostler_host::Process) -> String {
    match process.next().await {
        Output::Stdout(bytes) => String::from_utf8(bytes.to_vec()).unwrap().trim().into(),
        other => panic!("{other:?}"),
    }
}

async fn a_command_outlives_the_connection() {
    let place = place();
    let remote = place.connect(LONG).await;
    let begun = place.path("begun");
    let script = format!(
        "echo x >> {}; i=0; while [ $i -lt 300 ]; do seq $((i * 100 + 1)) $((i * 100 + 100)); i=$((i + 1)); sleep 0.01; done; exit 7",
        begun.display()
    );
    let mut process = remote.spawn(sh(&script)).await.unwrap();
    let (mut out, mut cuts) = (Vec::new(), 0);
    let exit = loop {
        match process.next().await {
            Output::Stdout(bytes) => out.extend_from_slice(&bytes),
            Output::Stderr(bytes) => panic!("{}", String::from_utf8_lossy(&bytes)),
            Output::Exited(exit) => break exit,
        }
        if out.len() > (cuts + 1) * 20_000 && cuts < 6 {
            cuts += 1;
            place.cut();
        }
    };
    let expect: String = (1..=30_000).map(|n| format!("{n}\n")).collect();
    assert!(out == expect.as_bytes(), "{} bytes", out.len());
    assert_eq!(exit.code, Some(7));
    assert!(
        cuts >= 4 && place.relays.lock().unwrap().len() > 4,
        "{cuts}"
    );
    assert_eq!(std::fs::read_to_string(begun).unwrap(), "x\n");
}

async fn output_waits_while_there_is_no_connection() {
    let place = place();
    let remote = place.connect(LONG).await;
    let done = place.path("done");
    let go = place.path("go");
    let script = format!(
        "echo ready; until [ -e {} ]; do sleep 0.01; done; head -c 30000000 /dev/zero | tr '\\0' y; echo x >> {}; echo end >&2",
        go.display(),
        done.display()
    );
    let mut process = remote.spawn(sh(&script)).await.unwrap();
    assert_eq!(first_line(&mut process).await, "ready");
    *place.is_up.lock().unwrap() = false;
    place.cut();
    until_cut(&remote, true).await;
    std::fs::write(&go, "").unwrap();
    // Nobody reads, and it comes to its end all the same.
    until("the command's end", || done.exists()).await;
    *place.is_up.lock().unwrap() = true;
    let (mut out, mut err) = (0, Vec::new());
    let exit = loop {
        match process.next().await {
            Output::Stdout(bytes) => {
                assert!(bytes.iter().all(|byte| *byte == b'y'));
                out += bytes.len();
            }
            Output::Stderr(bytes) => err.extend_from_slice(&bytes),
            Output::Exited(exit) => break exit,
        }
    };
    assert_eq!((out, exit.code), (30_000_000, Some(0)));
    assert_eq!(err, b"end\n");
    // What waited has left nothing behind.
    assert_eq!(place.sockets(), 1);
}

async fn a_clean_end_ends_what_runs() {
    let place = place();
    let remote = place.connect(LONG).await;
    let mut process = remote
        .spawn(sh("setsid sleep 1000 & echo $!; wait"))
        .await
        .unwrap();
    let pid = first_line(&mut process).await;
    assert!(is_alive(&pid));
    remote.close().await;
    until("its end", || !is_alive(&pid)).await;
    until("the socket's end", || place.sockets() == 0).await;
    assert_eq!(process.next().await, Output::Exited(Exit::LOST));
}

async fn nobody_comes_back_and_it_ends() {
    let place = place();
    let remote = place.connect(Duration::from_millis(300)).await;
    let mut process = remote.spawn(sh("echo $$; sleep 1000")).await.unwrap();
    let pid = first_line(&mut process).await;
    *place.is_up.lock().unwrap() = false;
    place.cut();
    until("its end", || !is_alive(&pid)).await;
    assert_eq!(process.next().await, Output::Exited(Exit::LOST));
    let error = remote.stat(Path::new("/")).await.unwrap_err();
    assert!(matches!(error, Error::Unreachable { .. }), "{error}");
    assert!(remote.lost().is_some());
    until("the socket's end", || place.sockets() == 0).await;
}

async fn a_killed_helper_is_gone_for_good() {
    let place = place();
    let remote = place.connect(LONG).await;
    let mut process = remote.spawn(sh("echo $$; sleep 1000")).await.unwrap();
    let pid = first_line(&mut process).await;
    kill(i32::try_from(remote.facts().pid).unwrap());
    assert_eq!(process.next().await, Output::Exited(Exit::LOST));
    let error = remote.stat(Path::new("/")).await.unwrap_err();
    assert!(error.to_string().contains("has ended there"), "{error}");
    // Its watchdog ends what it had started.
    until("its end", || !is_alive(&pid)).await;
    // The next one tidies up after it.
    let again = place.connect(LONG).await;
    assert_eq!(place.sockets(), 1);
    again.stat(Path::new("/")).await.unwrap();
}

async fn input_and_calls_go_on_after_a_cut() {
    let place = place();
    let remote = place.connect(LONG).await;
    let mut command = sh("cat");
    command.stdio = Stdio::PipesWithStdin;
    let mut process = remote.spawn(command).await.unwrap();
    let mut input = process.take_input().unwrap();
    let file = place.path("file");
    let mut expect = Vec::new();
    for number in 0..5u8 {
        *place.is_up.lock().unwrap() = false;
        place.cut();
        until_cut(&remote, true).await;
        let piece = vec![b'a' + number; 50_000];
        input.write_all(&piece).await.unwrap();
        expect.extend_from_slice(&piece);
        let (asked, path) = (remote.clone(), file.clone());
        let stat = tokio::spawn(async move { asked.stat(&path).await });
        *place.is_up.lock().unwrap() = true;
        assert!(stat.await.unwrap().is_ok());
    }
    drop(input);
    let mut got = Vec::new();
    while let Output::Stdout(bytes) = process.next().await {
        got.extend_from_slice(&bytes);
    }
    assert!(got == expect, "{} of {}", got.len(), expect.len());
    // A signal that is sent while there is no connection arrives, too.
    let mut process = remote.spawn(sh("echo up; sleep 1000")).await.unwrap();
    assert_eq!(first_line(&mut process).await, "up");
    place.cut();
    process.signal(Signal::Term);
    let Output::Exited(exit) = process.next().await else {
        panic!("more output");
    };
    assert_eq!(exit.signal, Some(15));
}

async fn a_stranger_is_not_let_in() {
    let place = place();
    let remote = place.connect(LONG).await;
    let folder = place.path("ostler/run");
    use std::os::unix::fs::PermissionsExt as _;
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let socket = std::fs::read_dir(&folder).unwrap().next().unwrap();
    let socket = socket.unwrap().path();
    assert_eq!((mode(&folder), mode(&socket)), (0o700, 0o600));
    // A command that the helper started, with the right name and all it could know but the key.
    let script = format!(
        "import socket,sys\ns=socket.socket(socket.AF_UNIX)\ns.connect({:?})\ns.settimeout(20)\ns.send(b'\\x31\\x00' + bytes(0x31))\nprint(len(s.recv(10)))",
        socket.display().to_string()
    );
    if std::process::Command::new("python3")
        .arg("--version")
        .output()
        .is_err()
    {
        println!("skipped: there is no python3");
        return;
    }
    let mut process = remote
        .spawn(command(&["python3", "-c", &script]))
        .await
        .unwrap();
    let mut said = String::new();
    loop {
        match process.next().await {
            Output::Stdout(bytes) => said.push_str(&String::from_utf8_lossy(&bytes)),
            Output::Stderr(_) => {}
            Output::Exited(_) => break,
        }
    }
    assert!(said.is_empty() || said.trim() == "0", "{said}");
    // The one that has the key is not disturbed.
    remote.stat(Path::new("/")).await.unwrap();
}

async fn what_a_killed_helper_could_not_put_back_is_put_back_by_the_next() {
    use ostler_host::sandbox::{Choice, Layer, Plan, Policy, probe};
    // What no mount holds: the comparison afterwards is what there is.
    if !probe().layers.contains(&Layer::Landlock) {
        println!("skipped: there is no Landlock");
        return;
    }
    let place = place();
    let project = place.path("project");
    std::fs::create_dir_all(project.join(".git/hooks")).unwrap();
    let project = project.canonicalize().unwrap();
    std::fs::write(project.join(".mcp.json"), "mine").unwrap();
    let remote = place.connect(LONG).await;
    let protect = [".mcp.json", ".git/hooks"].map(|name| project.join(name));
    let policy = Policy {
        writable: vec![project.clone()],
        protect: protect.to_vec(),
        layer: Choice::Landlock,
        ..Policy::default()
    };
    let mut command =
        sh("echo theirs > .mcp.json; echo x > .git/hooks/pre-commit; echo ready; sleep 1000");
    command.cwd.clone_from(&project);
    command.put_on(&Arc::new(Plan::at_place(policy, Layer::Landlock)));
    let mut process = remote.spawn(command).await.unwrap();
    loop {
        match process.next().await {
            Output::Stdout(bytes) if bytes.ends_with(b"ready\n") => break,
            Output::Stdout(_) | Output::Stderr(_) => {}
            Output::Exited(exit) => panic!("{exit:?}"),
        }
    }
    let read = |name: &str| std::fs::read_to_string(project.join(name)).ok();
    assert_eq!(read(".mcp.json").as_deref(), Some("theirs\n"));
    kill(i32::try_from(remote.facts().pid).unwrap());
    assert_eq!(process.next().await, Output::Exited(Exit::LOST));
    let again = place.connect(LONG).await;
    assert_eq!(read(".mcp.json").as_deref(), Some("mine"));
    assert_eq!(read(".git/hooks/pre-commit"), None);
    let told = &again.facts().put_back;
    assert!(told.contains(&project.join(".mcp.json")), "{told:?}");
    // Once.
    let third = place.connect(LONG).await;
    assert!(third.facts().put_back.is_empty());
}
