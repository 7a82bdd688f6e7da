//! Files that git would pass through a program: what stores or checks them out differently is not run here, and
//! without it their content would be wrong, so such an action is refused.

use super::repository::{Call, Repository, driver};
use crate::program::Answer;
use haft_core::Failure;

/// Attributes that choose a program for a file's content.
const ATTRIBUTES: [&str; 2] = ["filter", "merge"];
/// So many files are named.
const NAMED_MAX: usize = 5;

/// Which files an action passes on.
pub(super) enum Passed<'a> {
    /// Those in these paths that are tracked or new.
    Paths(&'a [String]),
    /// All that is tracked.
    Tracked,
    /// What a commit holds, by the attributes that stand there.
    Of(&'a str),
}

/// Refuses an action on files that would have to pass a program.
///
/// # Errors
/// A conflict that names the files and the programs' names.
pub(super) async fn refuse_filtered(git: &Repository<'_>, passed: Passed<'_>) -> Result<(), Failure> {
    if !git.has_drivers() {
        return Ok(());
    }
    let (names, place) = match passed {
        Passed::Paths(paths) => {
            let mut words = vec!["ls-files", "-z", "--cached", "--others", "--exclude-standard", "--"];
            words.extend(paths.iter().map(String::as_str));
            (git.list(&words).await?, Place::Workspace)
        }
        Passed::Tracked => (git.list(&["-C", &git.top, "ls-files", "-z"]).await?, Place::Top),
        Passed::Of(rev) => {
            let words = ["-C", &git.top, "ls-tree", "-r", "-z", "--name-only", rev];
            (git.list(&words).await?, Place::Commit(rev))
        }
    };
    if !names.is_whole {
        return Err(unknown());
    }
    let filtered = passing(git, place, names.out).await?;
    let Some(first) = filtered.first() else { return Ok(()) };
    let shown: Vec<String> =
        filtered.iter().take(NAMED_MAX).map(|(name, driver)| format!("{name} ({driver})")).collect();
    let more = filtered.len().saturating_sub(NAMED_MAX);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    Err(Failure::conflict(format!(
        "git has to pass {}{more} through programs, which aren't run here, so nothing was done; use git through bash \
         for files with {}",
        shown.join(", "),
        first.1
    )))
}

/// Whether one of these files, which are only shown, passes a program where git stores it.
///
/// # Errors
/// A conflict where that can't be told.
pub(super) async fn has_filtered(git: &Repository<'_>, names: &[String]) -> Result<bool, Failure> {
    if !git.has_drivers() || names.is_empty() {
        return Ok(false);
    }
    let names = names.iter().flat_map(|name| name.bytes().chain([0])).collect();
    Ok(!passing(git, Place::Workspace, names).await?.is_empty())
}

/// From where names count, and whose attributes hold.
#[derive(Clone, Copy)]
enum Place<'a> {
    Workspace,
    Top,
    Commit(&'a str),
}

/// Those of the names (each with a NUL behind it) that pass a program, with its driver.
async fn passing(
    git: &Repository<'_>,
    place: Place<'_>,
    names: Vec<u8>,
) -> Result<Vec<(String, String)>, Failure> {
    let mut words = Vec::new();
    if !matches!(place, Place::Workspace) {
        words.extend(["-C".to_owned(), git.top.clone()]);
    }
    words.push("check-attr".to_owned());
    if let Place::Commit(rev) = place {
        words.push(format!("--source={rev}"));
    }
    words.extend(["-z", "--stdin"].map(str::to_owned));
    words.extend(ATTRIBUTES.map(str::to_owned));
    let found = git.call(Call::new(words).with_stdin(names)).await?;
    if !found.is_whole || !found.is_ok() {
        return Err(unknown());
    }
    let is_known = |name: &str| git.known.iter().any(|known| driver(&known.key) == Some(name));
    Ok(filtered(&found, &is_known))
}

fn unknown() -> Failure {
    Failure::conflict(
        "it can't be told which files pass through filters here; name fewer files, or use git through bash",
    )
}

/// The files whose attribute names a driver that is set up, with the driver.
fn filtered(found: &Answer, is_known: &dyn Fn(&str) -> bool) -> Vec<(String, String)> {
    let mut parts = found.parts();
    let mut filtered = Vec::new();
    while let (Some(name), Some(attribute), Some(value)) = (parts.next(), parts.next(), parts.next()) {
        let driver = format!("{}.{}", String::from_utf8_lossy(attribute), String::from_utf8_lossy(value));
        if is_known(&driver) {
            filtered.push((name.escape_ascii().to_string(), driver));
        }
    }
    filtered
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_drivers_that_are_set_up_count() {
        let out = b"a.bin\0filter\0lfs\0a.bin\0merge\0unspecified\0b\0filter\0other\0c\nd\0filter\0lfs\0";
        let found = Answer { out: out.to_vec(), ..Answer::default() };
        let filtered = filtered(&found, &|name| name == "filter.lfs");
        let expected = [("a.bin", "filter.lfs"), ("c\\nd", "filter.lfs")];
        assert_eq!(filtered, expected.map(|(name, driver)| (name.to_owned(), driver.to_owned())));
    }
}
