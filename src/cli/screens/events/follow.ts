/** Follows the live stream onto a screen. Tested by `test/cli/screens/events.test.ts`. */
import type { Client } from '../../../client/create.ts';
import { tailEvents } from '../../../client/tail.ts';
import type { AuditEvent } from '../../../contract/events.ts';
import type { Invocation } from '../../context/command.ts';
import { showWith } from '../start.ts';
import { Store } from '../store.ts';
import { eventsKept, eventsState, reduceEvents } from './state.ts';

interface FollowOptions {
  readonly client: Client;
  readonly target: string;
  readonly ascii: boolean;
  readonly runId: string | undefined;
  readonly eventType: string | undefined;
  readonly after: number | undefined;
}

/** Events reach the state in groups, because each change of the state copies its list. */
const groupMs = 100;

/** Rejects where the service refuses the stream; a lost connection is shown, and opened again. */
export async function followOnScreen(
  call: Pick<Invocation, 'io' | 'out' | 'settings' | 'signal'>,
  { client, target, ascii, ...filters }: FollowOptions,
): Promise<void> {
  const store = new Store(eventsState(target, call.io.now()), reduceEvents);
  await showWith(call, { name: 'events', store, ascii }, async (signal) => {
    let waiting: AuditEvent[] = [];
    const flush = (): void => {
      if (waiting.length === 0) return;
      store.dispatch({ kind: 'events', events: waiting });
      waiting = [];
    };
    const grouping = setInterval(flush, groupMs);
    const events = tailEvents(client, {
      ...filters,
      signal,
      observe: (note) =>
        store.dispatch(
          note.kind === 'connected'
            ? { kind: 'connection', isConnected: true, text: 'live' }
            : {
                kind: 'connection',
                isConnected: false,
                text: `connection lost: ${note.reason}; connecting again`,
              },
        ),
    });
    try {
      for await (const event of events) {
        waiting.push(event);
        if (waiting.length >= eventsKept) flush();
      }
    } catch (cause) {
      if (!signal.aborted) throw cause;
    } finally {
      clearInterval(grouping);
    }
  });
}
