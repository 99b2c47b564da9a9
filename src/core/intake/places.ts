/**
 * Where a value stands in an imported file: its line, and a JSON pointer (RFC 6901) from there. The index is made when the
 * first value is looked up, because most recordings need none. Tested by `test/core/intake/places.test.ts`.
 */
import { pointerToken } from '../json/pointer.ts';
import type { SourceDocument } from './source.ts';

interface Place {
  readonly parent: object | undefined;
  readonly name: string;
}

export class Places {
  readonly #document: SourceDocument;
  #index: ReadonlyMap<object, Place> | undefined;

  constructor(document: SourceDocument) {
    this.#document = document;
  }

  /**
   * Returns `line 812 /message/content/2`, or the line of the document for a value that is not an object or list of it.
   * Cost: the first time once over the document.
   */
  of(value: unknown): string {
    const { line, lines } = this.#document;
    this.#index ??= indexOf(this.#document.value);
    const names: string[] = [];
    let place = isContainer(value) ? this.#index.get(value) : undefined;
    for (; place?.parent !== undefined; place = this.#index.get(place.parent)) names.push(place.name);
    names.reverse();
    if (lines !== undefined && names.length > 0)
      return placed(lines[Number(names[0])] ?? line, names.slice(1));
    return placed(line, names);
  }
}

const placed = (line: number, names: readonly string[]): string =>
  `line ${line}${names.length === 0 ? '' : ` /${names.map(pointerToken).join('/')}`}`;

const isContainer = (value: unknown): value is object => typeof value === 'object' && value !== null;

function indexOf(root: unknown): ReadonlyMap<object, Place> {
  const index = new Map<object, Place>();
  if (!isContainer(root)) return index;
  index.set(root, { parent: undefined, name: '' });
  const open = [root];
  for (let parent = open.pop(); parent !== undefined; parent = open.pop())
    for (const [name, value] of Object.entries(parent)) {
      if (!isContainer(value) || index.has(value)) continue;
      index.set(value, { parent, name });
      open.push(value);
    }
  return index;
}
