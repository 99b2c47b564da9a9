/**
 * What this machine has seen of each log: signed heads, `heads/<SHA-256 of the origin>.govheads.json` in the folder of the
 * configuration. Each verified file is compared with them, and with the files of `--kept`. A log that signed two
 * histories is convicted by its own signatures, without asking anybody. Tested by `test/cli/commands/proofs/history.test.ts`.
 */
import { existsSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { limits } from '../../contract/limits.ts';
import { GovError } from '../../contract/problems.ts';
import { splitViewText } from '../../core/evidence/file.ts';
import { type HeadsFile, headsMediaType, headsText, readHeads } from '../../core/evidence/heads-file.ts';
import { sha256Text } from '../../core/hash.ts';
import { judgeHistory } from '../../core/evidence/history.ts';
import { SignedHead } from '../../core/note/heads.ts';
import { parseTlogProof } from '../../core/note/tlog-proof.ts';
import type { Trust } from '../../core/note/trust.ts';
import { answerMediaType, verifyAnswer } from '../../core/proofs/answer.ts';
import { verifyBundle } from '../../core/proofs/verify.ts';
import { configPath, type Variables } from '../context/config.ts';
import { locked } from '../context/config-write.ts';
import type { Invocation } from '../context/command.ts';
import type { TrustSource } from '../context/trust.ts';
import { CliError, exit, usage } from '../program/exit.ts';
import type { FlagValues } from '../program/spec.ts';
import type { memory } from '../program/trusted.ts';
import { unreadable } from '../program/flags.ts';
import { writeWhole } from '../terminal/output-file.ts';
import { historyLines, type History } from '../terminal/history.ts';
import { safe } from '../terminal/safe.ts';
import { plainView } from '../terminal/view.ts';
import { makeFolder } from '../../files/make-folder.ts';

type Call = Pick<Invocation, 'io' | 'out'>;

type MemoryFlags = FlagValues<{ readonly flags: typeof memory }>;

/** The signed heads that a verifier finds in a file, and in the files that are attached to it. */
export class FoundHeads {
  readonly heads: SignedHead[] = [];
  readonly seen = (heads: readonly SignedHead[]): void => {
    this.heads.push(...heads);
  };
}

/** A verdict with what the signed heads of its file say of the history of the log. */
export async function withHistory<V extends { readonly verified: boolean; readonly code: string | null }>(
  verdict: V,
  kept: SeenHeads | null,
  { heads }: FoundHeads,
): Promise<V & { readonly history?: History }> {
  const history = (await kept?.judge(heads)) ?? null;
  if (history === null) return verdict;
  return history.result === 'split'
    ? { ...verdict, verified: false, code: 'SPLIT_VIEW', history }
    : { ...verdict, history };
}

/** The heads that a command has seen, and those that this machine keeps. */
export class SeenHeads {
  readonly #call: Call;
  readonly #trust: Trust;
  readonly #isRemembering: boolean;
  #kept: SignedHead[];

  private constructor(call: Call, trust: Trust, isRemembering: boolean) {
    this.#call = call;
    this.#trust = trust;
    this.#isRemembering = isRemembering;
    this.#kept = [...keptHeadsOf(call.io.env, trust).heads];
  }

  /** Null without trust: a head that no trusted key signed says nothing. Errors: as `of`. */
  static ofSource(call: Call, source: TrustSource | null, flags: MemoryFlags): SeenHeads | null {
    return source === null ? null : SeenHeads.of(call, source.trust, flags);
  }

  /** Errors: exit 2 for an unreadable file. */
  static of(
    call: Call,
    trust: Trust,
    { kept, noRemember }: MemoryFlags = { kept: [], noRemember: false },
  ): SeenHeads {
    const seen = new SeenHeads(call, trust, !noRemember);
    for (const file of kept) seen.#kept.push(...headsInFile(file, call.io.cwd, trust));
    return seen;
  }

  /** Leaves of the heads that this machine keeps, and of the files that were given. */
  get sizes(): readonly number[] {
    return this.#kept.map(({ size }) => size);
  }

  /** Compares the heads of a verified file, which extend each other, and remembers them. Null for a file without heads. */
  async judge(heads: readonly SignedHead[]): Promise<History | null> {
    const newest = heads.toSorted((one, other) => other.size - one.size)[0];
    if (newest === undefined) return null;
    const history = this.#compare(heads);
    this.#kept.push(...heads);
    if (history.result !== 'split' && this.#isRemembering) await this.#remember(heads);
    return history;
  }

  /** The same for heads that nobody has compared with each other: a split view, or else the result of the largest. */
  async judgeEach(heads: readonly SignedHead[]): Promise<History | null> {
    const largest = heads.toSorted((one, other) => other.size - one.size).slice(0, 1);
    const { result, kept } = judgeHistory(this.#kept, largest);
    const history = await this.judge(heads);
    return history === null || history.result === 'split' ? history : { ...history, result, kept };
  }

  #compare(heads: readonly SignedHead[]): History {
    const { result, kept, split } = judgeHistory(this.#kept, heads);
    if (split === null) return { result, kept, detail: null, evidence: null };
    return { result, kept, detail: split.detail, evidence: this.#write(splitViewText(split)) };
  }

  /** The name follows from the content, so no evidence replaces another. */
  #write(text: string): string {
    const name = `split-view-${sha256Text(text).slice(7, 15)}.govevidence.json`;
    const path = resolve(this.#call.io.cwd, name);
    writeWhole(path, Buffer.from(text));
    return path;
  }

  async #remember(heads: readonly SignedHead[]): Promise<void> {
    const { io, out } = this.#call;
    try {
      await remember(io.env, this.#trust, heads);
    } catch (cause) {
      if (!(cause instanceof CliError)) throw cause;
      await out.warn(safe`the signed head was not remembered: ${cause.message}`);
    }
  }
}

const headsFolder = (env: Variables): string => join(dirname(configPath(env)), 'heads');

const keptPath = (env: Variables, origin: string): string =>
  join(headsFolder(env), `${sha256Text(origin).slice(7)}.govheads.json`);

/** The kept heads of a log. Errors: exit 2 for a file that is not as gov wrote it. */
export function keptHeadsOf(env: Variables, trust: Trust): HeadsFile {
  const path = keptPath(env, trust.origin);
  if (!existsSync(path)) return { heads: [], untrusted: [] };
  const bytes = bytesOf(path, limits.headsBytes);
  try {
    return readHeads(bytes, trust);
  } catch (cause) {
    if (!(cause instanceof GovError)) throw cause;
    throw usage(
      `${path}: ${cause.message}`,
      'bring it back from a backup, or remove it: gov then forgets the log',
    );
  }
}

/** The bytes of a file. Errors: exit 2 for a device, a folder, and a file of more than `most` bytes. */
function bytesOf(path: string, most: number): Buffer {
  try {
    const file = statSync(path);
    if (!file.isFile()) throw usage(`${path}: expected a file, got a device or a folder`);
    if (file.size > most) throw usage(`${path}: expected at most ${most} bytes, got ${file.size}`);
    return readFileSync(path);
  } catch (cause) {
    throw cause instanceof CliError ? cause : unreadable(path, cause);
  }
}

/** Adds heads, and keeps the largest. */
const remember = (env: Variables, trust: Trust, heads: readonly SignedHead[]): Promise<void> =>
  locked(env, () => {
    const bySize = new Map<string, SignedHead>();
    const kept = keptHeadsOf(env, trust);
    for (const head of [...heads, ...kept.heads]) {
      const name = `${head.size} ${Buffer.from(head.root).toString('hex')}`;
      const same = bySize.get(name);
      if (same === undefined) bySize.set(name, head);
      else for (const path of head.paths) same.add(path);
    }
    const largest = [...bySize.values()]
      .toSorted((one, other) => other.size - one.size)
      .slice(0, limits.keptHeads);
    makeFolder(headsFolder(env), 0o700);
    writeWhole(
      keptPath(env, trust.origin),
      Buffer.from(headsText(trust.origin, { heads: largest, untrusted: kept.untrusted })),
      0o600,
    );
  });

/** The heads in a note, a tlog-proof, an answer, a bundle or a file of heads. Errors: exit 2. */
export function headsInFile(file: string, cwd: string, trust: Trust): readonly SignedHead[] {
  const bytes = bytesOf(resolve(cwd, file), limits.bundleRestBytes);
  const begin = bytes.toString('utf8', 0, 256);
  if (!begin.trimStart().startsWith('{')) {
    const text = bytes.toString();
    const note = begin.startsWith('c2sp.org/tlog-proof@')
      ? opened(file, () => parseTlogProof(text).checkpoint)
      : text;
    return [opened(file, () => SignedHead.open(note, trust))];
  }
  const found: SignedHead[] = [];
  const seen = (heads: readonly SignedHead[]): void => void found.push(...heads);
  if (hasMediaType(bytes, headsMediaType, limits.headsBytes))
    seen(opened(file, () => readHeads(bytes, trust)).heads);
  else if (hasMediaType(bytes, answerMediaType, limits.answerBytes)) verifyAnswer(bytes, trust, { seen });
  else verifyBundle(bytes, trust, { seen });
  if (found.length > 0) return found;
  throw usage(`${file}: expected a checkpoint, proof or heads of ${trust.origin} that a trusted key signed`);
}

/** Recognises a JSON file of at most `most` bytes by its media type, as any tool may format it. */
export function hasMediaType(bytes: Uint8Array, mediaType: string, most: number): boolean {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (text.length > most || !text.includes(mediaType)) return false;
  try {
    const value: unknown = JSON.parse(text.toString());
    return (value as { mediaType?: unknown } | null)?.mediaType === mediaType;
  } catch {
    return false;
  }
}

function opened<Value>(file: string, read: () => Value): Value {
  try {
    return read();
  } catch (cause) {
    if (cause instanceof GovError) throw usage(`${file}: ${cause.message}`);
    throw cause;
  }
}

/** Prints the comparison of a file or log with the kept heads. Returns the exit code: 3 for a split view or a fault. */
export async function printHistory(
  { out }: Pick<Call, 'out'>,
  { origin }: Trust,
  { heads, history }: { readonly heads: readonly SignedHead[]; readonly history: History | null },
): Promise<number> {
  const nothing = { result: 'not_compared', kept: null, detail: null, evidence: null } as const;
  const shown = history ?? nothing;
  const isBad = shown.result === 'split' || shown.detail !== null;
  out.verdict = isBad ? exit.checkFailed : exit.ok;
  if (out.isHuman) {
    const sizes = heads.map(({ size }) => size).join(', ');
    await out.lines([safe`${out.styles.bold(origin)}  ${sizes} leaves`, ...historyLines(shown, out.styles)]);
  } else await out.one({ origin, heads: heads.length, ...shown }, plainView(['result', 'kept', 'evidence']));
  return out.verdict;
}
