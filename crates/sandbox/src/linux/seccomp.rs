//! The filter of system calls, as the kernel's packet-filter instructions. Built before the fork, as bytes.

/// What the filter leaves of sockets and of what is shared with processes outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Filter {
    pub inet: bool,
    pub unix: Unix,
    pub netlink: bool,
    /// Processes outside have a number here, so that calls on a process are for the caller alone.
    pub processes_outside: bool,
    /// Shared memory, semaphores and queues of outside have a number here.
    pub ipc_outside: bool,
}

/// What becomes of unix sockets. Connected pairs of streams can always be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unix {
    Refused,
    /// A supervisor makes every connection. Datagrams would need no connection, so their sockets are refused.
    Supervised,
    Free,
}

const LOAD: u16 = 0x20;
const AND: u16 = 0x54;
const EQUAL: u16 = 0x15;
const AT_LEAST: u16 = 0x35;
const ANY_BIT: u16 = 0x45;
const RETURN: u16 = 0x06;
const ALLOW: u32 = 0x7fff_0000;
const ERRNO: u32 = 0x0005_0000;
const NOTIFY: u32 = 0x7fc0_0000;
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
/// A program with one of these runs with the rights of its owner or group, whoever starts it.
const SET_ID: u32 = 0o6000;
/// `O_CREAT` and the bit of `O_TMPFILE`: without them `open` takes no mode.
const CREATES: u32 = 0o100 | 0o20_000_000;
/// `PRIO_USER` and `IOPRIO_WHO_USER`: every process of a user.
const PRIORITY_OF_USER: u32 = 2;
const IO_PRIORITY_OF_USER: u32 = 3;
/// The same number on every machine; not in every C library's list.
const SYS_FCHMODAT2: libc::c_long = 452;
const SYS_OPEN_TREE_ATTR: libc::c_long = 467;

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
    SYS_OPEN_TREE_ATTR,
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
    libc::SYS_quotactl_fd,
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

/// Kernel objects that belong to a number, not to a file: without a namespace those of outside can be had.
const SHARED_OBJECTS: &[libc::c_long] = &[
    libc::SYS_shmget,
    libc::SYS_shmat,
    libc::SYS_shmctl,
    libc::SYS_semget,
    libc::SYS_semop,
    libc::SYS_semtimedop,
    libc::SYS_semctl,
    libc::SYS_msgget,
    libc::SYS_msgsnd,
    libc::SYS_msgrcv,
    libc::SYS_msgctl,
    libc::SYS_mq_open,
    libc::SYS_mq_unlink,
];

/// Calls whose first argument is a process; 0 is the caller.
const STEERING: &[libc::c_long] = &[
    libc::SYS_sched_setaffinity,
    libc::SYS_sched_setscheduler,
    libc::SYS_sched_setparam,
    libc::SYS_sched_setattr,
    libc::SYS_prlimit64,
];

/// The call, the place of its flags if the mode depends on them, the place of the mode.
type ModeOf = (libc::c_long, Option<u32>, u32);

const MODES: &[ModeOf] = &[
    (libc::SYS_fchmod, None, 1),
    (libc::SYS_fchmodat, None, 2),
    (SYS_FCHMODAT2, None, 2),
    (libc::SYS_openat, Some(2), 3),
    (libc::SYS_mkdirat, None, 2),
    (libc::SYS_mknodat, None, 2),
];

#[cfg(target_arch = "x86_64")]
const MODES_HERE: &[ModeOf] = &[
    (libc::SYS_chmod, None, 1),
    (libc::SYS_open, Some(1), 2),
    (libc::SYS_creat, None, 1),
    (libc::SYS_mkdir, None, 1),
    (libc::SYS_mknod, None, 1),
];
#[cfg(not(target_arch = "x86_64"))]
const MODES_HERE: &[ModeOf] = &[];

/// One instruction: code, jumps if true and if false, operand.
type Instruction = (u16, u8, u8, u32);

const PASS: Instruction = (RETURN, 0, 0, ALLOW);

/// What becomes of one call. Every way through the instructions must return.
type Verdict = (u32, Vec<Instruction>);

/// Calls that one leaf of the search compares one by one.
const LEAF: usize = 3;

/// The filter in the kernel's own layout.
pub(super) fn program(filter: Filter) -> Vec<u8> {
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
    let mut verdicts = verdicts(filter);
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

fn verdicts(filter: Filter) -> Vec<Verdict> {
    let shared: &[libc::c_long] = match filter.ipc_outside {
        true => SHARED_OBJECTS,
        false => &[],
    };
    let refused = REFUSED.iter().chain(REFUSED_HERE).chain(shared);
    let mut verdicts: Vec<Verdict> = refused
        .map(|call| (number(*call), vec![fail(libc::EPERM)]))
        .collect();
    let mut add = |call, body: &[Instruction]| verdicts.push((number(call), body.to_vec()));
    // Their flags are out of a filter's reach. Libraries then use `clone` and `openat`.
    add(libc::SYS_clone3, &[fail(libc::ENOSYS)]);
    add(libc::SYS_openat2, &[fail(libc::ENOSYS)]);
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
    for (call, flags, mode) in MODES.iter().chain(MODES_HERE) {
        add(*call, &no_set_id(*flags, *mode));
    }
    if filter.processes_outside {
        for call in STEERING {
            add(*call, &[arg(0), (EQUAL, 0, 1, 0), PASS, fail(libc::EPERM)]);
        }
        add(libc::SYS_setpriority, &own_priority(PRIORITY_OF_USER));
        add(libc::SYS_ioprio_set, &own_priority(IO_PRIORITY_OF_USER));
    }
    add(libc::SYS_socket, &families(filter));
    match filter.unix {
        Unix::Free => {}
        Unix::Refused => add(libc::SYS_socketpair, &streams(1)),
        Unix::Supervised => {
            add(libc::SYS_socketpair, &streams(1));
            add(libc::SYS_connect, &[(RETURN, 0, 0, NOTIFY)]);
        }
    }
    verdicts
}

fn no_set_id(flags: Option<u32>, mode: u32) -> Vec<Instruction> {
    let mut body = Vec::new();
    if let Some(flags) = flags {
        body.extend([arg(flags), (ANY_BIT, 0, 3, CREATES)]);
    }
    body.extend([arg(mode), (ANY_BIT, 0, 1, SET_ID), fail(libc::EPERM), PASS]);
    body
}

/// Of the caller or its group, never of all processes of a user.
fn own_priority(all_of_user: u32) -> [Instruction; 6] {
    [
        arg(0),
        (EQUAL, 3, 0, all_of_user),
        arg(1),
        (EQUAL, 0, 1, 0),
        PASS,
        fail(libc::EPERM),
    ]
}

/// The type of a socket, at this place: the others would send to any address, connected or not.
fn streams(kind: u32) -> [Instruction; 6] {
    [
        arg(kind),
        (AND, 0, 0, TYPE_MASK),
        (EQUAL, 1, 0, STREAM),
        (EQUAL, 0, 1, SEQPACKET),
        PASS,
        fail(libc::EPERM),
    ]
}

/// Halves the list until little is left: when a filter is put on, the kernel runs it once for every call there is.
fn search(verdicts: &[Verdict]) -> Vec<Instruction> {
    let (low, high) = verdicts.split_at(verdicts.len() / 2);
    match high.first() {
        Some((middle, _)) if verdicts.len() > LEAF => {
            let low = search(low);
            debug_assert!(low.len() <= u8::MAX.into(), "jumps reach no further");
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
fn families(filter: Filter) -> Vec<Instruction> {
    let mut body = vec![arg(0)];
    let mut allow = |family: i32, then: &[Instruction]| {
        body.push((EQUAL, 0, then.len() as u8, family.cast_unsigned()));
        body.extend(then);
    };
    match filter.unix {
        Unix::Refused => {}
        Unix::Supervised => allow(libc::AF_UNIX, &streams(1)),
        Unix::Free => allow(libc::AF_UNIX, &[PASS]),
    }
    if filter.inet {
        allow(libc::AF_INET, &[PASS]);
        allow(libc::AF_INET6, &[PASS]);
    }
    if filter.netlink {
        allow(libc::AF_NETLINK, &[PASS]);
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

    const CLOSED: Filter = Filter {
        inet: false,
        unix: Unix::Refused,
        netlink: false,
        processes_outside: true,
        ipc_outside: true,
    };

    /// Runs the filter as the kernel would and gives the errno, 0 for a call that passes, `NOTIFY` for one that waits.
    fn run(program: &[u8], arch: u32, call: u32, args: [u32; 4]) -> u32 {
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
                RETURN if operand == NOTIFY => return NOTIFY,
                RETURN => return operand & 0xffff,
                code => panic!("no such instruction: {code:#x}"),
            }
            at += 1;
        }
    }

    #[test]
    fn every_call_gets_its_verdict() {
        const LAST_CALL: u32 = 500;
        let program = program(CLOSED);
        let special: Vec<u32> = [
            libc::SYS_clone,
            libc::SYS_ioctl,
            libc::SYS_socket,
            libc::SYS_socketpair,
            libc::SYS_setpriority,
            libc::SYS_ioprio_set,
        ]
        .iter()
        .chain(STEERING)
        .chain(MODES.iter().chain(MODES_HERE).map(|(call, ..)| call))
        .map(|call| number(*call))
        .collect();
        let missing = [libc::SYS_clone3, libc::SYS_openat2].map(number);
        for call in (0..LAST_CALL).filter(|call| !special.contains(call)) {
            let refused = REFUSED
                .iter()
                .chain(REFUSED_HERE)
                .chain(SHARED_OBJECTS)
                .any(|r| number(*r) == call);
            let expect = match (refused, missing.contains(&call)) {
                (true, _) => libc::EPERM,
                (false, true) => libc::ENOSYS,
                (false, false) => 0,
            };
            let errno = run(&program, ARCH, call, [0; 4]);
            assert_eq!(errno, expect.cast_unsigned(), "call {call}");
        }
        assert_eq!(run(&program, ARCH ^ 1, 0, [0; 4]), libc::ENOSYS as u32);
    }

    /// A call by its arguments, in a filter: the errno.
    type Row = (Filter, libc::c_long, [u32; 4], u32);

    fn check(rows: &[Row]) {
        for (filter, call, args, expect) in rows {
            let program = program(*filter);
            let errno = run(&program, ARCH, number(*call), *args);
            assert_eq!(errno, *expect, "call {call} {args:?} {filter:?}");
        }
    }

    const EPERM: u32 = libc::EPERM as u32;

    #[test]
    fn arguments_decide() {
        let new_user = libc::CLONE_NEWUSER.cast_unsigned();
        check(&[
            (CLOSED, libc::SYS_clone, [17, 0, 0, 0], 0),
            (CLOSED, libc::SYS_clone, [17 | new_user, 0, 0, 0], EPERM),
            (CLOSED, libc::SYS_ioctl, [0, TIOCSTI, 0, 0], EPERM),
            (CLOSED, libc::SYS_ioctl, [0, TIOCLINUX, 0, 0], EPERM),
            (CLOSED, libc::SYS_ioctl, [0, 0x5413, 0, 0], 0),
        ]);
    }

    #[test]
    fn sockets_by_family_and_type() {
        let with = |inet, unix| Filter {
            inet,
            unix,
            ..CLOSED
        };
        let supervised = with(false, Unix::Supervised);
        let socket =
            |filter, family, kind, expect| (filter, libc::SYS_socket, [family, kind, 0, 0], expect);
        let pair = |filter, kind, expect| (filter, libc::SYS_socketpair, [1, kind, 0, 0], expect);
        let connect = |filter, expect| (filter, libc::SYS_connect, [3, 0, 0, 0], expect);
        check(&[
            socket(CLOSED, 1, 1, EPERM),
            socket(with(false, Unix::Free), 1, 1, 0),
            socket(with(false, Unix::Free), 1, 2, 0),
            socket(with(false, Unix::Free), 2, 1, EPERM),
            socket(with(true, Unix::Refused), 2, 1, 0),
            socket(with(true, Unix::Refused), 10, 1, 0),
            socket(with(true, Unix::Free), 40, 1, EPERM),
            socket(supervised, 1, 1 | 0o2_000_000, 0),
            socket(supervised, 1, 5, 0),
            socket(supervised, 1, 2, EPERM),
            socket(supervised, 1, 3, EPERM),
            socket(supervised, 16, 3, EPERM),
            pair(CLOSED, 1, 0),
            pair(CLOSED, 1 | 0o2_000_000, 0),
            pair(CLOSED, 2, EPERM),
            pair(CLOSED, 3, EPERM),
            pair(supervised, 2, EPERM),
            pair(with(true, Unix::Free), 2, 0),
            connect(CLOSED, 0),
            connect(with(true, Unix::Free), 0),
            connect(supervised, NOTIFY),
        ]);
    }

    #[test]
    fn no_file_gets_the_rights_of_its_owner() {
        let create = libc::O_CREAT.cast_unsigned();
        check(&[
            (CLOSED, libc::SYS_fchmod, [3, 0o755, 0, 0], 0),
            (CLOSED, libc::SYS_fchmod, [3, 0o1755, 0, 0], 0),
            (CLOSED, libc::SYS_fchmod, [3, 0o4755, 0, 0], EPERM),
            (CLOSED, libc::SYS_fchmodat, [3, 0, 0o2755, 0], EPERM),
            (CLOSED, SYS_FCHMODAT2, [3, 0, 0o4755, 0], EPERM),
            (CLOSED, libc::SYS_mkdirat, [3, 0, 0o2755, 0], EPERM),
            (CLOSED, libc::SYS_mknodat, [3, 0, 0o104_755, 0], EPERM),
            (CLOSED, libc::SYS_mknodat, [3, 0, 0o100_755, 0], 0),
            (CLOSED, libc::SYS_openat, [3, 0, create, 0o4755], EPERM),
            (CLOSED, libc::SYS_openat, [3, 0, create, 0o755], 0),
            (
                CLOSED,
                libc::SYS_openat,
                [3, 0, 0o20_200_000, 0o4755],
                EPERM,
            ),
            // Without a file to make, what stands in the place of the mode means nothing.
            (CLOSED, libc::SYS_openat, [3, 0, 0, 0o4755], 0),
        ]);
    }

    #[test]
    fn processes_and_objects_outside() {
        let alone = Filter {
            processes_outside: false,
            ipc_outside: false,
            ..CLOSED
        };
        check(&[
            (CLOSED, libc::SYS_setpriority, [0, 0, 5, 0], 0),
            (CLOSED, libc::SYS_setpriority, [0, 1, 5, 0], EPERM),
            (CLOSED, libc::SYS_setpriority, [2, 0, 5, 0], EPERM),
            (CLOSED, libc::SYS_ioprio_set, [1, 0, 5, 0], 0),
            (CLOSED, libc::SYS_ioprio_set, [1, 7, 5, 0], EPERM),
            (CLOSED, libc::SYS_ioprio_set, [3, 0, 5, 0], EPERM),
            (CLOSED, libc::SYS_prlimit64, [0, 7, 0, 0], 0),
            (CLOSED, libc::SYS_prlimit64, [9, 7, 0, 0], EPERM),
            (CLOSED, libc::SYS_shmget, [1, 2, 3, 0], EPERM),
            (alone, libc::SYS_setpriority, [2, 1, 5, 0], 0),
            (alone, libc::SYS_prlimit64, [9, 7, 0, 0], 0),
            (alone, libc::SYS_shmget, [1, 2, 3, 0], 0),
        ]);
    }
}
