/**
 * `gov trust fetch`: the keys of a log, trusted on first use, or as far as an earlier trust file or an expected
 * fingerprint vouches for them. Everything that the service answers is attacker controlled. Writes nothing if a check
 * fails. Tested by `test/cli/commands/trust/fetch.test.ts`.
 */
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Client } from '../../../client/create.ts';
import { limits } from '../../../contract/limits.ts';
import { GovError } from '../../../contract/problems.ts';
import { openTrustedCheckpoint, type TrustedCheckpoint } from '../../../core/note/checkpoint.ts';
import { SignedHead } from '../../../core/note/heads.ts';
import { keyIdText, parseVerifierKey, type VerifierKey } from '../../../core/note/key.ts';
import { provenKeys } from '../../../core/note/key-history.ts';
import { formatTrust, type Trust } from '../../../core/note/trust.ts';
import { shellWord } from '../../../core/shell-word.ts';
import type { Invocation, Run } from '../../context/command.ts';
import { CliError, exit, usage } from '../../program/exit.ts';
import { readText } from '../../program/flags.ts';
import { isStream, writeOutput } from '../../terminal/output-file.ts';
import { safe } from '../../terminal/safe.ts';
import { plainView } from '../../terminal/view.ts';
import { SeenHeads } from '../../trust/history.ts';
import { fingerprint, keyLines, readTrust, type ShownKey } from '../../trust/read.ts';
import type { trustFetch as spec } from '../../specs/prove/trust.ts';

type Call = Invocation<typeof spec>;

export const run: Run<typeof spec> = async (call) => {
  const expected = call.flags.expectKey.map(checkFingerprint);
  const present = presentTrust(call);
  const client = await call.session.client();
  const fetched = readKeys(String((await client.getLogKey()).body));
  const judged = await judge({ client, fetched, expected, present });
  const note = String((await client.getCheckpoint()).body);
  const opened = check('the newest checkpoint does not verify under the keys', () =>
    openTrustedCheckpoint(note, judged.trust),
  );
  const history = await SeenHeads.of(call, judged.trust).judge([new SignedHead(note, opened.checkpoint)]);
  if (history?.result === 'split')
    throw new CliError(exit.checkFailed, `the log signed two histories: ${history.detail ?? ''}`, {
      code: 'SPLIT_VIEW',
      hint: `gov evidence verify ${shellWord(history.evidence ?? '')} shows it to anybody`,
    });
  const text = judged.text ?? newFile(judged.trust, opened);
  await print(call, { ...judged, text, opened, isFirst: present === null && expected.length === 0 });
};

/** A log that signs with each algorithm of its keys is held to it from then on. */
const newFile = (trust: Trust, { missing }: TrustedCheckpoint): string =>
  formatTrust(missing.length === 0 ? { ...trust, require: 'each-algorithm' } : trust);

function checkFingerprint(text: string): string {
  const digits = /^(?:sha256:)?([0-9a-fA-F]{64})$/.exec(text)?.[1];
  if (digits !== undefined) return `sha256:${digits.toLowerCase()}`;
  throw usage(`--expect-key: expected sha256: and 64 hex digits, got ${JSON.stringify(text.slice(0, 80))}`);
}

interface Present {
  readonly file: string;
  readonly trust: Trust;
}

/** The trust file that --out would replace, else the one of the context; null without one. */
function presentTrust(call: Call): Present | null {
  const { flags, io, session } = call;
  const out = flags.out === undefined || isStream(flags.out, call) ? undefined : resolve(io.cwd, flags.out);
  const file = out !== undefined && existsSync(out) ? out : session.trustFile();
  return file === undefined ? null : { file, trust: readTrust(file) };
}

function readKeys(text: string): [VerifierKey, ...VerifierKey[]] {
  const lines = text.split('\n').filter((line) => line !== '');
  if (lines.length > limits.trustKeys)
    throw refused(`expected at most ${limits.trustKeys} keys of the log, got ${lines.length}`);
  const [first, ...more] = lines.map((line) =>
    check('the service answers with an invalid key', () => parseVerifierKey(line)),
  );
  if (first === undefined) throw refused('expected the keys of the log, got none');
  const other = more.find(({ name }) => name !== first.name);
  if (other !== undefined) throw refused(`expected keys of one log, ${first.name}, got one of ${other.name}`);
  return [first, ...more];
}

interface Evidence {
  readonly client: Client;
  readonly fetched: readonly [VerifierKey, ...VerifierKey[]];
  readonly expected: readonly string[];
  readonly present: Present | null;
}

interface FetchedTrust {
  readonly trust: Trust;
  /** The trust file of before and a line for each new key; null where there was none. */
  readonly text: string | null;
  readonly keys: readonly ShownKey[];
}

/** Decides which fetched keys are trusted. Errors: exit 3 for a key that nothing vouches for. */
async function judge({ client, fetched, expected, present }: Evidence): Promise<FetchedTrust> {
  const origin = fetched[0].name;
  if (present !== null && present.trust.origin !== origin)
    throw refused(
      `${present.file} trusts the log ${present.trust.origin}, and this service has the log ${origin}`,
    );
  const missing = expected.find((each) => !fetched.some((key) => fingerprint(key) === each));
  if (missing !== undefined)
    throw refused(
      `no key of the log has the fingerprint ${missing}; it has ${fetched.map(fingerprint).join(', ')}`,
    );
  const isExpected = (key: VerifierKey): boolean => expected.includes(fingerprint(key));
  const roots = present?.trust.keys ?? (expected.length === 0 ? fetched : fetched.filter(isExpected));
  const known = new Set(roots.map(({ text }) => text));
  const isKnown = ({ text }: VerifierKey): boolean => known.has(text);
  const keys = fetched.every(isKnown)
    ? [...roots]
    : provenKeys(origin, roots, (await client.getLogKeyChanges()).body.changes);
  const stranger = fetched.find((key) => !keys.some(({ text }) => text === key.text));
  if (stranger !== undefined) throw unproven(stranger, present);
  const base: Omit<Trust, 'keys'> = present?.trust ?? { origin, witnesses: [], quorum: 0 };
  const from = (key: VerifierKey): string => {
    if (!isKnown(key)) return 'proven by a trusted key';
    if (isExpected(key)) return 'as expected';
    return present === null ? 'trusted on first use' : 'trusted before';
  };
  const shown = keys.map((key) => ({
    keyId: keyIdText(key.keyId),
    algorithm: key.algorithm,
    fingerprint: fingerprint(key),
    key: key.text,
    from: from(key),
  }));
  const trust = { ...base, keys };
  const added = keys.filter((key) => !isKnown(key)).map(({ text }) => `log ${text}\n`);
  const text = present === null ? null : [endedText(present.file), ...added].join('');
  return { trust, text, keys: shown };
}

const endedText = (file: string): string => readText(file, '/').replace(/\n?$/, '\n');

function unproven(key: VerifierKey, present: Present | null): CliError {
  const what = `the log has a key that no trusted key vouches for: ${key.algorithm}, ${fingerprint(key)}`;
  if (present === null)
    return refused(what, 'ask the operator for the fingerprint of each key, and give --expect-key for each');
  return refused(
    `${what}; trusted keys: ${present.file}`,
    'ask the operator by another channel; a log that began again needs a new file: remove the old one',
  );
}

const refused = (message: string, hint?: string): CliError =>
  new CliError(exit.checkFailed, message, {
    code: 'KEYS_NOT_TRUSTED',
    hint: hint ?? 'nothing was written; ask the operator for the fingerprints of the keys',
  });

/** Runs a check of fetched bytes. Errors: exit 3 with the reason. */
function check<Value>(what: string, read: () => Value): Value {
  try {
    return read();
  } catch (cause) {
    if (cause instanceof GovError) throw refused(`${what}: ${cause.message}`);
    throw cause;
  }
}

interface CheckedTrust extends FetchedTrust {
  readonly text: string;
  readonly opened: TrustedCheckpoint;
  readonly isFirst: boolean;
}

async function print(call: Call, { trust, text, keys, opened, isFirst }: CheckedTrust): Promise<void> {
  const { flags, out } = call;
  if (flags.out !== undefined) await writeOutput(flags.out, Buffer.from(text), call);
  const { size, root } = opened.checkpoint;
  const file = flags.out ?? null;
  const value = {
    origin: trust.origin,
    file,
    firstUse: isFirst,
    checkpoint: { size, root: root.toString('base64') },
    quorumMet: opened.quorumMet,
    keys,
    trust: text,
  };
  if (out.format === 'json' || out.format === 'ndjson' || out.format === 'yaml')
    await out.one(value, plainView(Object.keys(value)));
  else if (file === null) await out.raw(Buffer.from(text));
  await out.note(safe`log ${trust.origin}: the checkpoint of ${size} leaves verifies under its keys`);
  for (const line of keyLines(keys)) await out.note(line);
  if (!opened.quorumMet)
    await out.warn(
      safe`the checkpoint has fewer cosignatures than the ${trust.quorum} that the trust file requires`,
    );
  if (isFirst)
    await out.warn(
      safe`this first fetch proves that the keys signed the log, and not whose log it is: compare each fingerprint with the operator’s by another channel, such as gov trust show on their machine`,
    );
  if (file !== null)
    await out.note(safe`wrote ${shellWord(file)}; next: gov context set NAME --trust ${shellWord(file)}`);
}
