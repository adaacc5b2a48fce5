# SPDX-License-Identifier: BSD-2-Clause
# The cases of matrix.sh: programs and their options.  Sourced.

# each PROGRAM OPTIONS...: one case per OPTIONS, a word of them each; through TCP or rdma_cm
each() {
	local program=$1 options
	shift
	for options; do
		if [[ $options == *-R* || $options == *-z* ]]; then
			cm $program $options
		else
			pair $program $options
		fi
	done
}

pingpongs() {
	each "ibv_rc_pingpong -g 0" "" "-e" "-c" "-t" "-t -c" "-N" "-c -s 1000000 -n 100" \
		"-s 1 -n 2000" "-m 4096" "-r 1" "-g 3 -e -c" "-j" "-N -e -c"
	each "ibv_uc_pingpong -g 0" "" "-e" "-c" "-s 100000 -n 200" "-m 256"
	each "ibv_ud_pingpong -g 0" "" "-e" "-c" "-s 1024 -r 100"
	each "ibv_srq_pingpong -g 0" "-n 200" "-e -n 200" "-c -n 200" "-q 1" \
		"-q 64 -r 1000 -n 50"
	each "ibv_xsrq_pingpong -g 0" "-n 200" "-e -n 200"
	refused ibv_rc_pingpong -g 0 -o
}

bandwidth() {
	local op
	for op in write send read; do
		each "ib_${op}_bw -F" "" "-a -n 200" "-b" "-a -b -n 100" "-q 4" "-q 16 -n 1000" \
			"-q 2 -b" "-s 1" "-s 8388608 -n 20" "-s 1000003 -n 50" "-m 256 -n 500" \
			"-m 1024" "-m 4096" "-t 1 -n 500" "-t 512" "-t 4096 -n 20000 -s 64" \
			"-Q 1" "-N" "-D 2" "-D 2 -b" "-D 2 -q 4" "-x 0" "-x 3" "-d mrc0 -i 1" \
			"-l 16 -n 1600" "-l 32 -q 2 -n 640" "-R" "-R -q 4" "-R -b" \
			"-R -a -n 100" "-z" "-z -q 2 -b" "--use_old_post_send" \
			"--use_old_post_send -l 8 -n 800" "--mr_per_qp -q 4" \
			"--report_gbits -D 1" "--report-both -b" "--ipv6" "-u 10" "-S 3" \
			"--tclass=96" "--cpu_util -D 1" "-f 1 -D 3" "--wait_destroy=1" \
			"--disable_pcie_relaxed" "-p 18515"
	done
	each "ib_write_bw -F" "--perform_warm_up"
	each "ib_read_bw -F" "--perform_warm_up" "-e" "-o 1" "-o 4 -q 4" "-o 16 -b"
	for op in write send; do
		each "ib_${op}_bw -F" "-I 64 -s 64" "-I 220 -s 200 -q 2" \
			"-I 8 -s 8 -l 4 -n 1000" "-c UC" "-c UC -a -n 100" "-c UC -b -q 2" \
			"-c UC -s 1" "--reversed"
	done
	each "ib_send_bw -F" "-e" "-e -b" "-e -q 4" "-e -c UC" "--use-srq -q 4" \
		"--use-srq -q 2 -e" "-r 16" "-r 4096" "--recv_post_list=8 -r 64" \
		"--inline_recv=32 -s 16" "-c UD -s 1024" "-c UD -s 2048 -b" "-c UD -s 64 -q 2" \
		"-c UD -a -n 200" "-c UD -s 4096 -r 1000 -n 1000" "-c UD -D 2 -s 1024" \
		"-R -c UD -s 1024" "-R -e" "-R --use-srq -q 2"
	each "ib_atomic_bw -F" "" "-b" "-q 4" "-A CMP_AND_SWAP" "-A CMP_AND_SWAP -b -q 2" "-o 1" \
		"-o 16" "-e" "-D 2" "-t 16" "-l 8 -n 800" "--use_old_post_send" "-x 3" "-R" \
		"-z -A FETCH_AND_ADD"
	for op in write send; do
		each "ib_${op}_bw -F" "-c XRC" "-c XRC -a -n 100" "-c XRC -b -q 4" "-c XRC -D 2" \
			"-c XRC --use_old_post_send -q 2"
		refused ib_${op}_bw -F -c DC
	done
	for op in read_bw read_lat atomic_bw atomic_lat; do
		each "ib_$op -F" "-c XRC"
	done
	each "ib_send_bw -F" "-c XRC -e" "-c XRC -s 1 -n 5000"
	refused ib_write_bw -F --odp
	refused ib_send_bw -F -c UD -g
}

latency() {
	local op
	for op in write send read; do
		each "ib_${op}_lat -F" "" "-a -n 50" "-s 65536 -n 200" "-H -n 100" "-U -n 100" \
			"-D 2" "-R" "-z" "-x 3" "-m 1024" "--use_old_post_send" \
			"--latency_gap=10 -n 200" "-C -n 100"
	done
	for op in write send; do
		each "ib_${op}_lat -F" "-c XRC" "-c XRC -a -n 50" "-c UC" "-c UC -a -n 50" \
			"-I 128 -s 128" "-I 0"
	done
	each "ib_send_lat -F" "-e" "-c UD" "-c UD -e" "-c UD -s 1024" "-r 64" "--use-srq" \
		"-c UD -a -n 200"
	each "ib_read_lat -F" "-e" "-o 4"
	each "ib_atomic_lat -F" "" "-A CMP_AND_SWAP" "-e" "-D 2" "--use_old_post_send" "-R"
}

# rdma_cm's own programs.
connections() {
	local options port to=10.0.0.3
	for options in "-C 10 -v -V" "-C 100 -V -S 60000" "-C 10 -V -q" "-C 5 -V -p 9999"; do
		port=7174
		[[ $options == *9999* ]] && port=9999
		run_case 0 tcp/$port "rping -s -a $to $options" "rping -c -a $to $options"
	done
	port=tcp/7471
	for options in "" "-c 8 -C 20 -S 4000" "-m" "-P tcp"; do
		run_case 0 $port "ucmatose $options" "ucmatose -s h2 $options"
	done
	for options in "" "-c 4 -C 20 -S 1000"; do
		run_case 0 udp/7471 "udaddy $options" "udaddy -s h2 $options"
	done
	run_case 0 $port rdma_server "rdma_client -s h2"
	run_case 0 $port rdma_xserver "rdma_xclient -s h2"
	run_case 1 0 "rdma_xserver -c x" "rdma_xclient -s h2 -c x"
	for options in "-c 10" "-c 100"; do
		run_case 2 $port "cmtime $options" "cmtime -s h2 $options"
	done
	for options in "-C 100 -S 64" "-C 100 -S 100000" "-T b" "-T n -S 4096" "-T a" \
		"-T v -S 1000 -C 50"; do
		run_case 0 $port "rstream $options" "rstream -s h2 $options"
		run_case 0 $port "riostream $options" "riostream -s h2 $options"
	done
	run_case 0 0 "udpong" "udpong -s h2"
	run_case 1 0 "mckey -m 239.1.1.1" "mckey -m 239.1.1.1 -s"
}

cases() {
	alone mrc0 ibv_devices
	alone PORT_ACTIVE ibv_devinfo
	alone max_msg_sz ibv_devinfo -v
	pingpongs
	latency
	bandwidth
	connections
}
