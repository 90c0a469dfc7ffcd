//! Commands of the local host, with real programs: output, ends, streams, signals, failures, and what becomes of a
//! command when its watchdog or keeper is killed.

#[cfg(target_os = "linux")]
mod common;

#[cfg(target_os = "linux")]
fn main() -> std::process::ExitCode {
    ostler_host::watchdog::run_if_asked();
    cases::leak_a_descriptor();
    common::run(cases::ALL)
}

/// The scripts need programs that other systems lack.
#[cfg(not(target_os = "linux"))]
fn main() {}

#[cfg(target_os = "linux")]
mod cases {
    use crate::cases;
    use crate::common::*;
    use ostler_host::{Command, Exit, Host, Local, Output, Signal, Stdio};
    use std::os::unix::fs::PermissionsExt;
    use std::time::Duration;
    use tokio::task::JoinSet;

    pub const ALL: &[Case] = cases![
        output_and_exit,
        both_streams_at_full_size,
        cancelled_reads_lose_nothing,
        empty_stdin,
        piped_stdin,
        terminal,
        terminal_resize_and_interrupt,
        terminal_output_is_whole,
        folder_and_environment_as_given,
        nothing_inherited,
        program_lookup,
        failures_to_start,
        many_words,
        many_at_once,
        background_child_keeps_the_pipe,
        background_child_that_never_stops_talking,
        late_output_of_a_background_child,
        signal_right_after_the_start,
        kill_reaches_everything,
        kill_reaches_leftovers,
        term_reaches_each_once,
        drop_kills,
        dropped_spawn_kills,
        watchdog_killed,
        watchdog_killed_while_idle,
        keeper_killed,
        watchdog_and_keeper_killed,
        local_dropped,
    ];

    /// Three ways out of a command's session and parentage, one that ignores polite signals, and a plain child.
    const ESCAPES: &str = r#"
        sleep 1000 & echo $!
        setsid sleep 1000 & echo $!
        ( setsid env -i /bin/sh -c '/bin/sleep 1000 & echo $!' & )
        ( setsid sh -c 'setsid sh -c "setsid sleep 1000 & echo \$!" &' & )
        sh -c 'trap "" TERM HUP INT QUIT; echo $$; while :; do sleep 1000; done' &
    "#;
    const ESCAPED: usize = 5;

    fn watch_all(pids: &[String]) -> Vec<Watched> {
        let watch = |pid: &String| watch(&format!("escape {pid}"), pid);
        pids.iter().map(watch).collect()
    }

    fn watchdog_of(process: i32) -> Watched {
        let keeper = stat_field(process, 4);
        let watchdog = parent(keeper);
        assert_eq!(
            stat_field(watchdog.pid.as_raw_nonzero().get(), 4),
            std::process::id().cast_signed()
        );
        watchdog
    }

    /// A descriptor that every child of this program would inherit.
    pub fn leak_a_descriptor() {
        use rustix::io::{FdFlags, fcntl_setfd};
        let file = std::fs::File::open("/etc/passwd").unwrap();
        fcntl_setfd(&file, FdFlags::empty()).unwrap();
        std::mem::forget(file);
    }

    async fn output_and_exit() {
        let local = Local::new();
        for (script, stdout, stderr, exit) in [
            ("echo hi", "hi\n", "", code(0)),
            ("printf a; printf b >&2; exit 3", "a", "b", code(3)),
            ("exit 255", "", "", code(255)),
            ("kill -TERM $$", "", "", signal(15)),
            ("kill -KILL $$", "", "", signal(9)),
            ("exec >&- 2>&-; sleep 0.01; exit 4", "", "", code(4)),
        ] {
            let ran = run_to_end(&local, sh(script)).await;
            let expected = Ran {
                stdout: stdout.into(),
                stderr: stderr.into(),
                exit,
            };
            assert_eq!(ran, expected, "{script}");
        }
    }

    async fn both_streams_at_full_size() {
        const SIZE: usize = 10 << 20;
        let script = format!(
            "head -c {SIZE} /dev/zero | tr '\\0' e >&2 & head -c {SIZE} /dev/zero | tr '\\0' o; wait"
        );
        let ran = run_to_end(&Local::new(), sh(&script)).await;
        assert_eq!(ran.exit, code(0));
        assert_eq!((ran.stdout.len(), ran.stderr.len()), (SIZE, SIZE));
        assert!(ran.stdout.bytes().all(|byte| byte == b'o'));
        assert!(ran.stderr.bytes().all(|byte| byte == b'e'));
    }

    async fn cancelled_reads_lose_nothing() {
        let local = Local::new();
        let mut process = local.spawn(sh("seq 1 200000; exit 5")).await.unwrap();
        let mut stdout = Vec::new();
        let exit = loop {
            match tokio::time::timeout(Duration::ZERO, process.next()).await {
                Ok(Output::Stdout(bytes)) => stdout.extend_from_slice(&bytes),
                Ok(Output::Stderr(bytes)) => panic!("{bytes:?}"),
                Ok(Output::Exited(exit)) => break exit,
                Err(_) => tokio::task::yield_now().await,
            }
        };
        let expected: String = (1..=200_000).map(|number| format!("{number}\n")).collect();
        assert!(stdout == expected.as_bytes());
        assert_eq!(exit, code(5));
        assert_eq!(process.next().await, Output::Exited(exit));
    }

    async fn empty_stdin() {
        let ran = run_to_end(&Local::new(), sh("cat; echo $?; readlink /proc/self/fd/0")).await;
        assert_eq!(ran.stdout, "0\n/dev/null\n");
    }

    async fn piped_stdin() {
        let local = Local::new();
        let piped = Command {
            stdio: Stdio::PipesWithStdin,
            ..sh("cat; echo end")
        };
        let mut process = local.spawn(piped.clone()).await.unwrap();
        assert_eq!(process.write_stdin(b"hello\n").await.unwrap(), 6);
        assert_eq!(lines(&mut process, 1).await, ["hello"]);
        process.close_stdin();
        assert_eq!(finish(&mut process).await.stdout, "end\n");
        assert!(process.write_stdin(b"x").await.is_err());

        // More than both pipes hold, so it only ends if reading and writing go on together.
        let mut process = local.spawn(piped).await.unwrap();
        let mut input = process.take_input().unwrap();
        let text = "0123456789".repeat(100_000);
        let (written, ran) = tokio::join!(
            async {
                let written = input.write_all(text.as_bytes()).await;
                drop(input);
                written
            },
            finish(&mut process)
        );
        written.unwrap();
        assert!(ran.stdout == text + "end\n");
    }

    async fn terminal() {
        let local = Local::new();
        let mut process = local
            .spawn(pty(
                "stty size; test -t 0 -a -t 1 -a -t 2 && tty >/dev/tty; read x; echo got:$x",
            ))
            .await
            .unwrap();
        let shown = lines(&mut process, 2).await;
        assert_eq!(shown[0], "7 55");
        assert!(shown[1].starts_with("/dev/pts/"), "{shown:?}");
        process.write_stdin(b"abc\n").await.unwrap();
        let ran = finish(&mut process).await;
        assert_eq!(ran.stdout, "abc\r\ngot:abc\r\n");
        assert_eq!(ran.exit, code(0));
    }

    async fn terminal_resize_and_interrupt() {
        let local = Local::new();
        let script = "trap 'stty size' WINCH; echo ready; while :; do sleep 0.01; done";
        let mut process = local.spawn(pty(script)).await.unwrap();
        assert_eq!(lines(&mut process, 1).await, ["ready"]);
        process.resize(30, 100).unwrap();
        assert_eq!(lines(&mut process, 1).await, ["30 100"]);
        process.write_stdin(b"\x03").await.unwrap();
        assert_eq!(finish(&mut process).await.exit, signal(2));
    }

    async fn terminal_output_is_whole() {
        let ran = run_to_end(&Local::new(), pty("seq 1 50000")).await;
        let expected: String = (1..=50_000).map(|number| format!("{number}\r\n")).collect();
        assert!(ran.stdout == expected);
    }

    async fn folder_and_environment_as_given() {
        let local = Local::new();
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().canonicalize().unwrap();
        let env = Command {
            argv: vec!["/usr/bin/env".into()],
            cwd: folder.clone(),
            env: vec![("B".into(), "2 = two".into()), ("A".into(), "".into())],
            stdio: Stdio::Pipes,
            sandbox: None,
        };
        let shown = run_to_end(&local, env).await.stdout;
        assert_eq!(shown, "B=2 = two\nA=\n");
        let pwd = Command {
            cwd: folder.clone(),
            ..command(&["pwd", "-P"])
        };
        let shown = run_to_end(&local, pwd).await.stdout;
        assert_eq!(shown, format!("{}\n", folder.display()));
    }

    async fn nothing_inherited() {
        let local = Local::new();
        let ran = run_to_end(&local, sh("ls /proc/$$/fd; true")).await;
        assert_eq!(ran.stdout, "0\n1\n2\n");

        let ran = run_to_end(&local, sh("grep -E 'Sig(Ign|Blk)' /proc/self/status")).await;
        let masks: Vec<_> = ran
            .stdout
            .lines()
            .map(|line| line.split_whitespace().last().unwrap())
            .collect();
        assert_eq!(masks, ["0000000000000000"; 2], "{}", ran.stdout);

        // Group, session and terminal: leader of both, and no terminal.
        let mut process = local
            .spawn(sh("echo; read x < /dev/tty || sleep 1000"))
            .await
            .unwrap();
        let pid = process.pid();
        let fields = [5, 6, 7].map(|number| stat_field(pid, number));
        assert_eq!(fields, [pid, pid, 0]);
        process.signal(Signal::Kill);
        assert_eq!(finish(&mut process).await.exit, signal(9));
    }

    async fn program_lookup() {
        let local = Local::new();
        let folder = tempfile::tempdir().unwrap();
        let make = |path: &str, text: &str, mode: u32| {
            let path = folder.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(&path, text).unwrap();
            std::fs::set_permissions(&path, PermissionsExt::from_mode(mode)).unwrap();
        };
        make("a/tool", "#!/bin/sh\necho a", 0o644);
        make("b/tool", "#!/bin/sh\necho b \"$0\" $1", 0o755);
        let path = |path: &str| vec![("PATH".into(), path.into())];
        for (program, env) in [
            ("tool", path("missing:a:b:/bin")),
            ("./b/tool", path("/bin")),
            ("b/tool", Vec::new()),
        ] {
            let command = Command {
                cwd: folder.path().into(),
                env,
                ..command(&[program, "x"])
            };
            let ran = run_to_end(&local, command).await;
            assert!(
                ran.stdout.starts_with("b ") && ran.stdout.ends_with("tool x\n"),
                "{ran:?}"
            );
        }
    }

    async fn failures_to_start() {
        let local = Local::new();
        let folder = tempfile::tempdir().unwrap();
        let script = folder.path().join("script");
        std::fs::write(&script, "#!/no/such/interpreter\n").unwrap();
        std::fs::set_permissions(&script, PermissionsExt::from_mode(0o755)).unwrap();
        let long = "x".repeat(200_000);
        let at = |cwd: &str| Command {
            cwd: cwd.into(),
            ..sh("true")
        };
        for (command, expected) in [
            (command(&["no-such-program"]), "ProgramNotFound"),
            (command(&["/no/such/program"]), "ProgramNotFound"),
            (command(&[script.to_str().unwrap()]), "ProgramNotFound"),
            (command(&["/etc/passwd"]), "NotExecutable"),
            (command(&["/etc"]), "NotExecutable"),
            (command(&["true", &long]), "TooLong"),
            (command(&[]), "BadCommand"),
            (command(&["tr\0ue"]), "BadCommand"),
            (at("/no/such/folder"), "WorkingDirectory"),
            (at("/etc/passwd"), "WorkingDirectory"),
            (at("relative"), "BadPath"),
        ] {
            let Err(error) = local.spawn(command).await else {
                panic!("started, instead of {expected}");
            };
            assert!(format!("{error:?}").starts_with(expected), "{error:?}");
        }
        assert_eq!(run_to_end(&local, sh("exit 7")).await.exit, code(7));
    }

    async fn many_words() {
        let words: Vec<String> = (0..20_000).map(|number| format!("word-{number}")).collect();
        let mut command = sh("echo $#; shift 19999; echo $1");
        command.argv.push("sh".into());
        command.argv.extend(words.into_iter().map(Into::into));
        let ran = run_to_end(&Local::new(), command).await;
        assert_eq!(ran.stdout, "20000\nword-19999\n");
    }

    async fn many_at_once() {
        let local = Local::new();
        let mut tasks = JoinSet::new();
        for number in 0..200 {
            let local = local.clone();
            tasks.spawn(async move {
                let script = format!("echo {number}; echo {number} >&2; exit {}", number % 7);
                (number, run_to_end(&local, sh(&script)).await)
            });
        }
        for (number, ran) in tasks.join_all().await {
            let expected = Ran {
                stdout: format!("{number}\n"),
                stderr: format!("{number}\n"),
                exit: code(number % 7),
            };
            assert_eq!(ran, expected);
        }
    }

    async fn background_child_keeps_the_pipe() {
        let local = Local::new();
        let mut process = local
            .spawn(sh("sleep 1000 & echo $!; exit 6"))
            .await
            .unwrap();
        let ran = finish(&mut process).await;
        assert_eq!(ran.exit, code(6));
        let child = watch("the background child", &ran.stdout);
        drop(process);
        assert_eq!(run_to_end(&local, sh("exit 1")).await.exit, code(1));
        assert!(child.is_alive());
        drop(local);
        child.assert_dies().await;
    }

    async fn background_child_that_never_stops_talking() {
        let local = Local::new();
        let mut process = local.spawn(sh("yes & echo $!; exit 0")).await.unwrap();
        let ran = finish(&mut process).await;
        assert_eq!(ran.exit, code(0));
        let pid = ran
            .stdout
            .lines()
            .find(|line| *line != "y" && !line.is_empty());
        let child = watch("yes", pid.unwrap());
        drop(process);
        // It would die of the closed pipe, or wait at a full one: it must go on writing.
        let written = |pid: i32| {
            let io = std::fs::read_to_string(format!("/proc/{pid}/io")).unwrap();
            let field = io.lines().find_map(|line| line.strip_prefix("wchar: "));
            field.unwrap().parse::<u64>().unwrap()
        };
        let pid = child.pid.as_raw_nonzero().get();
        let before = written(pid);
        while written(pid) < before + (1 << 20) {
            tokio::task::yield_now().await;
        }
        assert!(child.is_alive());
    }

    async fn late_output_of_a_background_child() {
        let script = "(sleep 0.01; echo late) & echo early";
        let ran = run_to_end(&Local::new(), sh(script)).await;
        assert_eq!(ran.stdout, "early\nlate\n");
    }

    async fn signal_right_after_the_start() {
        let local = Local::new();
        for (sent, number) in [(Signal::Int, 2), (Signal::Term, 15), (Signal::Kill, 9)] {
            let mut process = local.spawn(command(&["sleep", "1000"])).await.unwrap();
            process.signal(sent);
            assert_eq!(finish(&mut process).await.exit, signal(number));
        }
    }

    async fn kill_reaches_everything() {
        let local = Local::new();
        let mut other = local.spawn(sh("sleep 1000 & echo $!; wait")).await.unwrap();
        let bystander = watch("another command's", &lines(&mut other, 1).await[0]);
        let mut process = local.spawn(sh(&format!("{ESCAPES} wait"))).await.unwrap();
        let escaped = watch_all(&lines(&mut process, ESCAPED).await);
        assert!(escaped.iter().all(Watched::is_alive));
        process.signal(Signal::Kill);
        assert_eq!(finish(&mut process).await.exit, signal(9));
        assert_all_die(escaped).await;
        assert!(bystander.is_alive());
    }

    async fn kill_reaches_leftovers() {
        let local = Local::new();
        let mut process = local.spawn(sh(ESCAPES)).await.unwrap();
        let escaped = watch_all(&lines(&mut process, ESCAPED).await);
        assert_eq!(finish(&mut process).await.exit, code(0));
        assert!(escaped.iter().all(Watched::is_alive));
        process.signal(Signal::Kill);
        assert_all_die(escaped).await;
    }

    async fn term_reaches_each_once() {
        let folder = tempfile::tempdir().unwrap();
        let local = Local::new();
        // Each waits for a word that never comes, so that only the signal ends the wait.
        let script = r#"
            mkfifo never
            waits='trap "echo $NAME >> log" TERM; echo $NAME; read x < never; read x < never'
            NAME=inside sh -c "$waits" &
            NAME=outside setsid sh -c "$waits" &
            NAME=leader; trap 'echo leader >> log' TERM; echo leader; wait; wait
        "#;
        let command = Command {
            cwd: folder.path().into(),
            ..sh(script)
        };
        let mut process = local.spawn(command).await.unwrap();
        lines(&mut process, 3).await;
        process.signal(Signal::Term);
        let log = folder.path().join("log");
        let logged = loop {
            let text = std::fs::read_to_string(&log).unwrap_or_default();
            if text.lines().count() >= 3 {
                break text;
            }
            tokio::task::yield_now().await;
        };
        let mut names: Vec<&str> = logged.lines().collect();
        names.sort_unstable();
        assert_eq!(names, ["inside", "leader", "outside"]);
        process.signal(Signal::Kill);
        finish(&mut process).await;
        let logged = std::fs::read_to_string(&log).unwrap();
        assert_eq!(logged.lines().count(), 3, "{logged}");
    }

    async fn drop_kills() {
        let local = Local::new();
        let mut process = local.spawn(sh(&format!("{ESCAPES} wait"))).await.unwrap();
        let escaped = watch_all(&lines(&mut process, ESCAPED).await);
        drop(process);
        assert_all_die(escaped).await;
    }

    async fn dropped_spawn_kills() {
        let folder = tempfile::tempdir().unwrap();
        let local = Local::new();
        local.warm_up().await.unwrap();
        let command = Command {
            cwd: folder.path().into(),
            ..sh("echo $$ > pid; mv pid done; sleep 1000")
        };
        // One poll sends the request; nobody waits for the answer (unless it is there already).
        let spawn = local.spawn(command);
        drop(tokio::time::timeout(Duration::ZERO, spawn).await);
        // Either it never got to write its number, or it has one and that process dies.
        run_to_end(&local, sh("true")).await;
        if let Ok(pid) = std::fs::read_to_string(folder.path().join("done"))
            && std::fs::exists(format!("/proc/{}", pid.trim())).unwrap()
        {
            watch("the command nobody waited for", &pid)
                .assert_dies()
                .await;
        }
    }

    async fn watchdog_killed() {
        let local = Local::new();
        let mut process = local.spawn(sh(&format!("{ESCAPES} wait"))).await.unwrap();
        let escaped = watch_all(&lines(&mut process, ESCAPED).await);
        let mut finished = local.spawn(sh("sleep 1000 & echo $!")).await.unwrap();
        let leftover = watch("a leftover", &finish(&mut finished).await.stdout);
        let watchdog = watchdog_of(process.pid());
        watchdog.kill();
        assert_eq!(finish(&mut process).await.exit, Exit::LOST);
        assert_all_die(escaped.into_iter().chain([watchdog, leftover])).await;
        assert_eq!(run_to_end(&local, sh("exit 5")).await.exit, code(5));
    }

    async fn watchdog_killed_while_idle() {
        let local = Local::new();
        for round in 0..5 {
            let process = local.spawn(sh("sleep 1000")).await.unwrap();
            let watchdog = watchdog_of(process.pid());
            drop(process);
            watchdog.kill();
            // At once, while it may still be dying.
            let ran = run_to_end(&local, sh(&format!("exit {round}"))).await;
            assert_eq!(ran.exit, code(round));
        }
    }

    async fn keeper_killed() {
        let local = Local::new();
        let mut other = local.spawn(sh("sleep 1000 & echo $!; wait")).await.unwrap();
        let bystander = watch("another command's", &lines(&mut other, 1).await[0]);
        let mut process = local.spawn(sh(&format!("{ESCAPES} wait"))).await.unwrap();
        let escaped = watch_all(&lines(&mut process, ESCAPED).await);
        parent(process.pid()).kill();
        assert_eq!(finish(&mut process).await.exit, Exit::LOST);
        assert_all_die(escaped).await;
        assert!(bystander.is_alive());
        other.signal(Signal::Int);
        assert_eq!(finish(&mut other).await.exit, signal(2));
    }

    async fn watchdog_and_keeper_killed() {
        let local = Local::new();
        let mut process = local.spawn(sh(&format!("{ESCAPES} wait"))).await.unwrap();
        let escaped = watch_all(&lines(&mut process, ESCAPED).await);
        let (watchdog, keeper) = (watchdog_of(process.pid()), parent(process.pid()));
        watchdog.kill();
        keeper.kill();
        assert_eq!(finish(&mut process).await.exit, Exit::LOST);
        assert_all_die(escaped).await;
        assert_eq!(run_to_end(&local, sh("exit 5")).await.exit, code(5));
    }

    async fn local_dropped() {
        let local = Local::new();
        let mut process = local.spawn(sh(ESCAPES)).await.unwrap();
        let escaped = watch_all(&lines(&mut process, ESCAPED).await);
        finish(&mut process).await;
        let watchdog = {
            let running = local.spawn(sh("sleep 1000")).await.unwrap();
            watchdog_of(running.pid())
        };
        drop((local, process));
        assert_all_die(escaped.into_iter().chain([watchdog])).await;
    }
}
