//! Names that nobody else has, and those that only temporary files have.

use haft_core::RealPath;
use std::hash::{BuildHasher, Hasher, RandomState};

/// What temporary files are called: `.haft-….tmp`.
const TEMP_PREFIX: &str = ".haft-";
pub(crate) const TEMP_SUFFIX: &str = ".tmp";

/// A name for a temporary file that nobody else will choose.
pub(crate) fn temp_name() -> String {
    format!("{TEMP_PREFIX}{}{TEMP_SUFFIX}", random_name())
}

/// The path of a new temporary file in the same folder.
pub(crate) fn temp_beside(at: &RealPath) -> RealPath {
    let name = temp_name();
    let beneath = match at.beneath.rsplit_once('/') {
        Some((parent, _)) => format!("{parent}/{name}"),
        None => name,
    };
    RealPath::new(&at.root, &beneath)
}

/// Whether a name is one that only temporary files have.
pub(crate) fn is_temp_name(name: &str) -> bool {
    name.starts_with(TEMP_PREFIX) && name.ends_with(TEMP_SUFFIX)
}

/// A name that nobody else will choose.
pub(super) fn random_name() -> String {
    // Each state has keys of its own, from the system's random numbers.
    let mut hasher = RandomState::new().build_hasher();
    hasher.write_u32(std::process::id());
    format!("{:016x}", hasher.finish())
}
