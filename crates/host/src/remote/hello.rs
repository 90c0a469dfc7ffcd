//! What a connection says first: which helper it wants, and that it may.

use super::codec::{decode, encode, fields};
use bytes::Bytes;
use sha2::{Digest as _, Sha256};
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

/// Bytes of the key of a helper, which nobody can guess.
pub const KEY: usize = 32;
/// Most bytes of a hello.
const MAX_HELLO: usize = 256;
/// Bytes of the hash by which a helper is found.
const NAME: usize = 8;

/// Below the folder of the helper: sockets, and output that waits.
const FOLDER: &str = "ostler/run";
/// Where sockets of helpers lie.
pub fn folder(env: &[(OsString, OsString)], home: Option<&Path>) -> Option<PathBuf> {
    let cache = env.iter().find(|(name, _)| name == "XDG_CACHE_HOME");
    let cache = cache.map(|(_, folder)| PathBuf::from(folder));
    let cache = cache.filter(|folder| folder.is_absolute());
    let cache = cache.or_else(|| Some(home?.join(".cache")))?;
    Some(cache.join(FOLDER))
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hello {
    /// Whoever has it may connect.
    pub key: Bytes,
    /// How long the helper waits for another connection when this one breaks.
    pub grace: Duration,
    /// The helper runs already; what it sent, up to so many bytes, was received.
    pub known: Option<u64>,
}

fields!(Hello { key, grace, known });

impl Hello {
    /// The name of the helper's socket.
    pub fn socket(&self) -> String {
        let hash = Sha256::digest(&self.key);
        let name: String = hash.iter().take(NAME).map(|b| format!("{b:02x}")).collect();
        format!("{name}.sock")
    }

    /// Whether the other has the same key. Takes as long whether it has or not.
    pub fn has_key_of(&self, other: &Self) -> bool {
        let pairs = self.key.iter().zip(&other.key);
        let differs = pairs.fold(0, |differs, (one, other)| differs | (one ^ other));
        self.key.len() == KEY && other.key.len() == KEY && differs == 0
    }

    pub async fn send(&self, output: &mut (impl AsyncWrite + Unpin)) -> io::Result<()> {
        let bytes = encode(self);
        output.write_u16_le(bytes.len() as u16).await?;
        output.write_all(&bytes).await?;
        output.flush().await
    }

    pub async fn receive(input: &mut (impl AsyncRead + Unpin)) -> io::Result<Self> {
        let length = usize::from(input.read_u16_le().await?);
        if length > MAX_HELLO {
            return Err(io::ErrorKind::InvalidData.into());
        }
        let mut bytes = vec![0; length];
        input.read_exact(&mut bytes).await?;
        decode(bytes.into()).map_err(|_| io::ErrorKind::InvalidData.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hello(key: [u8; KEY]) -> Hello {
        Hello {
            key: Bytes::copy_from_slice(&key),
            grace: Duration::from_secs(600),
            known: Some(7),
        }
    }

    #[tokio::test]
    async fn a_hello_comes_back_and_garbage_does_not() {
        let mut bytes = Vec::new();
        hello([3; KEY]).send(&mut bytes).await.unwrap();
        let got = Hello::receive(&mut bytes.as_slice()).await.unwrap();
        assert_eq!(got, hello([3; KEY]));
        for end in 0..bytes.len() {
            assert!(Hello::receive(&mut &bytes[..end]).await.is_err());
        }
        assert!(Hello::receive(&mut [0xff; 300].as_slice()).await.is_err());
    }

    #[test]
    fn only_the_same_key_opens() {
        let one = hello([1; KEY]);
        assert!(one.has_key_of(&hello([1; KEY])));
        let mut other = [1; KEY];
        other[KEY - 1] = 2;
        assert!(!one.has_key_of(&hello(other)));
        let none = Hello {
            key: Bytes::new(),
            ..one.clone()
        };
        assert!(!one.has_key_of(&none) && !none.has_key_of(&none));
        assert_ne!(one.socket(), hello(other).socket());
    }
}
