//! The tmux pane that a person shares with commands, with a real tmux on a socket of its own. The person is played by
//! `tmux send-keys`.

#![cfg_attr(
    target_os = "linux",
    expect(clippy::print_stdout, reason = "skipped cases are for people")
)]

#[cfg(target_os = "linux")]
mod common;

#[cfg(target_os = "linux")]
fn main() -> std::process::ExitCode {
    ostler_host::watchdog::run_if_asked();
    common::run(cases::ALL)
}

/// The scripts need programs that other systems lack.
#[cfg(not(target_os = "linux"))]
fn main() {}

#[cfg(target_os = "linux")]
mod cases {
    use super::common::Case;
    use crate::cases;
    use ostler_host::pane::{Capture, Pane, PaneError, PaneSession, PaneSettings};
    use ostler_host::{Command, Exit, Local, Output, Process, Stdio};
    use std::ffi::OsString;
    use std::path::Path;
    use std::sync::Arc;
    use std::time::Duration;

    pub const ALL: &[Case] = cases![
        ends_are_told_whatever_a_command_does_to_its_shell,
        commands_run_where_and_with_what_they_are_told,
        the_person_types_at_the_same_time,
        a_program_that_somebody_began_is_not_typed_into,
        commands_take_turns_and_a_job_is_told,
        a_command_that_nobody_wants_is_killed,
        a_closed_pane_and_a_killed_server_are_clear_errors,
        keys_reach_a_program_in_full_screen,
        much_output_ends,
        a_session_of_the_person_is_used_and_left,
        our_own_pane_and_one_in_use_are_refused,
        nothing_is_left_when_the_pane_is_dropped,
    ];

    /// A tmux of its own, below a folder of its own.
    struct Yard {
        dir: tempfile::TempDir,
        host: Arc<Local>,
    }

    impl Yard {
        fn new() -> Option<Self> {
            let found = ["/usr/bin/tmux", "/bin/tmux", "/usr/local/bin/tmux"];
            if !found.iter().any(|path| Path::new(path).exists()) {
                println!("skipped: tmux is not installed");
                return None;
            }
            Some(Self {
                // A socket has room for about a hundred characters.
                dir: tempfile::tempdir_in("/tmp").unwrap(),
                host: Arc::new(Local::new()),
            })
        }

        fn env(&self) -> Vec<(OsString, OsString)> {
            let home = self.dir.path().as_os_str();
            vec![
                ("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into()),
                ("HOME".into(), home.into()),
                ("TMUX_TMPDIR".into(), home.into()),
                ("SHELL".into(), "/bin/sh".into()),
            ]
        }

        fn pane_in(&self, session: PaneSession) -> Pane {
            let settings = PaneSettings {
                session,
                root: self.dir.path().to_owned(),
                env: self.env(),
                own_pane: None,
                own_terminal: None,
            };
            Pane::new(self.host.clone(), settings)
        }

        fn pane(&self) -> Pane {
            self.pane_in(PaneSession::Own("ostler-test".into()))
        }

        fn command(&self, script: &str) -> Command {
            Command {
                argv: ["sh", "-c", script].map(OsString::from).to_vec(),
                cwd: self.dir.path().to_owned(),
                env: self.env(),
                stdio: Stdio::Pipes,
                sandbox: None,
            }
        }

        async fn start(&self, pane: &Pane, script: &str) -> Process {
            let started = pane.spawn(self.command(script), script).await;
            started.unwrap_or_else(|error| panic!("{script}: {error}"))
        }

        async fn run(&self, pane: &Pane, script: &str) -> (String, Exit) {
            let mut process = self.start(pane, script).await;
            rest(&mut process).await
        }

        /// What tmux says to the person.
        fn tmux(&self, server: &[&str], words: &[&str]) -> String {
            let out = std::process::Command::new("tmux")
                .args(server)
                .args(words)
                .env_clear()
                .envs(self.env())
                .output()
                .unwrap();
            String::from_utf8_lossy(&out.stdout).into_owned()
        }

        fn own(&self, words: &[&str]) -> String {
            self.tmux(&["-L", "ostler-test"], words)
        }
    }

    async fn rest(process: &mut Process) -> (String, Exit) {
        let mut shown = Vec::new();
        loop {
            match process.next().await {
                Output::Stdout(bytes) | Output::Stderr(bytes) => shown.extend_from_slice(&bytes),
                Output::Exited(exit) => {
                    return (String::from_utf8_lossy(&shown).replace('\r', ""), exit);
                }
            }
        }
    }

    async fn until(mut is_so: impl FnMut() -> bool) {
        while !is_so() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    const TARGET: &str = "ostler-test:ostler-shared";

    async fn ends_are_told_whatever_a_command_does_to_its_shell() {
        let Some(yard) = Yard::new() else { return };
        let pane = yard.pane();
        for (script, code, shown) in [
            ("echo hi", 0, "hi\n"),
            ("exit 3", 3, ""),
            ("set -e; false; echo no", 1, ""),
            ("exec sh -c 'echo other; exit 7'", 7, "other\n"),
            ("kill -9 $$", 137, ""),
            ("kill -TERM $$", 143, ""),
            ("trap '' INT TERM HUP; exit 6", 6, ""),
            ("stty raw -echo; exit 5", 5, ""),
            ("printf 'no line end'", 0, "no line end"),
            (
                "printf '\\033[?1049h\\033[?25l\\033[2Jfull'; exit 4",
                4,
                "\x1b[?1049h\x1b[?25l\x1b[2Jfull",
            ),
            (
                "printf '%s\\n' 'it'\"'\"'s \"$quoted\"'",
                0,
                "it's \"$quoted\"\n",
            ),
            ("no-such-program-here 2>/dev/null", 127, ""),
            (
                "printf '\\033]7717;0;end;0\\007'; exit 9",
                9,
                "\x1b]7717;0;end;0\x07",
            ),
            ("(sleep 60 >/dev/null 2>&1 &) ; exit 2", 2, ""),
        ] {
            let (text, exit) = yard.run(&pane, script).await;
            // The shell may say what ended its child.
            let text = text
                .trim_start_matches("Killed\n")
                .trim_start_matches("Terminated\n");
            assert_eq!((text, exit.code), (shown, Some(code)), "{script}");
        }
        // The person sees what was run, as far as it was not cleared away.
        let screen = pane
            .capture(Capture {
                lines_above: 200,
                ..Capture::default()
            })
            .await
            .unwrap();
        assert!(screen.contains("ostler$ no-such-program-here"), "{screen}");
        assert!(!screen.contains(";begin;"), "{screen}");
    }

    async fn commands_run_where_and_with_what_they_are_told() {
        let Some(yard) = Yard::new() else { return };
        let pane = yard.pane();
        std::fs::create_dir(yard.dir.path().join("it's here")).unwrap();
        let mut command =
            yard.command("pwd; echo \"$NAME\"; test -t 0 && echo terminal; echo ${TMUX:-none}");
        command.cwd = yard.dir.path().join("it's here");
        command.env.push(("NAME".into(), "a 'b' $c\nd".into()));
        let mut process = pane.spawn(command, "pwd").await.unwrap();
        let (text, exit) = rest(&mut process).await;
        let expect = format!(
            "{}/it's here\na 'b' $c\nd\nterminal\nnone\n",
            yard.dir.path().display()
        );
        assert_eq!((text, exit.code), (expect, Some(0)));
        // The shell of the pane is as it was.
        let (text, _) = yard.run(&pane, "pwd").await;
        assert_eq!(text.trim(), yard.dir.path().display().to_string());
        let mut command = yard.command("true");
        command.cwd = "/no/such/folder".into();
        let mut process = pane.spawn(command, "true").await.unwrap();
        let (text, exit) = rest(&mut process).await;
        assert!(
            text.contains("/no/such/folder") && exit.code != Some(0),
            "{text} {exit:?}"
        );
    }

    async fn the_person_types_at_the_same_time() {
        let Some(yard) = Yard::new() else { return };
        let pane = yard.pane();
        pane.open().await.unwrap();
        // Half a word at the prompt, and a look at what was there before.
        yard.own(&["send-keys", "-t", TARGET, "echo half"]);
        assert_eq!(yard.run(&pane, "echo one").await.0, "one\n");
        yard.own(&["copy-mode", "-t", TARGET]);
        assert_eq!(yard.run(&pane, "echo two").await.0, "two\n");
        // An answer to what a command asks.
        let mut process = yard
            .start(&pane, "echo ready; read answer; echo got $answer")
            .await;
        yard.own(&["send-keys", "-t", TARGET, "word", "Enter"]);
        let (text, exit) = rest(&mut process).await;
        assert!(text.contains("got word") && exit.success(), "{text}");
        // Ctrl-C of the person ends the command, and not what waits for it.
        let mut process = yard.start(&pane, "sleep 1000").await;
        yard.own(&["send-keys", "-t", TARGET, "C-c"]);
        let (_, exit) = rest(&mut process).await;
        assert_eq!(exit.code, Some(130));
        assert_eq!(yard.run(&pane, "echo three").await.0, "three\n");
    }

    async fn a_program_that_somebody_began_is_not_typed_into() {
        let Some(yard) = Yard::new() else { return };
        let pane = yard.pane();
        yard.run(&pane, "true").await;
        yard.own(&["send-keys", "-t", TARGET, "sleep 1000", "Enter"]);
        let running = || {
            yard.own(&[
                "display-message",
                "-p",
                "-t",
                TARGET,
                "#{pane_current_command}",
            ])
        };
        until(|| running().trim() == "sleep").await;
        let error = pane.spawn(yard.command("echo no"), "echo no").await.err();
        assert_eq!(error, Some(PaneError::Busy("sleep".into())));
        pane.send_keys(&["C-c".into()], false).await.unwrap();
        until(|| running().trim() != "sleep").await;
        assert_eq!(yard.run(&pane, "echo yes").await.0, "yes\n");
    }

    async fn commands_take_turns_and_a_job_is_told() {
        let Some(yard) = Yard::new() else { return };
        let pane = yard.pane();
        let runs = (0..5).map(|at| {
            let (pane, command) = (
                pane.clone(),
                yard.command(&format!("echo {at}; sleep 0.05; echo {at}")),
            );
            tokio::spawn(async move {
                let mut process = pane.spawn(command, "echo").await.unwrap();
                (at, rest(&mut process).await.0)
            })
        });
        for run in runs.collect::<Vec<_>>() {
            let (at, text) = run.await.unwrap();
            assert_eq!(text, format!("{at}\n{at}\n"));
        }
        let process = yard.start(&pane, "sleep 1000").await;
        pane.mark_job();
        let error = pane
            .spawn(yard.command("echo no"), "echo no")
            .await
            .err()
            .unwrap();
        assert_eq!(error, PaneError::BusyWithJob("sleep 1000".into()));
        assert!(error.to_string().contains("kill_job"), "{error}");
        drop(process);
        assert_eq!(yard.run(&pane, "echo yes").await.0, "yes\n");
    }

    async fn a_command_that_nobody_wants_is_killed() {
        let Some(yard) = Yard::new() else { return };
        let pane = yard.pane();
        let mark = yard.dir.path().join("mark");
        let script = format!(
            "trap '' TERM; echo on; sleep 1000; sleep 1000; touch {}",
            mark.display()
        );
        let mut process = yard.start(&pane, &script).await;
        assert!(matches!(process.next().await, Output::Stdout(_)));
        process.signal(ostler_host::Signal::Kill);
        let (_, exit) = rest(&mut process).await;
        assert_eq!(exit.signal, Some(9));
        drop(process);
        let stubborn = yard.start(&pane, &script).await;
        drop(stubborn);
        assert_eq!(yard.run(&pane, "echo yes").await.0, "yes\n");
        assert!(!mark.exists());
    }

    async fn a_closed_pane_and_a_killed_server_are_clear_errors() {
        let Some(yard) = Yard::new() else { return };
        let pane = yard.pane();
        for words in [&["kill-pane", "-t", TARGET][..], &["kill-server"]] {
            let mut process = yard.start(&pane, "echo on; sleep 1000").await;
            yard.own(words);
            let (text, exit) = rest(&mut process).await;
            assert_eq!(exit, Exit::LOST, "{words:?}");
            assert!(
                text.contains("the shared pane was closed"),
                "{words:?}: {text}"
            );
            assert_eq!(
                yard.run(&pane, "echo again").await.0,
                "again\n",
                "{words:?}"
            );
        }
        // Between two commands.
        yard.own(&["send-keys", "-t", TARGET, "exit", "Enter"]);
        until(|| yard.own(&["list-sessions"]).is_empty()).await;
        assert_eq!(yard.run(&pane, "echo anew").await.0, "anew\n");
    }

    async fn keys_reach_a_program_in_full_screen() {
        let Some(yard) = Yard::new() else { return };
        let pane = yard.pane();
        let script = "printf '\\033[?1049h\\033[HMenu: %s\\n' 'press q'; read key; printf '\\033[?1049l'; echo left with $key";
        let mut process = yard.start(&pane, script).await;
        pane.mark_job();
        let shows = |screen: &str| screen.contains("Menu: press q");
        while !shows(&pane.capture(Capture::default()).await.unwrap()) {}
        pane.send_keys(&["q Enter".into()], true).await.unwrap();
        pane.send_keys(&["Enter".into()], false).await.unwrap();
        let (text, exit) = rest(&mut process).await;
        assert!(
            text.contains("left with q Enter") && exit.success(),
            "{text}"
        );
        let screen = pane.capture(Capture::default()).await.unwrap();
        assert!(
            screen.contains("left with q Enter") && !shows(&screen),
            "{screen}"
        );
    }

    async fn much_output_ends() {
        let Some(yard) = Yard::new() else { return };
        let pane = yard.pane();
        let (text, exit) = yard
            .run(&pane, "yes 0123456789 | head -n 200000; echo end")
            .await;
        assert!(exit.success());
        assert!(text.ends_with("end\n"), "{}", text.len());
        assert!(text.starts_with("0123456789\n"));
    }

    async fn a_session_of_the_person_is_used_and_left() {
        let Some(yard) = Yard::new() else { return };
        let named = || yard.pane_in(PaneSession::Named("mine".into()));
        assert_eq!(
            named().open().await,
            Err(PaneError::NoSession("mine".into()))
        );
        yard.tmux(&[], &["new-session", "-d", "-s", "mine", "-n", "work"]);
        let pane = named();
        assert_eq!(yard.run(&pane, "echo here").await.0, "here\n");
        let windows = || yard.tmux(&[], &["list-windows", "-t", "mine", "-F", "#{window_name}"]);
        assert_eq!(windows(), "work\nostler-shared\n");
        // Another Ostler does not take it away.
        assert_eq!(named().open().await, Err(PaneError::InUse("mine".into())));
        let process = yard.start(&pane, "echo on; sleep 1000").await;
        drop((process, pane));
        // What ran is ended; the person's session and the pane are still there, for the next one.
        let pane = named();
        assert_eq!(yard.run(&pane, "echo next").await.0, "next\n");
        assert_eq!(windows(), "work\nostler-shared\n");
        drop(pane);
        yard.tmux(&[], &["kill-server"]);
    }

    async fn our_own_pane_and_one_in_use_are_refused() {
        let Some(yard) = Yard::new() else { return };
        yard.tmux(
            &[],
            &["new-session", "-d", "-s", "mine", "-n", "ostler-shared"],
        );
        let id = yard.tmux(
            &[],
            &[
                "display-message",
                "-p",
                "-t",
                "mine",
                "#{pane_id} #{pane_tty}",
            ],
        );
        let (id, terminal) = id.trim().split_once(' ').unwrap();
        for (own_pane, own_terminal) in [(Some(id.to_owned()), None), (None, Some(terminal.into()))]
        {
            let settings = PaneSettings {
                session: PaneSession::Named("mine".into()),
                root: yard.dir.path().to_owned(),
                env: yard.env(),
                own_pane,
                own_terminal,
            };
            let pane = Pane::new(yard.host.clone(), settings);
            assert_eq!(pane.open().await, Err(PaneError::Ourselves));
        }
        yard.tmux(&[], &["kill-server"]);
    }

    async fn nothing_is_left_when_the_pane_is_dropped() {
        let Some(yard) = Yard::new() else { return };
        let pane = yard.pane();
        let mut process = yard.start(&pane, "echo $$; sleep 1000").await;
        let Output::Stdout(bytes) = process.next().await else {
            panic!("nothing was printed")
        };
        let pid = String::from_utf8_lossy(&bytes).trim().to_owned();
        let alive = || Path::new("/proc").join(&pid).exists();
        assert!(alive());
        drop((process, pane));
        until(|| !alive() && yard.own(&["list-sessions"]).is_empty()).await;
    }
}
