//! The client against servers that behave, and servers that don't: each of them has its expected outcome, and in no case
//! do the tools of another server suffer or processes stay.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::disallowed_methods,
    reason = "a test fails by panicking, and looks at what servers leave"
)]

mod calls;
mod http;
mod kit;
mod lists;
mod login;
mod others;
mod pins;
mod results;
mod starts;
mod upstream;
mod web;
