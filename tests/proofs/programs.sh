# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash disable=SC2154
# programs.sh: rows of FOLDER/programs.  See run.sh.

# Destroying n completion queues takes time in proportion to n: eight times as many, at most sixteen
# times as long.
proof_many_cqs() {
	compiled manycq "$programs/manycq.c" || return 1
	local few many
	few=$(here_run 60 "$dir/manycq" 4000 | sed -n 's/.*destroyed in \([0-9.]*\) s.*/\1/p')
	many=$(here_run 60 "$dir/manycq" 32000 | sed -n 's/.*destroyed in \([0-9.]*\) s.*/\1/p')
	echo "4,000 queues destroyed in ${few:-?} s, 32,000 in ${many:-?} s of CPU"
	awk "BEGIN { exit !(${many:-99} <= 16 * (${few:-0} + 0.02)) }"
}

proof_mw2_key() {
	compiled mw2key "$programs/mw2key.c" || return 1
	local out
	out=$(here_run 20 "$dir/mw2key")
	echo "$out" | tail -1
	echo "$out" | grep -q success && ! echo "$out" | grep -Eqi 'bind error|operation error'
}

# What registering costs does not depend on the number of mappings: at most twice as much, and 5 us.
proof_reg_cost() {
	compiled regcost "$programs/regcost.c" || return 1
	local few many
	few=$(here_run 60 "$dir/regcost" 10 | sed -n 's/.*: \([0-9.]*\) us CPU.*/\1/p')
	many=$(here_run 60 "$dir/regcost" 20000 | sed -n 's/.*: \([0-9.]*\) us CPU.*/\1/p')
	echo "${few:-?} us of CPU with 10 mappings, ${many:-?} us with 20,000"
	awk "BEGIN { exit !(${many:-9999} <= 2 * ${few:-0} + 5) }"
}

proof_nccl_net() {
	compiled ncclnet "$programs/ncclnet.c" || return 1
	net() { # net ROLE
		WEFT_PLANES=127.0.0.1 LD_LIBRARY_PATH=$lib timeout 180 "$dir/ncclnet" \
			"$lib/libnccl-net-weft.so" v11 "$1" 127.0.0.1 19500 2 6 >"$dir/nn$1" 2>&1
	}
	net 0 &
	sleep 1
	net 1
	local rc=$?
	wait %% 2>/dev/null
	grep -h speed "$dir/nn1" | head -1
	tail -1 "$dir/nn1"
	[ $rc = 0 ] || echo "the client ended with $rc"
	[ $rc = 0 ] && grep -q 'bad 0' "$dir/nn1" && grep -q 'bad 0' "$dir/nn0"
}
