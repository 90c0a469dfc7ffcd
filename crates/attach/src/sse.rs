//! Server-sent events, read from pieces of any size.

/// The longest line: an entry with pictures.
const MAX_LINE: usize = 64 << 20;

/// One message. Without a name of its own an event has an empty one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Message {
    pub event: String,
    pub data: String,
}

#[derive(Default)]
pub struct Reader {
    line: Vec<u8>,
    message: Message,
    has_data: bool,
}

/// A line that does not end.
#[derive(Debug, PartialEq, Eq)]
pub struct TooLong;

impl Reader {
    /// The messages that end in this piece.
    pub fn take(&mut self, mut piece: &[u8]) -> Result<Vec<Message>, TooLong> {
        let mut messages = Vec::new();
        while let Some(at) = piece.iter().position(|byte| *byte == b'\n') {
            let (begun, rest) = piece.split_at(at);
            self.line.extend_from_slice(begun);
            piece = rest.get(1..).unwrap_or_default();
            let line = std::mem::take(&mut self.line);
            messages.extend(self.end_line(&String::from_utf8_lossy(&line)));
        }
        self.line.extend_from_slice(piece);
        match self.line.len() + self.message.data.len() > MAX_LINE {
            true => Err(TooLong),
            false => Ok(messages),
        }
    }

    fn end_line(&mut self, line: &str) -> Option<Message> {
        let line = line.trim_end_matches('\r');
        if line.is_empty() {
            let message = std::mem::take(&mut self.message);
            return std::mem::take(&mut self.has_data).then_some(message);
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "event" => value.clone_into(&mut self.message.event),
            "data" => {
                if std::mem::replace(&mut self.has_data, true) {
                    self.message.data.push('\n');
                }
                self.message.data.push_str(value);
            }
            // A comment, or the number of an entry, which the entry has itself.
            _ => {}
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(event: &str, data: &str) -> Message {
        Message {
            event: event.into(),
            data: data.into(),
        }
    }

    #[test]
    fn messages_come_whole_however_they_are_cut() {
        let text = ": ostler\n\nevent: snapshot\ndata: {}\n\nid: 7\r\ndata: é\r\n\r\ndata: a\ndata: b\n\nevent: none\n\ndata";
        let whole = [
            message("snapshot", "{}"),
            message("", "é"),
            message("", "a\nb"),
        ];
        for size in 1..text.len() {
            let mut reader = Reader::default();
            let pieces = text.as_bytes().chunks(size);
            let read: Vec<_> = pieces
                .flat_map(|piece| reader.take(piece).unwrap())
                .collect();
            assert_eq!(read, whole, "in pieces of {size}");
        }
    }

    #[test]
    fn a_line_without_end_is_refused() {
        let mut reader = Reader::default();
        let piece = vec![b'x'; MAX_LINE / 4];
        for _ in 0..4 {
            assert_eq!(reader.take(&piece), Ok(Vec::new()));
        }
        assert_eq!(reader.take(&piece), Err(TooLong));
    }
}
