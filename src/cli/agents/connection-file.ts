/**
 * The file that tells hooks which plane decides: address and key, written by `gov agents install`. Hooks read nothing else:
 * a project can set environment variables of its agent, and must not choose the plane or the key with them.
 * Tested by `test/cli/agents/connection-file.test.ts`.
 */
import { readFileSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { configPath, readObject, readSecret, type Variables } from '../context/config.ts';
import { ownBaseUrl } from '../context/place.ts';
import { usage } from '../program/exit.ts';

/** A plane of this machine by its directory, which knows its port; another server by its address. */
export interface HookConnection {
  readonly dataDir?: string;
  readonly baseUrl?: string;
  readonly keyFile: string;
  readonly caFile?: string;
  /** The way out of a sandbox (`gov run --sandbox`), to a plane of another machine. */
  readonly proxy?: string;
}

/** An administrator's file. Only root can make it, and only it can let calls run without a decision. */
const adminFile = '/etc/gov/agents.json';

export interface PlaneConnection {
  readonly baseUrl: string;
  readonly key: string;
  readonly ca: readonly string[];
  readonly proxy: string | null;
}

/** The file of one user. The installed command names it, so that no variable of a project chooses another. */
export const userConnectionFile = (env: Variables): string => join(dirname(configPath(env)), 'agents.json');

/** Returns the file's content. Errors: exit 2 for a missing or unusable one. */
export function readConnection(path: string): HookConnection {
  const value = readObject(path);
  if (value === undefined) throw usage(`expected ${path}, found none`, 'gov agents install');
  const { keyFile } = value;
  const others = ['dataDir', 'baseUrl', 'caFile', 'proxy'].every((name) =>
    ['string', 'undefined'].includes(typeof value[name]),
  );
  const hasPlace = 'dataDir' in value !== 'baseUrl' in value;
  if (typeof keyFile !== 'string' || !others || !hasPlace)
    throw usage(`${path}: expected keyFile, and dataDir or baseUrl`, 'gov agents install');
  return value as unknown as HookConnection; // each member was checked above
}

/** Returns the address and the key as they are now. Errors: exit 2, naming the file. */
export function reach(path: string): PlaneConnection {
  const { dataDir, baseUrl, keyFile, caFile, proxy = null } = readConnection(path);
  return {
    baseUrl:
      dataDir === undefined
        ? (baseUrl ?? '')
        : ownBaseUrl({ name: path, context: { kind: 'plane', dataDir } }).value,
    key: readSecret(keyFile),
    ca: caFile === undefined ? [] : [readFileSync(caFile, 'utf8')],
    proxy,
  };
}

/** Whether an administrator lets calls run where no decision is available. */
export function mayFailOpen(path = adminFile): boolean {
  try {
    const { uid, mode } = statSync(path);
    return uid === 0 && (mode & 0o022) === 0 && readObject(path)?.['allowFailOpen'] === true;
  } catch {
    return false; // a file that cannot be read allows nothing
  }
}
