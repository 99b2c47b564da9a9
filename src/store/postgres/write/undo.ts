/** Changes that one request made in memory, and how to undo them if the request is refused. */
export class Undo {
  #steps: (() => void)[] = [];

  add(step: () => void): void {
    this.#steps.push(step);
  }

  set<Key, Value>(map: Map<Key, Value>, key: Key, value: Value): void {
    const before = map.get(key);
    const had = map.has(key);
    map.set(key, value);
    this.add(() => (had ? map.set(key, before as Value) : map.delete(key)));
  }

  include<Value>(set: Set<Value>, value: Value): void {
    if (set.has(value)) return;
    set.add(value);
    this.add(() => set.delete(value));
  }

  /** Returns false if the set does not have the value. */
  remove<Value>(set: Set<Value>, value: Value): boolean {
    if (!set.delete(value)) return false;
    this.add(() => set.add(value));
    return true;
  }

  delete<Key, Value>(map: Map<Key, Value>, key: Key): void {
    const before = map.get(key);
    if (!map.delete(key)) return;
    this.add(() => map.set(key, before as Value));
  }

  /** Accepts the request's changes. */
  keep(): void {
    this.#steps = [];
  }

  /** Undoes the changes of a refused request. */
  back(): void {
    for (const step of this.#steps.splice(0).reverse()) step();
  }
}
