/**
 * From the URL of a receiver to the addresses that a connection may use (contract N7). The name is resolved
 * once, every address is checked, and the connection uses these addresses only, so a name that changes its
 * answer afterwards gains nothing. Proven by `test/host/outbound/post.test.ts`.
 */
import { lookup, type Resolver } from 'node:dns/promises';
import { isIP } from 'node:net';
import { networkInterfaces } from 'node:os';
import { usualPorts, type AllowList } from './allowed.ts';
import { addressOf, isPublic } from './networks.ts';

export interface Target {
  readonly url: URL;
  /** Without a final dot. Null for an address. */
  readonly name: string | null;
  readonly port: number;
  /** At least one, all checked. */
  readonly addresses: readonly { readonly address: string; readonly family: 4 | 6 }[];
}

/** Why nothing may be sent, or why no address was found. */
export interface Refusal {
  readonly refused: string;
  /** Whether the URL itself has to change. */
  readonly isFinal: boolean;
}

export interface Lookup {
  readonly allowed: AllowList;
  readonly resolver: Pick<Resolver, 'resolve4' | 'resolve6'>;
}

const final = (refused: string): Refusal => ({ refused, isFinal: true });

interface ParsedAddress {
  readonly url: URL;
  /** A name without a final dot, or an address. */
  readonly host: string;
  readonly isAddress: boolean;
  readonly port: number;
}

/** What the URL alone says. An attacker controls it. */
function parsed(text: string, allowed: AllowList): ParsedAddress | Refusal {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url?.protocol !== 'https:') return final('expected an https URL');
  if (`${url.username}${url.password}` !== '') return final('expected a URL without a user and password');
  const port = url.port === '' ? 443 : Number(url.port);
  if (!usualPorts.includes(port) && !allowed.hasPort(port))
    return final(`expected port 443 or 8443, got ${port}`);
  const literal = addressOf(url.hostname);
  return { url, host: literal ?? url.hostname.replace(/\.$/, ''), isAddress: literal !== null, port };
}

function refusedAddress(
  { host, port }: ParsedAddress,
  addresses: readonly string[],
  allowed: AllowList,
): Refusal | null {
  const own = ownAddresses();
  const isFit = (address: string): boolean =>
    allowed.has(host, address, port) || (usualPorts.includes(port) && isPublic(address) && !own.has(address));
  // one bad address refuses all: a name that mixes them wants the connection to pick the bad one
  if (addresses.every(isFit)) return null;
  return final(`expected a public address or one that outboundAllow lists, but ${host} leads elsewhere`);
}

/** Why a URL is refused whatever its name leads to; null where the name decides. */
export function refusalOf(text: string, allowed: AllowList): string | null {
  const target = parsed(text, allowed);
  if ('refused' in target) return target.refused;
  return target.isAddress ? (refusedAddress(target, [target.host], allowed)?.refused ?? null) : null;
}

/** Resolves and checks. An attacker controls `text` and what the name servers answer. */
export async function targetOf(text: string, { allowed, resolver }: Lookup): Promise<Target | Refusal> {
  const target = parsed(text, allowed);
  if ('refused' in target) return target;
  const { url, host, isAddress, port } = target;
  const addresses = isAddress ? [host] : await resolved(host, { allowed, resolver });
  if (typeof addresses === 'string') return { refused: addresses, isFinal: false };
  const refused = refusedAddress(target, addresses, allowed);
  if (refused !== null) return refused;
  return {
    url,
    name: isAddress ? null : host,
    port,
    addresses: addresses.map((address) => ({ address, family: isIP(address) === 4 ? 4 : 6 })),
  };
}

/**
 * All addresses of a name, or why there are none. DNS is asked without the thread pool, which also reads files:
 * a slow name server of a tenant must not occupy it. Names that the operator allows come from the system.
 */
async function resolved(name: string, { allowed, resolver }: Lookup): Promise<string[] | string> {
  if (allowed.hasName(name)) {
    const found = await lookup(name, { all: true }).catch(() => []);
    return found.length === 0 ? `found no address of ${name}` : found.map(({ address }) => address);
  }
  const answers = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)]);
  const found = answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []));
  if (found.length > 0) return found;
  const isUnknown = answers.every(
    ({ status, ...answer }) => status === 'rejected' && isAbsence((answer as PromiseRejectedResult).reason),
  );
  return isUnknown ? `found no address of ${name}` : `could not ask for the address of ${name}`;
}

const isAbsence = (reason: unknown): boolean =>
  reason instanceof Error && 'code' in reason && ['ENOTFOUND', 'ENODATA'].includes(String(reason.code));

/** Public addresses of this machine lead inside, past what guards it from outside. */
const ownAddresses = (): Set<string> =>
  new Set(Object.values(networkInterfaces()).flatMap((each) => (each ?? []).map(({ address }) => address)));
