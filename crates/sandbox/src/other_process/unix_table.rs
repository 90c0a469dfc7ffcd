//! The listening unix sockets of one network, as the kernel lists them. Answers which socket a path or name leads to.

use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send};
use std::sync::{Mutex, PoisonError};

const BY_FAMILY: u16 = 20;
const DONE: u16 = 3;
const ERROR: u16 = 2;
/// Request, and all of them.
const DUMP: u16 = 0x301;
/// The list changed while it was written.
const INTERRUPTED: u16 = 0x10;
const LISTENING: u32 = 1 << 10;
const NAMES_AND_FILES: u32 = 3;
const NAME: u16 = 0;
const FILE: u16 = 1;
const HEADER: usize = 16;
const SOCKET: usize = 16;
const REQUEST: u32 = 40;
/// The kernel writes no longer piece of a list.
const PIECE: usize = 64 << 10;
const MAX_ATTEMPTS: usize = 8;

/// A descriptor that belongs to the network whose sockets it lists.
pub struct UnixTable {
    link: Mutex<OwnedFd>,
}

/// One that listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listening {
    /// The number in `socket:[…]`.
    pub number: u32,
    /// With the zero in front that names without a file have.
    pub name: Vec<u8>,
    /// Number and device of its file, as the kernel counts devices.
    pub file: Option<(u32, u32)>,
}

impl UnixTable {
    pub fn new(link: OwnedFd) -> Self {
        Self {
            link: Mutex::new(link),
        }
    }

    pub fn list(&self) -> rustix::io::Result<Vec<Listening>> {
        let link = self.link.lock().unwrap_or_else(PoisonError::into_inner);
        for _ in 0..MAX_ATTEMPTS {
            if let Some(list) = ask(&link)? {
                return Ok(list);
            }
        }
        Err(Errno::AGAIN)
    }
}

/// `None` if the list changed meanwhile.
fn ask(link: &OwnedFd) -> rustix::io::Result<Option<Vec<Listening>>> {
    send(link, &request(), SendFlags::empty())?;
    let (mut found, mut whole) = (Vec::new(), true);
    let mut piece = vec![0_u8; PIECE];
    loop {
        let (count, _) = recv(link, piece.as_mut_slice(), RecvFlags::empty())?;
        let mut rest = piece.get(..count).unwrap_or_default();
        if rest.is_empty() {
            return Err(Errno::IO);
        }
        while let Some((kind, flags, body, after)) = message(rest) {
            whole &= flags & INTERRUPTED == 0;
            match kind {
                BY_FAMILY => found.extend(socket(body)),
                DONE => return Ok(whole.then_some(found)),
                ERROR => return Err(Errno::NOTSUP),
                _ => {}
            }
            rest = after;
        }
    }
}

fn request() -> Vec<u8> {
    let mut bytes = Vec::with_capacity(REQUEST as usize);
    bytes.extend(REQUEST.to_ne_bytes());
    bytes.extend(BY_FAMILY.to_ne_bytes());
    bytes.extend(DUMP.to_ne_bytes());
    bytes.extend([0; 8]);
    bytes.extend([libc::AF_UNIX as u8, 0, 0, 0]);
    bytes.extend(LISTENING.to_ne_bytes());
    bytes.extend([0; 4]);
    bytes.extend(NAMES_AND_FILES.to_ne_bytes());
    bytes.extend([0; 8]);
    bytes
}

/// Kind, flags and body of the first message, and what follows it.
fn message(bytes: &[u8]) -> Option<(u16, u16, &[u8], &[u8])> {
    let length = word(bytes, 0)? as usize;
    let body = bytes.get(HEADER..length)?;
    let after = bytes.get(length.next_multiple_of(4)..).unwrap_or_default();
    Some((half(bytes, 4)?, half(bytes, 6)?, body, after))
}

fn socket(body: &[u8]) -> Option<Listening> {
    let mut found = Listening {
        number: word(body, 4)?,
        name: Vec::new(),
        file: None,
    };
    let mut rest = body.get(SOCKET..)?;
    while let (Some(length), Some(kind)) = (half(rest, 0), half(rest, 2)) {
        let Some(value) = rest.get(4..length.into()) else {
            break;
        };
        match kind {
            NAME => found.name = value.to_vec(),
            FILE => found.file = word(value, 0).zip(word(value, 4)),
            _ => {}
        }
        let next = usize::from(length).next_multiple_of(4);
        rest = rest.get(next..).unwrap_or_default();
    }
    Some(found)
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    let bytes = bytes.get(at..at + 4)?;
    Some(u32::from_ne_bytes(bytes.try_into().ok()?))
}

fn half(bytes: &[u8], at: usize) -> Option<u16> {
    let bytes = bytes.get(at..at + 2)?;
    Some(u16::from_ne_bytes(bytes.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::linux::net::SocketAddrExt;
    use std::os::unix::fs::MetadataExt;
    use std::os::unix::net::{SocketAddr, UnixListener};

    #[test]
    fn sockets_that_listen_are_found_by_file_and_name() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("socket");
        let name = format!("ostler-{}", std::process::id());
        let link = crate::linux::open_table().unwrap();
        let table = UnixTable::new(link);
        let file = |table: &UnixTable| {
            let number = path.metadata().unwrap().ino() as u32;
            let list = table.list().unwrap();
            list.iter()
                .any(|s| s.file.is_some_and(|(ino, _)| ino == number))
        };
        let listener = UnixListener::bind(&path).unwrap();
        let address = SocketAddr::from_abstract_name(&name).unwrap();
        let _abstract = UnixListener::bind_addr(&address).unwrap();
        assert!(file(&table));
        let name = [&[0], name.as_bytes()].concat();
        assert!(table.list().unwrap().iter().any(|s| s.name == name));
        drop(listener);
        assert!(!file(&table));
    }
}
