#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# ranks.sh: weft sim and weft play under mpirun: the same words as one process has, whatever it is
# split into; and what is wrong with one rank ends all, with a reason, and never hangs.
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
weft=$(realpath "$WEFT_BUILD")/weft
[ -e "$WEFT_BUILD/lib/libweft-mpi.so" ] && command -v mpirun >/dev/null || {
	echo "skipped: no MPI here"
	exit 77
}
# MPI keeps to the end what it has taken: a sanitizer would have much to tell about that.
if readelf -d "$weft" | grep -q libasan; then
	echo "skipped: a program with a sanitizer in it"
	exit 77
fi
# Containers have no other user, no other machine, and fewer cores than ranks.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
dir=$(mktemp -d)
trap 'kill $(jobs -p) 2>/dev/null || :; rm -rf "$dir"' EXIT
cd "$dir"
cat >small.yaml <<'EOF'
name: small
planes: 2
t0s: 8
t1s: 4
hosts: 64
host_links: {speed: 200Gb/s, delay: 100ns}
core_links: {speed: 200Gb/s, delay: 500ns}
EOF

ranks() { # ranks N COMMAND...: it, by N ranks
	local n=$1
	shift
	timeout 100 mpirun --oversubscribe -n "$n" "$@" </dev/null
}
fail() {
	echo "ranks.sh: $*" >&2
	exit 1
}
# What a run says, less what it cost and on how many it ran.
plain() { sed -E 's/"cost": \{[^}]*\}, //; s/"threads": [0-9]+, //' | tr -d '\r'; }

# same "N THREADS..." ARGUMENT...: one process, and each of these numbers of ranks and threads.
same() {
	local ways=$1 n threads
	shift
	"$weft" sim --json small.yaml "$@" | plain >one.json
	grep -q '"digest": "[0-9a-f]' one.json || fail "no digest: $(cat one.json)"
	while read -r n threads; do
		ranks "$n" "$weft" sim --json small.yaml --threads "$threads" "$@" |
			plain >many.json
		cmp one.json many.json || fail "$*: $n ranks of $threads: $(cat many.json)"
	done <<<"$ways"
}
same $'2 1\n4 1\n2 2' --bytes 500KB
same '2 1' --load incast:24 --bytes 200KB --fault "switch-down p0.t1-1 at 5us for 30us"
same '4 1' --load ring-allreduce --bytes 500KB --load incast:8
same '3 1' --transport roce --bytes 200KB

cat >glitch.yaml <<'EOF'
fabric: small.yaml
load:
  - ring: {bytes: 1MB}
faults:
  - port-down: {where: "h[0-3].p1", at: 10us, for: 10us, every: 25us}
stop: 200us
sample: 5us
expect:
  - failed == 0
  - goodput >= 0.5 line
EOF
"$weft" play -q -j one.json -s 1 glitch.yaml >/dev/null
ranks 2 "$weft" play -q -j many.json -s 1 glitch.yaml | tr -d '\r' >words
cmp one.json many.json || fail "a scenario by two ranks is another one"
[ "$(grep -c 'all passed' words)" = 1 ] || fail "not one rank speaks: $(cat words)"

# refuses WORDS N COMMAND...: ends, not well, and rank 0 says why, once.
refuses() {
	local words=$1
	shift
	if ranks "$@" >words 2>&1; then fail "went well: $*"; fi
	[ "$(grep -cF "$words" words)" = 1 ] || fail "wanted \"$words\": $(cat words)"
}
refuses "weft sim: ranks: 9, allowed is 1 to 8" 9 "$weft" sim small.yaml
refuses "weft sim: ranks: 3 are wanted, and 2 started" 2 "$weft" sim --ranks 3 small.yaml
refuses "none.yaml: No such file" 2 "$weft" sim none.yaml
refuses "unrecognized option '--none'" 2 "$weft" sim --none small.yaml
cat >other.sh <<'EOF'
#!/bin/bash
file=small.yaml
[ "$OMPI_COMM_WORLD_RANK" = 1 ] && file=none.yaml
exec "$@" $file
EOF
chmod +x other.sh
refuses "weft sim: rank 1: none.yaml: No such file" 2 ./other.sh "$weft" sim
"$weft" sim --ranks 4 small.yaml 2>words && fail "four ranks without a starter"
grep -q "mpirun -n 4 weft" words || fail "no word of mpirun: $(cat words)"

# A rank that is killed takes the others with it.
cat >known.sh <<'EOF'
#!/bin/bash
echo $$ >pid.$OMPI_COMM_WORLD_RANK
exec "$@"
EOF
chmod +x known.sh
ranks 2 ./known.sh "$weft" sim small.yaml --bytes 2GB --until 100s >words 2>&1 &
for ((i = 0; i < 300; i++)); do
	[ -s pid.1 ] && [ -s pid.0 ] && break
	sleep 0.1
done
sleep 1
kill -9 "$(cat pid.1)"
wait $! && fail "a killed rank went well"
grep -qi "killed" words || fail "no word about the killed one: $(cat words)"
for ((i = 0; i < 300; i++)); do
	kill -0 "$(cat pid.0)" 2>/dev/null || break
	sleep 0.1
done
kill -0 "$(cat pid.0)" 2>/dev/null && fail "rank 0 is still there"
echo "ranks.sh: all the same"
