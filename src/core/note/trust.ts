/**
 * The trust of a verifier in one log: log keys, witnesses, and the required number of cosignatures. The text form is
 * C2SP tlog-policy, limited to one origin and one group of witnesses. Three lines are ours: `require any|each-algorithm`,
 * `index-witness <name> <verifier key> [<url>]` and `index-quorum <n>|all|none`. Proven by `test/core/note/trust.test.ts`.
 */
import { limits } from '../../contract/limits.ts';
import { GovError } from '../../contract/problems.ts';
import { parseVerifierKey, type VerifierKey } from './key.ts';
import { editedText } from '../text.ts';
import { malformedAs } from './malformed.ts';

const malformed = malformedAs('trust');

const requirements = ['any', 'each-algorithm'] as const;
type Requirement = (typeof requirements)[number];

export interface Trust {
  /** Origin of the log, and the name of its keys. */
  readonly origin: string;
  readonly keys: readonly VerifierKey[];
  /** Whether one key of the log has to have signed, or one of each algorithm among them. Default: any. */
  readonly require?: Requirement;
  readonly witnesses: readonly VerifierKey[];
  /** Number of distinct witnesses that must have cosigned; 0: no witness. */
  readonly quorum: number;
  /** Absent: no index witness. */
  readonly index?: IndexTrust;
}

/** Who derives the index of the log themselves, and how many of them make "none missing" proven; 0: none do. */
interface IndexTrust {
  readonly witnesses: readonly { readonly name: string; readonly key: VerifierKey }[];
  readonly quorum: number;
}

/** Returns the text form; witnesses are named w1, w2 … Throws VALIDATION_ERROR if `parseTrust` would. */
export function formatTrust({ origin, keys, require, witnesses, quorum, index }: Trust): string {
  const names = witnesses.map((_, index) => `w${index + 1}`);
  const lines = [
    ...keys.map((key) => `log ${key.text}`),
    ...(require === undefined ? [] : [`require ${require}`]),
    ...witnesses.map((witness, index) => `witness w${index + 1} ${witness.text}`),
    ...(quorum > 0 ? [`group witnesses ${quorum} ${names.join(' ')}`] : []),
    `quorum ${quorum > 0 ? 'witnesses' : 'none'}`,
    ...(index?.witnesses ?? []).map(({ name, key }) => `index-witness ${name} ${key.text}`),
    ...(index === undefined ? [] : [`index-quorum ${index.quorum === 0 ? 'none' : index.quorum}`]),
  ];
  const text = lines.map((line) => `${line}\n`).join('');
  const read = parseTrust(text);
  if (read.origin !== origin) throw malformed(`keys named ${origin}`, read.origin);
  return text;
}

interface Quorum {
  readonly witnesses: readonly VerifierKey[];
  readonly threshold: number;
}

interface Draft {
  readonly keys: VerifierKey[];
  readonly witnesses: Map<string, VerifierKey>;
  readonly groups: Map<string, Quorum>;
  readonly publicKeys: Set<string>;
  readonly index: Map<string, VerifierKey>;
  require: Requirement | undefined;
  quorum: Quorum | undefined;
  /** As the line says it. */
  indexQuorum: string | undefined;
}

/**
 * Reads a trust file; throws VALIDATION_ERROR with the line. Witnesses outside of the quorum are omitted, except for
 * `quorum none`. Groups of groups and several origins are not supported and refused.
 */
export function parseTrust(written: string): Trust {
  const text = editedText(written);
  if (Buffer.byteLength(text) > limits.trustBytes)
    throw malformed(`at most ${limits.trustBytes} bytes`, `${Buffer.byteLength(text)} bytes`);
  const draft: Draft = {
    keys: [],
    witnesses: new Map(),
    groups: new Map(),
    publicKeys: new Set(),
    index: new Map(),
    require: undefined,
    quorum: undefined,
    indexQuorum: undefined,
  };
  if (/[^\t\n\u0020-\u007e\u0080-\uffff]/.test(text))
    throw malformed('no control characters', 'a control character');
  for (const [index, line] of text.split('\n').entries()) {
    const words = line.split(/[ \t]+/).filter((word) => word !== '');
    if (words.length === 0 || words[0]?.startsWith('#')) continue;
    try {
      readLine(words, draft);
    } catch (cause) {
      if (!(cause instanceof GovError)) throw cause;
      throw new GovError('VALIDATION_ERROR', `line ${index + 1}: ${cause.message}`, { cause });
    }
  }
  const [first, ...more] = draft.keys;
  if (first === undefined) throw malformed('a line log <verifier key>', 'none');
  const other = more.find(({ name }) => name !== first.name);
  if (other !== undefined) throw malformed(`one log per trust file, ${first.name}`, other.name);
  if (draft.quorum === undefined) throw malformed('a line quorum <name> or quorum none', 'none');
  const { witnesses, threshold } = draft.quorum;
  const counted = threshold > 0 ? witnesses : [...draft.witnesses.values()];
  const { keys, require } = draft;
  const index = indexTrust(draft);
  return {
    origin: first.name,
    keys,
    ...(require === undefined ? {} : { require }),
    witnesses: counted,
    quorum: threshold,
    ...(index === undefined ? {} : { index }),
  };
}

/** Without a line index-quorum, all index witnesses have to cosign. */
function indexTrust({ index, indexQuorum }: Draft): IndexTrust | undefined {
  if (index.size === 0 && indexQuorum === undefined) return undefined;
  const witnesses = Array.from(index, ([name, key]) => ({ name, key }));
  const all = indexQuorum === undefined || indexQuorum === 'all';
  const quorum = all ? index.size : indexQuorum === 'none' ? 0 : numberOf(indexQuorum);
  if (!(quorum <= index.size))
    throw malformed(
      `index-quorum all, none, or a number from 1 to the ${index.size} index witnesses`,
      `${indexQuorum}`,
    );
  return { witnesses, quorum };
}

function readLine(words: readonly string[], draft: Draft): void {
  const [keyword = '', name = '', ...rest] = words;
  switch (keyword) {
    case 'log': {
      if (rest.length > 1) throw malformed('log <verifier key> [<url>]', words.join(' '));
      draft.keys.push(readKey(name, draft, ['ed25519', 'ml-dsa-44']));
      return;
    }
    case 'require': {
      if (draft.require !== undefined) throw malformed('one require line', 'a second');
      const found = requirements.find((each) => each === name);
      if (found === undefined || rest.length > 0)
        throw malformed(`require ${requirements.join('|')}`, words.join(' '));
      draft.require = found;
      return;
    }
    case 'witness': {
      const [key = '', , surplus] = rest;
      if (surplus !== undefined) throw malformed('witness <name> <verifier key> [<url>]', words.join(' '));
      checkNewName(name, draft);
      draft.witnesses.set(name, readKey(key, draft, ['ed25519-cosignature', 'ml-dsa-44']));
      return;
    }
    case 'index-witness': {
      const [key = '', , surplus] = rest;
      if (surplus !== undefined)
        throw malformed('index-witness <name> <verifier key> [<url>]', words.join(' '));
      checkNewName(name, draft);
      draft.index.set(name, readKey(key, draft, ['ed25519-cosignature', 'ml-dsa-44']));
      return;
    }
    case 'index-quorum': {
      if (draft.indexQuorum !== undefined) throw malformed('one index-quorum line', 'a second');
      if (name === '' || rest.length > 0) throw malformed('index-quorum <n>|all|none', words.join(' '));
      draft.indexQuorum = name;
      return;
    }
    case 'group': {
      checkNewName(name, draft);
      draft.groups.set(name, readGroup(rest, draft));
      return;
    }
    case 'quorum': {
      if (draft.quorum !== undefined) throw malformed('one quorum line', 'a second');
      if (rest.length > 0) throw malformed('quorum <name>', words.join(' '));
      draft.quorum = readQuorum(name, draft);
      return;
    }
  }
  throw malformed('require, index-witness, index-quorum, log, witness, group or quorum', keyword);
}

function readKey(text: string, draft: Draft, allowed: readonly VerifierKey['algorithm'][]): VerifierKey {
  const key = parseVerifierKey(text);
  if (!allowed.includes(key.algorithm)) throw malformed(`a key for ${allowed.join(' or ')}`, key.algorithm);
  const id = key.publicKey.toString('hex');
  if (draft.publicKeys.has(id)) throw malformed('distinct public keys', text);
  if (draft.publicKeys.size === limits.trustKeys)
    throw malformed(`at most ${limits.trustKeys} keys`, `${limits.trustKeys + 1} or more`);
  draft.publicKeys.add(id);
  return key;
}

function readGroup(words: readonly string[], draft: Draft): Quorum {
  const [threshold = '', ...names] = words;
  const witnesses = names.map((name) => {
    const witness = draft.witnesses.get(name);
    if (witness === undefined)
      throw malformed('witnesses of earlier lines as members (groups of groups are not supported)', name);
    return witness;
  });
  if (new Set(names).size !== names.length) throw malformed('each member once', names.join(' '));
  const count = threshold === 'any' ? 1 : threshold === 'all' ? names.length : numberOf(threshold);
  if (!(count >= 1 && count <= names.length)) {
    throw malformed(`any, all, or a number from 1 to the ${names.length} members`, threshold);
  }
  return { witnesses, threshold: count };
}

const numberOf = (text: string): number => (/^[1-9][0-9]{0,3}$/.test(text) ? Number(text) : NaN);

function readQuorum(name: string, draft: Draft): Quorum {
  if (name === 'none') return { witnesses: [], threshold: 0 };
  const witness = draft.witnesses.get(name);
  const quorum = witness === undefined ? draft.groups.get(name) : { witnesses: [witness], threshold: 1 };
  if (quorum === undefined) throw malformed('a witness or group of an earlier line', name);
  return quorum;
}

function checkNewName(name: string, draft: Draft): void {
  if (name === '' || name === 'none') throw malformed('a name other than none', name);
  if (draft.witnesses.has(name) || draft.groups.has(name) || draft.index.has(name))
    throw malformed('an unused name', name);
}
