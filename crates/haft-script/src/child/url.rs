//! The `URL` of scripts, on the crate that the rest of haft reads addresses with.

use serde_json::json;
use url::Url;

/// Reads an address, or changes a part of one. The parts as a JSON text; empty where there is no such address.
pub(super) fn parts(href: &str, part: &str, value: &str) -> String {
    let read = match part {
        "" => Url::parse(href).ok(),
        "base" => Url::parse(value).and_then(|base| base.join(href)).ok(),
        part => changed(href, part, value),
    };
    read.map(|url| shown(&url)).unwrap_or_default()
}

fn changed(href: &str, part: &str, value: &str) -> Option<Url> {
    let mut url = Url::parse(href).ok()?;
    let given = Some(value).filter(|value| !value.is_empty());
    // What can't be set stays as it is, as in browsers.
    match part {
        "protocol" => drop(url.set_scheme(value.trim_end_matches(':'))),
        "username" => drop(url.set_username(value)),
        "password" => drop(url.set_password(given)),
        "host" => set_host(&mut url, value),
        "hostname" => drop(url.set_host(given)),
        "port" => drop(url.set_port(value.parse().ok())),
        "pathname" => url.set_path(value),
        "search" => url.set_query(given.map(|value| value.trim_start_matches('?'))),
        "hash" => url.set_fragment(given.map(|value| value.trim_start_matches('#'))),
        _ => return None,
    }
    Some(url)
}

fn set_host(url: &mut Url, value: &str) {
    let (host, port) = match value.rsplit_once(':') {
        Some((host, port)) if !value.ends_with(']') => (host, port.parse().ok()),
        _ => (value, None),
    };
    if url.set_host(Some(host)).is_ok() && port.is_some() {
        let _ = url.set_port(port);
    }
}

fn shown(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    let port = url.port().map(|port| port.to_string()).unwrap_or_default();
    let authority = if port.is_empty() { host.to_owned() } else { format!("{host}:{port}") };
    let marked = |mark: &str, text: Option<&str>| match text {
        Some(text) if !text.is_empty() => format!("{mark}{text}"),
        _ => String::new(),
    };
    json!({
        "href": url.as_str(),
        "origin": url.origin().ascii_serialization(),
        "protocol": format!("{}:", url.scheme()),
        "username": url.username(),
        "password": url.password().unwrap_or_default(),
        "host": authority,
        "hostname": host,
        "port": port,
        "pathname": url.path(),
        "search": marked("?", url.query()),
        "hash": marked("#", url.fragment()),
    })
    .to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    fn read(text: &str) -> Value {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn addresses_are_read_joined_and_changed() {
        let whole = read(&parts("https://u:p@Example.com:8443/a/../b?q=1#h", "", ""));
        for (part, value) in [
            ("href", "https://u:p@example.com:8443/b?q=1#h"),
            ("origin", "https://example.com:8443"),
            ("host", "example.com:8443"),
            ("port", "8443"),
            ("search", "?q=1"),
            ("hash", "#h"),
        ] {
            assert_eq!(whole[part], value, "{part}");
        }
        assert_eq!(read(&parts("../c", "base", "https://a.b/x/y"))["href"], "https://a.b/c");
        for (part, value, href) in [
            ("search", "a=b", "https://a.b/x?a=b"),
            ("hash", "", "https://a.b/x"),
            ("host", "c.d:81", "https://c.d:81/x"),
            ("protocol", "http:", "http://a.b/x"),
            ("pathname", "/y z", "https://a.b/y%20z"),
        ] {
            assert_eq!(read(&parts("https://a.b/x", part, value))["href"], href);
        }
        assert_eq!(parts("no url", "", ""), "");
    }
}
