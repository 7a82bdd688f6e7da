//! The token by which clients of this workspace come in over HTTP. Kept in the workspace's state, for its user alone.

use haft_core::{Failure, StateFolder};
use haft_os::host;

/// Where it is kept.
const FILE: &str = "mcp-http.token";

/// A token.
pub(super) struct Token {
    pub(super) text: String,
    /// Whether it was made just now.
    pub(super) is_new: bool,
    /// The file that has it.
    pub(super) path: String,
}

/// The workspace's token; made where there is none, or where a new one is wanted.
///
/// # Errors
/// It can't be read or written.
pub(super) fn of(state: &dyn StateFolder, wants_new: bool) -> Result<Token, Failure> {
    let mut token = Token { text: String::new(), is_new: false, path: state.path(FILE) };
    state.update(FILE, &mut |before| {
        let known = before.and_then(|bytes| std::str::from_utf8(bytes).ok()).map(str::trim);
        if let Some(known) = known.filter(|known| !known.is_empty() && !wants_new) {
            known.clone_into(&mut token.text);
        } else {
            let random: String = host::random()?.iter().map(|byte| format!("{byte:02x}")).collect();
            (token.text, token.is_new) = (random, true);
        }
        Ok(format!("{}\n", token.text).into_bytes())
    })?;
    Ok(token)
}
