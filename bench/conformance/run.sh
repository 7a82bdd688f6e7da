#!/usr/bin/env bash
# Runs the official conformance suite of the Model Context Protocol: all that the
# revisions 2025-11-25 and 2026-07-28 require of a server, against a fixture made of
# haft's own crate, and against `haft serve mcp --http` with that fixture behind it;
# and all that they require of a client, of the program itself, which client.py drives.
# Installs the suite from the npm registry in the version pinned below, once; then
# everything is offline. Prints one line per run; exits 1 if something that is
# required fails, 2 if it can't be run here.
#
#     bench/conformance/run.sh               all of these
#     bench/conformance/run.sh direct        the fixture alone
#     bench/conformance/run.sh behind        haft in front of it
#     bench/conformance/run.sh client        haft as a client
#
#   HAFT_CONFORMANCE_DIR  where the suite and its reports are kept (default: target/conformance)
#   HAFT_BIN, FIXTURE_BIN  the programs (default: built here first)
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)

SUITE=@modelcontextprotocol/conformance@0.2.0-alpha.12
# The suite needs Node 22 or newer, which distributions don't always carry; it comes along as a package.
NODE=node@24
REVISIONS=(2025-11-25 2026-07-28)

parts=("$@")
if [ ${#parts[@]} -eq 0 ]; then parts=(direct behind client); fi
for part in "${parts[@]}"; do
  case $part in
    direct | behind | client) ;;
    *)
      echo "bench/conformance knows direct, behind and client, not $part" >&2
      exit 2
      ;;
  esac
done

if [[ " ${parts[*]} " = *" client "* ]] && ! command -v python3 >/dev/null; then
  echo "bench/conformance needs python3 to drive the client: install it and run again" >&2
  exit 2
fi
if ! command -v npm >/dev/null; then
  echo "bench/conformance needs npm: install it and run again" >&2
  exit 2
fi
kept=${HAFT_CONFORMANCE_DIR:-$root/target/conformance}
mkdir -p "$kept"
kept=$(cd "$kept" && pwd)

# install FOLDER PACKAGE: does nothing if the folder holds exactly this already.
install() {
  local folder=$kept/$1
  if [ "$(cat "$folder/installed" 2>/dev/null)" = "$2" ]; then return; fi
  echo "installing $2" >&2
  mkdir -p "$folder"
  if [ ! -f "$folder/package.json" ]; then printf '{"private": true}\n' >"$folder/package.json"; fi
  npm install --prefix "$folder" --no-audit --no-fund --save-exact "$2" >&2
  printf '%s\n' "$2" >"$folder/installed"
}
if ! install node "$NODE" || ! install suite "$SUITE"; then
  echo "bench/conformance can't install $SUITE: is the npm registry reachable?" >&2
  exit 2
fi
export PATH=$kept/node/node_modules/.bin:$PATH
suite=$kept/suite/node_modules/.bin/conformance

target=${CARGO_TARGET_DIR:-$root/target}
if [ -z "${FIXTURE_BIN:-}" ]; then
  (cd "$root" && cargo build --locked --release -p haft-mcp --example conformance) >&2
  FIXTURE_BIN=$target/release/examples/conformance
fi
if [ -z "${HAFT_BIN:-}" ]; then
  (cd "$root" && cargo build --locked --release --bin haft) >&2
  HAFT_BIN=$target/release/haft
fi
fixture=$(realpath "$FIXTURE_BIN")
haft=$(realpath "$HAFT_BIN")

place=$(mktemp -d)
served=""
finish() {
  if [ -n "$served" ]; then kill "$served" 2>/dev/null || true; fi
  rm -rf "$place"
}
trap finish EXIT

# serve WHAT COMMAND...: starts a server and waits until it says where it listens; sets `url`.
url=""
serve() {
  local log=$kept/$1.log
  : >"$log"
  shift
  "$@" >"$log" 2>&1 </dev/null &
  served=$!
  for _ in $(seq 1 400); do
    url=$(sed -n 's|^listening at \(http://.*\)$|\1|p' "$log")
    if [ -n "$url" ]; then return; fi
    if ! kill -0 "$served" 2>/dev/null; then break; fi
    sleep 0.05
  done
  echo "it doesn't listen; it said:" >&2
  cat "$log" >&2
  return 1
}

stop() {
  kill "$served" 2>/dev/null || true
  wait "$served" 2>/dev/null || true
  served=""
}

# check WHAT REVISION: runs what the revision requires of the server at `url`, or of the client. What can't hold
# for a server with another one behind it, or for the client, stands in expected.yaml, each with its reason.
failed=0
check() {
  local report=$kept/$1-$2 status=0 against=()
  rm -rf "$report"
  case $1 in
    direct) against=(server --url "$url") ;;
    behind) against=(server --url "$url" --expected-failures "$here/expected.yaml") ;;
    # The suite starts all scenarios at once, and client.py takes turns: the last one waits for all others.
    client)
      against=(client --command "python3 $here/client.py" --timeout 600000
        --expected-failures "$here/expected.yaml")
      ;;
  esac
  # Of a client the suite takes any GET during a call for the one that comes back for its answer, also the stream on
  # which servers tell of changes. Which comes first is chance: what fails by it passes when it is run again.
  local try tries=1
  if [ "$1" = client ]; then tries=3; fi
  for try in $(seq "$tries"); do
    status=0
    HAFT_BIN=$haft "$suite" "${against[@]}" --requirements "$2" --output-dir "$report" >"$report.log" 2>&1 || status=$?
    if [ "$status" -eq 0 ]; then break; fi
    if [ "$try" -lt "$tries" ]; then
      printf '%-7s %s  fails   run again; %s\n' "$1" "$2" "$(grep -E '^  ✗' "$report.log" | tail -n 1 || true)"
    fi
  done
  local counted
  # What fails and isn't required, extensions above all, is told too.
  counted=$(grep -E '^(Total|Not scored)' "$report.log" | tail -n 2 | paste -s -d ';' | sed 's/;/; /' || true)
  if [ "$status" -eq 0 ]; then
    printf '%-7s %s  passes  %s\n' "$1" "$2" "$counted"
  else
    failed=1
    printf '%-7s %s  FAILS   %s\n' "$1" "$2" "$counted"
    grep -E '✗|FAILURE|Unexpected|unexpected' "$report.log" | head -n 60 || true
    echo "        all of it: $report.log"
  fi
}

# A home and a workspace that nobody else has.
haft_in_front() {
  mkdir -p "$place/home" "$place/workspace/.git"
  cat >"$place/home/config.toml" <<END
# As the suite wants to see it: names as they are, nothing added to what it says.
[mcp.servers.fixture]
command = "$fixture"
prefix = ""
screen = "off"
untrusted = false
passRoots = true
END
  cd "$place/workspace"
  HAFT_HOME=$place/home exec "$haft" --yes serve mcp --http 127.0.0.1:0 --no-token
}

for part in "${parts[@]}"; do
  case $part in
    direct) serve direct "$fixture" --http 127.0.0.1:0 ;;
    behind) serve behind haft_in_front ;;
  esac
  for revision in "${REVISIONS[@]}"; do check "$part" "$revision"; done
  if [ -n "$served" ]; then stop; fi
done
exit "$failed"
