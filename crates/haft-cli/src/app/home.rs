//! haft's own folders: under `HAFT_HOME`, or where XDG says.

use crate::trouble::Trouble;
use haft_os::{Environment, host};
use std::path::{Path, PathBuf};

/// Where haft keeps what is the user's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Home {
    /// The user's settings.
    pub(crate) config: PathBuf,
    /// The user's command folders.
    pub(crate) tools: PathBuf,
    /// The user's extensions.
    pub(crate) extensions: PathBuf,
    /// Sessions, trust, locks.
    pub(crate) state: PathBuf,
}

impl Home {
    /// Finds the folders; none is made.
    ///
    /// # Errors
    /// There is neither `HAFT_HOME` nor a home folder.
    pub(crate) fn find(environment: &Environment, here: &Path) -> Result<Self, Trouble> {
        if let Some(folder) = environment.get("HAFT_HOME").filter(|folder| !folder.is_empty()) {
            return Ok(Self::under(&here.join(folder)));
        }
        let user = host::home();
        // A relative path in these variables is to be ignored, says XDG.
        let folder = |variable: &str, below: &str| {
            let set = environment.get(variable).map(PathBuf::from).filter(|path| path.is_absolute());
            set.or_else(|| Some(user.as_ref()?.join(below))).map(|path| path.join("haft")).ok_or_else(|| {
                Trouble::failed(
                    "no place for haft's own files: HOME isn't set",
                    "set HOME, or HAFT_HOME to a folder",
                )
            })
        };
        let config = folder("XDG_CONFIG_HOME", ".config")?;
        Ok(Self {
            tools: config.join("tools"),
            extensions: config.join("extensions"),
            config: config.join("config.toml"),
            state: folder("XDG_STATE_HOME", ".local/state")?,
        })
    }

    fn under(root: &Path) -> Self {
        Self {
            config: root.join("config.toml"),
            tools: root.join("tools"),
            extensions: root.join("extensions"),
            state: root.join("state"),
        }
    }
}
