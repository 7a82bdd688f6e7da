//! What a body is, and its text.

use crate::text::{Coding, binary};
use encoding_rs::{Encoding, UTF_8};
use haft_core::WebPage;

/// So much of a page is searched for the name of its encoding.
const META_BYTES: usize = 1_024;

/// What a body is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A page.
    Html,
    /// Data.
    Json,
    /// Any other text.
    Text,
    /// Nothing to read.
    Binary,
}

/// A body with what is known of it.
#[derive(Debug)]
pub(super) struct Content<'a> {
    pub(super) kind: Kind,
    /// The media type without parameters, as the server gave it or as the bytes tell.
    pub(super) media_type: String,
    charset: Option<String>,
    bytes: &'a [u8],
}

impl<'a> Content<'a> {
    pub(super) fn of(page: &'a WebPage) -> Self {
        let header = page.header("content-type").unwrap_or_default();
        let mut parts = header.split(';');
        let stated = parts.next().unwrap_or_default().trim().to_ascii_lowercase();
        let charset = parts.find_map(|part| {
            let (name, value) = part.split_once('=')?;
            let is_charset = name.trim().eq_ignore_ascii_case("charset");
            is_charset.then(|| value.trim().trim_matches(['"', '\'']).to_owned())
        });
        let bytes = page.body.as_slice();
        let kind = kind(&stated, charset.is_some(), bytes);
        let media_type = match (stated.is_empty(), kind) {
            (false, _) => stated,
            (true, Kind::Html) => "text/html".to_owned(),
            (true, Kind::Binary) => binary::kind(head(bytes)).to_owned(),
            (true, _) => "text".to_owned(),
        };
        Self { kind, media_type, charset, bytes }
    }

    /// The text; what can't be decoded is replaced.
    pub(super) fn text(&self) -> String {
        self.encoding().decode(self.bytes).0.into_owned()
    }

    /// By the mark at the beginning, the header, the page itself, or its bytes, in this order.
    fn encoding(&self) -> &'static Encoding {
        let labelled = |label: &str| Encoding::for_label(label.as_bytes());
        if let Some((encoding, _)) = Encoding::for_bom(self.bytes) {
            return encoding;
        }
        if let Some(encoding) = self.charset.as_deref().and_then(labelled) {
            return encoding;
        }
        if self.kind == Kind::Html
            && let Some(encoding) = meta_charset(self.bytes).as_deref().and_then(labelled)
        {
            return encoding;
        }
        if std::str::from_utf8(self.bytes).is_ok() { UTF_8 } else { Coding::of(self.bytes).encoding() }
    }
}

fn head(bytes: &[u8]) -> &[u8] {
    bytes.get(..binary::HEAD_BYTES).unwrap_or(bytes)
}

fn kind(stated: &str, has_charset: bool, bytes: &[u8]) -> Kind {
    let is_binary = || binary::is_binary(head(bytes));
    match stated {
        "text/html" | "application/xhtml+xml" if has_charset || !is_binary() => Kind::Html,
        "application/json" | "text/json" => Kind::Json,
        _ if stated.ends_with("+json") => Kind::Json,
        _ if stated.starts_with("text/") && has_charset => Kind::Text,
        _ if ["image/", "audio/", "video/", "font/"].iter().any(|start| stated.starts_with(start))
            && !stated.ends_with("+xml") =>
        {
            Kind::Binary
        }
        _ if is_binary() => Kind::Binary,
        "" if looks_like_html(bytes) => Kind::Html,
        _ => Kind::Text,
    }
}

fn looks_like_html(bytes: &[u8]) -> bool {
    let start = bytes.trim_ascii_start();
    [b"<!doctype html".as_slice(), b"<html"]
        .iter()
        .any(|sign| start.get(..sign.len()).is_some_and(|start| start.eq_ignore_ascii_case(sign)))
}

/// The encoding that a page names itself: `charset=` in one of its first tags.
fn meta_charset(bytes: &[u8]) -> Option<String> {
    let start = bytes.get(..META_BYTES).unwrap_or(bytes);
    let start = String::from_utf8_lossy(start).to_ascii_lowercase();
    let (_, after) = start.split_once("charset")?;
    let value = after.trim_start().strip_prefix('=')?.trim_start().trim_start_matches(['"', '\'']);
    let label: String =
        value.chars().take_while(|one| one.is_ascii_alphanumeric() || "-_:.".contains(*one)).collect();
    // A page whose first bytes could be read this far is not in a wide encoding, whatever it says.
    Some(if label.starts_with("utf-16") { "utf-8".to_owned() } else { label })
}

#[cfg(test)]
mod tests {
    use super::*;
    use haft_core::WebUrl;

    fn page(media_type: &str, body: &[u8]) -> WebPage {
        WebPage {
            url: WebUrl::parse("https://example.com/").unwrap(),
            hops: Vec::new(),
            status: 200,
            headers: vec![("content-type".to_owned(), media_type.to_owned())],
            body: body.to_vec(),
            cut: false,
            whole_bytes: None,
            elsewhere: None,
            from_cache: false,
        }
    }

    #[test]
    fn the_encoding_is_found_wherever_it_is_named() {
        for (media_type, body, text) in [
            ("text/html; charset=ISO-8859-1", b"caf\xe9".as_slice(), "café"),
            ("text/plain; Charset=\"shift_jis\"", b"\x83\x65", "テ"),
            ("text/html", b"<meta charset=windows-1251>\xcf", "<meta charset=windows-1251>П"),
            ("text/html", "<meta charset=\"utf-16\">é".as_bytes(), "<meta charset=\"utf-16\">é"),
            ("text/plain; charset=latin1", b"\xEF\xBB\xBF\xc3\xa9", "é"),
            ("text/plain", "é".as_bytes(), "é"),
        ] {
            assert_eq!(Content::of(&page(media_type, body)).text(), text, "{media_type}");
        }
    }

    #[test]
    fn what_a_body_is_depends_on_what_is_said_and_what_is_there() {
        for (media_type, body, kind) in [
            ("text/html", b"<p>x".as_slice(), Kind::Html),
            ("text/html", b"\x89PNG\r\n\x1a\n", Kind::Binary),
            ("application/problem+json", b"{}", Kind::Json),
            ("application/octet-stream", b"plain", Kind::Text),
            ("application/octet-stream", b"a\0b", Kind::Binary),
            ("image/png", b"text", Kind::Binary),
            ("image/svg+xml", b"<svg/>", Kind::Text),
            ("", b"\n<!DOCTYPE HTML><p>", Kind::Html),
            ("", b"words", Kind::Text),
        ] {
            assert_eq!(Content::of(&page(media_type, body)).kind, kind, "{media_type}");
        }
    }
}
