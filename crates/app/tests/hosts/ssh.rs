//! A place over ssh: a real server on the loopback address, with keys and settings of its own.

use super::{helper, is_there, told};
use crate::common::{Scene, skipped, wait_for};
use ostler_testkit::{Kind, Output, Step};
use serde_json::json;
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

pub struct Server {
    child: Child,
    port: u16,
    folder: PathBuf,
    user: String,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ended = self.child.kill();
        let _ended = self.child.wait();
    }
}

fn said(program: &str, args: &[&str]) -> String {
    let out = Command::new(program).args(args).output().unwrap();
    String::from_utf8(out.stdout).unwrap().trim().to_owned()
}

fn make_key(path: &Path) {
    let made = Command::new("ssh-keygen")
        .args(["-q", "-t", "ed25519", "-N", "", "-f"])
        .arg(path)
        .status();
    assert!(made.unwrap().success());
}

/// None where no server can be had.
pub fn server(folder: &Path) -> Option<Server> {
    helper()?;
    if !is_there("sshd") || !is_there("ssh") || !is_there("ssh-keygen") {
        return None;
    }
    std::fs::create_dir_all(folder).unwrap();
    for name in ["host", "key"] {
        make_key(&folder.join(name));
    }
    std::fs::copy(folder.join("key.pub"), folder.join("authorized")).unwrap();
    let port = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port();
    let at = |name: &str| folder.join(name).display().to_string();
    let config = format!(
        "Port {port}\nListenAddress 127.0.0.1\nHostKey {}\nAuthorizedKeysFile {}\nPidFile none\nUsePAM no\nStrictModes no\nPasswordAuthentication no\nKbdInteractiveAuthentication no\nPermitRootLogin prohibit-password\nSetEnv XDG_CACHE_HOME={}\n",
        at("host"),
        at("authorized"),
        at("cache")
    );
    std::fs::write(folder.join("sshd_config"), config).unwrap();
    let is_root = said("id", &["-u"]) == "0";
    if is_root {
        // A folder that the server wants to be there.
        std::fs::create_dir_all("/run/sshd").unwrap();
    }
    let child = Command::new("/usr/sbin/sshd")
        .args(["-D", "-e", "-f", &at("sshd_config")])
        .stdin(Stdio::null())
        .stderr(std::fs::File::create(folder.join("log")).unwrap())
        .spawn()
        .unwrap();
    let mut server = Server {
        child,
        port,
        folder: folder.to_owned(),
        user: said("id", &["-un"]),
    };
    for _ in 0..200 {
        if TcpStream::connect(("127.0.0.1", port)).is_ok() {
            return Some(server);
        }
        if server.child.try_wait().unwrap().is_some() {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    skipped("sshd does not start here");
    None
}

impl Server {
    /// A `ssh` of the person's own that knows this server, first on their PATH.
    pub fn path(&self, known: &str) -> String {
        let bin = self.folder.join("bin");
        std::fs::create_dir_all(&bin).unwrap();
        std::fs::write(self.folder.join("known"), known).unwrap();
        let at = |name: &str| self.folder.join(name).display().to_string();
        let script = format!(
            "#!/bin/sh\nexec /usr/bin/ssh -F /dev/null -i {} -o IdentitiesOnly=yes -o UserKnownHostsFile={} -o GlobalKnownHostsFile=/dev/null -o StrictHostKeyChecking=yes -o LogLevel=ERROR \"$@\"\n",
            at("key"),
            at("known")
        );
        let program = bin.join("ssh");
        std::fs::write(&program, script).unwrap();
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(&program, mode).unwrap();
        format!("{}:/usr/local/bin:/usr/bin:/bin", bin.display())
    }

    pub fn key_line(&self) -> String {
        let key = std::fs::read_to_string(self.folder.join("host.pub")).unwrap();
        let mut words = key.split_whitespace();
        let (kind, key) = (words.next().unwrap(), words.next().unwrap());
        format!("[127.0.0.1]:{} {kind} {key}\n", self.port)
    }

    /// A `ssh` that has never seen this server, with a key that has a passphrase.
    pub fn asking_path(&self, passphrase: &str) -> String {
        let bin = self.folder.join("asking");
        std::fs::create_dir_all(&bin).unwrap();
        let at = |name: &str| self.folder.join(name).display().to_string();
        let changed = Command::new("ssh-keygen")
            .args(["-q", "-p", "-P", "", "-N", passphrase, "-f", &at("key")])
            .status();
        assert!(changed.unwrap().success());
        let script = format!(
            "#!/bin/sh\nexec /usr/bin/ssh -F /dev/null -i {} -o IdentitiesOnly=yes -o UserKnownHostsFile={} -o GlobalKnownHostsFile=/dev/null -o LogLevel=ERROR \"$@\"\n",
            at("key"),
            at("seen")
        );
        let program = bin.join("ssh");
        std::fs::write(&program, script).unwrap();
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(&program, mode).unwrap();
        format!("{}:/usr/local/bin:/usr/bin:/bin", bin.display())
    }

    pub fn destination(&self) -> String {
        format!("{}@127.0.0.1:{}", self.user, self.port)
    }

    pub fn run(&self, scene: &Scene, known: &str, project: &Path, more: &[&str]) -> Output {
        let destination = self.destination();
        let mut args = vec![
            "exec",
            "--ssh",
            &destination,
            "--root",
            project.to_str().unwrap(),
        ];
        args.extend_from_slice(more);
        args.extend(["--format", "json", "-p", "work"]);
        scene
            .space
            .run(env!("CARGO_BIN_EXE_ostler"))
            .args(args)
            .env("PATH", self.path(known))
            .output()
    }
}

#[test]
fn a_whole_task_over_ssh() {
    let scene = Scene::new(
        Kind::Chat,
        [
            Step::answer().call(
                "bash",
                json!({"command": "pwd; test -n \"$SSH_CONNECTION\" && echo over-ssh"}),
            ),
            Step::answer().call(
                "write_file",
                json!({"path": "new.txt", "content": "needle\n"}),
            ),
            Step::answer().call("grep", json!({"pattern": "needle"})),
            Step::answer().text("Done."),
        ],
    );
    let top = scene.space.user_home().join("ssh");
    let Some(server) = server(&top) else { return };
    let project = top.join("project");
    std::fs::create_dir_all(&project).unwrap();
    let known = server.key_line();
    let out = server
        .run(&scene, &known, &project, &["--yolo", "--install-helper"])
        .ok();
    let told = told(&out);
    let real = project.canonicalize().unwrap();
    assert!(told[0].contains(real.to_str().unwrap()), "{told:?}");
    assert!(told[0].contains("over-ssh"), "{told:?}");
    assert!(told[2].contains("new.txt:1:needle"), "{told:?}");
    assert_eq!(
        std::fs::read_to_string(project.join("new.txt")).unwrap(),
        "needle\n"
    );
    // It is found where it was put the next time, and taken away when that is asked for.
    let destination = server.destination();
    let clean = scene
        .ostler(["host", "clean", "--ssh", &destination])
        .env("PATH", server.path(&known))
        .output()
        .ok();
    assert!(
        clean.stderr.contains("was removed from ssh"),
        "{}",
        clean.stderr
    );
}

impl Server {
    /// The processes that serve one connection each.
    fn connections(&self) -> Vec<String> {
        let found = said(
            "ps",
            &["-o", "pid=", "--ppid", &self.child.id().to_string()],
        );
        found.split_whitespace().map(str::to_owned).collect()
    }
}

#[test]
fn a_command_outlives_its_connection() {
    let command = "echo once >> ran; i=0; while [ $i -lt 40 ]; do i=$((i+1)); seq $((i*10)) $((i*10+9)); [ $i = 9 ] && touch cut; sleep 0.05; done; echo end";
    let scene = Scene::new(
        Kind::Chat,
        [
            Step::answer().call("bash", json!({"command": command})),
            Step::answer().text("Done."),
        ],
    );
    let top = scene.space.user_home().join("ssh");
    let Some(server) = server(&top) else { return };
    let project = top.join("project");
    std::fs::create_dir_all(&project).unwrap();
    let known = server.key_line();
    let out = std::thread::scope(|scope| {
        let cutting = scope.spawn(|| {
            wait_for("the command", || project.join("cut").exists().then_some(()));
            for pid in server.connections() {
                said("kill", &["-9", &pid]);
            }
        });
        let more = ["--yolo", "--install-helper"];
        let out = server.run(&scene, &known, &project, &more);
        cutting.join().unwrap();
        out.ok()
    });
    let told = told(&out);
    let expect: String = (10..410).map(|n| format!("{n}\\n")).collect();
    assert!(told[0].contains(&format!("{expect}end")), "{told:?}");
    assert!(out.stderr.contains("is lost"), "{}", out.stderr);
    assert!(out.stderr.contains("is back"), "{}", out.stderr);
    assert_eq!(
        std::fs::read_to_string(project.join("ran")).unwrap(),
        "once\n"
    );
}

#[test]
fn what_ssh_asks_the_person_answers_unseen() {
    let scene = Scene::new(Kind::Chat, [Step::answer().text("It is done.")]);
    let top = scene.space.user_home().join("ssh");
    let Some(server) = server(&top) else { return };
    let project = top.join("project");
    std::fs::create_dir_all(&project).unwrap();
    let key = top.join("key").display().to_string();
    said(
        "ssh-keygen",
        &["-p", "-q", "-P", "", "-N", "open sesame", "-f", &key],
    );
    // The host is not known either.
    let path = server.path("");
    let program = top.join("bin/ssh");
    let script = std::fs::read_to_string(&program).unwrap();
    let script = script.replace("StrictHostKeyChecking=yes", "StrictHostKeyChecking=ask");
    std::fs::write(&program, script).unwrap();
    let destination = server.destination();
    let run = scene
        .ostler([
            "--plain",
            "--ssh",
            &destination,
            "--install-helper",
            "--yolo",
        ])
        .args(["--root", project.to_str().unwrap()])
        .env("PATH", path);
    let mut term = run.on_terminal(100, 40);
    term.wait_for("(yes/no");
    // What is typed within the first moment counts for nothing.
    std::thread::sleep(std::time::Duration::from_millis(700));
    term.keys("yes\r");
    term.wait_for("Enter passphrase");
    std::thread::sleep(std::time::Duration::from_millis(300));
    term.keys("open sesame\r");
    term.wait_for("(ssh ");
    term.keys("work\r");
    let screen = term.wait_for("It is done.");
    assert!(!screen.contains("sesame"), "{screen}");
    let kept = crate::common::files(scene.space.home());
    for file in kept {
        let text = std::fs::read(&file).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        assert!(!text.contains("sesame"), "{}", file.display());
    }
}

#[test]
fn a_server_that_is_another_or_none_is_said() {
    let scene = Scene::new(Kind::Chat, [Step::answer().text("Done.")]);
    let top = scene.space.user_home().join("ssh");
    let Some(mut server) = server(&top) else {
        return;
    };
    let project = top.join("project");
    std::fs::create_dir_all(&project).unwrap();
    make_key(&top.join("other"));
    let other = std::fs::read_to_string(top.join("other.pub")).unwrap();
    let mut words = other.split_whitespace();
    let (kind, key) = (words.next().unwrap(), words.next().unwrap());
    let changed = format!("[127.0.0.1]:{} {kind} {key}\n", server.port);
    let out = server.run(&scene, &changed, &project, &["--install-helper"]);
    assert_eq!(out.code, Some(1), "{}", out.stderr);
    assert!(
        out.stderr.to_lowercase().contains("host key"),
        "{}",
        out.stderr
    );
    // Another key of the person is refused.
    std::fs::write(top.join("authorized"), "").unwrap();
    let known = server.key_line();
    let out = server.run(&scene, &known, &project, &["--install-helper"]);
    assert_eq!(out.code, Some(1), "{}", out.stderr);
    assert!(out.stderr.contains("Permission denied"), "{}", out.stderr);
    // And a server that is down.
    server.child.kill().unwrap();
    server.child.wait().unwrap();
    wait_for("the server's end", || {
        TcpStream::connect(("127.0.0.1", server.port)).err()
    });
    let out = server.run(&scene, &known, &project, &["--install-helper"]);
    assert_eq!(out.code, Some(1), "{}", out.stderr);
    assert!(out.stderr.contains("Connection refused"), "{}", out.stderr);
    assert!(scene.server.requests().is_empty());
}
