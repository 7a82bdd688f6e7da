//! Servers as sources of tools: named, approved, tried, called, taken over from other tools.

use crate::place::Place;
use serde_json::{Value, json};
use std::{fs, os::unix::fs::PermissionsExt};

/// A server in the shell with one tool `look`, which says what of its environment it sees.
const SERVER: &str = r#"#!/bin/sh
echo "server $1 is here" >&2
while read -r line; do
  id=$(printf '%s' "$line" | sed 's/.*"id":\([0-9]*\).*/\1/')
  say() { printf '{"jsonrpc":"2.0","id":%s,%s}\n' "$id" "$1"; }
  case "$line" in
    *'"method":"server/discover"'*) say '"error":{"code":-32601,"message":"no"}' ;;
    *'"method":"initialize"'*)
      say '"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"shell","version":"7"}}' ;;
    *'"method":"tools/list"'*)
      say '"result":{"tools":[{"name":"look","description":"Looks '"$1"'.","inputSchema":{"type":"object"}}]}' ;;
    *'"method":"tools/call"'*)
      say '"result":{"content":[{"type":"text","text":"key '"${X_API_KEY-unset}"', token '"${HAFT_TOKEN-unset}"', named '"${NAMED-unset}"'"}]}' ;;
  esac
done
"#;

/// A workspace with the server in it.
fn with_server() -> Place {
    let place = Place::new();
    place.write("server.sh", SERVER);
    let path = place.workspace().join("server.sh");
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    place
}

/// The same, and a list that names it.
fn with_list(args: &[&str]) -> Place {
    let place = with_server();
    let list = json!({"mcpServers": {"sh": {"command": "./server.sh", "args": args}}});
    place.write(".mcp.json", &list.to_string());
    place
}

fn states(place: &Place) -> Vec<(String, String)> {
    let listed = place.run(&["mcp", "list", "--json"]).with(0).json();
    let text = |server: &Value, key: &str| server[key].as_str().unwrap().to_owned();
    listed["servers"]
        .as_array()
        .unwrap()
        .iter()
        .map(|server| (text(server, "name"), text(server, "state")))
        .collect()
}

fn state(place: &Place) -> String {
    states(place).remove(0).1
}

#[test]
fn a_server_of_the_workspace_starts_only_as_the_user_approved_it() {
    let place = with_list(&["here"]);
    let tools = place.run(&["tools", "--problems"]).with(0).out;
    assert!(tools.contains("came with the workspace") && tools.contains("haft mcp approve sh"), "{tools}");
    assert_eq!(state(&place), "not approved");
    assert!(!place.run(&["tools", "--json"]).with(0).out.contains("mcp__sh__look"));
    let asked = place.run(&["mcp", "approve", "sh"]).with(2);
    assert!(
        asked.err.contains("./server.sh here") && asked.err.contains("nobody is here to confirm it"),
        "{asked:?}"
    );
    let approved = place.run(&["--yes", "mcp", "approve", "sh"]).with(0);
    assert!(approved.err.contains("all rights that you have"), "{approved:?}");
    assert_eq!(state(&place), "in use");
    assert!(place.run(&["tools", "--json"]).with(0).out.contains("mcp__sh__look"));
    let called = place.run(&["--yes", "call", "mcp__sh__look", "{}"]).with(0);
    assert!(
        called.out.contains("named unset") && called.out.contains("from the MCP server sh"),
        "{called:?}"
    );
    // Another command is another server.
    let list = json!({"mcpServers": {"sh": {"command": "./server.sh", "args": ["elsewhere"]}}});
    place.write(".mcp.json", &list.to_string());
    assert_eq!(state(&place), "changed");
    let tools = place.run(&["tools", "--problems"]).with(0).out;
    assert!(tools.contains("changed since you approved it") && tools.contains("elsewhere"), "{tools}");
    place.run(&["--yes", "call", "mcp__sh__look", "{}"]).with(2);
    place.run(&["--yes", "mcp", "approve", "--all"]).with(0);
    assert_eq!(state(&place), "in use");
}

#[test]
fn all_that_were_approved_are_told_in_one_document() {
    let place = with_server();
    let server = |argument: &str| json!({"command": "./server.sh", "args": [argument]});
    let list = json!({"mcpServers": {"one": server("1"), "two": server("2")}});
    place.write(".mcp.json", &list.to_string());
    let approve = ["--yes", "mcp", "approve", "--all", "--json"];
    let told = |name: &str| json!({"name": name, "approved": true, "changed": true});
    assert_eq!(place.run(&approve).with(0).json(), json!({"approved": [told("one"), told("two")]}));
    assert_eq!(place.run(&approve).with(0).json(), json!({"approved": []}));
    let again = place.run(&["mcp", "approve", "one", "--json"]).with(0).json();
    assert_eq!(again, json!({"name": "one", "approved": true, "changed": false}));
}

#[test]
fn a_damaged_trust_file_closes() {
    let place = with_list(&["here"]);
    place.run(&["--yes", "mcp", "approve", "sh"]).with(0);
    assert_eq!(state(&place), "in use");
    for entry in fs::read_dir(place.home().join("state/trust")).unwrap().flatten() {
        fs::write(entry.path(), "{").unwrap();
    }
    assert_eq!(state(&place), "not approved");
}

#[test]
fn a_servers_tool_asks_at_its_first_use_and_when_it_changed() {
    let place = with_server();
    place.run(&["mcp", "add", "sh", "--", "./server.sh", "one"]).with(0);
    let first = place.run(&["call", "mcp__sh__look", "{}"]);
    assert_ne!(first.status, 0, "nobody is there to be asked: {first:?}");
    place.run(&["--yes", "permissions", "pin", "mcp__sh__look"]).with(0);
    place.write_home(
        "config.toml",
        &fs::read_to_string(place.home().join("config.toml")).unwrap().replace("one", "two"),
    );
    let explained = place.run(&["explain", "mcp__sh__look", "{}"]).out;
    assert!(explained.contains("two"), "what changed is shown: {explained}");
}

#[test]
fn servers_are_named_and_taken_out_and_the_rest_of_the_file_stays() {
    let place = with_server();
    let before = "# mine\n[permissions]\nask = [\"bash\"] # careful\n";
    place.write_home("config.toml", before);
    let added = place.run(&["mcp", "add", "--env", "NAMED", "sh", "--", "./server.sh", "x y"]).with(0);
    assert!(added.out.contains("./server.sh 'x y'") && added.out.contains("haft mcp test sh"), "{added:?}");
    let text = fs::read_to_string(place.home().join("config.toml")).unwrap();
    assert!(
        text.starts_with(before) && text.contains("[mcp.servers.sh]") && text.contains("env = [\"NAMED\"]"),
        "{text}"
    );
    let again = place.run(&["mcp", "add", "--env", "NAMED", "sh", "--", "./server.sh", "x y"]).with(0);
    assert!(again.out.contains("was already in"), "{again:?}");
    place.run(&["mcp", "remove", "sh"]).with(0);
    assert_eq!(fs::read_to_string(place.home().join("config.toml")).unwrap().trim_end(), before.trim_end());
    place.run(&["mcp", "remove", "sh"]).with(2);
    for (words, says) in [
        (&["mcp", "add", "x", "--header", "a: b", "--", "prog"][..], "for a server at an address"),
        (&["mcp", "add", "x", "--env", "A", "https://x.example/"][..], "gets no variables"),
        (&["mcp", "add", "x y", "https://x.example/"][..], "is no name"),
        (
            &["mcp", "add", "--header", "Authorization: Bearer sk-123", "x", "https://x.example/"][..],
            "is written out",
        ),
    ] {
        let refused = place.run(words).with(2);
        assert!(refused.err.contains(says) && !refused.err.contains("sk-123"), "{refused:?}");
    }
}

#[test]
fn a_try_shows_what_a_server_says_and_what_it_wrote() {
    let place = with_server();
    place.run(&["mcp", "add", "sh", "--", "./server.sh", "here"]).with(0);
    let tried = place.run(&["mcp", "test", "sh"]).with(0).out;
    for part in ["works", "shell 7", "protocol 2025-06-18", "1 tools", "mcp__sh__look", "server here is here"]
    {
        assert!(tried.contains(part), "{part}: {tried}");
    }
    let tried = place.run(&["mcp", "test", "sh", "--json"]).with(0).json();
    assert_eq!((&tried["works"], &tried["server"]["tools"]), (&json!(true), &json!(["mcp__sh__look"])));
    place.run(&["mcp", "add", "bad", "--", "sh", "-c", "echo no database >&2; exit 3"]).with(0);
    let failed = place.run(&["mcp", "test", "bad"]).with(1).out;
    assert!(failed.contains("code 3") && failed.contains("no database"), "{failed}");
    assert!(place.run(&["mcp", "test", "nobody"]).with(2).err.contains("bad, sh"));
    // One that doesn't start takes nothing else down.
    let called = place.run(&["--yes", "call", "mcp__sh__look", "{}"]).with(0);
    assert!(called.out.contains("named"), "{called:?}");
}

#[test]
fn case_f42_a_server_sees_no_key_of_hafts_own() {
    let place = with_server();
    place.run(&["mcp", "add", "--env", "NAMED", "sh", "--", "./server.sh", "x"]).with(0);
    let mut command = place.command(&["--yes", "call", "mcp__sh__look", "{}"]);
    let output = command
        .env("X_API_KEY", "s3cr3t-1-value")
        .env("HAFT_TOKEN", "s3cr3t-2-value")
        .env("NAMED", "passed on")
        .output()
        .unwrap();
    let out = String::from_utf8_lossy(&output.stdout);
    assert!(out.contains("key unset, token unset, named passed on"), "{out}");
}

#[test]
fn a_list_for_other_tools_may_name_haft_itself() {
    let place = Place::new();
    let list = json!({"mcpServers": {"haft": {"command": "haft", "args": ["serve", "mcp"]}}});
    place.write(".mcp.json", &list.to_string());
    assert_eq!(state(&place), "haft itself");
    assert_eq!(place.run(&["tools", "--problems"]).with(0).out, "no problems\n");
    assert!(place.run(&["mcp", "approve", "haft"]).with(2).err.contains("haft itself"));
}

#[test]
fn servers_that_start_each_other_in_circles_end() {
    let place = Place::new();
    let haft = env!("CARGO_BIN_EXE_haft");
    // Its own settings name it, so each of them starts the next.
    let home = place.home();
    let (home, workspace) = (home.to_str().unwrap(), place.workspace());
    let line =
        format!("HAFT_HOME='{home}' exec '{haft}' serve mcp --workspace '{}'", workspace.to_str().unwrap());
    place.run(&["mcp", "add", "own", "--", "sh", "-c", &line]).with(0);
    let tools = place.run(&["tools", "--json"]).with(0).out;
    assert!(tools.contains("mcp__own__read") && tools.contains("mcp__own__mcp__own__read"), "{tools}");
    assert!(!tools.contains("mcp__own__mcp__own__mcp__own__mcp__own__"), "{tools}");
}

#[test]
fn one_haft_behind_another_is_a_server_like_others() {
    let place = Place::new();
    place.write("a.txt", "hello there\n");
    let haft = env!("CARGO_BIN_EXE_haft");
    let other = place.beside("other");
    let workspace = place.workspace();
    let line = format!(
        "HAFT_HOME='{}' exec '{haft}' serve mcp --workspace '{}'",
        other.to_str().unwrap(),
        workspace.to_str().unwrap()
    );
    place.run(&["mcp", "add", "--prefix", "far_", "far", "--", "sh", "-c", &line]).with(0);
    let called = place.run(&["--yes", "call", "far_read", r#"{"path": "a.txt"}"#]).with(0);
    assert!(called.out.contains("hello there"), "{called:?}");
    let report = place.run(&["mcp", "test", "far", "--json"]).with(0).json();
    assert_eq!(report["server"]["isModern"], true);
}

#[test]
fn lists_of_other_tools_are_shown_and_taken_over_without_values() {
    let place = with_server();
    let list = json!({"mcpServers": {
        "sh": {"command": "./server.sh", "args": ["x"], "env": {"KEY": "sk-secret", "NAMED": "${NAMED}"}},
        "web": {"url": "https://x.example/mcp", "headers": {"Authorization": "Bearer sk-secret"}},
    }});
    fs::write(place.beside("list.json"), list.to_string()).unwrap();
    let from = |more: &[&str]| {
        let list = place.beside("list.json");
        let words = ["import", "mcp", "--from", list.to_str().unwrap()];
        place.run(&[&words[..], more].concat()).with(0).out
    };
    let shown = from(&[]);
    for part in [
        "sh (the list",
        "new",
        "command: ./server.sh x",
        "set KEY in your environment",
        "nothing was written",
    ] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    assert!(!shown.contains("sk-secret"), "{shown}");
    from(&["--write"]);
    let text = fs::read_to_string(place.home().join("config.toml")).unwrap();
    assert!(text.contains("env = [\"NAMED\"]") && text.contains("[mcp.servers.web]"), "{text}");
    assert!(!text.contains("sk-secret"), "{text}");
    let again = from(&[]);
    assert!(again.contains("there already, passed over"), "{again}");
    place.run(&["import", "mcp", "--from", "nothing.json"]).with(2);
}

#[test]
fn servers_of_the_workspaces_lists_stay_there_and_wait_for_approval() {
    let place = with_server();
    let list = json!({"servers": {
        "sh": {"command": "./server.sh", "args": ["here"], "disabledTools": ["gone"], "alwaysAllow": ["look"]},
        "asks": {"command": "./server.sh", "env": {"KEY": "${input:key}"}},
    }});
    place.write(".vscode/mcp.json", &list.to_string());
    let shown = place.run(&["import", "mcp"]).with(0);
    assert!(
        shown.out.contains(".haft/config.local.toml") && shown.out.contains("without the tool: gone"),
        "{shown:?}"
    );
    for lost in ["\"alwaysAllow\"", "haft permissions allow 'mcp__sh__TOOL'", "${input:key}"] {
        assert!(shown.err.contains(lost), "{lost}: {shown:?}");
    }
    let written = place.run(&["import", "mcp", "--write"]).with(0).out;
    assert!(written.contains("wait for: haft mcp approve"), "{written}");
    assert!(!place.home().join("config.toml").exists(), "it is no server of all workspaces");
    assert_eq!(states(&place), [("sh".to_owned(), "not approved".to_owned())]);
    place.run(&["--yes", "mcp", "approve", "sh"]).with(0);
    assert!(place.run(&["tools", "--json"]).with(0).out.contains("mcp__sh__look"));
}

#[test]
fn servers_that_claude_code_keeps_off_stay_off() {
    let place = with_list(&["here"]);
    let choices = json!({"enabledMcpjsonServers": ["sh"], "disabledMcpjsonServers": ["sh"]});
    place.write(".claude/settings.local.json", &choices.to_string());
    let workspace = place.workspace();
    let here = workspace.to_str().unwrap();
    let own = json!({"mcpServers": {"one": {"command": "sh"}}, "disabledMcpServers": ["one"]});
    let list = json!({"mcpServers": {"all": {"command": "sh"}}, "projects": {here: own}});
    fs::write(place.beside(".claude.json"), list.to_string()).unwrap();
    let shown = place.run(&["import", "mcp", "--json"]).with(0).json();
    let enabled: Vec<(&Value, &Value)> = shown["servers"]
        .as_array()
        .unwrap()
        .iter()
        .map(|server| (&server["name"], &server["enabled"]))
        .collect();
    let expected =
        [("all", true), ("one", false), ("sh", false)].map(|(name, is_on)| (json!(name), json!(is_on)));
    assert_eq!(enabled, expected.iter().map(|(name, is_on)| (name, is_on)).collect::<Vec<_>>());
    let written = place.run(&["import", "mcp", "--write"]).with(0).out;
    assert!(written.contains("state: switched off") && !written.contains("haft mcp approve"), "{written}");
    let expected = [("all", "in use"), ("one", "off"), ("sh", "off")];
    assert_eq!(states(&place), expected.map(|(name, state)| (name.to_owned(), state.to_owned())));
    let problems = place.run(&["tools", "--problems"]).with(0).out;
    assert!(!problems.contains("passed over"), "{problems}");
}

#[test]
fn settings_that_cant_be_read_are_told_and_the_rest_is_imported() {
    let place = Place::new();
    fs::create_dir_all(place.workspace().join(".claude/settings.json")).unwrap();
    fs::write(place.beside(".claude.json"), json!({"mcpServers": {"all": {"command": "sh"}}}).to_string())
        .unwrap();
    let ran = place.run(&["import", "mcp"]).with(0);
    let told = format!("{}{}", ran.out, ran.err);
    assert!(told.contains("all") && told.contains(".claude/settings.json"), "{told}");
}

#[test]
fn only_the_tools_that_a_list_keeps_are_used() {
    let place = with_server();
    for (only, is_used) in [("look", true), ("other", false)] {
        let list =
            json!({"mcpServers": {"sh": {"command": "./server.sh", "args": ["x"], "includeTools": [only]}}});
        place.write(".mcp.json", &list.to_string());
        place.run(&["mcp", "approve", "--yes", "sh"]).with(0);
        assert_eq!(place.run(&["tools", "--json"]).with(0).out.contains("mcp__sh__look"), is_used, "{only}");
    }
}

#[test]
fn a_server_takes_no_others_place_unless_asked_to() {
    let place = with_server();
    let before = "[mcp.servers.sh]\ncommand = 'sleep'\nsandbox = true\n\n[mcp.servers.sh.tools.look]\nenabled = false\n";
    place.write_home("config.toml", before);
    let read = || fs::read_to_string(place.home().join("config.toml")).unwrap();
    let refused = place.run(&["mcp", "add", "sh", "--", "./server.sh", "x"]).with(2);
    for part in ["command, sandbox, tools.look", "haft mcp add --replace sh"] {
        assert!(refused.err.contains(part), "{part}: {refused:?}");
    }
    assert_eq!(read(), before);
    let replaced = place.run(&["mcp", "add", "--replace", "sh", "--", "./server.sh", "x"]).with(0).out;
    assert!(replaced.contains("in place of one with command, sandbox, tools.look"), "{replaced}");
    assert!(read().contains("./server.sh") && !read().contains("sandbox"), "{}", read());
}

#[test]
fn a_server_written_into_an_untrusted_workspace_is_approved_and_taken_out_there() {
    for flag in ["--project", "--local"] {
        let place = with_server();
        let added = place.run(&["mcp", "add", flag, "sh", "--", "./server.sh", "here"]).with(0).out;
        assert!(added.contains("next: haft mcp approve sh"), "{added}");
        assert_eq!(state(&place), "not approved");
        assert!(!place.run(&["tools", "--json"]).with(0).out.contains("mcp__sh__look"));
        let approved = place.run(&["--yes", "mcp", "approve", "sh"]).with(0);
        assert!(approved.err.contains("./server.sh here"), "{approved:?}");
        assert_eq!(state(&place), "in use");
        assert!(place.run(&["tools", "--json"]).with(0).out.contains("mcp__sh__look"));
        place.run(&["mcp", "remove", "sh"]).with(0);
        assert!(states(&place).is_empty());
    }
}

#[test]
fn a_list_of_servers_says_what_of_the_settings_is_none() {
    let place = Place::new();
    place.write_home("config.toml", "[mcp.servers.x]\ncommand = 'a'\nurl = 'https://x.example/'\n");
    let listed = place.run(&["mcp", "list"]).with(0);
    assert!(listed.err.contains("a command or a url, not both"), "{listed:?}");
    let listed = place.run(&["mcp", "list", "--json"]).with(0).json();
    assert_eq!(listed["problems"][0]["line"], 1);
}

#[test]
fn an_address_that_is_no_web_address_is_no_server() {
    let place = Place::new();
    for words in [
        &["mcp", "add", "x", "ftp://u:pass@a.example/"][..],
        &["mcp", "add", "x", "https://a.example/", "more"],
    ] {
        let refused = place.run(words).with(2);
        assert!(refused.err.contains("https://") && !refused.err.contains("pass"), "{refused:?}");
    }
    assert!(!place.home().join("config.toml").exists());
}

#[test]
fn a_server_that_is_not_up_is_named_by_what_is_wrong_with_it() {
    let place = with_list(&["here"]);
    let waiting = place.run(&["--yes", "call", "mcp__sh__look", "{}"]).with(2);
    assert!(
        waiting.out.contains("haft mcp approve sh") || waiting.err.contains("haft mcp approve sh"),
        "{waiting:?}"
    );
    place.run(&["mcp", "add", "bad", "--", "sh", "-c", "echo no database >&2; exit 3"]).with(0);
    let failed = place.run(&["--yes", "call", "mcp__bad__x", "{}"]).with(2);
    assert!(failed.out.contains("no database") || failed.err.contains("no database"), "{failed:?}");
    let tried = place.run(&["mcp", "test", "bad"]).with(1).out;
    assert!(!tried.contains("haft mcp test"), "{tried}");
    place.run(&["mcp", "add", "mute", "--", "sleep", "60"]).with(0);
    let beside = place.run(&["--yes", "call", "mcp__bad__x", "{}"]).with(2);
    assert!(beside.out.contains("no database") || beside.err.contains("no database"), "{beside:?}");
    let problems = place.run(&["tools", "--problems"]).with(0).out;
    for part in ["the server bad couldn't be started", "the server mute hasn't said yet what tools it has"] {
        assert!(problems.contains(part), "{part}: {problems}");
    }
}

#[test]
fn servers_of_extensions_are_listed_and_those_of_a_workspace_wait_for_approval() {
    let place = Place::new();
    let manifest =
        |name: &str| json!({"mcpServers": {name: {"command": "./server.sh", "args": [name]}}}).to_string();
    let install = |folder: &str, name: &str| {
        place.write(&format!("{folder}/extension.json"), &manifest(name));
        place.write(&format!("{folder}/server.sh"), SERVER);
        let path = place.workspace().join(folder).join("server.sh");
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    };
    install(".haft/extensions/theirs", "theirs");
    install(".haft/extensions/both", "covered");
    install("../home/extensions/both", "own");
    let expected = [("own", "in use"), ("theirs", "not approved")];
    assert_eq!(states(&place), expected.map(|(name, state)| (name.to_owned(), state.to_owned())));
    let called = place.run(&["--yes", "call", "mcp__own__look", "{}"]).with(0);
    assert!(called.out.contains("named unset"), "it starts in its folder: {called:?}");
    place.run(&["--yes", "mcp", "approve", "theirs"]).with(0);
    place.run(&["--yes", "call", "mcp__theirs__look", "{}"]).with(0);
    let problems = place.run(&["tools", "--problems"]).with(0).out;
    assert!(!problems.contains("mcpServers") && !problems.contains("\"main\""), "{problems}");
}

/// A server with one tool, which asks the model of the session and says what it said.
const ASKING: &str = r#"
while read -r line; do
  id=$(printf '%s' "$line" | sed 's/.*"id":\([0-9]*\).*/\1/')
  say() { printf '{"jsonrpc":"2.0","id":%s,%s}\n' "$id" "$1"; }
  case "$line" in
    *'"id":"q"'*)
      word=nothing
      case "$line" in *Paris*) word=Paris ;; esac
      id=$call
      say '"result":{"content":[{"type":"text","text":"the model says '"$word"'"}]}' ;;
    *'"method":"server/discover"'*) say '"error":{"code":-32601,"message":"no"}' ;;
    *'"method":"initialize"'*)
      say '"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"asking","version":"1"}}' ;;
    *'"method":"tools/list"'*) say '"result":{"tools":[{"name":"look","inputSchema":{"type":"object"}}]}' ;;
    *'"method":"tools/call"'*)
      call=$id
      echo '{"jsonrpc":"2.0","id":"q","method":"sampling/createMessage","params":{"maxTokens":50,"messages":[{"role":"user","content":{"type":"text","text":"Where?"}}]}}' ;;
  esac
done
"#;

#[test]
fn a_server_asks_the_agents_model_where_the_settings_let_it() {
    let place = Place::new();
    place.write("asking.sh", ASKING);
    let turn = json!({"text": "Paris", "calls": [{"tool": "mcp__asking__look", "input": {}}]});
    place.write("turns.jsonl", &format!("{turn}\n{}\n", json!({"text": "done"})));
    for (sampling, says) in [("true", "the model says Paris"), ("false", "the model says nothing")] {
        let server =
            format!("[mcp.servers.asking]\ncommand = 'sh'\nargs = ['asking.sh']\nsampling = {sampling}\n");
        place.write_home("config.toml", &server);
        let words = ["--yes", "run", "--model", "scripted:turns.jsonl", "--output", "stream-json", "go"];
        let ran = place.run(&words).with(0);
        assert!(ran.out.contains(says), "{sampling}: {ran:?}");
    }
}
