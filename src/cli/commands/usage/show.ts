/**
 * `gov usage show`: prints a bar for each quota on a terminal; with --fail-over it is a check for pipelines.
 * Tested by `test/cli/commands/usage/show.test.ts`.
 */
import type { Usage } from '../../../contract/metering.ts';
import type { Run } from '../../context/command.ts';
import { exit } from '../../program/exit.ts';
import type { Out } from '../../terminal/out.ts';
import { percentOf, shownPercent } from '../../terminal/numbers.ts';
import { printReport } from '../../terminal/report.ts';
import { safe } from '../../terminal/safe.ts';
import type { Safe } from '../../terminal/safe.ts';
import type { usageShow as spec } from '../../specs/account/usage.ts';

type Item = Usage['items'][number];

const used = [
  { name: 'type', kind: 'id' },
  { name: 'used', kind: 'count' },
] as const;
const hybrid = { name: 'hybrid', kind: 'count' } as const;
const rest = [
  { name: 'limit', kind: 'count' },
  { name: 'remaining', kind: 'count' },
  { name: 'share', kind: 'count' },
] as const;
const resetAt = { name: 'resetAt', kind: 'time' } as const;
const forPrograms = [...used, hybrid, ...rest, resetAt, { name: 'period', kind: 'text' }] as const;

/** Adds the column of data planes if any of them reported. */
const forPeople = (items: readonly Item[]) =>
  [
    ...used,
    ...(items.some((item) => item.hybrid > 0) ? [hybrid] : []),
    ...rest,
    { name: 'bar', kind: 'id' },
    resetAt,
  ] as const;

/** Returns null without a limit. A limit of zero counts as used up. */
const shareOf = ({ used, limit }: Item): number | null =>
  limit === null ? null : limit === 0 ? 1 : used / limit;

export const run: Run<typeof spec> = async ({ flags, out, session }) => {
  const failOver = flags.failOver === undefined ? null : percentOf('--fail-over', flags.failOver);
  const client = await session.client();
  const { body } = await client.getUsage({ query: { period: flags.period } });
  const over = failOver === null ? [] : body.items.filter((item) => (shareOf(item) ?? -1) >= failOver);
  out.verdict = over.length === 0 ? exit.ok : exit.checkFailed;
  await printReport(out, {
    whole: body,
    columns: out.isHuman ? forPeople(body.items) : forPrograms,
    rows: body.items.map((item) => ({ ...rowOf(item, out), period: body.period })),
    head: [safe`${out.styles.bold(body.period)}, calendar month in UTC`],
    foot: over.map((item) => overLine(item, out)),
  });
  if (!out.isHuman) for (const item of over) await out.warn(overText(item));
  return out.verdict;
};

function rowOf(item: Item, out: Out): Record<string, unknown> {
  const share = shareOf(item);
  if (!out.isHuman) return { ...item, share: share === null ? null : Number(share.toFixed(4)) };
  return {
    ...item,
    limit: item.limit ?? 'unlimited',
    share: share === null ? null : shownPercent(share),
    bar: share === null ? null : bar(share),
  };
}

const width = 20;
const eighths = ['', '▏', '▎', '▍', '▌', '▋', '▊', '▉'];

/** Returns a bar of twenty columns, drawn in eighths of a column. */
function bar(share: number): string {
  const units = Math.min(width * 8, Math.max(0, Math.round(share * width * 8)));
  const filled = '█'.repeat(Math.floor(units / 8)) + (eighths[units % 8] ?? '');
  return filled.padEnd(width, '░');
}

const overLine = (item: Item, { styles }: Out): Safe => safe`${styles.red('over')} ${overText(item)}`;

const overText = (item: Item): Safe =>
  safe`${item.type}: ${shownPercent(shareOf(item) ?? 0)} of ${item.limit ?? 0} used`;
