/** What one request changed in memory, and how to take it back when the request is refused. */
export class Undo {
  private steps: (() => void)[] = [];

  add(step: () => void): void {
    this.steps.push(step);
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

  /** False where it is not in the set. */
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

  /** The request is accepted. */
  keep(): void {
    this.steps = [];
  }

  /** The request is refused. */
  back(): void {
    for (const step of this.steps.splice(0).reverse()) step();
  }
}
