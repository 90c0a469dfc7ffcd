//! Attempts that need system calls no shell makes. This program is its own tool for them: what works out says so.
#![expect(unsafe_code, reason = "the attempts are system calls")]
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "this mode is a command of its own"
)]

use std::ffi::{CString, c_long, c_ulong};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::os::fd::AsRawFd;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram, UnixListener, UnixStream};
use std::process::ExitCode;

const REMOUNT: c_ulong = libc::MS_REMOUNT | libc::MS_BIND;

/// The mode `TRY what args…`; `None` if this is a run of the suite.
pub fn run_if_asked() -> Option<ExitCode> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let (what, rest) = args.split_first()?;
    let rest: Vec<&str> = rest.iter().map(String::as_str).collect();
    let worked = attempt(what, &rest)?;
    Some(match worked {
        Ok(()) => {
            match what.starts_with("inner") {
                true => println!("WORKS {what}"),
                false => println!("ESCAPED {what}"),
            }
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{what}: {error}");
            ExitCode::FAILURE
        }
    })
}

type Result<T = ()> = std::io::Result<T>;

fn attempt(what: &str, args: &[&str]) -> Option<Result> {
    Some(match (what, args) {
        ("nothing", []) => Err(std::io::Error::other("did nothing")),
        ("rename", [from, to]) => std::fs::rename(from, to),
        ("exchange", [a, b]) => {
            let (a, b) = (c(a), c(b));
            call(
                libc::SYS_renameat2,
                [
                    i64::from(libc::AT_FDCWD),
                    a.as_ptr() as i64,
                    i64::from(libc::AT_FDCWD),
                    b.as_ptr() as i64,
                    i64::from(libc::RENAME_EXCHANGE),
                ],
            )
        }
        ("mem", [pid]) => std::fs::File::open(format!("/proc/{pid}/mem")).map(drop),
        ("vm", [pid]) => read_memory(pid.parse().ok()?),
        ("ptrace", [pid]) => ptrace(pid.parse().ok()?),
        ("pidfd", [pid]) => steal(pid.parse().ok()?),
        ("unix", [path]) => UnixStream::connect(path).map(drop),
        ("abstract", [name]) => SocketAddr::from_abstract_name(name)
            .and_then(|address| UnixStream::connect_addr(&address))
            .map(drop),
        ("datagram", [path]) => {
            UnixDatagram::unbound().and_then(|s| s.send_to(b"x", path).map(drop))
        }
        ("pair", [path]) => UnixDatagram::pair().and_then(|(s, _)| s.send_to(b"x", path).map(drop)),
        ("tcp", [port]) => TcpStream::connect(format!("127.0.0.1:{port}")).map(drop),
        // Said only if it arrives.
        ("udp", [port]) => UdpSocket::bind("0.0.0.0:0")
            .and_then(|s| s.send_to(b"secret.example", format!("127.0.0.1:{port}")))
            .and_then(|_| Err(std::io::Error::other("sent"))),
        ("far-udp", [address]) => UdpSocket::bind("0.0.0.0:0")
            .and_then(|s| s.send_to(b"secret.example", address).map(drop)),
        ("far-tcp", [address]) => address
            .parse()
            .map_err(std::io::Error::other)
            .and_then(|a| {
                let limit = std::time::Duration::from_millis(300);
                TcpStream::connect_timeout(&a, limit).map(drop)
            }),
        ("raw", []) => raw(),
        ("vsock", []) => call(libc::SYS_socket, [i64::from(libc::AF_VSOCK), 1, 0, 0, 0]),
        ("tiocsti", []) => check(unsafe { libc::ioctl(0, libc::TIOCSTI, c"x".as_ptr()) }.into()),
        ("fds", []) => match (3..1024).find(|fd| unsafe { libc::fcntl(*fd, libc::F_GETFD) } >= 0) {
            Some(fd) => {
                println!(
                    "{fd} {:?}",
                    std::fs::read_link(format!("/proc/self/fd/{fd}"))
                );
                Ok(())
            }
            None => Err(std::io::Error::other("none")),
        },
        ("calls", []) => calls(),
        ("namespaces", []) => namespaces(),
        ("setns", [path]) => std::fs::File::open(path)
            .and_then(|file| check(unsafe { libc::setns(file.as_raw_fd(), 0) }.into())),
        ("umount", paths) => any(paths, |path| {
            check(unsafe { libc::umount2(c(path).as_ptr(), libc::MNT_DETACH) }.into())
        }),
        ("remount", paths) => any(paths, |path| {
            let none = std::ptr::null();
            check(unsafe { libc::mount(none, c(path).as_ptr(), none, REMOUNT, none.cast()) }.into())
        }),
        #[cfg(target_arch = "x86_64")]
        ("x32", []) => call(0x4000_0000 + libc::SYS_getpid, [0; 5]),
        #[cfg(not(target_arch = "x86_64"))]
        ("x32", []) => Err(std::io::Error::other("none here")),
        ("late", [sign, path]) => match wait_for(std::path::Path::new(sign)) {
            true => UnixStream::connect(path).map(drop),
            false => Err(std::io::Error::other("nobody came")),
        },
        ("swap", [own, foreign]) => swap(own, foreign),
        ("serve-unix", [path]) => UnixListener::bind(path).and_then(|s| answer_all(&s)),
        ("serve-abstract", [name]) => SocketAddr::from_abstract_name(name)
            .and_then(|address| UnixListener::bind_addr(&address))
            .and_then(|server| answer_all(&server)),
        ("threads", [path]) => {
            let connect = || (0..20).try_for_each(|_| UnixStream::connect(path).map(drop));
            std::thread::scope(|scope| {
                let all: Vec<_> = (0..8).map(|_| scope.spawn(connect)).collect();
                all.into_iter()
                    .try_for_each(|one| one.join().expect("no panic"))
            })
        }
        ("crowd", [path]) => crowd(path),
        ("not-a-socket", []) => {
            check(unsafe { libc::connect(1, (&raw const ADDRESS).cast(), 16) }.into())
        }
        ("bad-address", []) => {
            let socket = UnixStream::pair().ok()?.0;
            check(unsafe { libc::connect(socket.as_raw_fd(), 8 as *const _, 16) }.into())
        }
        ("set-id", []) => set_id(),
        ("segment", [id]) => read_segment(id.parse().ok()?),
        ("priority", [pid]) => steer(pid.parse().ok()?),
        ("inner-pair", []) => {
            let (mut a, mut b) = UnixStream::pair().ok()?;
            a.write_all(b"x").and_then(|()| b.read_exact(&mut [0]))
        }
        ("inner-server", []) => serve(),
        ("listen", []) => listen(),
        ("take-door", [ip]) => {
            TcpListener::bind(format!("{ip}:{}", ostler_host::sandbox::PROXY.port())).map(drop)
        }
        ("inner-unix", [path]) => {
            let serve = || {
                let server = UnixListener::bind(path)?;
                let mut client = UnixStream::connect(path)?;
                client.write_all(b"x")?;
                server.accept()?.0.read_exact(&mut [0])
            };
            serve()
        }
        _ => return None,
    })
}

/// Any address.
static ADDRESS: [u8; 16] = [0; 16];

/// Whether a file turned up in time.
pub fn wait_for(path: &std::path::Path) -> bool {
    const PAUSE: std::time::Duration = std::time::Duration::from_millis(2);
    const ROUNDS: usize = 5000;
    (0..ROUNDS).any(|_| {
        std::thread::sleep(PAUSE);
        path.exists()
    })
}

/// Says that it listens, then takes whoever comes.
fn answer_all(server: &UnixListener) -> Result {
    println!("up");
    loop {
        server.accept()?;
    }
}

/// More callers than a server takes, some of them on threads that wait.
fn crowd(path: &str) -> Result {
    let server = UnixListener::bind(path)?;
    check(unsafe { libc::listen(server.as_raw_fd(), 0) }.into())?;
    let waits = || UnixStream::connect(path).map(drop);
    std::thread::scope(|scope| {
        for _ in 0..80 {
            scope.spawn(waits);
        }
        // Other calls go through meanwhile.
        let other = format!("{path}-other");
        let second = UnixListener::bind(&other)?;
        let done = (0..20).try_for_each(|_| {
            UnixStream::connect(&other)?;
            second.accept().map(drop)
        });
        println!("{}", if done.is_ok() { "up" } else { "held up" });
        loop {
            std::thread::park();
        }
    })
}

/// Connects to an own socket while another thread puts the address of a foreign one in the place of the right one, and
/// another socket in the place of the descriptor.
fn swap(own: &str, foreign: &str) -> Result {
    use std::sync::atomic::{AtomicBool, Ordering};
    const ROUNDS: usize = 1500;
    let server = UnixListener::bind(own)?;
    server.set_nonblocking(true)?;
    let address = |path: &str| {
        let mut bytes = [0_u8; 110];
        bytes[..2].copy_from_slice(&(libc::AF_UNIX as u16).to_ne_bytes());
        bytes[2..][..path.len()].copy_from_slice(path.as_bytes());
        bytes
    };
    let (right, wrong) = (address(own), address(foreign));
    let shared = Box::into_raw(Box::new(right)) as usize;
    let slot = unsafe { libc::socket(libc::AF_INET, libc::SOCK_STREAM, 0) };
    let over = AtomicBool::new(false);
    let (mut reached, mut refused) = (0, 0);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let place = shared as *mut [u8; 110];
            while !over.load(Ordering::Relaxed) {
                unsafe {
                    let unix = libc::socket(libc::AF_UNIX, libc::SOCK_STREAM, 0);
                    place.write_volatile(wrong);
                    libc::dup2(unix, slot);
                    libc::close(unix);
                    place.write_volatile(right);
                    let inet = libc::socket(libc::AF_INET, libc::SOCK_STREAM, 0);
                    libc::dup2(inet, slot);
                    libc::close(inet);
                }
            }
        });
        for _ in 0..ROUNDS {
            match unsafe { libc::connect(slot, shared as *const libc::sockaddr, 110) } {
                0 => reached += 1,
                _ => refused += 1,
            }
            while server.accept().is_ok() {}
        }
        over.store(true, Ordering::Relaxed);
    });
    println!("{reached} own sockets reached, {refused} refused");
    Err(std::io::Error::other("only own ones"))
}

/// Every way to a file that runs with the rights of its owner.
fn set_id() -> Result {
    use std::os::unix::fs::PermissionsExt;
    const MODE: i64 = 0o4755;
    const FCHMODAT2: c_long = 452;
    let here = i64::from(libc::AT_FDCWD);
    let create = i64::from(libc::O_CREAT | libc::O_RDWR);
    let how = [create.cast_unsigned(), MODE.cast_unsigned(), 0];
    let plain = std::fs::File::create("plain")?;
    let file = i64::from(plain.as_raw_fd());
    let text = |name: &std::ffi::CStr| name.as_ptr() as i64;
    let regular = i64::from(libc::S_IFREG);
    let mut ways = vec![
        (libc::SYS_fchmod, [file, MODE, 0, 0, 0]),
        (libc::SYS_fchmodat, [here, text(c"plain"), MODE, 0, 0]),
        (FCHMODAT2, [here, text(c"plain"), MODE, 0, 0]),
        (libc::SYS_openat, [here, text(c"a"), create, MODE, 0]),
        (
            libc::SYS_openat2,
            [here, text(c"b"), how.as_ptr() as i64, 24, 0],
        ),
        (libc::SYS_mknodat, [here, text(c"c"), regular | MODE, 0, 0]),
    ];
    #[cfg(target_arch = "x86_64")]
    ways.extend([
        (libc::SYS_chmod, [text(c"plain"), MODE, 0, 0, 0]),
        (libc::SYS_open, [text(c"d"), create, MODE, 0, 0]),
        (libc::SYS_creat, [text(c"e"), MODE, 0, 0, 0]),
        (libc::SYS_mknod, [text(c"f"), regular | MODE, 0, 0, 0]),
    ]);
    let mut last = Ok(());
    for (number, args) in ways {
        last = call(number, args);
        for entry in std::fs::read_dir(".")?.flatten() {
            if entry.metadata()?.permissions().mode() & 0o6000 != 0 {
                println!("call {number}: {:?}", entry.file_name());
                return Ok(());
            }
        }
    }
    last.and(Err(std::io::Error::other("no such file")))
}

/// A segment of shared memory with this in it; for the world.
pub fn make_segment(text: &str) -> i32 {
    unsafe {
        let id = libc::shmget(libc::IPC_PRIVATE, 4096, 0o600);
        let at = libc::shmat(id, std::ptr::null(), 0);
        assert!(id >= 0 && at as isize != -1, "shared memory");
        std::ptr::copy_nonoverlapping(text.as_ptr(), at.cast(), text.len());
        libc::shmdt(at);
        id
    }
}

pub fn remove_segment(id: i32) {
    unsafe { libc::shmctl(id, libc::IPC_RMID, std::ptr::null_mut()) };
}

fn read_segment(id: i32) -> Result {
    let at = unsafe { libc::shmat(id, std::ptr::null(), libc::SHM_RDONLY) };
    check(at as i64)?;
    let text = unsafe { std::ffi::CStr::from_ptr(at.cast()) };
    println!("{}", text.to_string_lossy());
    Ok(())
}

/// Makes a process slower, or ties it down.
fn steer(pid: i32) -> Result {
    let limit = libc::rlimit {
        rlim_cur: 7,
        rlim_max: 1 << 20,
    };
    let none = std::ptr::null_mut();
    unsafe {
        let cpus: libc::cpu_set_t = std::mem::zeroed();
        // An empty set is refused by another error, after the process was found.
        let affinity = libc::sched_setaffinity(pid, size_of::<libc::cpu_set_t>(), &cpus);
        let found = std::io::Error::last_os_error().raw_os_error() == Some(libc::EINVAL);
        if affinity == 0 || found {
            return Ok(());
        }
        check(libc::setpriority(libc::PRIO_PROCESS, pid.cast_unsigned(), 19).into())
            .or_else(|_| check(libc::prlimit(pid, libc::RLIMIT_NOFILE, &limit, none).into()))
    }
}

/// Any of them would see or send what is not meant for this network.
fn raw() -> Result {
    let kinds = [
        (libc::AF_PACKET, libc::SOCK_RAW, 0x0300),
        (libc::AF_INET, libc::SOCK_RAW, libc::IPPROTO_ICMP),
        (libc::AF_INET6, libc::SOCK_RAW, libc::IPPROTO_ICMPV6),
    ];
    let open = |&(family, kind, protocol): &(i32, i32, i32)| {
        let fd = unsafe { libc::socket(family, kind, protocol) };
        fd >= 0
    };
    match kinds.iter().any(open) {
        true => Ok(()),
        false => Err(std::io::Error::last_os_error()),
    }
}

/// Says its port, then takes whoever comes.
fn listen() -> Result {
    let server = TcpListener::bind("127.0.0.1:0")?;
    println!("{}", server.local_addr()?.port());
    loop {
        server.accept()?;
    }
}

fn serve() -> Result {
    let server = TcpListener::bind("127.0.0.1:0")?;
    let mut client = TcpStream::connect(server.local_addr()?)?;
    client.write_all(b"x")?;
    server.accept()?.0.read_exact(&mut [0])
}

fn any(paths: &[&str], act: impl Fn(&str) -> Result) -> Result {
    let mut last = Err(std::io::Error::other("no path"));
    for path in paths {
        last = act(path);
        if last.is_ok() {
            break;
        }
    }
    last
}

fn c(text: &str) -> CString {
    CString::new(text).expect("no NUL in the suite's own words")
}

fn check(result: i64) -> Result {
    match result {
        0.. => Ok(()),
        _ => Err(std::io::Error::last_os_error()),
    }
}

fn call(number: c_long, [a, b, c, d, e]: [i64; 5]) -> Result {
    check(unsafe { libc::syscall(number, a, b, c, d, e) })
}

fn read_memory(pid: i32) -> Result {
    let maps = std::fs::read_to_string(format!("/proc/{pid}/maps"))?;
    let start = maps.split('-').next().unwrap_or_default();
    let start = usize::from_str_radix(start, 16).map_err(std::io::Error::other)?;
    let mut byte = [0_u8];
    let local = libc::iovec {
        iov_base: byte.as_mut_ptr().cast(),
        iov_len: 1,
    };
    let remote = libc::iovec {
        iov_base: start as *mut libc::c_void,
        iov_len: 1,
    };
    check(unsafe { libc::process_vm_readv(pid, &local, 1, &remote, 1, 0) } as i64)
}

fn ptrace(pid: i32) -> Result {
    let none = std::ptr::null_mut::<libc::c_void>();
    let done = check(unsafe { libc::ptrace(libc::PTRACE_SEIZE, pid, none, none) });
    unsafe { libc::ptrace(libc::PTRACE_DETACH, pid, none, none) };
    done
}

fn steal(pid: i64) -> Result {
    let fd = unsafe { libc::syscall(libc::SYS_pidfd_open, pid, 0) };
    check(fd)?;
    call(libc::SYS_pidfd_getfd, [fd, 0, 0, 0, 0])
}

/// All of these must be refused as such, whatever their arguments.
fn calls() -> Result {
    for number in [
        libc::SYS_bpf,
        libc::SYS_io_uring_setup,
        libc::SYS_keyctl,
        libc::SYS_add_key,
        libc::SYS_perf_event_open,
        libc::SYS_userfaultfd,
        libc::SYS_open_by_handle_at,
        libc::SYS_mount,
        libc::SYS_pivot_root,
        libc::SYS_chroot,
        libc::SYS_fsopen,
        libc::SYS_move_mount,
        libc::SYS_open_tree,
        libc::SYS_kexec_load,
        libc::SYS_init_module,
        libc::SYS_process_vm_writev,
        libc::SYS_kcmp,
    ] {
        match call(number, [-1; 5]) {
            Err(error) if error.raw_os_error() == Some(libc::EPERM) => {}
            other => {
                println!("call {number}: {other:?}");
                return Ok(());
            }
        }
    }
    Err(std::io::Error::from_raw_os_error(libc::EPERM))
}

fn namespaces() -> Result {
    const SIGCHLD: i64 = libc::SIGCHLD as i64;
    for flag in [
        libc::CLONE_NEWUSER,
        libc::CLONE_NEWNS,
        libc::CLONE_NEWPID,
        libc::CLONE_NEWNET,
    ] {
        if unsafe { libc::unshare(flag) } == 0 {
            return Ok(());
        }
        let child =
            unsafe { libc::syscall(libc::SYS_clone, SIGCHLD | i64::from(flag), 0, 0, 0, 0) };
        match child {
            0 => unsafe { libc::_exit(0) },
            1.. => return Ok(()),
            _ => {}
        }
    }
    Err(std::io::Error::last_os_error())
}
