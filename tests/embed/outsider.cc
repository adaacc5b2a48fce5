// SPDX-License-Identifier: BSD-2-Clause
// outsider - as outsider.c, in C++ and with packets as structs: two hosts, two planes, a switch per plane.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <queue>
#include <vector>

#include <weft/nic_mrc.h>
#include <weft/version.h>

namespace
{

constexpr uint32_t kPlanes = 2, kHosts = 2, kPayload = 4096;
constexpr uint64_t kCablePs = 500'000; // 500 ns each cable
constexpr uint64_t kMiB = 1u << 20;

struct Dice { // splitmix64, my own
	uint64_t s;
	uint64_t next()
	{
		uint64_t z = s += 0x9e3779b97f4a7c15u;
		z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
		z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
		return z ^ (z >> 31);
	}
	uint64_t below(uint64_t n)
	{
		return next() % n;
	}
};

[[noreturn]] void die(const char *what, long code = 0)
{
	std::fprintf(stderr, "outsider: %s (%ld)\n", what, code);
	std::exit(1);
}

struct Free64 {
	void operator()(void *p) const
	{
		std::free(p);
	}
};
using Block = std::unique_ptr<void, Free64>;
Block block64(size_t n)
{
	void *p = std::aligned_alloc(64, (n + 63) / 64 * 64);
	if (!p)
		die("out of memory");
	return Block(p);
}

struct Scenario {
	const char *name;
	uint64_t in_bps, out_bps; // host -> switch; switch -> host
	uint32_t trim_bytes;      // 0: as weft_port_profile_fill() says
	uint64_t seed;
};

struct Message {
	uint64_t at;
	uint32_t len, imm;
	bool has_imm;
};

struct Host {
	Block block;
	weft_endpoint *ep = nullptr;
	weft_qp *qp = nullptr;
	uint64_t free_ps[kPlanes] = {};
	weft_nic nic{};
	std::vector<uint8_t> out, in; // what I write; what is written to me
	std::vector<Message> msgs;
	std::vector<int> write_done;
	uint32_t rkey = 0, set = 0, writes = 0, imms = 0, imms_wanted = 0;
	uint64_t imm_xor = 0, wake_ps = WEFT_NEVER;
};

struct Switch {
	Block block;
	weft_switch *sw = nullptr;
	uint64_t next_ps[kHosts] = { WEFT_NEVER, WEFT_NEVER };
};

enum class What : uint8_t { ToSwitch, ToHost, Take, Wake }; // arrivals first at equal times

struct Event {
	uint64_t at, seq;
	What what;
	uint32_t plane, host;
	weft_frame frame;
	bool operator<(const Event &o) const // priority_queue wants the greatest on top
	{
		if (at != o.at)
			return at > o.at;
		if (what != o.what)
			return what > o.what;
		return seq > o.seq;
	}
};

class Sim
{
      public:
	explicit Sim(const Scenario &sc) : sc_(sc), dice_{ sc.seed }
	{
	}
	bool run();

      private:
	void open_switches();
	void open_hosts();
	void post();
	void push(uint64_t at, What what, uint32_t plane, uint32_t host, const weft_frame *f);
	void visit(uint32_t h);
	void drain(uint32_t plane);
	void arm(uint32_t plane);
	void step(const Event &e);
	bool done() const;

	Scenario sc_;
	Dice dice_;
	uint64_t now_ = 1'000'000, seq_ = 0; // 1 us
	uint64_t lost_data_ = 0, lost_ctl_ = 0, cut_ = 0, sw_drops_ = 0;
	Host host_[kHosts];
	Switch switch_[kPlanes];
	weft_port_profile profile_{};
	std::vector<weft_frame> frames_ = std::vector<weft_frame>(4096);
	weft_frame_pool pool_{};
	std::vector<weft_pkt> pkts_;
	std::vector<uint64_t> spare_;
	std::priority_queue<Event> events_;
};

uint64_t line_ps(uint64_t bytes, uint64_t bps)
{
	return (bytes + WEFT_FRAME_GAP_BYTES) * 8 * 1000 * 1'000'000'000 / bps;
}

uint16_t sid_of(uint32_t host)
{
	return static_cast<uint16_t>(0x100 + host);
}

void Sim::push(uint64_t at, What what, uint32_t plane, uint32_t host, const weft_frame *f)
{
	Event e{};
	e.at = at;
	e.seq = seq_++;
	e.what = what;
	e.plane = plane;
	e.host = host;
	if (f)
		e.frame = *f;
	events_.push(e);
}

void Sim::open_switches()
{
	const uint32_t bdp = static_cast<uint32_t>(sc_.out_bps / 8 * 6 / 1'000'000); // 6 us
	weft_port_profile_fill(&profile_, WEFT_DISCIPLINE_TRIM, true, bdp, 0);
	if (sc_.trim_bytes) {
		profile_.trim_bytes = sc_.trim_bytes;
		profile_.ecn_min_bytes = profile_.ecn_max_bytes = 0;
	}
	if (weft_port_profile_fault(&profile_))
		die("profile is impossible");
	weft_frame_pool_init(&pool_, frames_.data(), static_cast<uint32_t>(frames_.size()));
	for (uint32_t p = 0; p < kPlanes; p++) {
		weft_switch_config c{};
		c.ports = kHosts;
		c.sids = 16;
		c.block = 0xfcbb0000u + p;
		c.mtu_bytes = 9000;
		c.seed = sc_.seed + p;
		c.dscp = weft_dscp{ 8, 8, 46, 16, 18, 0 };
		c.profiles = &profile_;
		c.n_profiles = 1;
		c.pool = &pool_;
		size_t n = weft_switch_size(&c);
		if (!n)
			die("switch is impossible");
		switch_[p].block = block64(n);
		if (!weft_switch_init(&switch_[p].sw, switch_[p].block.get(), &c))
			die("weft_switch_init");
		for (uint32_t h = 0; h < kHosts; h++) {
			weft_hop hop{};
			hop.kind = WEFT_HOP_PORT;
			hop.port = static_cast<uint16_t>(h);
			if (!weft_switch_port_set(switch_[p].sw, h, sc_.out_bps, 0))
				die("port_set");
			if (!weft_switch_sid_add(switch_[p].sw, sid_of(h), &hop))
				die("sid_add");
		}
	}
}

void Sim::open_hosts()
{
	const uint32_t base_rtt_ns = 6000;
	weft_qp_attr attr[kHosts];
	uint32_t qpn[kHosts];

	for (uint32_t h = 0; h < kHosts; h++) {
		Host &me = host_[h];
		weft_config c;
		weft_config_default(&c);
		c.ports = kPlanes;
		c.qps = 4;
		c.cqs = 1;
		c.regions = 4;
		c.pathsets = 1;
		c.paths_per_set = 16;
		c.mtu_bytes = kPayload;
		c.base_rtt_ns = base_rtt_ns;
		c.seed = sc_.seed * 1000 + h;
		size_t n = weft_endpoint_size(&c);
		if (!n) {
			std::fprintf(stderr, "outsider: %s\n", weft_config_fault(&c));
			std::exit(1);
		}
		me.block = block64(n);
		int rc = weft_endpoint_init(&me.ep, me.block.get(), &c);
		if (rc)
			die("endpoint_init", rc);
		me.nic.transport = &weft_transport_mrc;
		me.nic.state = me.ep;
		me.nic.free_ps = me.free_ps;
		me.nic.planes = kPlanes;

		me.out.resize(h == 0 ? 4 * kMiB : kMiB);
		me.in.assign(h == 0 ? kMiB : 4 * kMiB, 0xee);
		Dice d{ sc_.seed ^ (0x1234u + h) };
		for (uint8_t &b : me.out)
			b = static_cast<uint8_t>(d.next());
		rc = weft_region_add(me.ep, 0x7000'0000u + h * 0x1000'0000u, me.in.data(),
			me.in.size(), 7, WEFT_ACCESS_REMOTE_WRITE, static_cast<uint32_t>(d.next()),
			&me.rkey);
		if (rc)
			die("region_add", rc);

		uint32_t evs[8];
		uint8_t ports[8];
		for (uint32_t i = 0; i < 8; i++) {
			ports[i] = static_cast<uint8_t>(i % kPlanes);
			evs[i] = static_cast<uint32_t>(ports[i]) << 16 | i / kPlanes;
		}
		weft_pathset_attr pa{};
		pa.peer = 1 - h;
		pa.evs = evs;
		pa.ports = ports;
		pa.n = 8;
		rc = weft_pathset_open(me.ep, &pa, &me.set);
		if (rc)
			die("pathset_open", rc);

		weft_qp_attr &a = attr[h];
		a = weft_qp_attr{};
		a.pd = 7;
		a.user = 42 + h;
		a.cc = &weft_cc_nscc;
		a.cc_config.rate_bps = kPlanes * sc_.in_bps;
		a.cc_config.mtu_bytes = weft_nominal_bytes(kPayload);
		a.cc_config.base_rtt_ns = base_rtt_ns;
		a.cc_config.trimming = true;
		rc = weft_qp_open(me.ep, &a, &me.qp);
		if (rc)
			die("qp_open", rc);
		struct weft_qp_info info;
		weft_qp_info(me.qp, &info);
		qpn[h] = info.qpn;
	}
	for (uint32_t h = 0; h < kHosts; h++) {
		Host &me = host_[h];
		weft_qp_attr &a = attr[h];
		a.peer = 1 - h;
		a.peer_qpn = qpn[1 - h];
		a.pathset = me.set;
		a.psn_rx = 1000 + (1 - h);
		a.mpr_rx_psns = 1024;
		a.wimm_rx = 64;
		a.trim_nack_rx = true;
		a.psn_tx = 1000 + h;
		a.mpr_tx_psns = 1024;
		a.wimm_tx = 64;
		a.timeout_exp = 6;
		a.retry_count = 10;
		int rc = weft_qp_move(me.qp, WEFT_QP_RTR, &a, now_ / 1000);
		if (rc)
			die("to RTR", rc);
		rc = weft_qp_move(me.qp, WEFT_QP_RTS, &a, now_ / 1000);
		if (rc)
			die("to RTS", rc);
	}
}

void Sim::post()
{
	for (uint32_t h = 0; h < kHosts; h++) {
		Host &me = host_[h], &peer = host_[1 - h];
		uint64_t at = 0;
		while (at < me.out.size()) {
			uint64_t len = 1 + dice_.below(300'000), left = me.out.size() - at;
			if (len > left)
				len = left;
			uint32_t i = static_cast<uint32_t>(me.msgs.size());
			me.msgs.push_back({ at, static_cast<uint32_t>(len),
				static_cast<uint32_t>(dice_.next()), i % 3 == 1 });
			peer.imms_wanted += i % 3 == 1;
			at += len;
		}
		me.write_done.resize(me.msgs.size());
	}
	for (uint32_t h = 0; h < kHosts; h++) {
		Host &me = host_[h], &peer = host_[1 - h];
		for (uint32_t i = 0; i < me.imms_wanted; i++)
			if (int rc = weft_post_recv(me.qp, 1000 + i))
				die("post_recv", rc);
		for (uint32_t i = 0; i < me.msgs.size(); i++) {
			const Message &m = me.msgs[i];
			weft_work w{};
			w.id = i;
			w.remote_va = 0x7000'0000u + (1 - h) * 0x1000'0000u + m.at;
			w.data = me.out.data() + m.at;
			w.len_bytes = m.len;
			w.rkey = peer.rkey;
			w.imm = m.imm;
			w.has_imm = m.has_imm;
			if (m.has_imm)
				peer.imm_xor ^= m.imm;
			if (int rc = weft_post_write(me.qp, &w))
				die("post_write", rc);
		}
	}
}

void Sim::visit(uint32_t h)
{
	Host &me = host_[h];
	weft_pkt pkt;
	while (weft_nic_output(&me.nic, &pkt, now_)) {
		uint64_t slot;
		if (spare_.empty()) {
			slot = pkts_.size();
			pkts_.push_back(pkt);
		} else {
			slot = spare_.back();
			spare_.pop_back();
			pkts_[slot] = pkt;
		}
		if (pkt.peer != 1 - h)
			die("packet to a stranger", static_cast<long>(pkt.peer));
		weft_frame f{};
		uint16_t bytes = weft_frame_bytes(&pkt, WEFT_ENCAP_SRV6_BYTES);
		weft_frame_of(&f, &pkt, bytes);
		f.handle = slot;
		f.route = static_cast<uint64_t>(sid_of(pkt.peer)) << 48;
		f.in_port = static_cast<uint16_t>(h);
		uint64_t end = now_ + line_ps(bytes, sc_.in_bps);
		me.free_ps[pkt.port] = end;
		push(end + kCablePs, What::ToSwitch, pkt.port, h, &f);
	}
	weft_done d;
	while (weft_poll(me.ep, 0, &d, 1)) {
		if (d.status != WEFT_OK)
			die(weft_status_name(d.status), d.kind);
		if (d.kind == WEFT_DONE_WRITE) {
			me.writes++;
			me.write_done[d.id]++;
		} else if (d.kind == WEFT_DONE_RECV_IMM) {
			me.imms++;
			me.imm_xor ^= d.imm;
		} else {
			die("completion of a strange kind", d.kind);
		}
	}
	uint64_t next = weft_nic_next_ps(&me.nic, now_);
	if (next != WEFT_NEVER && next != me.wake_ps) {
		me.wake_ps = next;
		push(next, What::Wake, 0, h, nullptr);
	}
}

void Sim::drain(uint32_t plane) // all that starts by now
{
	for (uint32_t port = 0; port < kHosts; port++) {
		weft_departure d;
		while (weft_switch_take(switch_[plane].sw, port, now_, &d)) {
			if (d.drop != WEFT_SWITCH_DROP_NONE) {
				sw_drops_++;
				spare_.push_back(d.frame.handle);
				continue;
			}
			if (d.frame.flags & WEFT_FRAME_CUT_HERE)
				cut_++;
			if (dice_.below(100) == 0) { // my loss, on the cable to the host
				(d.frame.tclass == WEFT_CLASS_CONTROL ? lost_ctl_ : lost_data_)++;
				spare_.push_back(d.frame.handle);
				continue;
			}
			push(d.ends_ps + kCablePs, What::ToHost, plane, port, &d.frame);
		}
	}
}

void Sim::arm(uint32_t plane)
{
	Switch &s = switch_[plane];
	for (uint32_t port = 0; port < kHosts; port++) {
		uint64_t next = weft_switch_port_next(s.sw, port);
		if (next != s.next_ps[port] && next != WEFT_NEVER)
			push(next < now_ ? now_ : next, What::Take, plane, port, nullptr);
		s.next_ps[port] = next;
	}
}

void Sim::step(const Event &e)
{
	weft_frame f = e.frame;
	switch (e.what) {
	case What::ToSwitch: {
		uint32_t port;
		drain(e.plane);
		if (weft_switch_input(switch_[e.plane].sw, &f, now_, &port)) {
			sw_drops_++;
			spare_.push_back(f.handle);
		}
		drain(e.plane);
		arm(e.plane);
		break;
	}
	case What::Take:
		drain(e.plane);
		arm(e.plane);
		break;
	case What::ToHost: {
		Host &me = host_[e.host];
		weft_pkt pkt = pkts_[f.handle];
		weft_place place;
		spare_.push_back(f.handle);
		weft_frame_arrive(&f, e.plane, &pkt);
		pkt.peer = 1 - e.host;
		weft_nic_input(&me.nic, &pkt, now_, &place);
		if (place.len_bytes)
			std::memcpy(place.to, place.from, place.len_bytes);
		visit(e.host);
		break;
	}
	case What::Wake:
		if (host_[e.host].wake_ps == e.at)
			host_[e.host].wake_ps = WEFT_NEVER;
		visit(e.host);
		break;
	}
}

bool Sim::done() const
{
	for (const Host &h : host_)
		if (h.writes < h.msgs.size() || h.imms < h.imms_wanted)
			return false;
	return true;
}

bool Sim::run()
{
	open_switches();
	open_hosts();
	post();
	for (uint32_t h = 0; h < kHosts; h++)
		visit(h);
	uint64_t steps = 0;
	while (!done() && !events_.empty() && now_ < 1'000'000'000'000u) {
		Event e = events_.top();
		events_.pop();
		if (e.at < now_)
			die("time ran backwards");
		now_ = e.at;
		step(e);
		steps++;
	}
	bool ok = done();
	std::printf("%s: %s at %.3f us, %llu events, lost %llu data %llu control, cut %llu, switch "
		    "drops %llu\n",
		sc_.name, ok ? "all completed" : "NOT COMPLETED", static_cast<double>(now_) / 1e6,
		static_cast<unsigned long long>(steps), static_cast<unsigned long long>(lost_data_),
		static_cast<unsigned long long>(lost_ctl_), static_cast<unsigned long long>(cut_),
		static_cast<unsigned long long>(sw_drops_));
	for (uint32_t h = 0; h < kHosts; h++) {
		Host &me = host_[h];
		size_t wrong = 0;
		for (size_t i = 0; i < me.in.size(); i++)
			wrong += me.in[i] != host_[1 - h].out[i];
		bool once = true;
		for (int n : me.write_done)
			once = once && n == 1;
		ok = ok && !wrong && once && me.imms == me.imms_wanted && !me.imm_xor;
		weft_check(me.ep);
		std::printf("  host %c: %u of %zu writes%s, %u of %u immediates%s, %zu of %zu "
			    "bytes wrong\n",
			static_cast<char>('A' + h), me.writes, me.msgs.size(),
			once ? " (each once)" : " (NOT each once)", me.imms, me.imms_wanted,
			me.imm_xor ? " (VALUES DIFFER)" : "", wrong, me.in.size());
		const weft_counters *c = weft_stats(me.ep);
		std::printf("   ");
		for (unsigned i = 0; weft_counter_name(i); i++)
			if (weft_counter_value(c, i))
				std::printf(" %s %llu", weft_counter_name(i),
					static_cast<unsigned long long>(weft_counter_value(c, i)));
		std::printf("\n");
	}
	for (uint32_t p = 0; p < kPlanes; p++) {
		weft_switch_check(switch_[p].sw);
		std::printf("  switch %u:", p);
		for (uint32_t h = 0; h < kHosts; h++) {
			const weft_port_counters *c = weft_switch_port_counters(switch_[p].sw, h);
			std::printf(" port %u in %llu out %llu trimmed %llu marked %llu watermark "
				    "%llu;",
				h, static_cast<unsigned long long>(c->in_pkts),
				static_cast<unsigned long long>(c->out_pkts),
				static_cast<unsigned long long>(c->trimmed),
				static_cast<unsigned long long>(c->ecn_marked),
				static_cast<unsigned long long>(
					c->queue[WEFT_QUEUE_DATA].watermark));
		}
		std::printf("\n");
	}
	if (sc_.trim_bytes && (!cut_ || !weft_stats(host_[0].ep)->lost_nack)) {
		std::printf("  NOTHING WAS TRIMMED\n");
		ok = false;
	}
	return ok;
}

} // namespace

int main(int argc, char **argv)
{
	uint64_t seed = argc > 1 ? std::strtoull(argv[1], nullptr, 0) : 1;
	if (std::strcmp(weft_version(), WEFT_VERSION) != 0)
		die("headers and library differ");
	bool ok = Sim({ "plain", 100'000'000'000, 100'000'000'000, 0, seed }).run();
	ok = Sim({ "trim", 400'000'000'000, 100'000'000'000, 20'000, seed }).run() && ok;
	std::printf("%s\n", ok ? "PASS" : "FAIL");
	return !ok;
}
