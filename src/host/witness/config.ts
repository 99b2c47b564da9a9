/**
 * The witness settings of a plane or a service, in plane.json, service.json and flags: `witnesses` with address
 * and key of each, `witnessQuorum`, `witnessWaitSeconds`. Proven by `test/host/witness/config.test.ts`.
 */
import { limits } from '../../contract/limits.ts';
import { GovError } from '../../contract/problems.ts';
import { parseVerifierKey, type VerifierKey } from '../../core/note/key.ts';
import type { JsonSchema } from '../../service/call/explain.ts';
import { invalid, text, whole, type Variables } from '../config/layers.ts';
import type { LogWitnesses } from './client.ts';
import type { WitnessesOptions } from './options.ts';
import type { WitnessConfig } from './options.ts';

/** Members of the file. */
export interface WitnessesFile {
  readonly witnesses?: readonly { readonly url: string; readonly verifierKey: string }[];
  /** Number of witnesses that must cosign for the layer log_inclusion to pass. Absent: 0. */
  readonly witnessQuorum?: number;
  /** Seconds that a proof waits for cosignatures. Absent: 0, so the proof is created at once. */
  readonly witnessWaitSeconds?: number;
}

export const witnessMembers = {
  witnesses: {
    type: 'array',
    maxItems: limits.witnesses,
    items: {
      type: 'object',
      required: ['url', 'verifierKey'],
      properties: { url: text(2048), verifierKey: text(4096) },
      additionalProperties: false,
    },
  },
  witnessQuorum: whole(0, limits.witnesses),
  witnessWaitSeconds: whole(0, limits.witnessWaitSeconds),
} satisfies Readonly<Record<keyof WitnessesFile, JsonSchema>>;

export interface WitnessesConfig {
  readonly witnesses: readonly WitnessConfig[];
  readonly quorum: number;
  readonly waitSeconds: number;
}

/**
 * Returns the witnesses, or null for none. `flags`, each `VERIFIERKEY@URL`, replace those of the file.
 * VALIDATION_ERROR names the file or the flag.
 */
export function witnessesOf(
  file: WitnessesFile,
  { flags, path }: { readonly flags: readonly string[] | undefined; readonly path: string },
): WitnessesConfig | null {
  const { witnessQuorum: quorum = 0, witnessWaitSeconds: waitSeconds = 0 } = file;
  const witnesses =
    flags === undefined || flags.length === 0
      ? (file.witnesses ?? []).map(({ url, verifierKey }, at) =>
          witnessOf(verifierKey, url, `${path} /witnesses/${at}`),
        )
      : flags.map(witnessOfFlag);
  const from = flags === undefined ? path : '--witness';
  if (witnesses.length > limits.witnesses) throw invalid(from, `at most ${limits.witnesses} witnesses`);
  const keys = new Set(witnesses.map(({ key }) => key.publicKey.toString('hex')));
  if (keys.size < witnesses.length) throw invalid(from, 'a key of its own for each witness');
  if (quorum > witnesses.length) {
    throw invalid(
      `${path} /witnessQuorum`,
      `at most the ${witnesses.length} witnesses there are, got ${quorum}`,
    );
  }
  return witnesses.length === 0 ? null : { witnesses, quorum, waitSeconds };
}

/** Creates the client. Loads its module only where there are witnesses. */
export async function openWitnesses(
  config: WitnessesConfig | null,
  { env, ...options }: Pick<WitnessesOptions, 'store' | 'now' | 'log' | 'own'> & { readonly env: Variables },
): Promise<LogWitnesses | undefined> {
  if (config === null) return undefined;
  const { LogWitnesses: Client } = await import('./client.ts');
  return new Client({ ...config, ...options, random: Math.random, connection: { env } });
}

function witnessOfFlag(flag: string): WitnessConfig {
  const [, key, url] = /^(.+?)@(https?:\/\/.*)$/s.exec(flag) ?? [];
  if (key === undefined || url === undefined)
    throw invalid('--witness', `VERIFIERKEY@URL, got ${flag.slice(0, 64)}`);
  return witnessOf(key, url, '--witness');
}

function witnessOf(vkey: string, url: string, from: string): WitnessConfig {
  return { url: prefixOf(url, from), key: keyOf(vkey, from) };
}

function keyOf(vkey: string, from: string): VerifierKey {
  const key = parsed(vkey, from);
  if (key.algorithm !== 'ed25519') return key;
  throw invalid(from, `a key of a witness, as gov witness init shows it, got the key of the log ${key.name}`);
}

function parsed(vkey: string, from: string): VerifierKey {
  try {
    return parseVerifierKey(vkey);
  } catch (cause) {
    if (!(cause instanceof GovError)) throw cause;
    throw new GovError('VALIDATION_ERROR', `${from}: ${cause.message}`, { cause });
  }
}

/** The submission prefix without a final slash. */
function prefixOf(url: string, from: string): string {
  const parts = URL.canParse(url) ? new URL(url) : null;
  const plain =
    parts !== null &&
    /^https?:$/.test(parts.protocol) &&
    `${parts.username}${parts.password}${parts.search}${parts.hash}` === '';
  if (plain) return url.replace(/\/+$/, '');
  throw invalid(
    from,
    `an address such as https://witness.example/w1, without a query, got ${url.slice(0, 64)}`,
  );
}
