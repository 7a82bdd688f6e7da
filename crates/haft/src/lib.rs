//! haft is the tool runtime for AI agents: everything between a model's tool call and the world.
//!
//! This crate is what an embedder adds: the vocabulary of `haft-core`, the call path of `haft-runtime`, and
//! behind features the real world (`os`) and the built-in tools (`tools`).
//!
//! # A tool
//! ```
//! use haft::{Permission, Risk, tool};
//!
//! #[derive(serde::Deserialize, schemars::JsonSchema)]
//! struct Echo {
//!     /// What to say back
//!     text: String,
//! }
//! let echo = tool("echo", "Says the text back.")
//!     .permission(Permission::Auto)
//!     .risk(Risk::Safe)
//!     .read_only()
//!     .touches_nothing()
//!     .run(|input: Echo, _cx| async move { Ok(input.text) });
//! # assert_eq!(echo.spec().name.as_ref(), "echo");
//! ```
//!
//! # A runtime with two tools, and a call
//! ```
//! use haft::{Mode, Request, embed::Embedded, tool};
//! # #[derive(serde::Deserialize, schemars::JsonSchema)]
//! # struct Echo { text: String }
//! #[tokio::main]
//! async fn main() -> Result<(), Box<dyn std::error::Error>> {
#![doc = "    # let folder = tempfile::tempdir()?; let (workspace, state) = (folder.path().join(\"w\"), folder.path().join(\"s\"));"]
#![doc = "    # std::fs::create_dir(&workspace)?;"]
//!     let echo = tool("echo", "Says the text back.")
//!         .read_only()
//!         .touches_nothing()
//!         .run(|input: Echo, _| async move { Ok(input.text) });
//!     let shout = tool("shout", "Says the text loudly.")
//!         .read_only()
//!         .touches_nothing()
//!         .run(|input: Echo, _| async move { Ok(input.text.to_uppercase()) });
//!     let haft = Embedded::open(&workspace, &state, Mode::Default)?;
//!     haft.add([echo, shout], "app")?;
//!     let ended = haft.call(Request::new("shout", r#"{"text": "hi"}"#)).await;
//!     assert_eq!(ended.output.joined_text(), "HI");
//!     Ok(())
//! }
//! ```

#[cfg(feature = "os")]
pub mod embed;

pub use haft_core::*;
#[cfg(feature = "os")]
pub use haft_os as os;
pub use haft_policy::{self as policy, Action, Mode, Policy, Rule, RuleOrigin};
pub use haft_runtime::{
    Catalogue, EventStream, Executor, Explained, Grants, Handle, Keep, Offer, Problem, RegisterError,
    Registrar, Running, Session, SessionSetup, Snapshot, ToolSet, fit_turn,
};
#[cfg(feature = "tools")]
pub use haft_tools as tools;
