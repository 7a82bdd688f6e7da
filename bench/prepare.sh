# Sourced by the scripts that measure the program: what each of them does first.
# They have set `root`, the repository's folder.

# needs NAME PROGRAM...: ends with status 1 where a program isn't there.
needs() {
  local name=$1 program
  shift
  for program in "$@"; do
    if ! command -v "$program" >/dev/null; then
      echo "bench/$name needs $program: install it and run again" >&2
      exit 1
    fi
  done
}

# Sets `haft` to the program that HAFT_BIN names, or to one that is built here.
find_haft() {
  if [ -z "${HAFT_BIN:-}" ]; then
    (cd "$root" && cargo build --locked --release --bin haft) >&2
    HAFT_BIN=${CARGO_TARGET_DIR:-$root/target}/release/haft
  fi
  haft=$(realpath "$HAFT_BIN")
}

# Sets `scratch` to a folder with a home for haft and a workspace, which goes at the end. It lies outside the repository,
# so that the workspace is this folder and nothing more.
make_scratch() {
  scratch=$(mktemp -d "${TMPDIR:-/tmp}/haft-bench.XXXXXX")
  trap 'rm -rf "$scratch"' EXIT
  mkdir "$scratch/home" "$scratch/workspace"
}

# machine [MORE...]: says what is measured where.
machine() {
  local more
  more=$(printf ', %s' "$@")
  if [ $# -eq 0 ]; then more=; fi
  printf '%s\n' "machine: $(nproc) cores, $(uname -sr), $("$haft" --version)$more" >&2
}
