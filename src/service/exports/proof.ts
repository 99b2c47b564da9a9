/**
 * What proves the rows of an artifact, read out of the tiles while they are written: hashes of the subtrees between
 * them, and at the end the checkpoint with what binds the export to it. Memory: the tiles of a path.
 * Proven by `test/service/exports/handlers.test.ts`, with the public verifier.
 */
import { limits } from '../../contract/limits.ts';
import { GovError } from '../../contract/problems.ts';
import { readErasure } from '../../core/decided/erasure.ts';
import { erasuresOf } from '../../core/event/erased.ts';
import type { ExportProof } from '../../core/export/artifact.ts';
import type { ExportLeaf } from '../../core/export/row.ts';
import { withdrawalOf } from '../../core/export/check-rows.ts';
import { readJson, type JsonObject } from '../../core/json/parse.ts';
import { subtreesOf, type Subtree } from '../../core/merkle/multi-proof.ts';
import { systemRun } from '../../core/event/record.ts';
import { TileCache, TileSource, tileOf } from '../../core/merkle/tile-source.ts';
import { openOwn } from '../log/checkpoints.ts';
import { prunedBelow } from '../events/run-stream.ts';
import { consistencyAt, inclusionAt } from '../log/tree-proofs.ts';
import type { ExportInput, TaskContext } from '../call/work.ts';

/** Tiles of the subtrees of one page, at most, beside those that stay held. */
const heldTiles = 256;

export class ProofParts {
  readonly #context: TaskContext;
  readonly #input: ExportInput;
  readonly #cache = new TileCache(heldTiles);
  readonly #erasures = new Set<number>();
  /** By the leaf that took them: runs of whose replays results were withdrawn. */
  readonly #withdrawn = new Map<number, Set<string>>();
  /** The first leaf that is not shown or proved yet. */
  #next = 0;

  constructor(context: TaskContext, input: ExportInput) {
    this.#context = context;
    this.#input = input;
  }

  /** For each row the hashes of the subtrees between the leaf before it and its own. */
  async gapsBefore(
    rows: readonly { readonly row: string | null; readonly leaf: ExportLeaf | null }[],
  ): Promise<Uint8Array[][]> {
    const gaps: Uint8Array[][] = [];
    for (const { row, leaf } of rows) {
      if (leaf === null) throw new Error('expected rows that come from leaves');
      if (this.#input.resource === 'replays' && row !== null) this.#noteWithdrawn(leaf, row);
      for (const erasure of erasuresOf(leaf.erased ?? null)) this.#erasures.add(erasure);
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

  /** VALIDATION_ERROR where rows lost fields to more erasures than an artifact may hold. */
  async end(): Promise<ExportProof> {
    const { reader, host } = this.#context;
    const { projectId, treeSize } = this.#input;
    const gap = await this.#gap(treeSize);
    if (this.#erasures.size > limits.bundleErasures) {
      const detail = `expected rows of which at most ${limits.bundleErasures} erasures took fields, got ${this.#erasures.size}; export less at a time`;
      throw new GovError('VALIDATION_ERROR', detail);
    }
    const created = await this.#created();
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
      if (leaf === null)
        throw new GovError('STORAGE_FAULT', `leaf ${index} is missing; check the log with fsck`);
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
    };
  }

  /** Of each run whose results an erasure withdrew a leaf that it names; any one of them for a comparison with another run. */
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

  /** The event that tells of the export; appended after its rows. */
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
        throw new GovError('STORAGE_FAULT', `expected the event of ${exportId}, got none; run fsck`);
      after = last.index;
    }
  }
}

function nullWherePruned(error: unknown): null {
  if (prunedBelow(error) === null) throw error;
  return null;
}

const asTiled = ({ level, index }: Subtree) => ({ height: level, start: index * 2 ** level });
