//! What a child has to do to be confined, as bytes for the way to its keeper and as the list it follows there.

use std::ffi::{CStr, OsStr};
use std::path::{Path, PathBuf};

/// One change of the mounts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mount {
    /// Makes the path a mount of its own, so that it can have its own flags and cannot be renamed.
    Bind,
    /// The whole tree becomes read-only.
    ReadOnlyTree,
    /// This mount may be written after all.
    Writable,
    /// A folder becomes an empty one that nobody may enter.
    HideFolder,
    /// A file becomes one that cannot be opened.
    HideFile,
    /// Takes a copy of what is seen here, for `PutDown`. There is no link on the way.
    Carry,
    /// The same for what a link may lead to.
    CarryLinked,
    /// A folder becomes an empty one, to be filled.
    Clear,
    /// What was carried from here is here again, in folders that are made for it.
    PutDown,
    /// Says what the next `PutOver` or `ShowLink` takes, or the next `Link` leads to.
    Source,
    /// What was carried from the source lies here.
    PutOver,
    /// A link to the source.
    Link,
    /// The link at the source is seen in place of this file, where the kernel can; otherwise the file stays.
    ShowLink,
    /// A new file system, empty and writable.
    Fresh,
    /// An empty file in a cleared folder.
    Touch,
    /// This mount alone becomes read-only.
    ReadOnly,
    /// Terminals that are made inside, and none of those outside.
    Terminals,
}

/// Most that can be carried at once.
pub(super) const MAX_CARRIED: usize = 256;

/// How the child comes to the right to mount.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// No namespaces at all.
    None,
    /// As root, at once.
    Direct,
    /// As the root of a new user namespace, with the same user inside.
    User,
}

/// Who runs the command, inside as outside.
#[derive(Clone, Copy, Debug)]
pub(super) struct User {
    pub uid: u32,
    pub gid: u32,
}

impl User {
    pub(super) fn own() -> Self {
        Self {
            uid: rustix::process::geteuid().as_raw(),
            gid: rustix::process::getegid().as_raw(),
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Frame {
    pub way: Way,
    /// Its keeper joins a network that is there, and for ordinary users the user namespace that it belongs to.
    pub joins: bool,
    /// A user namespace for this command alone.
    pub own_user: bool,
    pub own_network: bool,
    pub loopback: bool,
    /// Processes of its own, with an init of ours.
    pub pids: bool,
    /// Its connections are made by a supervisor.
    pub supervised: bool,
    /// Capabilities to keep, as bits.
    pub keep: u64,
    pub user: User,
}

/// The list as the child follows it, pointing into the bytes it came as.
pub struct Jail<'a> {
    pub(super) frame: Frame,
    pub(super) mounts: Vec<(Mount, &'a CStr)>,
    pub(super) filter: Vec<libc::sock_filter>,
    pub has_ruleset: bool,
    /// Of programs outside, for the supervisor.
    sockets: Vec<&'a CStr>,
}

/// What is encoded: the lists that a jail points into.
pub(super) struct Lists<'a> {
    pub mounts: &'a [(Mount, &'a Path)],
    pub filter: &'a [u8],
    pub sockets: &'a [PathBuf],
}

const INSTRUCTION: usize = size_of::<libc::sock_filter>();

pub(super) fn encode(frame: Frame, lists: &Lists<'_>, has_ruleset: bool) -> Vec<u8> {
    let Lists {
        mounts,
        filter,
        sockets,
    } = lists;
    use std::os::unix::ffi::OsStrExt;
    let way = match frame.way {
        Way::None => 0,
        Way::Direct => 1,
        Way::User => 2,
    };
    let mut bytes = Vec::with_capacity(2048);
    let mut number = |value: u32| bytes.extend_from_slice(&value.to_ne_bytes());
    number(way);
    number(frame.joins.into());
    number(frame.own_user.into());
    number(frame.own_network.into());
    number(frame.loopback.into());
    number(frame.pids.into());
    number(frame.supervised.into());
    number(frame.keep as u32);
    number((frame.keep >> 32) as u32);
    number(frame.user.uid);
    number(frame.user.gid);
    number(has_ruleset.into());
    number((filter.len() / INSTRUCTION) as u32);
    number(mounts.len() as u32);
    number(sockets.len() as u32);
    bytes.extend_from_slice(filter);
    for (mount, path) in *mounts {
        bytes.push(match mount {
            Mount::Bind => 0,
            Mount::ReadOnlyTree => 1,
            Mount::Writable => 2,
            Mount::HideFolder => 3,
            Mount::HideFile => 4,
            Mount::Carry => 5,
            Mount::Clear => 6,
            Mount::PutDown => 7,
            Mount::Touch => 8,
            Mount::ReadOnly => 9,
            Mount::Terminals => 10,
            Mount::Source => 11,
            Mount::PutOver => 12,
            Mount::Link => 13,
            Mount::Fresh => 14,
            Mount::ShowLink => 15,
            Mount::CarryLinked => 16,
        });
        bytes.extend_from_slice(path.as_os_str().as_bytes());
        bytes.push(0);
    }
    for path in *sockets {
        bytes.extend_from_slice(path.as_os_str().as_bytes());
        bytes.push(0);
    }
    bytes
}

impl<'a> Jail<'a> {
    /// How many namespaces its keeper has to join.
    pub fn joined(&self) -> usize {
        match (self.frame.joins, self.frame.way) {
            (true, Way::User) => 2,
            (true, Way::Direct) => 1,
            (false, _) | (true, Way::None) => 0,
        }
    }

    /// The first process of the namespaces is not the command.
    pub fn has_init(&self) -> bool {
        self.frame.pids && self.frame.way != Way::None
    }

    pub fn is_supervised(&self) -> bool {
        self.frame.supervised
    }

    /// Nobody but commands of the session is in its network.
    pub fn has_own_network(&self) -> bool {
        self.frame.way != Way::None && (self.frame.joins || self.frame.own_network)
    }

    /// Sockets of programs outside that it may talk to.
    pub fn sockets(&self) -> impl Iterator<Item = &OsStr> {
        use std::os::unix::ffi::OsStrExt;
        self.sockets
            .iter()
            .map(|path| OsStr::from_bytes(path.to_bytes()))
    }

    pub fn decode(mut bytes: &'a [u8]) -> Option<Self> {
        let mut number = || {
            let (word, rest) = bytes.split_first_chunk()?;
            bytes = rest;
            Some(u32::from_ne_bytes(*word))
        };
        let way = match number()? {
            0 => Way::None,
            1 => Way::Direct,
            2 => Way::User,
            _ => return None,
        };
        let mut flag = || Some(number()? != 0);
        let (joins, own_user) = (flag()?, flag()?);
        let (own_network, loopback, pids) = (flag()?, flag()?, flag()?);
        let supervised = flag()?;
        let keep = u64::from(number()?) | u64::from(number()?) << 32;
        let frame = Frame {
            way,
            joins,
            own_user,
            own_network,
            loopback,
            pids,
            supervised,
            keep,
            user: User {
                uid: number()?,
                gid: number()?,
            },
        };
        let has_ruleset = number()? != 0;
        let (instructions, count, granted) = (number()? as usize, number()?, number()?);
        let (filter, mut rest) = bytes.split_at_checked(instructions.checked_mul(INSTRUCTION)?)?;
        let instruction = |bytes: &[u8]| {
            let [c0, c1, jt, jf, k0, k1, k2, k3] = bytes.try_into().ok()?;
            Some(libc::sock_filter {
                code: u16::from_ne_bytes([c0, c1]),
                jt,
                jf,
                k: u32::from_ne_bytes([k0, k1, k2, k3]),
            })
        };
        let filter = filter.chunks_exact(INSTRUCTION).map(instruction);
        let mut mount = || {
            let (kind, after) = rest.split_first()?;
            let path = CStr::from_bytes_until_nul(after).ok()?;
            rest = after.get(path.count_bytes() + 1..)?;
            Some((mount_of(*kind)?, path))
        };
        let mounts = (0..count).map(|_| mount()).collect::<Option<_>>()?;
        let mut socket = || {
            let path = CStr::from_bytes_until_nul(rest).ok()?;
            rest = rest.get(path.count_bytes() + 1..)?;
            Some(path)
        };
        Some(Self {
            frame,
            filter: filter.collect::<Option<_>>()?,
            mounts,
            sockets: (0..granted).map(|_| socket()).collect::<Option<_>>()?,
            has_ruleset,
        })
    }
}

fn mount_of(number: u8) -> Option<Mount> {
    Some(match number {
        0 => Mount::Bind,
        1 => Mount::ReadOnlyTree,
        2 => Mount::Writable,
        3 => Mount::HideFolder,
        4 => Mount::HideFile,
        5 => Mount::Carry,
        6 => Mount::Clear,
        7 => Mount::PutDown,
        8 => Mount::Touch,
        9 => Mount::ReadOnly,
        10 => Mount::Terminals,
        11 => Mount::Source,
        12 => Mount::PutOver,
        13 => Mount::Link,
        14 => Mount::Fresh,
        15 => Mount::ShowLink,
        16 => Mount::CarryLinked,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_jail_survives_the_way_and_a_cut_one_is_refused() {
        let frame = Frame {
            way: Way::User,
            joins: true,
            own_user: false,
            own_network: true,
            loopback: false,
            pids: true,
            supervised: true,
            keep: 1 << 40 | 3,
            user: User { uid: 1000, gid: 7 },
        };
        let filter = [6, 0, 1, 2, 9, 0, 0, 0];
        let mounts = [
            (Mount::Bind, Path::new("/a b")),
            (Mount::HideFile, Path::new("/c")),
        ];
        let lists = Lists {
            mounts: &mounts,
            filter: &filter,
            sockets: &["/s 1".into(), "/s2".into()],
        };
        let bytes = encode(frame, &lists, true);
        let jail = Jail::decode(&bytes).unwrap();
        assert_eq!(format!("{:?}", jail.frame), format!("{frame:?}"));
        assert_eq!(
            jail.mounts,
            [(Mount::Bind, c"/a b"), (Mount::HideFile, c"/c")]
        );
        assert_eq!((jail.filter.len(), jail.filter[0].k), (1, 9));
        assert!(jail.has_ruleset);
        assert!(jail.sockets().eq(["/s 1", "/s2"]));
        for cut in 0..bytes.len() {
            assert!(Jail::decode(&bytes[..cut]).is_none(), "cut at {cut}");
        }
    }
}
