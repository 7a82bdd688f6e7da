//! A text that nobody needs whole: its beginning and its end, and how much lies between them.
//!
//! For what a call is answered with that never ran: it repeats names and paths of the input, which may be as long as that
//! was. Keeps the invariant "nothing unbounded".

/// The longest text that a call which never ran is answered with.
pub(crate) const REFUSAL_MAX_BYTES: usize = 16 * 1024;
/// The longest reason in a trace or an outcome.
pub(crate) const REASON_MAX_BYTES: usize = 4 * 1024;
/// The longest name that is repeated.
pub(crate) const NAME_MAX_BYTES: usize = 200;

/// Cuts a text that is longer than so many bytes within; what is left out is counted. The beginning says what is wrong,
/// the end what would mend it.
pub(crate) fn shorten(text: &mut String, max_bytes: usize) {
    if let Some(short) = shortened(text, max_bytes) {
        *text = short;
    }
}

/// The short form of a text that is longer than so many bytes.
pub(crate) fn shortened(text: &str, max_bytes: usize) -> Option<String> {
    if text.len() <= max_bytes {
        return None;
    }
    let tail_bytes = max_bytes / 4;
    let head = text.get(..text.floor_char_boundary(max_bytes - tail_bytes)).unwrap_or_default();
    let tail = text.get(text.ceil_char_boundary(text.len() - tail_bytes)..).unwrap_or_default();
    Some(format!("{head}… [{} bytes left out] …{tail}", text.len() - head.len() - tail.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ends_stay_and_what_is_left_out_is_counted() {
        assert_eq!(shortened("12345678", 8), None);
        assert_eq!(shortened("123456789", 8).unwrap(), "123456… [1 bytes left out] …89");
        assert_eq!(shortened("ääääää", 8).unwrap(), "äää… [4 bytes left out] …ä");
        let long = shortened(&"x".repeat(5_000_000), REASON_MAX_BYTES).unwrap();
        assert!(long.len() < REASON_MAX_BYTES + 64, "{}", long.len());
    }
}
