//! The few system calls that have no safe wrapper, each made as narrow as its use here.

use rustix::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use rustix::process::Pid;
use std::ffi::CStr;
use std::io;
use std::os::unix::process::CommandExt;
use std::ptr;
use std::sync::atomic::{AtomicI32, Ordering};

pub(super) enum Forked {
    Child,
    Parent(Pid),
}

/// A copy of this process with one thread.
///
/// # Safety
/// The child of a process with several threads may take no lock that another thread could hold. It may allocate: the
/// allocators in use reset themselves in a forked child.
pub(super) unsafe fn fork() -> io::Result<Forked> {
    // SAFETY: passed on to the caller.
    match unsafe { libc::fork() } {
        0 => Ok(Forked::Child),
        raw => Pid::from_raw(raw)
            .filter(|_| raw > 0)
            .map(Forked::Parent)
            .ok_or_else(io::Error::last_os_error),
    }
}

/// The same, into new namespaces: `flags` as `clone` takes them.
///
/// # Safety
/// This process must have one thread: what the C library does around a fork is left out.
#[cfg(target_os = "linux")]
pub(super) unsafe fn fork_into(flags: libc::c_int) -> io::Result<Forked> {
    let flags = libc::c_long::from(flags | libc::SIGCHLD);
    // SAFETY: without a stack of its own and without shared memory this is a fork.
    match unsafe { libc::syscall(libc::SYS_clone, flags, 0, 0, 0, 0) } {
        0 => Ok(Forked::Child),
        raw => i32::try_from(raw)
            .ok()
            .filter(|raw| *raw > 0)
            .and_then(Pid::from_raw)
            .map(Forked::Parent)
            .ok_or_else(io::Error::last_os_error),
    }
}

/// The end of a child is of no interest to this process but when it waits.
#[cfg(target_os = "linux")]
pub(super) fn ignore_children() {
    // SAFETY: no handler is installed; unlike when ignored, children can still be waited for.
    unsafe { libc::signal(libc::SIGCHLD, libc::SIG_DFL) };
}

/// Leaves at once: no destructors, no buffers of the process this one was forked from.
pub(super) fn exit_now(code: i32) -> ! {
    // SAFETY: ends the process.
    unsafe { libc::_exit(code) }
}

/// Replaces this process; returns only on failure.
pub(super) fn exec(program: &CStr, argv: &[&CStr], env: &[&CStr]) -> io::Error {
    let pointers = |strings: &[&CStr]| -> Vec<*const libc::c_char> {
        let strings = strings.iter().map(|string| string.as_ptr());
        strings.chain([ptr::null()]).collect()
    };
    let (argv, env) = (pointers(argv), pointers(env));
    // SAFETY: both lists end with a null pointer and outlive the call.
    unsafe { libc::execve(program.as_ptr(), argv.as_ptr(), env.as_ptr()) };
    io::Error::last_os_error()
}

/// Makes a command start in a session of its own, out of reach of the terminal's signals.
pub(super) fn in_own_session(command: &mut std::process::Command) {
    // SAFETY: setsid is safe between fork and exec.
    unsafe {
        command.pre_exec(|| {
            rustix::process::setsid()?;
            Ok(())
        });
    }
}

/// What a person or a closing terminal may send must not stop the watchdog.
pub(super) fn ignore_signals() {
    for signal in [
        libc::SIGHUP,
        libc::SIGINT,
        libc::SIGQUIT,
        libc::SIGTERM,
        libc::SIGPIPE,
        libc::SIGUSR1,
        libc::SIGUSR2,
        libc::SIGALRM,
        libc::SIGTSTP,
        libc::SIGTTIN,
        libc::SIGTTOU,
    ] {
        // SAFETY: no handler is installed.
        unsafe { libc::signal(signal, libc::SIG_IGN) };
    }
}

/// Default dispositions and an empty mask, as a program expects to find them.
pub(super) fn reset_signals() {
    const LAST_SIGNAL: i32 = 64;
    for signal in 1..=LAST_SIGNAL {
        // The C library refuses the two signals that it keeps for itself, though they may be inherited as ignored.
        // SAFETY: all zeroes is the default action, in a buffer larger than the kernel's structure.
        #[cfg(target_os = "linux")]
        unsafe {
            const SET_SIZE: usize = 8;
            let default = [0_u64; 8];
            let none = ptr::null_mut::<u64>();
            libc::syscall(
                libc::SYS_rt_sigaction,
                signal,
                default.as_ptr(),
                none,
                SET_SIZE,
            );
        }
        // SAFETY: no handler is installed. Numbers that cannot be set are refused without harm.
        #[cfg(not(target_os = "linux"))]
        unsafe {
            libc::signal(signal, libc::SIG_DFL)
        };
    }
    // SAFETY: the set is initialised by sigemptyset before it is read.
    unsafe {
        let mut none = std::mem::zeroed();
        libc::sigemptyset(&mut none);
        libc::sigprocmask(libc::SIG_SETMASK, &none, ptr::null_mut());
    }
}

static WAKE: AtomicI32 = AtomicI32::new(-1);

extern "C" fn on_child(_signal: libc::c_int) {
    let fd = WAKE.load(Ordering::Relaxed);
    // SAFETY: write and errno are fine in a handler; a full pipe already wakes.
    unsafe {
        let errno = errno_location();
        let saved = *errno;
        libc::write(fd, [0_u8].as_ptr().cast(), 1);
        *errno = saved;
    }
}

#[cfg(target_os = "linux")]
unsafe fn errno_location() -> *mut libc::c_int {
    // SAFETY: always valid for this thread.
    unsafe { libc::__errno_location() }
}

#[cfg(not(target_os = "linux"))]
unsafe fn errno_location() -> *mut libc::c_int {
    // SAFETY: always valid for this thread.
    unsafe { libc::__error() }
}

/// The session of a process; 0 is one whose leader is outside of our view, as in containers.
pub(super) fn session_of(pid: Pid) -> i32 {
    // SAFETY: only asks.
    unsafe { libc::getsid(pid.as_raw_nonzero().get()) }
}

/// The group of a process, with the same meaning of 0.
pub(super) fn group_of(pid: Pid) -> i32 {
    // SAFETY: only asks.
    unsafe { libc::getpgid(pid.as_raw_nonzero().get()) }
}

/// From now on the end of a child writes a byte to `pipe`, which must stay open.
pub(super) fn wake_on_child(pipe: BorrowedFd<'_>) {
    WAKE.store(pipe.as_raw_fd(), Ordering::Relaxed);
    // SAFETY: the action is fully initialised, and its handler only calls write.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = on_child as extern "C" fn(libc::c_int) as usize;
        action.sa_flags = libc::SA_NOCLDSTOP | libc::SA_RESTART;
        libc::sigemptyset(&mut action.sa_mask);
        libc::sigaction(libc::SIGCHLD, &action, ptr::null_mut());
    }
}

/// Closes every descriptor above the standard three, except `keep`. For a process that was just forked or started and
/// owns nothing it knows of but `keep`.
pub(super) fn close_others(keep: &[RawFd]) {
    let mut keep: Vec<RawFd> = keep.to_vec();
    keep.sort_unstable();
    let mut first = 3;
    for &fd in &keep {
        if first < fd {
            close_between(first, fd - 1);
        }
        first = first.max(fd + 1);
    }
    close_between(first, RawFd::MAX);
}

fn close_between(first: RawFd, last: RawFd) {
    #[cfg(target_os = "linux")]
    {
        // SAFETY: closes descriptors that the caller gave up; the raw call also serves C libraries without a wrapper.
        let done = unsafe { libc::syscall(libc::SYS_close_range, first, last, 0) };
        if done == 0 {
            return;
        }
    }
    let Ok(open) = std::fs::read_dir("/dev/fd") else {
        return;
    };
    let open: Vec<RawFd> = open
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .collect();
    for fd in open {
        if (first..=last).contains(&fd) {
            // SAFETY: as above. The descriptor of the listing itself is already closed, which close reports harmlessly.
            unsafe { libc::close(fd) };
        }
    }
}

/// Gives back the pages of our own file that only the start needed, mostly the relocation table: the watchdog uses little
/// of a large program. What it does need comes back from the page cache.
#[cfg(target_os = "linux")]
pub(super) fn forget_start() {
    let (Ok(program), Ok(maps)) = (
        std::fs::read_link("/proc/self/exe"),
        std::fs::read_to_string("/proc/self/maps"),
    ) else {
        return;
    };
    for line in maps.lines() {
        // "from-to rights offset device inode path", numbers in hexadecimal.
        let mut words = line.split_whitespace();
        let mut next = || words.next().unwrap_or_default();
        let (range, rights, offset) = (next(), next(), next());
        let path = line.find('/').and_then(|at| line.get(at..));
        // Others that cannot be written now were written at the start, and would lose that.
        let never_written =
            rights == "r-xp" || (rights == "r--p" && offset.bytes().all(|digit| digit == b'0'));
        if !never_written || path != program.to_str() {
            continue;
        }
        let number = |text: &str| usize::from_str_radix(text, 16).ok();
        let range = range
            .split_once('-')
            .and_then(|(from, to)| number(from).zip(number(to)));
        if let Some((from, to)) = range
            && let Some(length) = to.checked_sub(from)
        {
            // SAFETY: the mapping is private, read-only and of a file, so that its pages are read again on demand.
            unsafe { libc::madvise(from as *mut libc::c_void, length, libc::MADV_DONTNEED) };
        }
    }
}

/// Owns descriptor 0, which the parent filled for this process.
pub(super) fn take_stdin() -> OwnedFd {
    // SAFETY: called once, by the watchdog at its start; nothing else uses stdin there.
    unsafe { OwnedFd::from_raw_fd(0) }
}

pub(super) type RawTermios = [u8; size_of::<libc::termios>()];

pub(super) fn get_termios(tty: BorrowedFd<'_>) -> io::Result<RawTermios> {
    // SAFETY: tcgetattr fills the structure it is given; its bytes are plain integers.
    unsafe {
        let mut termios: libc::termios = std::mem::zeroed();
        if libc::tcgetattr(tty.as_raw_fd(), &mut termios) != 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(std::mem::transmute::<libc::termios, RawTermios>(termios))
    }
}

pub(super) fn set_termios(tty: BorrowedFd<'_>, termios: RawTermios) -> io::Result<()> {
    // SAFETY: every bit pattern is a valid termios; the kernel checks the values.
    let done = unsafe {
        let termios = std::mem::transmute::<RawTermios, libc::termios>(termios);
        libc::tcsetattr(tty.as_raw_fd(), libc::TCSANOW, &termios)
    };
    if done == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

/// Parent of every process that this one can see, by pid.
#[cfg(target_os = "macos")]
pub(super) fn parents() -> Vec<(i32, i32)> {
    const SPARE: usize = 64;
    // SAFETY: each call gets a buffer and its true size; short answers are dropped.
    unsafe {
        let count = libc::proc_listallpids(ptr::null_mut(), 0);
        let mut pids = vec![0_i32; usize::try_from(count).unwrap_or(0) + SPARE];
        let bytes = (pids.len() * size_of::<i32>()) as libc::c_int;
        let count = libc::proc_listallpids(pids.as_mut_ptr().cast(), bytes);
        pids.truncate(usize::try_from(count).unwrap_or(0));
        let parent = |pid: i32| {
            let mut info: libc::proc_bsdinfo = std::mem::zeroed();
            let size = size_of::<libc::proc_bsdinfo>() as libc::c_int;
            let got =
                libc::proc_pidinfo(pid, libc::PROC_PIDTBSDINFO, 0, (&raw mut info).cast(), size);
            (got == size).then_some((pid, info.pbi_ppid as i32))
        };
        pids.into_iter().filter_map(parent).collect()
    }
}
