/**
 * Ids that come again within one recording. A part with the same content came before and is left out; one with other
 * content gets a number of its own. The result depends on the parts before it alone, so it stays the same when the recording
 * grows. Tested by `test/core/intake/repeats.test.ts`.
 */
export interface NumberedPart {
  /** The id of the part, numbered if an earlier part with other content has it. */
  readonly id: string;
  /** Whether a part with this content came before. */
  readonly isRepeat: boolean;
}

export class Repeats {
  readonly #first = new Map<string, unknown>();
  /** For ids that came again: the place of each content, as JSON. One program writes members in one order. */
  readonly #places = new Map<string, Map<string, string>>();

  placeOf(id: string, part: unknown): NumberedPart {
    if (!this.#first.has(id)) {
      this.#first.set(id, part);
      return { id, isRepeat: false };
    }
    const places = this.#places.get(id) ?? new Map([[JSON.stringify(this.#first.get(id)), id]]);
    this.#places.set(id, places);
    const content = JSON.stringify(part);
    const known = places.get(content);
    if (known !== undefined) return { id: known, isRepeat: true };
    let number = places.size + 1;
    // the source may use such an id itself
    while (this.#first.has(numbered(id, number))) number += 1;
    const place = numbered(id, number);
    places.set(content, place);
    this.#first.set(place, part);
    return { id: place, isRepeat: false };
  }
}

const numbered = (id: string, number: number): string => `${id}.repeat${number}`;
