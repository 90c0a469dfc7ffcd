//! The sandbox on Linux: from a policy to the list of things a child does, on either of two layers.

mod bubblewrap;
mod closed;
mod covers;
mod enter;
mod hard_links;
mod jail;
mod landlock;
mod mount_table;
mod mounts;
mod places;
mod plans;
mod seccomp;
mod shared;
mod supervised;

pub use enter::{Step, isolate, namespaces, open_table, restrict, retire, try_listener};
pub use jail::{Jail, Way};
pub use plans::Plans;
pub use shared::SharedNetwork;
pub use shared::{join, make as make_network};

use super::{
    Choice, Error, Layer, LinkedFile, Missing, Network, Plan, Policy, Readable, Report,
    UnixSockets, holder, wanted,
};
use covers::By;
use jail::{Frame, Lists, Mount, User};
use landlock::{DEVICE, READ, READ_DIR, Ruleset, Scope, WRITE};
use ostler_wire::{Why, Word};
use places::Places;
use rustix::fd::OwnedFd;
use seccomp::{Filter, Unix};
use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

/// Most rules of one ruleset. Each costs a few microseconds for each command.
const MAX_RULES: usize = 8192;

/// For root: enough to work on files of others, none that reaches out of the sandbox. In order: chown, dac_override,
/// fowner, fsetid, net_bind_service.
const KEPT_BY_ROOT: u64 = 1 | 1 << 1 | 1 << 3 | 1 << 4 | 1 << 10;

/// Devices that hold nothing of anybody. Others must be named in the policy.
const HARMLESS_DEVICES: &[&str] = &[
    "/dev/null",
    "/dev/zero",
    "/dev/full",
    "/dev/random",
    "/dev/urandom",
    "/dev/tty",
    "/dev/ptmx",
    "/dev/pts",
];

const HARD_LINKS: &str = "other hard links to a file in forbid_read can be read";
const LATER_SOCKETS: &str =
    "unix sockets that programs outside open while a command runs can be talked to";
const PROCESSES_SEEN: &str = "names and command lines of processes outside can be seen";

/// A plan as it travels: bytes, and the Landlock rules as a descriptor.
#[derive(Debug)]
pub struct Prepared {
    pub bytes: Vec<u8>,
    pub ruleset: Option<Arc<OwnedFd>>,
    pub network: Option<Arc<SharedNetwork>>,
}

pub(super) fn prepare(policy: &Policy) -> Result<Plan, Error> {
    match policy.layer {
        Choice::Bubblewrap => bubblewrap::prepare(policy),
        Choice::Auto | Choice::Namespaces | Choice::Landlock | Choice::Off => {
            let ground = ostler_files::sight::at_once(|| Ground::find(policy))?;
            Ok(ground.plan(&policy.links))
        }
    }
}

/// All of a plan but the links that single commands see in the place of files.
#[derive(Debug)]
struct Ground {
    layer: Layer,
    limits: Vec<&'static str>,
    loose: Vec<PathBuf>,
    /// Files that a link may be seen in the place of.
    protected: Vec<PathBuf>,
    frame: Frame,
    filter: Vec<u8>,
    sockets: Vec<PathBuf>,
    /// Before such links and after them.
    mounts: [Vec<(Mount, PathBuf)>; 2],
    ruleset: Option<Arc<OwnedFd>>,
    network: Option<Arc<SharedNetwork>>,
}

impl Ground {
    fn find(policy: &Policy) -> Result<Self, Error> {
        let report = super::probe();
        let layer = choose(policy.layer, report)?;
        let unix = unix_sockets(policy, layer);
        let places = Places::find(policy, layer, unix)?;
        let mut limits = Vec::new();
        let Namespaces { way, pids } = match layer {
            Layer::Namespaces => found().clone().map_err(|reason| Error::Unavailable {
                wanted: layer.name().into(),
                reason,
            })?,
            Layer::Landlock | Layer::Bubblewrap => Namespaces {
                way: Way::None,
                pids: false,
            },
        };
        let inet = match policy.network {
            Network::On => true,
            Network::Loopback | Network::Proxy => layer == Layer::Namespaces,
            Network::Off => false,
        };
        let filter = Filter {
            inet,
            unix,
            netlink: inet || layer == Layer::Namespaces,
            processes_outside: !pids,
            ipc_outside: way == Way::None,
        };
        let ruleset = match report.landlock_abi {
            0 => None,
            abi => Some(rules(policy, &places, layer, abi, &mut limits)?),
        };
        if unix == Unix::Free {
            limits.push(LATER_SOCKETS);
        }
        if !pids {
            limits.push(PROCESSES_SEEN);
        }
        name_limits(policy, &places, layer, report.landlock_abi, &mut limits);
        let joins = layer == Layer::Namespaces && policy.network == Network::Proxy;
        Ok(Self {
            layer,
            limits,
            loose: loose(policy, &places, layer),
            frame: frame(policy, Namespaces { way, pids }, unix),
            filter: seccomp::program(filter),
            sockets: policy.sockets.clone(),
            mounts: match layer {
                Layer::Namespaces => places.mounts(),
                Layer::Landlock | Layer::Bubblewrap => [Vec::new(), Vec::new()],
            },
            ruleset: ruleset.map(|rules| Arc::new(rules.into_fd())),
            network: policy.shared.clone().filter(|_| joins),
            protected: places.protected.paths,
        })
    }

    fn plan(&self, links: &[LinkedFile]) -> Plan {
        let links = match self.layer {
            Layer::Namespaces => places::link_mounts(links, &self.protected),
            Layer::Landlock | Layer::Bubblewrap => Vec::new(),
        };
        let [before, after] = &self.mounts;
        let mounts = before.iter().chain(&links).chain(after);
        let borrowed: Vec<(Mount, &Path)> = mounts
            .map(|(mount, path)| (*mount, path.as_path()))
            .collect();
        let lists = Lists {
            mounts: &borrowed,
            filter: &self.filter,
            sockets: &self.sockets,
        };
        Plan {
            layer: Some(self.layer),
            limits: self.limits.clone(),
            loose: self.loose.clone(),
            wrap: Vec::new(),
            elsewhere: None,
            jail: Some(Prepared {
                bytes: jail::encode(self.frame, &lists, self.ruleset.is_some()),
                ruleset: self.ruleset.clone(),
                network: self.network.clone(),
            }),
        }
    }
}

/// What only a comparison can hold.
fn loose(policy: &Policy, places: &Places, layer: Layer) -> Vec<PathBuf> {
    let mut paths = match layer {
        Layer::Namespaces | Layer::Bubblewrap => places.protected.unmountable.clone(),
        Layer::Landlock => {
            let other_names = places.protected.other_names.iter();
            policy.protect.iter().chain(other_names).cloned().collect()
        }
    };
    // Whoever turns a link on the way leads a protected path elsewhere.
    let is_new = |link: &&PathBuf| !policy.protect.contains(link);
    paths.extend(places.protected.turned.iter().filter(is_new).cloned());
    paths.extend(policy.compared.iter().cloned());
    paths
}

fn choose(choice: Choice, report: &Report) -> Result<Layer, Error> {
    let asked = match choice {
        Choice::Auto | Choice::Off => report.layers.first().copied(),
        Choice::Namespaces => Some(Layer::Namespaces),
        Choice::Landlock => Some(Layer::Landlock),
        Choice::Bubblewrap => Some(Layer::Bubblewrap),
    };
    asked
        .filter(|layer| report.layers.contains(layer))
        .ok_or_else(|| Error::Unavailable {
            wanted: wanted(choice),
            reason: report.lacks(),
        })
}

/// The namespaces and rights of a command.
fn frame(policy: &Policy, Namespaces { way, pids }: Namespaces, unix: Unix) -> Frame {
    let joins = policy.shared.is_some() && way != Way::None && policy.network == Network::Proxy;
    // Commands in one user namespace could look into each other, if nothing else stood between them.
    let apart = pids || super::probe().landlock_abi > 0;
    Frame {
        way,
        joins,
        own_user: way == Way::User && !(joins && apart),
        own_network: !joins && policy.network != Network::On,
        loopback: !joins && matches!(policy.network, Network::Loopback | Network::Proxy),
        pids,
        supervised: unix == Unix::Supervised,
        keep: match rustix::process::geteuid().is_root() {
            true => KEPT_BY_ROOT,
            false => 0,
        },
        user: User::own(),
    }
}

/// Without namespaces no socket of this family is made, unless one is granted.
fn unix_sockets(policy: &Policy, layer: Layer) -> Unix {
    let open = layer == Layer::Namespaces || !policy.sockets.is_empty();
    match (policy.unix, open) {
        (UnixSockets::None, _) | (UnixSockets::Own, false) => Unix::Refused,
        (UnixSockets::Own, true) if supervised::can_supervise() => Unix::Supervised,
        (UnixSockets::Own, true) => Unix::Free,
    }
}

/// Landlock only adds, so what may not be read is left out by naming everything beside it.
fn rules(
    policy: &Policy,
    places: &Places,
    layer: Layer,
    abi: u32,
    limits: &mut Vec<&'static str>,
) -> Result<Ruleset, Error> {
    let kernel = |source| Error::Kernel { source };
    let scope = Scope {
        no_tcp: layer == Layer::Landlock && policy.network != Network::On,
        abstract_sockets: policy.sockets.is_empty(),
    };
    let ruleset = Ruleset::new(abi, scope).map_err(kernel)?;
    let allow = |path: &Path, rights| {
        ruleset.allow(path, rights).map_err(|source| Error::Path {
            path: path.to_owned(),
            source,
        })
    };
    // Names of files can be told from their folders anyway, and much breaks without.
    allow(Path::new("/"), READ_DIR)?;
    let everything = [PathBuf::from("/")];
    let tops = match &policy.readable {
        Readable::All => everything.as_slice(),
        Readable::List(_) => places.readable.as_slice(),
    };
    for path in readable(tops, places, layer, limits)? {
        allow(&path, READ)?;
    }
    for cover in &places.covers {
        match &cover.by {
            By::Folder { source, writable } => {
                let more = if *writable { WRITE | DEVICE } else { 0 };
                allow(source, READ | more)?;
            }
            By::Empty | By::Fresh => {}
        }
    }
    for path in &places.writable {
        allow(path, READ | WRITE | DEVICE)?;
        if layer == Layer::Landlock && places.forbidden.iter().any(|f| f.starts_with(path)) {
            limits.push("a path in forbid_read lies inside of a writable folder and can be read");
        }
    }
    for path in HARMLESS_DEVICES {
        allow(Path::new(path), DEVICE)?;
    }
    Ok(ruleset)
}

/// Everything below `tops` but what is hidden.
fn readable(
    tops: &[PathBuf],
    places: &Places,
    layer: Layer,
    limits: &mut Vec<&'static str>,
) -> Result<Vec<PathBuf>, Error> {
    let devices = [PathBuf::from("/dev")];
    let everything = tops == [PathBuf::from("/")];
    // Inside of a writable folder nothing can be left out: new files there would be unreadable too. Elsewhere this holds
    // what no mount does: a file that comes later, or is replaced and so loses the mount on it.
    let outside = |path: &&PathBuf| holder(path, &places.writable).is_none();
    let there = || {
        devices
            .iter()
            .chain(places.forbidden.iter().filter(outside))
    };
    let later = places.absent.iter().filter(outside);
    let all: Vec<PathBuf> = there().chain(later).cloned().collect();
    // What is shown of an emptied or closed folder, and what is kept of a folder that is replaced, whose own rule does not
    // reach it.
    let kept = places.covers.iter().flat_map(|cover| &cover.kept);
    let in_closed = places.closed.iter().flat_map(|closed| &closed.shown);
    let in_closed: Vec<PathBuf> = in_closed
        .flat_map(|path| ostler_files::sight::canonicalize(path))
        .collect();
    let shown: BTreeSet<&PathBuf> = places.shown.iter().chain(kept).chain(&in_closed).collect();
    let closed = places.closed.iter().map(|closed| &closed.folder);
    let closed: Vec<PathBuf> = closed.filter(outside).cloned().collect();
    let beneath = |left_out: &[PathBuf]| {
        let linked = hard_links::linked_files(left_out);
        let mut found = Vec::new();
        let mut all = left_out.to_vec();
        all.extend(places.emptied.iter().filter(|_| everything).cloned());
        all.extend(closed.iter().cloned());
        for top in tops {
            let limit = MAX_RULES - found.len();
            found.extend(hard_links::beneath_but(top, &all, &linked, limit)?);
        }
        for top in &shown {
            let limit = MAX_RULES - found.len();
            found.extend(hard_links::beneath_but(top, left_out, &linked, limit)?);
        }
        Ok(found)
    };
    match (beneath(&all), layer) {
        (Err(Error::TooMany { .. }), Layer::Namespaces) => {
            limits.push("a path in forbid_read that is replaced while a command runs can be read");
            beneath(&devices)
        }
        (Err(Error::TooMany { .. }), Layer::Landlock | Layer::Bubblewrap) => {
            limits.push("a path in forbid_read that is made while a command runs can be read");
            beneath(&there().cloned().collect::<Vec<_>>())
        }
        (found, _) => found,
    }
}

fn name_limits(
    policy: &Policy,
    places: &Places,
    layer: Layer,
    abi: u32,
    limits: &mut Vec<&'static str>,
) {
    let mut add = |holds: bool, limit: &'static str| {
        if holds && !limits.contains(&limit) {
            limits.push(limit);
        }
    };
    let second = layer == Layer::Landlock;
    add(
        second && !policy.protect.is_empty(),
        "protected paths can be changed and are only put back afterwards",
    );
    add(
        second && !policy.forbid_read.is_empty(),
        "the names of files in forbid_read can be listed",
    );
    add(!policy.forbid_read.is_empty(), HARD_LINKS);
    add(
        second,
        "modes, owners and times of files outside of the writable folders can be changed",
    );
    add(second, "other terminals of yours can be read and written");
    add(
        second && matches!(policy.network, Network::Loopback | Network::Proxy),
        "there is no loopback inside, and no way to single hosts",
    );
    let free = unix_sockets(policy, layer) == Unix::Free;
    add(
        second && free && !policy.sockets.is_empty(),
        "every unix socket can be talked to, not only those named",
    );
    add(
        second && policy.empty_home.is_some(),
        "the names of files in the home can be listed; those not shown are refused, not missing",
    );
    add(
        second && policy.temp.is_some(),
        "there is no /tmp of its own: temporary files of other programs can be read",
    );
    add(
        second && !policy.private.is_empty(),
        "there are no private folders: those that would be can be read and not written",
    );
    add(
        second && abi < landlock::ABI_WITH_TRUNCATE,
        "files outside of the writable folders can be emptied",
    );
    add(
        abi < landlock::ABI_WITH_SCOPES,
        "processes outside can be sent signals",
    );
    add(
        abi == 0 && policy.readable != Readable::All,
        "everything can be read, not only what is listed",
    );
    add(
        places.sockets.too_many,
        "there are too many unix sockets to hide them all",
    );
}

/// How namespaces can be had here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Namespaces {
    way: Way,
    /// Processes too: takes a fresh /proc, which containers often refuse.
    pids: bool,
}

/// Tried once.
fn found() -> &'static Result<Namespaces, Why> {
    static FOUND: OnceLock<Result<Namespaces, Why>> = OnceLock::new();
    FOUND.get_or_init(|| {
        let root = rustix::process::geteuid().is_root();
        let ways: &[Way] = if root {
            &[Way::Direct, Way::User]
        } else {
            &[Way::User]
        };
        let mut refused = (Step::Namespaces, io::ErrorKind::Unsupported.into());
        for &way in ways {
            for pids in [true, false] {
                match attempt(way, pids) {
                    Ok(()) => return Ok(Namespaces { way, pids }),
                    Err(error) => refused = error,
                }
            }
        }
        let (step, error) = refused;
        Err(Why::ours(
            Word::BoxNoNamespaces,
            [step.word().into(), (&error).into()],
        ))
    })
}

fn attempt(way: Way, pids: bool) -> Result<(), (Step, io::Error)> {
    let frame = Frame {
        way,
        joins: false,
        own_user: way == Way::User,
        own_network: true,
        loopback: true,
        pids,
        supervised: false,
        keep: 0,
        user: User::own(),
    };
    let mounts = [(Mount::ReadOnlyTree, Path::new("/"))];
    let lists = Lists {
        mounts: &mounts,
        filter: &[],
        sockets: &[],
    };
    let bytes = jail::encode(frame, &lists, false);
    match Jail::decode(&bytes) {
        Some(jail) => enter::attempt(&jail),
        None => Err((Step::Mounts, io::ErrorKind::InvalidData.into())),
    }
}

pub(super) fn probe() -> Report {
    let mut missing = Vec::new();
    let mut lacks = |what: Why, reason: Why| missing.push(Missing { what, reason });
    let landlock_abi = landlock::abi();
    if landlock_abi == 0 {
        lacks("landlock".into(), Word::BoxNoLandlock.into());
    }
    let seccomp = has_seccomp();
    if !seccomp {
        lacks("seccomp".into(), Word::BoxNoSeccomp.into());
    }
    let found = found();
    let root = rustix::process::geteuid().is_root();
    if let Err(reason) = found {
        lacks("namespaces".into(), reason.clone());
    } else if root && landlock_abi == 0 {
        lacks("namespaces".into(), Word::BoxRootDisks.into());
    }
    if found.as_ref().is_ok_and(|found| !found.pids) {
        lacks(Word::BoxOwnProcesses.into(), Word::BoxNoProc.into());
    }
    let mut layers = Vec::new();
    if seccomp && found.is_ok() && (landlock_abi > 0 || !root) {
        layers.push(Layer::Namespaces);
    }
    if seccomp && landlock_abi > 0 {
        layers.push(Layer::Landlock);
    }
    Report {
        landlock_abi,
        user_namespaces: found.as_ref().is_ok_and(|found| found.way == Way::User)
            || attempt(Way::User, false).is_ok(),
        seccomp,
        layers,
        missing,
    }
}

#[expect(unsafe_code, reason = "asks the kernel, by a call without a wrapper")]
fn has_seccomp() -> bool {
    if !seccomp::KNOWN_MACHINE {
        return false;
    }
    let action = libc::SECCOMP_RET_ERRNO;
    // SAFETY: reads one word.
    let answer = unsafe {
        libc::syscall(
            libc::SYS_seccomp,
            libc::SECCOMP_GET_ACTION_AVAIL,
            0_u32,
            &raw const action,
        )
    };
    answer == 0
}
