//! Output far beyond the bound, in a process of its own, so that its peak of memory is that of the one call.

use crate::kit::{Again, given_folder, probe};
use haft_core::{Output, Shape};
use haft_test::Harness;
use serde_json::json;
use std::{
    fmt::Write,
    io::{BufRead, BufReader},
    path::Path,
    time::Duration,
};
use tokio::task::yield_now;

const PIECES: u64 = 1_024;
const LINES_A_PIECE: u64 = 64;
/// A number of 1,023 digits and a line end: no line is like another.
const LINE_BYTES: u64 = 1_024;
const GROWTH_MAX_KIB: u64 = 32 * 1_024;
const SAYS: &str = "peak-growth-kib=";

/// The most memory that this process ever had.
fn peak_kib() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix("kB")?.trim().parse().ok()
}

#[tokio::test]
async fn as_a_child_it_pushes_64_mib_through_a_capture() {
    if given_folder().is_none() {
        return;
    }
    let kit = Harness::new();
    kit.register(probe("flood").with(|spec| spec.with_timeout(Duration::from_secs(300))).run(
        |_, cx| async move {
            let mut capture = cx.sink.capture(Shape::HeadTail);
            let mut piece = String::new();
            for number in 0..PIECES {
                piece.clear();
                for line in 0..LINES_A_PIECE {
                    let _ = writeln!(piece, "{:01023}", number * LINES_A_PIECE + line);
                }
                capture.push(piece.as_bytes());
                yield_now().await;
            }
            let captured = capture.finish();
            Ok(Output { truncation: captured.truncation, ..Output::text(captured.text) })
        },
    ));
    let before = peak_kib();
    let ended = kit.call("flood", json!({})).await;
    let after = peak_kib();
    assert!(ended.outcome.is_completed(), "{:?}", ended.outcome);
    let cut = ended.output.truncation.expect("it is cut");
    let total = PIECES * LINES_A_PIECE * LINE_BYTES;
    assert_eq!((cut.total_bytes, cut.total_lines), (total, PIECES * LINES_A_PIECE));
    assert_eq!(std::fs::metadata(cut.path.unwrap()).unwrap().len(), total);
    if let (Some(before), Some(after)) = (before, after) {
        println!("{SAYS}{}", after - before);
    }
}

#[test]
fn output_of_64_mib_takes_flat_memory_and_is_whole_on_disk() {
    let mut again = Again::run("flat::as_a_child_it_pushes_64_mib_through_a_capture", Path::new("."));
    let out = BufReader::new(again.0.stdout.take().unwrap());
    let lines: Vec<String> = out.lines().map_while(Result::ok).collect();
    assert!(again.0.wait().unwrap().success(), "{lines:#?}");
    let growth: Option<u64> = lines
        .iter()
        .find_map(|line| Some(line.split_once(SAYS)?.1.trim()))
        .and_then(|text| text.parse().ok());
    match growth {
        Some(growth) => assert!(growth < GROWTH_MAX_KIB, "its peak grew by {growth} KiB"),
        None => panic!("the child said nothing of its memory: {lines:#?}"),
    }
}
