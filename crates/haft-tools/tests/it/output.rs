//! Output of any length: bounded for the model, whole on disk, and read from there.

use crate::kit::{PATIENCE, bash, call, done, has, kit, read, spilled};
use haft_core::{Ended, Event, Progress, Truncation};
use haft_test::Harness;
use serde_json::json;
use std::fs;
use tokio::time::timeout;

fn cut(ended: &Ended) -> Truncation {
    ended.output.truncation.clone().expect("it is cut")
}

fn whole(ended: &Ended) -> String {
    cut(ended).path.expect("it is kept")
}

async fn sixty_thousand(kit: &Harness) -> Ended {
    call(kit, "bash", json!({"command": "seq 1 60000; echo FAIL: z >&2; exit 3"})).await
}

#[tokio::test(flavor = "multi_thread")]
async fn case_f26_head_tail_status_and_the_path_of_all_of_it() {
    let kit = kit();
    let mut events = kit.session().events();
    let ended = sixty_thousand(&kit).await;
    let text = done(&ended);
    assert!(text.starts_with("1\n2\n3\n"), "{}", &text[..60]);
    has(&text, &["\n60000\nFAIL: z\n", "[exit 3]"]);
    let cut = cut(&ended);
    assert_eq!(cut.total_lines, 60_001);
    has(&text, &[&format!("{} lines", cut.total_lines - cut.shown_lines), &whole(&ended), "read and grep"]);
    assert!(text.len() <= 51_200 + 1_024, "{} bytes", text.len());
    let kept = fs::read_to_string(whole(&ended)).unwrap();
    assert!(kept.starts_with("1\n2\n") && kept.ends_with("60000\nFAIL: z\n"));
    assert_eq!(kept.lines().count(), 60_001);
    let warned = std::iter::from_fn(|| events.try_next()).any(|event| {
        matches!(event, Event::Progress { progress: Progress::Warning(text), .. } if text.contains("left out"))
    });
    assert!(warned, "a person is told too");
}

#[tokio::test(flavor = "multi_thread")]
async fn case_f26_a_character_split_between_reads_stays_whole() {
    let kit = kit();
    let command = r"printf 'ok \xe2'; sleep .2; printf '\x9c\x93\n'";
    assert_eq!(bash(&kit, command).await.body, "ok ✓\n");
    let command = r"for byte in '\xf0' '\x9f' '\x98' '\x80'; do printf $byte; sleep .05; done";
    assert_eq!(bash(&kit, command).await.body, "😀\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn case_f26_progress_and_repeats_collapse_and_colours_go() {
    let kit = kit();
    for (command, body) in [
        (r"printf '10%%\r50%%\r100%%\ndone\n'", "100%\ndone\n"),
        (r"printf '\033[1;31mred\033[0m\n'", "red\n"),
        ("for i in 1 2 3 4 5 6; do echo same; done", "same\n[the line above came 5 more times]\n"),
        (r"printf 'a\r\nb\r\n'", "a\nb\n"),
    ] {
        assert_eq!(bash(&kit, command).await.body, body, "{command}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn sixty_four_mebibytes_are_bounded_with_the_path_of_the_rest() {
    let kit = kit();
    let input = json!({"command": "seq 1 8600000; echo the end", "timeout": 600_000});
    let ended = timeout(PATIENCE * 4, kit.call("bash", input)).await.expect("it ends");
    let text = done(&ended);
    assert!(text.len() <= 51_200 + 1_024, "{} bytes", text.len());
    has(&text, &["\nthe end\n", "[exit 0]"]);
    let cut = cut(&ended);
    assert!(cut.total_bytes > 64 << 20, "{} bytes", cut.total_bytes);
    assert_eq!(cut.total_lines, 8_600_001);
    assert_eq!(fs::metadata(whole(&ended)).unwrap().len(), cut.total_bytes);
}

#[tokio::test(flavor = "multi_thread")]
async fn one_endless_line_is_bounded_too() {
    let kit = kit();
    let input = json!({"command": "head -c 8388608 /dev/zero | tr '\\0' x; exit 4"});
    let ended = call(&kit, "bash", input).await;
    let text = done(&ended);
    assert!(text.len() <= 51_200 + 1_024, "{} bytes", text.len());
    has(&text, &["[exit 4]"]);
    assert_eq!(fs::metadata(whole(&ended)).unwrap().len(), 8 << 20);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_fits_is_not_spilled() {
    let kit = kit();
    let ended = call(&kit, "bash", json!({"command": "seq 1 1990"})).await;
    assert!(ended.output.truncation.is_none());
    assert_eq!(done(&ended).lines().count(), 1_991);
    assert_eq!(spilled(&kit), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_spilled_result_is_read_and_searched_by_its_path_and_not_spilled_again() {
    let kit = kit();
    let path = whole(&sixty_thousand(&kit).await);
    assert_eq!(spilled(&kit), 1);
    let asked = kit.answers().asked().len();
    let text = done(&call(&kit, "read", json!({"path": path, "offset": 30_000, "limit": 2})).await);
    has(&text, &["30000│30000\n30001│30001\n", "read on with offset=30002"]);
    has(&done(&call(&kit, "read", json!({"path": path, "offset": -1})).await), &["60001│FAIL: z"]);
    let text = done(&call(&kit, "grep", json!({"pattern": "^FAIL", "path": path})).await);
    has(&text, &[":60001:FAIL: z", "1 match in 1 file"]);
    // More than fits is shown by the page, and all of it stands where it stood.
    has(&done(&read(&kit, &path).await), &["2000│2000", "read on with offset=2001"]);
    has(
        &done(&call(&kit, "grep", json!({"pattern": "1", "path": path, "limit": 500})).await),
        &["more, go on with offset=500"],
    );
    assert_eq!(spilled(&kit), 1);
    assert_eq!(kit.answers().asked().len(), asked, "nobody is asked for it");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_path_that_a_read_names_can_be_read() {
    let kit = kit();
    let path = whole(&sixty_thousand(&kit).await);
    let named = whole(&read(&kit, &path).await);
    has(&done(&call(&kit, "read", json!({"path": named, "offset": 60_001})).await), &["FAIL: z"]);
    let text = done(&call(&kit, "read", json!({"path": path, "offset": 70_000})).await);
    has(&text, &[&path, "60,001 lines"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_listing_stays_within_its_bound_and_counts_the_rest() {
    let kit = kit();
    kit.sh(
        "mkdir many; cd many; for i in $(seq 1 40); do mkdir d$i; (cd d$i; seq 1 100 | xargs touch); done",
    )
    .await;
    for (tool, input) in [
        ("glob", json!({"pattern": "many/**", "limit": 100_000})),
        ("grep", json!({"pattern": "x", "path": "many", "mode": "files"})),
        ("tree", json!({"path": "many", "limit": 100_000})),
    ] {
        let ended = call(&kit, tool, input).await;
        let text = done(&ended);
        assert!(ended.output.truncation.is_none() && text.len() <= 51_200, "{tool}: {} bytes", text.len());
    }
    let text = done(&call(&kit, "glob", json!({"pattern": "many/**", "limit": 10})).await);
    has(&text, &["[10 of 4,000 files shown", "raise limit"]);
}
