/**
 * The demonstration of `gov quickstart`: two policies, an agent that pays three invoices through `governedInvoke`, and the
 * person who approves one payment with a key of their own. Tested by `test/cli/commands/quickstart/run.test.ts`.
 */
import type { Client } from '../../client/create.ts';
import { governedInvoke, GovToolRefused } from '../../client/governed.ts';
import { pause } from '../../client/retry.ts';

export const runId = 'payables-demo';

/** Files of policies, by name. */
export const policies: Readonly<Record<string, string>> = {
  'large-payments.policy': `deny "large-payments" high
name "No payment above 5000"
when tool.name == "ledger.pay" && arguments.amount > 5000
`,
  'ask-a-person.policy': `escalate "ask-a-person" medium
name "A person approves payments above 1000"
when tool.name == "ledger.pay" && arguments.amount > 1000
`,
};

const payments = [
  { invoice: 'inv-1001', to: 'Nordlicht Papier GmbH', amount: 184.5 },
  { invoice: 'inv-1002', to: 'Atelier Fiore', amount: 1290 },
  { invoice: 'inv-1004', to: 'Kestrel Freight Ltd', amount: 7450 },
] as const;

/** How a payment ended. `approvalId`: of the person's approval, without which it would not have run. */
export interface Payment {
  readonly invoice: string;
  readonly to: string;
  readonly amount: number;
  readonly paid: boolean;
  readonly decision: string;
  readonly reason: string;
  readonly approvalId: string | null;
}

/** Pays the invoices in turn. `person` decides the approval that a policy asks for. */
export async function payInvoices(agent: Client, person: Client, signal: AbortSignal): Promise<Payment[]> {
  const actor = { name: 'payables-agent', role: 'agent' };
  const event = (eventType: string, action: string) => ({
    runId,
    eventType,
    actor,
    action,
    timestamp: new Date().toISOString(),
  });
  await agent.createEvent({
    body: { ...event('run.started', 'start'), metadata: { task: 'pay open invoices' } },
  });
  const ended: Payment[] = [];
  for (const payment of payments) {
    const stop = new AbortController();
    const asked = AbortSignal.any([signal, stop.signal]);
    const [one] = await Promise.all([
      pay(agent, payment, signal).finally(() => stop.abort()),
      approve(person, payment.invoice, asked),
    ]);
    ended.push(one);
  }
  const paid = ended.filter((each) => each.paid).length;
  await agent.createEvent({ body: { ...event('run.ended', 'end'), metadata: { paid } } });
  return ended;
}

/** An agent waits this long for a person. */
const approvalTimeoutMs = 20_000;

async function pay(agent: Client, payment: (typeof payments)[number], signal: AbortSignal): Promise<Payment> {
  const { invoice, to, amount } = payment;
  const call = {
    runId,
    actor: { name: 'payables-agent', role: 'agent' },
    tool: { name: 'ledger.pay' },
    arguments: { amount, invoice, to },
  };
  try {
    return await governedInvoke(
      agent,
      call,
      (decision): Payment => ({
        ...payment,
        paid: true,
        decision: decision?.decision ?? '',
        reason: decision?.reason ?? '',
        approvalId: decision?.approvalId ?? null,
      }),
      {
        approvalTimeoutMs,
        signal,
        record: {
          toolCallId: `pay-${invoice}`,
          metadata: { arguments: call.arguments },
          result: () => ({ ok: true, result: { paid: amount } }),
        },
      },
    );
  } catch (refused) {
    if (!(refused instanceof GovToolRefused)) throw refused;
    const { decision, reason } = refused.decision;
    return { ...payment, paid: false, decision, reason, approvalId: null };
  }
}

const lookMs = 50;

/** Approves what waits, until the payment has ended. */
async function approve(person: Client, invoice: string, asked: AbortSignal): Promise<void> {
  while (!asked.aborted) {
    const { body } = await person.listApprovals({ query: { status: 'pending', limit: 1 } });
    const [waiting] = body.data;
    if (waiting !== undefined) {
      await person.decideApproval({
        params: { approvalId: waiting.approvalId },
        body: { outcome: 'approved', comment: `${invoice} checked against the delivery note` },
      });
      return;
    }
    await pause(lookMs, asked).catch(() => {});
  }
}
