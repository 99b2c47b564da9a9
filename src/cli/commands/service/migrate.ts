/**
 * `gov service migrate`: prints the old and new version of the tables, and the next step for the role.
 * Tested by `test/cli/commands/service/serve.test.ts`.
 */
import type { Run } from '../../context/command.ts';
import { safe } from '../../terminal/safe.ts';
import type { serviceMigrate as spec } from '../../specs/operate/service.ts';
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
