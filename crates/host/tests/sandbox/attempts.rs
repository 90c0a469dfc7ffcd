//! The attempts as data: shell scripts in the workspace, with the places of the world in their environment. What says
//! `ESCAPED`, prints the secret, reaches a server outside or changes a file there has escaped.

use ostler_host::sandbox::Layer;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Held {
    Yes,
    /// It happens, and is put back afterwards.
    Undone,
    /// A known limit of the layer, named in the documentation.
    No,
}

#[derive(Clone, Copy)]
pub struct Attempt {
    pub name: &'static str,
    pub script: &'static str,
    namespaces: Held,
    landlock: Held,
    /// Succeeds without a sandbox on every machine.
    pub control: bool,
    pub terminal: bool,
}

impl Attempt {
    pub fn held(&self, layer: Layer) -> Held {
        match layer {
            Layer::Namespaces => self.namespaces,
            Layer::Landlock => self.landlock,
            Layer::Bubblewrap => Held::Yes,
        }
    }
}

const fn both(name: &'static str, script: &'static str) -> Attempt {
    held(name, script, Held::Yes, Held::Yes)
}

const fn held(
    name: &'static str,
    script: &'static str,
    namespaces: Held,
    landlock: Held,
) -> Attempt {
    Attempt {
        name,
        script,
        namespaces,
        landlock,
        control: true,
        terminal: false,
    }
}

/// Nothing that everybody may do without a sandbox.
const fn no_control(attempt: Attempt) -> Attempt {
    Attempt {
        control: false,
        ..attempt
    }
}

pub const ATTEMPTS: &[Attempt] = &[
    both("write outside", "echo x > $OUT/victim"),
    both("append outside", "echo x >> $OUT/victim"),
    both("create outside", "echo x > $OUT/new"),
    both("make a folder outside", "mkdir $OUT/folder"),
    both("delete outside", "rm -f $OUT/victim"),
    both("empty outside", "truncate -s 0 $OUT/victim"),
    both("write by ..", "echo x > $ROOT/../out/victim"),
    both("write by a link", "ln -s $OUT/victim l; echo x > l"),
    both(
        "write by a link to a folder",
        "ln -s $OUT d; echo x > d/new",
    ),
    both("write by a hard link", "ln $OUT/victim h; echo x > h"),
    both("move out", "echo x > f; mv f $OUT/new"),
    both("move in", "mv $OUT/victim v"),
    both("rename out", "echo x > f; $TRY rename f $OUT/new"),
    both("rename in", "$TRY rename $OUT/victim v"),
    both("exchange", "echo x > f; $TRY exchange f $OUT/victim"),
    both(
        "write by /proc/self/root",
        "echo x > /proc/self/root$OUT/victim",
    ),
    both(
        "write by /proc/self/cwd",
        "echo x > /proc/self/cwd/../out/victim",
    ),
    both(
        "write by /proc/PID/root",
        "echo x > /proc/$VICTIM/root$OUT/victim",
    ),
    no_control(both(
        "write by /proc/1/root",
        "echo x > /proc/1/root$OUT/victim",
    )),
    no_control(both(
        "write by /proc/1/cwd",
        "echo x > /proc/1/cwd$OUT/victim",
    )),
    both(
        "write by /proc/PID/cwd",
        "echo x > /proc/$VICTIM/cwd/$OUT/victim || echo x > /proc/$VICTIM/root$OUT/victim",
    ),
    held(
        "change a mode outside",
        "chmod 777 $OUT/victim",
        Held::Yes,
        Held::No,
    ),
    both("shell start file", "echo evil >> $HOME/.bashrc"),
    both("our own home", "echo evil > $HOME/.ostler/config.toml"),
    both(
        "the file of our program",
        "cp $TRY tool && cat tool > $OUT/victim",
    ),
    held(
        "a hook of git",
        "echo evil > .git/hooks/pre-commit",
        Held::Yes,
        Held::Undone,
    ),
    held(
        "the folder of hooks",
        "rm -rf .git/hooks && mkdir .git/hooks && echo evil > .git/hooks/x",
        Held::Yes,
        Held::Undone,
    ),
    held(
        "the folder above the hooks",
        "mv .git g && cp -r g .git && echo evil > .git/hooks/x",
        Held::Yes,
        Held::Undone,
    ),
    held(
        "a file renamed onto the settings of git",
        "echo evil > e && mv -f e .git/config",
        Held::Yes,
        Held::Undone,
    ),
    held(
        "the settings of git",
        "echo evil >> .git/config",
        Held::Yes,
        Held::Undone,
    ),
    held(
        "our project file",
        "echo evil >> ostler.toml",
        Held::Yes,
        Held::Undone,
    ),
    held(
        "our project folder",
        "echo evil > .ostler/agents/a.md",
        Held::Yes,
        Held::Undone,
    ),
    held(
        "our project folder replaced",
        "mv .ostler o && mkdir .ostler",
        Held::Yes,
        Held::Undone,
    ),
    held(
        "a link instead of the folder above the hooks",
        "mv .git g && ln -s g .git && echo evil > g/hooks/x",
        Held::Yes,
        Held::Undone,
    ),
    held(
        "a protected file that is not there yet",
        "echo evil > .mcp.json",
        Held::Undone,
        Held::Undone,
    ),
    both("read a secret", "cat $HOME/.ssh/id"),
    both("read a secret by a link", "ln -s $HOME/.ssh s; cat s/id"),
    both("read a secret by ..", "cat ../home/.ssh/id"),
    both(
        "read a secret by /proc/self/root",
        "cat /proc/self/root$HOME/.ssh/id",
    ),
    both(
        "read a secret by /proc/PID/root",
        "cat /proc/$VICTIM/root$HOME/.ssh/id",
    ),
    no_control(both(
        "read a secret by /proc/1/root",
        "cat /proc/1/root$HOME/.ssh/id",
    )),
    both("hard link to a secret", "ln $HOME/.ssh/id h; cat h"),
    held(
        "list secrets",
        "ls $HOME/.ssh | grep -q id && echo ESCAPED",
        Held::Yes,
        Held::No,
    ),
    held(
        "read a secret of the workspace",
        "cat .env",
        Held::Yes,
        Held::No,
    ),
    held(
        "a hard link to a secret made before",
        "cat hard",
        Held::Yes,
        Held::No,
    ),
    both(
        "a hard link to a secret beside it, made before",
        "cat $HOME/hard",
    ),
    both(
        "environment of another process",
        "tr '\\0' '\\n' < /proc/$VICTIM/environ",
    ),
    both("memory of another process by a file", "$TRY mem $VICTIM"),
    both("memory of another process by a call", "$TRY vm $VICTIM"),
    both("ptrace", "$TRY ptrace $VICTIM"),
    no_control(both(
        "a descriptor of another process",
        "$TRY pidfd $VICTIM",
    )),
    both(
        "a signal to another process",
        "kill -0 $VICTIM && echo ESCAPED",
    ),
    both("unix socket", "$TRY unix $SOCK"),
    both("abstract unix socket", "$TRY abstract $SOCK"),
    both("datagram to a unix socket", "$TRY datagram $OUT/datagrams"),
    both(
        "datagram from a pair to a unix socket",
        "$TRY pair $OUT/datagrams",
    ),
    both(
        "a program with the rights of its owner",
        "cp /bin/sh sid; chmod 4755 sid; test -u sid && echo ESCAPED",
    ),
    both(
        "a program with the rights of its group",
        "cp /bin/sh sid; chmod g+s sid; test -g sid && echo ESCAPED",
    ),
    both("the rights of an owner by calls", "$TRY set-id"),
    both("shared memory of another process", "$TRY segment $SEGMENT"),
    both("priority of another process", "$TRY priority $VICTIM"),
    both("tcp to the loopback outside", "$TRY tcp $PORT"),
    both(
        "udp to the loopback outside, as a name server",
        "$TRY udp $UDP",
    ),
    no_control(both(
        "tcp by the shell",
        "command -v bash >/dev/null && bash -c 'exec 3<>/dev/tcp/127.0.0.1/$0 && echo ESCAPED' $PORT",
    )),
    no_control(both(
        "a name server far away",
        "$TRY far-udp 192.0.2.1:53; $TRY far-tcp 192.0.2.1:53",
    )),
    no_control(both(
        "a name by the system",
        "getent hosts ostler.example.org && echo ESCAPED",
    )),
    no_control(both("raw sockets", "$TRY raw")),
    no_control(both(
        "another interface",
        "command -v ip >/dev/null && ip link add d type dummy 2>&1 && echo ESCAPED",
    )),
    no_control(both("vsock", "$TRY vsock")),
    no_control(Attempt {
        terminal: true,
        ..both("typing into the terminal", "$TRY tiocsti")
    }),
    held(
        "writing on another terminal",
        "echo x > $TERMINAL && echo ESCAPED",
        Held::Yes,
        Held::No,
    ),
    no_control(both("descriptors of ours", "$TRY fds")),
    no_control(both("calls that are not for commands", "$TRY calls")),
    no_control(both("new namespaces", "$TRY namespaces")),
    no_control(both(
        "entering the namespaces of another process",
        "$TRY setns /proc/$VICTIM/ns/mnt",
    )),
    no_control(both(
        "taking a mount away",
        "$TRY umount $ROOT/.git/hooks $HOME/.ssh $ROOT/.env",
    )),
    no_control(both(
        "making a mount writable",
        "$TRY remount / $ROOT/.git/hooks",
    )),
    no_control(both(
        "the disk itself",
        "for d in /dev/vda /dev/sda /dev/nvme0n1 /dev/xvda /dev/mem; do head -c 1 $d >/dev/null 2>&1 && echo ESCAPED; done",
    )),
    no_control(both(
        "settings of the kernel",
        "cat /proc/sys/kernel/hostname > /proc/sys/kernel/hostname && echo ESCAPED",
    )),
    no_control(both("the other numbers of calls", "$TRY x32")),
    both(
        "LD_PRELOAD of our own program",
        "printf '#include <stdio.h>\\n#include <stdlib.h>\\n__attribute__((constructor)) void f(void){char p[999];snprintf(p,999,\"%%s/new\",getenv(\"OUT\"));fclose(fopen(p,\"w\")?:stderr);}' > e.c; cc -shared -fPIC -o e.so e.c || exit; LD_PRELOAD=$ROOT/e.so $TRY nothing",
    ),
    no_control(both(
        "our own hidden mode",
        "$TRY __watchdog < /dev/null; echo x > $OUT/victim",
    )),
    both(
        "left behind",
        "( setsid sh -c 'echo x > $OUT/new' & ) ; sleep 0.2",
    ),
];

/// What must go on working: name, program it needs, script that ends by saying so.
pub const WORK: &[(&str, &str, &str)] = &[
    (
        "read the system",
        "sh",
        "head -c 1 /etc/passwd >/dev/null && ls / >/dev/null && echo WORKS",
    ),
    (
        "write in the root",
        "sh",
        "mkdir -p a/b && echo x > a/b/c && mv a/b/c a/d && ln a/d e && rm -r a && cat e && echo WORKS",
    ),
    (
        "move between folders",
        "sh",
        "mkdir a b && echo x > a/f && mv a/f b/g && mv b c && cat c/g && echo WORKS",
    ),
    (
        "temporary files",
        "mktemp",
        "f=$(mktemp) && echo x > $f && cat $f && echo WORKS",
    ),
    (
        "pipes",
        "sort",
        "printf 'b\\na\\n' | sort | tr 'a-z' 'A-Z' | grep -c . && echo WORKS",
    ),
    (
        "substitution and background",
        "sh",
        "x=$(sleep 0.01 & wait; echo y) && test $x = y && echo WORKS",
    ),
    (
        "standard devices",
        "sh",
        "echo x > /dev/null && head -c 4 /dev/urandom >/dev/null && echo err >/dev/stderr && echo WORKS > /dev/stdout",
    ),
    (
        "signals inside",
        "sleep",
        "sleep 100 & kill $! && ! wait $! && echo WORKS",
    ),
    (
        "process list of itself",
        "sh",
        "cat /proc/self/status >/dev/null && ls /proc/self/fd >/dev/null && echo WORKS",
    ),
    (
        "compile",
        "cc",
        "echo 'int main(){return 0;}' > m.c && cc -o m m.c && ./m && echo WORKS",
    ),
    (
        "git",
        "git",
        "git status >/dev/null && git add ostler.toml && git commit -qm x && git log --oneline && echo WORKS",
    ),
    (
        "python",
        "python3",
        "/usr/bin/env python3 -c 'import subprocess,tempfile; tempfile.TemporaryFile(); print(subprocess.check_output([\"echo\",\"WORKS\"]).decode())'",
    ),
    (
        "python pool",
        "python3",
        "/usr/bin/env python3 -c 'from multiprocessing import Pool\nwith Pool(2) as p: print(\"WORKS\", p.map(abs, [-1]))'",
    ),
    (
        "threads",
        "python3",
        "/usr/bin/env python3 -c 'import threading; t=threading.Thread(target=print,args=(\"WORKS\",)); t.start(); t.join()'",
    ),
    ("a pair of sockets", "sh", "$TRY inner-pair"),
    ("a server and its client", "loopback", "$TRY inner-server"),
    (
        "a unix server and its client",
        "loopback",
        "$TRY inner-unix $ROOT/inner",
    ),
];
