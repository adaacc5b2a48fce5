/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * planes - own addresses, one per plane, as people name them: by address, or by the interface that
 * has it.  Of an interface its global IPv6 address is taken, else its IPv4 address: link-local ones
 * need a scope that no peer could name.  One that has none yet, or is not there, is a plane that is
 * missing, as one whose address is: its address is :: until it is found.
 */
#include "net_local.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <string.h>

static bool of_interface(const char *interface, uint8_t addr[16])
{
	struct ifaddrs *all = NULL;
	bool found = false, is_global = false;

	if (getifaddrs(&all))
		return false;
	for (struct ifaddrs *i = all; i && !is_global; i = i->ifa_next) {
		if (!i->ifa_addr || strcmp(i->ifa_name, interface))
			continue;
		if (i->ifa_addr->sa_family == AF_INET6) {
			const struct sockaddr_in6 *at = (void *)i->ifa_addr;

			is_global = !IN6_IS_ADDR_LINKLOCAL(&at->sin6_addr) &&
				    weft_inet_of(i->ifa_addr, addr, NULL);
		} else if (i->ifa_addr->sa_family == AF_INET && !found) {
			found = weft_inet_of(i->ifa_addr, addr, NULL);
		}
	}
	freeifaddrs(all);
	return found || is_global;
}

bool weft_plane_address(const char *word, uint8_t addr[16])
{
	return inet_parse(word, addr) || of_interface(word, addr);
}

/* Not what was to be an address: 10.0.0.300. */
bool weft_plane_may_come(const char *word)
{
	size_t bytes = strlen(word);

	return bytes && bytes < IF_NAMESIZE && !strpbrk(word, ":/ \t") &&
	       word[strspn(word, "0123456789.")];
}

bool plane_find(const char *interface, uint8_t addr[16])
{
	return weft_inet_is_none(addr) && *interface && of_interface(interface, addr);
}

void weft_plane_text(const uint8_t addr[16], char text[WEFT_PLANE_TEXT_BYTES])
{
	bool is_ipv4 = weft_inet_is_mapped(addr);

	(void)inet_ntop(is_ipv4 ? AF_INET : AF_INET6, is_ipv4 ? addr + 12 : addr, text,
		WEFT_PLANE_TEXT_BYTES);
}
