/**
 * The file that tells hooks which plane decides: address and key, written by `gov agents install`. Hooks read nothing else:
 * a project can set environment variables of its agent, and must not choose the plane or the key with them.
 * Tested by `test/cli/agents/connection-file.test.ts`.
 */
import { readFileSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { configPath, readObject, readSecret, type Variables } from '../context/config.ts';
import { pinning, type Pinning } from '../../client/pinned.ts';
import { isObject } from '../../core/json/object.ts';
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
  /** The run of `gov run --sandbox` in which the hook runs. */
  readonly startedIn?: StartedIn;
  /** Which key it is, and of which plane: then the key is never sent, and each answer is proven. Absent: with TLS. */
  readonly pin?: Pin;
}

/** A run, and when it made its sandbox (RFC 3339). */
export interface StartedIn {
  readonly runId: string;
  readonly at: string;
}

/** `planeKeys`: verifier keys of the log. Absent for a plane of this machine by its directory, whose `trust` has them. */
interface Pin {
  readonly keyId: string;
  readonly projectId: string;
  readonly planeKeys?: readonly string[];
}

/** An administrator's file. Only root can make it, and only it can let calls run without a decision. */
const adminFile = '/etc/gov/agents.json';

export interface PlaneConnection {
  readonly baseUrl: string;
  readonly key: string;
  readonly ca: readonly string[];
  readonly proxy: string | null;
  /** Null outside of a sandbox of `gov run`. */
  readonly startedIn: StartedIn | null;
  /** Null: TLS proves the plane, or the file is older and pins none. */
  readonly pin: Pinning | null;
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
  const isPinned = value['pin'] === undefined || isPin(value['pin']);
  const isStarted = value['startedIn'] === undefined || isStartedIn(value['startedIn']);
  if (typeof keyFile !== 'string' || !others || !hasPlace || !isPinned || !isStarted)
    throw usage(`${path}: expected keyFile, dataDir or baseUrl, and pin`, 'gov agents install');
  return value as unknown as HookConnection; // each member was checked above
}

const isStartedIn = (value: unknown): value is StartedIn =>
  isObject(value) && typeof value['runId'] === 'string' && typeof value['at'] === 'string';

function isPin(value: unknown): value is Pin {
  if (!isObject(value)) return false;
  const { keyId, projectId, planeKeys = [] } = value;
  const areTexts = Array.isArray(planeKeys) && planeKeys.every((key) => typeof key === 'string');
  return typeof keyId === 'string' && typeof projectId === 'string' && areTexts;
}

/** The Ed25519 keys of a log in its trust file, or in its answer. Their first byte is 1 (C2SP signed-note). */
export const keysIn = (text: string): string[] =>
  [...text.matchAll(/^(?:log )?(\S+\+[0-9a-f]{8}\+A[Q-Za-f]\S+)$/gm)].map(([, key = '']) => key);

/** A plane of this machine has its keys in `trust`, also after a rotation. */
function pinOf({ pin, dataDir }: HookConnection, key: string): Pinning | null {
  if (pin === undefined) return null;
  const { keyId, projectId, planeKeys } = pin;
  const own = (): string[] =>
    dataDir === undefined ? [] : keysIn(readFileSync(join(dataDir, 'trust'), 'utf8'));
  return pinning(key, { keyId, projectId, planeKeys: planeKeys ?? own() });
}

/** Returns the address and the key as they are now. Errors: exit 2, naming the file. */
export function reach(path: string): PlaneConnection {
  const connection = readConnection(path);
  const { dataDir, baseUrl, keyFile, caFile, proxy = null, startedIn = null } = connection;
  const key = readSecret(keyFile);
  return {
    baseUrl:
      dataDir === undefined
        ? (baseUrl ?? '')
        : ownBaseUrl({ name: path, context: { kind: 'plane', dataDir } }).value,
    key,
    ca: caFile === undefined ? [] : [readFileSync(caFile, 'utf8')],
    proxy,
    startedIn,
    pin: pinOf(connection, key),
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
