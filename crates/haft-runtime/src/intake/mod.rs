//! From the caller's text to an input that fits the tool: parse, coerce, validate, and what it touches.

mod checker;
mod coerce;
mod cost;
mod describe;
mod effects;
mod git;
mod index;
mod lines;
mod parse;
mod pattern;
mod resolve;
mod validate;

pub use checker::Checker;
pub(crate) use coerce::coerce;
pub(crate) use describe::describe;
pub(crate) use effects::{Stated, flagged_permission, state};
pub(crate) use git::NEUTRAL;
pub(crate) use lines::Around;
pub(crate) use parse::parse;
pub(crate) use resolve::{Resolution, resolve};
pub(crate) use validate::validate;
