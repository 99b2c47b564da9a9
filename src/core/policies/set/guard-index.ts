/**
 * An index over the guards of many conditions: it finds the conditions that must be evaluated for a policy input; all
 * others are false. Each condition is filed under its rarest guard. It must be evaluated if the guard path is absent or has
 * a value of another type, unless it also requires the presence of a path that is absent. Proven by
 * `test/core/policies/set/guard-index.test.ts` (compared with evaluating all, on random conditions).
 */
import type { JsonObject } from '../../json/parse.ts';
import type { PolicyInput } from '../evaluate/compile.ts';
import type { Guard, Guards, Literal, GuardedPath } from './guard.ts';
import { presence, type PathReader, reader } from '../language/path.ts';

/** The conditions filed under one path, by their position in the indexed list. */
interface Shelf {
  readonly read: PathReader;
  readonly byValue: Map<Literal, number[]>;
  /** Guarded by `==` or `in`, by the type of the literals: undecided for a value of another type. */
  readonly byType: Map<string, number[]>;
  /** Undecided if the path is absent. */
  readonly absent: number[];
  /** Undecided if the path is absent but another required path is present (it may be null). */
  readonly absentBut: Map<string, { readonly isPresent: Presence; readonly members: number[] }>;
  /** Without a guard, but false if the path is absent. */
  readonly present: number[];
  readonly isPresent: Presence;
}

type Presence = ReturnType<typeof presence>;

export class GuardIndex {
  readonly #shelves = new Map<string, Shelf>();
  /** Conditions without a guard; always evaluated. */
  readonly #always: number[] = [];

  /** Cost: about 1 µs a condition. */
  constructor(guards: readonly Guards[]) {
    const frequency = frequencyOf(guards);
    for (const [member, { values, present }] of guards.entries()) {
      const guard = rarest(values, frequency);
      const [asked] = present;
      if (guard !== undefined) this.#file(member, guard, present);
      else if (asked !== undefined) this.#shelf(asked).present.push(member);
      else this.#always.push(member);
    }
  }

  /** Returns the conditions that may not be false, each once, unordered. Cost: one read for each guarded path. */
  candidates(input: PolicyInput): number[] {
    const found = this.#always.slice();
    const add = (members: readonly number[]): void => {
      for (const member of members) found.push(member);
    };
    const root = input as unknown as JsonObject; // guard paths start with context or step
    for (const shelf of this.#shelves.values()) {
      const { byValue, byType, absent, absentBut, present, isPresent } = shelf;
      const value = shelf.read(root);
      if (value === null) {
        add(absent);
        for (const { isPresent, members } of absentBut.values()) if (isPresent(root)) add(members);
        if (present.length > 0 && isPresent(root)) add(present);
        continue;
      }
      add(present);
      if (typeof value !== 'object') add(byValue.get(value) ?? []);
      for (const [type, members] of byType) if (typeof value !== type) add(members);
    }
    return found;
  }

  #file(member: number, guard: Guard, present: readonly GuardedPath[]): void {
    const { byValue, byType, absent, absentBut } = this.#shelf(guard);
    for (const value of guard.values) push(byValue, value, member);
    if (guard.looseType !== null) push(byType, guard.looseType, member);
    const other = present.find((place) => encloses(place, guard)) ?? present[0];
    if (other === undefined) {
      absent.push(member);
      return;
    }
    const but = absentBut.get(other.key) ?? { isPresent: presence(other.path), members: [] };
    but.members.push(member);
    absentBut.set(other.key, but);
  }

  #shelf({ key, path }: GuardedPath): Shelf {
    const known = this.#shelves.get(key);
    if (known !== undefined) return known;
    const shelf: Shelf = {
      read: reader(path),
      byValue: new Map(),
      byType: new Map(),
      absent: [],
      absentBut: new Map(),
      present: [],
      isPresent: presence(path),
    };
    this.#shelves.set(key, shelf);
    return shelf;
  }
}

/** Whether a path is the other or above it, and so likely absent if the other is absent. */
const encloses = (place: GuardedPath, other: GuardedPath): boolean =>
  place.path.length <= other.path.length && place.path.every((segment, at) => segment === other.path[at]);

type Frequency = ReadonlyMap<string, ReadonlyMap<Literal, number>>;

/** Returns the number of conditions that each value of each path guards. */
function frequencyOf(guards: readonly Guards[]): Frequency {
  const byPath = new Map<string, Map<Literal, number>>();
  for (const { values } of guards) {
    for (const guard of values) {
      const counts = byPath.get(guard.key) ?? new Map<Literal, number>();
      byPath.set(guard.key, counts);
      for (const value of guard.values) counts.set(value, (counts.get(value) ?? 0) + 1);
    }
  }
  return byPath;
}

/** Returns the guard whose values occur in the fewest conditions; the first of equals. */
function rarest(guards: readonly Guard[], frequency: Frequency): Guard | undefined {
  let [best] = guards;
  if (guards.length < 2) return best;
  let fewest = Infinity;
  for (const guard of guards) {
    const counts = frequency.get(guard.key);
    let total = 0;
    for (const value of guard.values) total += counts?.get(value) ?? 0;
    if (total >= fewest) continue;
    fewest = total;
    best = guard;
  }
  return best;
}

function push<K>(map: Map<K, number[]>, key: K, member: number): void {
  const members = map.get(key);
  if (members === undefined) map.set(key, [member]);
  else members.push(member);
}
