//! The server as its clients see it.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a test fails by panicking"
)]

mod asks;
mod behind;
mod http;
mod kit;
mod stage;
mod stdio;
mod upstream;
mod web;
