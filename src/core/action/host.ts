/**
 * Hosts of URLs as policies compare them, by the WHATWG URL standard. Programs read some URLs differently (`http://a\@b` is
 * `a` to a browser and `b` to curl): these have no host here, and a rule about it fails closed. No name is looked up, so a
 * name may lead to any address. Proven by `test/core/action/host.test.ts`.
 */
/**
 * Returns the host of a URL, or of `host`, `host:port`: in lower case, punycode, without a last dot; IPv4 in four decimal
 * parts, also where IPv6 embeds it; IPv6 in its shortest form without brackets. Null if the text has no host or more than
 * one reading.
 */
export function hostOf(text: string): string | null {
  // deviation characters have two encodings: IDNA2003 and IDNA2008
  if (text === '' || /[\p{Cc}\s\\]|[ßẞς\u200c\u200d]/u.test(text)) return null;
  const [, scheme, rest = text] = /^([a-z][a-z0-9+.-]*):\/\/(.*)$/i.exec(text) ?? [];
  if (scheme === undefined && /^[a-z][a-z0-9+.-]*:(?!\d+(?:[/?#]|$))/i.test(text)) return null; // mailto:, data:
  if (scheme?.toLowerCase() === 'file') return null;
  const [authority = ''] = rest.split(/[/?#]/, 1);
  const parts = authority.split('@');
  const place = parts.at(-1) ?? '';
  if (parts.length > 2 || place.includes('%') || authority.includes('{')) return null; // curl reads {a,b} as two URLs
  if (
    scheme === undefined &&
    (parts.length > 1 ? parts[0]?.includes(':') : /^(?:https?|wss?|ftp):/i.test(place))
  )
    return null;
  // with the scheme of the web: only its hosts are normalised
  const url = URL.parse(`http://${place}`);
  if (url === null || url.hostname === '') return null;
  const host = url.hostname.replace(/\.$/, '');
  if (host.startsWith('[')) return embeddedIPv4(host.slice(1, -1));
  return /^[a-z0-9._-]+$/.test(host) ? host : null;
}

/** Returns the IPv4 address in an IPv6 address (RFC 4291 §2.5.5.2, RFC 6052 §2.1), or the IPv6 address itself. */
function embeddedIPv4(address: string): string {
  const [, high, low] = /^(?:::ffff:|64:ff9b::)([0-9a-f]{1,4}):([0-9a-f]{1,4})$/.exec(address) ?? [];
  if (high === undefined || low === undefined) return address;
  const bits = [Number.parseInt(high, 16), Number.parseInt(low, 16)];
  return bits.flatMap((word) => [word >> 8, word & 255]).join('.');
}

/** Whether a host, as `hostOf` returns it, belongs to a set. */
export type HostTest = (host: string) => boolean;

/** Addresses of this machine, of private networks and of no host (IANA special-purpose registries, RFC 6890). */
const privateNetworks = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '224.0.0.0/4',
  '240.0.0.0/4',
  '::/127',
  'fc00::/7',
  'fe80::/10',
  'ff00::/8',
];

/**
 * Reads a member of a set of hosts: `example.com`, `*.example.com` (each name below it), an address, a network such as
 * `10.0.0.0/8`, or `private` for all private addresses and `localhost`. Null for any other text.
 */
export function hostTest(pattern: string): HostTest | null {
  if (pattern === 'private') {
    const isPrivate = within(privateNetworks.map(networkOf));
    return (host) => host === 'localhost' || host.endsWith('.localhost') || isPrivate(host);
  }
  const network = networkOf(pattern);
  if (network !== null) return within([network]);
  const isBelow = pattern.startsWith('*.');
  const name = hostOf(isBelow ? pattern.slice(2) : pattern);
  const isPlain = /^[\p{L}\p{N}.:[\]_-]+$/u.test(isBelow ? pattern.slice(2) : pattern);
  if (name === null || !isPlain || (isBelow && addressOf(name) !== null)) return null;
  return isBelow ? (host) => host.endsWith(`.${name}`) : (host) => host === name;
}

interface Network {
  readonly address: bigint;
  /** Bits of any address of its family. */
  readonly width: 32 | 128;
  /** Bits after the prefix. */
  readonly free: bigint;
}

function networkOf(text: string): Network | null {
  const [, place = '', prefix = ''] = /^([0-9a-fA-F.:]+)\/(\d{1,3})$/.exec(text) ?? [];
  const found = place === '' ? null : addressOf(place);
  if (found === null || Number(prefix) > found.width) return null;
  return { ...found, free: BigInt(found.width - Number(prefix)) };
}

function within(networks: readonly (Network | null)[]): HostTest {
  return (host) => {
    const found = addressOf(host);
    if (found === null) return false;
    return networks.some(
      (network) =>
        network?.width === found.width && network.address >> network.free === found.address >> network.free,
    );
  };
}

/** Reads an IPv4 address in four decimal parts, or an IPv6 address without an IPv4 part; null for other texts. */
function addressOf(host: string): Pick<Network, 'address' | 'width'> | null {
  const join = (parts: readonly number[], bits: bigint): bigint =>
    parts.reduce((sum, part) => (sum << bits) | BigInt(part), 0n);
  if (/^(?:(?:25[0-5]|2[0-4]\d|1?\d?\d)(?:\.(?!$)|$)){4}$/.test(host)) {
    return { address: join(host.split('.').map(Number), 8n), width: 32 };
  }
  const groups = /^[0-9a-f:]*$/i.test(host) && host.includes(':') ? host.split('::') : [];
  if (groups.length === 0 || groups.length > 2) return null;
  const [head = [], tail = []] = groups.map((group) => (group === '' ? [] : group.split(':')));
  const left = 8 - head.length - tail.length;
  if (groups.length === 2 ? left < 1 : left !== 0) return null;
  const words = [...head, ...Array<string>(left).fill('0'), ...tail];
  if (!words.every((word) => /^[0-9a-f]{1,4}$/i.test(word))) return null;
  return {
    address: join(
      words.map((word) => Number.parseInt(word, 16)),
      16n,
    ),
    width: 128,
  };
}
