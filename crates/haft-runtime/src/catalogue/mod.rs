//! Which tools exist, who registered them, and what one request sees of them.

#[expect(clippy::module_inception, reason = "the room is named for its central type")]
mod catalogue;
mod handle;
mod missing;
mod offer;
mod problem;
mod select;
mod snapshot;
mod stack;
#[cfg(test)]
mod tests;
mod wrap;

pub use catalogue::{Catalogue, Hold, RegisterError, Registrar};
pub use handle::Handle;
pub use missing::Missing;
pub use offer::Offer;
pub use problem::Problem;
pub use select::ToolSet;
pub use snapshot::{Resolved, Snapshot};
