//! Unix sockets: those of programs outside that open while a command runs, and those of the session's own commands.

use crate::cases::{found, usable};
use crate::common::*;
use crate::tries::wait_for;
use crate::world::World;
use ostler_host::sandbox::{Choice, Layer, Network};
use ostler_host::{Host, Local, Process};
use std::io::ErrorKind;
use std::os::unix::net::UnixListener;

const NETWORKS: [Network; 4] = [Network::Proxy, Network::Loopback, Network::Off, Network::On];

async fn world(choice: Choice, network: Network) -> World {
    let mut world = World::new(choice).await;
    world.policy.network = network;
    world
}

async fn start(local: &Local, world: &World, script: &str) -> Process {
    let mut process = local.spawn(world.command(script)).await.unwrap();
    lines(&mut process, 1).await;
    process
}

fn was_reached(listener: &UnixListener) -> bool {
    listener.set_nonblocking(true).unwrap();
    match listener.accept() {
        Ok(_) => true,
        Err(error) => {
            assert_eq!(error.kind(), ErrorKind::WouldBlock);
            false
        }
    }
}

/// No list made at the start of a command knows them.
pub async fn sockets_that_open_later() {
    for layer in [Layer::Namespaces, Layer::Landlock] {
        let Some(choice) = usable(layer) else {
            continue;
        };
        for network in NETWORKS {
            let (local, world) = (Local::new(), world(choice, network).await);
            for (place, path) in [
                (world.out.join("late"), "$OUT/late"),
                (world.home.join("late"), "../home/late"),
                (world.home.join(".ostler/late"), "$HOME/.ostler/late"),
                (world.root.join("late"), "late"),
                (world.out.join("aimed"), "$ROOT/link"),
            ] {
                let script = format!(
                    "rm -f go; ln -sf $OUT/aimed link; echo up; $TRY late go {path}; exec $TRY late go {path}"
                );
                let mut process = start(&local, &world, &script).await;
                let listener = UnixListener::bind(&place).unwrap();
                std::fs::write(world.root.join("go"), "").unwrap();
                let ran = finish(&mut process).await;
                let reached = was_reached(&listener);
                assert!(!reached, "{layer:?} {network:?} {path}: {ran:?}");
                assert_eq!(ran.stdout, "", "{layer:?} {network:?} {path}: {ran:?}");
            }
        }
    }
}

/// The reproduction: a server that runs what it is told.
pub async fn tmux_that_starts_later() {
    let Some(tmux) = found("tmux") else {
        println!("  skipped, there is no tmux");
        return;
    };
    let Some(choice) = usable(Layer::Namespaces) else {
        return;
    };
    let world = World::new(choice).await;
    let socket = world.out.join("tmux");
    let script = "echo up; $TRY late $OUT/tmux $OUT/tmux; tmux -S $OUT/tmux run-shell 'echo x > $OUT/new'; tmux -S $OUT/tmux kill-server";
    let mut process = start(&Local::new(), &world, script).await;
    let outside = |words: &[&str]| {
        let mut command = std::process::Command::new(&tmux);
        command.arg("-S").arg(&socket).args(["-f", "/dev/null"]);
        let env = [("PATH", "/usr/bin:/bin"), ("SHELL", "/bin/sh")];
        command.args(words).env_clear().envs(env);
        command.output().unwrap()
    };
    let made = outside(&["new-session", "-d", "sleep 100"]);
    let ran = finish(&mut process).await;
    let alive = outside(&["kill-server"]);
    assert!(made.status.success(), "{made:?}");
    assert!(alive.status.success(), "{alive:?}");
    assert!(!world.out.join("new").exists(), "{ran:?}");
    println!("  {}", ran.stderr.replace('\n', " | "));
}

/// The address and the descriptor change while the call is being judged.
pub async fn a_call_that_changes_while_it_is_judged() {
    for network in [Network::Proxy, Network::On] {
        let Some(choice) = usable(Layer::Namespaces) else {
            return;
        };
        let world = world(choice, network).await;
        let listener = UnixListener::bind(world.out.join("late")).unwrap();
        let ran = world.run("$TRY swap $ROOT/own $OUT/late").await;
        println!("  {network:?}: {}", ran.stdout.trim());
        assert!(!was_reached(&listener), "{network:?}: {ran:?}");
        assert!(ran.stdout.contains("own sockets reached"), "{ran:?}");
    }
}

/// A server of one command is there for the next, by every kind of name; with a client that outlives its shell, too.
pub async fn sockets_of_the_session() {
    let Some(choice) = usable(Layer::Namespaces) else {
        return;
    };
    for network in [Network::Proxy, Network::On] {
        let (local, world) = (Local::new(), world(choice, network).await);
        let run = async |script: &str| run_to_end(&local, world.command(script)).await;
        let name = world.root.join("own").display().to_string();
        let mut server = start(&local, &world, "exec $TRY serve-unix $ROOT/own").await;
        let mut named = start(&local, &world, &format!("exec $TRY serve-abstract {name}")).await;
        for script in [
            "$TRY unix $ROOT/own",
            "$TRY unix own",
            "mkdir -p deep && cd deep && ln -sf .. up && $TRY unix up/./own",
            "ln -sf $ROOT/own link && $TRY unix link",
            "$TRY threads $ROOT/own",
        ] {
            let ran = run(script).await;
            assert!(
                ran.stdout.starts_with("ESCAPED"),
                "{network:?} {script}: {ran:?}"
            );
        }
        let ran = run(&format!("$TRY abstract {name}")).await;
        assert_eq!(ran.stdout, "ESCAPED abstract\n", "{network:?}: {ran:?}");
        let script = "(setsid sh -c 'sleep 0.1; $TRY unix $ROOT/own > done; mv done left' > /dev/null 2>&1 &)";
        run(script).await;
        let left = world.root.join("left");
        tokio::task::spawn_blocking(move || {
            assert!(wait_for(&left));
            let text = std::fs::read_to_string(&left).unwrap();
            assert_eq!(text, "ESCAPED unix\n");
        })
        .await
        .unwrap();
        for server in [&mut server, &mut named] {
            server.signal(ostler_host::Signal::Kill);
            finish(server).await;
        }
        let (far, other) = (Local::new(), self::world(choice, network).await);
        let _server = start(&far, &other, "exec $TRY serve-unix $ROOT/own").await;
        let path = other.root.join("own").display().to_string();
        let ran = run(&format!("$TRY unix {path}")).await;
        assert_eq!(ran.stdout, "", "{network:?}, of another session: {ran:?}");
    }
}

/// Servers that take nobody hold up neither other calls nor the end of the command.
pub async fn a_server_that_takes_nobody() {
    let Some(choice) = usable(Layer::Namespaces) else {
        return;
    };
    let world = World::new(choice).await;
    let mut process = start(&Local::new(), &world, "$TRY crowd $ROOT/full").await;
    process.signal(ostler_host::Signal::Term);
    assert_eq!(finish(&mut process).await.exit, signal(15));
    let ran = world.run("$TRY inner-unix $ROOT/inner").await;
    assert_eq!(ran.stdout, "WORKS inner-unix\n", "{ran:?}");
}

/// Errors are those that a program would get without a supervisor.
pub async fn errors_of_connections() {
    for layer in [Layer::Namespaces, Layer::Landlock] {
        let Some(choice) = usable(layer) else {
            continue;
        };
        let mut world = World::new(choice).await;
        if layer == Layer::Landlock {
            // Only then is there anything to connect.
            world.policy.sockets = vec![world.socket.clone()];
        }
        for (script, says) in [
            ("$TRY unix $ROOT/not-there", "os error 2"),
            ("$TRY unix $ROOT/ostler.toml", "os error 111"),
            ("$TRY unix $ROOT/ostler.toml/x", "os error 20"),
            ("$TRY not-a-socket", "os error 88"),
            ("$TRY bad-address", "os error 14"),
        ] {
            let ran = world.run(script).await;
            assert!(ran.stderr.contains(says), "{layer:?} {script}: {ran:?}");
        }
    }
}

/// Programs of every day that connect.
pub async fn programs_that_connect() {
    let Some(choice) = usable(Layer::Namespaces) else {
        return;
    };
    const ASYNC: &str = r#"/usr/bin/env python3 -c '
import asyncio
async def main():
    async def echo(r, w):
        w.write(await r.readline()); await w.drain(); w.close()
    for made, opened, where in (
        (asyncio.start_unix_server, asyncio.open_unix_connection, ["s"]),
        (asyncio.start_server, asyncio.open_connection, ["127.0.0.1", 7001]),
    ):
        server = await made(echo, *where)
        for i in range(50):
            r, w = await opened(*where)
            w.write(b"x\n"); assert await r.readline() == b"x\n"; w.close()
        server.close()
asyncio.run(main())
print("WORKS")'"#;
    const NODE: &str = "node -e '
const net = require(\"net\");
const s = net.createServer(c => c.end(\"x\")).listen(\"n.sock\", () => {
  const c = net.connect(\"n.sock\"); c.on(\"data\", () => { console.log(\"WORKS\"); s.close(); });
});'";
    for (program, script) in [
        ("python3", ASYNC),
        ("node", NODE),
        ("ls", "ls -l > /dev/null && id > /dev/null && echo WORKS"),
    ] {
        if found(program).is_none() {
            println!("  skipped, there is no {program}");
            continue;
        }
        let ran = World::new(choice).await.run(script).await;
        assert!(ran.stdout.contains("WORKS"), "{program}: {ran:?}");
    }
}
