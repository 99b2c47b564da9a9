/** Live events need Node: elsewhere a WebSocket cannot carry the credential. Tested by `test/client/web/edge.test.ts`. */
import { GovNetworkError } from '../errors.ts';

// oxlint-disable-next-line require-yield -- it only throws, as the first call of an iterator does
export async function* tailEvents(): AsyncGenerator<never, never, undefined> {
  throw new GovNetworkError('UNSUPPORTED', 'expected Node for live events, got another runtime', {
    hint: 'ask for the events after a sequence: client.listEvents',
  });
}
