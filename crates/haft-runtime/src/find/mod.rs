//! Finding tools among many: an index of what they are called and what they say, queries of it, and what a model is
//! told about those that it wasn't sent.
//!
//! The ranking is lexical: names, whatever their spelling, come first; the others by BM25F over name, description,
//! parameters and source, with stems, synonyms of verbs and words that are written together here and apart there. The
//! weights were set on one half of the functions of the Berkeley function-calling leaderboard and are measured on the
//! other: `bench/tool_search`.

mod deferred;
mod document;
mod index;
mod query;
mod tool;
mod weights;
mod words;

pub use deferred::{Deferral, Deferring};
pub(crate) use deferred::{LOADED, load};
pub use document::Document;
pub use index::{Found, Hit, ToolIndex};
pub use query::Query;
pub use tool::tool_search;
pub use weights::Weights;
