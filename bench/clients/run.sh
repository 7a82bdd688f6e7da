#!/usr/bin/env bash
# Runs five real MCP clients, and Inspector in both eras, against `haft serve mcp`,
# over standard input and output and over HTTP.
# Installs them from the npm registry in the versions pinned below, once; then
# everything is offline. Prints Markdown tables; exits 1 if a check fails.
#
#     bench/clients/run.sh [options of drive.py, such as --only codex,pi or --keep]
#     bench/clients/run.sh behind [options]
#
# With `behind` haft has three public servers behind it, from the npm registry and
# PyPI, in pinned versions: the clients call a tool of each.
#
#   HAFT_CLIENTS_DIR  where the clients are kept (default: target/clients, about 2 GB)
#   HAFT_BIN          the haft to serve (default: target/release/haft, built first)
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)

# Several clients need a newer Node than distributions carry; it comes along as a package.
NODE=node@24
APPS=(
  opencode-ai@1.18.33
  @openai/codex@0.171.0
  @google/gemini-cli@0.61.0
  @anthropic-ai/claude-code@2.1.332
  @earendil-works/pi-coding-agent@1.6.0
  @modelcontextprotocol/inspector@2.12.0
)

SERVERS=(
  @modelcontextprotocol/server-filesystem@2026.8.31
  @modelcontextprotocol/server-everything@2026.8.31
)
PYTHON_SERVERS=(mcp-server-time==2026.10.19)

for program in npm python3; do
  if ! command -v "$program" >/dev/null; then
    echo "bench/clients needs $program: install it and run again" >&2
    exit 1
  fi
done
clients=${HAFT_CLIENTS_DIR:-$root/target/clients}
mkdir -p "$clients"
clients=$(cd "$clients" && pwd)

# install FOLDER PACKAGE...: does nothing if the folder holds exactly these already.
install() {
  local folder=$clients/$1
  shift
  if [ "$(cat "$folder/installed" 2>/dev/null)" = "$*" ]; then return; fi
  echo "installing $*" >&2
  mkdir -p "$folder"
  if [ ! -f "$folder/package.json" ]; then printf '{"private": true}\n' >"$folder/package.json"; fi
  npm install --prefix "$folder" --no-audit --no-fund --save-exact "$@" >&2
  printf '%s\n' "$*" >"$folder/installed"
}
install node "$NODE"
export PATH=$clients/node/node_modules/.bin:$PATH
install apps "${APPS[@]}"

behind=()
if [ "${1:-}" = behind ]; then
  shift
  install servers "${SERVERS[@]}"
  python=$clients/python
  if [ "$(cat "$python/installed" 2>/dev/null)" != "${PYTHON_SERVERS[*]}" ]; then
    echo "installing ${PYTHON_SERVERS[*]}" >&2
    python3 -m venv "$python"
    "$python/bin/pip" install --quiet --disable-pip-version-check "${PYTHON_SERVERS[@]}" >&2
    printf '%s\n' "${PYTHON_SERVERS[*]}" >"$python/installed"
  fi
  behind=(--behind "$clients")
fi

if [ -z "${HAFT_BIN:-}" ]; then
  (cd "$root" && cargo build --locked --release --bin haft) >&2
  HAFT_BIN=${CARGO_TARGET_DIR:-$root/target}/release/haft
fi
haft=$(realpath "$HAFT_BIN")
printf '%s\n' "$("$haft" --version), node $(node --version)" >&2
PYTHONDONTWRITEBYTECODE=1 python3 "$here/drive.py" --clients "$clients" "${behind[@]}" "$@" -- "$haft" serve mcp
