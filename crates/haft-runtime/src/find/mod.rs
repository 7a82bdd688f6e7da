//! Finding tools among many: an index of what they are called and what they say, queries of it, and what a model is
//! told about those that it wasn't sent.
//!
//! The ranking is lexical: names, whatever their spelling, come first; the others by BM25F over name, description,
//! parameters and source, with stems, synonyms of verbs, words that are written together here and apart there, and words
//! that a query implies. Of those that are best by that, the ones whose words have the most letters in a row in common with
//! the query's are lifted; those that have to be told a number stand back where the query is a task without one. Where
//! settings name a model of static embeddings, what a tool means counts beside its words. The weights were set on one half
//! of the functions of the Berkeley function-calling leaderboard and are measured on the other: `bench/tool_search`.

mod deferred;
mod document;
mod embeddings;
mod implied;
mod index;
mod model;
mod query;
mod tool;
mod values;
mod weights;
mod words;

pub use deferred::{Deferral, Deferring, LISTED_MAX_TOKENS};
pub(crate) use deferred::{LOADED, load};
pub use document::Document;
pub use index::{Found, Hit, Ranking, ToolIndex};
pub use model::{ModelError, ModelSource, StaticModel, TENSORS_FILE, TOKENIZER_FILE};
pub use query::Query;
pub use tool::{TOOL_SEARCH, tool_search};
pub use weights::Weights;
