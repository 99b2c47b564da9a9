/** `gov keys revoke ID`. Tested by `test/cli/commands/keys/create.test.ts`. */
import { confirm } from '../../terminal/ask.ts';
import type { Run } from '../../context/command.ts';
import { safe } from '../../terminal/safe.ts';
import type { keysRevoke as spec } from '../../specs/account/keys.ts';

export const run: Run<typeof spec> = async (call) => {
  const { args, out, session } = call;
  await confirm(`this revokes the API key ${args.keyId} permanently`, '--yes', call);
  const client = await session.client();
  await client.revokeApiKey({ params: args });
  await out.note(safe`revoked ${args.keyId}`);
};
