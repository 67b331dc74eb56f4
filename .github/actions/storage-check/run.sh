#!/usr/bin/env bash
# The action's one step: finds the program, or builds it, and hands it the inputs. Ends as the program ends.
set -euo pipefail

# Until the program says otherwise: the last output of a name counts.
printf 'verdict=error\nexit-code=2\n' >>"$GITHUB_OUTPUT"

give_up() {
  printf '::error title=storage-check::%s\n' "$1"
  exit 2
}

program=${INPUT_PROGRAM:-}
if [ -z "$program" ]; then
  source=$GITHUB_ACTION_PATH/../../..
  command -v cargo >/dev/null || give_up "there is no cargo to build the program with: install rustup, or set the input program"
  cargo build --release --locked --quiet --package storage-check --manifest-path "$source/Cargo.toml" ||
    give_up "building the program failed: see the log"
  program=${CARGO_TARGET_DIR:-$source/target}/release/storage-check
fi
[ -x "$program" ] || give_up "the input program names no executable file"

# `--name=value`: a value that begins with a dash is no option.
arguments=()
for name in target erase profile baselines out repeat under-test before-run fill-volume max-write max-time \
  require-baseline inconclusive; do
  variable=${name//-/_}
  variable=INPUT_${variable^^}
  value=${!variable:-}
  if [ -n "$value" ]; then arguments+=("--$name=$value"); fi
done

exec "$program" github "${arguments[@]}"
