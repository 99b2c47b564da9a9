/**
 * Shows that a table has every row: an answer of the log (`src/core/proofs/answer.ts`) counts the leaves of a list in the
 * period, is attached, and verifies offline. A table whose rows are not one list of the log, or that an answer does not
 * confirm, says so. Proven by `test/service/reports/templates/shown.test.ts`.
 */
import { limits } from '../../../contract/limits.ts';
import { GovError } from '../../../contract/problems.ts';
import type { ReportTable } from '../../../core/reports/model.ts';
import { parseCheckpoint } from '../../../core/note/checkpoint.ts';
import { parseVerifierKey } from '../../../core/note/key.ts';
import { splitNote } from '../../../core/note/signed.ts';
import type { Trust } from '../../../core/note/trust.ts';
import { readAnswer } from '../../../core/proofs/answer.ts';
import { verifyBundle } from '../../../core/proofs/verify.ts';
import { formatTimestamp } from '../../../core/time.ts';
import { openOwn } from '../../log/checkpoints.ts';
import { count, type Period } from './period.ts';
import { fileNameOf, type ReportSource, type TableSpec } from './source.ts';

type Completeness = ReportTable['completeness'];

/** One list of the log, and how many of its leaves are rows. */
export interface ListRows {
  /** Such as `["leaf", "gov.policy/1"]` or `["type", "tool.call"]`. */
  readonly key: readonly string[];
  readonly rows: number;
  /** Of the whole log instead of the period. */
  readonly whole?: boolean;
}

export const notShown = (detail: string): Completeness => ({ status: 'not_shown', detail });

/** Beside the data, whose form has two words: the index of the log contradicts the table. */
const refuted = new WeakSet<Completeness>();

/** Whether an answer of the log contradicts the table, so that its check fails. */
export const isRefuted = (completeness: Completeness): boolean => refuted.has(completeness);

/** The completeness of a table that its evidence contradicts. */
export function contradiction(detail: string): Completeness {
  const completeness = notShown(detail);
  refuted.add(completeness);
  return completeness;
}

/** The keys of the log, without a witness. */
export const trustOf = ({ keys, checkpoint }: ReportSource): Trust => ({
  origin: openOwn(checkpoint).origin,
  keys: keys.map(parseVerifierKey),
  witnesses: [],
  quorum: 0,
});

/** Of an attached proof, whether it verifies. A proof that its run broke a policy is authentic, too. */
export type AttachedProof = 'authentic' | 'not authentic' | 'no room';

/** Attachments of one report, and what they show. */
export class Evidence {
  readonly attachments = new Map<string, Uint8Array>();
  readonly #source: ReportSource;
  readonly #period: Period;
  #proofBytes = 0;

  constructor(source: ReportSource, period: Period) {
    this.#source = source;
    this.#period = period;
  }

  /**
   * The completeness of a table whose rows are the leaves of these lists. `name` begins the names of the files. `period`:
   * where it is another one than that of the report.
   */
  async shows(name: string, lists: readonly ListRows[], period = this.#period): Promise<Completeness> {
    const begin = fileNameOf(this.#source, name);
    const files: string[] = [];
    const cosigners: (readonly string[])[] = [];
    for (const [at, list] of lists.entries()) {
      const file = `${begin}${lists.length === 1 ? '' : `-${at + 1}`}.govanswer.json`;
      const shown = await this.#shown(file, list, period);
      if ('status' in shown) return shown;
      files.push(file);
      cosigners.push(shown.cosigners);
    }
    const leaves = lists.reduce((sum, { rows }) => sum + rows, 0);
    const named =
      files.length === 1
        ? `${files.join('')} shows it`
        : `${files.length} files ${begin}-….govanswer.json show it`;
    return {
      status: 'proven',
      detail: `By the index that the operator signed, the log has exactly ${count(leaves, 'such entry', 'such entries')}. ${checkedText(cosigners)} ${named}; gov proofs verify checks it offline.`,
    };
  }

  /** The completeness of a table with a row for each leaf of a type in the period. */
  everyLeaf(
    type: string,
    { spec, population }: { readonly spec: TableSpec; readonly population: number },
  ): Promise<Completeness> {
    return this.shows(spec.id, [{ key: ['leaf', type], rows: population }]);
  }

  /** Why a list is not shown; or, where an answer confirms it, who else than the log signed its checkpoint. */
  async #shown(
    file: string,
    { key, rows, whole = false }: ListRows,
    period: Period,
  ): Promise<Completeness | { readonly cosigners: readonly string[] }> {
    const { startMs, endMs, asOfMs, firstMs, prunedBelow } = period;
    if (prunedBelow > 0 && period.from < prunedBelow && !whole)
      return notShown('Part of the period was pruned, so its entries are not counted by time.');
    const sinceMs = whole || startMs <= firstMs ? null : startMs;
    const untilMs = whole || endMs >= asOfMs ? null : endMs + 1;
    const named = key[0] === 'run' ? `--run ${key[1]}` : `--type ${key.at(-1)}`;
    if ((sinceMs ?? untilMs) !== null && this.#source.treeSize > limits.reportAskLeaves) {
      const since = sinceMs === null ? '' : ` --since ${formatTimestamp(sinceMs)}`;
      const until = untilMs === null ? '' : ` --until ${formatTimestamp(untilMs)}`;
      return notShown(
        `The log has more than ${limits.reportAskLeaves} leaves, so this report asks no question about a part of it. gov proofs ask ${named}${since}${until} answers it.`,
      );
    }
    const answer = await this.#source.host.answer({ key, sinceMs, untilMs }).catch(nullIfRefused);
    if (answer === null)
      return notShown(
        'The log has no index of these entries yet. gov log index build makes one; then run the report again.',
      );
    if (answer.count > rows && prunedBelow > 0 && (key[0] === 'run' || key[0] === 'type'))
      return notShown(
        `The log recorded ${count(answer.count, 'such entry', 'such entries')}, of which ${rows} are here. Events below leaf ${prunedBelow} were pruned and are in an archive.`,
      );
    if (answer.count > rows)
      return notShown(
        `The log recorded ${count(answer.count - rows, 'more such entry', 'more such entries')} while the report was made. Run it again for a period that has ended.`,
      );
    if (answer.count < rows)
      return contradiction(
        `The index of the log has ${answer.count} such entries and the report ${rows}. Run gov log fsck.`,
      );
    this.attachments.set(file, answer.bytes);
    return { cosigners: cosignersOf(answer.bytes) };
  }

  /** Attaches the bundle of a proof, and verifies it with the keys of the log. */
  async attachProof(file: string, proofId: string): Promise<AttachedProof> {
    const most = limits.reportProofBytes - this.#proofBytes;
    const bytes = await this.#source.host.bundle({ proofId, most }).catch(nullIfRefused);
    if (bytes === null) return 'no room';
    this.#proofBytes += bytes.length;
    this.attachments.set(file, bytes);
    return verifyBundle(bytes, trustOf(this.#source)).authentic ? 'authentic' : 'not authentic';
  }
}

/** The names of those who signed the checkpoint of an answer, without the log itself. */
function cosignersOf(answer: Uint8Array): string[] {
  const { text, signatures } = splitNote(readAnswer(answer).checkpoint);
  const { origin } = parseCheckpoint(text);
  return [...new Set(signatures.map(({ name }) => name))].filter((name) => name !== origin);
}

/**
 * Who checked the index, as far as a report knows. Its reader chooses the index witnesses and their keys in the trust file.
 * So no report says that a witness derived the index, nor who cosigned: anybody can write a name into a signature line.
 */
function checkedText(files: readonly (readonly string[])[]): string {
  const [first = []] = files;
  const all = first.filter((name) => files.every((names) => names.includes(name)));
  return all.length === 0
    ? 'Nobody else checked that index.'
    : `${count(all.length, 'other name', 'other names')} signed its checkpoint: gov report verify --trust FILE says whether index witnesses that you trust derived that index.`;
}

/** Refusals that a report states, and that do not fail it: too many questions, no index, no room, a bundle too large. */
const refusals: ReadonlySet<string> = new Set([
  'OVERLOADED',
  'UNAVAILABLE',
  'RATE_LIMITED',
  'STORAGE_FULL',
  'VALIDATION_ERROR',
  'RUN_HAS_NO_EVENTS',
]);

function nullIfRefused(error: unknown): null {
  if (error instanceof GovError && refusals.has(error.code)) return null;
  throw error;
}
