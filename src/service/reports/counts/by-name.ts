/** Counts by name: of types of events, decisions, runs or tools. */
type Counts = Iterable<readonly [name: string, n: number]>;

export const increase = <Key>(counts: Map<Key, number>, key: Key, n = 1): void => {
  counts.set(key, (counts.get(key) ?? 0) + n);
};

/** Of these names together. */
export const totalOf = (counts: ReadonlyMap<string, number>, ...names: readonly string[]): number =>
  names.reduce((sum, name) => sum + (counts.get(name) ?? 0), 0);

/** Those of the same count by name. */
export const largestFirst = (counts: Counts): (readonly [name: string, n: number])[] =>
  [...counts].toSorted(([a, n], [b, m]) => m - n || order(a, b));

export const byName = <Value>(named: Iterable<readonly [string, Value]>): (readonly [string, Value])[] =>
  [...named].toSorted(([a], [b]) => order(a, b));

/** By UTF-16 code units. */
export const order = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
