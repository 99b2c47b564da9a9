/** `gov service migrate`: says which version the tables had, which they have, and what is left to do for the role. */
import type { Run } from '../command.ts';
import { safe } from '../safe.ts';
import type { serviceMigrate as spec } from '../specs/service.ts';
import { plainView } from '../view.ts';

export const run: Run<typeof spec> = async ({ flags, out, io }) => {
  const { serviceMigrate } = await import('../../host/servicemigrate.ts');
  const done = await serviceMigrate({ ...flags, env: io.env });
  const { from, to, role, madeRole, roleMayLogIn } = done;
  if (!out.isHuman) return out.one(done, plainView(Object.keys(done)));
  const what =
    from === to
      ? `are at version ${to} already`
      : from === 0
        ? `made, version ${to}`
        : `from version ${from} to ${to}`;
  await out.lines([
    safe`${out.styles.green('✓')} tables ${what}`,
    safe`${out.styles.green('✓')} role ${role} ${madeRole ? 'made and granted' : 'granted'} what it needs to serve`,
  ]);
  if (roleMayLogIn) return;
  return out.note(safe`next: ALTER ROLE ${role} LOGIN PASSWORD '…', as an administrator of the database`);
};
