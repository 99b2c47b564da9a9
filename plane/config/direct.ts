/**
 * Access to the configuration of a plane that does not serve. Opens its store, runs a task, and closes it with
 * a signed checkpoint, as a serving plane does. CONFLICT where another process holds the directory. Proven by
 * `test/plane/config/sync.test.ts` and `test/cli/context/plane-directory.test.ts`.
 */
import { assemble } from '../../src/host/process/assemble.ts';
import { readPlaneConfig, settingsOf, type PlaneConfig } from '../../src/host/data/config.ts';
import { commandLog } from '../../src/host/process/log.ts';
import { once } from '../../src/host/process/once.ts';
import { sqliteEngine } from '../../src/host/process/sqlite-engine.ts';
import { silentLog, type Log } from '../../src/service/call/log.ts';
import type { Services } from '../../src/service/port/services.ts';
import { heldConfig, type HeldConfig } from './apply.ts';
import { planeKeys } from '../keys/own.ts';

export interface Direct {
  readonly config: PlaneConfig;
  readonly held: HeldConfig;
  readonly services: Services;
}

export async function withHeldConfig<Result>(
  options: {
    readonly dataDir: string;
    readonly env: Readonly<Record<string, string | undefined>>;
    readonly log?: Log;
  },
  use: (direct: Direct) => Promise<Result>,
): Promise<Result> {
  const { dataDir, env, log = silentLog } = options;
  const config = readPlaneConfig(dataDir, {}, env);
  const engine = sqliteEngine(dataDir, { log: options.log ?? commandLog(), rebuildHeads: false, env });
  const keys = await planeKeys(engine.store, config).catch(async (error: unknown) => {
    await engine.store.close();
    throw error;
  });
  const held: HeldConfig = heldConfig(config, () => assembled.services);
  const parts = { engine, keys, hosting: null, log, debugging: false, localSettings: settingsOf(config) };
  const assembled = assemble({ ...parts, planeConfig: () => held });
  return once(assembled, async (services) => {
    await held.open();
    return use({ config, held, services });
  });
}
