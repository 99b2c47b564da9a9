/**
 * A small governed program: an accounts-payable agent. It reads invoices, checks them against orders, pays into a
 * ledger file, and asks a person above a limit. The client records every step.
 *
 *   gov plane init --data ./demo && gov plane serve --data ./demo &
 *   node examples/payables/run.ts            # address and key: see `gov help environment`
 *
 * `gov quickstart` shows the same with policies, which decide before the program pays.
 */
import { appendFile, mkdtemp, readdir, readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createClient, type EventInput } from 'gov';

const folder = import.meta.dirname;
const approvalLimit = 5000;
const agent = { name: 'payables-agent', role: 'agent' };
const clerk = { id: 'u-17', name: 'Dana Okafor', role: 'user' };

const runId = process.argv[2] ?? `payables-${new Date().toISOString().slice(0, 10)}`;
const client = createClient({
  baseUrl: process.env['GOV_BASE_URL'] ?? 'http://127.0.0.1:7460/api/v1',
  apiKey: process.env['GOV_API_KEY'] ?? '',
});

let count = 0;
type Recorded = Omit<EventInput, 'runId' | 'timestamp' | 'clientEventId' | 'actor'> &
  Partial<Pick<EventInput, 'actor'>>;

/** Records one event. Returns its id, which later events name as their cause. */
async function record(event: Recorded): Promise<string> {
  const clientEventId = `${runId}:${count++}`;
  const body = { actor: agent, ...event, runId, clientEventId, timestamp: new Date().toISOString() };
  await client.createEvent({ body });
  return clientEventId;
}

/** Runs a tool between its `tool.call` and its `tool.result`. */
async function tool<Result>(
  name: string,
  call: { cause: string; arguments: Record<string, unknown>; work: () => Promise<Result> },
): Promise<{ id: string; result: Result }> {
  const resource = { name, type: 'tool' };
  const toolCallId = `call-${count}`;
  await record({
    eventType: 'tool.call',
    action: 'execute',
    resource,
    causedBy: [call.cause],
    metadata: { toolCallId, arguments: call.arguments },
  });
  const result = await call.work();
  const id = await record({
    eventType: 'tool.result',
    action: 'return',
    resource,
    metadata: { toolCallId, result },
  });
  return { id, result };
}

interface Invoice {
  readonly invoice: string;
  readonly supplier: string;
  readonly order: string;
  readonly amount: number;
}

const readJson = async <Value>(name: string): Promise<Value> =>
  JSON.parse(await readFile(join(folder, name), 'utf8')) as Value;

const ledger = join(await mkdtemp(join(tmpdir(), 'payables-')), 'ledger.ndjson');
const orders =
  await readJson<Record<string, { supplier: string; amount: number; received: boolean }>>('orders.json');
const paid = new Set<string>();

/** Why an invoice must not be paid, or null. */
function objection(invoice: Invoice): string | null {
  const order = orders[invoice.order];
  if (order === undefined) return 'no such order';
  if (order.supplier !== invoice.supplier || order.amount !== invoice.amount) return 'differs from the order';
  if (!order.received) return 'goods not received';
  return paid.has(invoice.order) ? 'order already paid' : null;
}

/** Asks the clerk, and returns the id of the decision. */
async function approval(invoice: Invoice, cause: string): Promise<string> {
  const resource = { name: invoice.invoice, type: 'invoice' };
  const asked = await record({
    eventType: 'approval.requested',
    action: 'request',
    resource,
    causedBy: [cause],
    metadata: { reason: `amount ${invoice.amount} is above ${approvalLimit}` },
  });
  return record({
    eventType: 'approval.granted',
    actor: clerk,
    action: 'approve',
    resource,
    causedBy: [asked],
    metadata: { comment: 'checked against the delivery note' },
  });
}

const started = await record({
  eventType: 'run.started',
  action: 'start',
  metadata: { task: 'pay open invoices' },
});
const outcomes: string[] = [];
for (const file of (await readdir(join(folder, 'inbox'))).toSorted()) {
  const read = await tool('invoice.read', {
    cause: started,
    arguments: { file },
    work: () => readJson<Invoice>(join('inbox', file)),
  });
  const invoice = read.result;
  const checked = await tool('order.check', {
    cause: read.id,
    arguments: { order: invoice.order },
    work: async () => ({ objection: objection(invoice) }),
  });
  if (checked.result.objection !== null) {
    const refused = await record({
      eventType: 'tool.call_blocked',
      action: 'refuse',
      resource: { name: 'ledger.pay', type: 'tool' },
      causedBy: [checked.id],
      metadata: { invoice: invoice.invoice, reason: checked.result.objection },
    });
    outcomes.push(refused);
    continue;
  }
  const cause = invoice.amount > approvalLimit ? await approval(invoice, checked.id) : checked.id;
  const payment = { invoice: invoice.invoice, to: invoice.supplier, amount: invoice.amount };
  const pay = await tool('ledger.pay', {
    cause,
    arguments: payment,
    work: async () => {
      await appendFile(ledger, `${JSON.stringify(payment)}\n`);
      paid.add(invoice.order);
      return { entry: paid.size };
    },
  });
  outcomes.push(pay.id);
}
await record({ eventType: 'run.ended', action: 'end', causedBy: outcomes, metadata: { paid: paid.size } });
process.stdout.write(`${runId}: ${count} events recorded, ${paid.size} invoices paid into ${ledger}\n`);
