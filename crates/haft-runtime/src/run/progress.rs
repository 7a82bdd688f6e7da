//! What a running tool says, coalesced, until its call ends.

use crate::{
    event::Bus,
    seal::{self, CaptureSlot, Masks},
};
use haft_core::{CallId, Capture, Event, Progress, RealPath, Shape, Sink};
use haft_policy::secrets::StreamMasker;
use std::{
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use tokio::{
    sync::Notify,
    time::{Instant, sleep},
};

/// Partial output is passed on at most so often.
const COALESCE_TIME: Duration = Duration::from_millis(100);
/// Partial output is passed on at the latest when so much has gathered.
const COALESCE_BYTES: usize = 16 * 1024;

/// One call's sink.
pub(crate) struct CallSink {
    call: CallId,
    bus: Bus,
    gathered: Mutex<Gathered>,
    /// Told when something has gathered.
    waiting: Notify,
    captures: CaptureSlot,
    masks: Masks,
}

struct Gathered {
    text: String,
    masker: Option<StreamMasker>,
    sent: Instant,
    ended: bool,
}

impl CallSink {
    pub(crate) fn new(call: CallId, bus: Bus, captures: CaptureSlot) -> Self {
        let gathered =
            Mutex::new(Gathered { text: String::new(), masker: None, sent: Instant::now(), ended: false });
        Self { call, bus, gathered, waiting: Notify::new(), captures, masks: Masks::default() }
    }

    /// The same, with secrets masked in what is said.
    pub(crate) fn masked(mut self, masks: Masks) -> Self {
        self.lock().masker = masks.stream();
        self.masks = masks;
        self
    }

    /// Never ends: passes on what has gathered, soon after it began to. No timer is set before.
    pub(crate) async fn pass_on(&self) {
        loop {
            self.waiting.notified().await;
            sleep(COALESCE_TIME).await;
            self.send_gathered(&mut self.lock());
        }
    }

    /// Nothing is passed on from now; what comes later was said by a tool that outlived its call.
    pub(crate) fn end(&self) {
        let mut gathered = self.lock();
        if let Some(masker) = gathered.masker.take() {
            gathered.text.push_str(&seal::text(masker.finish()));
        }
        self.send_gathered(&mut gathered);
        gathered.ended = true;
    }

    fn send_gathered(&self, gathered: &mut Gathered) {
        if !gathered.text.is_empty() {
            let text = std::mem::take(&mut gathered.text);
            self.publish(Progress::PartialOutput(text));
        }
        gathered.sent = Instant::now();
    }

    fn publish(&self, progress: Progress) {
        self.bus.publish(|| Event::Progress { call: self.call.clone(), progress });
    }

    fn lock(&self) -> MutexGuard<'_, Gathered> {
        self.gathered.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Sink for CallSink {
    fn progress(&self, progress: Progress) {
        if !self.bus.is_heard() {
            return;
        }
        let mut gathered = self.lock();
        if gathered.ended {
            return;
        }
        match progress {
            Progress::PartialOutput(text) => {
                match &mut gathered.masker {
                    Some(masker) => {
                        let masked = masker.push(text.as_bytes());
                        gathered.text.push_str(&seal::text(masked));
                    }
                    None => gathered.text.push_str(&text),
                }
                if gathered.text.len() >= COALESCE_BYTES || gathered.sent.elapsed() >= COALESCE_TIME {
                    self.send_gathered(&mut gathered);
                } else if !gathered.text.is_empty() {
                    self.waiting.notify_one();
                }
            }
            Progress::FileChanged(path) => {
                self.send_gathered(&mut gathered);
                let real = RealPath::new("/", path.trim_start_matches('/'));
                self.publish(Progress::FileChanged(path));
                self.bus.publish(|| Event::FileChanged { call: self.call.clone(), path: real });
            }
            mut other => {
                self.masks.progress(&mut other);
                self.send_gathered(&mut gathered);
                self.publish(other);
            }
        }
    }

    fn capture(&self, shape: Shape) -> Box<dyn Capture> {
        self.captures.open(shape)
    }
}
