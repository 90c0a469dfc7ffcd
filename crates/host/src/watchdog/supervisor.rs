//! Makes the connections of a command for it. The kernel holds each `connect` until it is answered here: the socket and
//! the address are copied out of the caller, judged, and connected in this process, so that nothing the caller changes
//! meanwhile has a say. Unix sockets must be those that commands of the session listen on, or granted ones.
#![expect(unsafe_code, reason = "notices of a filter have no wrapper")]

use super::sys;
use super::tree;
use ostler_sandbox::linux::Jail;
use ostler_sandbox::other_process::{
    Listening, UnixTable, last_errno, read_memory, take_descriptor,
};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fd::{AsRawFd, OwnedFd, RawFd};
use rustix::fs::{CWD, FileType, Mode, OFlags, ResolveFlags, fstat, open, openat2};
use rustix::io::Errno;
use rustix::process::{Signal, set_parent_process_death_signal};
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Calls that may wait at once, as on a server that takes nobody; further ones are told to try again.
const MAX_WAITING: usize = 1024;
const STACK: usize = 256 << 10;
/// Longest address of any family.
const MAX_ADDRESS: usize = 128;
/// Requests to a descriptor of notices.
const RECEIVE: libc::Ioctl = 0xc050_2100_u32 as libc::Ioctl;
const ANSWER: libc::Ioctl = 0xc018_2101_u32 as libc::Ioctl;
const IS_VALID: libc::Ioctl = 0x4008_2102_u32 as libc::Ioctl;
/// Room for notices of kernels to come.
const NOTICE_WORDS: usize = 32;

/// What the command sent before it began: where its calls are noticed, and the sockets of its network.
pub(super) struct Notices {
    listener: OwnedFd,
    table: OwnedFd,
}

/// Where the network of a command is one of its own, all sockets in it are those of the session.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Network {
    Own,
    /// Shared with the person: only sockets that commands below this process hold are the session's.
    Shared {
        watchdog: i32,
    },
}

struct Supervisor {
    listener: OwnedFd,
    table: UnixTable,
    network: Network,
    granted: Vec<PathBuf>,
    waiting: AtomicUsize,
}

/// A call of `connect` that waits.
struct Call {
    id: u64,
    thread: i32,
    fd: RawFd,
    address: u64,
    length: u64,
}

impl Notices {
    /// `None` if the command ended before it sent them.
    pub(super) fn receive(from: &OwnedFd) -> Option<Self> {
        let mut given = Vec::new();
        use rustix::fd::AsFd;
        let took =
            rustix::io::retry_on_intr(|| super::frame::take(from.as_fd(), &mut [0], &mut given));
        took.ok().filter(|count| *count > 0)?;
        let table = given.pop()?;
        Some(Self {
            listener: given.pop()?,
            table,
        })
    }

    pub(super) fn listener(&self) -> &OwnedFd {
        &self.listener
    }

    /// The life of a supervisor, in a process that was forked for it. Ends with the last process that can call.
    pub(super) fn supervise(self, jail: &Jail<'_>, lifeline: &OwnedFd, watchdog: i32) -> ! {
        let _old_kernel = set_parent_process_death_signal(Some(Signal::KILL));
        let kept = [&self.listener, &self.table, lifeline].map(AsRawFd::as_raw_fd);
        sys::close_others(&kept);
        super::server::set_name(c"supervisor");
        let supervisor = Arc::new(Supervisor {
            listener: self.listener,
            table: UnixTable::new(self.table),
            network: match jail.has_own_network() {
                true => Network::Own,
                false => Network::Shared { watchdog },
            },
            granted: jail.sockets().map(PathBuf::from).collect(),
            waiting: AtomicUsize::new(0),
        });
        loop {
            let mut fds = [
                PollFd::new(&supervisor.listener, PollFlags::IN),
                PollFd::new(lifeline, PollFlags::IN),
            ];
            match poll(&mut fds, None) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(_) => sys::exit_now(1),
            }
            let [called, orphaned] = fds.map(|fd| fd.revents());
            if !orphaned.is_empty() {
                sys::exit_now(0);
            }
            if called.contains(PollFlags::IN) {
                serve(&supervisor);
            } else if !called.is_empty() {
                sys::exit_now(0);
            }
        }
    }
}

/// Takes one call and answers it on a thread: what it does may wait, for a server or for a file system.
fn serve(supervisor: &Arc<Supervisor>) {
    let Some(call) = supervisor.take() else {
        return;
    };
    if supervisor.waiting.fetch_add(1, Ordering::Relaxed) >= MAX_WAITING {
        supervisor.waiting.fetch_sub(1, Ordering::Relaxed);
        return supervisor.answer(call.id, Err(Errno::AGAIN));
    }
    let (id, worker) = (call.id, supervisor.clone());
    let work = move || {
        worker.answer(call.id, worker.connect(&call));
        worker.waiting.fetch_sub(1, Ordering::Relaxed);
    };
    let started = std::thread::Builder::new().stack_size(STACK).spawn(work);
    if started.is_err() {
        supervisor.waiting.fetch_sub(1, Ordering::Relaxed);
        supervisor.answer(id, Err(Errno::AGAIN));
    }
}

impl Supervisor {
    fn take(&self) -> Option<Call> {
        let mut notice = [0_u64; NOTICE_WORDS];
        // SAFETY: zeroed, and longer than the structure of any kernel.
        let done = unsafe { libc::ioctl(self.listener.as_raw_fd(), RECEIVE, notice.as_mut_ptr()) };
        // The caller may be gone already.
        if done != 0 {
            return None;
        }
        // Id; process and flags; number and machine; place; arguments.
        let [id, process, _, _, fd, address, length, ..] = notice;
        Some(Call {
            id,
            thread: process as u32 as i32,
            fd: fd as RawFd,
            address,
            length,
        })
    }

    fn answer(&self, id: u64, result: Result<(), Errno>) {
        #[repr(C)]
        struct Response {
            id: u64,
            value: i64,
            error: i32,
            flags: u32,
        }
        let response = Response {
            id,
            value: 0,
            error: result.err().map_or(0, |errno| -errno.raw_os_error()),
            flags: 0,
        };
        // SAFETY: the structure is the one that the request takes. A caller that is gone is no fault.
        unsafe { libc::ioctl(self.listener.as_raw_fd(), ANSWER, &raw const response) };
    }

    /// The number of a thread may be another's by now; then what was copied is not the caller's.
    fn is_valid(&self, id: u64) -> bool {
        // SAFETY: reads one number.
        unsafe { libc::ioctl(self.listener.as_raw_fd(), IS_VALID, &raw const id) == 0 }
    }

    fn connect(&self, call: &Call) -> Result<(), Errno> {
        let length = usize::try_from(call.length as u32).unwrap_or(usize::MAX);
        if length > MAX_ADDRESS {
            return Err(Errno::INVAL);
        }
        let socket = take_descriptor(call.thread, call.fd)?;
        let address = read_memory(call.thread, call.address, length)?;
        if !self.is_valid(call.id) {
            return Err(Errno::INTR);
        }
        let domain = rustix::net::sockopt::socket_domain(&socket)?;
        let family = address.first_chunk().map(|pair| u16::from_ne_bytes(*pair));
        let unix = domain.as_raw() == libc::AF_UNIX as u16;
        match (unix, family, address.get(2..)) {
            (true, Some(family), Some(name)) if i32::from(family) == libc::AF_UNIX => {
                self.connect_unix(call.thread, &socket, name)
            }
            _ => connect(&socket, &address),
        }
    }

    fn connect_unix(&self, thread: i32, socket: &OwnedFd, name: &[u8]) -> Result<(), Errno> {
        let family = (libc::AF_UNIX as u16).to_ne_bytes();
        match name {
            [] => Err(Errno::INVAL),
            [0, ..] => {
                let listening = self.table.list()?;
                let found = listening.iter().find(|socket| socket.name == name);
                match found.is_some_and(|found| self.is_own(found)) {
                    true => connect(socket, &[&family, name].concat()),
                    false => Err(Errno::CONNREFUSED),
                }
            }
            path => {
                let end = path.iter().position(|byte| *byte == 0);
                let path = path.get(..end.unwrap_or(path.len())).unwrap_or(path);
                let file = find(thread, path)?;
                let kind = FileType::from_raw_mode(fstat(&file)?.st_mode);
                if kind != FileType::Socket || !self.is_allowed(thread, &file)? {
                    return Err(Errno::CONNREFUSED);
                }
                let place = format!("/proc/self/fd/{}\0", file.as_raw_fd());
                connect(socket, &[&family, place.as_bytes()].concat())
            }
        }
    }

    fn is_allowed(&self, thread: i32, file: &OwnedFd) -> Result<bool, Errno> {
        let stat = fstat(file)?;
        let granted = |path: &PathBuf| {
            rustix::fs::stat(path)
                .is_ok_and(|other| (other.st_dev, other.st_ino) == (stat.st_dev, stat.st_ino))
        };
        if self.granted.iter().any(granted) {
            return Ok(true);
        }
        let number = stat.st_ino as u32;
        let listening = self.table.list()?;
        let same = |socket: &&Listening| {
            socket.file.is_some_and(|(file_number, device)| {
                file_number == number
                    && (device
                        == kernel_device(
                            rustix::fs::major(stat.st_dev),
                            rustix::fs::minor(stat.st_dev),
                        )
                        || Some(device) == mounted_device(thread, file))
            })
        };
        let found = listening.iter().find(same);
        Ok(found.is_some_and(|found| self.is_own(found)))
    }

    fn is_own(&self, socket: &Listening) -> bool {
        let watchdog = match self.network {
            Network::Own => return true,
            Network::Shared { watchdog } => watchdog,
        };
        let name = format!("socket:[{}]", socket.number);
        tree::below(watchdog).into_iter().any(|process| {
            let folder = PathBuf::from(format!("/proc/{}", process.as_raw_nonzero()));
            is_filtered(&folder) && holds(&folder, &name)
        })
    }
}

/// Others that the watchdog started are not sandboxed, and not for commands to talk to.
fn is_filtered(process: &Path) -> bool {
    let status = std::fs::read_to_string(process.join("status")).unwrap_or_default();
    status.lines().any(|line| line == "Seccomp:\t2")
}

fn holds(process: &Path, socket: &str) -> bool {
    let open = std::fs::read_dir(process.join("fd")).into_iter().flatten();
    open.flatten()
        .any(|entry| std::fs::read_link(entry.path()).is_ok_and(|link| link == Path::new(socket)))
}

/// The file that a path leads to for the caller: from its root and its folder, without the kernel's own links.
fn find(thread: i32, path: &[u8]) -> Result<OwnedFd, Errno> {
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    let root = open(
        format!("/proc/{thread}/root"),
        flags | OFlags::DIRECTORY,
        Mode::empty(),
    )?;
    let mut whole = match path.first() {
        Some(b'/') => PathBuf::new(),
        _ => rustix::fs::readlinkat(CWD, format!("/proc/{thread}/cwd"), Vec::new())
            .map(|link| PathBuf::from(OsString::from_vec(link.into_bytes())))?,
    };
    whole.push(OsString::from_vec(path.to_vec()));
    let resolve = ResolveFlags::IN_ROOT | ResolveFlags::NO_MAGICLINKS;
    openat2(&root, &whole, flags, Mode::empty(), resolve)
}

fn kernel_device(major: u32, minor: u32) -> u32 {
    major << 20 | minor
}

/// The device of the mount that a file was found on; of some file systems its own number is another.
fn mounted_device(thread: i32, file: &OwnedFd) -> Option<u32> {
    let info = std::fs::read_to_string(format!("/proc/self/fdinfo/{}", file.as_raw_fd())).ok()?;
    let mount = info.lines().find_map(|line| line.strip_prefix("mnt_id:"))?;
    let mounts = std::fs::read_to_string(format!("/proc/{thread}/mountinfo")).ok()?;
    let device = mounts.lines().find_map(|line| {
        let mut fields = line.split(' ');
        (fields.next()? == mount.trim()).then(|| fields.nth(1))?
    })?;
    let (major, minor) = device.split_once(':')?;
    Some(kernel_device(major.parse().ok()?, minor.parse().ok()?))
}

fn connect(socket: &OwnedFd, address: &[u8]) -> Result<(), Errno> {
    let length = address.len() as libc::socklen_t;
    // SAFETY: the kernel copies the address before it reads it.
    match unsafe { libc::connect(socket.as_raw_fd(), address.as_ptr().cast(), length) } {
        0 => Ok(()),
        _ => Err(last_errno()),
    }
}
