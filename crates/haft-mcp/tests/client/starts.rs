//! Servers from their first byte to their last.

use crate::kit::{Bench, by_shell, lines, marked, program, setup, stdio, trace, until};
use haft_core::{Cancel, StateFolder};
use haft_mcp::client::{McpClients, Oddities, ServerConfig, Transport};
use haft_test::Harness;
use serde_json::{Value, json};
use std::{
    path::Path,
    process,
    time::{Duration, SystemTime},
};

fn echo() -> Value {
    json!([{"name": "echo", "inputSchema": {"type": "object"}}])
}

#[tokio::test]
async fn what_is_written_beside_the_protocol_is_passed_over_and_counted() {
    type Count = fn(&Oddities) -> usize;
    let on = |moment: &str, steps: Value| json!({"on": {moment: steps}});
    let reply = json!({"jsonrpc": "2.0", "id": "$ID", "result": {"tools": echo()}});
    let cases: [(&str, Value, Count, usize); 11] = [
        (
            "lines of a log",
            on("start", json!([{"write": "Server started\n[info] x\n{\"level\": \"info\"}\n"}])),
            |odd| odd.noise,
            3,
        ),
        (
            "byte order mark, blank lines, line ends of another system",
            on("start", json!([{"write": "\u{feff}\r\n\n   \r\n\u{feff}"}])),
            |odd| odd.noise + odd.not_text,
            0,
        ),
        ("bytes that aren't UTF-8", on("start", json!([{"bytes": [255, 254, 10]}])), |odd| odd.not_text, 1),
        (
            "a line of 17 MiB",
            on("start", json!([{"fill": {"with": "x".repeat(1_024), "count": 17 * 1_024, "after": "\n"}}])),
            |odd| odd.overlong,
            1,
        ),
        (
            "replies to nothing",
            on(
                "start",
                json!([{"line": {"jsonrpc": "2.0", "id": "1", "result": {}}}, {"line": {"jsonrpc": "2.0", "id": 77, "result": {}}}]),
            ),
            |odd| odd.unasked,
            2,
        ),
        ("each reply twice", on("tools/list", json!([{"usual": 1}, {"usual": 1}])), |odd| odd.unasked, 1),
        ("a batch", on("tools/list", json!([{"line": [reply, 7]}])), |odd| odd.noise, 0),
        (
            "a reply in pieces",
            on(
                "tools/list",
                json!([
                    {"write": "{\"jsonrpc\": \"2.0\", \"id\":"}, {"wait": 30}, {"write": "\"$ID\""}, {"wait": 30},
                    {"write": format!(", \"result\": {{\"tools\": {}}}}}\n", echo())},
                ]),
            ),
            |odd| odd.noise,
            0,
        ),
        (
            "a reply with an error that is none, and without a version",
            on("tools/list", json!([{"line": {"id": "$ID", "error": null, "result": {"tools": echo()}}}])),
            |odd| odd.unasked,
            0,
        ),
        (
            "a hundred questions at once",
            on(
                "tools/list",
                json!([
                    {"fill": {"with": "{\"jsonrpc\": \"2.0\", \"id\": 5, \"method\": \"ping\"}\n", "count": 100}}, {"usual": 1},
                ]),
            ),
            |odd| odd.noise,
            0,
        ),
        ("20 MB on standard error", on("start", json!([{"stderrKiB": 20_000}])), |odd| odd.noise, 0),
    ];
    for (what, script, count, expected) in cases {
        let bench = Bench::new(&script).ready().await;
        assert_eq!(bench.problems(), Vec::<String>::new(), "{what}");
        assert!(bench.text("echo", json!({"text": "hi"})).await.contains("hi"), "{what}");
        assert_eq!(count(&bench.oddities()), expected, "{what}: {:?}", bench.oddities());
        assert!(bench.log().len() < 100_000, "{what}");
        bench.finish().await;
    }
}

#[tokio::test]
async fn a_flood_of_changes_is_left_out_and_the_server_used() {
    let line = "{\"jsonrpc\": \"2.0\", \"method\": \"notifications/x\"}\n";
    let script = json!({"on": {"tools/list": [{"fill": {"with": line, "count": 20_000}}, {"usual": 1}]}});
    let bench = Bench::new(&script).ready().await;
    assert!(bench.text("echo", json!({"text": "hi"})).await.contains("hi"));
    assert!(bench.oddities().left_out > 0);
    bench.finish().await;
}

#[tokio::test]
async fn a_server_that_fails_at_any_stage_says_why_and_what_it_wrote() {
    let on = |moment: &str, steps: Value| json!({"on": {moment: steps}});
    for (what, script, says) in [
        (
            "at once",
            on("start", json!([{"stderr": "no database"}, {"exit": 3}])),
            &["code 3", "no database"][..],
        ),
        ("greeted", on("initialize", json!([{"exit": 4}])), &["code 4"][..]),
        ("listed", on("tools/list", json!([{"exit": 5}])), &["code 5"][..]),
        (
            "after its greeting",
            on("notifications/initialized", json!([{"exit": 0}])),
            &["ended by itself"][..],
        ),
        (
            "an error",
            on("initialize", json!([{"error": {"code": -32603, "message": "no licence"}}])),
            &["no licence"][..],
        ),
        ("no list", on("tools/list", json!([{"error": {"code": -1, "message": "broken"}}])), &["broken"][..]),
        (
            "another version",
            on("initialize", json!([{"result": {"protocolVersion": "1999-01-01", "capabilities": {}}}])),
            &["speaks the protocol of \"1999-01-01\""][..],
        ),
        ("no greeting at all", on("initialize", json!([{"result": "hi"}])), &["can't talk to it"][..]),
        (
            "a later era alone",
            on("server/discover", json!([{"result": {"supportedVersions": ["2031-01-01"]}}])),
            &["[\"2031-01-01\"] and nothing else"][..],
        ),
    ] {
        let bench = Bench::new(&script);
        let said = bench.refusal().await;
        for words in says {
            assert!(said.contains(words), "{what}: {said}");
        }
        assert!(bench.problems()[0].contains("couldn't be started"), "{what}: {:?}", bench.problems());
        assert_eq!(bench.tools(), Vec::<String>::new());
        bench.finish().await;
    }
}

#[tokio::test]
async fn a_server_that_hangs_or_is_slow_is_given_up_in_time() {
    let short = |config: &mut ServerConfig| {
        config.limits.start = Duration::from_millis(1_500);
        config.limits.idle = Duration::from_millis(500);
    };
    for (what, on) in [
        ("mute from the start", json!({"start": [{"hang": 1}]})),
        ("mute when greeted", json!({"initialize": [{"hang": 1}]})),
        ("mute when listed", json!({"tools/list": [{"hang": 1}]})),
        ("slow", json!({"start": [{"wait": 60_000}]})),
    ] {
        let bench = Bench::with(Harness::new(), &json!({"on": on}), short);
        let said = bench.refusal().await;
        assert!(said.contains("1 s") || said.contains("500 ms"), "{what}: {said}");
        bench.finish().await;
    }
}

#[tokio::test]
async fn a_server_that_closes_its_streams_and_lives_on_is_given_up_in_time() {
    let mark = format!("4{}", process::id());
    for closed in [">&-", "<&-", "<&- >&-"] {
        let harness = Harness::new();
        let transport = by_shell(&harness, &json!({}), &format!("exec {closed}; exec sleep {mark}"));
        let short = |config: &mut ServerConfig| config.limits.start = Duration::from_millis(1_500);
        let bench = Bench::reaching(harness, transport, short);
        let said = bench.refusal().await;
        assert!(said.contains("the server s"), "{closed}: {said}");
        bench.finish().await;
        until("its process lives on", || marked(&mark) == 0).await;
    }
}

#[tokio::test]
async fn a_program_that_is_not_there_is_named() {
    let harness = Harness::new();
    let transport = program(&harness, &["/no/such/program"]);
    let bench = Bench::reaching(harness, transport, |_| {});
    let said = bench.refusal().await;
    assert!(said.contains("/no/such/program") || said.contains("isn't there"), "{said}");
    bench.finish().await;
}

#[tokio::test]
async fn both_eras_are_spoken_and_the_probe_is_no_hurdle() {
    for (era, protocol, is_modern) in [
        ("legacy", "2025-11-25", false),
        ("modern", "2026-07-28", true),
        ("both", "2026-07-28", true),
        ("mute", "2025-11-25", false),
    ] {
        let bench = Bench::new(&json!({"era": era}));
        let report = bench.clients.look("s", &Cancel::new()).await.unwrap();
        assert_eq!((report.protocol.as_str(), report.is_modern), (protocol, is_modern), "{era}");
        assert_eq!(report.info["name"], "fixture", "{era}");
        assert!(report.took_ms < 3_000, "{era} took {} ms", report.took_ms);
        assert!(bench.text("echo", json!({"text": "hi"})).await.contains("hi"), "{era}");
        bench.finish().await;
    }
}

#[tokio::test]
async fn a_server_that_starts_more_slowly_than_the_probe_waits_is_still_asked_in_its_own_era() {
    // Twice as long as the silence after which it is greeted the older way.
    let bench = Bench::new(&json!({"era": "modern", "on": {"start": [{"wait": 4_000}]}}));
    let report = bench.clients.look("s", &Cancel::new()).await.unwrap();
    assert!(report.is_modern, "{report:?}");
    assert!(bench.text("echo", json!({"text": "hi"})).await.contains("hi"));
    bench.finish().await;
}

#[tokio::test]
async fn a_server_that_is_known_for_the_newer_era_has_all_the_time_to_start_in_it() {
    let bench = Bench::new(&json!({"era": "modern"})).ready().await;
    let older = trace(&bench.harness, "older");
    let note = json!({"append": {"file": older, "text": "older"}});
    let slow =
        json!({"era": "modern", "on": {"start": [{"wait": 3_000}], "initialize": [note, {"usual": 1}]}});
    let bench = bench.anew(&slow).await;
    assert!(bench.text("echo", json!({"text": "hi"})).await.contains("hi"));
    assert_eq!(lines(&older), 0, "it was never greeted the older way");
    bench.finish().await;
}

#[tokio::test]
async fn tools_that_are_known_stay_where_a_start_fails() {
    for era in ["legacy", "modern"] {
        let bench = Bench::new(&json!({"era": era})).ready().await;
        let broken = json!({"era": era, "on": {"start": [{"stderr": "no database"}, {"exit": 3}]}});
        let bench = bench.anew(&broken).await;
        let failure = bench.failure("echo", json!({})).await;
        assert!(failure.text.contains("no database"), "{era}: {}", failure.text);
        assert_eq!(bench.tools(), ["mcp__s__echo"], "{era}");
        bench.clients.forget_era("s").unwrap();
        assert!(!bench.refusal().await.contains("haft mcp test"), "{era}");
        let bench = bench.anew(&json!({"era": era})).await;
        assert_eq!(bench.tools(), ["mcp__s__echo"], "{era}");
        assert!(bench.text("echo", json!({"text": "hi"})).await.contains("hi"), "{era}");
        bench.finish().await;
    }
}

#[tokio::test]
async fn a_call_of_a_server_that_is_not_up_says_what_is_wrong_with_it() {
    let bench = Bench::new(&json!({"on": {"start": [{"stderr": "no database"}, {"exit": 3}]}})).ready().await;
    let ended = bench.call("anything", json!({})).await;
    let text = ended.output.joined_text();
    for part in ["Unknown tool: mcp__s__anything", "MCP server s", "code 3", "no database"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    bench.finish().await;
}

#[tokio::test]
async fn a_server_that_was_not_heard_yet_is_a_problem_until_it_is() {
    let bench = Bench::new(&json!({"on": {"start": [{"until": "go on"}]}}));
    bench.clients.ready(Duration::from_millis(500)).await;
    assert!(bench.problems()[0].contains("hasn't said yet what tools it has"), "{:?}", bench.problems());
    let text = bench.call("echo", json!({})).await.output.joined_text();
    assert!(text.contains("hasn't said yet what tools it has"), "{text}");
    bench.finish().await;
}

#[tokio::test]
async fn servers_of_the_older_era_are_told_what_clients_in_front_may_lend() {
    for (are_expected, pass_roots, sampling, roots) in
        [(false, true, false, false), (true, false, true, false), (true, true, true, true)]
    {
        let harness = Harness::new();
        let told = trace(&harness, "told");
        let script = json!({"on": {"initialize": [
            {"append": {"file": told, "text": "\"$PARAMS\""}}, {"usual": 1},
        ]}});
        let mut config = ServerConfig::new("s", stdio(&harness, &script, "haft-told-"));
        config.pass_roots = pass_roots;
        let setup = setup(&harness);
        if are_expected {
            setup.fronts.expect_clients();
        }
        let clients = McpClients::new(setup, vec![config]);
        clients.look("s", &Cancel::new()).await.unwrap();
        let params: Value = serde_json::from_str(&std::fs::read_to_string(&told).unwrap()).unwrap();
        let capabilities = params["capabilities"].as_object().unwrap();
        let has = |name: &str| capabilities.contains_key(name);
        assert!(has("elicitation"));
        assert_eq!((has("sampling"), has("roots")), (sampling, roots), "{capabilities:?}");
        clients.close().await;
    }
}

#[tokio::test]
async fn a_server_that_dies_of_the_probe_is_started_again_and_greeted_the_older_way() {
    let bench = Bench::new(&json!({"on": {"server/discover": [{"exit": 1}]}})).ready().await;
    assert!(bench.text("echo", json!({"text": "hi"})).await.contains("hi"));
    bench.finish().await;
}

#[tokio::test]
async fn the_era_and_the_tools_of_a_server_are_remembered_while_it_sleeps() {
    let harness = Harness::new();
    let (asked, started) = (trace(&harness, "asked"), trace(&harness, "started"));
    let script = json!({"era": "mute", "on": {
        "start": [{"append": {"file": started, "text": "started"}}],
        "server/discover": [{"append": {"file": asked, "text": "asked"}}],
    }});
    let bench = Bench::with(harness, &script, |_| {}).ready().await;
    assert_eq!((lines(&started), lines(&asked)), (1, 1));
    let bench = bench.anew(&script).await;
    assert_eq!(bench.tools(), ["mcp__s__echo"], "known before it runs");
    assert!(bench.clients.are_known());
    assert_eq!(lines(&started), 1, "and it doesn't run for that");
    assert!(bench.text("echo", json!({"text": "hi"})).await.contains("hi"));
    assert_eq!((lines(&started), lines(&asked)), (2, 1), "greeted at once in the way that it knows");
    bench.finish().await;
}

/// What is remembered, and when it was written.
fn remembered(bench: &Bench) -> Vec<(String, SystemTime)> {
    let state: &dyn StateFolder = &**bench.harness.state();
    let is_kept = |name: &str| Path::new(name).extension().is_some_and(|ending| ending == "json");
    let files = state.list("mcp").into_iter().filter(|entry| is_kept(&entry.name));
    files.map(|entry| (entry.name, entry.modified)).collect()
}

#[tokio::test]
async fn what_is_remembered_is_written_only_where_it_changed() {
    let bench = Bench::new(&json!({})).ready().await;
    let first = remembered(&bench);
    assert_eq!(first.len(), 2, "of both servers");
    let bench = bench.anew(&json!({})).await;
    bench.clients.look("s", &Cancel::new()).await.unwrap();
    assert_eq!(remembered(&bench), first, "nothing was said that wasn't known");
    let bench = bench.anew(&json!({"tools": [{"name": "other", "inputSchema": {"type": "object"}}]})).await;
    bench.clients.look("s", &Cancel::new()).await.unwrap();
    assert_ne!(remembered(&bench), first);
    bench.finish().await;
}

#[tokio::test]
async fn what_was_remembered_of_another_command_does_not_count() {
    let harness = Harness::new();
    let config = |program: &str| {
        let mut config = ServerConfig::new("s", stdio(&harness, &json!({}), "haft-parts-"));
        config.parts = vec![("command".to_owned(), program.to_owned())];
        config
    };
    for (program, is_known) in [("a", false), ("a", true), ("b", false)] {
        let clients = McpClients::new(setup(&harness), vec![config(program)]);
        assert_eq!(clients.are_known(), is_known, "{program}");
        clients.look("s", &Cancel::new()).await.unwrap();
        clients.close().await;
    }
}

#[tokio::test]
async fn a_server_that_will_not_end_is_killed_with_all_that_it_started() {
    let mark = format!("3{}", process::id());
    let harness = Harness::new();
    // One process in a session of its own, one that ignores being told to end.
    let line = format!("setsid sleep {mark} & trap '' TERM; \"$0\" \"$@\"; sleep {mark}");
    let script = json!({"on": {"end": [{"hang": 1}]}});
    let transport = by_shell(&harness, &script, &line);
    let bench = Bench::reaching(harness, transport, |_| {}).ready().await;
    assert!(bench.text("echo", json!({"text": "hi"})).await.contains("hi"));
    assert!(marked(&mark) > 0);
    bench.finish().await;
    until("its processes live on", || marked(&mark) == 0).await;
}

#[tokio::test]
async fn servers_go_with_their_clients_also_where_nobody_closes_them() {
    let bench = Bench::new(&json!({"on": {"end": [{"hang": 1}]}})).ready().await;
    assert!(bench.processes() > 0);
    bench.gone().await;
}

#[tokio::test]
async fn case_f42_a_server_gets_no_variables_but_those_that_are_named() {
    let harness = Harness::new();
    let script = json!({"tools": [{"name": "env", "inputSchema": {"type": "object"}}]});
    let mut transport = stdio(&harness, &script, "haft-env-");
    let Transport::Stdio { command, .. } = &mut transport else { panic!("a process") };
    command.env.push(("NAMED".to_owned(), "passed".to_owned()));
    let bench = Bench::reaching(harness, transport, |_| {}).ready().await;
    // Those who run this set the first one.
    assert!(std::env::var("CARGO_MANIFEST_DIR").is_ok());
    for (name, value) in [("CARGO_MANIFEST_DIR", "unset"), ("NAMED", "passed")] {
        assert!(bench.text("env", json!({"name": name})).await.contains(value), "{name}");
    }
    bench.finish().await;
}
