/** `gov witness logs`: lists witnessed logs with their newest cosigned size. Tested by `test/docs/witness.test.ts`. */
import { formatTimestamp } from '../../../core/time.ts';
import type { Run } from '../../context/command.ts';
import type { ListPage } from '../../terminal/out.ts';
import type { witnessLogs as spec } from '../../specs/operate/witness.ts';
import type { Column, View } from '../../terminal/view.ts';

const columns: readonly Column[] = [
  { name: 'origin', kind: 'id' },
  { name: 'size', kind: 'count' },
  { name: 'cosignedAt', kind: 'time' },
];
const wide: readonly Column[] = [
  ...columns,
  { name: 'keys', kind: 'text' },
  { name: 'refused.detail', kind: 'text' },
];
const view: View = { columns, wide, id: 'origin', items: undefined };

export const run: Run<typeof spec> = async ({ flags, out }) => {
  const { witnessedLogs } = await import('../../../host/witness/server.ts');
  const items = witnessedLogs(flags.data).map(({ origin, keys, size, cosignedAtSeconds, refusal }) => ({
    origin,
    size,
    cosignedAt: cosignedAtSeconds === null ? null : formatTimestamp(cosignedAtSeconds * 1000),
    keys,
    refused: refusal,
  }));
  const pages = async function* (): AsyncGenerator<ListPage> {
    yield { items, nextCursor: null };
  };
  await out.list(pages(), view, 'logs');
};
