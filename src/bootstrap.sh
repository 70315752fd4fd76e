#!/usr/bin/env bash
# From a bare machine to a ready .venv: checks the tools that the machine has to bring, names what is missing in one
# line with the command that installs it, and installs the pinned packages. `make` calls it when the lock is newer.
set -u
cd "$(dirname "$0")/.." || exit 1
readonly DEBIAN="sudo apt-get install -y python3 python3-venv libpython3-dev g++ make perl"
[ -t 2 ] && progress() { printf '%s\n' "prismem: $*" >&2; } || progress() { :; }
fail() { printf '%s\n' "prismem: $*" >&2; exit 1; }

case "$PWD" in *" "*) fail "'$PWD' has a space in it, which make cannot build in; clone into a path without spaces" ;; esac

missing=()
python=""
for candidate in ${PYTHON:-} python3 python3.14 python3.13 python3.12 python3.11; do
  if "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
    python=$candidate
    break
  fi
done
[ -n "$python" ] || missing+=("python >= 3.11")
if [ -n "$python" ] && ! "$python" -c 'import venv, ensurepip' 2>/dev/null; then missing+=("python venv module"); fi
gxx_version=$(g++ -dumpversion 2>/dev/null || echo 0)
[ "${gxx_version%%.*}" -ge 12 ] || missing+=("g++ >= 12 (found ${gxx_version/#0/none})")
command -v make >/dev/null || missing+=("make")
command -v perl >/dev/null || missing+=("perl")
if [ "${#missing[@]}" -gt 0 ]; then
  text=$(printf '%s, ' "${missing[@]}")
  fail "missing: ${text%, }; install with: $DEBIAN"
fi

if ! .venv/bin/python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
  progress "creating .venv with $python"
  "$python" -m venv .venv || fail "cannot create .venv with $python -m venv; install with: $DEBIAN"
fi
progress "installing the packages of requirements.lock (about a minute the first time)"
pip=(.venv/bin/python -m pip --disable-pip-version-check --no-input -q)
"${pip[@]}" install -r requirements.lock || fail "pip could not install requirements.lock; its message stands above"
"${pip[@]}" install --no-deps --no-build-isolation -e . || fail "pip could not install the checkout into .venv"
touch .venv/ready
