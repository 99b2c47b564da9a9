/**
 * The balances of telemetry by day and source. The first request of a project on a new day appends those of earlier days as
 * events `gov.balance/1` of the service, in the transaction that remembers the day. A crash before it leaves them for the
 * next request. Proven by `test/http/otlp/day-balance.test.ts`.
 */
import { limits } from '../../contract/limits.ts';
import { GovError } from '../../contract/problems.ts';
import { balanceType } from '../../core/balance/statement.ts';
import { dayOf, isBalanced, type DayBalance } from '../../core/intake/otlp/day-balance.ts';
import type { EventDraft } from '../../core/events/record.ts';
import type { Services } from '../port/services.ts';
import { append } from '../writes/append.ts';
import { systemEvent } from '../writes/system.ts';
import { factNames, Facts } from './facts.ts';

export const dayFact = (sourceId: string, atMs: number): string =>
  `${factNames.day}${dayOf(atMs)}:${sourceId}`;

/** Appends the balances of days before this one. At most `limits.sourceDays` of them. */
export async function closeDays(services: Services, projectId: string): Promise<void> {
  const atMs = services.now();
  const today = dayOf(atMs);
  const facts = new Facts(services, { projectId, atMs });
  await facts.load([factNames.newestDay]);
  const before = facts.get(factNames.newestDay) ?? '';
  const page = { limit: limits.sourceDays, after: `${factNames.day}${before}` };
  const rows = await services.store.factsFrom(projectId, factNames.day, page);
  const closed = rows.filter(({ name }) => name < `${factNames.day}${today}`);
  facts.set(factNames.newestDay, today);
  const leaves = closed.map((row) => balanceEvent(row, { nowMs: atMs, salt: services.salt }));
  try {
    await append(services, { projectId, leaves, effects: facts.effects() });
  } catch (error) {
    // another process has appended them
    if (!(error instanceof GovError && error.code === 'CONFLICT')) throw error;
  }
}

function balanceEvent(
  { value }: { readonly value: string },
  context: { readonly nowMs: number; readonly salt: () => string },
): EventDraft {
  // the service wrote it
  const balance = JSON.parse(value) as DayBalance;
  const { service, instance, day, spans, logs, metrics, remainder, ...became } = balance;
  return systemEvent(
    {
      eventType: balanceType,
      action: 'balance',
      actor: { id: 'gov', type: 'service' },
      resource: { id: service, type: 'telemetry' },
      metadata: {
        source: { service, instance, format: 'otlp' },
        day,
        received: { spans, logs, metrics },
        ...became,
        remainder: remainder === null ? [] : [{ ...remainder }],
        balanced: isBalanced(balance),
      },
    },
    context,
  );
}
