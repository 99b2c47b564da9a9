/**
 * Collects the proof of an artifact's rows from the tiles while the rows are written: hashes of the subtrees
 * between rows, and at the end the checkpoint and the leaf that binds the export to it. Memory: the tiles of
 * a path. Proven by `test/service/exports/handlers.test.ts`, with the public verifier.
 */
import { missingLeaf } from '../log/contradiction.ts';
import { limits } from '../../contract/limits.ts';
import { GovError } from '../../contract/problems.ts';
import { readErasure } from '../../core/decided/erasure.ts';
import { erasuresOf } from '../../core/events/erased.ts';
import type { ExportProof } from '../../core/exports/artifact.ts';
import type { ExportLeaf } from '../../core/exports/row.ts';
import { filterAnswerText, type FilterAnswer, type ListAnswer } from '../../core/exports/answer.ts';
import { judgeAnswer } from '../../core/exports/completeness.ts';
import { planOf } from '../../core/exports/filters.ts';
import { RowLists } from '../../core/exports/row-lists.ts';
import { pathText } from '../../core/proofs/bundle.ts';
import { leafHash } from '../../core/merkle/tree.ts';
import { indexMismatch } from '../completeness/mismatch.ts';
import { answerParts, type AnswerParts } from './completeness.ts';
import { withdrawalOf } from '../../core/exports/check-rows.ts';
import { readJson, type JsonObject } from '../../core/json/parse.ts';
import { subtreesOf, type Subtree } from '../../core/merkle/multi-proof.ts';
import { systemRun } from '../../core/events/record.ts';
import { TileCache, TileSource, tileOf } from '../../core/merkle/tile-source.ts';
import { openOwn } from '../log/checkpoints.ts';
import { prunedBelow } from '../events/run-stream.ts';
import { consistencyAt, inclusionAt } from '../log/tree-proofs.ts';
import type { ExportInput, TaskContext } from '../call/work.ts';

/** The most tiles of one page's subtrees, in addition to those that stay in memory. */
const heldTiles = 256;

export class ProofParts {
  readonly #context: TaskContext;
  readonly #input: ExportInput;
  readonly #cache = new TileCache(heldTiles);
  readonly #erasures = new Set<number>();
  /** Runs whose replay results an erasure withdrew, by the index of its leaf. */
  readonly #withdrawn = new Map<number, Set<string>>();
  /** The first leaf that is neither shown nor proved yet. */
  #next = 0;
  readonly #asked: JsonObject;
  /** The lists of the index that the rows make; null if it has none for the filters. */
  readonly #lists: RowLists | null;

  constructor(context: TaskContext, input: ExportInput) {
    this.#context = context;
    this.#input = input;
    this.#asked = readJson(input.filters) as JsonObject;
    const plan = planOf(input.resource, this.#asked);
    this.#lists = plan === null ? null : new RowLists(plan, this.#asked);
  }

  /** For each row, the hashes of the subtrees between the previous row's leaf and its own. */
  async gapsBefore(
    rows: readonly { readonly row: string | null; readonly leaf: ExportLeaf | null }[],
  ): Promise<Uint8Array[][]> {
    const gaps: Uint8Array[][] = [];
    for (const { row, leaf } of rows) {
      if (leaf === null) throw new Error('expected rows that come from leaves, got another row');
      if (this.#input.resource === 'replays' && row !== null) this.#noteWithdrawn(leaf, row);
      for (const erasure of erasuresOf(leaf.erased ?? null)) this.#erasures.add(erasure);
      this.#lists?.add(leaf.index, leaf.record, leaf.hash ?? leafHash(leaf.record));
      gaps.push(await this.#gap(leaf.index));
      this.#next = leaf.index + 1;
    }
    return gaps;
  }

  #noteWithdrawn(leaf: ExportLeaf, row: string): void {
    const withdrawal = withdrawalOf(leaf, row);
    if (withdrawal === null) return;
    const { by, runId } = withdrawal;
    this.#erasures.add(by);
    this.#withdrawn.set(by, (this.#withdrawn.get(by) ?? new Set()).add(runId));
  }

  async #gap(to: number): Promise<Uint8Array[]> {
    if (to === this.#next) return [];
    const subtrees = subtreesOf(this.#next, to);
    const { treeSize, projectId } = this.#input;
    const read = new Map<string, Uint8Array>();
    const source = new TileSource(
      treeSize,
      (level, index) => read.get(`${level}/${index}`) ?? new Uint8Array(),
      this.#cache,
    );
    const plan = subtrees
      .map((subtree) => tileOf(asTiled(subtree), treeSize))
      .filter((id) => this.#cache.get(id) === undefined);
    const tiles = plan.length === 0 ? [] : await this.#context.reader.tiles(projectId, 'audit', plan);
    plan.forEach(({ level, index }, at) => read.set(`${level}/${index}`, tiles[at] ?? new Uint8Array()));
    return subtrees.map((subtree) => source.hash(asTiled(subtree)));
  }

  /** VALIDATION_ERROR where more erasures than an artifact may contain took fields of its rows. */
  async end(): Promise<ExportProof> {
    const { reader, host } = this.#context;
    const { projectId, treeSize } = this.#input;
    const gap = await this.#gap(treeSize);
    if (this.#erasures.size > limits.bundleErasures) {
      const detail = `expected rows of which at most ${limits.bundleErasures} erasures took fields, got ${this.#erasures.size}; export less at a time`;
      throw new GovError('VALIDATION_ERROR', detail);
    }
    const created = await this.#created();
    // before the checkpoint, which covers the index leaf
    const answer =
      this.#lists === null
        ? null
        : await answerParts(this.#context, { projectId, treeSize, asked: this.#asked, rows: this.#lists });
    const checkpoint = await host.sign();
    const { size } = openOwn(checkpoint);
    const proved = async (index: number, record: string) => ({
      index,
      record,
      inclusion: await inclusionAt(reader, projectId, { index, size }),
    });
    const erasures = [];
    const withdrawn = new Map<number, string>();
    for (const index of [...this.#erasures].toSorted((a, b) => a - b)) {
      const leaf = await reader.leaf(projectId, index);
      if (leaf === null) throw missingLeaf(index);
      erasures.push(await proved(index, leaf.record));
      for (const named of await this.#namedOf(index, leaf.record)) withdrawn.set(named.index, named.record);
    }
    const named = [];
    for (const [index, record] of [...withdrawn].toSorted(([a], [b]) => a - b))
      named.push(await proved(index, record));
    return {
      checkpoint,
      consistency: await consistencyAt(reader, projectId, { first: treeSize, second: size }),
      created: {
        ...(await proved(created.index, created.record)),
        disclosures: created.disclosures ?? '[]',
      },
      erasures,
      withdrawn: named,
      gap,
      completeness: answer === null ? undefined : await this.#completeness(answer, checkpoint),
    };
  }

  /**
   * The answer of the index, as a verifier accepts it. STORAGE_FAULT where the rows are not those that the index has; undefined for
   * an answer that is larger than verifiers read.
   */
  async #completeness(
    { leafIndex, names, lists }: AnswerParts,
    checkpoint: string,
  ): Promise<FilterAnswer | undefined> {
    const { reader } = this.#context;
    const { projectId, treeSize } = this.#input;
    const tree = openOwn(checkpoint);
    const pathOf = async (index: number): Promise<string[]> =>
      pathText(await inclusionAt(reader, projectId, { index, size: tree.size }));
    const leaf = await reader.leaf(projectId, leafIndex);
    if (leaf === null) throw missingLeaf(leafIndex);
    const complete: ListAnswer[] = [];
    for (const { entry, ...items } of lists) {
      const { growth } = entry;
      const grown = growth && {
        growth: { ...growth, next: { ...growth.next, inclusion: await pathOf(growth.next.index) } },
      };
      complete.push({ entry: { ...entry, ...grown }, ...items });
    }
    const answer: FilterAnswer = {
      index: { index: leafIndex, record: leaf.record, inclusion: await pathOf(leafIndex) },
      ...(names === undefined ? {} : { names }),
      lists: complete,
    };
    if (filterAnswerText(answer).length > limits.exportAnswerBytes) return undefined;
    if (this.#lists === null) return undefined;
    const fault = judgeAnswer({ answer, rows: this.#lists, asked: this.#asked, treeSize, tree });
    if (fault !== null) throw indexMismatch(`the rows of the export (${fault.detail})`, leafIndex);
    return answer;
  }

  /**
   * One leaf that the erasure names, for each run whose results it withdrew. For a comparison of two runs, a
   * leaf of either.
   */
  async #namedOf(by: number, record: string): Promise<{ readonly index: number; readonly record: string }[]> {
    const runs = new Set(this.#withdrawn.get(by));
    const found = [];
    let any = null;
    for (const { index } of runs.size === 0 ? [] : (readErasure(record)?.targets ?? [])) {
      const leaf = await this.#context.reader.leaf(this.#input.projectId, index).catch(nullWherePruned);
      const runId = leaf === null ? undefined : (readJson(leaf.record) as JsonObject)['runId'];
      if (leaf === null || typeof runId !== 'string') continue;
      any ??= leaf;
      if (runs.delete(runId)) found.push(leaf);
      if (runs.size === 0) break;
    }
    return runs.size > 0 && any !== null ? [...found, any] : found;
  }

  /** The event that records the export, appended after its rows. */
  async #created(): Promise<ExportLeaf> {
    const { projectId, exportId, treeSize } = this.#input;
    const filter = { runId: systemRun, eventType: 'export.created' };
    for (let after = treeSize - 1; ;) {
      const page = { order: 'asc', after, limit: 100, fromIndex: treeSize } as const;
      const leaves = await this.#context.reader.events(projectId, filter, page);
      const found = leaves.find(({ disclosures }) => disclosures?.includes(`"${exportId}"`) === true);
      if (found !== undefined) return found;
      const last = leaves.at(-1);
      if (last === undefined)
        throw new GovError('STORAGE_FAULT', `expected the event of ${exportId}, got none; run gov log fsck`);
      after = last.index;
    }
  }
}

function nullWherePruned(error: unknown): null {
  if (prunedBelow(error) === null) throw error;
  return null;
}

const asTiled = ({ level, index }: Subtree) => ({ height: level, start: index * 2 ** level });
