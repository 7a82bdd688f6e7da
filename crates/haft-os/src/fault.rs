//! The operating system's errors as failures whose texts say what to do next.

use haft_core::{Failure, FailureKind};
use rustix::io::Errno;
use std::io;

/// An error met while `doing` something ("read", "make the folder of") to the path as it is shown.
pub(crate) fn io(doing: &str, shown: &str, error: &io::Error) -> Failure {
    let failure = match Errno::from_io_error(error) {
        Some(Errno::NOENT) => {
            Failure::not_found(format!("{shown} doesn't exist; list its folder to see what is there"))
        }
        Some(Errno::LOOP | Errno::XDEV) => Failure::conflict(format!(
            "a link stands in the way of {shown} that wasn't there when the path was resolved; nothing was \
             done, try again"
        )),
        Some(Errno::NOTDIR) => Failure::conflict(format!(
            "can't {doing} {shown}: a part of this path is a file, not a folder; correct the path"
        )),
        Some(Errno::ISDIR) => Failure::invalid(format!("{shown} is a folder, not a file; list it instead")),
        Some(Errno::ACCESS) => Failure::new(
            FailureKind::Permission,
            format!(
                "can't {doing} {shown}: the system denies access; use another path or have its mode changed"
            ),
        ),
        Some(Errno::PERM) => Failure::new(
            FailureKind::Permission,
            format!("can't {doing} {shown}: {}", immutable("it, or its folder,")),
        ),
        Some(Errno::ROFS) => Failure::new(
            FailureKind::Permission,
            format!("can't {doing} {shown}: its file system is read-only; use another path"),
        ),
        Some(Errno::NAMETOOLONG) => {
            Failure::invalid(format!("can't {doing} {shown}: the name is too long; shorten it"))
        }
        Some(Errno::NOSPC | Errno::DQUOT) => Failure::new(
            FailureKind::Unavailable,
            format!("can't {doing} {shown}: no space is left on the device; free some, then try again"),
        ),
        Some(Errno::MFILE | Errno::NFILE | Errno::AGAIN) => Failure::new(
            FailureKind::Unavailable,
            format!("can't {doing} {shown} just now: the system is short of handles; try again"),
        ),
        _ => Failure::internal(format!(
            "can't {doing} {shown}: {error}; try again, and look at the path with a shell \
             command if that fails too"
        )),
    };
    failure.diagnose(format!("{doing} {shown}: {error}"))
}

/// Why the system refuses what the mode would allow.
pub(crate) fn immutable(shown: &str) -> String {
    format!(
        "{shown} may not be changed whatever its mode says: it is marked as immutable or append-only (lsattr shows \
         that, chattr -i and -a end it), or only the superuser may do this"
    )
}

/// Why a pipe, socket or device isn't opened.
pub(crate) fn special(shown: &str, what: &str) -> Failure {
    Failure::invalid(format!(
        "{shown} is a {what}; reading or writing it could block for ever — name a regular file, or use a \
         shell command with a time limit"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_no_mode_allows_is_told_from_what_the_mode_denies() {
        let said = |errno: Errno| io("write", "f", &errno.into()).text;
        assert!(said(Errno::ACCESS).contains("have its mode changed"));
        assert!(said(Errno::PERM).contains("immutable") && !said(Errno::PERM).contains("mode changed"));
    }
}
