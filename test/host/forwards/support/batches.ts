/** Batches for tests of transports. */
import { source } from '../../../core/forwards/samples.ts';
import { targetOf, type ForwardTarget, type TargetFile } from '../../../../src/host/forwards/config.ts';
import type { Batch } from '../../../../src/host/forwards/transport.ts';
import { silentLog } from '../../../../src/service/call/log.ts';

export const options = { env: { SECRET: 'the-secret' }, hostname: 'plane-1', log: silentLog };

export const target = <Kind extends ForwardTarget['kind']>(
  kind: Kind,
  file: Omit<TargetFile, 'name'>,
): Extract<ForwardTarget, { kind: Kind }> => {
  const made = targetOf({ name: 'siem', ...file }, { from: 'test', dataDir: '/' });
  if (made.kind !== kind) throw new Error(`expected ${kind}, got ${made.kind}`);
  return made as Extract<ForwardTarget, { kind: Kind }>;
};

/** Leaves [from, to) as JSON lines. */
export const batch = (
  from: number,
  to: number,
  text = (index: number) => JSON.stringify({ index }),
): Batch => ({
  source,
  from,
  to,
  lines: Array.from({ length: to - from }, (_, at) => ({
    index: from + at,
    timeMs: 1_772_357_400_000,
    text: text(from + at),
  })),
});
