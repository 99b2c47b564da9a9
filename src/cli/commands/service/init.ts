/**
 * `gov service init`: makes the directory; with PostgreSQL it also checks the database.
 * Tested by `test/cli/commands/service/serve.test.ts`.
 */
import { shellWord } from '../../../core/shell-word.ts';
import type { Run } from '../../context/command.ts';
import { usage } from '../../program/exit.ts';
import { safe } from '../../terminal/safe.ts';
import { checkLines } from '../../terminal/checks.ts';
import type { serviceInit as spec } from '../../specs/operate/service.ts';
import { plainView } from '../../terminal/view.ts';

export const run: Run<typeof spec> = async ({ flags, out, io }) => {
  const { data: dataDir, issuer, clientId, ...options } = flags;
  if ((issuer === undefined) !== (clientId === undefined)) {
    throw usage(
      'expected --issuer and --client-id together',
      'or set issuer {url, clientId} in service.json later',
    );
  }
  const { serviceInit } = await import('../../../host/service/init.ts');
  const provider =
    issuer === undefined || clientId === undefined ? {} : { issuer: { url: issuer, clientId } };
  const made = await serviceInit({ ...options, ...provider, dataDir, env: io.env });
  if (out.isHuman) {
    const what = made.created ? 'made' : 'exists already, unchanged:';
    await out.lines([
      safe`${out.styles.green(what)} hosted service in ${made.dataDir}`,
      safe`  logs     ${made.name}/…`,
      safe`  address  http://${made.listen}/api/v1`,
      safe`  store    ${made.engine === 'sqlite' ? 'SQLite, in the directory' : 'PostgreSQL'}`,
      safe`  settings ${made.configFile}`,
    ]);
  } else await out.one(made, plainView(Object.keys(made)));
  if (made.created && issuer !== undefined) {
    const origin = options.publicUrl ?? `http://localhost:${new URL(`http://${made.listen}`).port}`;
    await out.note(
      safe`register at ${issuer} as redirect URI of ${clientId ?? ''}: ${origin}/console/callback`,
    );
  }
  if (made.engine === 'sqlite') return out.note(safe`next: gov service serve --data ${shellWord(dataDir)}`);
  const { doctor } = await import('../../../host/service/doctor.ts');
  const { checks } = await doctor({ dataDir, env: io.env });
  const database = checks.filter(
    ({ name, status }) => ['database', 'tables'].includes(name) && status !== 'ok',
  );
  for (const line of checkLines(database, out.styles)) await out.note(line);
  return out.note(
    database.length === 0
      ? safe`next: gov service serve --data ${shellWord(dataDir)}`
      : safe`next: gov service migrate --database URL, as the owner; then gov service doctor --data ${shellWord(dataDir)}`,
  );
};
