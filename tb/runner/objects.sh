#!/bin/sh
# Compiler launcher of Verilated builds: objects.sh FOLDER COMPILER ARGUMENTS... SOURCE
#
# Verilator's own run time is the same in every build with the same flags, and half of the work of a small one: its objects
# are kept in FOLDER. Everything else goes straight to the compiler. (ccache, where it is installed, takes this one's place.)
set -eu
folder=$1
shift
source=
object=
before=
for word in "$@"; do
  if [ "$before" = -o ]; then object=$word; fi
  before=$word
  source=$word
done
case "$source" in
  */verilated*.cpp) ;;
  *) exec "$@" ;;
esac
key=$(printf '%s\n' "$@" "$(stat -c '%Y %s' "$source")" | sha256sum | cut -c1-24)
kept=$folder/$key.o
if [ -f "$kept" ]; then
  exec cp "$kept" "$object"
fi
"$@"
mkdir -p "$folder"
cp "$object" "$kept.$$"
mv "$kept.$$" "$kept"
