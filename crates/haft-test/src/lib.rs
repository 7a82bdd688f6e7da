//! The kit for tool authors: a real temporary workspace, scripted answers, recorded events, and a
//! conformance function that tries over a tool what every tool must keep.
//!
//! Files and processes are real (a fake file system lies about links and modes); time may be tokio's paused
//! clock. Use it as a dev-dependency.
//!
//! ```
//! use haft_test::Harness;
//! # #[derive(serde::Deserialize, schemars::JsonSchema)] struct Echo { text: String }
//! # let echo = haft_core::tool("echo", "Says the text back.").read_only()
//! #     .run(|input: Echo, _| async move { Ok(input.text) });
//! # tokio::runtime::Runtime::new().unwrap().block_on(async {
//! let kit = Harness::new();
//! kit.register(echo);
//! let ended = kit.call("echo", serde_json::json!({"text": "hi"})).await;
//! assert_eq!(ended.output.joined_text(), "hi");
//! # });
//! ```

mod answers;
mod clock;
mod conformance;
mod harness;
mod no_processes;

pub use answers::Answers;
pub use clock::FakeClock;
pub use conformance::{Breach, Conformance};
pub use harness::{Harness, HarnessSetup};
pub use no_processes::NoProcesses;
