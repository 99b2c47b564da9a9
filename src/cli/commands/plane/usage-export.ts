/**
 * `gov plane usage export`: signed messages for a service that the plane cannot reach.
 * Tested by `test/cli/commands/plane/telemetry.test.ts`.
 */
import { resolve } from 'node:path';
import { shellWord } from '../../../core/shell-word.ts';
import type { Run } from '../../context/command.ts';
import { isStdout, writeOutput } from '../../terminal/output-file.ts';
import { safe } from '../../terminal/safe.ts';
import type { planeUsageExport as spec } from '../../specs/operate/plane-telemetry.ts';

export const run: Run<typeof spec> = async (call) => {
  const { flags, out, session, io } = call;
  const dataDir = resolve(io.cwd, flags.data ?? session.dataDir());
  const { exportUsage } = await import('../../../../plane/telemetry/by-file.ts');
  const target = flags.out ?? '-';
  const toFile = !isStdout(target, call);
  const lines: string[] = [];
  let messages = 0;
  for await (const message of exportUsage(dataDir)) {
    messages += 1;
    if (toFile) lines.push(`${JSON.stringify(message)}\n`);
    else await out.json(message, 0);
  }
  if (!toFile) return;
  await writeOutput(target, Buffer.from(lines.join('')), call, 0o600);
  await out.note(
    safe`wrote ${messages} messages to ${target}; at the service: gov usage import ${shellWord(target)}`,
  );
};
