/**
 * `gov billing retention [--days N|forever] [--legal-hold on|off]`: settings without a flag stay.
 * Tested by `test/cli/commands/usage/show.test.ts`.
 */
import { limits } from '../../../contract/limits.ts';
import type { Run } from '../../context/command.ts';
import { usage } from '../../program/exit.ts';
import type { billingRetention as spec } from '../../specs/account/billing.ts';
import { viewOf } from '../../terminal/answer-view.ts';

export const run: Run<typeof spec> = async ({ flags, out, session }) => {
  const { days, legalHold } = flags;
  const wanted = days === undefined ? undefined : daysOf(days);
  const client = await session.client();
  const { body: before } = await client.getRetention();
  if (days === undefined && legalHold === undefined) return out.one(before, viewOf('getRetention'));
  const { body } = await client.putRetention({
    body: {
      retentionDays: wanted === undefined ? before.retentionDays : wanted,
      legalHold: legalHold === undefined ? before.legalHold : legalHold === 'on',
    },
  });
  await out.one(body, viewOf('getRetention'));
};

function daysOf(text: string): number | null {
  if (text === 'forever') return null;
  const days = /^[0-9]{1,5}$/.test(text) ? Number(text) : Number.NaN;
  if (days >= 1 && days <= limits.retentionDays) return days;
  throw usage(
    `--days: expected forever, or 1 to ${limits.retentionDays}, got ${JSON.stringify(text.slice(0, 32))}`,
  );
}
