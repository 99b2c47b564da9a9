/**
 * Where a request comes from: the peer of its socket or, where that is a proxy of ours, what the proxy says
 * (`X-Forwarded-For`, read from the right, past every proxy of ours: what stands further left is the client's own
 * claim). Only counted by, never believed. Proven by `test/http/admit/address.test.ts`.
 */
import type { IncomingMessage } from 'node:http';
import { BlockList, isIP } from 'node:net';
import { GovError } from '../../contract/problems.ts';

export class Addresses {
  readonly #proxies = new BlockList();

  /** `proxies`: addresses and subnets, such as `10.0.0.0/8` or `::1`. VALIDATION_ERROR for what is neither. */
  constructor(proxies: readonly string[]) {
    for (const text of proxies) this.#add(text);
  }

  #add(text: string): void {
    const subnet = parseSubnet(text);
    if (subnet === null) {
      const detail = `expected trusted proxies as IP addresses or subnets such as 10.0.0.0/8, got ${text}`;
      throw new GovError('VALIDATION_ERROR', detail);
    }
    const { address, version, bits } = subnet;
    if (bits === null) this.#proxies.addAddress(address, version);
    else this.#proxies.addSubnet(address, bits, version);
  }

  isProxy(peer: string): boolean {
    const address = plainAddress(peer);
    const family = isIP(address);
    return family !== 0 && this.#proxies.check(address, family === 4 ? 'ipv4' : 'ipv6');
  }

  /** The address of the client; of IPv6 its /64, since one host has all of that. The header is an attacker's. */
  of({ socket, headers }: IncomingMessage): string {
    let address = plainAddress(socket.remoteAddress ?? '');
    if (this.isProxy(address)) {
      const hops = String(headers['x-forwarded-for'] ?? '').split(',');
      for (const hop of hops.toReversed()) {
        const named = plainAddress(withoutPort(hop.trim()));
        if (isIP(named) === 0) break;
        address = named;
        if (!this.isProxy(address)) break;
      }
    }
    return isIP(address) === 6 ? subnetOf(address) : address;
  }
}

/** `10.0.0.0/8`, or one address; null for anything else. */
export function parseSubnet(
  text: string,
): { readonly address: string; readonly version: 'ipv4' | 'ipv6'; readonly bits: number | null } | null {
  const [address = '', prefix, ...rest] = text.split('/');
  const family = isIP(address);
  if (family === 0 || rest.length > 0) return null;
  const version = family === 4 ? 'ipv4' : 'ipv6';
  if (prefix === undefined) return { address, version, bits: null };
  const bits = /^[0-9]{1,3}$/.test(prefix) ? Number(prefix) : Number.NaN;
  return bits <= (family === 4 ? 32 : 128) ? { address, version, bits } : null;
}

/** `192.0.2.1` for `::ffff:192.0.2.1`, as which a socket for both families has it. */
const plainAddress = (address: string): string =>
  /^::ffff:[0-9.]+$/i.test(address) ? address.slice(7) : address;

/** Some proxies add one: `192.0.2.1:4711`, `[2001:db8::1]:4711`. */
const withoutPort = (hop: string): string =>
  /^\[([^\]]+)\](?::[0-9]+)?$/.exec(hop)?.[1] ?? /^([0-9.]+):[0-9]+$/.exec(hop)?.[1] ?? hop;

/** The first four groups of an IPv6 address. */
function subnetOf(address: string): string {
  const [head = '', tail] = (address.split('%')[0] ?? '').split('::');
  const groups = head === '' ? [] : head.split(':');
  if (tail !== undefined) {
    const after = tail === '' ? [] : tail.split(':');
    groups.push(...Array.from({ length: 8 - groups.length - after.length }, () => '0'), ...after);
  }
  return `${groups
    .slice(0, 4)
    .map((group) => Number.parseInt(group, 16).toString(16))
    .join(':')}::/64`;
}
