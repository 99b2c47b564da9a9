/**
 * Turns a request's credential into a caller and applies the rate limits. A refused credential counts against
 * the client's address, so that nobody can try many. A recently used credential is accepted whatever others
 * at the same address do. Proven by `test/http/admit/rates.test.ts` and `test/http/admit/persons.test.ts`.
 */
import type { IncomingMessage } from 'node:http';
import { GovError } from '../../contract/problems.ts';
import type { Caller } from '../../service/call/caller.ts';
import type { Credentials } from '../../service/credentials/callers.ts';
import type { OperationPlace } from '../../service/credentials/shown.ts';
import type { Addresses } from './address.ts';
import type { Origins } from './origins.ts';
import { refusedCredential } from '../../core/credential.ts';
import { DenialError } from '../../service/credentials/shown.ts';
import { readShown } from './presented.ts';
import type { HeaderLines } from '../answer/write.ts';
import type { RateName, Rates, RateState } from './rates.ts';

/** What protects a hosted service: origins, rates and client addresses. */
export interface Gate {
  readonly origins: Origins;
  readonly rates: Rates;
  readonly addresses: Addresses;
}

/** A request, and the additional headers of its answer. */
export interface Sender {
  readonly raw: IncomingMessage;
  lines: HeaderLines | null;
}

/** Adds the rate headers to the answer. Throws RATE_LIMITED where the request is one too many. */
export function spend(sender: Sender, { lines, refusal }: RateState): void {
  if (lines.length > 0) sender.lines = [...(sender.lines ?? []), ...lines];
  if (refusal !== null) throw refusal;
}

/** Counts a request by its client address. RATE_LIMITED. */
export const spendOfAddress = (sender: Sender, { rates, addresses }: Gate, name: RateName): void =>
  spend(sender, rates.spend(name, addresses.of(sender.raw)));

interface AdmissionRequest {
  readonly credentials: Credentials;
  /** Null on a plane. */
  readonly gate: Gate | null;
  /** Which pages may send the session cookie. */
  readonly origins: Origins;
  readonly place: OperationPlace;
  /** The rate limit that counts the request; null for none. */
  readonly rate: RateName | null;
  /** Whether a request token is compared with the body later. Default: it is refused. */
  readonly comparesBody?: boolean;
}

/**
 * The caller; no promise where its key is already known. Throws like `Credentials.identify`, and RATE_LIMITED
 * where the address had too many refusals.
 */
export function authenticate(sender: Sender, asked: AdmissionRequest): Caller | Promise<Caller> {
  const { credentials, gate, origins, place } = asked;
  try {
    const found = credentials.identify(readShown(sender.raw.headers, origins), place);
    if (!('lookUp' in found)) return usable(found, asked);
    if (gate !== null && found.isNew) refuseStranger(sender, gate);
    return found
      .lookUp()
      .then((caller) => usable(caller, asked))
      .catch((error: unknown) => countRefused(sender, asked, error));
  } catch (error) {
    return countRefused(sender, asked, error);
  }
}

/** INVALID_CREDENTIAL for a request token where nothing compares it with its request. */
function usable(caller: Caller, { comparesBody = false }: AdmissionRequest): Caller {
  if (caller.request === undefined || comparesBody) return caller;
  throw new DenialError(caller, refusedCredential());
}

function refuseStranger(sender: Sender, { rates, addresses }: Gate): void {
  const spent = rates.look('anonymous', addresses.of(sender.raw));
  if (spent.refusal !== null) spend(sender, spent);
}

/** Throws the error, or RATE_LIMITED where the address had too many refusals. */
function countRefused(sender: Sender, { gate, rate }: AdmissionRequest, error: unknown): never {
  const isRefusal = error instanceof GovError && error.status === 401;
  // the operations of /auth already count each request by its address
  if (isRefusal && gate !== null && rate !== 'auth') spendOfAddress(sender, gate, 'anonymous');
  throw error;
}
