/** `gov export run`: asks for an export, waits for it, downloads it; or goes on with what was cut. */
import type { Run } from '../../program/command.ts';
import { begunExport } from '../../download/begun.ts';
import { againCommand, completed, inputOf } from '../../download/created.ts';
import { checkFlags, deliver } from '../../download/deliver.ts';
import { isStream } from '../../terminal/output-file.ts';
import { safe } from '../../terminal/safe.ts';
import type { exportRun as spec } from './spec.ts';

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
    await out.note(safe`goes on with ${exportId}, asked for at ${createdAt}`);
    return deliver(invocation, await completed(client, exportId, { ...invocation, next: again(exportId) }));
  }
  const created = await client.createExport({ body, idempotencyKey: settings.idempotencyKey });
  const { exportId } = created.body;
  // what a pipe got cannot be continued
  const how = isPiped ? 'begins anew' : 'goes on';
  await out.note(safe`export ${exportId}; where this is cut, ${again(exportId)} ${how}`);
  return deliver(invocation, await completed(client, exportId, { ...invocation, next: again(exportId) }));
};
