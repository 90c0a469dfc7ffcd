//! Values as bytes, and back. Numbers are little-endian, what has a length says it first, and paths are the very bytes that
//! the system uses. Whatever comes in is bounded by the frame that it came in: no length is believed beyond that.

use bytes::Bytes;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

/// What was received makes no sense.
#[derive(Debug, PartialEq, Eq)]
pub struct Malformed;

/// What travels between the two ends.
pub trait Wire: Sized {
    fn put(&self, out: &mut Vec<u8>);
    fn take(from: &mut Bytes) -> Result<Self, Malformed>;
}

pub fn encode(value: &impl Wire) -> Vec<u8> {
    let mut out = Vec::new();
    value.put(&mut out);
    out
}

/// One value and nothing after it.
pub fn decode<T: Wire>(mut from: Bytes) -> Result<T, Malformed> {
    let value = T::take(&mut from)?;
    match from.is_empty() {
        true => Ok(value),
        false => Err(Malformed),
    }
}

fn split(from: &mut Bytes, length: usize) -> Result<Bytes, Malformed> {
    match from.len() >= length {
        true => Ok(from.split_to(length)),
        false => Err(Malformed),
    }
}

macro_rules! numbers {
    ($($number:ty),*) => {
        $(impl Wire for $number {
            fn put(&self, out: &mut Vec<u8>) {
                out.extend_from_slice(&self.to_le_bytes());
            }

            fn take(from: &mut Bytes) -> Result<Self, Malformed> {
                let bytes = split(from, size_of::<$number>())?;
                let bytes = bytes.as_ref().try_into().map_err(|_| Malformed)?;
                Ok(Self::from_le_bytes(bytes))
            }
        })*
    };
}

numbers!(u8, u16, u32, u64, i32);

impl Wire for bool {
    fn put(&self, out: &mut Vec<u8>) {
        u8::from(*self).put(out);
    }

    fn take(from: &mut Bytes) -> Result<Self, Malformed> {
        match u8::take(from)? {
            0 => Ok(false),
            1 => Ok(true),
            2.. => Err(Malformed),
        }
    }
}

/// As the larger number that every system has.
impl Wire for usize {
    fn put(&self, out: &mut Vec<u8>) {
        (*self as u64).put(out);
    }

    fn take(from: &mut Bytes) -> Result<Self, Malformed> {
        Ok(Self::try_from(u64::take(from)?).unwrap_or(Self::MAX))
    }
}

impl Wire for Bytes {
    fn put(&self, out: &mut Vec<u8>) {
        self.len().put(out);
        out.extend_from_slice(self);
    }

    fn take(from: &mut Bytes) -> Result<Self, Malformed> {
        let length = usize::take(from)?;
        split(from, length)
    }
}

impl Wire for String {
    fn put(&self, out: &mut Vec<u8>) {
        self.len().put(out);
        out.extend_from_slice(self.as_bytes());
    }

    fn take(from: &mut Bytes) -> Result<Self, Malformed> {
        Self::from_utf8(Bytes::take(from)?.to_vec()).map_err(|_| Malformed)
    }
}

impl Wire for OsString {
    fn put(&self, out: &mut Vec<u8>) {
        self.len().put(out);
        out.extend_from_slice(self.as_encoded_bytes());
    }

    fn take(from: &mut Bytes) -> Result<Self, Malformed> {
        let bytes = Bytes::take(from)?;
        #[cfg(unix)]
        {
            use std::os::unix::ffi::OsStringExt as _;
            Ok(Self::from_vec(bytes.to_vec()))
        }
        #[cfg(not(unix))]
        Ok(String::from_utf8_lossy(&bytes).into_owned().into())
    }
}

impl Wire for PathBuf {
    fn put(&self, out: &mut Vec<u8>) {
        let bytes = self.as_os_str().as_encoded_bytes();
        bytes.len().put(out);
        out.extend_from_slice(bytes);
    }

    fn take(from: &mut Bytes) -> Result<Self, Malformed> {
        Ok(OsString::take(from)?.into())
    }
}

impl<T: Wire> Wire for Vec<T> {
    fn put(&self, out: &mut Vec<u8>) {
        self.len().put(out);
        for one in self {
            one.put(out);
        }
    }

    fn take(from: &mut Bytes) -> Result<Self, Malformed> {
        let count = usize::take(from)?;
        // Each has a byte at least: no more are reserved than can be there.
        if count > from.len() {
            return Err(Malformed);
        }
        (0..count).map(|_| T::take(from)).collect()
    }
}

impl<T: Wire> Wire for Option<T> {
    fn put(&self, out: &mut Vec<u8>) {
        self.is_some().put(out);
        if let Some(value) = self {
            value.put(out);
        }
    }

    fn take(from: &mut Bytes) -> Result<Self, Malformed> {
        Ok(match bool::take(from)? {
            true => Some(T::take(from)?),
            false => None,
        })
    }
}

impl<T: Wire, E: Wire> Wire for Result<T, E> {
    fn put(&self, out: &mut Vec<u8>) {
        self.is_ok().put(out);
        match self {
            Ok(value) => value.put(out),
            Err(error) => error.put(out),
        }
    }

    fn take(from: &mut Bytes) -> Result<Self, Malformed> {
        Ok(match bool::take(from)? {
            true => Ok(T::take(from)?),
            false => Err(E::take(from)?),
        })
    }
}

impl<A: Wire, B: Wire> Wire for (A, B) {
    fn put(&self, out: &mut Vec<u8>) {
        self.0.put(out);
        self.1.put(out);
    }

    fn take(from: &mut Bytes) -> Result<Self, Malformed> {
        Ok((A::take(from)?, B::take(from)?))
    }
}

impl<T: Wire> Wire for Arc<T> {
    fn put(&self, out: &mut Vec<u8>) {
        T::put(self, out);
    }

    fn take(from: &mut Bytes) -> Result<Self, Malformed> {
        Ok(Self::new(T::take(from)?))
    }
}

impl<T: Wire> Wire for Box<T> {
    fn put(&self, out: &mut Vec<u8>) {
        T::put(self, out);
    }

    fn take(from: &mut Bytes) -> Result<Self, Malformed> {
        Ok(Self::new(T::take(from)?))
    }
}

/// Nanoseconds since 1970; what is older counts as that.
impl Wire for SystemTime {
    fn put(&self, out: &mut Vec<u8>) {
        let since = self.duration_since(Self::UNIX_EPOCH).unwrap_or_default();
        since.as_secs().put(out);
        since.subsec_nanos().put(out);
    }

    fn take(from: &mut Bytes) -> Result<Self, Malformed> {
        let (seconds, nanos) = (u64::take(from)?, u32::take(from)?);
        let since = Duration::from_secs(seconds) + Duration::from_nanos(nanos.into());
        Self::UNIX_EPOCH.checked_add(since).ok_or(Malformed)
    }
}

/// A struct travels as its fields, in this order.
macro_rules! fields {
    ($type:ty { $($field:ident),* $(,)? }) => {
        impl $crate::remote::codec::Wire for $type {
            fn put(&self, out: &mut Vec<u8>) {
                let Self { $($field),* } = self;
                $($crate::remote::codec::Wire::put($field, out);)*
            }

            fn take(from: &mut bytes::Bytes) -> Result<Self, $crate::remote::codec::Malformed> {
                Ok(Self { $($field: $crate::remote::codec::Wire::take(from)?),* })
            }
        }
    };
}

/// An enum travels as the number of its variant, then its fields.
macro_rules! variants {
    ($type:ty { $($number:literal => $name:ident $({ $($field:ident),* })? $(($($inner:ident),*))?),* $(,)? }) => {
        impl $crate::remote::codec::Wire for $type {
            fn put(&self, out: &mut Vec<u8>) {
                match self {
                    $(Self::$name $({ $($field),* })? $(($($inner),*))? => {
                        $crate::remote::codec::Wire::put(&($number as u8), out);
                        $($($crate::remote::codec::Wire::put($field, out);)*)?
                        $($($crate::remote::codec::Wire::put($inner, out);)*)?
                    })*
                }
            }

            fn take(from: &mut bytes::Bytes) -> Result<Self, $crate::remote::codec::Malformed> {
                Ok(match <u8 as $crate::remote::codec::Wire>::take(from)? {
                    $($number => {
                        $($(let $field = $crate::remote::codec::Wire::take(from)?;)*)?
                        $($(let $inner = $crate::remote::codec::Wire::take(from)?;)*)?
                        Self::$name $({ $($field),* })? $(($($inner),*))?
                    })*
                    _ => return Err($crate::remote::codec::Malformed),
                })
            }
        }
    };
}

pub(crate) use {fields, variants};

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn there_and_back<T: Wire + PartialEq + std::fmt::Debug>(value: &T) {
        let bytes = Bytes::from(encode(value));
        assert_eq!(decode::<T>(bytes.clone()).as_ref(), Ok(value));
        // Whatever is cut off, it is an error and not another value.
        for end in 0..bytes.len() {
            assert!(decode::<T>(bytes.slice(..end)).is_err(), "{end} {value:?}");
        }
    }

    #[test]
    fn values_come_back() {
        there_and_back(&(7u64, -3i32));
        there_and_back(&vec!["a".to_owned(), String::new(), "早".into()]);
        there_and_back(&Some(Bytes::from_static(b"\0\xff")));
        there_and_back(&Result::<bool, String>::Err("no".into()));
        there_and_back(&(SystemTime::UNIX_EPOCH + Duration::new(5, 7)));
    }

    #[cfg(unix)]
    #[test]
    fn names_that_are_no_text_come_back() {
        use std::os::unix::ffi::OsStringExt as _;
        let odd = OsString::from_vec(b"a\xff/\n\x80".to_vec());
        there_and_back(&odd);
        there_and_back(&PathBuf::from(odd));
    }

    #[test]
    fn no_length_is_believed() {
        let huge = Bytes::from(encode(&u64::MAX));
        assert!(decode::<Bytes>(huge.clone()).is_err());
        assert!(decode::<Vec<u8>>(huge.clone()).is_err());
        assert!(decode::<Vec<PathBuf>>(huge).is_err());
    }

    proptest! {
        #[test]
        fn garbage_is_an_error_or_a_value(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = decode::<Vec<(PathBuf, Option<String>)>>(bytes.into());
        }
    }
}
