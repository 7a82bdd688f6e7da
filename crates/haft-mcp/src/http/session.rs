//! Sessions of the legacy era: a client by its id, and its streams.

use super::{
    response::{Response, SESSION_HEADER, refused},
    stream::{Kind, Stream},
};
use crate::{office::Office, peer::Peer, reach::Reach};
use hyper::{HeaderMap, StatusCode};
use std::{
    collections::{BTreeMap, HashMap},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use tokio::time::Instant;

/// How many sessions there may be.
const SESSIONS_MAX: usize = 64;
/// How long a session in which nothing happens is kept.
const IDLE_MAX: Duration = Duration::from_secs(3_600);
/// How many streams that are over are kept, to be asked for again.
const OVER_MAX: usize = 16;

/// The sessions.
pub(super) struct Sessions {
    office: Arc<Office>,
    open: Mutex<Open>,
}

#[derive(Default)]
struct Open {
    by_id: HashMap<String, Arc<Session>>,
    last: u64,
}

/// One session.
pub(super) struct Session {
    pub(super) id: String,
    pub(super) peer: Arc<Peer>,
    /// What belongs to no request.
    pub(super) aside: Arc<Stream>,
    streams: Mutex<Streams>,
    used: Mutex<Instant>,
}

#[derive(Default)]
struct Streams {
    by_number: BTreeMap<u64, Arc<Stream>>,
    last: u64,
}

impl Sessions {
    pub(super) fn new(office: Arc<Office>) -> Self {
        Self { office, open: Mutex::default() }
    }

    /// A session that isn't known by its id yet.
    pub(super) fn make(&self) -> Session {
        let number = {
            let mut open = self.lock();
            open.last += 1;
            open.last
        };
        let aside = Stream::new(Kind { is_kept: true, can_ask: false });
        Session {
            id: self.office.seal.name(number),
            peer: Peer::new(&self.office, aside.clone()),
            aside,
            streams: Mutex::default(),
            used: Mutex::new(Instant::now()),
        }
    }

    /// Lets a session be known by its id.
    ///
    /// # Errors
    /// There are too many that are in use.
    pub(super) fn open(&self, session: Arc<Session>) -> Result<(), Response> {
        let mut open = self.lock();
        let gone = open.make_room();
        if open.by_id.len() >= SESSIONS_MAX {
            drop(open);
            session.end();
            let why = format!("{SESSIONS_MAX} sessions are in use; end one by DELETE, or come back later");
            return Err(refused(StatusCode::SERVICE_UNAVAILABLE, &why));
        }
        open.by_id.insert(session.id.clone(), session);
        drop(open);
        for session in &gone {
            session.end();
        }
        Ok(())
    }

    /// The session that a message belongs to.
    ///
    /// # Errors
    /// 400 where it names none, 404 where there is none by that name: then the client begins anew.
    pub(super) fn of(&self, headers: &HeaderMap) -> Result<Arc<Session>, Response> {
        let Some(id) = headers.get(SESSION_HEADER) else {
            let why = "the header Mcp-Session-Id is missing; begin with initialize, or send the _meta of 2026-07-28";
            return Err(refused(StatusCode::BAD_REQUEST, why));
        };
        let known = id.to_str().ok().and_then(|id| self.lock().by_id.get(id).cloned());
        let session = known.ok_or_else(|| {
            refused(StatusCode::NOT_FOUND, "there is no such session any more; begin anew with initialize")
        })?;
        session.touch();
        Ok(session)
    }

    /// Ends a session.
    pub(super) fn close(&self, session: &Session) {
        self.lock().by_id.remove(&session.id);
        session.end();
    }

    fn lock(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Open {
    /// Takes out what nobody uses any more; where all places are taken, also the session that was used least lately.
    fn make_room(&mut self) -> Vec<Arc<Session>> {
        let is_over = |session: &Session| session.is_quiet() && session.used().elapsed() > IDLE_MAX;
        let mut gone: Vec<String> =
            self.by_id.iter().filter(|(_, session)| is_over(session)).map(|(id, _)| id.clone()).collect();
        if gone.is_empty() && self.by_id.len() >= SESSIONS_MAX {
            let quiet = self.by_id.iter().filter(|(_, session)| session.is_quiet());
            gone.extend(quiet.min_by_key(|(_, session)| session.used()).map(|(id, _)| id.clone()));
        }
        gone.iter().filter_map(|id| self.by_id.remove(id)).collect()
    }
}

impl Session {
    /// A stream for one request, and its number.
    pub(super) fn stream(&self, can_ask: bool) -> (u64, Arc<Stream>) {
        let stream = Stream::new(Kind { is_kept: true, can_ask });
        let mut streams = self.streams();
        streams.last += 1;
        let number = streams.last;
        let over = streams.by_number.iter().filter(|(_, stream)| stream.is_closed() && !stream.is_read());
        let over: Vec<u64> = over.map(|(number, _)| *number).collect();
        for number in over.iter().take(over.len().saturating_sub(OVER_MAX)) {
            streams.by_number.remove(number);
        }
        streams.by_number.insert(number, Arc::clone(&stream));
        (number, stream)
    }

    /// The stream of that number; 0 is the one beside all requests.
    pub(super) fn known(&self, number: u64) -> Option<Arc<Stream>> {
        if number == 0 {
            Some(Arc::clone(&self.aside))
        } else {
            self.streams().by_number.get(&number).cloned()
        }
    }

    /// A stream that nobody will ask for again.
    pub(super) fn forget(&self, number: u64) {
        self.streams().by_number.remove(&number);
    }

    /// Its calls and streams end.
    fn end(&self) {
        self.peer.end();
        self.aside.close(None);
    }

    fn is_quiet(&self) -> bool {
        self.peer.is_idle() && !self.aside.is_read()
    }

    fn used(&self) -> Instant {
        *self.used.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn touch(&self) {
        *self.used.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    fn streams(&self) -> MutexGuard<'_, Streams> {
        self.streams.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
