/**
 * `gov planes heads`: the signed heads of a data plane's audit log that the service received with usage reports, as a file.
 * Tested by `test/cli/commands/planes/create.test.ts`.
 */
import { paginate } from '../../../client/paginate.ts';
import { headsText } from '../../../core/evidence/heads-file.ts';
import { unverifiedHead } from '../../../core/note/checkpoint.ts';
import { limits } from '../../../contract/limits.ts';
import type { Run } from '../../context/command.ts';
import { CliError, exit } from '../../program/exit.ts';
import { writeOutput } from '../../terminal/output-file.ts';
import { safe } from '../../terminal/safe.ts';
import type { planesHeads as spec } from '../../specs/account/planes.ts';

export const run: Run<typeof spec> = async (call) => {
  const { args, flags, out, session } = call;
  const client = await session.client();
  const notes = new Set<string>();
  let origin: string | null = null;
  const reports = paginate(client.listUsageReports, { params: { dataPlaneId: args.dataPlaneId } });
  for await (const { auditCheckpoint } of reports) {
    const head = unverifiedHead(auditCheckpoint);
    origin ??= head.origin;
    // gov log recover begins a log with another origin
    if (head.origin !== origin || notes.size >= limits.keptHeads) break;
    if (head.size > 0) notes.add(auditCheckpoint);
  }
  if (origin === null || notes.size === 0)
    throw new CliError(exit.notFound, `no signed head of the audit log of ${args.dataPlaneId} was reported`, {
      code: 'NOT_FOUND',
      hint: 'gov planes reports lists its usage reports',
    });
  const untrusted = [...notes].map((checkpoint) => ({ checkpoint, paths: [] }));
  await writeOutput(flags.out ?? '-', Buffer.from(headsText(origin, { heads: [], untrusted })), call);
  if (flags.out !== undefined)
    await out.note(safe`wrote ${String(notes.size)} signed heads of ${origin} to ${flags.out}`);
};
