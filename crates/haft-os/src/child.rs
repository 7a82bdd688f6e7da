//! The work of this program where it was started again by itself.

use crate::{media, process, sandbox};

/// Does a child's work and ends the process, where this program was started again for that; else does nothing but
/// remember that it can be: the first process of a sandbox that bubblewrap puts up, and the reader of documents.
///
/// To be called first of all in `main`, while there is one thread.
pub fn serve_child() {
    if let Some(message) = std::env::var_os(sandbox::INSIDE) {
        process::serve(&message.to_string_lossy());
    }
    media::serve_child();
    sandbox::serves();
}
