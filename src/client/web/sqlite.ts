/** There is no SQLite: namespaces keep records in memory. Tested by `test/client/web/edge.test.ts`. */
import type { NamespaceStore } from '../namespaces/store.ts';

export const sqliteStore = (): Promise<NamespaceStore> =>
  Promise.reject(new TypeError('expected Node for sqliteStore, got another runtime'));
