//! The effects model, before any tool: random trees of conflicting calls against a history checker, and
//! faults seeded into admission that the checker must catch.

use super::{Admission, Claims, Queue, Seat, queue::Fault};
use haft_core::{CallId, Effects, RealPath, Touch};
use proptest::{prelude::*, test_runner::TestRunner};
use std::sync::{
    Arc, Mutex,
    atomic::{AtomicUsize, Ordering},
};

/// One call of a random tree.
#[derive(Debug, Clone)]
struct Planned {
    id: CallId,
    /// What it touches, by names that links may move.
    touches: Vec<(bool, u8)>,
    kind: Kind,
    /// A name and what it points to from the end of this call on.
    link: Option<(u8, u8)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Plain,
    Alone,
    Unstated,
    Delegated,
}

/// What each name stands for; a link made by one call changes what it means for those that wait.
#[derive(Clone, Default)]
struct Names(Arc<Mutex<[Option<u8>; 6]>>);

impl Names {
    fn resolve(&self, name: u8) -> u8 {
        self.0.lock().unwrap()[usize::from(name)].unwrap_or(name)
    }

    fn link(&self, name: u8, to: u8) {
        let target = self.resolve(to);
        self.0.lock().unwrap()[usize::from(name)] = Some(target);
    }
}

#[derive(Debug, Clone)]
struct Span {
    id: CallId,
    /// The claims by what the names really were while it ran.
    claims: Claims,
    from: usize,
    to: usize,
}

fn claims(call: &Planned, names: &Names) -> Claims {
    let effects = match call.kind {
        Kind::Unstated => Effects::Everything,
        Kind::Delegated => Effects::Delegated,
        Kind::Plain | Kind::Alone => Effects::Only(
            call.touches
                .iter()
                .map(|(write, name)| {
                    let path = RealPath::new("/w", &format!("d{}/x", names.resolve(*name)));
                    if *write { Touch::Write(path) } else { Touch::Read(path) }
                })
                .chain(call.link.map(|(name, _)| Touch::WriteTree(RealPath::new("/w", &format!("d{name}")))))
                .collect(),
        ),
    };
    Claims { effects, concurrency_safe: call.kind != Kind::Alone }
}

/// Runs a tree of calls on the queue and returns when each held its claims.
fn history(plan: &[Planned], fault: Fault) -> Vec<Span> {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        let queue = Queue::with_fault(fault);
        let names = Names::default();
        let (ticks, spans) = (Arc::new(AtomicUsize::new(0)), Arc::new(Mutex::new(Vec::new())));
        let outer: Vec<&Planned> = plan.iter().filter(|call| call.id.0.len() == 1).collect();
        let seats: Vec<(Planned, Seat)> =
            outer.iter().map(|call| ((*call).clone(), queue.reserve(call.id.clone()))).collect();
        let mut tasks = Vec::new();
        for (call, seat) in seats {
            let inner: Vec<Planned> =
                plan.iter().filter(|other| other.id.is_inside(&call.id)).cloned().collect();
            let (queue, names, ticks, spans) =
                (queue.clone(), names.clone(), Arc::clone(&ticks), Arc::clone(&spans));
            tasks.push(tokio::spawn(async move {
                let context = (&names, &*ticks, &*spans);
                one(&call, seat, context, async {
                    let seats: Vec<(Planned, Seat)> = inner
                        .into_iter()
                        .map(|call| {
                            let seat = queue.reserve(call.id.clone());
                            (call, seat)
                        })
                        .collect();
                    let inner = seats.into_iter().map(|(call, seat)| async move {
                        one(&call, seat, context, async {}).await;
                    });
                    futures::future::join_all(inner).await;
                })
                .await;
            }));
        }
        for task in tasks {
            task.await.unwrap();
        }
        assert!(queue.is_empty(), "every place is given up");
        std::mem::take(&mut *spans.lock().unwrap())
    })
}

async fn one(
    call: &Planned,
    seat: Seat,
    (names, ticks, spans): (&Names, &AtomicUsize, &Mutex<Vec<Span>>),
    inside: impl Future<Output = ()>,
) {
    // Calls take different numbers of steps until they know what they touch.
    for _ in 0..call.id.0.iter().sum::<u64>() * 7 % 5 {
        tokio::task::yield_now().await;
    }
    seat.declare(claims(call, names));
    while seat.admitted().await == Admission::LookAgain {
        seat.declare(claims(call, names));
    }
    let span = (claims(call, names), ticks.fetch_add(1, Ordering::Relaxed));
    for _ in 0..3 {
        tokio::task::yield_now().await;
    }
    inside.await;
    if let Some((name, to)) = call.link {
        names.link(name, to);
    }
    let to = ticks.fetch_add(1, Ordering::Relaxed);
    spans.lock().unwrap().push(Span { id: call.id.clone(), claims: span.0, from: span.1, to });
    drop(seat);
}

/// What must hold of a history: conflicting calls apart and in order, never more than the limit at once.
fn fault_in(spans: &[Span]) -> Option<String> {
    for (index, a) in spans.iter().enumerate() {
        for b in spans.iter().skip(index + 1) {
            if a.id.is_inside(&b.id) || b.id.is_inside(&a.id) {
                continue;
            }
            let (first, second) = if a.id < b.id { (a, b) } else { (b, a) };
            let ordered = first.to < second.from;
            let dispatcher = |span: &Span| span.claims.effects == Effects::Delegated;
            // A dispatcher holds nothing back itself; later calls wait for all it may still do.
            let matters = !dispatcher(second) && first.claims.conflict(&second.claims);
            if matters && !ordered {
                return Some(format!(
                    "{} and {} conflict, yet {first:?} didn't end before {second:?}",
                    first.id, second.id
                ));
            }
        }
    }
    let slots = |span: &&Span| span.claims.takes_slot();
    for at in spans.iter().map(|span| span.from) {
        let running = spans.iter().filter(slots).filter(|span| span.from <= at && at < span.to).count();
        if running > super::RUNNING_MAX {
            return Some(format!("{running} calls ran at once"));
        }
    }
    None
}

/// Mostly calls that get in each other's way; now and then a crowd of readers.
fn plan() -> impl Strategy<Value = Vec<Planned>> {
    prop_oneof![9 => mixed(), 1 => crowd()]
}

fn crowd() -> impl Strategy<Value = Vec<Planned>> {
    (super::RUNNING_MAX..3 * super::RUNNING_MAX).prop_map(|count| {
        let ids = (1..).map(CallId::outer).take(count);
        ids.map(|id| Planned { id, touches: vec![(false, 0)], kind: Kind::Plain, link: None }).collect()
    })
}

fn mixed() -> impl Strategy<Value = Vec<Planned>> {
    let call = (
        prop::collection::vec((prop::bool::weighted(0.4), 0_u8..6), 0..3),
        prop_oneof![8 => Just(Kind::Plain), 1 => Just(Kind::Alone), 1 => Just(Kind::Unstated), 2 => Just(Kind::Delegated)],
        prop::option::weighted(0.2, (0_u8..6, 0_u8..6)),
        prop::collection::vec(prop::collection::vec((prop::bool::weighted(0.5), 0_u8..6), 0..2), 0..3),
    );
    prop::collection::vec(call, 2..24).prop_map(|calls| {
        let mut plan = Vec::new();
        for (number, (touches, kind, link, inner)) in (1..).zip(calls) {
            let id = CallId::outer(number);
            if kind == Kind::Delegated {
                for (number, touches) in (1..).zip(inner) {
                    plan.push(Planned { id: id.inner(number), touches, kind: Kind::Plain, link: None });
                }
            }
            let link = if kind == Kind::Delegated { None } else { link };
            plan.push(Planned { id, touches, kind, link });
        }
        plan
    })
}

fn first_fault(fault: Fault, cases: u32) -> Option<String> {
    let mut runner = TestRunner::new_with_rng(
        ProptestConfig { cases, failure_persistence: None, max_shrink_iters: 0, ..ProptestConfig::default() },
        proptest::test_runner::TestRng::deterministic_rng(prop::test_runner::RngAlgorithm::ChaCha),
    );
    let failed = runner.run(&plan(), |plan| match fault_in(&history(&plan, fault)) {
        Some(what) => Err(TestCaseError::fail(what)),
        None => Ok(()),
    });
    failed.err().map(|error| error.to_string())
}

#[test]
fn conflicting_calls_of_random_trees_keep_apart_and_in_order() {
    assert_eq!(first_fault(Fault::None, 400), None);
}

#[test]
fn seeded_faults_in_admission_are_caught() {
    for fault in [
        Fault::IgnoresUndeclared,
        Fault::IgnoresWaiting,
        Fault::IgnoresRunning,
        Fault::KeepsOldNames,
        Fault::NoLimit,
        Fault::PassesDispatchers,
        Fault::TrustsProvisional,
    ] {
        assert!(first_fault(fault, 400).is_some(), "{fault:?} went unnoticed");
    }
}

#[tokio::test]
async fn a_link_made_between_two_calls_changes_what_the_second_waits_for() {
    let queue = Queue::default();
    let path = |name: &str| RealPath::new("/w", name);
    let only = |touch| Claims { effects: Effects::Only(vec![touch]), concurrency_safe: true };
    let (first, second, third) =
        (queue.reserve(CallId::outer(1)), queue.reserve(CallId::outer(2)), queue.reserve(CallId::outer(3)));
    // 1 makes the link `a` → `real`; 2 writes `a`; 3 reads `real`.
    first.declare(only(Touch::WriteTree(path("a"))));
    second.declare(only(Touch::Write(path("a"))));
    third.declare(only(Touch::Read(path("real"))));
    assert_eq!(first.admitted().await, Admission::Admitted);
    // What 2 said is about to change, so nobody passes it on the strength of the old name.
    assert!(futures::poll!(std::pin::pin!(third.admitted())).is_pending());
    drop(first);
    // And now it is void.
    assert_eq!(third.admitted().await, Admission::LookAgain);
    third.declare(only(Touch::Read(path("real"))));
    assert!(futures::poll!(std::pin::pin!(third.admitted())).is_pending());
    assert_eq!(second.admitted().await, Admission::LookAgain);
    second.declare(only(Touch::Write(path("real"))));
    assert_eq!(second.admitted().await, Admission::Admitted);
    assert!(futures::poll!(std::pin::pin!(third.admitted())).is_pending());
    drop(second);
    while third.admitted().await == Admission::LookAgain {
        third.declare(only(Touch::Read(path("real"))));
    }
}

#[tokio::test]
async fn a_reader_that_ends_voids_nobody() {
    let queue = Queue::default();
    let claims = |touch| Claims { effects: Effects::Only(vec![touch]), concurrency_safe: true };
    let (first, second) = (queue.reserve(CallId::outer(1)), queue.reserve(CallId::outer(2)));
    first.declare(claims(Touch::Read(RealPath::new("/w", "x"))));
    second.declare(claims(Touch::Write(RealPath::new("/w", "x"))));
    assert_eq!(first.admitted().await, Admission::Admitted);
    drop(first);
    assert_eq!(second.admitted().await, Admission::Admitted);
}
