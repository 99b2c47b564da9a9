/**
 * The user who ran sudo, and the plane of that user. Root has no contexts of its own there, and `--scope managed` is for the
 * plane that the user has. Tested by `test/cli/agents/move-plane.test.ts`.
 */
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { configPath, readUserConfig, type Variables } from '../context/config.ts';
import type { NamedContext } from '../context/place.ts';
import { usage } from '../program/exit.ts';

/** The current context of the user who ran sudo, where it is a plane. Errors: exit 2 for files that are not that user's. */
export function planeOfSudo(env: Variables, passwd = '/etc/passwd'): NamedContext | null {
  const uid = Number(env['SUDO_UID'] ?? '0');
  const home = homeOfSudo(env, passwd);
  if (home === null) return null;
  const own = { HOME: home };
  const { contexts, currentContext: name } = readUserConfig(own);
  const context = name !== undefined && Object.hasOwn(contexts, name) ? contexts[name] : undefined;
  if (name === undefined || context?.kind !== 'plane') return null;
  // root follows what the files say
  for (const path of [configPath(own), join(context.dataDir, 'plane.json')]) {
    const owner = statSync(path).uid;
    if (owner !== uid && owner !== 0)
      throw usage(`${path}: expected a file of user ${uid}, got one of user ${owner}`);
  }
  return { name, context };
}

/** The home of the user who ran sudo; null without sudo. */
export function homeOfSudo(env: Variables, passwd = '/etc/passwd'): string | null {
  const uid = Number(env['SUDO_UID'] ?? '0');
  return uid > 0 ? homeOf(uid, passwd) : null;
}

function homeOf(uid: number, passwd: string): string | null {
  const lines = readFileSync(passwd, 'utf8')
    .split('\n')
    .map((line) => line.split(':'));
  return lines.find(([, , each]) => each === String(uid))?.[5] ?? null;
}
