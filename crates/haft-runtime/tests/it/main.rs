//! The call path on real files: one binary, one module per promise of the contract.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::disallowed_methods,
    clippy::as_conversions,
    reason = "a test fails by panicking, and looks at the real files itself"
)]

mod answers;
mod approval;
mod bounds;
mod conformance;
mod events;
mod explain;
mod find;
mod flat;
mod hooks;
mod intake;
mod kit;
mod nested;
mod order;
mod outcomes;
mod pins;
mod predicates;
mod rejudged;
mod resume;
mod session;
mod stopping;
mod taint;
mod undo;
mod verdicts;
