//! Why a server that is reached over HTTP didn't take a message, and what would put that right.

use haft_core::Failure;

/// How much of an error's body is shown.
const SHOWN_MAX_CHARS: usize = 300;

/// Why a message wasn't taken by a server that is reached over HTTP.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Refusal {
    /// The status code; none where nothing answered.
    pub(crate) status: Option<u16>,
    /// In words, with what would put it right.
    pub(crate) text: String,
    /// Whether the server surely did nothing for it.
    pub(crate) is_untouched: bool,
}

/// A server's own words on one line.
pub(super) fn shown(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    line.chars().take(SHOWN_MAX_CHARS).collect()
}

/// A refusal that says nothing of what was done.
pub(super) fn refusal(status: Option<u16>, text: &str) -> Refusal {
    Refusal { status, text: text.to_owned(), is_untouched: false }
}

/// Nothing answered.
pub(super) fn unreached(failure: &Failure) -> Refusal {
    refusal(None, &failure.text)
}

/// What a status means, and what would put it right.
pub(super) fn in_words(status: u16, body: &str, had_session: bool) -> Refusal {
    let said = shown(body);
    let said = if said.is_empty() { String::new() } else { format!(" ({said})") };
    let text = match status {
        400 if had_session => format!("the server no longer knows the session{said}"),
        401 => format!(
            "the server wants you to log in{said}: set its Authorization header, or run `haft mcp login`"
        ),
        403 => format!("the server refuses access{said}: what you logged in with doesn't allow this"),
        404 if had_session => format!("the server has forgotten the session{said}"),
        404 => format!("the server has nothing at this address{said}: check its url"),
        405 => format!("the server takes no messages at this address{said}: check its url"),
        429 => format!("the server wants to be asked less often{said}: wait, then try again"),
        500..=599 => {
            format!("the server failed with status {status}{said}: try again later, or tell whoever runs it")
        }
        _ => format!("the server answered with status {status}{said}: check its url"),
    };
    let is_untouched = (400..500).contains(&status);
    Refusal { status: Some(status), text, is_untouched }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_status_says_what_would_put_it_right() {
        for (status, had_session, says) in [
            (401, false, "haft mcp login"),
            (403, false, "refuses access"),
            (404, false, "check its url"),
            (404, true, "forgotten the session"),
            (400, true, "no longer knows the session"),
            (500, false, "status 500"),
            (429, false, "wait"),
        ] {
            let refusal = in_words(status, "<b>\n why</b>", had_session);
            assert!(refusal.text.contains(says) && refusal.text.contains("(<b> why</b>)"), "{refusal:?}");
            assert_eq!(refusal.is_untouched, status < 500);
        }
    }
}
