/**
 * Addresses to which nothing is sent that a tenant asked for (contract N7): our own networks, those of the
 * provider, and every form that embeds such an address. The lists follow the IANA special-purpose registries
 * (RFC 6890). Proven by `test/host/outbound/networks.test.ts`.
 */
import { BlockList, isIP, isIPv4, isIPv6 } from 'node:net';

const blocked = new BlockList();

const v4 = [
  ['0.0.0.0', 8], // this network, unspecified
  ['10.0.0.0', 8], // private
  ['100.64.0.0', 10], // shared by carriers (RFC 6598), and the metadata address 100.100.100.200
  ['127.0.0.0', 8], // loopback
  ['168.63.129.16', 32], // metadata and DNS of one provider, at a public address
  ['169.254.0.0', 16], // link-local, and the metadata address 169.254.169.254
  ['172.16.0.0', 12], // private
  ['192.0.0.0', 24], // protocol assignments, and the metadata address 192.0.0.192
  ['192.0.2.0', 24], // documentation
  ['192.88.99.0', 24], // relays of 6to4
  ['192.168.0.0', 16], // private
  ['198.18.0.0', 15], // benchmarks
  ['198.51.100.0', 24], // documentation
  ['203.0.113.0', 24], // documentation
  ['224.0.0.0', 4], // multicast
  ['240.0.0.0', 4], // reserved, and broadcast
] as const;

/**
 * Exceptions in 2000::/3. Outside of it no address is reachable over the Internet: loopback `::1`, mapped
 * `::ffff:0:0/96`, NAT64 `64:ff9b::/96` and `64:ff9b:1::/48`, unique local `fc00::/7`, link-local `fe80::/10`,
 * multicast `ff00::/8`.
 */
const v6 = [
  ['2001::', 23], // protocol assignments: Teredo, ORCHID, benchmarks
  ['2001:db8::', 32], // documentation
  ['2002::', 16], // 6to4 embeds any IPv4 address
  ['3fff::', 20], // documentation
] as const;

for (const [network, bits] of v4) blocked.addSubnet(network, bits, 'ipv4');
for (const [network, bits] of v6) blocked.addSubnet(network, bits, 'ipv6');

const global = new BlockList();
global.addSubnet('2000::', 3, 'ipv6');

/**
 * Whether the address lies on the Internet. Anything that is no IP address does not. An attacker controls the
 * address.
 */
export function isPublic(address: string): boolean {
  if (isIPv4(address)) return !blocked.check(address, 'ipv4');
  return isIPv6(address) && global.check(address, 'ipv6') && !blocked.check(address, 'ipv6');
}

/** The host of a URL as an address: `127.0.0.1`, `::1` for `[::1]`. Null for a name. */
export function addressOf(hostname: string): string | null {
  const bare = /^\[(.*)\]$/.exec(hostname)?.[1] ?? hostname;
  return isIP(bare) === 0 ? null : bare;
}
