/**
 * The trusted keys of `gov proofs verify`: those of the flags, else the trust file of the chosen context. A bundle never
 * decides whom to trust. Tested by `test/cli/commands/proofs/verify.test.ts`.
 */
import { parseTrust } from '../../core/note/trust.ts';
import type { Trust } from '../../core/note/trust.ts';
import { parseVerifierKey } from '../../core/note/key.ts';
import { GovError } from '../../contract/problems.ts';
import { usage } from '../program/exit.ts';
import { readText } from '../program/flags.ts';
import type { Session } from './session.ts';

export interface TrustSource {
  readonly trust: Trust;
  /** Source of the trust, for people. */
  readonly from: string;
}

function reading<Value>(what: string, read: () => Value): Value {
  try {
    return read();
  } catch (cause) {
    if (cause instanceof GovError) throw usage(`${what}: ${cause.message}`);
    throw cause;
  }
}

/** Errors: exit 2 without a trusted key, and those of `trustFrom`. */
export function requireTrust(...given: Parameters<typeof trustFrom>): TrustSource {
  const source = trustFrom(...given);
  if (source !== null) return source;
  throw usage('expected a trusted key: give --key VKEY or --trust FILE', 'gov trust fetch --out FILE');
}

/** Returns null without a trusted key. Errors: exit 2 for an unreadable key or file. */
export function trustFrom(
  given: { readonly key: readonly string[]; readonly trust: string | undefined },
  session: Session,
): TrustSource | null {
  const file = given.trust ?? (given.key.length === 0 ? session.trustFile() : undefined);
  const policy = file === undefined ? null : reading(file, () => parseTrust(readText(file, session.cwd)));
  const keys = given.key.map((text) => reading('--key', () => parseVerifierKey(text)));
  const [first] = keys;
  if (first === undefined) return policy === null ? null : { trust: policy, from: file ?? '' };
  const origin = policy?.origin ?? first.name;
  const stranger = keys.find(({ name }) => name !== origin);
  if (stranger !== undefined)
    throw usage(`--key: expected keys of one log, ${origin}, got one of ${stranger.name}`);
  const base: Trust = policy ?? { origin, keys: [], witnesses: [], quorum: 0 };
  const from = file === undefined ? '--key' : `--key and ${file}`;
  return { trust: { ...base, keys: [...base.keys, ...keys] }, from };
}
