/** `gov export run`: asks for an export, waits for it, downloads it. */
import type { Run } from '../command.ts';
import { completed, inputOf } from '../download/created.ts';
import { checkFlags, deliver } from '../download/deliver.ts';
import { safe } from '../safe.ts';
import type { exportRun as spec } from '../specs/exports.ts';

export const run: Run<typeof spec> = async (invocation) => {
  const { flags, out, session, settings } = invocation;
  const body = inputOf(flags);
  checkFlags(invocation, { format: body.format, isProved: flags.proof });
  const client = await session.client();
  const created = await client.createExport({ body, idempotencyKey: settings.idempotencyKey });
  const { exportId } = created.body;
  await out.note(safe`export ${exportId}`);
  return deliver(invocation, await completed(client, exportId, invocation));
};
