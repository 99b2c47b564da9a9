/** `gov approvals inbox`: decide on a screen; into a pipe, the pending approvals. Tested by `test/cli/screens/approvals.test.ts`. */
import { pause } from '../../../client/retry.ts';
import type { Client } from '../../../client/create.ts';
import type { ShownApproval } from '../../../contract/approvals.ts';
import { limits } from '../../../contract/limits.ts';
import type { Run } from '../../context/command.ts';
import { failureOf } from '../../program/exit.ts';
import { runEffects } from '../../screens/effects.ts';
import { approvalsState, reduceApprovals, type Decide } from '../../screens/approvals/state.ts';
import { canShow, rowsAsData, showWith } from '../../screens/start.ts';
import { safe } from '../../terminal/safe.ts';
import { Store } from '../../screens/store.ts';
import type { approvalsInbox as spec } from '../../specs/decide/approvals.ts';

const readEveryMs = 2000;

export const run: Run<typeof spec> = async (call) => {
  const { flags, session, io, out } = call;
  const client = await session.client();
  if (!(await canShow(call))) {
    const items = await pending(client);
    return rowsAsData(call, pageOf(items), 'listApprovals');
  }
  const target = session.context()?.name ?? session.baseUrl().value;
  const store = new Store(approvalsState(target, io.now()), reduceApprovals);
  const said: string[] = [];
  const end = runEffects({
    wanted: () => store.get().wanted,
    subscribe: store.subscribe,
    load: (wanted) => decide(client, wanted),
    loaded: (wanted, text) => {
      said.push(text);
      store.dispatch({ kind: 'decided', for: wanted, text });
    },
    failed: (wanted, why) => {
      said.push(`${wanted.approvalId}: ${why}`);
      store.dispatch({ kind: 'refused', for: wanted, why });
    },
  });
  try {
    await showWith(call, { name: 'approvals', store, ascii: flags.ascii }, (signal) =>
      keepReading(client, { store, now: io.now, signal }),
    );
  } finally {
    // a decision on its way has its answer before the command ends
    await end();
  }
  // the screen is gone; what was decided stays in the scrollback
  for (const text of said) await out.note(safe`${text}`);
};

async function decide(client: Client, { approvalId, outcome, comment }: Decide): Promise<string> {
  const { body } = await client.decideApproval({
    params: { approvalId },
    body: { outcome, ...(comment === null || comment === '' ? {} : { comment }) },
  });
  return `${body.status} ${approvalId}`;
}

/** Every pending approval, the longest waiting first. */
async function pending(client: Client): Promise<ShownApproval[]> {
  const found: ShownApproval[] = [];
  let cursor: string | undefined;
  do {
    const query = { status: 'pending', limit: limits.pageMax, cursor } as const;
    const { body } = await client.listApprovals({ query });
    found.push(...body.data);
    cursor = body.nextCursor ?? undefined;
  } while (cursor !== undefined);
  return found.reverse();
}

async function* pageOf(items: readonly ShownApproval[]) {
  yield { items, nextCursor: null };
}

interface InboxContext {
  readonly store: Store<ReturnType<typeof approvalsState>, Parameters<typeof reduceApprovals>[1]>;
  readonly now: () => number;
  readonly signal: AbortSignal;
}

/** Reads every two seconds, and at once where the state asks. A failure is shown, and does not end it. */
async function keepReading(client: Client, { store, now, signal }: InboxContext): Promise<void> {
  while (!signal.aborted) {
    const { reloads } = store.get();
    try {
      const rows = await pending(client);
      store.dispatch({ kind: 'read', rows, atMs: now() });
    } catch (cause) {
      if (signal.aborted) return;
      store.dispatch({ kind: 'unread', why: failureOf(cause).message });
    }
    const asked = new AbortController();
    const end = store.subscribe(() => store.get().reloads !== reloads && asked.abort());
    await pause(readEveryMs, AbortSignal.any([signal, asked.signal])).catch(() => undefined);
    end();
  }
}
