/**
 * Who may come in, and how often: what a request shows becomes a caller, and what is refused counts against the
 * address that it came from, so that nobody can try credentials out. A credential that was good lately is looked up
 * whatever its neighbours at the same address do. Proven by `test/http/admit/rates.test.ts` and `test/http/admit/persons.test.ts`.
 */
import type { IncomingMessage } from 'node:http';
import { GovError } from '../../contract/problems.ts';
import type { Caller } from '../../service/call/handler.ts';
import type { Credentials } from '../../service/access/credentials.ts';
import type { Place } from '../../service/access/shown.ts';
import type { Addresses } from './address.ts';
import type { Origins } from './origins.ts';
import { readShown } from './presented.ts';
import type { HeaderLines, RateName, Rates, Spent } from './rates.ts';

/** What stands before a service that is open to the world. */
export interface Gate {
  readonly origins: Origins;
  readonly rates: Rates;
  readonly addresses: Addresses;
}

/** A request, and the headers that its answer will have beside those of every answer. */
export interface Sender {
  readonly raw: IncomingMessage;
  lines: HeaderLines | null;
}

/** Counts a request; RATE_LIMITED. */
export function spend(sender: Sender, { lines, refusal }: Spent): void {
  if (lines.length > 0) sender.lines = [...(sender.lines ?? []), ...lines];
  if (refusal !== null) throw refusal;
}

/** Counts a request by where it comes from. */
export const spendOfAddress = (sender: Sender, { rates, addresses }: Gate, name: RateName): void =>
  spend(sender, rates.spend(name, addresses.of(sender.raw)));

interface Asked {
  readonly credentials: Credentials;
  /** Null on a plane. */
  readonly gate: Gate | null;
  readonly place: Place;
  /** By which the request is counted. */
  readonly rate: RateName | null;
}

/**
 * The caller, at once where its key is known. As `Credentials.identify`; RATE_LIMITED where too much was refused to
 * its address.
 */
export function authenticate(sender: Sender, asked: Asked): Caller | Promise<Caller> {
  const { credentials, gate, place } = asked;
  try {
    const found = credentials.identify(readShown(sender.raw.headers, gate?.origins ?? null), place);
    if (!('lookUp' in found)) return found;
    if (gate !== null && found.isNew) refuseStranger(sender, gate);
    return found.lookUp().catch((error: unknown) => countRefused(sender, asked, error));
  } catch (error) {
    return countRefused(sender, asked, error);
  }
}

function refuseStranger(sender: Sender, { rates, addresses }: Gate): void {
  const spent = rates.look('anonymous', addresses.of(sender.raw));
  if (spent.refusal !== null) spend(sender, spent);
}

/** Throws the error, or RATE_LIMITED where it is one too many. */
function countRefused(sender: Sender, { gate, rate }: Asked, error: unknown): never {
  const isRefusal = error instanceof GovError && error.status === 401;
  // what is counted by its address is counted already
  if (isRefusal && gate !== null && rate !== 'auth') spendOfAddress(sender, gate, 'anonymous');
  throw error;
}
