//! One server over all its starts: started when it is needed, greeted, listed, started again with growing pauses where
//! it fails, and stopped.
//!
//! Keeps the invariants "one start at a time" and "nothing is asked of a server whose tools aren't known as they are
//! now".

use super::{
    cache::Cache,
    config::{ServerConfig, Transport},
    failure,
    greet::{GreetError, Greeting, greet},
    http::{HttpLink, HttpOwner},
    lent::Lends,
    log::ServerLog,
    pages::{self, Listing},
    registry::Registry,
    router::{Arrival, Router},
    stdio::Stdio,
    subscription::Watches,
    upstream::UpstreamNote,
    wire::{CallError, Link, Wire},
};
use crate::{Fronts, era::Era};
use haft_core::{Cancel, Failure, FailureKind, Media};
use serde_json::{Map, Value, json};
use std::{
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, Weak,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};
use tokio::{
    sync::{Mutex as AsyncMutex, Notify, Semaphore, broadcast, mpsc},
    task::AbortHandle,
    time::{Instant, sleep, timeout},
};

/// A server that ended before that time failed to start.
const YOUNG: Duration = Duration::from_secs(10);
/// The first pause before a server that failed is started again; it doubles.
const PAUSE_FIRST: Duration = Duration::from_millis(500);
const PAUSE_MAX: Duration = Duration::from_secs(60);
/// A shorter pause is waited for; for a longer one the call fails.
const PAUSE_WAITED: Duration = Duration::from_secs(2);
/// How many lines of what a server wrote are shown with its failure.
const TAIL_LINES: usize = 10;
/// How many of a server's own words wait for a slow listener.
const NOTES_MAX: usize = 64;

/// One start of a server.
pub(crate) struct Peer {
    pub(crate) wire: Wire,
    pub(crate) greeting: Greeting,
    born: Instant,
    /// What works for it; none once it is over.
    tasks: Mutex<Option<Vec<AbortHandle>>>,
    /// What the server asks of people at the moment.
    pub(crate) asks: AtomicUsize,
    /// Its tools are other ones now.
    pub(crate) changed: Notify,
    /// What it says that it tells of, in the modern era.
    pub(crate) acknowledged: broadcast::Sender<Value>,
}

impl Peer {
    pub(crate) fn is_modern(&self) -> bool {
        self.greeting.era == Era::Modern
    }

    /// A task that ends with this start, and at once where that is over: it would keep the connection open.
    pub(crate) fn keep(&self, task: AbortHandle) {
        match self.tasks.lock().unwrap_or_else(PoisonError::into_inner).as_mut() {
            Some(tasks) => {
                tasks.retain(|task| !task.is_finished());
                tasks.push(task);
            }
            None => task.abort(),
        }
    }
}

/// Owns a start: what works for it ends with this, and then its connection.
struct PeerOwner(Arc<Peer>);

impl Drop for PeerOwner {
    fn drop(&mut self) {
        let tasks = self.0.tasks.lock().unwrap_or_else(PoisonError::into_inner).take();
        for task in tasks.into_iter().flatten() {
            task.abort();
        }
    }
}

/// What is known of how a server starts.
#[derive(Default)]
struct Slot {
    peer: Option<PeerOwner>,
    failures: u32,
    not_before: Option<Instant>,
    fault: String,
    era: Option<Era>,
}

/// What all servers of one host share.
#[derive(Clone)]
pub(crate) struct Shared {
    /// Name and version of this client.
    pub(crate) client: Value,
    pub(crate) media: Arc<dyn Media>,
    /// Who makes calls, where clients in front of haft do.
    pub(crate) fronts: Fronts,
}

/// One server.
pub(crate) struct Server {
    pub(crate) config: ServerConfig,
    pub(crate) shared: Shared,
    pub(crate) log: Arc<ServerLog>,
    pub(crate) registry: Registry,
    pub(crate) permits: Semaphore,
    cache: Option<Cache>,
    slot: AsyncMutex<Slot>,
    notes: broadcast::Sender<UpstreamNote>,
    /// What somebody hears of, whichever start tells of it.
    pub(super) watches: Watches,
    /// What it said of itself last.
    greeting: Mutex<Option<Greeting>>,
    retired: AtomicBool,
    own: Weak<Self>,
}

impl Server {
    /// A server that sleeps; what it said before is registered.
    pub(crate) fn new(
        config: ServerConfig,
        shared: Shared,
        registry: Registry,
        cache: Option<Cache>,
    ) -> Arc<Self> {
        let permits = Semaphore::new(config.limits.concurrency.max(1));
        let kept = cache.as_ref().and_then(Cache::load);
        let server = Arc::new_cyclic(|own| Self {
            config,
            shared,
            log: Arc::default(),
            registry,
            permits,
            cache,
            slot: AsyncMutex::default(),
            notes: broadcast::Sender::new(NOTES_MAX),
            watches: Watches::default(),
            greeting: Mutex::default(),
            retired: AtomicBool::new(false),
            own: Weak::clone(own),
        });
        if let Some(kept) = kept {
            let greeting = kept.greeting();
            if let Ok(mut slot) = server.slot.try_lock() {
                slot.era = Some(greeting.era);
            }
            let listed = pages::Listed { entries: kept.tools, warnings: kept.warnings };
            server.registry.take_in(&server, &greeting, listed);
            *server.lock_greeting() = Some(greeting);
        }
        server
    }

    /// Whether its tools are known, from now or from before.
    pub(crate) fn is_known(&self) -> bool {
        self.lock_greeting().is_some()
    }

    /// What it said of itself last.
    pub(crate) fn greeting(&self) -> Option<Greeting> {
        self.lock_greeting().clone()
    }

    /// What it tells of by itself.
    pub(crate) fn notes(&self) -> &broadcast::Sender<UpstreamNote> {
        &self.notes
    }

    /// The server as it runs; started, greeted and listed where it doesn't.
    ///
    /// # Errors
    /// It can't be started, or not yet again.
    pub(crate) async fn connected(&self, cancel: &Cancel) -> Result<Arc<Peer>, Failure> {
        let mut slot = tokio::select! {
            slot = self.slot.lock() => slot,
            () = cancel.fired() => return Err(Failure::cancelled()),
        };
        let lost = match &slot.peer {
            Some(PeerOwner(peer)) => match peer.wire.router.lost() {
                None => return Ok(Arc::clone(peer)),
                lost => lost,
            },
            None => None,
        };
        self.in_use()?;
        if let Some(why) = lost {
            self.bury(&mut slot, &why);
        }
        self.wait(&slot, cancel).await?;
        // Why it didn't start before says more than that it is being started again.
        if !self.is_known() && slot.failures == 0 {
            self.registry.starting(&self.config);
        }
        let limit = self.config.limits.start;
        let started = tokio::select! {
            started = timeout(limit, self.start(slot.era, cancel)) => started.unwrap_or_else(|_| {
                Err(failure::of_slow_start(&self.config.name, limit, &self.tail()))
            }),
            () = cancel.fired() => return Err(Failure::cancelled()),
        };
        match started {
            Ok(owner) => {
                self.in_use()?;
                let peer = Arc::clone(&owner.0);
                slot.era = Some(peer.greeting.era);
                slot.peer = Some(owner);
                Ok(peer)
            }
            Err(failure) => {
                slot.failed(&failure.text);
                if slot.era == Some(Era::Modern) {
                    // It may be another one by now: the next start finds out anew what it speaks.
                    slot.era = None;
                }
                self.registry.failed(&self.config, &failure);
                Err(failure)
            }
        }
    }

    /// The server as it runs; none where it doesn't.
    pub(super) async fn running(&self) -> Option<Arc<Peer>> {
        let slot = self.slot.lock().await;
        let peer = slot.peer.as_ref().map(|owner| Arc::clone(&owner.0))?;
        peer.wire.router.lost().is_none().then_some(peer)
    }

    /// Has it started again by whoever needs it next: its session is lost.
    pub(crate) async fn leave(&self, peer: &Arc<Peer>) {
        let mut slot = self.slot.lock().await;
        if slot.peer.as_ref().is_some_and(|own| Arc::ptr_eq(&own.0, peer)) {
            slot.peer = None;
        }
    }

    /// Nobody uses it any more: it ends, and isn't started again by a call that comes too late.
    pub(crate) fn retire(&self) {
        self.retired.store(true, Ordering::Release);
        if let Ok(mut slot) = self.slot.try_lock() {
            slot.peer = None;
        }
    }

    /// Stops it, if it runs. A start on its way ends with whoever waits for it.
    pub(crate) async fn stop(&self) {
        let peer = self.slot.try_lock().ok().and_then(|mut slot| slot.peer.take());
        if let Some(owner) = peer {
            owner.0.wire.stop().await;
        }
    }

    /// Forgets which era it spoke. Its tools stay as they were until it says what they are now.
    pub(crate) fn forget_era(&self) {
        if let Ok(mut slot) = self.slot.try_lock() {
            slot.era = None;
        }
    }

    /// The end of what it wrote beside the protocol.
    pub(crate) fn tail(&self) -> Vec<String> {
        self.log.last(TAIL_LINES).0
    }

    fn in_use(&self) -> Result<(), Failure> {
        if !self.retired.load(Ordering::Acquire) {
            return Ok(());
        }
        let text = format!(
            "the server {} is no longer in use here; look at what tools there are now",
            self.config.name
        );
        Err(Failure::new(FailureKind::Unavailable, text))
    }

    fn bury(&self, slot: &mut Slot, why: &str) {
        let is_young = slot.peer.take().is_some_and(|owner| owner.0.born.elapsed() < YOUNG);
        self.log.line(&format!("[haft] the server was lost: {why}"));
        if is_young {
            slot.failed(why);
        } else {
            slot.failures = 0;
            slot.not_before = None;
        }
    }

    async fn wait(&self, slot: &Slot, cancel: &Cancel) -> Result<(), Failure> {
        let now = Instant::now();
        let Some(left) = slot.not_before.and_then(|at| at.checked_duration_since(now)) else { return Ok(()) };
        if left > PAUSE_WAITED {
            return Err(failure::of_pause(&self.config.name, slot.failures, left, &slot.fault));
        }
        tokio::select! {
            () = sleep(left) => Ok(()),
            () = cancel.fired() => Err(Failure::cancelled()),
        }
    }

    async fn start(&self, remembered: Option<Era>, cancel: &Cancel) -> Result<PeerOwner, Failure> {
        let mut remembered = remembered;
        let unstarted = |error| failure::of_start(&self.config.name, error, &self.tail());
        loop {
            let (wire, arrivals) = self.open()?;
            match greet(&wire, remembered, self.config.limits.start, cancel).await {
                Ok(greeting) => return self.settle(wire, greeting, arrivals, cancel).await,
                // It may not have survived the question; asked the older way it may.
                Err(GreetError::EndedOverProbe(_)) if remembered != Some(Era::Legacy) => {
                    remembered = Some(Era::Legacy);
                }
                Err(error) => return Err(unstarted(error)),
            }
        }
    }

    /// Opens a connection; nothing is said yet.
    fn open(&self) -> Result<(Wire, mpsc::Receiver<Arrival>), Failure> {
        let (router, arrivals) = Router::new(Arc::clone(&self.log));
        let link = match &self.config.transport {
            Transport::Stdio { command, processes } => {
                let (processes, log) = (Arc::clone(processes), Arc::clone(&self.log));
                Link::Stdio(Stdio::start(command.clone(), processes, Arc::clone(&router), log))
            }
            Transport::Http(endpoint) => {
                let (router, log) = (Arc::clone(&router), Arc::clone(&self.log));
                let link = HttpLink::new(endpoint.clone(), self.config.limits.call, router, log)?;
                Link::Http(HttpOwner(link))
            }
        };
        let (client, capabilities) = (self.shared.client.clone(), self.capabilities());
        Ok((Wire { link, router, client, capabilities, lends: self.lends() }, arrivals))
    }

    /// What this client can do for the server by itself: ask a person, put a question to the session's model where there is
    /// one, and name folders where the settings do.
    fn capabilities(&self) -> Value {
        let mut all = Map::from_iter([("elicitation".to_owned(), json!({"form": {}, "url": {}}))]);
        if self.shared.fronts.sampler().is_some() {
            all.insert("sampling".to_owned(), json!({}));
        }
        if !self.config.roots.is_empty() {
            all.insert("roots".to_owned(), json!({}));
        }
        Value::Object(all)
    }

    /// What the settings let through to it.
    pub(crate) fn lends(&self) -> Lends {
        Lends::of(&self.config, &self.shared.fronts)
    }

    /// The rest of a start: hears what the server says by itself, and asks for its tools.
    async fn settle(
        &self,
        wire: Wire,
        greeting: Greeting,
        arrivals: mpsc::Receiver<Arrival>,
        cancel: &Cancel,
    ) -> Result<PeerOwner, Failure> {
        let peer = Arc::new(Peer {
            wire,
            greeting,
            born: Instant::now(),
            tasks: Mutex::new(Some(Vec::new())),
            asks: AtomicUsize::new(0),
            changed: Notify::new(),
            acknowledged: broadcast::Sender::new(NOTES_MAX),
        });
        // Until it is settled, its end is the end of what works for it.
        let owner = PeerOwner(peer);
        let peer = &owner.0;
        peer.keep(self.attend(Arc::downgrade(peer), arrivals));
        if let Link::Http(owner) = &peer.wire.link
            && !peer.is_modern()
            && !owner.0.is_older()
        {
            owner.0.listen();
        }
        let unlisted = |error: CallError| failure::of_start(&self.config.name, error.into(), &self.tail());
        self.list_tools(peer, cancel).await.map_err(unlisted)?;
        peer.keep(self.relist(peer));
        if peer.is_modern() {
            self.hear_changes(peer);
        }
        self.watch_again(peer);
        Ok(owner)
    }

    /// Asks for the tools, and registers them as they are now.
    pub(crate) async fn list_tools(&self, peer: &Peer, cancel: &Cancel) -> Result<(), CallError> {
        let listed = if peer.greeting.can(&["tools"]) {
            self.list(peer, pages::TOOLS, cancel).await?
        } else {
            pages::Listed::default()
        };
        let Some(own) = self.own.upgrade() else { return Ok(()) };
        let taken = self.registry.take_in(&own, &peer.greeting, listed);
        *self.lock_greeting() = Some(peer.greeting.clone());
        if let Some(cache) = self.cache.clone() {
            let greeting = peer.greeting.clone();
            // Best effort: without it the server is asked again.
            drop(tokio::task::spawn_blocking(move || cache.store(&greeting, &taken)).await);
        }
        Ok(())
    }

    /// One of its lists, all of it.
    pub(crate) async fn list(
        &self,
        peer: &Peer,
        listing: Listing,
        cancel: &Cancel,
    ) -> Result<pages::Listed, CallError> {
        pages::list(&peer.wire, &peer.greeting, listing, (self.config.limits.idle, cancel)).await
    }

    pub(crate) fn weak(&self) -> Weak<Self> {
        Weak::clone(&self.own)
    }

    /// How many things a server may ask at once; more are refused.
    pub(crate) fn may_ask(peer: &Peer, most: usize) -> bool {
        peer.asks.fetch_add(1, Ordering::AcqRel) < most
    }

    fn lock_greeting(&self) -> MutexGuard<'_, Option<Greeting>> {
        self.greeting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Slot {
    fn failed(&mut self, why: &str) {
        self.failures = self.failures.saturating_add(1);
        let doubled = 2_u32.saturating_pow(self.failures.saturating_sub(1));
        let pause = PAUSE_FIRST.saturating_mul(doubled).min(PAUSE_MAX);
        self.not_before = Instant::now().checked_add(pause);
        why.lines().next().unwrap_or_default().clone_into(&mut self.fault);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn pauses_grow_to_their_limit() {
        let mut slot = Slot::default();
        let mut pauses = Vec::new();
        for _ in 0..10 {
            slot.failed("why\nmore");
            pauses.push(slot.not_before.unwrap().duration_since(Instant::now()).as_millis());
        }
        assert_eq!(pauses, [500, 1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000, 60_000]);
        assert_eq!((slot.failures, slot.fault.as_str()), (10, "why"));
    }
}
