//! The call path: twelve steps, in order, for every call, whoever makes it. There is no second path.
//!
//! | step | here | how it can end the call |
//! |---|---|---|
//! | 1 resolve | [`intake::resolve`] | unknown, no longer offered |
//! | 2 parse | [`intake::parse`], [`intake::coerce`] | invalid |
//! | 3 validate | [`intake::validate`], the tool's own, waited for | invalid |
//! | 4 effects | [`intake::state`] | invalid paths |
//! | 5 hooks, judge; 6 approve | [`Executor::hear_hooks`], [`Desk::settle`] | denied, dismissed |
//! | 7 admit | [`Seat::admitted`], file locks | cancelled |
//! | 8 freshness | effects and preview again | conflict |
//! | 9 run | [`run::run`] | failed, timed out, cancelled |
//! | 10 seal | [`seal::bound`] | never |
//! | 11 hooks after | [`Executor::hear_hooks_after`] | – |
//! | 12 record | [`Call::record`] | – |

use crate::{
    admission::{Admission, Claims, Seat},
    approve::{self, Approved, Asked, Desk, Now, Settled},
    call::{Call, End},
    catalogue::Offer,
    intake::{self, Around, Resolution, Stated},
    lend::{self, Parent},
    prune::prune,
    run::{self, Ran, RunTask, Stopwatch},
    running::Running,
    seal::{self, Limits},
    session::Session,
};
use futures::FutureExt as _;
use haft_core::{
    AnyTool, Bound, CallId, Ended, Exposure, Failure, FailureKind, FileLock, Outcome, RealPath, Request,
    SessionView, Spec, StateFolder, Touch, TraceStep, Why, World,
};
use haft_policy::{HookWord, Pin};
use serde_json::Value;
use std::{
    panic::AssertUnwindSafe,
    pin::pin,
    sync::{Arc, OnceLock},
    time::Instant,
};

/// How often a call may be judged anew because what it touches changed under it.
const ROUNDS_MAX: usize = 3;

/// Runs calls. Cheap to clone.
#[derive(Clone)]
pub struct Executor {
    pub(crate) world: World,
}

/// A call that has passed the first three steps.
pub(crate) struct Ready {
    pub(crate) offer: Offer,
    pub(crate) input: Arc<Value>,
    bound: Box<dyn Bound>,
    /// What hooks said to this input.
    pub(crate) words: Vec<HookWord>,
}

/// A call that holds all it needs to run.
struct Admitted {
    approved: Approved,
    /// Other processes keep off these files until the call is recorded.
    locks: Vec<Box<dyn FileLock>>,
}

impl Executor {
    /// An executor over a world. `state` is pruned, once a day, of what is older than it may be.
    pub fn new(world: World, state: Option<&dyn StateFolder>) -> Self {
        if let Some(state) = state {
            prune(state, world.clock.now());
        }
        Self { world }
    }

    /// The world that calls touch, for hosts.
    pub fn world(&self) -> &World {
        &self.world
    }

    /// Takes the next place in the session's order; a plain function, to be called before anything is spawned.
    pub fn reserve(&self, session: &Arc<Session>) -> Seat {
        session.queue().reserve(session.next_call())
    }

    /// Starts a call on its place. Must be called within a tokio runtime.
    pub fn start(&self, session: &Arc<Session>, seat: Seat, request: Request) -> Running {
        let call = Call::new(session, seat.call().clone(), request, session.cancel(), None);
        self.spawn(call, seat)
    }

    /// Takes a place and starts the call.
    pub fn submit(&self, session: &Arc<Session>, request: Request) -> Running {
        let seat = self.reserve(session);
        self.start(session, seat, request)
    }

    pub(crate) fn start_inner(&self, parent: &Parent, id: CallId, request: Request) -> Running {
        let seat = parent.session.queue().reserve(id.clone());
        let request = Request { turn: request.turn.or(parent.turn), ..request };
        let outer = Some(Arc::clone(&parent.watch));
        self.spawn(Call::new(&parent.session, id, request, parent.cancel.child(), outer), seat)
    }

    /// Writes down a call that a tool may not make.
    pub(crate) fn refuse_inner(parent: &Parent, id: CallId, request: Request, why: Why) -> Ended {
        let mut call = Call::new(&parent.session, id, request, parent.cancel.child(), None);
        call.begin();
        call.step(TraceStep::gate("resolve", "deny", &why));
        let text = why.reason.clone();
        let mut end = End::refused(Outcome::Denied { why, feedback: None }, text);
        call.session.masks().output(&mut end.output);
        end.shorten();
        call.record(end)
    }

    fn spawn(&self, call: Call, seat: Seat) -> Running {
        let executor = self.clone();
        let (id, cancel) = (call.id.clone(), call.cancel.clone());
        Running::spawn(id, cancel, Box::pin(async move { executor.run(call, seat).await }))
    }

    /// The twelve steps.
    async fn run(&self, mut call: Call, seat: Seat) -> Ended {
        call.begin();
        let (cancel, unwritten) = (call.cancel.clone(), Arc::clone(&call.unwritten));
        let prepared = {
            let prepare = pin!(self.prepare(&mut call, &seat));
            tokio::select! {
                biased;
                () = cancel.fired() => Err(End::cancelled()),
                prepared = unwritten.written_while(prepare) => prepared,
            }
        };
        match prepared {
            Err(mut end) => {
                call.session.masks().output(&mut end.output);
                end.shorten();
                call.add_context(&mut end);
                call.record(end)
            }
            Ok((ready, admitted)) => {
                let Admitted { approved, locks } = admitted;
                let (tool, spec) = (Arc::clone(&ready.offer.tool), Arc::clone(ready.offer.spec()));
                let (input, began) = (Arc::clone(&ready.input), Instant::now());
                let ran = self.perform(&mut call, ready, &approved).await; //                        9 run
                let mut end = End::of(ran, &spec, call.captures.left_behind());
                Self::seal(&mut call, &mut end, tool.as_ref(), &approved); //                                10 seal
                let took = began.elapsed();
                if Self::hear_hooks_after(&mut call, &input, &mut end, took).await {
                    //                                                                            11 hooks after
                    Self::seal(&mut call, &mut end, tool.as_ref(), &approved);
                }
                call.session.take_in(&approved.stated.subject, &mut end.output);
                if let Some(offer) = &call.offer {
                    call.session.loads(offer, &mut end.output);
                }
                call.add_context(&mut end);
                let ended = call.record(end); //                                                    12 record
                drop(locks);
                drop(seat);
                ended
            }
        }
    }

    /// Steps 1 to 8: all that can be given up without a trace in the world.
    async fn prepare(&self, call: &mut Call, seat: &Seat) -> Result<(Ready, Admitted), End> {
        call.session.renew();
        let offer = Self::resolve(call)?; //                                                          1 resolve
        call.announce(&offer);
        let input = Self::take_in(call, &offer)?; //                                                   2 parse, coerce
        let ready = Self::bind(call, offer, input).await?; //                                         3 validate
        let stated = self.state(call, &ready)?; //                                                   4 effects
        let (ready, mut stated) = self.hear_hooks(call, ready, stated).await?; //                     5 (hooks, once)
        for _ in 0..ROUNDS_MAX {
            seat.declare(claims(&stated));
            let approved = match self.judge_and_ask(call, seat, &ready, stated).await? {
                //          5, 6
                Settled::Approved(approved) => approved,
                Settled::Changed(now) => {
                    stated = now;
                    continue;
                }
                Settled::Refused(outcome, text) => return Err(End::refused(outcome, text)),
            };
            match self.admit(call, seat, &ready, approved).await? {
                //                               7, 8
                Ok(admitted) => return Ok((ready, admitted)),
                Err(now) => stated = now,
            }
        }
        Err(End::failed(Failure::conflict(
            "what its paths mean kept changing while it waited. Make the call again when nothing else moves these \
             files.",
        )))
    }

    pub(crate) fn resolve(call: &mut Call) -> Result<Offer, End> {
        match intake::resolve(&call.session.snapshot(), &call.request.tool) {
            Resolution::Tool(offer, _) if offer.spec().exposure == Exposure::Code && call.outer.is_none() => {
                let why =
                    Why::new("exposure", format!("{} can only be called from inside a script", offer.name));
                call.step(TraceStep::gate("resolve", "deny", &why));
                let text = approve::denial_text(&why, None);
                Err(End::refused(Outcome::Denied { why, feedback: None }, text))
            }
            Resolution::Tool(offer, how) => {
                call.resolved(&offer, how);
                Ok(offer)
            }
            Resolution::None(text) => {
                call.step(TraceStep::new("resolve", "unknown").because(text.clone()));
                Err(End::refused(Outcome::Unknown, text))
            }
        }
    }

    pub(crate) fn take_in(call: &mut Call, offer: &Offer) -> Result<Value, End> {
        let spec = offer.spec();
        let parsed = intake::parse(spec, &call.request.input).map_err(|text| call.invalid("parse", text))?;
        let input = intake::coerce(spec, parsed.clone());
        let changed = input != parsed;
        call.step(TraceStep::new("parse", if changed { "coerced" } else { "ok" }));
        Ok(input)
    }

    /// Takes in an input that a hook wrote: from step 2 on.
    pub(crate) async fn accept(call: &mut Call, offer: Offer, rewritten: Value) -> Result<Ready, End> {
        call.step(TraceStep::new("parse", "rewritten"));
        let input = intake::coerce(offer.spec(), rewritten);
        Self::bind(call, offer, input).await
    }

    /// Binds an input to its tool, which is waited for where it has a word of its own on it.
    pub(crate) async fn bind(call: &mut Call, offer: Offer, input: Value) -> Result<Ready, End> {
        let input = Self::checked(call, &offer, input)?;
        if let Some(asked) = Arc::clone(&offer.tool).consult(Arc::clone(&input)) {
            // One that fails at it is asked when it is bound, where that is told.
            drop(AssertUnwindSafe(asked).catch_unwind().await);
        }
        Self::bind_now(call, offer, input)
    }

    /// The same for whoever can't wait. Blocking, where the tool has a word of its own.
    pub(crate) fn bind_blocking(call: &mut Call, offer: Offer, input: Value) -> Result<Ready, End> {
        let input = Self::checked(call, &offer, input)?;
        Self::bind_now(call, offer, input)
    }

    fn checked(call: &mut Call, offer: &Offer, input: Value) -> Result<Arc<Value>, End> {
        let spec = offer.spec();
        intake::validate(spec, &offer.input, &input).map_err(|text| call.invalid("validate", text))?;
        let input = Arc::new(input);
        call.about(&input, None);
        if hands_on(spec) {
            let refused = call.session.masks().refuse_in(&input);
            refused.map_err(|failure| {
                call.invalid("validate", format!("Invalid input for \"{}\": {}", offer.name, failure.text))
            })?;
        }
        Ok(input)
    }

    fn bind_now(call: &mut Call, offer: Offer, input: Arc<Value>) -> Result<Ready, End> {
        let bound = guarded(|| Arc::clone(&offer.tool).bind(Arc::clone(&input))).map_err(|failure| {
            call.invalid("validate", format!("Invalid input for \"{}\": {}", offer.name, failure.text))
        })?;
        call.step(TraceStep::new("validate", "ok"));
        Ok(Ready { offer, input, bound, words: Vec::new() })
    }

    pub(crate) fn state(&self, call: &mut Call, ready: &Ready) -> Result<Stated, End> {
        let stated = self.state_again(call, ready).map_err(|failure| {
            call.invalid("effects", format!("Invalid input for \"{}\": {}", ready.offer.name, failure.text))
        })?;
        call.about(&ready.input, Some(&stated.subject.effects));
        call.step(TraceStep::new("effects", "ok").because(intake::describe(&stated.subject.effects)));
        Ok(stated)
    }

    fn state_again(&self, call: &Call, ready: &Ready) -> Result<Stated, Failure> {
        let session: &dyn SessionView = &*call.session;
        let policy = call.session.policy();
        let around = Around {
            files: self.world.files.as_ref(),
            processes: self.world.processes.as_ref(),
            session,
            epoch: call.session.epoch(),
            temp: &policy.temp,
            hooks: &ready.words,
            guards_paths: &|| call.session.policies().iter().any(|policy| policy.guards_paths()),
            pins: call.session.pins(),
        };
        intake::state(&ready.offer, ready.bound.as_ref(), &ready.input, &call.id, around)
    }

    async fn judge_and_ask(
        &self,
        call: &mut Call,
        seat: &Seat,
        ready: &Ready,
        stated: Stated,
    ) -> Result<Settled, End> {
        let looking: &Call = call;
        // One lease for all that the desk looks at, made only if it does.
        let lent = OnceLock::new();
        let cx =
            |stated: &Stated| self.cx(looking, stated, lent.get_or_init(|| Self::look_only(looking, stated)));
        let desk = Desk {
            session: &looking.session,
            seat,
            bound: ready.bound.as_ref(),
            cx: &cx,
            outer: looking.outer.as_deref(),
            open: &looking.open,
            id: looking.told_id(),
        };
        let (asked, said) = desk.settle(stated, || self.state_again(looking, ready)).await;
        if let Some(lease) = lent.get() {
            lease.end();
        }
        let Asked { settled, judgement, answer } = match asked {
            Ok(asked) => asked,
            Err(failure) => {
                call.hooks_said(said.steps, said.warnings, said.stop);
                call.step(TraceStep::new("approve", "failed").because(failure.text.clone()));
                return Err(End::failed(failure));
            }
        };
        call.pass_on_warnings(&judgement);
        call.judged(judgement);
        call.hooks_said(said.steps, said.warnings, said.stop);
        if let Some((answer, detail)) = answer {
            let step = TraceStep::new("approve", answer);
            call.step(if detail.is_empty() { step } else { step.because(detail) });
        }
        Ok(settled)
    }

    /// Waits for its turn, keeps other processes off the files it writes, and makes sure that what was judged is
    /// what is. The inner error is what it touches now, to be judged anew.
    async fn admit(
        &self,
        call: &mut Call,
        seat: &Seat,
        ready: &Ready,
        approved: Approved,
    ) -> Result<Result<Admitted, Stated>, End> {
        while seat.admitted().await == Admission::LookAgain {
            let now = self.state_again(call, ready).map_err(End::failed)?;
            if !now.agrees_with(&approved.stated) {
                call.step(TraceStep::new("admit", "changed"));
                return Ok(Err(now));
            }
            seat.declare(claims(&approved.stated));
        }
        let locks = self.lock_files(call, &approved.stated).await.map_err(End::failed)?;
        call.step(TraceStep::new("admit", "ok"));
        if approved.stated.may_have_changed(&call.session) {
            let now = self.state_again(call, ready).map_err(End::failed)?;
            if !now.agrees_with(&approved.stated) {
                call.step(TraceStep::new("freshness", "changed"));
                drop(locks);
                seat.step_back();
                return Ok(Err(now));
            }
        }
        if let Some(shown) = &approved.shown {
            let lease = Self::look_only(call, &approved.stated);
            let cx = self.cx(call, &approved.stated, &lease);
            let holds = approve::holds(ready.bound.as_ref(), &cx, shown).await;
            lease.end();
            holds.map_err(End::failed)?;
        }
        match approved.judged_now(&call.session.policies()) {
            None => {}
            Some(Now::Denied(why)) => {
                call.step(TraceStep::gate("freshness", "deny", &why));
                let text = approve::denial_text(&why, None);
                return Err(End::refused(Outcome::Denied { why, feedback: None }, text));
            }
            Some(Now::Asked) => {
                call.step(TraceStep::new("freshness", "changed"));
                drop(locks);
                seat.step_back();
                return Ok(Err(approved.stated));
            }
        }
        call.step(TraceStep::new("freshness", "ok"));
        Ok(Ok(Admitted { approved, locks }))
    }

    async fn lock_files(&self, call: &Call, stated: &Stated) -> Result<Vec<Box<dyn FileLock>>, Failure> {
        let paths: Vec<RealPath> = stated
            .subject
            .effects
            .touches()
            .iter()
            .filter_map(|touch| if let Touch::Write(path) = touch { Some(path.clone()) } else { None })
            .collect();
        if paths.is_empty() || !call.session.is_recorded() {
            return Ok(Vec::new());
        }
        let (files, cancel) = (Arc::clone(&self.world.files), call.cancel.clone());
        let (sender, receiver) = tokio::sync::oneshot::channel();
        self.world.pool.run(Box::new(move || {
            drop(sender.send(files.lock_all(&paths, &cancel)));
        }));
        receiver.await.map_err(|_| Failure::internal("the file locks failed"))?
    }

    async fn perform(&self, call: &mut Call, ready: Ready, approved: &Approved) -> Ran {
        let stated = &approved.stated;
        call.started(&ready.offer, &ready.input, &stated.subject.effects);
        let watch = Stopwatch::start(ready.offer.spec().timeout(), call.outer.clone());
        call.watch = Some(watch.clone());
        let lease = match guarded(|| ready.bound.variables()) {
            Ok(given) => lend::lease(call, &ready.offer, stated, given),
            Err(failure) => {
                call.sink.end();
                return Ran::Failed(failure);
            }
        };
        Self::keep_pin(call, &ready, approved);
        let cx = self.cx(call, stated, &lease);
        let task = RunTask {
            tool: Arc::clone(&ready.offer.tool),
            bound: ready.bound,
            input: ready.input,
            cx,
            sink: Arc::clone(&call.sink),
            lease,
            watch,
            world: self.world.clone(),
            notes: call.notes(),
        };
        let ran = run::run(task).await;
        call.sink.end();
        ran
    }

    /// A foreign tool that runs is known from now on, as it is; a changed one only where its change was answered for,
    /// not where the mode kept the question back.
    fn keep_pin(call: &Call, ready: &Ready, approved: &Approved) {
        let subject = &approved.stated.subject;
        let is_unseen = matches!(subject.pin, Pin::Changed(_)) && approved.shown.is_none();
        let Some(pins) = call.session.pins().filter(|_| subject.pin != Pin::Known && !is_unseen) else {
            return;
        };
        if let Err(failure) = pins.keep(&ready.offer) {
            call.warn(format!("this tool will ask again, since it can't be remembered: {failure}"));
        }
    }

    fn seal(call: &mut Call, end: &mut End, tool: &dyn AnyTool, approved: &Approved) {
        let spec = tool.spec();
        if let (Outcome::Completed, Some(value)) = (&end.outcome, &end.output.structured)
            && let Some(checker) = call.offer.as_ref().and_then(|offer| offer.output.as_deref())
            && let Some(problems) = checker.problems(value)
        {
            end.misfit(&spec.name, &problems);
        }
        let spill = || {
            let from_spill = Self::reads_spill_only(call, approved);
            (!from_spill).then(|| (call.session.spill(), call.id.to_string()))
        };
        // Before it is bounded, so that what goes to disk is masked too.
        call.session.masks().output(&mut end.output);
        let before = end.output.truncation.is_some();
        seal::bound(&mut end.output, Limits::of(spec), spill);
        if let Some(truncation) = &end.output.truncation
            && (!before || truncation.path.is_some())
        {
            call.warn_cut(truncation);
        }
        call.step(TraceStep::new("seal", if end.output.truncation.is_some() { "cut" } else { "ok" }));
    }

    /// A spilled result read back doesn't spill again.
    fn reads_spill_only(call: &Call, approved: &Approved) -> bool {
        let Some(folder) = call.session.spill().root() else { return false };
        let touches = approved.stated.subject.effects.touches();
        !touches.is_empty()
            && touches
                .iter()
                .all(|touch| touch.path().is_some_and(|path| path.absolute().starts_with(&folder)))
    }
}

/// What a call will hold.
pub(crate) fn claims(stated: &Stated) -> Claims {
    Claims { effects: stated.subject.effects.clone(), concurrency_safe: stated.concurrency_safe }
}

/// Whether a tool hands words of its input to programs.
fn hands_on(spec: &Spec) -> bool {
    spec.capabilities.iter().any(|tag| tag.starts_with("shell.") || tag.starts_with("package."))
}

fn guarded<T>(work: impl FnOnce() -> Result<T, Failure>) -> Result<T, Failure> {
    std::panic::catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| {
        Err(Failure::new(FailureKind::Internal, "the tool failed while it read its input"))
    })
}
