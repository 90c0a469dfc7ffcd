//! A small world to escape from: a workspace, a home with secrets, files and programs outside.

use crate::attempts::Attempt;
use crate::common::{Ran, env, run_to_end};
use ostler_host::sandbox::{self, Choice, ClosedFolder, Network, Plan, Policy};
use ostler_host::{Command, Host, Local, Stdio};
use rustix::fd::OwnedFd;
use rustix::pty::{OpenptFlags, openpt, ptsname, unlockpt};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::net::{TcpListener, UdpSocket};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::net::{SocketAddr, UnixDatagram, UnixListener};
use std::path::{Path, PathBuf};
use std::process::Child;
use std::sync::Arc;

pub const SECRET: &str = "SECRET-4711";
pub const GOOD: &str = "as it was\n";

pub struct World {
    folder: tempfile::TempDir,
    pub root: PathBuf,
    pub out: PathBuf,
    pub home: PathBuf,
    pub socket: PathBuf,
    pub policy: Policy,
    /// What its commands find at the address of the proxy.
    pub door: Option<TcpListener>,
    before: BTreeMap<PathBuf, String>,
    victim: Child,
    /// Shared memory that holds the secret.
    segment: i32,
    tcp: TcpListener,
    udp: UdpSocket,
    datagrams: UnixDatagram,
    _listeners: (UnixListener, UnixListener),
    /// Our side of a terminal, and the path of the other one.
    terminal: (OwnedFd, PathBuf),
}

impl Drop for World {
    fn drop(&mut self) {
        let _gone = self.victim.kill();
        let _gone = self.victim.wait();
        crate::tries::remove_segment(self.segment);
    }
}

/// What came of an attempt.
#[derive(Debug)]
pub struct Outcome {
    /// What the command managed to do outside.
    pub escaped: Option<String>,
    /// Protected paths that had to be put back.
    pub undone: usize,
    /// Those that could not be.
    pub told: usize,
    ran: Ran,
}

impl Outcome {
    pub fn shown(&self) -> String {
        let said = self.ran.stderr.lines().last().unwrap_or("no word");
        if self.told > 0 {
            return format!("{} changes noticed", self.told);
        }
        match (&self.escaped, self.undone) {
            (Some(how), _) => format!("ESCAPED as known ({how})"),
            (None, 0) => format!("refused ({said})"),
            (None, count) => format!("{count} changes undone"),
        }
    }
}

impl World {
    pub async fn new(layer: Choice) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let top = folder.path().canonicalize().unwrap();
        let [root, out, home, tmp] = ["root", "out", "home", "tmp"].map(|name| top.join(name));
        for path in [&root, &out, &home, &tmp] {
            fs::create_dir(path).unwrap();
        }
        for (path, text) in [
            (out.join("victim"), GOOD),
            (home.join(".bashrc"), GOOD),
            (home.join(".ostler/config.toml"), GOOD),
            (home.join(".ostler/auth.json"), SECRET),
            (home.join(".ostler/.env"), SECRET),
            (home.join(".ostler/memory/one"), GOOD),
            (home.join(".ostler/sessions/one"), SECRET),
            (home.join(".ssh/id"), SECRET),
            (root.join(".env"), SECRET),
            (root.join("ostler.toml"), GOOD),
            (root.join(".ostler/agents/a.md"), GOOD),
            (root.join(".git/hooks/sample"), GOOD),
            (root.join(".git/HEAD"), "ref: refs/heads/main\n"),
            (root.join(".git/config"), "[core]\n\tbare = false\n"),
        ] {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        for name in ["objects", "refs"] {
            fs::create_dir(root.join(".git").join(name)).unwrap();
        }
        for name in [root.join("hard"), home.join("hard")] {
            fs::hard_link(home.join(".ssh/id"), name).unwrap();
        }
        let protect = [
            ".git/hooks",
            ".git/config",
            "ostler.toml",
            ".ostler",
            ".mcp.json",
        ];
        let shared = match Local::new().network(layer).await {
            Ok(shared) => shared,
            Err(error @ sandbox::Error::Network { .. }) => panic!("{error}"),
            // A layer that this machine lacks; the cases say so.
            Err(_) => None,
        };
        let (shared, door) = shared.map(|(n, door)| (Arc::new(n), door)).unzip();
        let policy = Policy {
            writable: vec![root.clone(), tmp, "/dev/shm".into()],
            forbid_read: vec![
                home.join(".ssh"),
                home.join(".ostler/auth.json"),
                home.join(".ostler/.env"),
                home.join("token"),
                root.join(".env"),
            ],
            closed: vec![ClosedFolder {
                folder: home.join(".ostler"),
                shown: vec![home.join(".ostler/memory")],
            }],
            protect: protect.iter().map(|name| root.join(name)).collect(),
            network: Network::Proxy,
            shared,
            layer,
            ..Policy::default()
        };
        let socket = out.join("socket");
        let listener = UnixListener::bind(&socket).unwrap();
        let datagrams = UnixDatagram::bind(out.join("datagrams")).unwrap();
        datagrams.set_nonblocking(true).unwrap();
        let name = socket.as_os_str().as_encoded_bytes();
        let hidden = SocketAddr::from_abstract_name(name).unwrap();
        let hidden = UnixListener::bind_addr(&hidden).unwrap();
        let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
        udp.set_nonblocking(true).unwrap();
        let victim = std::process::Command::new("sleep")
            .arg("1000")
            .env("TOKEN", SECRET)
            .spawn()
            .unwrap();
        Self {
            before: tree(&[&out, &home, &root]),
            folder,
            root,
            out,
            home,
            socket,
            policy,
            door,
            victim,
            segment: crate::tries::make_segment(SECRET),
            tcp: TcpListener::bind("127.0.0.1:0").unwrap(),
            udp,
            datagrams,
            _listeners: (listener, hidden),
            terminal: terminal(),
        }
    }

    pub fn top(&self) -> &Path {
        self.root.parent().unwrap_or(self.folder.path())
    }

    pub fn plan(&self) -> Plan {
        Plan::prepare(&self.policy).unwrap()
    }

    pub fn command(&self, script: &str) -> Command {
        self.command_under(script, self.plan().into())
    }

    pub fn command_under(&self, script: &str, plan: Arc<Plan>) -> Command {
        let mut env = env();
        let exe = std::env::current_exe().unwrap();
        let port =
            |address: std::io::Result<std::net::SocketAddr>| address.unwrap().port().to_string();
        for (name, value) in [
            ("ROOT", self.root.as_os_str()),
            ("OUT", self.out.as_os_str()),
            ("HOME", self.home.as_os_str()),
            ("TMPDIR", self.top().join("tmp").as_os_str()),
            ("SOCK", self.socket.as_os_str()),
            ("TERMINAL", self.terminal.1.as_os_str()),
            ("TRY", exe.as_os_str()),
            ("VICTIM", self.victim.id().to_string().as_ref()),
            ("SEGMENT", self.segment.to_string().as_ref()),
            ("PORT", port(self.tcp.local_addr()).as_ref()),
            ("UDP", port(self.udp.local_addr()).as_ref()),
        ] {
            env.push((name.into(), value.into()));
        }
        for name in [
            "AUTHOR_NAME",
            "AUTHOR_EMAIL",
            "COMMITTER_NAME",
            "COMMITTER_EMAIL",
        ] {
            env.push((format!("GIT_{name}").into(), "me".into()));
        }
        let mut command = Command {
            argv: ["sh", "-c", script].iter().map(Into::into).collect(),
            cwd: self.root.clone(),
            env,
            stdio: Stdio::Pipes,
            sandbox: None,
        };
        command.put_on(&plan);
        command
    }

    pub async fn run(&self, script: &str) -> Ran {
        run_to_end(&Local::new(), self.command(script)).await
    }

    pub async fn attempt(&self, attempt: &Attempt) -> Outcome {
        let plan = Arc::new(self.plan());
        let mut watch = plan.watch();
        assert!(watch.complete());
        let mut command = self.command_under(attempt.script, plan);
        if attempt.terminal {
            command.stdio = Stdio::Pty { rows: 7, cols: 55 };
        }
        let ran = run_to_end(&Local::new(), command).await;
        let changes = watch.undo();
        let (undone, told): (Vec<_>, Vec<_>) = changes.iter().partition(|c| c.undone.is_ok());
        Outcome {
            escaped: self.escaped(&ran),
            undone: undone.len(),
            told: told.len(),
            ran,
        }
    }

    fn escaped(&self, ran: &Ran) -> Option<String> {
        if ran.stdout.contains("ESCAPED") || ran.stdout.contains(SECRET) {
            return Some(ran.stdout.trim().to_owned());
        }
        self.outside()
    }

    /// Takes what is there now for what is to stay.
    pub fn remember(&mut self) {
        self.before = tree(&[&self.out, &self.home, &self.root]);
    }

    /// What arrived or changed outside, of what the world was made with.
    pub fn outside(&self) -> Option<String> {
        let mut buffer = [0; 64];
        if self.udp.recv(&mut buffer).is_ok() {
            return Some("sent a datagram".into());
        }
        if self.datagrams.recv(&mut buffer).is_ok() {
            return Some("sent to a unix socket".into());
        }
        let after = tree(&[&self.out, &self.home, &self.root]);
        let workspace = |path: &PathBuf| {
            path.starts_with(&self.root) && !self.policy.protect.iter().any(|p| path.starts_with(p))
        };
        let changed =
            |path: &&PathBuf| self.before.get(*path) != after.get(*path) && !workspace(path);
        let path = self.before.keys().chain(after.keys()).find(changed)?;
        Some(format!(
            "changed {}",
            path.strip_prefix(self.top()).unwrap().display()
        ))
    }
}

fn terminal() -> (OwnedFd, PathBuf) {
    let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    unlockpt(&ours).unwrap();
    let name = ptsname(&ours, Vec::new()).unwrap();
    (ours, PathBuf::from(OsString::from_vec(name.into_bytes())))
}

/// Every file with its mode and what is in it.
fn tree(tops: &[&Path]) -> BTreeMap<PathBuf, String> {
    let mut found = BTreeMap::new();
    let mut open: Vec<PathBuf> = tops.iter().map(|top| top.to_path_buf()).collect();
    while let Some(path) = open.pop() {
        let meta = fs::symlink_metadata(&path).unwrap();
        let mode = std::os::unix::fs::PermissionsExt::mode(&meta.permissions());
        let text = if meta.is_dir() {
            open.extend(
                fs::read_dir(&path)
                    .unwrap()
                    .map(|entry| entry.unwrap().path()),
            );
            String::new()
        } else if meta.is_file() {
            fs::read_to_string(&path).unwrap_or_default()
        } else {
            String::from("special")
        };
        found.insert(path, format!("{mode:o} {text}"));
    }
    found
}
