//! The child's part: nothing but system calls, on what was prepared before the fork.
#![expect(unsafe_code, reason = "namespaces, mounts, capabilities and filters")]

use super::jail::{Jail, Mount, User, Way};
use super::landlock;
use super::mounts::{mount, mount_all};
use ostler_wire::Word;
use rustix::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use rustix::io::Errno;
use std::ffi::CStr;
use std::io::{self, Write};

/// Where it failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    Join,
    Namespaces,
    UserMap,
    Processes,
    Mounts,
    Loopback,
    Capabilities,
    Landlock,
    Filter,
}

impl Step {
    const ALL: [Self; 9] = [
        Self::Join,
        Self::Namespaces,
        Self::UserMap,
        Self::Processes,
        Self::Mounts,
        Self::Loopback,
        Self::Capabilities,
        Self::Landlock,
        Self::Filter,
    ];

    pub fn number(self) -> u8 {
        self as u8
    }

    pub fn from_number(number: u8) -> Option<Self> {
        Self::ALL.get(usize::from(number)).copied()
    }

    pub fn word(self) -> Word {
        match self {
            Self::Join => Word::BoxStepJoin,
            Self::Namespaces => Word::BoxStepNamespaces,
            Self::UserMap => Word::BoxStepUser,
            Self::Processes => Word::BoxStepProc,
            Self::Mounts => Word::BoxStepMounts,
            Self::Loopback => Word::BoxStepLoopback,
            Self::Capabilities => Word::BoxStepCapabilities,
            Self::Landlock => Word::BoxStepLandlock,
            Self::Filter => Word::BoxStepFilter,
        }
    }
}

type Outcome = Result<(), (Step, io::Error)>;

const NO_FLAGS: libc::c_ulong = 0;
const LAST_CAPABILITY: libc::c_ulong = 63;
const CAPABILITY_VERSION: u32 = 0x2008_0522;

/// The namespaces that the child is to be forked into, as flags of `clone`.
pub fn namespaces(jail: &Jail<'_>) -> libc::c_int {
    let frame = &jail.frame;
    let mut flags = libc::CLONE_NEWNS | libc::CLONE_NEWIPC;
    if frame.way == Way::None {
        return 0;
    }
    if frame.own_user {
        flags |= libc::CLONE_NEWUSER;
    }
    if frame.own_network {
        flags |= libc::CLONE_NEWNET;
    }
    if frame.pids {
        flags |= libc::CLONE_NEWPID;
    }
    flags
}

/// First part, in the new namespaces: user, mounts, loopback. The folder of the command must be entered afterwards, by
/// its path.
pub fn isolate(jail: &Jail<'_>) -> Outcome {
    let frame = &jail.frame;
    if frame.way == Way::None {
        return Ok(());
    }
    if frame.own_user {
        map_user(frame.user).map_err(|e| (Step::UserMap, e))?;
    }
    mount(None, c"/", None, libc::MS_REC | libc::MS_PRIVATE, None)
        .map_err(|e| (Step::Mounts, e))?;
    if frame.pids {
        let flags = libc::MS_NOSUID | libc::MS_NODEV | libc::MS_NOEXEC;
        let kind = Some(c"proc");
        mount(kind, c"/proc", kind, flags, None).map_err(|e| (Step::Processes, e))?;
    }
    mount_all(&jail.mounts).map_err(|e| (Step::Mounts, e))?;
    match frame.loopback {
        true => loopback_up().map_err(|e| (Step::Loopback, e)),
        false => Ok(()),
    }
}

/// For the init of a command, which only waits: it can do nothing more, and nobody looks into it.
pub fn retire() -> io::Result<()> {
    // SAFETY: a flag of this process.
    let done = unsafe {
        libc::prctl(
            libc::PR_SET_DUMPABLE,
            NO_FLAGS,
            NO_FLAGS,
            NO_FLAGS,
            NO_FLAGS,
        )
    };
    check(done)?;
    keep_capabilities(0)
}

/// Second part, right before exec: from here on nothing comes back. A supervised command sends to `notices` what its
/// supervisor needs.
pub fn restrict(
    jail: &Jail<'_>,
    ruleset: Option<BorrowedFd<'_>>,
    notices: Option<BorrowedFd<'_>>,
) -> Outcome {
    let failed = |e| (Step::Filter, e);
    let table = notices.map(|_| open_table()).transpose().map_err(failed)?;
    // SAFETY: a flag of this process.
    let done = unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, NO_FLAGS, NO_FLAGS, NO_FLAGS) };
    check(done).map_err(|e| (Step::Capabilities, e))?;
    drop_capabilities(jail.frame.keep).map_err(|e| (Step::Capabilities, e))?;
    if let Some(ruleset) = ruleset {
        // The rules know the mounts beneath, which are other file systems.
        if jail.has_init() {
            landlock::allow_mounted(ruleset, c"/proc", landlock::READ)
                .map_err(|e| (Step::Landlock, e))?;
        }
        for (kind, path) in &jail.mounts {
            let rights = match kind {
                Mount::Terminals => landlock::DEVICE,
                Mount::Fresh => landlock::READ | landlock::WRITE | landlock::DEVICE,
                Mount::Bind
                | Mount::ReadOnlyTree
                | Mount::Writable
                | Mount::HideFolder
                | Mount::HideFile
                | Mount::Carry
                | Mount::CarryLinked
                | Mount::Clear
                | Mount::PutDown
                | Mount::Source
                | Mount::PutOver
                | Mount::Link
                | Mount::ShowLink
                | Mount::Touch
                | Mount::ReadOnly => continue,
            };
            landlock::allow_mounted(ruleset, path, rights).map_err(|e| (Step::Landlock, e))?;
        }
        // SAFETY: the descriptor is open; the kernel checks its kind.
        let done =
            unsafe { libc::syscall(libc::SYS_landlock_restrict_self, ruleset.as_raw_fd(), 0_u32) };
        check(done as i32).map_err(|e| (Step::Landlock, e))?;
    }
    match (notices, &table) {
        (Some(notices), Some(table)) => listen_to(&jail.filter)
            .and_then(|listener| {
                let sent = [listener.as_fd(), table.as_fd()];
                crate::descriptors::send(notices, &[0], &sent)
            })
            .map(drop)
            .map_err(failed),
        _ => install(&jail.filter, 0).map(drop).map_err(failed),
    }
}

/// The sockets of the network that this process is in, to be asked for.
pub fn open_table() -> io::Result<OwnedFd> {
    use rustix::net::{AddressFamily, Protocol, SocketFlags, SocketType, socket_with};
    const SOCK_DIAG: u32 = 4;
    Ok(socket_with(
        AddressFamily::NETLINK,
        SocketType::RAW,
        SocketFlags::CLOEXEC,
        std::num::NonZeroU32::new(SOCK_DIAG).map(Protocol::from_raw),
    )?)
}

/// Puts the filter on, and gives the descriptor where its notices come.
fn listen_to(filter: &[libc::sock_filter]) -> io::Result<OwnedFd> {
    const NEW_LISTENER: libc::c_ulong = 1 << 3;
    // A call that was taken up is not begun again because of a signal; older kernels do not know it.
    const WAIT_KILLABLE: libc::c_ulong = 1 << 5;
    let fd =
        install(filter, NEW_LISTENER | WAIT_KILLABLE).or_else(|_| install(filter, NEW_LISTENER))?;
    // SAFETY: the call gave a new descriptor.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

fn install(filter: &[libc::sock_filter], flags: libc::c_ulong) -> io::Result<libc::c_int> {
    let program = libc::sock_fprog {
        len: filter.len() as u16,
        filter: filter.as_ptr().cast_mut(),
    };
    // SAFETY: the program outlives the call, which only reads it.
    let done = unsafe {
        libc::syscall(
            libc::SYS_seccomp,
            libc::SECCOMP_SET_MODE_FILTER,
            flags,
            &raw const program,
        )
    } as libc::c_int;
    check(done).map(|()| done)
}

/// Tries in a copy of this process whether a filter with notices can be had: another one may be on already.
pub fn try_listener() -> io::Result<()> {
    const PASS: libc::sock_filter = libc::sock_filter {
        code: 0x06,
        jt: 0,
        jf: 0,
        k: libc::SECCOMP_RET_ALLOW,
    };
    // SAFETY: the child makes system calls only, then ends.
    let child = match unsafe { libc::syscall(libc::SYS_clone, libc::SIGCHLD, 0, 0, 0, 0) } {
        0 => {
            // SAFETY: a flag of this process.
            unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, NO_FLAGS, NO_FLAGS, NO_FLAGS) };
            let code = i32::from(listen_to(&[PASS]).is_err());
            // SAFETY: ends the copy without running anything of ours.
            unsafe { libc::_exit(code) }
        }
        pid => rustix::process::Pid::from_raw(pid.max(0) as i32),
    };
    let child = child.ok_or_else(io::Error::last_os_error)?;
    let wait = rustix::process::WaitOptions::empty();
    let ended = rustix::io::retry_on_intr(|| rustix::process::waitpid(Some(child), wait))?;
    match ended.and_then(|(_, status)| status.exit_status()) {
        Some(0) => Ok(()),
        _ => Err(io::ErrorKind::Unsupported.into()),
    }
}

pub(super) fn map_user(user: User) -> io::Result<()> {
    write_file(c"/proc/self/setgroups", b"deny")?;
    for (path, id) in [
        (c"/proc/self/uid_map", user.uid),
        (c"/proc/self/gid_map", user.gid),
    ] {
        let mut text = [0_u8; 32];
        let mut left = text.as_mut_slice();
        write!(left, "{id} {id} 1")?;
        let length = 32 - left.len();
        write_file(path, text.get(..length).unwrap_or_default())?;
    }
    Ok(())
}

fn write_file(path: &CStr, bytes: &[u8]) -> io::Result<()> {
    use rustix::fs::{Mode, OFlags, open};
    let file = open(path, OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty())?;
    rustix::io::write(&file, bytes)?;
    Ok(())
}

pub(super) fn loopback_up() -> io::Result<()> {
    use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};
    let socket = socket_with(
        AddressFamily::INET,
        SocketType::DGRAM,
        SocketFlags::CLOEXEC,
        None,
    )?;
    // SAFETY: the request is zeroed, then named and given its flags.
    check(unsafe {
        let mut request: libc::ifreq = std::mem::zeroed();
        request.ifr_name[0] = b'l' as libc::c_char;
        request.ifr_name[1] = b'o' as libc::c_char;
        request.ifr_ifru.ifru_flags = (libc::IFF_UP | libc::IFF_RUNNING) as libc::c_short;
        let request_of = libc::SIOCSIFFLAGS as libc::Ioctl;
        libc::ioctl(socket.as_raw_fd(), request_of, &raw const request)
    })
}

/// The port is free: nobody was in this network before.
pub(super) fn listen() -> io::Result<OwnedFd> {
    use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, listen, socket_with};
    const WAITING: i32 = 64;
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(AddressFamily::INET, SocketType::STREAM, flags, None)?;
    bind(&socket, &crate::PROXY)?;
    listen(&socket, WAITING)?;
    Ok(socket)
}

/// Also out of the bounding set, so that no program brings them back.
fn drop_capabilities(keep: u64) -> io::Result<()> {
    for capability in 0..=LAST_CAPABILITY {
        if keep >> capability & 1 == 0 {
            // SAFETY: a flag of this process.
            let done = unsafe {
                libc::prctl(
                    libc::PR_CAPBSET_DROP,
                    capability,
                    NO_FLAGS,
                    NO_FLAGS,
                    NO_FLAGS,
                )
            };
            // Past the last that this kernel knows; or without the right to do this, and then nothing can be gained at exec
            // either, because of the flag set before.
            if done != 0 {
                break;
            }
        }
    }
    keep_capabilities(keep)
}

fn keep_capabilities(keep: u64) -> io::Result<()> {
    let mut have = [0_u32; 6];
    let header = [CAPABILITY_VERSION, 0];
    // SAFETY: two sets of three words, as this version has them.
    check(unsafe { libc::syscall(libc::SYS_capget, header.as_ptr(), have.as_mut_ptr()) } as i32)?;
    let [_, low, _, _, high, _] = have;
    let (low, high) = (low & keep as u32, high & (keep >> 32) as u32);
    let sets = [low, low, 0, high, high, 0];
    // SAFETY: as above.
    check(unsafe { libc::syscall(libc::SYS_capset, header.as_ptr(), sets.as_ptr()) } as i32)
}

pub(super) fn check(result: libc::c_int) -> io::Result<()> {
    match result {
        0.. => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Tries in a copy of this process whether namespaces can be had this way, and tells the error if not.
pub(super) fn attempt(jail: &Jail<'_>) -> Result<(), (Step, io::Error)> {
    let cannot = |error| (Step::Namespaces, error);
    let (read, write) = io::pipe().map_err(cannot)?;
    let flags = i64::from(namespaces(jail) | libc::SIGCHLD);
    // SAFETY: the child makes system calls only, then ends.
    let child = match unsafe { libc::syscall(libc::SYS_clone, flags, 0, 0, 0, 0) } {
        0 => {
            if let Err((step, error)) = isolate(jail) {
                let errno = error.raw_os_error().unwrap_or(libc::EIO) as u8;
                let _told = rustix::io::write(&write, &[step.number(), errno]);
            }
            // SAFETY: ends the copy without running anything of ours.
            unsafe { libc::_exit(0) }
        }
        pid => rustix::process::Pid::from_raw(pid.max(0) as i32),
    };
    let child = child.ok_or_else(|| cannot(io::Error::last_os_error()))?;
    drop(write);
    let mut told = [0; 2];
    let count = rustix::io::retry_on_intr(|| rustix::io::read(&read, &mut told));
    let wait = rustix::process::WaitOptions::empty();
    let _reaped = rustix::io::retry_on_intr(|| rustix::process::waitpid(Some(child), wait));
    match (count, told) {
        (Ok(0), _) => Ok(()),
        (Ok(_), [step, errno]) => Err((
            Step::from_number(step).unwrap_or(Step::Namespaces),
            Errno::from_raw_os_error(errno.into()).into(),
        )),
        (Err(error), _) => Err(cannot(error.into())),
    }
}
