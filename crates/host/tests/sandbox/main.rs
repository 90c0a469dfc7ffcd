//! The escape suite: what a command tries in order to get out, on each layer this machine has, as root and as an
//! ordinary user; and what must go on working inside. Every attempt is first made without a sandbox, where it must
//! succeed, so that one that could never work does not pass for one that was stopped.

#[cfg(target_os = "linux")]
mod attempts;
#[cfg(target_os = "linux")]
#[path = "../common/mod.rs"]
mod common;
#[cfg(target_os = "linux")]
#[expect(clippy::print_stdout, reason = "each case tells what it tried")]
mod replaced;
#[cfg(target_os = "linux")]
#[expect(clippy::print_stdout, reason = "each case tells what it tried")]
mod sockets;
#[cfg(target_os = "linux")]
mod tries;
#[cfg(target_os = "linux")]
#[expect(clippy::print_stdout, reason = "each case tells what it tried")]
mod views;
#[cfg(target_os = "linux")]
mod world;

#[cfg(target_os = "linux")]
fn main() -> std::process::ExitCode {
    ostler_host::watchdog::run_if_asked();
    if let Some(code) = tries::run_if_asked() {
        return code;
    }
    // As the program does: it finds out what the machine can do, then closes itself. What it starts must not need a look
    // into it.
    ostler_host::sandbox::probe();
    ostler_host::hide(std::iter::empty());
    common::run(cases::ALL)
}

/// Other systems have no layer.
#[cfg(not(target_os = "linux"))]
fn main() {}

#[cfg(target_os = "linux")]
#[expect(clippy::print_stdout, reason = "each case tells what it tried")]
mod cases {
    use crate::attempts::{ATTEMPTS, Attempt, Held, WORK};
    use crate::cases;
    use crate::common::*;
    use crate::replaced::*;
    use crate::sockets::*;
    use crate::views::*;
    use crate::world::World;
    use ostler_host::sandbox::{self, Choice, Layer, Network, Plan, Policy, Readable};
    use ostler_host::{Command, Host, Local};
    use std::os::unix::process::CommandExt;
    use std::sync::Arc;
    use std::time::{Duration, Instant};

    pub const ALL: &[Case] = cases![
        what_this_machine_can_do,
        escapes_without_a_sandbox,
        escapes_from_namespaces,
        escapes_from_landlock,
        work_in_namespaces,
        work_in_landlock,
        secrets_that_are_replaced,
        folders_that_are_replaced_by_links,
        hidden_files_whose_folder_is_renamed,
        put_back_where_rights_were_taken,
        survivors,
        processes_of_its_own,
        a_keeper_or_init_that_is_killed,
        signals_from_outside,
        terminal_in_the_sandbox,
        a_list_of_what_may_be_read,
        an_open_network,
        no_network_at_all,
        a_socket_by_name,
        refusals_are_explained,
        a_sandbox_that_cannot_be,
        bubblewrap_on_request,
        nothing_writable,
        one_network_for_all_commands_of_a_session,
        a_door_in_the_network,
        a_reader_changes_nothing_and_sees_little,
        a_reader_sees_no_home_of_others,
        private_folders_are_for_one_command,
        many_readers_at_once,
        a_tmp_of_its_own,
        a_run_of_its_own,
        sockets_that_open_later,
        tmux_that_starts_later,
        a_call_that_changes_while_it_is_judged,
        sockets_of_the_session,
        a_server_that_takes_nobody,
        errors_of_connections,
        programs_that_connect,
        cost,
        as_an_ordinary_user,
    ];

    /// Nobody.
    const PLAIN_USER: u32 = 65534;

    async fn what_this_machine_can_do() {
        let report = sandbox::probe();
        println!("  {report:?}");
        assert_eq!(
            report.layers.contains(&Layer::Landlock),
            report.landlock_abi > 0 && report.seccomp
        );
        assert!(report.layers.is_sorted());
        assert!(report.layers.len() == 2 || !report.missing.is_empty());
    }

    /// The layer's choice, or `None` with a word on what is missing.
    pub fn usable(layer: Layer) -> Option<Choice> {
        let report = sandbox::probe();
        if !report.layers.contains(&layer) {
            println!("  skipped, this machine lacks: {:?}", report.missing);
            return None;
        }
        Some(match layer {
            Layer::Namespaces => Choice::Namespaces,
            Layer::Landlock => Choice::Landlock,
            Layer::Bubblewrap => Choice::Bubblewrap,
        })
    }

    async fn escapes_without_a_sandbox() {
        let mut idle = Vec::new();
        for attempt in ATTEMPTS.iter().filter(|attempt| attempt.control) {
            let world = World::new(Choice::Off).await;
            let out = world.attempt(attempt).await;
            if out.escaped.is_none() {
                println!("  {}: {out:?}", attempt.name);
                idle.push(attempt.name);
            }
        }
        assert!(idle.is_empty(), "these never escape: {idle:?}");
    }

    async fn escapes_from_namespaces() {
        escapes(Layer::Namespaces).await;
    }

    async fn escapes_from_landlock() {
        escapes(Layer::Landlock).await;
    }

    async fn escapes(layer: Layer) {
        let Some(choice) = usable(layer) else {
            return;
        };
        let mut wrong = Vec::new();
        for attempt @ Attempt { name, .. } in ATTEMPTS {
            let world = World::new(choice).await;
            let out = world.attempt(attempt).await;
            let held = attempt.held(layer);
            println!("  {name}: {}", out.shown());
            let expected = match held {
                Held::Yes => out.escaped.is_none() && out.undone == 0,
                Held::Undone => out.escaped.is_none() && out.undone > 0,
                Held::No => out.escaped.is_some() && out.told == 0,
            };
            if !expected {
                wrong.push(format!("{name}: wanted {held:?}, got {out:?}"));
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }

    async fn work_in_namespaces() {
        work(Layer::Namespaces).await;
    }

    async fn work_in_landlock() {
        work(Layer::Landlock).await;
    }

    async fn work(layer: Layer) {
        let Some(choice) = usable(layer) else {
            return;
        };
        let mut wrong = Vec::new();
        for (name, needs, script) in WORK {
            if *needs == "loopback" && layer == Layer::Landlock {
                println!("  {name}: skipped, Landlock gives no loopback of its own");
                continue;
            }
            if *needs != "loopback" && !present(needs) {
                println!("  {name}: skipped, there is no {needs}");
                continue;
            }
            let world = World::new(choice).await;
            let ran = world.run(script).await;
            println!("  {name}: {:?}", ran.exit.code);
            if !ran.exit.success() || !ran.stdout.contains("WORKS") {
                wrong.push(format!("{name}: {ran:?}"));
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }

    fn present(program: &str) -> bool {
        found(program).is_some()
    }

    /// A mount lies on a file, not on a name: one that is renamed over it comes without.
    async fn secrets_that_are_replaced() {
        const WAITS: &str = r#"
            echo up
            while [ ! -e go ]; do sleep 0.01; done
            cat $HOME/.ostler/memory/one $HOME/.ostler/sessions/one
            for f in auth.json .env .tmp1 .tmp2 new; do cat $HOME/.ostler/$f; done
            cat $HOME/token $HOME/.ssh/id
            ls -a $HOME/.ostler
        "#;
        for (layer, in_writable) in [
            (Layer::Namespaces, false),
            (Layer::Namespaces, true),
            (Layer::Landlock, false),
        ] {
            let Some(choice) = usable(layer) else {
                continue;
            };
            let mut world = World::new(choice).await;
            if in_writable {
                world.policy.writable.push(world.home.clone());
                // Of these, only a file that is there can be hidden then.
                world.policy.forbid_read.retain(|p| !p.ends_with("token"));
            }
            let ours = world.home.join(".ostler");
            std::fs::write(ours.join(".tmp1"), crate::world::SECRET).unwrap();
            let mut process = Local::new().spawn(world.command(WAITS)).await.unwrap();
            lines(&mut process, 1).await;
            for name in ["auth.json", ".env"] {
                std::fs::write(ours.join(".tmp2"), crate::world::SECRET).unwrap();
                std::fs::rename(ours.join(".tmp2"), ours.join(name)).unwrap();
            }
            std::fs::rename(ours.join(".tmp1"), ours.join("auth.json")).unwrap();
            std::fs::write(ours.join(".tmp2"), crate::world::SECRET).unwrap();
            std::fs::write(ours.join("new"), crate::world::SECRET).unwrap();
            if !in_writable {
                std::fs::write(world.home.join("token"), crate::world::SECRET).unwrap();
            }
            std::fs::write(world.root.join("go"), "").unwrap();
            let ran = finish(&mut process).await;
            println!("  {layer:?}: {}", ran.stdout.replace('\n', " "));
            assert!(
                !ran.stdout.contains(crate::world::SECRET),
                "{layer:?}: {ran:?}"
            );
            assert!(ran.stdout.contains("as it was"), "{layer:?}: {ran:?}");
        }
    }

    /// For root nothing is taken away by a mode; as an ordinary user this fails where rights are not regained first.
    async fn put_back_where_rights_were_taken() {
        const TAKES: &str = r#"
            echo evil > .mcp.json
            mkdir .git/hooks/x && echo evil > .git/hooks/x/y
            echo evil > .git/hooks/sample
            chmod 555 .git/hooks/x .git/hooks .git .
        "#;
        for layer in [Layer::Namespaces, Layer::Landlock] {
            let Some(choice) = usable(layer) else {
                continue;
            };
            let world = World::new(choice).await;
            let plan = std::sync::Arc::new(world.plan());
            let mut watch = plan.watch();
            run_to_end(&Local::new(), world.command_under(TAKES, plan)).await;
            let changes = watch.undo();
            println!("  {layer:?}: {changes:?}");
            assert!(!changes.is_empty(), "{layer:?}");
            assert!(
                changes.iter().all(|change| change.undone.is_ok()),
                "{layer:?}: {changes:?}"
            );
            assert!(!world.root.join(".mcp.json").exists(), "{layer:?}");
            assert!(!world.root.join(".git/hooks/x").exists(), "{layer:?}");
            let sample = std::fs::read_to_string(world.root.join(".git/hooks/sample"));
            assert_eq!(sample.unwrap(), crate::world::GOOD, "{layer:?}");
        }
    }

    async fn survivors() {
        const ESCAPES: &str = r#"
            sleep 1000 & echo $!
            setsid sleep 1000 & echo $!
            ( setsid env -i /bin/sh -c '/bin/sleep 1000 & echo $!' & )
            ( setsid sh -c 'setsid sh -c "setsid sleep 1000 & echo \$!" &' & )
            wait
        "#;
        for layer in [Layer::Namespaces, Layer::Landlock] {
            let Some(choice) = usable(layer) else {
                continue;
            };
            let world = World::new(choice).await;
            let local = Local::new();
            let mut process = local.spawn(world.command(ESCAPES)).await.unwrap();
            lines(&mut process, 4).await;
            // Their own numbers may mean nothing out here. Those that are yet to become one have another name.
            let watched = loop {
                let mut sleeping = descendants(process.pid());
                sleeping.retain(|pid| name_of(*pid) == "sleep");
                if sleeping.len() == 4 {
                    let one = |pid: &i32| watch("a survivor", &pid.to_string());
                    break sleeping.iter().map(one).collect::<Vec<Watched>>();
                }
                tokio::task::yield_now().await;
            };
            assert!(watched.iter().all(Watched::is_alive));
            drop(process);
            assert_all_die(watched).await;
        }
    }

    fn has_own_processes(world: &World) -> bool {
        let seen = "names and command lines of processes outside can be seen";
        let own = !world.plan().limits().contains(&seen);
        if !own {
            println!("  skipped, this machine lacks: a fresh /proc");
        }
        own
    }

    /// A command sees what it started and its init, and ends as it would anywhere.
    async fn processes_of_its_own() {
        let Some(choice) = usable(Layer::Namespaces) else {
            return;
        };
        for (script, stdout, exit) in [
            ("echo $$ $PPID", "2 1\n", code(0)),
            ("exit 7", "", code(7)),
            ("kill -9 $$", "", signal(9)),
            ("kill -TERM $$", "", signal(15)),
            ("kill -TERM 1; kill -KILL 1; echo on", "on\n", code(0)),
            ("sleep 100 & kill -9 -1; echo on", "on\n", code(0)),
            (
                "for p in /proc/[0-9]*; do echo ${p#/proc/}; done",
                "1\n2\n",
                code(0),
            ),
            (
                "readlink /proc/1/root /proc/1/exe /proc/1/fd/0 || echo no",
                "no\n",
                code(0),
            ),
            (
                "cat /proc/1/environ /proc/1/mem 2>/dev/null || echo no",
                "no\n",
                code(0),
            ),
            (
                "sleep 100 > /dev/null 2>&1 & echo early",
                "early\n",
                code(0),
            ),
        ] {
            let world = World::new(choice).await;
            if !has_own_processes(&world) {
                return;
            }
            let ran = world.run(script).await;
            println!("  {script}: {ran:?}");
            assert_eq!(
                (ran.stdout.as_str(), ran.exit),
                (stdout, exit),
                "{script}: {}",
                ran.stderr
            );
        }
    }

    /// Whoever goes takes everything along.
    async fn a_keeper_or_init_that_is_killed() {
        for layer in [Layer::Namespaces, Layer::Landlock] {
            let Some(choice) = usable(layer) else {
                continue;
            };
            for keeper_too in [true, false] {
                let world = World::new(choice).await;
                let script = "setsid sh -c 'setsid sleep 1000 & sleep 1000' & echo up; wait";
                let mut process = Local::new().spawn(world.command(script)).await.unwrap();
                lines(&mut process, 1).await;
                let below = descendants(process.pid());
                let (keeper, below) = below.split_first().unwrap();
                let watched: Vec<Watched> = below
                    .iter()
                    .filter_map(|pid| watch_if_there("below", &pid.to_string()))
                    .collect();
                match keeper_too {
                    true => watch("the keeper", &keeper.to_string()).kill(),
                    false => watch("the first", &process.pid().to_string()).kill(),
                }
                let exit = finish(&mut process).await.exit;
                if !keeper_too {
                    assert_eq!(exit, signal(9), "{layer:?}");
                }
                drop(process);
                if keeper_too || (layer == Layer::Namespaces && has_own_processes(&world)) {
                    assert_all_die(watched).await;
                }
            }
        }
    }

    async fn signals_from_outside() {
        use ostler_host::Signal::{Int, Kill, Term};
        for layer in [Layer::Namespaces, Layer::Landlock] {
            let Some(choice) = usable(layer) else {
                continue;
            };
            for (script, sent, exit) in [
                ("echo up; exec sleep 100", Term, signal(15)),
                ("echo up; exec sleep 100", Int, signal(2)),
                ("echo up; exec sleep 100", Kill, signal(9)),
                (
                    "trap 'exit 3' TERM; echo up; while :; do sleep 0.01; done",
                    Term,
                    code(3),
                ),
                (
                    "trap '' TERM INT; setsid sleep 100 & echo up; wait",
                    Kill,
                    signal(9),
                ),
            ] {
                let world = World::new(choice).await;
                let mut process = Local::new().spawn(world.command(script)).await.unwrap();
                lines(&mut process, 1).await;
                process.signal(sent);
                assert_eq!(finish(&mut process).await.exit, exit, "{script} {sent:?}");
            }
        }
    }

    fn name_of(pid: i32) -> String {
        let name = std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
        name.trim().to_owned()
    }

    /// Everything below the keeper of a command.
    fn descendants(pid: i32) -> Vec<i32> {
        let mut found = vec![stat_field(pid, 4)];
        let mut at = 0;
        while let Some(&parent) = found.get(at) {
            let all = std::fs::read_dir("/proc").unwrap().flatten();
            let pids = all.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
            let children: Vec<i32> = pids.filter(|pid| parent_of(*pid) == Some(parent)).collect();
            found.extend(children);
            at += 1;
        }
        found
    }

    fn parent_of(pid: i32) -> Option<i32> {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        let (_, rest) = stat.rsplit_once(')')?;
        rest.split_whitespace().nth(1)?.parse().ok()
    }

    async fn terminal_in_the_sandbox() {
        for layer in [Layer::Namespaces, Layer::Landlock] {
            let Some(choice) = usable(layer) else {
                continue;
            };
            let world = World::new(choice).await;
            let command = Command {
                stdio: ostler_host::Stdio::Pty { rows: 7, cols: 55 },
                ..world.command("test -t 1 && stty size && echo hi > /dev/tty")
            };
            let ran = run_to_end(&Local::new(), command).await;
            assert_eq!((ran.stdout.as_str(), ran.exit), ("7 55\r\nhi\r\n", code(0)));
            // Groups of processes take turns on the terminal.
            let jobs = "set -m; (exit 3); echo $?; echo a | cat; sleep 100 & kill %1; echo b | cat";
            let command = Command {
                stdio: ostler_host::Stdio::Pty { rows: 7, cols: 55 },
                ..world.command(jobs)
            };
            let ran = run_to_end(&Local::new(), command).await;
            let said: Vec<&str> = ran.stdout.lines().filter(|line| line.len() == 1).collect();
            assert_eq!(
                (said.as_slice(), ran.exit),
                (["3", "a", "b"].as_slice(), code(0)),
                "{ran:?}"
            );
        }
    }

    async fn a_list_of_what_may_be_read() {
        for layer in [Layer::Namespaces, Layer::Landlock] {
            let Some(choice) = usable(layer) else {
                continue;
            };
            let world = World::new(choice).await;
            let system = ["/usr", "/bin", "/lib", "/lib64", "/etc/ld.so.cache"];
            let policy = Policy {
                readable: Readable::List(system.iter().map(Into::into).collect()),
                ..world.policy.clone()
            };
            let out = world.out.join("victim");
            let script = format!(
                "cat {}; cat /etc/passwd; cat /usr/bin/env >/dev/null && echo WORKS",
                out.display()
            );
            let command = Command {
                sandbox: Some(Arc::new(Plan::prepare(&policy).unwrap())),
                ..world.command(&script)
            };
            let ran = run_to_end(&Local::new(), command).await;
            assert_eq!(ran.stdout, "WORKS\n", "{ran:?}");
        }
    }

    async fn an_open_network() {
        for layer in [Layer::Namespaces, Layer::Landlock] {
            let Some(choice) = usable(layer) else {
                continue;
            };
            let mut world = World::new(choice).await;
            world.policy.network = Network::On;
            let ran = world.run("$TRY tcp $PORT; $TRY vsock").await;
            assert_eq!(ran.stdout, "ESCAPED tcp\n", "{ran:?}");
        }
    }

    async fn no_network_at_all() {
        for layer in [Layer::Namespaces, Layer::Landlock] {
            let Some(choice) = usable(layer) else {
                continue;
            };
            let mut world = World::new(choice).await;
            world.policy.network = Network::Off;
            let ran = world.run("$TRY inner-server; $TRY inner-pair").await;
            assert_eq!(ran.stdout, "WORKS inner-pair\n", "{ran:?}");
        }
    }

    /// The agent of a host grant: this one socket and no other.
    async fn a_socket_by_name() {
        for layer in [Layer::Namespaces, Layer::Landlock] {
            let Some(choice) = usable(layer) else {
                continue;
            };
            let mut world = World::new(choice).await;
            world.policy.sockets = vec![world.socket.clone()];
            let other = std::os::unix::net::UnixListener::bind(world.out.join("other")).unwrap();
            let ran = world.run("$TRY unix $SOCK; $TRY unix $OUT/other").await;
            assert_eq!(ran.stdout, "ESCAPED unix\n", "{ran:?}");
            drop(other);
            let named = "every unix socket can be talked to, not only those named";
            assert!(!world.plan().limits().contains(&named));
        }
    }

    async fn refusals_are_explained() {
        for layer in [Layer::Namespaces, Layer::Landlock] {
            let Some(choice) = usable(layer) else {
                continue;
            };
            for script in [
                "echo x > $OUT/new",
                "cat $HOME/.ssh/id",
                "mkdir $OUT/folder",
                "rm $OUT/victim",
            ] {
                let world = World::new(choice).await;
                let ran = world.run(script).await;
                let denial =
                    sandbox::explain(&world.policy, layer, world.top(), ran.exit, &ran.stderr);
                println!("  {script}: {denial:?}");
                let Some(sandbox::Denial {
                    what: sandbox::Subject::Path(path),
                    ..
                }) = denial
                else {
                    panic!("{script}: {ran:?}");
                };
                assert!(path.starts_with(world.top()), "{script}: {ran:?}");
            }
        }
    }

    /// Not the whole suite: what is made by system calls alone is let through by that program.
    async fn bubblewrap_on_request() {
        const HELD: [&str; 14] = [
            "write outside",
            "delete outside",
            "write by a link",
            "rename out",
            "shell start file",
            "a hook of git",
            "the folder above the hooks",
            "our project file",
            "read a secret",
            "read a secret of the workspace",
            "environment of another process",
            "a signal to another process",
            "unix socket",
            "tcp to the loopback outside",
        ];
        let missing = World::new(Choice::Bubblewrap).await;
        let error = Plan::prepare(&missing.policy).unwrap_err();
        assert!(error.to_string().contains("bwrap"), "{error}");
        let Some(program) = found("bwrap") else {
            println!("  skipped, there is no bwrap");
            return;
        };
        let mut wrong = Vec::new();
        for attempt in ATTEMPTS.iter().filter(|a| HELD.contains(&a.name)) {
            let mut world = World::new(Choice::Bubblewrap).await;
            world.policy.bubblewrap = Some(program.clone());
            if let Err(error) = Plan::prepare(&world.policy) {
                println!("  skipped: {error}");
                return;
            }
            let out = world.attempt(attempt).await;
            println!("  {}: {}", attempt.name, out.shown());
            if out.escaped.is_some() || out.undone > 0 {
                wrong.push(format!("{}: {out:?}", attempt.name));
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
        let mut world = World::new(Choice::Bubblewrap).await;
        world.policy.bubblewrap = Some(program);
        let script = "echo x > made && cat made && $TRY inner-server && exit 5";
        let mut ran = world.run(script).await;
        // bwrap fails when a socket that it is to hide vanishes meanwhile, as those of other tests do.
        for _ in 0..20 {
            if !ran.stderr.starts_with("bwrap: Can't") {
                break;
            }
            ran = world.run(script).await;
        }
        assert_eq!(
            (ran.stdout.as_str(), ran.exit),
            ("x\nWORKS inner-server\n", code(5)),
            "{ran:?}"
        );
    }

    pub fn found(program: &str) -> Option<std::path::PathBuf> {
        ["/usr/local/bin", "/usr/bin", "/bin"]
            .iter()
            .map(|folder| std::path::Path::new(folder).join(program))
            .find(|path| path.exists())
    }

    /// While planning: not even temporary files, but devices and pipes.
    async fn nothing_writable() {
        for layer in [Layer::Namespaces, Layer::Landlock] {
            let Some(choice) = usable(layer) else {
                continue;
            };
            let mut world = World::new(choice).await;
            world.policy.writable.clear();
            world.policy.protect.clear();
            let script = "for f in $ROOT/new $TMPDIR/new /tmp/new-$$ /dev/shm/new-$$ /var/tmp/new-$$; do echo x 2>/dev/null > $f && echo wrote $f; done; echo x > /dev/null && echo a | cat; cat ostler.toml";
            let ran = world.run(script).await;
            assert_eq!(ran.stdout, "a\nas it was\n", "{ran:?}");
        }
    }

    /// A server of one command is there for the next of the same network, and for nobody else.
    async fn one_network_for_all_commands_of_a_session() {
        let Some(choice) = usable(Layer::Namespaces) else {
            return;
        };
        let local = Local::new();
        let world = World::new(choice).await;
        let mut server = local.spawn(world.command("$TRY listen")).await.unwrap();
        let port = lines(&mut server, 1).await.concat();
        let script = format!("$TRY tcp {port}");
        let reached = async |world: &World| world.run(&script).await.stdout == "ESCAPED tcp\n";
        assert!(reached(&world).await);
        let mut planning = World::new(choice).await;
        assert!(!reached(&planning).await, "another session");
        planning.policy.shared = world.policy.shared.clone();
        planning.policy.writable.clear();
        planning.policy.protect.clear();
        assert!(reached(&planning).await, "nothing writable");
        for network in [Network::Off, Network::Loopback, Network::On] {
            planning.policy.network = network;
            assert!(!reached(&planning).await, "{network:?}");
        }
        let outside = std::net::TcpStream::connect(format!("127.0.0.1:{port}"));
        assert!(outside.is_err(), "{outside:?}");
        // Nobody is seen or can be sent a signal, although all are of one user.
        let alone = world.run("kill -0 -1 && echo SEEN").await;
        let missing = &sandbox::probe().missing;
        if !missing
            .iter()
            .any(|m| m.what.to_string().contains("processes"))
        {
            assert_eq!(alone.stdout, "", "{alone:?}");
        }
        server.signal(ostler_host::Signal::Kill);
        finish(&mut server).await;
        assert!(!reached(&world).await);
    }

    /// The listener in the network is ours to answer, and nobody else's.
    async fn a_door_in_the_network() {
        let Some(choice) = usable(Layer::Namespaces) else {
            return;
        };
        let mut world = World::new(choice).await;
        let door = world.door.take().expect("a listener");
        let door = tokio::net::TcpListener::from_std(door).unwrap();
        let script = format!("$TRY tcp {}", sandbox::PROXY.port());
        for _ in 0..2 {
            let mut process = Local::new().spawn(world.command(&script)).await.unwrap();
            door.accept().await.unwrap();
            assert_eq!(finish(&mut process).await.stdout, "ESCAPED tcp\n");
        }
        // Its place cannot be taken.
        let ran = world
            .run("$TRY take-door 127.0.0.1; $TRY take-door 0.0.0.0; $TRY take-door [::]")
            .await;
        assert_eq!(ran.stdout, "", "{ran:?}");
        // Out here nobody listens.
        let outside = std::net::TcpStream::connect(sandbox::PROXY);
        assert!(outside.is_err(), "{outside:?}");
        for network in [Network::Off, Network::Loopback, Network::On] {
            world.policy.network = network;
            assert_eq!(world.run(&script).await.stdout, "", "{network:?}");
        }
    }

    async fn a_sandbox_that_cannot_be() {
        let relative = Policy {
            writable: vec!["here".into()],
            ..Policy::default()
        };
        let error = Plan::prepare(&relative).unwrap_err();
        assert!(error.to_string().contains("here"), "{error}");
        let off = Policy {
            layer: Choice::Off,
            ..Policy::default()
        };
        assert_eq!(Plan::prepare(&off).unwrap().layer(), None);
    }

    /// Microseconds that each layer adds to the shortest command. Only said, as machines differ; turn by turn, so that
    /// what else the machine does falls on all alike.
    async fn cost() {
        const ROUNDS: usize = 60;
        let local = Local::new();
        let mut rows = Vec::new();
        for layer in [Choice::Off, Choice::Landlock, Choice::Namespaces] {
            for (name, world) in [
                ("command", World::new(layer).await),
                ("reader", reader_of_a_full_home(layer).await),
            ] {
                if Plan::prepare(&world.policy).is_ok() {
                    rows.push((name, world, Vec::new(), Vec::new()));
                }
            }
        }
        for _ in 0..ROUNDS {
            for (_, world, preparing, running) in &mut rows {
                let start = Instant::now();
                let plan = Arc::new(world.plan());
                preparing.push(start.elapsed());
                let command = Command {
                    argv: vec!["/bin/true".into()],
                    ..world.command_under("", plan)
                };
                let start = Instant::now();
                let ran = run_to_end(&local, command).await;
                running.push(start.elapsed());
                assert!(ran.exit.success(), "{ran:?}");
            }
        }
        let median = |times: &mut Vec<Duration>| {
            times.sort_unstable();
            times[times.len() / 2].as_micros()
        };
        let mut base = None;
        for (name, world, preparing, running) in &mut rows {
            let (preparing, running) = (median(preparing), median(running));
            let base = *base.get_or_insert(running);
            println!(
                "  {:?}, {name}: /bin/true {running} µs, {} more than without; preparing {preparing} µs",
                world.policy.layer,
                running.saturating_sub(base)
            );
        }
    }

    /// All of the above again, when root runs them.
    async fn as_an_ordinary_user() {
        if !rustix::process::geteuid().is_root() {
            println!("  already one");
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("suite");
        std::fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
        let open = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(folder.path(), open).unwrap();
        let mut command = std::process::Command::new(&program);
        command.env_clear().current_dir("/");
        command.uid(PLAIN_USER).gid(PLAIN_USER);
        let output = tokio::task::spawn_blocking(move || command.output())
            .await
            .unwrap()
            .unwrap();
        for text in [&output.stdout, &output.stderr] {
            println!("{}", String::from_utf8_lossy(text));
        }
        assert!(output.status.success());
    }
}
