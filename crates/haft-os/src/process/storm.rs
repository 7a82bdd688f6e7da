//! Ends a command that starts processes without end, where the kernel doesn't count them.
//!
//! A look now and then costs next to nothing: as long as the whole machine has fewer processes than the command may
//! have, nothing else is looked at.

use super::{control::Killer, tree};
use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};
use tokio::{
    task::{AbortHandle, spawn_blocking},
    time::sleep,
};

/// How often it is looked.
const LOOK_EVERY: Duration = Duration::from_millis(250);

/// Watches one command. Dropping it ends the watch.
pub(super) struct Storm {
    most: u64,
    broke: Arc<AtomicBool>,
    watch: AbortHandle,
}

impl Storm {
    /// Watches what lives beneath a supervisor, and has it ended. Must be in a tokio runtime.
    pub(super) fn watch(supervisor: i32, most: u64, killer: Killer) -> Self {
        let broke = Arc::new(AtomicBool::new(false));
        let found = Arc::clone(&broke);
        let watching = tokio::spawn(async move {
            loop {
                sleep(LOOK_EVERY).await;
                if is_crowded(most)
                    && spawn_blocking(move || is_storm(supervisor, most)).await.unwrap_or_default()
                {
                    found.store(true, Ordering::Release);
                    killer.kill();
                    return;
                }
            }
        });
        Self { most, broke, watch: watching.abort_handle() }
    }

    /// What has to be said of the command's end.
    pub(super) fn last_words(&self) -> Option<String> {
        self.broke.load(Ordering::Acquire).then(|| {
            format!(
                "haft: the command had more than {} processes at once and was ended; see processes under [sandbox]",
                self.most
            )
        })
    }
}

impl Drop for Storm {
    fn drop(&mut self) {
        self.watch.abort();
    }
}

/// Whether the whole machine has more than the command may have, or that isn't known. The kernel answers at once.
fn is_crowded(most: u64) -> bool {
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    on_this_machine(&load).is_none_or(|all| all > most)
}

fn is_storm(supervisor: i32, most: u64) -> bool {
    let living = tree::living_beneath(supervisor);
    living.iter().map(|process| process.stat.threads().unwrap_or(1)).sum::<u64>() > most
}

/// How many processes and threads there are, of the kernel's line on its load: `0.10 0.20 0.30 1/523 4711`.
fn on_this_machine(load: &str) -> Option<u64> {
    load.split(' ').nth(3)?.split_once('/')?.1.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_whole_machines_number_is_read() {
        assert_eq!(on_this_machine("0.10 0.20 0.30 1/523 4711\n"), Some(523));
        assert_eq!(on_this_machine(""), None);
        let own = std::fs::read_to_string("/proc/loadavg").unwrap();
        assert!(on_this_machine(&own).unwrap() > 0);
    }
}
