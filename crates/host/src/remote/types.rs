//! The plain data of a host as it travels: files, borders, commands, errors. Errors keep their kind, and the system's own
//! number where there is one, so that both languages say the same of them as on this machine.

use super::codec::{Malformed, Wire, fields, variants};
use crate::command::{Exit, Signal, Stdio};
use crate::search::{Found, FoundEntries, FoundLines, FoundNames, LineQuery, Mode, Search, Tree};
use bytes::Bytes;
use ostler_files::Error;
use ostler_files::border::{Ban, Beyond, Border, Depth, Pattern, Place};
use ostler_files::protected::Protected;
use ostler_files::{
    Content, Entry, Kind, Listing, RenameOptions, Renamed, Roots, Span, Stat, WriteOptions, Written,
};
use ostler_sandbox::proxy::{self, Asked, HostRule, Reach};
use ostler_sandbox::{
    Choice, ClosedFolder, EmptyHome, Layer, LinkedFile, Network, Policy, Readable, UnixSockets,
};
use ostler_wire::{AnyWord, Word};
use std::io;

variants!(Kind {
    0 => File,
    1 => Directory,
    2 => Symlink,
    3 => Other,
    4 => Missing,
});
fields!(Stat {
    path,
    kind,
    len,
    modified,
    mode
});
fields!(Span { offset, max_bytes });
fields!(Content {
    bytes,
    truncated,
    stat
});
fields!(Written { path, created });
fields!(Renamed {
    from,
    to,
    overwrote
});
fields!(Entry { name, kind, len });
fields!(Listing {
    path,
    entries,
    truncated
});
fields!(WriteOptions {
    roots,
    create_parents
});
fields!(RenameOptions {
    roots,
    create_parents,
    overwrite
});
fields!(Roots {
    writable,
    reserved,
    protected,
    judged
});

/// What links lead to is looked up at the place itself.
impl Wire for Protected {
    fn put(&self, out: &mut Vec<u8>) {
        self.names.put(out);
        self.except.put(out);
        self.paths.put(out);
        self.bases.put(out);
        self.granted.put(out);
        self.repositories.put(out);
        self.home.put(out);
    }

    fn take(from: &mut Bytes) -> Result<Self, Malformed> {
        Ok(Self {
            names: Wire::take(from)?,
            except: Wire::take(from)?,
            paths: Wire::take(from)?,
            bases: Wire::take(from)?,
            granted: Wire::take(from)?,
            repositories: Wire::take(from)?,
            home: Wire::take(from)?,
            ..Self::default()
        })
    }
}

variants!(Place { 0 => Inside, 1 => Public, 2 => Outside });
variants!(Beyond { 0 => Ask, 1 => Open });
variants!(Depth { 0 => FromBase, 1 => AnyName });
fields!(Ban { path, rule });
fields!(Pattern {
    base,
    glob,
    depth,
    rule
});
fields!(Border {
    places,
    forbidden,
    deny,
    ask,
    allow,
    granted,
    listed,
    beyond
});

variants!(Signal { 0 => Int, 1 => Term, 2 => Kill });
variants!(Stdio { 0 => Pipes, 1 => PipesWithStdin, 2 => Pty { rows, cols } });
fields!(Exit { code, signal });

variants!(UnixSockets { 0 => None, 1 => Own });
variants!(Network { 0 => Off, 1 => Loopback, 2 => Proxy, 3 => On });
variants!(Readable { 0 => All, 1 => List(paths) });
variants!(Choice { 0 => Auto, 1 => Namespaces, 2 => Landlock, 3 => Bubblewrap, 4 => Off });
variants!(Layer { 0 => Namespaces, 1 => Landlock, 2 => Bubblewrap });
fields!(ClosedFolder { folder, shown });
fields!(LinkedFile { file, link });
fields!(EmptyHome {
    home,
    others,
    shown
});

/// A network that commands share is made of descriptors, which stay where they are.
impl Wire for Policy {
    fn put(&self, out: &mut Vec<u8>) {
        let Self {
            writable,
            fixed,
            readable,
            forbid_read,
            closed,
            protect,
            links,
            compared,
            sockets,
            unix,
            empty_home,
            private,
            temp,
            visible,
            network,
            shared: _,
            layer,
            bubblewrap,
        } = self;
        writable.put(out);
        fixed.put(out);
        readable.put(out);
        forbid_read.put(out);
        closed.put(out);
        protect.put(out);
        links.put(out);
        compared.put(out);
        sockets.put(out);
        unix.put(out);
        empty_home.put(out);
        private.put(out);
        temp.put(out);
        visible.put(out);
        network.put(out);
        layer.put(out);
        bubblewrap.put(out);
    }

    fn take(from: &mut Bytes) -> Result<Self, Malformed> {
        Ok(Self {
            writable: Wire::take(from)?,
            fixed: Wire::take(from)?,
            readable: Wire::take(from)?,
            forbid_read: Wire::take(from)?,
            closed: Wire::take(from)?,
            protect: Wire::take(from)?,
            links: Wire::take(from)?,
            compared: Wire::take(from)?,
            sockets: Wire::take(from)?,
            unix: Wire::take(from)?,
            empty_home: Wire::take(from)?,
            private: Wire::take(from)?,
            temp: Wire::take(from)?,
            visible: Wire::take(from)?,
            network: Wire::take(from)?,
            shared: None,
            layer: Wire::take(from)?,
            bubblewrap: Wire::take(from)?,
        })
    }
}

fields!(HostRule { spec });
fields!(Asked {
    host,
    port,
    allowed,
    private
});

/// Names are looked up by the system of the place; what is served here is not there.
impl Wire for Reach {
    fn put(&self, out: &mut Vec<u8>) {
        let Self {
            allow,
            ask,
            deny,
            granted,
            private,
            served: _,
            resolve: _,
        } = self;
        allow.put(out);
        ask.put(out);
        deny.put(out);
        granted.put(out);
        private.put(out);
    }

    fn take(from: &mut Bytes) -> Result<Self, Malformed> {
        Ok(Self {
            allow: Wire::take(from)?,
            ask: Wire::take(from)?,
            deny: Wire::take(from)?,
            granted: Wire::take(from)?,
            private: Wire::take(from)?,
            served: None,
            resolve: proxy::system(),
        })
    }
}

/// Kinds of errors without a number of the system; others travel as their text.
const KINDS: [io::ErrorKind; 14] = [
    io::ErrorKind::Other,
    io::ErrorKind::NotFound,
    io::ErrorKind::PermissionDenied,
    io::ErrorKind::AlreadyExists,
    io::ErrorKind::InvalidInput,
    io::ErrorKind::InvalidData,
    io::ErrorKind::Unsupported,
    io::ErrorKind::BrokenPipe,
    io::ErrorKind::NotConnected,
    io::ErrorKind::FileTooLarge,
    io::ErrorKind::WouldBlock,
    io::ErrorKind::TimedOut,
    io::ErrorKind::UnexpectedEof,
    io::ErrorKind::StorageFull,
];

impl Wire for io::Error {
    fn put(&self, out: &mut Vec<u8>) {
        self.raw_os_error().put(out);
        let kind = KINDS.iter().position(|kind| *kind == self.kind());
        kind.unwrap_or(0).put(out);
        self.to_string().put(out);
    }

    fn take(from: &mut Bytes) -> Result<Self, Malformed> {
        let number: Option<i32> = Wire::take(from)?;
        let kind = KINDS.get(usize::take(from)?).ok_or(Malformed)?;
        let text = String::take(from)?;
        // Numbers are those of the place; another system than ours counts otherwise, its text is the same.
        let known = number.map(Self::from_raw_os_error);
        let known = known.filter(|known| known.to_string() == text);
        Ok(known.unwrap_or_else(|| Self::new(*kind, text)))
    }
}

/// Both ends are of one version: its texts have the same numbers.
impl<const N: usize> Wire for Word<N> {
    fn put(&self, out: &mut Vec<u8>) {
        self.number().put(out);
    }

    fn take(from: &mut Bytes) -> Result<Self, Malformed> {
        Self::from_number(u16::take(from)?).ok_or(Malformed)
    }
}

impl Wire for AnyWord {
    fn put(&self, out: &mut Vec<u8>) {
        self.number().put(out);
    }

    fn take(from: &mut Bytes) -> Result<Self, Malformed> {
        Self::from_number(u16::take(from)?).ok_or(Malformed)
    }
}

variants!(Error {
    0 => NotFound { path },
    1 => IsDirectory { path },
    2 => NotDirectory { path },
    3 => NotRegular { path },
    4 => BadPath { path },
    5 => Path { path, source },
    6 => Forbidden { path, source },
    7 => Outside { path, writable },
    8 => Reserved { path },
    9 => Protected { path },
    10 => Beyond { path },
    11 => Withheld { path, rule },
    12 => Exists { path },
    13 => TooManyLinks { path },
    14 => Changed { path },
    15 => Read { path, source },
    16 => MakeDirectory { path, source },
    17 => Write { path, source },
    18 => ProgramNotFound { program },
    19 => NotExecutable { program, source },
    20 => WorkingDirectory { path, source },
    21 => TooLong,
    22 => BadCommand,
    23 => Spawn { program, source },
    24 => Sandbox { program, step, source },
    25 => Lost { program },
    26 => Unreachable { place, reason },
    27 => Search { text },
    28 => Confine { text },
});

fields!(Tree {
    base,
    root,
    temp,
    border
});
fields!(LineQuery {
    pattern,
    ignore_case,
    glob,
    kind,
    mode,
    context
});
variants!(Mode { 0 => Content, 1 => Files, 2 => Count });
variants!(Search {
    0 => Names { tree, pattern },
    1 => Entries { tree, depth },
    2 => Lines { tree, query },
});
fields!(FoundNames {
    paths,
    total,
    truncated,
    partial
});
fields!(FoundEntries {
    base,
    entries,
    truncated
});
fields!(FoundLines {
    lines,
    count,
    searched,
    truncated,
    skipped
});
variants!(Found { 0 => Names(names), 1 => Entries(entries), 2 => Lines(lines) });
