/** `gov mcp list SERVER`. Tested by `test/cli/commands/mcp/pin.test.ts`. */
import { shellWord } from '../../../core/shell-word.ts';
import type { Run } from '../../context/command.ts';
import { CliError, exit } from '../../program/exit.ts';
import { printReport, textColumns } from '../../terminal/report.ts';
import { safe } from '../../terminal/safe.ts';
import { readTools } from '../../mcp/tools.ts';
import type { mcpList as spec } from '../../specs/decide/mcp.ts';

const columns = textColumns(['tool', 'status', 'newest', 'pinned', 'seenAt']);

export const run: Run<typeof spec> = async ({ args, out, session }) => {
  const client = await session.client();
  const tools = await readTools(client, args.server);
  if (tools.length === 0) throw nothingSeen(args.server);
  const changed = tools.filter(({ status }) => status === 'changed');
  out.verdict = changed.length > 0 ? exit.checkFailed : exit.ok;
  await printReport(out, {
    whole: { server: args.server, tools },
    columns,
    rows: tools.map((tool) => ({ ...tool })),
    head: [],
    foot: changed.map(
      ({ tool }) =>
        safe`accept the change of ${tool}: gov mcp pin ${shellWord(args.server)} ${shellWord(tool)}`,
    ),
  });
  return out.verdict;
};

export const nothingSeen = (server: string): CliError =>
  new CliError(exit.notFound, `no proxy has seen tools of a server with the name ${server}`, {
    code: 'NOT_FOUND',
    hint: 'the name is that of gov mcp proxy --name; tools are pinned when a client lists them',
  });
