/**
 * Commands that open a store, do one thing and end. They start no background work: an index that follows the log would be cut off
 * when the store closes, and a serving process extends it anyway. Proven by `test/host/service/operator.test.ts`.
 */
import type { Services } from '../../service/port/services.ts';
import type { ServerParts } from './assemble.ts';

/** Runs `work`, signs what it appended, and closes everything, also after a failure. */
export async function once<Value>(
  { services, engine }: Pick<ServerParts, 'services' | 'engine'>,
  work: (services: Services) => Promise<Value>,
): Promise<Value> {
  services.indexer.stop();
  services.searchIndexer.stop();
  try {
    return await work(services);
  } finally {
    await services.checkpoints.signGrown();
    await services.checkpoints.stop();
    await engine.work.close();
    await engine.exports.work.close();
    await engine.store.close();
  }
}
