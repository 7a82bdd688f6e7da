//! Server-sent events, read piece by piece within bounds.

/// One event.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct SseEvent {
    /// Its kind; `message` where none is named.
    pub(crate) kind: String,
    /// What it says.
    pub(crate) data: String,
}

/// Reads events.
#[derive(Debug, Default)]
pub(crate) struct SseReader {
    line: Vec<u8>,
    kind: String,
    data: String,
    has_data: bool,
    /// A line that ended in a carriage return may have a line feed to come.
    after_return: bool,
    last_id: Option<String>,
    retry_ms: Option<u64>,
    is_too_long: bool,
    max_bytes: usize,
}

impl SseReader {
    /// A reader of events of at most so many bytes each.
    pub(crate) fn new(max_bytes: usize) -> Self {
        Self { max_bytes, ..Self::default() }
    }

    /// The last event's id, to go on from; none where the server took it back.
    pub(crate) fn last_id(&self) -> Option<&str> {
        self.last_id.as_deref().filter(|id| !id.is_empty())
    }

    /// How long the server wants to be left alone before it is asked again.
    pub(crate) fn retry_ms(&self) -> Option<u64> {
        self.retry_ms
    }

    /// Whether an event was longer than is read. Nothing after it is.
    pub(crate) fn is_too_long(&self) -> bool {
        self.is_too_long
    }

    /// Another stream follows: what the last one left unfinished is gone, where it was is known.
    pub(crate) fn restart(&mut self) {
        *self = Self {
            last_id: self.last_id.take(),
            retry_ms: self.retry_ms,
            max_bytes: self.max_bytes,
            ..Self::default()
        };
    }

    /// Takes bytes in; gives the events that have ended.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> Vec<SseEvent> {
        let mut events = Vec::new();
        for byte in bytes {
            if self.is_too_long {
                break;
            }
            match byte {
                b'\n' if std::mem::take(&mut self.after_return) => {}
                b'\n' | b'\r' => {
                    self.after_return = *byte == b'\r';
                    events.extend(self.end_line());
                }
                byte => {
                    self.after_return = false;
                    self.line.push(*byte);
                    self.is_too_long = self.line.len() + self.data.len() > self.max_bytes;
                }
            }
        }
        events
    }

    fn end_line(&mut self) -> Option<SseEvent> {
        let bytes = std::mem::take(&mut self.line);
        let line = String::from_utf8_lossy(&bytes);
        let line = line.trim_start_matches('\u{feff}');
        if line.is_empty() {
            return self.end_event();
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "data" => {
                if std::mem::replace(&mut self.has_data, true) {
                    self.data.push('\n');
                }
                self.data.push_str(value);
            }
            "event" => value.clone_into(&mut self.kind),
            "id" if !value.contains('\0') => self.last_id = Some(value.to_owned()),
            "retry" => self.retry_ms = value.parse().ok().or(self.retry_ms),
            _ => {}
        }
        None
    }

    fn end_event(&mut self) -> Option<SseEvent> {
        let (kind, data) = (std::mem::take(&mut self.kind), std::mem::take(&mut self.data));
        let kind = if kind.is_empty() { "message".to_owned() } else { kind };
        std::mem::take(&mut self.has_data).then_some(SseEvent { kind, data })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn events(text: &str, size: usize) -> (Vec<(String, String)>, SseReader) {
        let mut reader = SseReader::new(100);
        let mut all = Vec::new();
        for piece in text.as_bytes().chunks(size) {
            all.extend(reader.push(piece).into_iter().map(|event| (event.kind, event.data)));
        }
        (all, reader)
    }

    #[test]
    fn events_are_read_whatever_the_pieces_and_line_ends() {
        let text = "\u{feff}id: 1\nretry: 500\ndata: \n\n: a comment\r\nevent: x\r\ndata:a\r\ndata: é\r\n\r\nid\rdata: {}\r\rdata: lost";
        for size in [1, 2, 3, 1_000] {
            let (all, reader) = events(text, size);
            let expected = [("message", ""), ("x", "a\né"), ("message", "{}")];
            let expected = expected.map(|(kind, data)| (kind.to_owned(), data.to_owned()));
            assert_eq!(all, expected, "{size}");
            assert_eq!((reader.last_id(), reader.retry_ms()), (None, Some(500)));
        }
    }

    #[test]
    fn what_a_broken_stream_left_is_no_part_of_the_next() {
        let (_, mut reader) = events("id: 7\nretry: 20\n\ndata: {\"ha", 4);
        reader.restart();
        let next = reader.push(b"data: {}\n\n");
        assert_eq!(next.iter().map(|event| event.data.as_str()).collect::<Vec<_>>(), ["{}"]);
        assert_eq!((reader.last_id(), reader.retry_ms()), (Some("7"), Some(20)));
    }

    #[test]
    fn an_event_that_is_too_long_ends_the_reading() {
        let (all, reader) = events(&format!("data: {}\n\ndata: a\n\n", "x".repeat(200)), 7);
        assert!(all.is_empty() && reader.is_too_long());
        let (_, reader) = events("id: 7\ndata: a\n\n", 3);
        assert_eq!(reader.last_id(), Some("7"));
    }
}
