//! Why serving ended badly.

use std::io;

/// A fault between haft and its client; faults of single messages are answered and end nothing.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum McpError {
    /// The input broke.
    #[error("read from the MCP client")]
    Input(#[source] io::Error),
    /// The output broke, other than by the client going away.
    #[error("write to the MCP client")]
    Output(#[source] io::Error),
}
