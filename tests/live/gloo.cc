// SPDX-License-Identifier: BSD-2-Clause
//
// gloo - collectives over the ibverbs transport of Debian's libgloo: a plain program of that library.
//
//   gloo RANK SIZE FOLDER      FOLDER: where the ranks find each other
//
// Algorithms are kept to the end, and looked at behind a barrier: Gloo's own destructors fail when
// the last notification has not been acknowledged yet.
#include <gloo/allgather_ring.h>
#include <gloo/allreduce_halving_doubling.h>
#include <gloo/allreduce_ring.h>
#include <gloo/allreduce_ring_chunked.h>
#include <gloo/barrier_all_to_all.h>
#include <gloo/broadcast_one_to_all.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/transport/ibverbs/device.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <unistd.h>
#include <vector>

static std::shared_ptr<gloo::rendezvous::Context> ranks;

static void must(bool is_right, const char *what, size_t n)
{
	if (is_right)
		return;
	fprintf(stderr, "gloo.cc: rank %d: %s of %zu is wrong\n", ranks->rank, what, n);
	_exit(1);
}

template <class Algorithm> static void reduce(const char *what, size_t n)
{
	auto &v = *new std::vector<float>(n);
	auto &sum = *new Algorithm(ranks, std::vector<float *>{ v.data() }, (int)n);
	float all = (float)(ranks->size * (ranks->size + 1) / 2);

	for (size_t round = 0; round < 10; round++) {
		for (size_t i = 0; i < n; i++)
			v[i] = (float)(ranks->rank + 1) * (float)((i + round) % 1000);
		sum.run();
		for (size_t i = 0; i < n; i++)
			must(v[i] == all * (float)((i + round) % 1000), what, n);
	}
}

static void gather(size_t n)
{
	auto &own = *new std::vector<int>(n);
	auto &out = *new std::vector<int>(n * (size_t)ranks->size);

	for (size_t i = 0; i < n; i++)
		own[i] = ranks->rank * 7 + (int)i;
	auto &algorithm = *new gloo::AllgatherRing<int>(
		ranks, std::vector<const int *>{ own.data() }, out.data(), (int)n);

	algorithm.run();
	for (size_t at = 0; at < out.size(); at++)
		must(out[at] == (int)(at / n) * 7 + (int)(at % n), "allgather", n);
}

static void broadcast(size_t n)
{
	auto &v = *new std::vector<int>(n, ranks->rank == 1 ? 77 : 0);
	auto &algorithm = *new gloo::BroadcastOneToAll<int>(
		ranks, std::vector<int *>{ v.data() }, (int)n, 1);

	algorithm.run();
	for (int one : v)
		must(one == 77, "broadcast", n);
}

int main(int argc, char **argv)
{
	gloo::transport::ibverbs::attr attr = { "mrc0", 1, 0 };

	if (argc != 4)
		return 2;
	auto device = gloo::transport::ibverbs::CreateDevice(attr);
	gloo::rendezvous::FileStore store(argv[3]);

	ranks = std::make_shared<gloo::rendezvous::Context>(atoi(argv[1]), atoi(argv[2]));
	ranks->setTimeout(std::chrono::seconds(40));
	ranks->connectFullMesh(store, device);
	for (size_t n : { 16, 1000, 300000 }) {
		reduce<gloo::AllreduceRing<float>>("ring", n);
		reduce<gloo::AllreduceRingChunked<float>>("chunked ring", n);
		reduce<gloo::AllreduceHalvingDoubling<float>>("halving and doubling", n);
		gather(n);
		broadcast(n);
	}
	auto &barrier = *new gloo::BarrierAllToAll(ranks);

	barrier.run();
	printf("gloo: rank %d: right\n", ranks->rank);
	fflush(stdout);
	_exit(0);
}
