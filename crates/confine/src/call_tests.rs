//! `bash` and its jobs in the sandbox of a call.

use super::{CallSandbox, SandboxMode, SandboxSettings, Terms};
use crate::testing::call_sandbox;
use ostler_host::sandbox::{Choice, Layer, Network, Policy, probe};
use ostler_tools::builtin::bash::{Bash, render};
use ostler_tools::builtin::kill_job::KillJob;
use ostler_tools::testing::{Bench, run};
use ostler_tools::tool::{Context, Tool};
use serde_json::{Value, json};
use std::sync::Arc;

struct Shell {
    bench: Bench,
    cx: Context,
    sandbox: CallSandbox,
}

impl Shell {
    fn settings(&mut self) -> &mut SandboxSettings {
        Arc::make_mut(&mut self.sandbox.settings)
    }

    /// A context whose programs run under these terms.
    fn context(&self, terms: Terms) -> Context {
        let mut cx = self.cx.clone();
        cx.services.programs = Arc::new(CallSandbox {
            terms,
            ..self.sandbox.clone()
        });
        cx
    }

    async fn call(&self, tool: &impl Tool, args: Value) -> Value {
        match run(tool, args, self.context(Terms::default())).await {
            Ok(done) => done.data,
            Err(e) => json!({"error": {"code": e.code, "message": e.message}}),
        }
    }

    async fn bash(&self, args: Value) -> Value {
        self.call(&Bash, args).await
    }
}

const LAYERS: [(Layer, Choice); 2] = [
    (Layer::Namespaces, Choice::Namespaces),
    (Layer::Landlock, Choice::Landlock),
];

/// A shell in its root, in which `settings` and `hooks` are protected; only the first is there.
fn shell(mode: SandboxMode, layer: Choice) -> Shell {
    let bench = Bench::new();
    bench.put("settings", "good");
    let cx = bench.context("bash");
    let mut shell = Shell {
        sandbox: call_sandbox(&cx),
        bench,
        cx,
    };
    let policy = Policy {
        writable: vec![shell.bench.root()],
        protect: ["settings", "hooks"].map(|n| shell.bench.path(n)).to_vec(),
        layer,
        ..Policy::default()
    };
    *shell.settings() = SandboxSettings {
        mode,
        policy,
        ..SandboxSettings::default()
    };
    shell
}

fn working() -> impl Iterator<Item = Choice> {
    let here = LAYERS.iter().filter(|(l, _)| probe().layers.contains(l));
    here.map(|(_, choice)| *choice)
}

#[tokio::test]
async fn protected_paths_are_as_before_however_the_command_ends() {
    for layer in working() {
        let shell = shell(SandboxMode::Require, layer);
        let command = "echo evil > settings; echo evil > hooks";
        let check = |what: &str| {
            assert_eq!(shell.bench.get("settings"), b"good", "{layer:?} {what}");
            assert!(!shell.bench.path("hooks").exists(), "{layer:?} {what}");
        };
        let data = shell.bash(json!({"command": command})).await;
        check("done");
        let changed = data["protected"].as_array().unwrap();
        let hooks = shell.bench.path("hooks").display().to_string();
        assert!(
            changed.iter().any(|c| c["path"] == hooks.as_str()),
            "{data}"
        );
        assert!(render(&data).contains("hooks was put back"), "{data}");

        let job = json!({"command": format!("{command}; sleep 60"), "wait": 1});
        let job = shell.bash(job).await;
        let killed = shell.call(&KillJob, json!({"job": job["job"]})).await;
        check("killed");
        assert!(
            killed["stdout"]
                .as_str()
                .unwrap()
                .contains("hooks was put back"),
            "{killed}"
        );

        let mut hurried = shell.context(Terms::default());
        Arc::make_mut(&mut hurried.services.settings).bash_timeout_seconds = 1;
        let slow = json!({"command": format!("{command}; sleep 60")});
        let done = run(&Bash, slow, hurried).await.unwrap();
        assert_eq!(done.data["timed_out"], true);
        check("out of time");
    }
}

/// What a command does under some terms: whether it could write in its root and outside, and read the secret.
async fn under(shell: &Shell, outside: &std::path::Path, terms: Terms) -> [bool; 3] {
    let cx = shell.context(terms);
    let command = format!(
        "echo x > made; echo x > {out}/made; cat {out}/secret/key",
        out = outside.display()
    );
    let done = run(&Bash, json!({"command": command}), cx).await.unwrap();
    let made = |path: std::path::PathBuf| std::fs::remove_file(path).is_ok();
    [
        made(shell.bench.path("made")),
        made(outside.join("made")),
        done.data["stdout"].as_str().unwrap().contains("4711"),
    ]
}

#[tokio::test]
async fn terms_hold_for_their_command() {
    for layer in working() {
        let mut shell = shell(SandboxMode::Require, layer);
        let dir = tempfile::tempdir().unwrap();
        let outside = dir.path().canonicalize().unwrap();
        std::fs::create_dir(outside.join("secret")).unwrap();
        std::fs::write(outside.join("secret/key"), "4711").unwrap();
        let secret = vec![outside.join("secret")];
        shell.settings().policy.forbid_read = secret.clone();
        let none = Terms::default;
        for (terms, expect) in [
            (none(), [true, false, false]),
            (
                Terms {
                    read_only: true,
                    ..none()
                },
                [false, false, false],
            ),
            (
                Terms {
                    writable: vec![outside.clone()],
                    ..none()
                },
                [true, true, false],
            ),
            (
                Terms {
                    read_only: true,
                    writable: vec![outside.clone()],
                    readable: secret.clone(),
                    ..none()
                },
                [false, false, true],
            ),
            (
                Terms {
                    readable: vec![outside.join("secret/key")],
                    ..none()
                },
                [true, false, true],
            ),
        ] {
            let told = format!("{layer:?} {terms:?}");
            if layer == Choice::Landlock && terms.writable.contains(&outside) && !terms.read_only {
                // A named limit: what lies in a writable folder can be read.
                continue;
            }
            assert_eq!(under(&shell, &outside, terms).await, expect, "{told}");
        }
        shell.settings().sealed = secret.clone();
        let terms = Terms {
            readable: secret,
            ..none()
        };
        assert_eq!(
            under(&shell, &outside, terms).await,
            [true, false, false],
            "{layer:?}"
        );
    }
}

#[tokio::test]
async fn a_denial_carries_what_would_let_it_through() {
    for layer in working() {
        let mut shell = shell(SandboxMode::Require, layer);
        let dir = tempfile::tempdir().unwrap();
        let outside = dir.path().canonicalize().unwrap();
        std::fs::write(outside.join("secret"), "4711").unwrap();
        shell.settings().policy.forbid_read = vec![outside.join("secret")];
        let out = outside.display();
        for (command, grant) in [
            (format!("mkdir {out}/new"), json!({"writable": [outside]})),
            (
                format!("cat {out}/secret"),
                json!({"readable": [outside.join("secret")]}),
            ),
            ("echo x > settings; cat settings; false".into(), Value::Null),
        ] {
            let data = shell.bash(json!({"command": command})).await;
            assert_eq!(data["denied"]["grant"], grant, "{layer:?} {data}");
            if grant.is_null() {
                continue;
            }
            let cx = shell.context(serde_json::from_value(grant).unwrap());
            let again = run(&Bash, json!({"command": command}), cx).await.unwrap();
            assert_eq!(again.data["exit_code"], 0, "{layer:?} {}", again.data);
        }
        shell.settings().sealed = vec![outside.join("secret")];
        let data = shell
            .bash(json!({"command": format!("cat {out}/secret")}))
            .await;
        assert_eq!(data["denied"]["grant"], Value::Null, "{data}");
        assert!(
            data["denied"]["hint"]
                .as_str()
                .unwrap()
                .contains("nothing can be granted")
        );
        let cx = shell.context(Terms {
            read_only: true,
            ..Terms::default()
        });
        let done = run(&Bash, json!({"command": "echo x > made"}), cx)
            .await
            .unwrap();
        let denied = &done.data["denied"];
        assert!(
            denied["hint"].as_str().unwrap().contains("only reads"),
            "{denied}"
        );
        assert_eq!(denied["wrote_as_reader"], true);
        assert_eq!(denied["grant"], Value::Null);
    }
}

/// What a command of these terms hears from a host that only `granted` may reach, and which hosts are told of it.
async fn ask(shell: &Shell, terms: &Terms, address: &str, proxy: &str) -> (String, Value) {
    let cx = shell.context(terms.clone());
    let curl = "curl -s -m 20 --noproxy '' -o /dev/null -w '%{http_code}'";
    let command = format!("{curl} -x {proxy} http://{address}/");
    let done = run(&Bash, json!({"command": command}), cx).await;
    let data = done.unwrap().data;
    (
        data["stdout"].as_str().unwrap().to_owned(),
        data["hosts"][0]["allowed"].clone(),
    )
}

/// A job that was granted a host runs beside commands that were not: one network, each its own hosts.
#[tokio::test]
async fn a_grant_is_for_its_command_alone() {
    let layer = Choice::Namespaces;
    let curl = std::path::Path::new("/usr/bin/curl").exists();
    if !working().any(|choice| choice == layer) || !curl {
        return;
    }
    let server = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = server.local_addr().unwrap().to_string();
    tokio::spawn(async move {
        use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
        while let Ok((mut client, _)) = server.accept().await {
            let _partly = client.read(&mut [0; 999]).await;
            let _gone = client.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await;
        }
    });
    let mut shell = shell(SandboxMode::Require, layer);
    shell.settings().policy.network = Network::Proxy;
    let granted = Terms {
        hosts: vec!["127.0.0.1".into()],
        ..Terms::default()
    };
    let none = Terms::default();
    let cx = shell.context(granted.clone());
    let job = json!({"command": "sleep 60", "wait": false});
    run(&Bash, job, cx).await.unwrap();
    let strange = "http://t:0123@127.0.0.1:61080";
    for (terms, proxy, heard, told) in [
        (&granted, "$http_proxy", "200", json!(true)),
        (&none, "$http_proxy", "403", json!(false)),
        (&none, "http://127.0.0.1:61080", "407", Value::Null),
        (&granted, strange, "407", Value::Null),
    ] {
        let got = ask(&shell, terms, &address, proxy).await;
        assert_eq!(got, (heard.to_owned(), told), "{terms:?} {proxy}");
    }
    // The pass of a command that has ended is worth nothing.
    let cx = shell.context(granted);
    let said = run(&Bash, json!({"command": "echo $http_proxy"}), cx).await;
    let said = said.unwrap().data["stdout"].as_str().unwrap().to_owned();
    let (heard, _) = ask(&shell, &none, &address, said.trim()).await;
    assert_eq!(heard, "407");
}

#[tokio::test]
async fn where_a_layer_is_missing_it_is_told_once_or_nothing_runs() {
    // Its program was not found, as on a machine that does not have it.
    let layer = Choice::Bubblewrap;
    let required = shell(SandboxMode::Require, layer);
    let data = required.bash(json!({"command": "echo x > made"})).await;
    assert_eq!(data["error"]["code"], "sandbox_unavailable", "{data}");
    assert!(!required.bench.path("made").exists());
    let wished = shell(SandboxMode::Enforce, layer);
    for notices in [1, 0, 0] {
        let args = json!({"command": "echo x"});
        let done = run(&Bash, args, wished.context(Terms::default()))
            .await
            .unwrap();
        assert_eq!(done.data["stdout"], "x\n");
        assert_eq!(done.also.len(), notices, "{:?}", done.also);
    }
}
