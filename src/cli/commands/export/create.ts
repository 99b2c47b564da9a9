/**
 * `gov export create`: returns at once, or with --wait after the export is complete.
 * Tested by `test/cli/download/run.long.test.ts`.
 */
import { shellWord } from '../../../core/shell-word.ts';
import type { Run } from '../../context/command.ts';
import { completed, inputOf } from '../../download/created.ts';
import { safe } from '../../terminal/safe.ts';
import type { exportCreate as spec } from '../../specs/prove/export.ts';
import { viewOf } from '../../terminal/answer-view.ts';

export const run: Run<typeof spec> = async (invocation) => {
  const { flags, out, session, settings } = invocation;
  const client = await session.client();
  const { body } = await client.createExport({
    body: inputOf(flags),
    idempotencyKey: settings.idempotencyKey,
  });
  const { exportId } = body;
  if (flags.wait) await out.one(await completed(client, exportId, invocation), viewOf('getExport'));
  else await out.one(body, viewOf('createExport'));
  if (!out.isHuman) return;
  if (flags.wait) await out.note(safe`download it: gov export download ${shellWord(exportId)}`);
  else
    await out.note(
      safe`see its progress: gov export get ${shellWord(exportId)}; download it: gov export download ${shellWord(exportId)}`,
    );
};
