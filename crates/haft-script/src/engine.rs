//! Starts children that run scripts, and keeps one warm.

use crate::{child::ENGINE, guest::Guest, wire::Word};
use haft_core::{Command, Failure, FailureKind, Processes, RealPath};
use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use tokio::time::timeout;

/// How long a child may take to be ready.
const READY_TIMEOUT: Duration = Duration::from_secs(20);
/// The memory of one script, unless it is said otherwise.
pub const MEMORY_BYTES: u64 = 256 << 20;

/// Starts children for scripts: this very program again, closed off from everything, one for each.
pub struct Engine {
    processes: Arc<dyn Processes>,
    argv: Vec<String>,
    memory_bytes: u64,
    warm: Mutex<Option<Guest>>,
}

impl Engine {
    /// Children are this program, whose `main` calls [`crate::child_main`] before anything else.
    ///
    /// # Errors
    /// Unavailable where the program's own file can't be found.
    pub fn of_this_program(processes: Arc<dyn Processes>, memory_bytes: u64) -> Result<Self, Failure> {
        let program = std::env::current_exe().ok().and_then(|path| path.into_os_string().into_string().ok());
        let program = program.ok_or_else(|| {
            Failure::new(
                FailureKind::Unavailable,
                "scripts can't run: the path of the program itself isn't known or isn't UTF-8",
            )
        })?;
        Ok(Self::new(processes, vec![program], memory_bytes))
    }

    /// Children are started by this command, which must come to [`crate::child_main`].
    pub fn new(processes: Arc<dyn Processes>, argv: Vec<String>, memory_bytes: u64) -> Self {
        Self { processes, argv, memory_bytes, warm: Mutex::default() }
    }

    /// Starts a child and ends it again: what it isn't kept from, a sentence each.
    ///
    /// # Errors
    /// Unavailable where none can be started.
    pub async fn gaps(&self) -> Result<Vec<String>, Failure> {
        let mut guest = self.fresh().await?;
        let gaps = std::mem::take(&mut guest.gaps);
        guest.end().await?;
        Ok(gaps)
    }

    /// A child that waits for its script: the warm one, or a new one.
    ///
    /// # Errors
    /// Unavailable where none can be started.
    pub(crate) async fn start(&self) -> Result<Guest, Failure> {
        let warm = self.slot().take();
        if let Some(mut guest) = warm
            && guest.is_alive()
        {
            return Ok(guest);
        }
        self.fresh().await
    }

    /// Has one ready for the next script, beside what runs. Must be called within a tokio runtime.
    pub(crate) fn warm_up(self: &Arc<Self>) {
        if self.slot().is_some() {
            return;
        }
        let engine = Arc::clone(self);
        tokio::spawn(async move {
            // Where there is none, the next script says why.
            if let Ok(guest) = engine.fresh().await {
                engine.slot().get_or_insert(guest);
            }
        });
    }

    /// The memory of one script.
    pub(crate) fn memory_bytes(&self) -> u64 {
        self.memory_bytes
    }

    /// A new child.
    ///
    /// # Errors
    /// As [`Engine::start`].
    pub(crate) async fn fresh(&self) -> Result<Guest, Failure> {
        let command = Command {
            env: vec![(ENGINE.to_owned(), self.memory_bytes.to_string())],
            ..Command::new(self.argv.clone(), RealPath::new("/", ""))
        };
        let mut guest = Guest::new(self.processes.talk(command).await?);
        let why = match timeout(READY_TIMEOUT, guest.next()).await {
            Ok(Ok(Word::Ready { gaps })) => {
                guest.gaps = gaps;
                return Ok(guest);
            }
            Ok(Ok(word)) => format!("it said {word:?}"),
            Ok(Err(gone)) => format!("{gone:?}"),
            Err(_) => format!("it wasn't ready within {} s", READY_TIMEOUT.as_secs()),
        };
        let ending = guest.end().await?;
        Err(Failure::new(
            FailureKind::Unavailable,
            "the engine for scripts didn't start; try again, or do without it",
        )
        .diagnose(format!("{why}; {ending:?}")))
    }

    fn slot(&self) -> MutexGuard<'_, Option<Guest>> {
        self.warm.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
