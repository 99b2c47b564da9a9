/** `gov service migrate`: says which version the tables had, which they have, and what is left to do for the role. */
import type { Run } from '../../program/command.ts';
import { safe } from '../../terminal/safe.ts';
import type { serviceMigrate as spec } from './spec.ts';
import { plainView } from '../../terminal/view.ts';

export const run: Run<typeof spec> = async ({ flags, out, io }) => {
  const { serviceMigrate } = await import('../../../host/service/migrate.ts');
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
