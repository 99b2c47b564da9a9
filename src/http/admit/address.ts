/**
 * The client address of a request: the socket's peer or, behind a trusted proxy, the address in
 * `X-Forwarded-For`. The header is read from the right, past every trusted proxy; entries further left are
 * the client's own claim. The address serves rate limits only and proves nothing. Proven by
 * `test/http/admit/address.test.ts`.
 */
import type { IncomingMessage } from 'node:http';
import { BlockList, isIP } from 'node:net';
import { GovError } from '../../contract/problems.ts';

export class Addresses {
  readonly #proxies = new BlockList();

  /** `proxies`: addresses and subnets, such as `10.0.0.0/8` or `::1`. VALIDATION_ERROR for any other text. */
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

  /**
   * The client's address; for IPv6 its /64, because one host owns all of it. An attacker controls the header.
   */
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

/** Reads `10.0.0.0/8` or one address. Null for any other text. */
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

/** `192.0.2.1` for `::ffff:192.0.2.1`, the form on a socket for both families. */
const plainAddress = (address: string): string =>
  /^::ffff:[0-9.]+$/i.test(address) ? address.slice(7) : address;

/** Removes the port that some proxies add: `192.0.2.1:4711`, `[2001:db8::1]:4711`. */
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
