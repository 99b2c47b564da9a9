/**
 * A check whether a plane would take a signed configuration, without its store. Reads only files, so it also
 * works while the plane serves. The copy shows which version is in force. The copy may be missing. Proven by
 * `test/cli/context/plane-directory.test.ts`.
 */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { SignedPlaneConfig } from '../../src/contract/plane-config.ts';
import { GovError } from '../../src/contract/problems.ts';
import {
  PlaneConfigError,
  hashOfText,
  openPlaneConfig,
  type OpenPlaneConfig,
} from '../../src/core/planes/config.ts';
import { parseVerifierKey } from '../../src/core/note/signed.ts';
import { readPlaneFile } from '../../src/host/data/config.ts';
import { loadCheck } from '../../src/service/call/schema.ts';
import { ConfigCopy } from './copy.ts';
import { trustOf } from './trust.ts';

export interface VerifyOptions {
  /** Null where there is no plane. The caller then gives keys and project. */
  readonly dataDir: string | null;
  readonly keys?: readonly string[] | undefined;
  readonly projectId?: string | undefined;
  readonly environment?: 'production' | 'sandbox' | undefined;
}

/**
 * Returns the opened configuration. PlaneConfigError, or VALIDATION_ERROR where no key and project are known.
 */
export async function verifyConfig(text: Uint8Array, options: VerifyOptions): Promise<OpenPlaneConfig> {
  const { dataDir } = options;
  const path = dataDir === null ? null : join(dataDir, 'plane.json');
  const file = path === null || !existsSync(path) ? null : readPlaneFile(path);
  const given = {
    ...(options.keys === undefined || options.keys.length === 0 ? {} : { keys: options.keys }),
    ...(options.projectId === undefined ? {} : { projectId: options.projectId }),
  };
  const environment = options.environment ?? file?.environment ?? 'production';
  const known =
    dataDir === null || file === null
      ? fromFlags(given, environment)
      : trustOf(dataDir, { ...file.config, ...given }, environment);
  if (known === null) {
    const detail =
      'expected a plane that knows its service, or a verifier key and a project; give --key and --project-id';
    throw new GovError('VALIDATION_ERROR', detail);
  }
  const trust = options.environment === undefined ? known : { ...known, environment: options.environment };
  const check = await loadCheck(SignedPlaneConfig, { in: 'body' });
  const open = openPlaneConfig(text, trust, (value) => {
    const [first] = check(value)?.errors ?? [];
    return first === undefined ? null : `at ${first.pointer}: ${first.detail}`;
  });
  if (dataDir !== null) refuseOlder(dataDir, open);
  return open;
}

function fromFlags(
  { keys, projectId }: { readonly keys?: readonly string[]; readonly projectId?: string },
  environment: 'production' | 'sandbox',
) {
  if (keys === undefined || projectId === undefined) return null;
  return { keys: keys.map(parseVerifierKey), projectId, environment };
}

function refuseOlder(dataDir: string, { bundle, hash }: OpenPlaneConfig): void {
  const { path } = new ConfigCopy(dataDir);
  if (!existsSync(path) || hashOfText(readFileSync(path)) === hash) return;
  const held = readConfigVersion(path);
  if (held === null || held.projectId !== bundle.projectId || held.bundleVersion < bundle.bundleVersion)
    return;
  const { bundleVersion } = held;
  const reason = bundleVersion === bundle.bundleVersion ? 'rewritten' : 'outdated';
  const detail = `expected a version after ${bundleVersion}, which is in force, got ${bundle.bundleVersion}`;
  throw new PlaneConfigError(reason, detail);
}

/** Returns null where the copy is damaged. */
function readConfigVersion(path: string): { projectId: string; bundleVersion: number } | null {
  try {
    const { bundle } = JSON.parse(readFileSync(path, 'utf8')) as { bundle?: Record<string, unknown> };
    const { projectId, bundleVersion } = bundle ?? {};
    return typeof projectId === 'string' && typeof bundleVersion === 'number'
      ? { projectId, bundleVersion }
      : null;
  } catch {
    return null;
  }
}
