//! The filter of system calls, as the kernel's packet-filter instructions. Built before the fork, as bytes.

use crate::sandbox::Layer;

/// What the filter leaves of sockets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sockets {
    pub inet: bool,
    pub unix: bool,
}

const LOAD: u16 = 0x20;
const AND: u16 = 0x54;
const EQUAL: u16 = 0x15;
const AT_LEAST: u16 = 0x35;
const ANY_BIT: u16 = 0x45;
const RETURN: u16 = 0x06;
const ALLOW: u32 = 0x7fff_0000;
const ERRNO: u32 = 0x0005_0000;
/// Offsets in the kernel's `seccomp_data`; arguments are looked at by their lower half, which is all the kernel uses of
/// these.
const NUMBER_AT: u32 = 0;
const ARCH_AT: u32 = 4;
const ARGS_AT: u32 = 16;
const ARG_SIZE: u32 = 8;

#[cfg(target_arch = "x86_64")]
const ARCH: u32 = 0xc000_003e;
#[cfg(target_arch = "aarch64")]
const ARCH: u32 = 0xc000_00b7;
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
const ARCH: u32 = 0;
/// Whether the numbers and argument places below are right here.
pub(super) const KNOWN_MACHINE: bool = ARCH != 0;
/// Numbers from here on are a second set of the same calls, on one architecture only.
const OTHER_NUMBERS: u32 = 0x4000_0000;

/// `CLONE_NEW*` but for time, whose bit means something else to `clone`.
const NEW_NAMESPACES: u32 = 0x7e02_0000;
const TIOCSTI: u32 = 0x5412;
const TIOCLINUX: u32 = 0x541c;
const STREAM: u32 = libc::SOCK_STREAM as u32;
const SEQPACKET: u32 = libc::SOCK_SEQPACKET as u32;
const TYPE_MASK: u32 = 0xf;

/// Looking into or steering other processes, kernel objects without an owner, ways around the filter or out of the
/// mounts, and the administration of the machine.
const REFUSED: &[libc::c_long] = &[
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_process_madvise,
    libc::SYS_pidfd_getfd,
    libc::SYS_kcmp,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_keyctl,
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_fanotify_init,
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_unshare,
    libc::SYS_setns,
    libc::SYS_move_mount,
    libc::SYS_open_tree,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    libc::SYS_open_by_handle_at,
    libc::SYS_kexec_load,
    libc::SYS_kexec_file_load,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_reboot,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_acct,
    libc::SYS_quotactl,
    libc::SYS_syslog,
    libc::SYS_vhangup,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
];

#[cfg(target_arch = "x86_64")]
const REFUSED_HERE: &[libc::c_long] = &[libc::SYS_iopl, libc::SYS_ioperm, libc::SYS_modify_ldt];
#[cfg(not(target_arch = "x86_64"))]
const REFUSED_HERE: &[libc::c_long] = &[];

/// One instruction: code, jumps if true and if false, operand.
type Instruction = (u16, u8, u8, u32);

/// The filter in the kernel's own layout.
pub(super) fn program(layer: Layer, sockets: Sockets) -> Vec<u8> {
    let mut filter = Filter::default();
    filter.push((LOAD, 0, 0, ARCH_AT));
    filter.push((EQUAL, 1, 0, ARCH));
    filter.push(fail(libc::ENOSYS));
    filter.push((LOAD, 0, 0, NUMBER_AT));
    if cfg!(target_arch = "x86_64") {
        filter.push((AT_LEAST, 0, 1, OTHER_NUMBERS));
        filter.push(fail(libc::ENOSYS));
    }
    for call in REFUSED.iter().chain(REFUSED_HERE) {
        filter.push((EQUAL, 0, 1, number(*call)));
        filter.push(fail(libc::EPERM));
    }
    // Its flags are out of a filter's reach. Libraries then use `clone`.
    filter.push((EQUAL, 0, 1, number(libc::SYS_clone3)));
    filter.push(fail(libc::ENOSYS));
    filter.case(
        libc::SYS_clone,
        &[
            arg(0),
            (ANY_BIT, 0, 1, NEW_NAMESPACES),
            fail(libc::EPERM),
            (RETURN, 0, 0, ALLOW),
        ],
    );
    filter.case(
        libc::SYS_ioctl,
        &[
            arg(1),
            (EQUAL, 1, 0, TIOCSTI),
            (EQUAL, 0, 1, TIOCLINUX),
            fail(libc::EPERM),
            (RETURN, 0, 0, ALLOW),
        ],
    );
    filter.case(libc::SYS_socket, &families(layer, sockets));
    if !sockets.unix {
        // The other types would send to any address, pair or not.
        filter.case(
            libc::SYS_socketpair,
            &[
                arg(1),
                (AND, 0, 0, TYPE_MASK),
                (EQUAL, 1, 0, STREAM),
                (EQUAL, 0, 1, SEQPACKET),
                (RETURN, 0, 0, ALLOW),
                fail(libc::EPERM),
            ],
        );
    }
    filter.push((RETURN, 0, 0, ALLOW));
    filter.bytes
}

/// Families that are known to stay inside; a new one is refused.
fn families(layer: Layer, sockets: Sockets) -> Vec<Instruction> {
    let mut allowed = Vec::new();
    if sockets.unix {
        allowed.push(libc::AF_UNIX);
    }
    if sockets.inet {
        allowed.extend([libc::AF_INET, libc::AF_INET6]);
    }
    if sockets.inet || layer == Layer::Namespaces {
        allowed.push(libc::AF_NETLINK);
    }
    let mut body = vec![arg(0)];
    for family in allowed {
        body.push((EQUAL, 0, 1, family.cast_unsigned()));
        body.push((RETURN, 0, 0, ALLOW));
    }
    body.push(fail(libc::EPERM));
    body
}

#[derive(Default)]
struct Filter {
    bytes: Vec<u8>,
}

impl Filter {
    fn push(&mut self, (code, yes, no, operand): Instruction) {
        self.bytes.extend_from_slice(&code.to_ne_bytes());
        self.bytes.extend_from_slice(&[yes, no]);
        self.bytes.extend_from_slice(&operand.to_ne_bytes());
    }

    /// Every way through `body` must return.
    fn case(&mut self, call: libc::c_long, body: &[Instruction]) {
        self.push((EQUAL, 0, body.len() as u8, number(call)));
        for instruction in body {
            self.push(*instruction);
        }
    }
}

fn arg(index: u32) -> Instruction {
    (LOAD, 0, 0, ARGS_AT + index * ARG_SIZE)
}

fn fail(errno: i32) -> Instruction {
    (RETURN, 0, 0, ERRNO | errno.cast_unsigned())
}

fn number(call: libc::c_long) -> u32 {
    call as u32
}
