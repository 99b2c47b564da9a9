/** Records of namespaces in the memory of this process. Tested by `test/client/namespaces/client.test.ts`. */
import type { NamespaceStore, PositionedRecord, Scalar, Selection } from './store.ts';

/** Returns an empty store. Its secrets are sealed with a key that ends with the process. */
export function memoryStore(): NamespaceStore {
  const records = new Map<string, PositionedRecord>();
  let next = 1;
  return {
    secretsKey: crypto.getRandomValues(new Uint8Array(32)),
    insert(record) {
      records.set(record.id, { position: next, record });
      next += 1;
      return Promise.resolve();
    },
    find(namespace, id) {
      const record = records.get(id)?.record;
      return Promise.resolve(record?.namespace === namespace ? record : null);
    },
    replace(record, version) {
      const before = records.get(record.id);
      if (before?.record.version !== version || before.record.status !== 'active')
        return Promise.resolve(false);
      records.set(record.id, { ...before, record });
      return Promise.resolve(true);
    },
    select(selection) {
      const found: PositionedRecord[] = [];
      for (const placed of [...records.values()].toReversed()) {
        if (found.length < selection.limit && matches(placed, selection)) found.push(placed);
      }
      return Promise.resolve(found);
    },
    close: () => {},
  };
}

function matches(
  { position, record }: PositionedRecord,
  { namespace, status, filter, before }: Selection,
): boolean {
  if (record.namespace !== namespace || (before !== null && position >= before)) return false;
  if (status !== 'all' && record.status !== status) return false;
  const data = JSON.parse(record.data) as Readonly<Record<string, unknown>>;
  return Object.entries<Scalar>(filter).every(
    ([name, value]) => Object.hasOwn(data, name) && data[name] === value,
  );
}
