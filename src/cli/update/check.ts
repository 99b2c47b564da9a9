/**
 * `gov __update`, a process of its own behind a command: asks the registry for the newest release, once, and stores it. It
 * prints nothing, and a registry that is away or answers nonsense changes nothing. It sends no data but the request.
 * Tested by `test/cli/update/notice.test.ts` against a real registry.
 */
import { Connection } from '../../client/transport.ts';
import type { Io } from '../terminal/io.ts';
import { changeUpdateState, registryOf, releasePattern } from './state.ts';

/** Nobody waits for it. */
const timeoutMs = 10_000;

export async function checkForUpdate({ env, now }: Pick<Io, 'env' | 'now'>): Promise<void> {
  try {
    const registry = registryOf(env, now());
    if (registry === null) return;
    const latest = await latestAt(registry, env);
    if (latest !== null) changeUpdateState(env, { latest });
  } catch {
    // no network, no registry, no place to write: the next day is soon enough
  }
}

/** The answer of npm's registry for the newest release: `GET /gov/latest`. Null for any other answer. */
async function latestAt(registry: URL, env: Io['env']): Promise<string | null> {
  const connection = new Connection({ baseUrl: registry.href, env });
  try {
    const { status, bytes } = await connection.exchange({
      method: 'GET',
      path: '/gov/latest',
      headers: { accept: 'application/json' },
      body: undefined,
      timeoutMs,
      maxBytes: 2 ** 20,
      signal: undefined,
    });
    if (status !== 200) return null;
    const { version } = JSON.parse(Buffer.from(bytes).toString()) as { readonly version?: unknown };
    return typeof version === 'string' && releasePattern.test(version) ? version : null;
  } finally {
    connection.close();
  }
}
