//! A request to the sandbox's proxy, read so strictly that no server behind it reads it otherwise.

/// What a request's head asks for.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Asked {
    pub(super) host: String,
    pub(super) port: u16,
    /// What goes to the server, where it isn't a tunnel.
    pub(super) request: Option<Request>,
}

/// A request as it goes to the server.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Request {
    pub(super) head: String,
    /// What was said of the length of its body.
    lengths: Vec<String>,
    /// Whether the body says itself where it ends.
    is_chunked: bool,
}

impl Request {
    /// The length of the body.
    ///
    /// # Errors
    /// Why it isn't known for certain.
    pub(super) fn body_bytes(&self) -> Result<u64, &'static str> {
        let is_number =
            |length: &String| !length.is_empty() && length.bytes().all(|byte| byte.is_ascii_digit());
        match self.lengths.as_slice() {
            _ if self.is_chunked => Err("haft's sandbox passes on no body of unknown length; say its length"),
            [] => Ok(0),
            [length] if is_number(length) => length.parse().map_err(|_| "this length is no number"),
            _ => Err("say the length of the body once, as a number"),
        }
    }
}

/// Fields that hold between a program and its proxy only, or that the proxy itself says.
const OWN_FIELDS: [&str; 8] = [
    "host",
    "connection",
    "proxy-connection",
    "proxy-authorization",
    "keep-alive",
    "te",
    "trailer",
    "upgrade",
];

impl Asked {
    /// Reads a head; none where it isn't one that everybody reads alike.
    pub(super) fn of(head: &str) -> Option<Self> {
        let (first, fields) = head.split_once("\r\n")?;
        let mut words = first.split(' ');
        let (method, target, version) = (words.next()?, words.next()?, words.next()?);
        let is_target = !target.is_empty() && target.bytes().all(|byte| byte.is_ascii_graphic());
        let is_version = ["HTTP/1.1", "HTTP/1.0"].contains(&version);
        if words.next().is_some() || !is_token(method) || !is_target || !is_version {
            return None;
        }
        let fields: Vec<(&str, &str)> =
            fields.split("\r\n").filter(|line| !line.is_empty()).map(field).collect::<Option<_>>()?;
        if method == "CONNECT" {
            let (host, port) = authority(target)?;
            return Some(Self { host, port: port?, request: None });
        }
        let rest = target.strip_prefix("http://")?;
        let end = rest.find(['/', '?']).unwrap_or(rest.len());
        let (named, path) = rest.split_at(end);
        let (host, port) = authority(named)?;
        let path = if path.starts_with('/') { path.to_owned() } else { format!("/{path}") };
        let is = |name: &'static str| move |field: &&(&str, &str)| field.0.eq_ignore_ascii_case(name);
        let own = |field: &&(&str, &str)| !OWN_FIELDS.iter().any(|name| is(name)(field));
        let kept: String = fields
            .iter()
            .filter(own)
            .fold(String::new(), |all, (name, value)| all + name + ": " + value + "\r\n");
        // One request a connection: the next could be for another host.
        let head = format!("{method} {path} {version}\r\nHost: {named}\r\n{kept}Connection: close\r\n\r\n");
        let lengths =
            fields.iter().filter(is("content-length")).map(|(_, value)| (*value).to_owned()).collect();
        let is_chunked = fields.iter().any(|field| is("transfer-encoding")(&field));
        let request = Request { head, lengths, is_chunked };
        Some(Self { host, port: port.unwrap_or(80), request: Some(request) })
    }
}

/// Name and value of a line of a head.
fn field(line: &str) -> Option<(&str, &str)> {
    let (name, value) = line.split_once(':')?;
    is_token(name).then(|| (name, value.trim_matches([' ', '\t'])))
}

/// Whether a text is one word as HTTP has them.
fn is_token(text: &str) -> bool {
    let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    !text.is_empty() && text.bytes().all(is_letter)
}

/// Host and port; no user, no path.
pub(super) fn authority(text: &str) -> Option<(String, Option<u16>)> {
    let (host, port) = if let Some(rest) = text.strip_prefix('[') {
        let (host, rest) = rest.split_once(']')?;
        let is_address = host.bytes().all(|byte| byte.is_ascii_hexdigit() || b":.".contains(&byte));
        let port = if rest.is_empty() { None } else { Some(rest.strip_prefix(':')?) };
        (Some(host).filter(|_| is_address)?, port)
    } else {
        let (host, port) = text.split_once(':').map_or((text, None), |(host, port)| (host, Some(port)));
        let is_name = host.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._".contains(&byte));
        (Some(host).filter(|_| is_name)?, port)
    };
    let port = match port {
        None | Some("") => None,
        Some(port) if port.bytes().all(|byte| byte.is_ascii_digit()) => Some(port.parse().ok()?),
        Some(_) => return None,
    };
    (!host.is_empty()).then(|| (host.to_owned(), port))
}

/// Whether lines end as they should and nothing else in them is a control character: servers don't agree on what these
/// mean.
pub(super) fn is_clean(head: &[u8]) -> bool {
    let mut before = None;
    head.iter().all(|byte| {
        let follows = before.replace(*byte) == Some(b'\r');
        match byte {
            b'\n' => follows,
            _ if follows => false,
            b'\r' | b'\t' => true,
            other => !other.is_ascii_control(),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_read_strictly() {
        let tunnel = Asked::of("CONNECT example.org:443 HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
        assert_eq!((tunnel.host.as_str(), tunnel.port, tunnel.request), ("example.org", 443, None));
        let plain = Asked::of(
            "GET http://example.org:81/a?b HTTP/1.1\r\nHost: other\r\nProxy-Connection: keep-alive\r\nA: b\r\n\r\n",
        )
        .unwrap();
        assert_eq!((plain.host.as_str(), plain.port), ("example.org", 81));
        let request = "GET /a?b HTTP/1.1\r\nHost: example.org:81\r\nA: b\r\nConnection: close\r\n\r\n";
        assert_eq!(plain.request.map(|request| request.head).as_deref(), Some(request));
        for bad in [
            "GET / HTTP/1.1\r\n\r\n",
            "CONNECT example.org HTTP/1.1\r\n\r\n",
            "GET http://a@b/ HTTP/1.1\r\n\r\n",
            "GET https://a/ HTTP/1.1\r\n\r\n",
            "CONNECT [::1 HTTP/1.1\r\n\r\n",
            "CONNECT [::1]x:1 HTTP/1.1\r\n\r\n",
            "CONNECT a:+80 HTTP/1.1\r\n\r\n",
            "CONNECT a:80 HTTP/1.1 x\r\n\r\n",
            "CONNECT  a:80 HTTP/1.1\r\n\r\n",
            "CONNECT a:80 HTTP/2\r\n\r\n",
            "CONNECT a%00b:80 HTTP/1.1\r\n\r\n",
            "CONNECT \u{e9}.org:80 HTTP/1.1\r\n\r\n",
            "GET http://a/\tb HTTP/1.1\r\n\r\n",
            "GET http://a\\@b/ HTTP/1.1\r\n\r\n",
            "GET http://a/ HTTP/1.1\r\nHost : b\r\n\r\n",
            "GET http://a/ HTTP/1.1\r\nA: b\r\n folded: c\r\n\r\n",
            "GET http://a/ HTTP/1.1\r\nno field\r\n\r\n",
            "G(T http://a/ HTTP/1.1\r\n\r\n",
            "",
        ] {
            assert_eq!(Asked::of(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn a_body_has_one_known_length() {
        let body = |fields: &str| {
            let asked = Asked::of(&format!("POST http://a/ HTTP/1.1\r\n{fields}\r\n")).unwrap();
            asked.request.unwrap().body_bytes().ok()
        };
        for (fields, expected) in [
            ("", Some(0)),
            ("Content-Length: 12\r\n", Some(12)),
            ("Content-Length: 1\r\ncontent-length: 1\r\n", None),
            ("Content-Length: 1, 1\r\n", None),
            ("Content-Length: +1\r\n", None),
            ("Content-Length:\r\n", None),
            ("Content-Length: 99999999999999999999999\r\n", None),
            ("Transfer-Encoding: chunked\r\n", None),
            ("Content-Length: 1\r\nTransfer-Encoding: x\r\n", None),
        ] {
            assert_eq!(body(fields), expected, "{fields:?}");
        }
    }

    #[test]
    fn a_head_has_no_line_that_others_could_read_otherwise() {
        assert!(
            is_clean(b"GET http://a/ HTTP/1.1\r\nA:\tb\r\n\r\n") && is_clean(b"GET http://a/ HTTP/1.1\r")
        );
        for bad in [
            &b"GET /\nHost: b\r\n"[..],
            b"A: b\rC: d\r\n",
            b"\n",
            b"\r\r\n",
            b"A: \0\r\n",
            b"A: \x7f\r\n",
            b"A: \x0b\r\n",
        ] {
            assert!(!is_clean(bad), "{bad:?}");
        }
    }
}
