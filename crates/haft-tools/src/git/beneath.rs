//! Paths as git takes them: from the workspace's root, and beneath it.

use haft_core::{Failure, RealPath};

/// The paths, written from the workspace's root.
///
/// # Errors
/// Invalid input for a path outside, an empty one, and one with NUL.
pub(crate) fn beneath(paths: &[String], workspace: &RealPath) -> Result<Vec<String>, Failure> {
    let root = workspace.absolute();
    paths
        .iter()
        .map(|path| {
            let rest = path.strip_prefix(&root).filter(|rest| rest.is_empty() || rest.starts_with('/'));
            let rest = rest.map_or(path.as_str(), |rest| rest.trim_start_matches('/'));
            let is_beneath = !rest.starts_with('/') && !rest.split('/').any(|part| part == "..");
            if !is_beneath || path.contains('\0') || path.is_empty() {
                return Err(Failure::invalid(format!(
                    "/paths must lie in the workspace and be written without \"..\", and one is \"{path}\""
                )));
            }
            Ok(if rest.is_empty() { ".".to_owned() } else { rest.to_owned() })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_stay_in_the_workspace() {
        let workspace = RealPath::new("/w", "");
        let paths = |path: &str| beneath(&[path.to_owned()], &workspace).map_err(|failure| failure.text);
        assert_eq!(paths("src/a.rs").unwrap(), ["src/a.rs"]);
        assert_eq!(paths("/w/src").unwrap(), ["src"]);
        assert_eq!(paths("/w").unwrap(), ["."]);
        for outside in ["/w2/a", "../a", "a/../../b", "/etc/passwd", ""] {
            assert!(paths(outside).unwrap_err().contains("/paths must lie"), "{outside}");
        }
    }
}
