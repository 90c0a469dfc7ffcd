//! Nothing outlives us, however we die. Each case runs this same program again in the part of us, kills it, and looks
//! at what it had started.

#[cfg(target_os = "linux")]
mod common;

#[cfg(target_os = "linux")]
fn main() -> std::process::ExitCode {
    ostler_host::watchdog::run_if_asked();
    if let Some(part) = std::env::args().skip_while(|arg| arg != PART).nth(1) {
        parts::play(&part);
    }
    common::run(cases::ALL)
}

/// The scripts need programs that other systems lack.
#[cfg(not(target_os = "linux"))]
fn main() {}

/// The argument before the name of a part to play.
#[cfg(target_os = "linux")]
const PART: &str = "--part";

/// What the program does that is going to be killed.
#[cfg(target_os = "linux")]
mod parts {
    #![expect(
        clippy::print_stdout,
        reason = "the case reads what its part found out"
    )]

    use crate::common::*;
    use ostler_host::{Exit, Host, Local, Process};
    use rustix::process::{Signal, kill_process};

    pub const RESET: &str = "\x1b[?25h<reset>";

    pub fn play(part: &str) -> ! {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        runtime.block_on(async {
            match part {
                "busy" => busy().await,
                "leave" => {
                    busy_commands(&Local::new()).await;
                    std::process::exit(0);
                }
                "recover" => recover().await,
                "die-raw" => die_raw(Guard::Kept).await,
                "die-released" => die_raw(Guard::Released).await,
                _ => panic!("no such part"),
            }
        });
        std::process::exit(1);
    }

    /// Starts everything that could survive, says their numbers, and waits to be killed.
    async fn busy() {
        let local = Local::new();
        let (first, _processes) = busy_commands(&local).await;
        let keeper = stat_field(first, 4);
        println!("keeper {keeper}");
        println!("watchdog {}", stat_field(keeper, 4));
        println!("ready 0");
        std::future::pending::<()>().await;
    }

    /// Loses its watchdog and a keeper, and goes on.
    async fn recover() {
        let local = Local::new();
        let script = "( setsid sh -c 'sleep 1000 & echo $!' & ); sleep 1000";
        let mut process = local.spawn(sh(script)).await.unwrap();
        let escaped = watch("escaped", &lines(&mut process, 1).await[0]);
        let keeper = parent(process.pid());
        parent(keeper.pid.as_raw_nonzero().get()).kill();
        keeper.kill();
        assert_eq!(finish(&mut process).await.exit, Exit::LOST);
        escaped.assert_dies().await;
        assert_eq!(run_to_end(&local, sh("exit 5")).await.exit, code(5));
        println!("recovered");
        std::process::exit(0);
    }

    async fn busy_commands(local: &Local) -> (i32, Vec<Process>) {
        let stubborn = r#"trap "" TERM HUP INT QUIT; echo $$; while :; do sleep 1000; done"#;
        let mut processes = Vec::new();
        for (name, script) in [
            ("plain", String::from("echo $$; exec sleep 1000")),
            ("child", "sleep 1000 & echo $!; wait".into()),
            ("setsid", "setsid sleep 1000 & echo $!; wait".into()),
            (
                "double-fork",
                "( setsid env -i /bin/sh -c '/bin/sleep 1000 & echo $!' & ); sleep 1000".into(),
            ),
            ("stubborn", stubborn.into()),
            (
                "stubborn-apart",
                format!("setsid sh -c '{stubborn}' & wait"),
            ),
            ("stopped", "sh -c 'echo $$; kill -STOP $$' & wait".into()),
        ] {
            let mut process = local.spawn(sh(&script)).await.unwrap();
            println!("{name} {}", lines(&mut process, 1).await[0]);
            processes.push(process);
        }
        let mut process = local
            .spawn(pty("sleep 1000 & echo $!; wait"))
            .await
            .unwrap();
        println!("terminal {}", lines(&mut process, 1).await[0]);
        processes.push(process);
        let mut finished = local.spawn(sh("sleep 1000 & echo $!")).await.unwrap();
        println!("leftover {}", finish(&mut finished).await.stdout.trim());
        (processes[0].pid(), processes)
    }

    enum Guard {
        Kept,
        Released,
    }

    /// Makes the terminal raw and dies of SIGKILL.
    async fn die_raw(guard: Guard) {
        use rustix::termios::{OptionalActions, tcgetattr, tcsetattr};
        let local = Local::new();
        local.guard_terminal(RESET.as_bytes()).await.unwrap();
        let watchdog = {
            let process = local.spawn(sh("sleep 1000")).await.unwrap();
            stat_field(stat_field(process.pid(), 4), 4)
        };
        println!("watchdog {watchdog}");
        let stdin = std::io::stdin();
        let mut termios = tcgetattr(&stdin).unwrap();
        termios.make_raw();
        tcsetattr(&stdin, OptionalActions::Now, &termios).unwrap();
        match guard {
            Guard::Kept => {}
            Guard::Released => {
                local.release_terminal().await.unwrap();
                // A request is answered only after the one before it was heard.
                run_to_end(&local, sh("true")).await;
            }
        }
        kill_process(rustix::process::getpid(), Signal::KILL).unwrap();
    }
}

#[cfg(target_os = "linux")]
mod cases {
    #![expect(clippy::print_stdout, reason = "a case that is skipped says so")]

    use crate::common::*;
    use crate::{PART, cases, parts};
    use ostler_host::{Command, Host, Local};
    use rustix::process::{Signal, kill_process};
    use std::io::{BufRead, BufReader};
    use std::process::{Child, Stdio};

    pub const ALL: &[Case] = cases![
        killed,
        terminated,
        ended,
        killed_with_watchdog,
        killed_after_watchdog,
        killed_with_keeper,
        interrupt_from_the_terminal_spares_the_watchdog,
        terminal_is_restored,
        released_terminal_is_left_alone,
        started_by_hand,
        first_process_of_a_container,
    ];

    /// Of /proc/PID/stat.
    const SESSION: usize = 6;

    struct Busy {
        child: Child,
        started: Vec<Watched>,
    }

    impl Busy {
        fn start() -> Self {
            let mut child = std::process::Command::new("/proc/self/exe")
                .args([PART, "busy"])
                .stdout(Stdio::piped())
                .spawn()
                .unwrap();
            let stdout = BufReader::new(child.stdout.take().unwrap());
            let mut started = Vec::new();
            for line in stdout.lines() {
                let line = line.unwrap();
                let (name, pid) = line.split_once(' ').unwrap();
                if name == "ready" {
                    break;
                }
                started.push(watch(name, pid));
            }
            assert_eq!(started.len(), 11);
            assert!(started.iter().all(Watched::is_alive));
            Self { child, started }
        }

        fn named(&self, name: &str) -> &Watched {
            self.started.iter().find(|one| one.name == name).unwrap()
        }

        async fn end(mut self, signal: Signal) {
            let pid = rustix::process::Pid::from_child(&self.child);
            kill_process(pid, signal).unwrap();
            self.child.wait().unwrap();
            assert_all_die(self.started).await;
        }
    }

    async fn killed() {
        Busy::start().end(Signal::KILL).await;
    }

    async fn terminated() {
        Busy::start().end(Signal::TERM).await;
    }

    async fn ended() {
        let output = std::process::Command::new("/proc/self/exe")
            .args([PART, "leave"])
            .output()
            .unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        assert_eq!(text.lines().count(), 9, "{text}");
        for line in text.lines() {
            let (name, pid) = line.split_once(' ').unwrap();
            if let Some(left) = watch_if_there(name, pid) {
                left.assert_dies().await;
            }
        }
    }

    async fn killed_with_watchdog() {
        let mut busy = Busy::start();
        busy.child.kill().unwrap();
        busy.named("watchdog").kill();
        busy.child.wait().unwrap();
        assert_all_die(busy.started).await;
    }

    async fn killed_after_watchdog() {
        let busy = Busy::start();
        busy.named("watchdog").kill();
        busy.end(Signal::KILL).await;
    }

    async fn killed_with_keeper() {
        let mut busy = Busy::start();
        busy.named("keeper").kill();
        busy.child.kill().unwrap();
        busy.child.wait().unwrap();
        assert_all_die(busy.started).await;
    }

    /// What a terminal sends goes to our group; the watchdog must be alive to clean up after us.
    async fn interrupt_from_the_terminal_spares_the_watchdog() {
        let busy = Busy::start();
        let watchdog = busy.named("watchdog");
        for signal in [Signal::INT, Signal::TERM, Signal::HUP, Signal::QUIT] {
            kill_process(watchdog.pid, signal).unwrap();
        }
        let number = watchdog.pid.as_raw_nonzero().get();
        assert_eq!(stat_field(number, SESSION), number);
        assert!(watchdog.is_alive());
        busy.end(Signal::KILL).await;
    }

    /// Plays a part on a terminal below a shell, as a person would run it, and shows what the terminal is like after.
    async fn terminal_after(part: &str) -> String {
        let program = std::env::current_exe().unwrap();
        let script = format!(
            r#"watchdog=$({} {PART} {part} | cut -d' ' -f2); \
               while kill -0 $watchdog 2>/dev/null; do sleep 0.01; done; stty"#,
            program.display()
        );
        let command = Command {
            cwd: "/".into(),
            ..pty(&script)
        };
        run_to_end(&Local::new(), command).await.stdout
    }

    async fn terminal_is_restored() {
        let shown = terminal_after("die-raw").await;
        assert!(shown.contains(parts::RESET), "{shown:?}");
        assert!(!shown.contains("-icanon"), "{shown:?}");
        assert!(shown.contains("speed"), "{shown:?}");
    }

    async fn released_terminal_is_left_alone() {
        let shown = terminal_after("die-released").await;
        assert!(!shown.contains(parts::RESET), "{shown:?}");
        assert!(shown.contains("-icanon"), "{shown:?}");
    }

    async fn started_by_hand() {
        let output = std::process::Command::new("/proc/self/exe")
            .arg("__watchdog")
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(2));
        let told = String::from_utf8(output.stderr).unwrap();
        assert_eq!(
            told,
            "__watchdog is started by the program itself, not by hand\n"
        );
        let local = Local::new();
        local.warm_up().await.unwrap();
        assert!(local.spawn(sh("true")).await.is_ok());
    }

    /// There the session we are in has no number.
    async fn first_process_of_a_container() {
        let container = |command: &[&str]| {
            std::process::Command::new("unshare")
                .args(["--map-root-user", "--pid", "--fork", "--mount-proc"])
                .args(command)
                .output()
        };
        if !container(&["true"]).is_ok_and(|output| output.status.success()) {
            println!("skipped: this system does not let us make a pid namespace");
            return;
        }
        let program = std::env::current_exe().unwrap();
        let output = container(&[program.to_str().unwrap(), PART, "recover"]).unwrap();
        let told = String::from_utf8(output.stdout).unwrap();
        assert_eq!(
            told,
            "recovered\n",
            "{:?}",
            String::from_utf8(output.stderr)
        );
    }
}
