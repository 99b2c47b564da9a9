/** Follows the live stream onto a screen. Tested by `test/cli/screens/events.test.ts`. */
import type { Client } from '../../../client/create.ts';
import { tailEvents } from '../../../client/tail.ts';
import type { AuditEvent } from '../../../contract/events.ts';
import type { Invocation } from '../../context/command.ts';
import { showScreen } from '../start.ts';
import { Store } from '../store.ts';
import { eventsKept, eventsState, reduceEvents } from './state.ts';

interface Following {
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
  { client, target, ascii, ...filters }: Following,
): Promise<void> {
  const { io, signal } = call;
  const store = new Store(eventsState(target, io.now()), reduceEvents);
  const ended = new AbortController();
  const either = AbortSignal.any([signal, ended.signal]);
  let waiting: AuditEvent[] = [];
  const flush = (): void => {
    if (waiting.length === 0) return;
    store.dispatch({ kind: 'events', events: waiting });
    waiting = [];
  };
  const grouping = setInterval(flush, groupMs);
  const follow = async (): Promise<void> => {
    const events = tailEvents(client, {
      ...filters,
      signal: either,
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
    for await (const event of events) {
      waiting.push(event);
      if (waiting.length >= eventsKept) flush();
    }
  };
  const following = follow().catch((cause: unknown) => {
    if (!either.aborted) throw cause;
  });
  const screen = showScreen({ ...call, signal: either }, { name: 'events', store, ascii });
  try {
    await Promise.race([screen, following.then(() => screen)]);
  } finally {
    clearInterval(grouping);
    ended.abort();
    // the terminal is restored before a failure is printed
    await screen.catch(() => undefined);
  }
}
