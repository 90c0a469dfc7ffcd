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

const PASS: Instruction = (RETURN, 0, 0, ALLOW);

/// What becomes of one call. Every way through the instructions must return.
type Verdict = (u32, Vec<Instruction>);

/// Calls that one leaf of the search compares one by one.
const LEAF: usize = 3;

/// The filter in the kernel's own layout.
pub(super) fn program(layer: Layer, sockets: Sockets) -> Vec<u8> {
    let mut program = vec![
        (LOAD, 0, 0, ARCH_AT),
        (EQUAL, 1, 0, ARCH),
        fail(libc::ENOSYS),
        (LOAD, 0, 0, NUMBER_AT),
    ];
    if cfg!(target_arch = "x86_64") {
        program.push((AT_LEAST, 0, 1, OTHER_NUMBERS));
        program.push(fail(libc::ENOSYS));
    }
    let mut verdicts = verdicts(layer, sockets);
    verdicts.sort_unstable_by_key(|(call, _)| *call);
    program.extend(search(&verdicts));
    let mut bytes = Vec::with_capacity(program.len() * size_of::<libc::sock_filter>());
    for (code, yes, no, operand) in program {
        bytes.extend_from_slice(&code.to_ne_bytes());
        bytes.extend_from_slice(&[yes, no]);
        bytes.extend_from_slice(&operand.to_ne_bytes());
    }
    bytes
}

fn verdicts(layer: Layer, sockets: Sockets) -> Vec<Verdict> {
    let refused = REFUSED.iter().chain(REFUSED_HERE);
    let mut verdicts: Vec<Verdict> = refused
        .map(|call| (number(*call), vec![fail(libc::EPERM)]))
        .collect();
    let mut add = |call, body: &[Instruction]| verdicts.push((number(call), body.to_vec()));
    // Its flags are out of a filter's reach. Libraries then use `clone`.
    add(libc::SYS_clone3, &[fail(libc::ENOSYS)]);
    add(
        libc::SYS_clone,
        &[
            arg(0),
            (ANY_BIT, 0, 1, NEW_NAMESPACES),
            fail(libc::EPERM),
            PASS,
        ],
    );
    add(
        libc::SYS_ioctl,
        &[
            arg(1),
            (EQUAL, 1, 0, TIOCSTI),
            (EQUAL, 0, 1, TIOCLINUX),
            fail(libc::EPERM),
            PASS,
        ],
    );
    add(libc::SYS_socket, &families(layer, sockets));
    if !sockets.unix {
        // The other types would send to any address, pair or not.
        add(
            libc::SYS_socketpair,
            &[
                arg(1),
                (AND, 0, 0, TYPE_MASK),
                (EQUAL, 1, 0, STREAM),
                (EQUAL, 0, 1, SEQPACKET),
                PASS,
                fail(libc::EPERM),
            ],
        );
    }
    verdicts
}

/// Halves the list until little is left: when a filter is put on, the kernel runs it once for every call there is.
fn search(verdicts: &[Verdict]) -> Vec<Instruction> {
    let (low, high) = verdicts.split_at(verdicts.len() / 2);
    match high.first() {
        Some((middle, _)) if verdicts.len() > LEAF => {
            let low = search(low);
            let mut program = vec![(AT_LEAST, low.len() as u8, 0, *middle)];
            program.extend(low);
            program.extend(search(high));
            program
        }
        _ => {
            let mut program = Vec::new();
            for (call, body) in verdicts {
                program.push((EQUAL, 0, body.len() as u8, *call));
                program.extend(body);
            }
            program.push(PASS);
            program
        }
    }
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
        body.push(PASS);
    }
    body.push(fail(libc::EPERM));
    body
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs the filter as the kernel would and gives the errno, 0 for a call that passes.
    fn run(program: &[u8], arch: u32, call: u32, args: [u32; 2]) -> u32 {
        let (mut at, mut held) = (0, 0);
        loop {
            let [c0, c1, yes, no, k0, k1, k2, k3] = program[at * 8..][..8] else {
                unreachable!()
            };
            let operand = u32::from_ne_bytes([k0, k1, k2, k3]);
            let mut jump = |holds: bool| at += usize::from(if holds { yes } else { no });
            match u16::from_ne_bytes([c0, c1]) {
                LOAD => {
                    held = match operand {
                        NUMBER_AT => call,
                        ARCH_AT => arch,
                        operand => args[((operand - ARGS_AT) / ARG_SIZE) as usize],
                    }
                }
                AND => held &= operand,
                EQUAL => jump(held == operand),
                AT_LEAST => jump(held >= operand),
                ANY_BIT => jump(held & operand != 0),
                RETURN if operand == ALLOW => return 0,
                RETURN => return operand & 0xffff,
                code => panic!("no such instruction: {code:#x}"),
            }
            at += 1;
        }
    }

    #[test]
    fn every_call_gets_its_verdict() {
        const LAST_CALL: u32 = 500;
        let closed = Sockets {
            inet: false,
            unix: false,
        };
        let program = program(Layer::Landlock, closed);
        assert!(program.len() / 8 <= 255, "jumps reach no further");
        let special = [
            libc::SYS_clone,
            libc::SYS_ioctl,
            libc::SYS_socket,
            libc::SYS_socketpair,
        ]
        .map(number);
        for call in (0..LAST_CALL).filter(|call| !special.contains(call)) {
            let refused = REFUSED
                .iter()
                .chain(REFUSED_HERE)
                .any(|r| number(*r) == call);
            let expect = match (refused, call == number(libc::SYS_clone3)) {
                (true, _) => libc::EPERM,
                (false, true) => libc::ENOSYS,
                (false, false) => 0,
            };
            let errno = run(&program, ARCH, call, [0; 2]);
            assert_eq!(errno, expect.cast_unsigned(), "call {call}");
        }
        assert_eq!(run(&program, ARCH ^ 1, 0, [0; 2]), libc::ENOSYS as u32);
    }

    #[test]
    fn arguments_decide() {
        let sockets = |inet, unix| Sockets { inet, unix };
        let eperm = libc::EPERM.cast_unsigned();
        let new_user = libc::CLONE_NEWUSER.cast_unsigned();
        for (sockets, call, args, expect) in [
            (sockets(false, false), libc::SYS_clone, [17, 0], 0),
            (
                sockets(false, false),
                libc::SYS_clone,
                [17 | new_user, 0],
                eperm,
            ),
            (sockets(false, false), libc::SYS_ioctl, [0, TIOCSTI], eperm),
            (
                sockets(false, false),
                libc::SYS_ioctl,
                [0, TIOCLINUX],
                eperm,
            ),
            (sockets(false, false), libc::SYS_ioctl, [0, 0x5413], 0),
            (sockets(false, false), libc::SYS_socket, [1, 1], eperm),
            (sockets(false, true), libc::SYS_socket, [1, 1], 0),
            (sockets(false, true), libc::SYS_socket, [2, 1], eperm),
            (sockets(true, false), libc::SYS_socket, [2, 1], 0),
            (sockets(true, false), libc::SYS_socket, [10, 1], 0),
            (sockets(true, true), libc::SYS_socket, [40, 1], eperm),
            (sockets(true, false), libc::SYS_socketpair, [1, 1], 0),
            (
                sockets(true, false),
                libc::SYS_socketpair,
                [1, 1 | 0o2_000_000],
                0,
            ),
            (sockets(true, false), libc::SYS_socketpair, [1, 2], eperm),
            (sockets(true, false), libc::SYS_socketpair, [1, 3], eperm),
            (sockets(true, true), libc::SYS_socketpair, [1, 2], 0),
        ] {
            let program = program(Layer::Landlock, sockets);
            let errno = run(&program, ARCH, number(call), args);
            assert_eq!(errno, expect, "call {call} {args:?} {sockets:?}");
        }
    }
}
