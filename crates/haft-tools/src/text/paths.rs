//! How paths are written for the model.

use haft_core::RealPath;

/// A path as the file tools take it: relative in the workspace, else absolute.
pub(crate) fn plain(path: &RealPath, workspace: &RealPath) -> String {
    if path.root == workspace.root { path.to_string() } else { path.absolute() }
}

/// The same for texts: always one line, control characters as escapes.
pub(crate) fn shown(path: &RealPath, workspace: &RealPath) -> String {
    let text = plain(path, workspace);
    if !text.contains(char::is_control) {
        return text;
    }
    let mut escaped = String::with_capacity(text.len() + 8);
    for character in text.chars() {
        if character.is_control() {
            escaped.extend(character.escape_default());
        } else {
            escaped.push(character);
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_outside_the_workspace_is_absolute() {
        let workspace = RealPath::new("/w", "");
        assert_eq!(shown(&RealPath::new("/w", "a/b"), &workspace), "a/b");
        assert_eq!(shown(&workspace, &workspace), "/w");
        assert_eq!(shown(&RealPath::new("/data", "b"), &workspace), "/data/b");
        assert_eq!(shown(&RealPath::new("/", "etc/hosts"), &workspace), "/etc/hosts");
    }

    #[test]
    fn a_name_with_a_line_break_stays_on_its_line() {
        let workspace = RealPath::new("/w", "");
        assert_eq!(shown(&RealPath::new("/w", "a\nb"), &workspace), "a\\nb");
        assert_eq!(plain(&RealPath::new("/w", "a\nb"), &workspace), "a\nb");
    }
}
