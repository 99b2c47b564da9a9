/** `gov approvals inbox`: decide on a screen; into a pipe, the pending approvals. Tested by `test/cli/screens/approvals.test.ts`. */
import { pause } from '../../../client/retry.ts';
import type { Client } from '../../../client/create.ts';
import { GovApiError } from '../../../client/errors.ts';
import type { ShownApproval } from '../../../contract/approvals.ts';
import { limits } from '../../../contract/limits.ts';
import type { SentDecision } from '../../approvals/sealed-decision.ts';
import type { Invocation, Run } from '../../context/command.ts';
import { failureOf } from '../../program/exit.ts';
import { runEffects } from '../../screens/effects.ts';
import { approvalsState, reduceApprovals, type Decide } from '../../screens/approvals/state.ts';
import { canShow, rowsAsData, showWith, type Lend } from '../../screens/start.ts';
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
  let lend: Lend = (work) => work();
  const end = runEffects({
    wanted: () => store.get().wanted,
    subscribe: store.subscribe,
    load: (wanted) => decide(call, { client, wanted, lend: (work) => lend(work) }),
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
    const lends = (given: Lend): void => void (lend = given);
    await showWith(call, { name: 'approvals', store, ascii: flags.ascii, lends }, (signal) =>
      keepReading(client, { store, now: io.now, signal }),
    );
  } finally {
    // a decision on its way has its answer before the command ends
    await end();
  }
  // the screen is gone; what was decided stays in the scrollback
  for (const text of said) await out.note(safe`${text}`);
};

interface InboxDecision {
  readonly client: Client;
  readonly wanted: Decide;
  readonly lend: Lend;
}

/** Sends a decision. That of a sealed key asks for its phrase at the terminal, which the screen lends. */
async function decide(
  call: Invocation<typeof spec>,
  { client, wanted, lend }: InboxDecision,
): Promise<string> {
  const { approvalId, outcome } = wanted;
  const said = wanted.comment === null || wanted.comment === '' ? {} : { comment: wanted.comment };
  const send = async ({ client, signature }: SentDecision): Promise<string> => {
    const body = { outcome, ...said, ...(signature === undefined ? {} : { signature }) };
    const answer = await client.decideApproval({ params: { approvalId }, body });
    return `${answer.body.status} ${approvalId}`;
  };
  const { decidesSealed, sealedDecision } = await import('../../approvals/sealed-decision.ts');
  const dataDir = decidesSealed(call);
  if (dataDir === null) return send({ client });
  const sealed = async (): Promise<string> => {
    let decision: SentDecision = { client };
    await lend(async () => {
      decision = await sealedDecision({ ...call, args: { approvalId }, flags: said }, outcome, dataDir);
    });
    return send(decision);
  };
  if (outcome === 'approved') return sealed();
  // the operator's key may have asked
  return send({ client }).catch((cause: unknown) => {
    if (cause instanceof GovApiError && cause.status === 403) return sealed();
    throw cause;
  });
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
