/**
 * `gov export run`: creates an export, waits for it and downloads it; or continues an interrupted download.
 * Tested by `test/cli/download/run.long.test.ts`.
 */
import type { Run } from '../../context/command.ts';
import { begunExport } from '../../download/begun.ts';
import { againCommand, completed, inputOf } from '../../download/created.ts';
import { checkFlags, deliver } from '../../download/deliver.ts';
import { isStream } from '../../terminal/output-file.ts';
import { safe } from '../../terminal/safe.ts';
import type { exportRun as spec } from '../../specs/prove/export.ts';

export const run: Run<typeof spec> = async (invocation) => {
  const { flags, out, session, settings } = invocation;
  const body = inputOf(flags);
  checkFlags(invocation, { format: body.format, isProved: flags.proof });
  const client = await session.client();
  const target = flags.out;
  const isPiped = target !== undefined && isStream(target, invocation);
  const again = (exportId: string): string => againCommand(exportId, flags);
  const begun = target === undefined || isPiped ? null : await begunExport(client, target, body);
  if (begun !== null) {
    const { exportId, createdAt } = begun;
    await out.note(safe`continues ${exportId}, created at ${createdAt}`);
    return deliver(invocation, await completed(client, exportId, { ...invocation, next: again(exportId) }));
  }
  const created = await client.createExport({ body, idempotencyKey: settings.idempotencyKey });
  const { exportId } = created.body;
  // bytes sent to a pipe cannot be continued
  const how = isPiped ? 'starts over' : 'continues';
  await out.note(safe`export ${exportId}; after an interruption ${again(exportId)} ${how}`);
  return deliver(invocation, await completed(client, exportId, { ...invocation, next: again(exportId) }));
};
