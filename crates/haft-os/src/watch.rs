//! Watching folders for changes, many at once told as one.

use haft_core::{Failure, FailureKind};
use notify::{Event, RecommendedWatcher, RecursiveMode, Watcher};
use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
    sync::mpsc::{self, Receiver, RecvTimeoutError},
    time::{Duration, Instant},
};

/// A burst is over when nothing came for this long.
const QUIET: Duration = Duration::from_millis(50);
/// An endless burst is told at least this often.
const BURST_MAX: Duration = Duration::from_secs(1);

/// Watches folders and all beneath them until dropped.
#[derive(Debug)]
pub struct FolderWatch {
    /// The thread ends when this goes, and with it the sender.
    _watcher: RecommendedWatcher,
}

impl FolderWatch {
    /// Calls `changed` from a thread of its own with the paths of each burst of changes; with none where the
    /// system lost track and everything should be looked at again.
    ///
    /// # Errors
    /// Not found for a folder that isn't there; unavailable where the system can't watch more.
    pub fn new(
        folders: &[PathBuf],
        changed: impl Fn(&BTreeSet<PathBuf>) + Send + 'static,
    ) -> Result<Self, Failure> {
        let (sender, events) = mpsc::channel::<notify::Result<Event>>();
        let mut watcher = notify::recommended_watcher(sender).map_err(|error| unavailable(&error))?;
        for folder in folders {
            watch(&mut watcher, folder)?;
        }
        std::thread::Builder::new()
            .name("haft-watch".to_owned())
            .spawn(move || {
                while let Some(paths) = next_burst(&events) {
                    changed(&paths);
                }
            })
            .map_err(|error| unavailable(&notify::Error::io(error)))?;
        Ok(Self { _watcher: watcher })
    }
}

fn watch(watcher: &mut RecommendedWatcher, folder: &Path) -> Result<(), Failure> {
    if !folder.is_dir() {
        return Err(Failure::not_found(format!(
            "{} is not a folder, so it can't be watched",
            folder.display()
        )));
    }
    watcher.watch(folder, RecursiveMode::Recursive).map_err(|error| unavailable(&error))
}

fn unavailable(error: &notify::Error) -> Failure {
    Failure::new(
        FailureKind::Unavailable,
        "changes of files can't be watched now; they will be seen at the next start",
    )
    .diagnose(error.to_string())
}

/// The paths of the next burst of changes; none when the watcher has gone.
fn next_burst(events: &Receiver<notify::Result<Event>>) -> Option<BTreeSet<PathBuf>> {
    let mut burst = Burst::default();
    while !burst.begun {
        burst.add(events.recv().ok()?);
    }
    let until = Instant::now() + BURST_MAX;
    while Instant::now() < until {
        match events.recv_timeout(QUIET) {
            Ok(event) => burst.add(event),
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => break,
        }
    }
    if burst.lost {
        burst.paths.clear();
    }
    Some(burst.paths)
}

#[derive(Default)]
struct Burst {
    paths: BTreeSet<PathBuf>,
    begun: bool,
    lost: bool,
}

impl Burst {
    fn add(&mut self, event: notify::Result<Event>) {
        match event {
            // Being read changes nothing, and our own reading mustn't wake us.
            Ok(event) if event.kind.is_access() => return,
            Ok(event) => {
                self.lost |= event.need_rescan();
                self.paths.extend(event.paths);
            }
            Err(_) => self.lost = true,
        }
        self.begun = true;
    }
}
