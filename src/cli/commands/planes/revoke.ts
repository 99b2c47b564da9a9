/** `gov planes revoke ID`. Tested by `test/cli/commands/planes/create.test.ts`. */
import { confirm } from '../../terminal/ask.ts';
import type { Run } from '../../context/command.ts';
import { safe } from '../../terminal/safe.ts';
import type { planesRevoke as spec } from '../../specs/account/planes.ts';

export const run: Run<typeof spec> = async (call) => {
  const { args, out, session } = call;
  await confirm(`this revokes the data plane ${args.dataPlaneId}`, '--yes', call);
  const client = await session.client();
  await client.revokeDataPlane({ params: args });
  await out.note(safe`revoked ${args.dataPlaneId}`);
};
