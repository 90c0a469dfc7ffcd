//! What a command may touch, enforced by the operating system. `Policy` says it, `Plan::prepare` turns it into
//! something a child can put on with plain system calls between fork and exec, `probe` says what this machine can do.
//! Which policy a command gets, and what happens when there is no layer for it, is up to the caller.

mod address;
mod denial;
#[cfg(unix)]
pub mod descriptors;
#[cfg(not(target_os = "linux"))]
mod elsewhere;
mod exit;
#[cfg(unix)]
mod gitconfig;
#[cfg(target_os = "linux")]
pub mod linux;
pub mod macos;
#[cfg(target_os = "linux")]
pub mod other_process;
#[cfg(unix)]
mod pause;
pub mod proxy;
#[cfg(unix)]
mod record;
#[cfg(target_os = "linux")]
mod repositories;
#[cfg(unix)]
mod settings_copy;
#[cfg(unix)]
mod unchanged;
#[cfg(unix)]
mod watch;

pub use address::{is_this_machine, leads_to};
pub use denial::{Denial, Grant, Subject, explain, of_host};
#[cfg(not(unix))]
pub use elsewhere::{Change, CopyPlace, SettingsCopy, TakenOver, Watch};
#[cfg(not(unix))]
pub use elsewhere::{Leftover, Others, PutBack, Record, Records, Turn, Written};
#[cfg(not(unix))]
pub use elsewhere::{Pause, read_unchanged, set_records};
#[cfg(not(target_os = "linux"))]
pub use elsewhere::{Repositories, Tampered};
pub use exit::Exit;
#[cfg(target_os = "linux")]
pub use linux::{Plans, SharedNetwork};
#[cfg(unix)]
pub use pause::Pause;
#[cfg(unix)]
pub use record::{Leftover, Others, PutBack, Record, Records, Turn, Written};
#[cfg(target_os = "linux")]
pub use repositories::{Repositories, Tampered};
#[cfg(unix)]
pub use settings_copy::{CopyPlace, SettingsCopy, TakenOver};
#[cfg(unix)]
pub use unchanged::{read_unchanged, set_records};
#[cfg(unix)]
pub use watch::{Change, Watch};

use crate::proxy::WayOut;
use ostler_wire::{Why, Word};
use std::io;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Where the proxy listens in the network of a command. Out of the range that systems give to whoever asks for any port.
pub const PROXY: SocketAddrV4 = SocketAddrV4::new(Ipv4Addr::LOCALHOST, 61080);

/// What a command may do. Paths are absolute; those that do not exist are left out.
///
/// `writable`, `fixed` and `temp` are real paths, without links, as they were when the session began. Commands can put a
/// link in the place of a folder that lies in another writable one; where one of these paths leads elsewhere, there is no
/// plan.
// tidy: plain data
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Policy {
    /// Folders (or files) that may be changed.
    pub writable: Vec<PathBuf>,
    /// Folders that other commands of the session may change, and this one at most sees.
    pub fixed: Vec<PathBuf>,
    pub readable: Readable,
    /// Not to be read even where everything else is.
    pub forbid_read: Vec<PathBuf>,
    /// Folders of which a command sees only what is listed, and what is writable. It makes nothing new in them.
    pub closed: Vec<ClosedFolder>,
    /// Not to be changed even inside of what is writable.
    pub protect: Vec<PathBuf>,
    /// Files that a command sees as a link, where there are mounts: it changes what the link leads to, not the file.
    pub links: Vec<LinkedFile>,
    /// May be changed, and is compared afterwards on every layer.
    pub compared: Vec<PathBuf>,
    /// Sockets of programs outside that may be talked to, such as that of an ssh agent.
    pub sockets: Vec<PathBuf>,
    pub unix: UnixSockets,
    /// The home shows nothing but what is listed here, is writable, or is in `Readable::List`.
    pub empty_home: Option<EmptyHome>,
    /// Each of these folders is a new, empty and writable file system for this one command.
    pub private: Vec<PathBuf>,
    /// This folder is what the command sees as `/tmp` and `/var/tmp`; to be written, it or one of them must be writable.
    /// Paths that are writable, listed, protected, closed or shown and lie below the real ones stay at their own place.
    pub temp: Option<PathBuf>,
    /// Paths that stay visible at their own place, although a folder above is replaced by `temp`.
    pub visible: Vec<PathBuf>,
    pub network: Network,
    /// For `Network::Proxy`.
    pub shared: Option<Arc<SharedNetwork>>,
    pub layer: Choice,
    /// The program, for the choice of that name.
    pub bubblewrap: Option<PathBuf>,
}

/// A file, and the link that is seen in its place.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LinkedFile {
    pub file: PathBuf,
    pub link: PathBuf,
}

/// A folder that is hidden but for a list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClosedFolder {
    pub folder: PathBuf,
    /// Visible at their own place, read-only unless they are writable too.
    pub shown: Vec<PathBuf>,
}

/// A home of which little is seen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EmptyHome {
    pub home: PathBuf,
    /// Further folders of which as little is seen, such as those of other people's homes.
    pub others: Vec<PathBuf>,
    /// Visible at their own place, read-only unless they are writable too.
    pub shown: Vec<PathBuf>,
}

/// Which unix sockets a command may use. Pairs of connected sockets can always be made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum UnixSockets {
    /// No socket of this family can be made.
    None,
    /// Those that commands of the same session listen on, and those in `Policy::sockets`.
    #[default]
    Own,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Readable {
    #[default]
    All,
    /// Only these and what is writable. Programs and their libraries must be among them.
    List(Vec<PathBuf>),
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Network {
    #[default]
    Off,
    /// A loopback of its own where the layer can give one, so that servers and their clients work inside; else as `Off`.
    Loopback,
    /// The loopback of `Policy::shared`, with all commands that have the same, and on it a listener at `PROXY` whose other
    /// side is ours. Without one as `Loopback`.
    Proxy,
    On,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Choice {
    /// The strongest that works here.
    #[default]
    Auto,
    Namespaces,
    Landlock,
    Bubblewrap,
    Off,
}

/// A way to confine, the stronger one first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Layer {
    Namespaces,
    Landlock,
    /// Only when asked for.
    Bubblewrap,
}

impl Layer {
    pub fn name(self) -> &'static str {
        match self {
            Self::Namespaces => "namespaces",
            Self::Landlock => "landlock",
            Self::Bubblewrap => "bubblewrap",
        }
    }
}

/// What this machine can do, found out by trying.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// 0 is none.
    pub landlock_abi: u32,
    pub user_namespaces: bool,
    pub seccomp: bool,
    /// Those that work, strongest first.
    pub layers: Vec<Layer>,
    pub missing: Vec<Missing>,
}

/// Something this machine cannot do, and what that needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Missing {
    pub what: Why,
    pub reason: Why,
}

impl Report {
    /// All that is missing in one sentence.
    pub fn lacks(&self) -> Why {
        let each = self.missing.iter().map(Why::from);
        each.reduce(|all, next| Why::ours(Word::McpAnd, [all, next]))
            .unwrap_or_else(|| "".into())
    }
}

impl From<&Missing> for Why {
    fn from(missing: &Missing) -> Self {
        let Missing { what, reason } = missing.clone();
        Why::ours(Word::BoxLack, [what, reason])
    }
}

#[derive(Debug)]
pub enum Error {
    Unavailable {
        wanted: Why,
        reason: Why,
    },
    Path {
        path: PathBuf,
        source: io::Error,
    },
    Conflict {
        inner: PathBuf,
        outer: PathBuf,
    },
    /// A path that is to lead to a folder of its own leads elsewhere.
    Replaced {
        path: PathBuf,
        real: PathBuf,
    },
    TooMany {
        limit: usize,
    },
    Network {
        source: io::Error,
    },
    Kernel {
        source: io::Error,
    },
}

ostler_wire::told_by_why!(Error);

impl From<&Error> for Why {
    fn from(error: &Error) -> Self {
        let name = |path: &Path| Why::from(path.display().to_string());
        match error {
            Error::Unavailable { wanted, reason } => {
                Why::ours(Word::BoxMissing, [wanted.clone(), reason.clone()])
            }
            Error::Path { path, source } => Why::ours(Word::BoxPath, [name(path), source.into()]),
            Error::Conflict { inner, outer } => {
                Why::ours(Word::BoxConflict, [name(inner), name(outer)])
            }
            Error::Replaced { path, real } => {
                Why::ours(Word::BoxReplaced, [name(path), name(real)])
            }
            Error::TooMany { limit } => Why::ours(Word::BoxTooMany, [limit.to_string().into()]),
            Error::Network { source } => Why::ours(Word::BoxNetwork, [source.into()]),
            Error::Kernel { source } => Why::ours(Word::BoxKernel, [source.into()]),
        }
    }
}

/// A policy ready to be put on, for any number of commands. It speaks of the files that were there when it was made:
/// `Plans` makes it anew when they are others.
#[derive(Debug)]
pub struct Plan {
    layer: Option<Layer>,
    limits: Vec<&'static str>,
    loose: Vec<PathBuf>,
    wrap: Vec<std::ffi::OsString>,
    /// It is made at another place, out of this.
    elsewhere: Option<Box<Elsewhere>>,
    #[cfg(target_os = "linux")]
    jail: Option<linux::Prepared>,
}

/// What a plan for another place is made of.
#[derive(Debug)]
pub struct Elsewhere {
    pub policy: Policy,
    /// The hosts that the command may reach from there.
    pub way: Option<WayOut>,
}

impl From<Policy> for Elsewhere {
    fn from(policy: Policy) -> Self {
        Self { policy, way: None }
    }
}

/// Two plans are the same only if they are one: descriptors cannot be compared.
impl PartialEq for Plan {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self, other)
    }
}

impl Eq for Plan {}

impl Plan {
    pub fn prepare(policy: &Policy) -> Result<Self, Error> {
        if policy.layer == Choice::Off {
            return Ok(Self::off());
        }
        #[cfg(target_os = "linux")]
        return linux::prepare(policy);
        #[cfg(not(target_os = "linux"))]
        Err(Error::Unavailable {
            wanted: wanted(policy.layer),
            reason: Word::BoxNeither.into(),
        })
    }

    fn off() -> Self {
        Self {
            layer: None,
            limits: Vec::new(),
            loose: Vec::new(),
            wrap: Vec::new(),
            elsewhere: None,
            #[cfg(target_os = "linux")]
            jail: None,
        }
    }

    /// A plan that the host of another place makes, on a layer that works there. No command runs with it on this machine.
    pub fn at_place(elsewhere: impl Into<Elsewhere>, layer: Layer) -> Self {
        Self {
            layer: Some(layer),
            elsewhere: Some(Box::new(elsewhere.into())),
            ..Self::off()
        }
    }

    /// What a plan for another place is made of.
    pub fn elsewhere(&self) -> Option<&Elsewhere> {
        self.elsewhere.as_deref()
    }

    /// The layer this plan uses; `None` confines nothing.
    pub fn layer(&self) -> Option<Layer> {
        self.layer
    }

    /// What of the policy this plan cannot hold on this machine, in words.
    pub fn limits(&self) -> &[&'static str] {
        &self.limits
    }

    /// Protected paths that only a comparison afterwards can hold: see `watch`.
    pub fn loose(&self) -> &[PathBuf] {
        &self.loose
    }

    /// Remembers the paths of `loose` as they are, to be called right before the command.
    #[cfg(unix)]
    pub fn watch(&self) -> Watch {
        Watch::new(&self.loose)
    }

    /// The program that confines, and its arguments; empty where we do it ourselves.
    pub fn wrap(&self) -> &[std::ffi::OsString] {
        &self.wrap
    }

    #[cfg(target_os = "linux")]
    pub fn jail(&self) -> Option<&linux::Prepared> {
        self.jail.as_ref()
    }
}

/// There is none on this system.
#[cfg(not(target_os = "linux"))]
#[derive(Debug, PartialEq, Eq)]
pub enum SharedNetwork {}

/// There are none on this system.
#[cfg(not(target_os = "linux"))]
#[derive(Debug, Default)]
pub struct Plans;

#[cfg(not(target_os = "linux"))]
impl Plans {
    pub fn prepare(&self, policy: &Policy) -> Result<Plan, Error> {
        Plan::prepare(policy)
    }
}

/// A network for the commands of a session, with a listener at the proxy's address in it that does not block.
pub type Opened = Option<(SharedNetwork, std::net::TcpListener)>;

fn wanted(choice: Choice) -> Why {
    match choice {
        Choice::Auto => Word::BoxAny.into(),
        Choice::Namespaces => "namespaces".into(),
        Choice::Landlock => "landlock".into(),
        Choice::Bubblewrap => "bubblewrap".into(),
        Choice::Off => "off".into(),
    }
}

/// What this machine can do. Tried once, by system calls; afterwards remembered.
pub fn probe() -> &'static Report {
    static REPORT: std::sync::OnceLock<Report> = std::sync::OnceLock::new();
    REPORT.get_or_init(|| {
        #[cfg(target_os = "linux")]
        return linux::probe();
        #[cfg(not(target_os = "linux"))]
        Report {
            landlock_abi: 0,
            user_namespaces: false,
            seccomp: false,
            layers: Vec::new(),
            missing: vec![Missing {
                what: "sandbox".into(),
                reason: Word::BoxNeither.into(),
            }],
        }
    })
}

/// The folder of `among` that holds `path`, or is it.
fn holder<'a>(path: &Path, among: &'a [PathBuf]) -> Option<&'a PathBuf> {
    among.iter().find(|folder| path.starts_with(folder))
}
