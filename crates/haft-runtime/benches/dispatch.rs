//! What the call path costs around a tool that does nothing, up to each step that can end a call.
//!
//! Each row ends the call at a later step, so the difference between two rows is what lies between them. Calls
//! are made from a worker of the runtime, [`BATCH`] in a row; the figures are for a batch.

#![expect(clippy::expect_used, reason = "a bench fails by panicking")]

use haft_core::{Request, Risk, tool};
use haft_policy::{Action, Mode};
use haft_test::{Answers, Harness, HarnessSetup};
use std::sync::Arc;
use tokio::runtime::Runtime;

/// Calls a sample.
const BATCH: usize = 1_000;

fn main() {
    divan::main();
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Input {
    #[expect(dead_code, reason = "only parsed")]
    text: String,
    #[expect(dead_code, reason = "only parsed")]
    count: Option<u32>,
}

struct Bench {
    runtime: Runtime,
    kit: Arc<Harness>,
}

fn bench(recorded: bool, rules: Vec<(Action, String)>) -> Bench {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let runtime = runtime.expect("a runtime");
    let within = runtime.enter();
    let kit = Harness::with(HarnessSetup { mode: Mode::Default, answers: Answers::yes(), rules, recorded });
    let nothing = tool("nothing", "Does nothing.")
        .read_only()
        .touches_nothing()
        .risk(Risk::Safe)
        .with(haft_core::Spec::concurrency_safe)
        .run(|_: Input, _| async move { Ok("") });
    kit.register(nothing);
    drop(within);
    Bench { runtime, kit: Arc::new(kit) }
}

fn run(bencher: divan::Bencher<'_, '_>, bench: &Bench, name: &'static str, input: &'static str) {
    bencher.counter(divan::counter::ItemsCount::new(BATCH)).bench_local(|| {
        let kit = Arc::clone(&bench.kit);
        let batch = async move {
            for _ in 0..BATCH {
                let running = kit.executor().submit(kit.session(), Request::new(name, input));
                divan::black_box(running.await);
            }
        };
        bench.runtime.block_on(bench.runtime.spawn(batch)).expect("the batch");
    });
}

const GOOD: &str = r#"{"text": "a", "count": 3}"#;

#[divan::bench]
fn a_unknown_tool_ends_at_resolve(bencher: divan::Bencher<'_, '_>) {
    run(bencher, &bench(false, Vec::new()), "zzz", GOOD);
}

#[divan::bench]
fn b_broken_json_ends_at_parse(bencher: divan::Bencher<'_, '_>) {
    run(bencher, &bench(false, Vec::new()), "nothing", "{");
}

#[divan::bench]
fn c_wrong_type_ends_at_validate(bencher: divan::Bencher<'_, '_>) {
    run(bencher, &bench(false, Vec::new()), "nothing", r#"{"text": 3}"#);
}

#[divan::bench]
fn d_denied_ends_at_judge(bencher: divan::Bencher<'_, '_>) {
    run(bencher, &bench(false, vec![(Action::Deny, "nothing".to_owned())]), "nothing", GOOD);
}

#[divan::bench]
fn e_completed_without_log(bencher: divan::Bencher<'_, '_>) {
    run(bencher, &bench(false, Vec::new()), "nothing", GOOD);
}

#[divan::bench]
fn f_completed_with_log(bencher: divan::Bencher<'_, '_>) {
    run(bencher, &bench(true, Vec::new()), "nothing", GOOD);
}
