//! Server-sent events out of bytes that may be split anywhere. Pure: it reads no socket and knows no vendor.
//! An event of one `data:` line that lies whole in the pushed bytes is handed out without a copy.

use std::borrow::Cow;

/// One event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame<'a> {
    /// The `event:` field, empty when there was none.
    pub event: &'a str,
    pub data: &'a str,
}

/// An event had more bytes than it may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooLong {
    pub most: usize,
}

/// The most bytes one event may have. Longer ones are an error, so that a server cannot fill the memory.
pub const MAX_EVENT_BYTES: usize = 64 * 1024 * 1024;

const BOM: &[u8] = b"\xef\xbb\xbf";

/// What a push brought. Anything in it is a sign of life.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    pub frames: usize,
    pub comments: usize,
}

pub struct Sse {
    /// The beginning of a line whose end has not come.
    line: Vec<u8>,
    event: Vec<u8>,
    data: Vec<u8>,
    /// `data` holds at least one line.
    has_data: bool,
    /// The last byte was CR, so an LF that comes next belongs to it.
    after_cr: bool,
    /// Nothing but (part of) a byte order mark has come.
    at_start: bool,
    /// Lines of a bare JSON document, as some servers end a stream with to tell of an error.
    bare: Vec<u8>,
    cap: usize,
}

/// The most bytes of a bare document that are kept.
const MAX_BARE_BYTES: usize = 64 * 1024;

impl Default for Sse {
    fn default() -> Self {
        Self::with_cap(MAX_EVENT_BYTES)
    }
}

impl Sse {
    /// With another limit for one event.
    pub fn with_cap(cap: usize) -> Self {
        Self {
            line: Vec::new(),
            event: Vec::new(),
            data: Vec::new(),
            has_data: false,
            after_cr: false,
            at_start: true,
            bare: Vec::new(),
            cap,
        }
    }

    /// Reads on and hands out every event that is complete. After an error the parser has forgotten what it held.
    pub fn push(
        &mut self,
        bytes: &[u8],
        on_frame: &mut impl FnMut(Frame<'_>),
    ) -> Result<Seen, TooLong> {
        let mut seen = Seen::default();
        let mut rest = bytes;
        // The only data line of the current event, still in the caller's buffer.
        let mut lent: Option<&[u8]> = None;
        while !rest.is_empty() {
            if std::mem::take(&mut self.after_cr)
                && let Some(after) = rest.strip_prefix(b"\n")
            {
                rest = after;
                continue;
            }
            let Some(end) = memchr::memchr2(b'\n', b'\r', rest) else {
                self.keep(rest)?;
                break;
            };
            let (head, tail) = rest.split_at(end);
            self.after_cr = tail.first() == Some(&b'\r');
            rest = tail.get(1..).unwrap_or_default();
            if self.line.is_empty() {
                let line = self.without_bom(head);
                self.line(line, &mut lent, &mut seen, on_frame)?;
            } else {
                self.keep(head)?;
                let owned = std::mem::take(&mut self.line);
                let line = self.without_bom(&owned);
                self.own(&mut lent)?;
                let mut held = None;
                self.line(line, &mut held, &mut seen, on_frame)?;
                self.own(&mut held)?;
                self.line = owned;
                self.line.clear();
                self.line.shrink_to(KEPT_BYTES);
            }
        }
        self.own(&mut lent)?;
        Ok(seen)
    }

    /// The stream is over: hands out an event that lacks its blank line. A line without an end counts as ended.
    pub fn finish(&mut self, on_frame: &mut impl FnMut(Frame<'_>)) -> Result<Seen, TooLong> {
        let mut seen = self.push(b"\n\n", on_frame)?;
        let bare = std::mem::take(&mut self.bare);
        if let Ok(document) = serde_json::from_slice::<&serde_json::value::RawValue>(&bare) {
            seen.frames += 1;
            on_frame(Frame {
                event: "",
                data: document.get(),
            });
        }
        Ok(seen)
    }

    /// Keeps the line when it begins or continues a bare JSON document.
    fn stray(&mut self, line: &[u8]) {
        let begins = line.trim_ascii_start().starts_with(b"{");
        if (begins || !self.bare.is_empty()) && self.bare.len() + line.len() < MAX_BARE_BYTES {
            self.bare.extend_from_slice(line);
            self.bare.push(b'\n');
        }
    }

    fn without_bom<'a>(&mut self, line: &'a [u8]) -> &'a [u8] {
        if std::mem::take(&mut self.at_start) {
            line.strip_prefix(BOM).unwrap_or(line)
        } else {
            line
        }
    }

    fn line<'a>(
        &mut self,
        line: &'a [u8],
        lent: &mut Option<&'a [u8]>,
        seen: &mut Seen,
        on_frame: &mut impl FnMut(Frame<'_>),
    ) -> Result<(), TooLong> {
        if line.is_empty() {
            self.dispatch(lent.take(), seen, on_frame);
            return Ok(());
        }
        let (field, value) = match memchr::memchr(b':', line) {
            Some(0) => {
                seen.comments += 1;
                return Ok(());
            }
            Some(colon) => {
                let (field, value) = line.split_at(colon);
                let value = value.get(1..).unwrap_or_default();
                (field, value.strip_prefix(b" ").unwrap_or(value))
            }
            None => (line, &b""[..]),
        };
        match field {
            b"data" if !self.has_data && lent.is_none() => *lent = Some(value),
            b"data" => {
                self.own(lent)?;
                self.more_data(value)?;
            }
            b"event" => {
                self.check(value.len())?;
                self.event.clear();
                self.event.extend_from_slice(value);
            }
            b"id" | b"retry" => {}
            _ => self.stray(line),
        }
        Ok(())
    }

    fn dispatch(
        &mut self,
        lent: Option<&[u8]>,
        seen: &mut Seen,
        on_frame: &mut impl FnMut(Frame<'_>),
    ) {
        let data = lent.unwrap_or(&self.data);
        // An event with nothing in it says only that the server is alive.
        if data.is_empty() {
            seen.comments += usize::from(self.has_data || lent.is_some());
        } else {
            seen.frames += 1;
            on_frame(Frame {
                event: &text(&self.event),
                data: &text(data),
            });
        }
        self.has_data = false;
        self.event.clear();
        self.data.clear();
        self.data.shrink_to(KEPT_BYTES);
    }

    /// Copies a lent line, because its buffer goes away or another line joins it.
    fn own(&mut self, lent: &mut Option<&[u8]>) -> Result<(), TooLong> {
        match lent.take() {
            Some(value) => self.more_data(value),
            None => Ok(()),
        }
    }

    fn more_data(&mut self, value: &[u8]) -> Result<(), TooLong> {
        self.check(value.len() + 1)?;
        if self.has_data {
            self.data.push(b'\n');
        }
        self.data.extend_from_slice(value);
        self.has_data = true;
        Ok(())
    }

    fn keep(&mut self, part: &[u8]) -> Result<(), TooLong> {
        self.check(part.len())?;
        self.line.extend_from_slice(part);
        Ok(())
    }

    fn check(&mut self, more: usize) -> Result<(), TooLong> {
        let held = self.line.len() + self.data.len() + self.event.len();
        if held + more <= self.cap {
            return Ok(());
        }
        let cap = self.cap;
        *self = Self::with_cap(cap);
        Err(TooLong { most: cap })
    }
}

/// Room that is kept between events; what one huge event needed is given back.
const KEPT_BYTES: usize = 64 * 1024;

fn text(bytes: &[u8]) -> Cow<'_, str> {
    String::from_utf8_lossy(bytes)
}

#[cfg(test)]
mod tests {
    use super::{Frame, Seen, Sse, TooLong};
    use proptest::prelude::*;

    fn read(parts: &[&[u8]]) -> (Vec<(String, String)>, Seen) {
        let (mut sse, mut frames, mut seen) = (Sse::default(), Vec::new(), Seen::default());
        let mut on_frame = |f: Frame<'_>| frames.push((f.event.to_owned(), f.data.to_owned()));
        for part in parts {
            let more = sse.push(part, &mut on_frame).unwrap();
            seen.frames += more.frames;
            seen.comments += more.comments;
        }
        (frames, seen)
    }

    #[test]
    fn a_bare_document_at_the_end_is_a_frame() {
        let check = |input: &[u8], expect: &[&str]| {
            let (mut sse, mut frames) = (Sse::default(), Vec::new());
            let mut on_frame = |f: Frame<'_>| frames.push(f.data.to_owned());
            for byte in input {
                sse.push(&[*byte], &mut on_frame).unwrap();
            }
            sse.finish(&mut on_frame).unwrap();
            assert_eq!(frames, expect, "{:?}", String::from_utf8_lossy(input));
        };
        check(
            b"data: 1\r\n\r\n{\n  \"error\": {\n    \"code\": 400\n  }\n}",
            &["1", "{\n  \"error\": {\n    \"code\": 400\n  }\n}"],
        );
        check(b"data: 1\n\n{ \"error\": cut", &["1"]);
        check(b"id: 7\nretry: 3\nnonsense\ndata: 1\n\n", &["1"]);
    }

    #[test]
    fn frames_of_a_stream() {
        let check = |input: &[u8], expect: &[(&str, &str)]| {
            let (frames, seen) = read(&[input]);
            let expect: Vec<_> = expect
                .iter()
                .map(|(e, d)| ((*e).to_owned(), (*d).to_owned()))
                .collect();
            assert_eq!(frames, expect, "{:?}", String::from_utf8_lossy(input));
            assert_eq!(seen.frames, expect.len());
        };
        check(b"data: {}\n\n", &[("", "{}")]);
        check(b"data:{}\n\ndata:  two\n\n", &[("", "{}"), ("", " two")]);
        check(b"event: ping\r\ndata: 1\r\n\r\n", &[("ping", "1")]);
        check(b"event:a\rdata:1\r\rdata:2\r\r", &[("a", "1"), ("", "2")]);
        check(b"data: 1\ndata\ndata: 3\n\n", &[("", "1\n\n3")]);
        check(b"\xef\xbb\xbfdata: bom\n\n", &[("", "bom")]);
        check(b"data: \xff\xfe!\n\n", &[("", "\u{fffd}\u{fffd}!")]);
        check(b": hi\n\nid: 7\nretry: 1\nodd\ndata: x\n\n", &[("", "x")]);
        check(b"data\n\ndata:\n\nevent: e\n\ndata: x\n\n", &[("", "x")]);
        check(b"\n\n\r\n\rdata: x\n\n\n\n", &[("", "x")]);
        check(b"datum: x\n\n data: x\n\n", &[]);
        check(b"data: unfinished\n", &[]);
        check("data: 你好\n\n".as_bytes(), &[("", "你好")]);
    }

    #[test]
    fn comments_and_empty_events_are_signs_of_life() {
        let (frames, seen) = read(&[b": wait\n\n:\n\ndata:\n\ndata: x\n\n"]);
        assert_eq!(frames.len(), 1);
        assert_eq!(
            seen,
            Seen {
                frames: 1,
                comments: 3
            }
        );
    }

    #[test]
    fn a_whole_event_is_lent_not_copied() {
        let input = b"event: e\ndata: here\n\n";
        let mut at = None;
        Sse::default()
            .push(input, &mut |f| at = Some(f.data.as_ptr()))
            .unwrap();
        assert_eq!(at, Some(input[15..].as_ptr()));
    }

    #[test]
    fn the_end_completes_a_last_event() {
        for input in ["data: x", "data: x\n", "data: x\r"] {
            let (mut sse, mut frames) = (Sse::default(), Vec::new());
            sse.push(input.as_bytes(), &mut |_| panic!("too early"))
                .unwrap();
            sse.finish(&mut |f| frames.push(f.data.to_owned())).unwrap();
            assert_eq!(frames, ["x"], "{input:?}");
        }
    }

    #[test]
    fn a_huge_event_is_an_error_and_is_forgotten() {
        let long = [b'x'; 100];
        for start in [&b"data: "[..], b"event: e\ndata: a\ndata: ", b"event: "] {
            let mut sse = Sse::with_cap(1024);
            let mut result = sse.push(start, &mut |_| {}).map(|_| ());
            let mut fed = 0;
            while result.is_ok() && fed < 100 {
                fed += 1;
                result = sse.push(&long, &mut |_| {}).map(|_| ());
            }
            assert!((8..=11).contains(&fed), "stopped after {fed}");
            assert_eq!(result, Err(TooLong { most: 1024 }));
            assert_eq!(sse.line.capacity() + sse.data.capacity(), 0);
        }
        let mut sse = Sse::with_cap(1024);
        let lines = "data: 0123456789\n".repeat(200);
        assert!(sse.push(lines.as_bytes(), &mut |_| {}).is_err());
    }

    fn pieces() -> impl Strategy<Value = Vec<u8>> {
        let piece = prop::sample::select(vec![
            &b"data: {\"a\":1}"[..],
            b"data:",
            b"event: delta",
            b": ping",
            b"id: 3",
            b"\n",
            b"\n",
            b"\n\n",
            b"\r",
            b"\r\n",
            b"\r\n\r\n",
            b"\xe4\xbd\xa0",
            b"\xff",
            b"\xef\xbb\xbf",
            b" x",
        ]);
        prop::collection::vec(piece, 0..40).prop_map(|p| p.concat())
    }

    proptest! {
        #[test]
        fn any_split_gives_the_same_frames(input in pieces(), cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..12)) {
            let mut at: Vec<usize> = cuts.iter().map(|c| c.index(input.len() + 1)).collect();
            at.sort_unstable();
            let (mut parts, mut from) = (Vec::new(), 0);
            for cut in at {
                parts.push(&input[from..cut]);
                from = cut;
            }
            parts.push(&input[from..]);
            let bytes: Vec<&[u8]> = input.chunks(1).collect();
            let whole = read(&[&input]);
            prop_assert_eq!(&read(&parts), &whole);
            prop_assert_eq!(&read(&bytes), &whole);
        }
    }
}
