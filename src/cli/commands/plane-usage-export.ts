/** `gov plane usage export`: signed messages for a service that is reached by hand. */
import { resolve } from 'node:path';
import type { Run } from '../command.ts';
import { writeWhole } from '../files.ts';
import { safe } from '../safe.ts';
import type { planeUsageExport as spec } from '../specs/telemetry.ts';

export const run: Run<typeof spec> = async ({ flags, out, session, io }) => {
  const dataDir = resolve(io.cwd, flags.data ?? session.dataDir());
  const { exportUsage } = await import('../../../plane/byfile.ts');
  const toFile = flags.out !== undefined && flags.out !== '-';
  const lines: string[] = [];
  let messages = 0;
  for await (const message of exportUsage(dataDir)) {
    messages += 1;
    if (toFile) lines.push(`${JSON.stringify(message)}\n`);
    else await out.json(message, 0);
  }
  if (!toFile) return;
  writeWhole(resolve(io.cwd, flags.out), Buffer.from(lines.join('')), 0o600);
  await out.note(
    safe`wrote ${messages} messages to ${flags.out}; at the service: gov usage import ${flags.out}`,
  );
};
