//! What sessions left in the state folder goes once it is old: long results and the contents of changed files.
//!
//! Looking at every session takes time, so it is done at most once a day, by whichever process starts first.

use crate::{seal, session};
use haft_core::StateFolder;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Says when it was last done, in seconds since 1970.
const LAST: &str = "pruned";
/// How long such files are kept.
const KEEP_TIME: Duration = Duration::from_secs(7 * DAY.as_secs());
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// Removes what is older than [`KEEP_TIME`], of all sessions, unless that was done within a day. Best effort: the next
/// day tries again.
pub(crate) fn prune(state: &dyn StateFolder, now: SystemTime) {
    if last(state).and_then(|last| now.duration_since(last).ok()).is_some_and(|since| since < DAY) {
        return;
    }
    let seconds = now.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    let _ = state.update(LAST, &mut |_| Ok(seconds.to_string().into_bytes()));
    let names =
        |folder| state.list(folder).into_iter().filter(|entry| entry.is_folder).map(|entry| entry.name);
    let spills = names(seal::SPILL_FOLDER).map(|session| seal::spill_folder(&session));
    let contents = names("sessions").map(|session| session::content_folder(&session));
    for folder in spills.chain(contents) {
        for entry in state.list(&folder) {
            if now.duration_since(entry.modified).is_ok_and(|age| age > KEEP_TIME) {
                let _ = state.remove(&format!("{folder}/{}", entry.name));
            }
        }
    }
}

/// When it was last done; none where that can't be told.
fn last(state: &dyn StateFolder) -> Option<SystemTime> {
    let text = String::from_utf8(state.read_tail(LAST, 32).ok()??).ok()?;
    UNIX_EPOCH.checked_add(Duration::from_secs(text.trim().parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::{DAY, prune};
    use haft_core::StateFolder;
    use haft_os::OsState;
    use std::time::{Duration, SystemTime};

    const FILES: [&str; 2] = ["sessions/s/content/x", "spill/s/1.txt"];

    fn left(state: &dyn StateFolder) -> usize {
        FILES.iter().filter(|at| state.read_from(at, 0, 1).unwrap().is_some()).count()
    }

    fn write(state: &dyn StateFolder) {
        for at in FILES {
            state.open_spill(at).unwrap().push(b"x").unwrap();
        }
    }

    #[test]
    fn after_seven_days_it_goes_and_a_day_is_looked_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let state = OsState::new(folder.path().to_path_buf());
        write(&state);
        let hours = |hours: u32| SystemTime::now() + Duration::from_secs(60) + DAY / 24 * hours;
        for (at, expected) in [(6 * 24, 2), (7 * 24 - 1, 2), (7 * 24, 0)] {
            prune(&state, hours(at));
            assert_eq!(left(&state), expected, "after {at} hours");
        }
        write(&state);
        prune(&state, hours(8 * 24 - 1));
        assert_eq!(left(&state), 2, "that day was looked at");
        prune(&state, hours(8 * 24));
        assert_eq!(left(&state), 0);
    }

    #[test]
    fn a_clock_that_was_set_back_or_a_damaged_note_keeps_nothing_for_ever() {
        let folder = tempfile::tempdir().unwrap();
        let state = OsState::new(folder.path().to_path_buf());
        for note in ["99999999999", "x", "", "99999999999999999999999999"] {
            write(&state);
            state.update("pruned", |_| Ok(note.into())).unwrap();
            prune(&state, SystemTime::now() + DAY * 8);
            assert_eq!(left(&state), 0, "{note}");
        }
    }
}
