/** `gov agents uninstall [CLIENT]`. Tested by `test/cli/agents/install.test.ts`. */
import { rmdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { shellWord } from '../../../core/shell-word.ts';
import { plannedUninstall, readInstalled, uninstall, writeInstalled } from '../../agents/install.ts';
import { ownKeyFile } from '../../agents/key.ts';
import { removeTimer, plannedRemoval } from '../../agents/drill/timer.ts';
import { reach } from '../../agents/connection-file.ts';
import { setups } from '../../agents/setup/all.ts';
import { installedAt } from '../../agents/doctor.ts';
import { nothing, plannedEach, type Scope, type HookSettings } from '../../agents/setup/edit.ts';
import { sessionsFolder } from '../../agents/session-workspace.ts';
import { nameOdd, showChanges } from '../../agents/show-changes.ts';
import { etc, folderOf, scopeOf, setupsNamed } from '../../agents/target.ts';
import type { Invocation, Run } from '../../context/command.ts';
import { safe } from '../../terminal/safe.ts';
import type { agentsUninstall as spec } from '../../specs/decide/agents.ts';

export const run: Run<typeof spec> = async (call) => {
  const { args, flags, io, out } = call;
  const scope = scopeOf(flags.scope);
  const folder = folderOf(scope, io.env);
  // the variables with this key are ours
  const telemetry = telemetryOf(join(folder, 'agents.json'));
  const wanted: HookSettings = { ...nothing, telemetry };
  const place = { env: io.env, etc, scope };
  const installed = readInstalled(folder);
  const { plans, odd } = plannedEach(setupsNamed(args.client), (setup) =>
    plannedUninstall(setup.edits(place, wanted), installed).filter(({ before }) => before !== null),
  );
  const changes = plans.flatMap(({ plan }) => plan);
  const leaving = new Set(changes.map(({ path }) => path));
  const others = setups.filter((setup) => !setup.edits(place, wanted).every(({ path }) => leaving.has(path)));
  const isLast =
    odd.length === 0 && !others.some((setup) => installedAt(setup, { env: io.env, etc })?.scope === scope);
  // the timer tests what is installed, whichever client it is
  const timer = isLast ? plannedRemoval(io.env) : [];
  if (!flags.dryRun) {
    uninstall(changes, folder);
    if (timer.length > 0) removeTimer(timer, io.env);
  }
  await showChanges(out, [...changes, ...timer], { dryRun: flags.dryRun });
  if (changes.length + timer.length === 0)
    await out.note(safe`nothing to take back: no client has a hook of scope ${scope}`);
  if (isLast && !flags.dryRun) await forgetKey(call, { folder, scope });
  return nameOdd(out, odd);
};

function telemetryOf(connection: string): HookSettings['telemetry'] {
  try {
    return { origin: '', key: reach(connection).key };
  } catch {
    return null; // the key is gone, or was never there
  }
}

/** Revokes the key, and removes the files that only hooks read. */
async function forgetKey(
  { session, out }: Invocation<typeof spec>,
  { folder, scope }: { readonly folder: string; readonly scope: Scope },
): Promise<void> {
  const { keyId } = readInstalled(folder);
  if (keyId !== null) {
    try {
      const client = await session.client({ retries: 0 });
      await client.revokeApiKey({ params: { keyId } });
    } catch (cause) {
      const why = cause instanceof Error ? cause.message : String(cause);
      await out.warn(
        safe`the key of the hooks was not revoked: ${why}. Run: gov keys revoke ${shellWord(keyId)}`,
      );
    }
  }
  rmSync(ownKeyFile(folder), { force: true });
  rmSync(sessionsFolder(join(folder, 'agents.json')), { recursive: true, force: true });
  rmSync(join(folder, 'agents.json'), { force: true });
  writeInstalled(folder, { files: {}, keyId: null });
  if (scope === 'managed') removeIfEmpty(folder);
}

/** A file of the administrator, such as one that lets hooks fail open, keeps the folder. */
function removeIfEmpty(folder: string): void {
  try {
    rmdirSync(folder);
  } catch {
    // it is not there, or not empty
  }
}
