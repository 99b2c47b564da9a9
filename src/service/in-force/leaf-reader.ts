/**
 * The leaves of one type, in the order of the log. Reads each once, in pages, and holds one page. Proven by
 * `test/service/proofs/compliance.engines.test.ts`.
 */
import type { Leaf, StoreReader } from '../../store/port/store.ts';
import type { TaskContext } from '../call/work.ts';

const pageLeaves = 100;

/** Their type, and below which index. */
type LeavesWanted = Parameters<StoreReader['leavesOf']>[1];

export class LeafReader {
  readonly #context: Pick<TaskContext, 'reader' | 'breathe'>;
  readonly #projectId: string;
  readonly #wanted: LeavesWanted;
  #page: Leaf[] = [];
  #next = 0;
  #after: number | undefined;
  #ended = false;

  /** Reads leaves below `beforeIndex`. */
  constructor(
    context: Pick<TaskContext, 'reader' | 'breathe'>,
    { projectId, ...wanted }: LeavesWanted & { readonly projectId: string },
  ) {
    this.#context = context;
    this.#projectId = projectId;
    this.#wanted = wanted;
  }

  /** The next leaf, if it is below an index; undefined where none is left below it. */
  async below(index: number): Promise<Leaf | undefined> {
    while (this.#next === this.#page.length && !this.#ended) await this.#read();
    const leaf = this.#page[this.#next];
    if (leaf === undefined || leaf.index >= index) return undefined;
    this.#next++;
    return leaf;
  }

  async #read(): Promise<void> {
    const { reader, breathe } = this.#context;
    const after = this.#after;
    this.#page = await reader.leavesOf(this.#projectId, this.#wanted, {
      ...(after === undefined ? {} : { after }),
      limit: pageLeaves,
      order: 'asc',
    });
    this.#next = 0;
    this.#after = this.#page.at(-1)?.index ?? after;
    this.#ended = this.#page.length < pageLeaves;
    await breathe();
  }
}
