/** `gov receipts get`. Tested by `test/cli/commands/receipts/verify.test.ts`. */
import type { Run } from '../../context/command.ts';
import { usage } from '../../program/exit.ts';
import { openOutput, refuseTerminal } from '../../terminal/output-file.ts';
import type { receiptsGet as spec } from '../../specs/prove/receipts.ts';

export const run: Run<typeof spec> = async (call) => {
  const { args, flags, session } = call;
  if (!/^(?:0|[1-9][0-9]{0,14})$/.test(args.index))
    throw usage(`index: expected the number of a leaf, got ${JSON.stringify(args.index.slice(0, 32))}`);
  const target = flags.out ?? '-';
  refuseTerminal(target, call);
  const client = await session.client();
  const output = await openOutput(target, call);
  try {
    const { body } = await client.getLogReceipt({ params: { index: args.index } });
    await output.write(body as Uint8Array);
  } finally {
    output.close();
  }
};
