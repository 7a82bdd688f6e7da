//! What may stand for a branch, a revision, a remote or a path: never an option, never more than it says.

use haft_core::Failure;

/// Checks a branch's name by the rules of git.
///
/// # Errors
/// Invalid input for what git takes for no branch, or for more than its name.
pub(super) fn branch(field: &str, text: &str) -> Result<(), Failure> {
    let is_odd = |c: char| c.is_control() || " ~^:?*[\\".contains(c);
    let is_part = |part: &str| {
        !part.is_empty()
            && !part.starts_with('.')
            && !part.ends_with('.')
            && part.strip_suffix(".lock").is_none()
    };
    let is_fine = text.split('/').all(is_part)
        && !text.starts_with(['-', '+'])
        && !text.contains(is_odd)
        && !text.contains("..")
        && !text.contains("@{")
        && text != "@"
        && text != "HEAD";
    let why = || format!("/{field} must be a branch's name as git branch lists it, got {}", shown(text));
    if is_fine { Ok(()) } else { Err(Failure::invalid(why())) }
}

/// Checks a revision or a range of them.
///
/// # Errors
/// Invalid input for an option, blanks, or a path in it.
pub(super) fn revision(field: &str, text: &str) -> Result<(), Failure> {
    let is_fine = !text.is_empty()
        && !text.starts_with('-')
        && !text.contains(|c: char| c.is_control() || c.is_whitespace() || c == ':');
    let why = || {
        format!(
            "/{field} must be a commit, a branch or a range, as HEAD~1 or main...HEAD, got {}; files belong in /paths",
            shown(text)
        )
    };
    if is_fine { Ok(()) } else { Err(Failure::invalid(why())) }
}

/// Checks a remote's name.
///
/// # Errors
/// Invalid input for an address: what is contacted was set up before.
pub(super) fn remote(text: &str) -> Result<(), Failure> {
    let is_fine = text.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_')
        && text.chars().all(|c| c.is_ascii_alphanumeric() || "_-./".contains(c))
        && !text.contains("..");
    let why =
        || format!("/remote must be the name of a remote that is set up, as \"origin\", got {}", shown(text));
    if is_fine { Ok(()) } else { Err(Failure::invalid(why())) }
}

/// Checks a path.
///
/// # Errors
/// Invalid input for what no file is called.
pub(super) fn path(field: &str, text: &str) -> Result<(), Failure> {
    let is_fine = !text.is_empty() && !text.contains('\0') && !text.starts_with('-');
    let why =
        || format!("/{field} must be a path (\"./-x\" for one that begins with a dash), got {}", shown(text));
    if is_fine { Ok(()) } else { Err(Failure::invalid(why())) }
}

fn shown(text: &str) -> String {
    let short: String = text.chars().take(80).collect();
    format!("{short:?}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_branch_is_a_name_and_nothing_else() {
        for text in ["main", "feature/x-1", "release/1.2", "é"] {
            assert!(branch("name", text).is_ok(), "{text}");
        }
        for text in [
            "", "-D", "--force", "+main", ":main", "a:b", "a..b", "a b", "a\nb", "a~1", "a^", "x@{1}", "@",
            "HEAD", "/a", "a/", "a//b", ".a", "a/.b", "a.lock", "a.", "a*", "a\0",
        ] {
            let failure = branch("name", text).unwrap_err();
            assert!(failure.text.starts_with("/name must be a branch's name"), "{text}");
        }
    }

    #[test]
    fn a_revision_is_no_option_and_no_path() {
        for text in ["HEAD", "HEAD~1", "main...HEAD", "a1b2c3", "stash@{0}", "v1^{commit}", "@"] {
            assert!(revision("rev", text).is_ok(), "{text}");
        }
        for text in ["", "-p", "--output=x", "HEAD:a", "a b", "a\n"] {
            assert!(revision("rev", text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn a_remote_is_no_address() {
        assert!(remote("origin").is_ok() && remote("my_fork-2").is_ok());
        for text in ["", "-o", "../r.git", "/r.git", "https://h/x", "git@h:x", "ext::sh -c x", "a b"] {
            assert!(remote(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_path_is_no_option() {
        assert!(path("paths", "a b\nc").is_ok() && path("paths", "./-x").is_ok());
        for text in ["", "a\0b", "--force"] {
            assert!(path("paths", text).is_err(), "{text:?}");
        }
    }
}
