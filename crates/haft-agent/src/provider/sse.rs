//! Server-sent events out of a body that may come in any pieces.

use super::ModelError;
use eventsource_stream::EventStream;
use futures::{StreamExt, stream};
use haft_core::{BoxStream, HttpBody};

/// What a stream may start with, and what the parser doesn't survive.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";
/// Ends the last event of a body that ends without its blank line.
const BLANK_LINE: &[u8] = b"\n\n";

/// The data of each event; names and ids say nothing that the data doesn't.
pub(super) fn events(body: HttpBody) -> BoxStream<'static, Result<String, ModelError>> {
    let mut start = Some(Vec::new());
    let last = stream::once(std::future::ready(Ok(BLANK_LINE.to_vec())));
    let bytes = body.map(move |piece| piece.map(|bytes| without_mark(&mut start, bytes))).chain(last);
    EventStream::new(bytes)
        .map(|event| event.map(|event| event.data).map_err(|error| ModelError::dropped(&error.to_string())))
        .boxed()
}

/// Holds the first bytes back until they are, or can't be, a byte order mark.
fn without_mark(start: &mut Option<Vec<u8>>, bytes: Vec<u8>) -> Vec<u8> {
    let Some(mut held) = start.take() else {
        return bytes;
    };
    held.extend(bytes);
    if let Some(rest) = held.strip_prefix(BYTE_ORDER_MARK) {
        return rest.to_vec();
    }
    if BYTE_ORDER_MARK.starts_with(&held) {
        *start = Some(held);
        return Vec::new();
    }
    held
}

#[cfg(test)]
mod tests {
    use super::*;
    use haft_core::Failure;

    async fn read(bytes: &[u8], piece_len: usize) -> Vec<String> {
        let pieces: Vec<Result<Vec<u8>, Failure>> =
            bytes.chunks(piece_len).map(|piece| Ok(piece.to_vec())).collect();
        let read: Vec<Result<String, ModelError>> = events(stream::iter(pieces).boxed()).collect().await;
        read.into_iter().map(Result::unwrap).collect()
    }

    #[tokio::test]
    async fn events_come_whole_however_they_are_cut() {
        let cases: [(&str, &[&str]); 6] = [
            ("data: a\n\ndata: b\n\n", &["a", "b"]),
            ("event: x\r\ndata: a\r\n\r\ndata: b\r\n\r\n", &["a", "b"]),
            (": hello\n\n:\ndata: {\"é→🦀\":\ndata: 1}\nid: 7\nretry: 10\n\n", &["{\"é→🦀\":\n1}"]),
            ("\u{feff}data: a\n\n", &["a"]),
            ("data: a\n\ndata: b", &["a", "b"]),
            ("data:a\r\rdata: b\r", &["a", "b"]),
        ];
        for (text, expected) in cases {
            for piece_len in [1, 2, 3, 7, 1000] {
                assert_eq!(
                    read(text.as_bytes(), piece_len).await,
                    expected,
                    "{text:?} in pieces of {piece_len}"
                );
            }
        }
    }

    #[tokio::test]
    async fn a_broken_body_ends_in_an_error() {
        let pieces = [Ok(b"data: a\n\ndata: b".to_vec()), Err(Failure::internal("reset"))];
        let read: Vec<_> = events(stream::iter(pieces).boxed()).take(2).collect().await;
        assert_eq!(read[0], Ok("a".to_owned()));
        assert!(read[1].as_ref().unwrap_err().is_retryable());
    }
}
