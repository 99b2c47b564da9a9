/**
 * One pass of the scrub over the two logs of a project: reads every leaf below a signed checkpoint again, compares it with
 * its hash and its commitments, and the hashes together with the signed root (RFC 6962 section 2.1). It finds what
 * decays or is changed while nobody reads it. `gov log fsck` also checks the rows outside the log.
 * Proven by `test/service/operations/scrub.test.ts`.
 */
import { limits } from '../../contract/limits.ts';
import { GovError } from '../../contract/problems.ts';
import { Frontier, hashBytes } from '../../core/merkle/tree.ts';
import { tileWidth } from '../../core/merkle/tile-path.ts';
import { openCheckpoint, type Checkpoint } from '../../core/note/checkpoint.ts';
import { parseVerifierKey } from '../../core/note/key.ts';
import type { StoreReader, TreeName } from '../../store/port/store.ts';
import type { Services } from '../port/services.ts';
import { openOwn } from '../log/checkpoints.ts';
import type { ScrubFinding, ScrubPass, ScrubState } from './scrub-state.ts';

export type ScrubServices = Pick<Services, 'now' | 'verifierKeys'> & { readonly store: StoreReader };

const trees = ['audit', 'metering'] as const;

/** Begins a pass with the audit log. */
export const startPass = async (
  services: ScrubServices,
  projectId: string,
  { last }: ScrubState,
): Promise<ScrubState> => {
  const begun = { startedMs: services.now(), reading: null, leaves: 0, found: 0, findings: [], last };
  return nextTree(services, projectId, { state: begun, after: null });
};

/** Reads at most `most` leaves, without a pause. Returns the state after them. */
export async function readOn(
  services: ScrubServices,
  projectId: string,
  { state, most }: { readonly state: ScrubState; readonly most: number },
): Promise<ScrubState> {
  const { reading } = state;
  if (reading === null) return state;
  const { tree, size, from } = reading;
  if (from >= size) return endTree(services, projectId, { state, reading });
  // never beyond a tile, so that one tile has the hashes of what cannot be read
  const to = Math.min(size, from + most, (Math.floor(from / tileWidth) + 1) * tileWidth);
  const slice = new Slice(services, { projectId, tree, from, to });
  await slice.read();
  return {
    ...keep(state, slice.findings),
    reading: { ...reading, from: to, peaks: grown(reading, slice.hashes) },
  };
}

function grown({ from, peaks }: ScrubPass, hashes: readonly Uint8Array[] | null): readonly string[] | null {
  if (peaks === null || hashes === null) return null;
  const bytes = peaks.map((peak) => Buffer.from(peak, 'base64'));
  const frontier = Frontier.from(from, bytes);
  for (const hash of hashes) frontier.append(hash);
  return frontier.hashes().map((hash) => hash.toString('base64'));
}

/** Compares the root, and goes on to the next log; after the last one the pass is complete. */
async function endTree(
  services: ScrubServices,
  projectId: string,
  { state, reading }: { readonly state: ScrubState; readonly reading: ScrubPass },
): Promise<ScrubState> {
  const { tree, size, root, peaks } = reading;
  const read = { ...state, leaves: state.leaves + size };
  if (peaks === null) return nextTree(services, projectId, { state: read, after: tree });
  const frontier = Frontier.from(
    size,
    peaks.map((peak) => Buffer.from(peak, 'base64')),
  );
  const isSame = frontier.root().toString('base64') === root;
  const detail = `the leaves of the ${tree} log do not hash to the root that was signed at ${size} leaves`;
  const findings = isSame ? [] : [{ tree, index: size, detail, atMs: services.now() }];
  return nextTree(services, projectId, { state: keep(read, findings), after: tree });
}

async function nextTree(
  services: ScrubServices,
  projectId: string,
  { state, after }: { readonly state: ScrubState; readonly after: TreeName | null },
): Promise<ScrubState> {
  const tree = after === null ? trees[0] : trees[trees.indexOf(after) + 1];
  if (tree === undefined) {
    const { startedMs, leaves, found } = state;
    const last = { startedMs, completedMs: services.now(), leaves, found };
    return { ...state, reading: null, last };
  }
  const note = await services.store.newestCheckpoint(projectId, tree);
  if (note === null) return nextTree(services, projectId, { state, after: tree });
  const opened = ownCheckpoint(note);
  if (typeof opened === 'string') {
    // each leaf still has its hash to agree with, but nothing says what they hash to together
    const { size } = await services.store.head(projectId, tree);
    const findings = [{ tree, index: size, detail: newest(tree, opened), atMs: services.now() }];
    return { ...keep(state, findings), reading: { tree, size, root: '', from: 0, peaks: null } };
  }
  const { size, root } = opened;
  const reading = { tree, size, root: Buffer.from(root).toString('base64'), from: 0, peaks: [] };
  const fault = await signatureFault(services, projectId, { tree, note });
  const findings = fault === null ? [] : [{ tree, index: size, detail: fault, atMs: services.now() }];
  return { ...keep(state, findings), reading };
}

/** The checkpoint in a stored note, or why the note cannot be read. */
export function ownCheckpoint(note: string): Checkpoint | string {
  try {
    return openOwn(note);
  } catch (error) {
    if (!(error instanceof GovError)) throw error;
    return error.message;
  }
}

const newest = (tree: TreeName, fault: string): string =>
  `the newest checkpoint of the ${tree} log: ${fault}`;

/** Why the checkpoint is not one of this log's keys; null if it is. */
async function signatureFault(
  { store, verifierKeys }: ScrubServices,
  projectId: string,
  { tree, note }: { readonly tree: TreeName; readonly note: string },
): Promise<string | null> {
  const project = await store.project(projectId);
  if (project === null) return null;
  const origin = tree === 'audit' ? project.auditOrigin : project.meteringOrigin;
  try {
    openCheckpoint(note, verifierKeys(origin).map(parseVerifierKey), origin);
    return null;
  } catch (error) {
    if (!(error instanceof GovError)) throw error;
    return newest(tree, error.message);
  }
}

function keep(state: ScrubState, findings: readonly ScrubFinding[]): ScrubState {
  const room = Math.max(0, limits.scrubFindings - state.findings.length);
  return {
    ...state,
    found: state.found + findings.length,
    findings: [...state.findings, ...findings.slice(0, room)],
  };
}

interface Range {
  readonly projectId: string;
  readonly tree: TreeName;
  readonly from: number;
  readonly to: number;
}

/** Leaves of one tile. */
class Slice {
  readonly findings: ScrubFinding[] = [];
  /** One per leaf; null where the hash of a leaf is lost. */
  hashes: Uint8Array[] | null = [];
  readonly #services: ScrubServices;
  readonly #range: Range;

  constructor(services: ScrubServices, range: Range) {
    this.#services = services;
    this.#range = range;
  }

  async read(): Promise<void> {
    const { projectId, tree, from, to } = this.#range;
    const { store } = this.#services;
    const floor = tree === 'audit' ? await store.prunedBelow(projectId) : 0;
    // the events below are in an archive; their hashes stay in the tiles
    let next = Math.min(Math.max(from, floor), to);
    await this.#takeHashes(from, next);
    while (next < to) next = await this.#readFrom(next);
  }

  /** Reads up to the first altered leaf, and returns the leaf after it. */
  async #readFrom(from: number): Promise<number> {
    const { projectId, tree, to } = this.#range;
    const { store } = this.#services;
    const altered = await alteredIn(() => this.#readWhole(from, to));
    if (altered === null) return to;
    if (altered.index === null || altered.index < from || altered.index >= to) {
      // the engine could not read these rows at all
      this.#find(from, altered.detail);
      await this.#takeHashes(from, to);
      return to;
    }
    const { index } = altered;
    if (index > from) {
      const sound = await store.leaves(projectId, tree, { from, to: index });
      for (const { hash } of sound) this.hashes?.push(hash);
    }
    this.#find(index, altered.detail);
    await this.#takeHashes(index, index + 1);
    return index + 1;
  }

  async #readWhole(from: number, to: number): Promise<void> {
    const { projectId, tree } = this.#range;
    const leaves = await this.#services.store.leaves(projectId, tree, { from, to });
    const gap = leaves.findIndex(({ index }, at) => index !== from + at);
    const missing = gap >= 0 ? from + gap : from + leaves.length;
    if (missing < to) {
      const detail = `leaf ${missing} of the ${tree} log is missing`;
      throw new GovError('STORAGE_FAULT', detail, { extensions: { tree, index: missing } });
    }
    for (const { hash } of leaves) this.hashes?.push(hash);
  }

  #find(index: number, detail: string): void {
    this.findings.push({ tree: this.#range.tree, index, detail, atMs: this.#services.now() });
  }

  /** Takes the hashes of leaves from their tile. */
  async #takeHashes(from: number, to: number): Promise<void> {
    if (from >= to || this.hashes === null) return;
    const { projectId, tree } = this.#range;
    const index = Math.floor(from / tileWidth);
    const start = from - index * tileWidth;
    const end = to - index * tileWidth;
    const wanted = [{ level: 0, index, width: end }];
    let tile: Uint8Array | undefined;
    const fault = await alteredIn(async () => {
      [tile] = await this.#services.store.tiles(projectId, tree, wanted);
    });
    if (fault !== null || tile === undefined || tile.length < end * hashBytes) {
      this.hashes = null;
      return;
    }
    for (let at = start; at < end; at++)
      this.hashes.push(tile.subarray(at * hashBytes, (at + 1) * hashBytes));
  }
}

/** The storage fault of a read, with the leaf that it names; null where the read succeeds. */
async function alteredIn(
  read: () => Promise<void>,
): Promise<{ readonly index: number | null; readonly detail: string } | null> {
  try {
    await read();
    return null;
  } catch (error) {
    if (!(error instanceof GovError) || error.code !== 'STORAGE_FAULT') throw error;
    const { index } = error.extensions;
    return { index: typeof index === 'number' ? index : null, detail: error.message };
  }
}
