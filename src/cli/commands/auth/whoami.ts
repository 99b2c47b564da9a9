/** `gov auth whoami`: also on a data plane. Tested by `test/cli/auth/whoami.test.ts`. */
import { showIdentity } from '../../auth/identity.ts';
import type { Run } from '../../context/command.ts';
import type { authWhoami as spec } from '../../specs/account/auth.ts';

export const run: Run<typeof spec> = showIdentity;
