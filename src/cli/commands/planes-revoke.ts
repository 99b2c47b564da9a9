/** `gov planes revoke ID`. */
import { confirm } from '../ask.ts';
import type { Run } from '../command.ts';
import { safe } from '../safe.ts';
import type { planesRevoke as spec } from '../specs/planes.ts';

export const run: Run<typeof spec> = async (call) => {
  const { args, out, session } = call;
  await confirm(`this revokes the data plane ${args.dataPlaneId}`, '--yes', call);
  const client = await session.client();
  await client.revokeDataPlane({ params: args });
  await out.note(safe`revoked ${args.dataPlaneId}`);
};
