/**
 * The parts of a hosted service: identity provider, payment provider, new projects, the seal of stored answers,
 * and the cosigner of data planes. Loads a provider only where one is configured. Proven by
 * `test/host/service/hosting.test.ts`.
 */
import { createHash, hkdfSync } from 'node:crypto';
import { GovError } from '../../contract/problems.ts';
import type { NoteSigner } from '../../core/note/signed.ts';
import { configKeyName } from '../../core/planes/config.ts';
import { typeId } from '../../core/id.ts';
import type { HostParts } from '../../service/hosting/parts.ts';
import type { Log } from '../../service/call/log.ts';
import type { Store } from '../../store/port/store.ts';
import type { Project } from '../../store/port/store.ts';
import { now, randomBytes } from '../process/clock.ts';
import { createCosigner } from '../keys/cosigner.ts';
import { genesisLeaf } from '../keys/genesis.ts';
import type { HostKeys } from '../keys/disk.ts';
import type { ServiceConfig } from './config.ts';
import { createSeal } from '../keys/seal.ts';

/**
 * Returns the parts without contacting a provider. VALIDATION_ERROR where the configuration of a provider is
 * invalid.
 */
export async function createHosting(config: ServiceConfig, keys: HostKeys, log: Log): Promise<HostParts> {
  const { issuer, billing, quotas, returnHosts, sessionHours, logName, reporting } = config;
  return {
    identity:
      issuer === null ? null : (await import('../identity/id-token.ts')).createIdentity(issuer, { now, log }),
    portal: billing === null ? null : (await import('../identity/portal.ts')).createPortal(billing, log),
    quotas,
    reporting,
    returnHosts,
    sessionHours,
    makeProject: (organizationId, environment) => {
      const nowMs = now();
      const projectId = typeId('prj', nowMs, randomBytes(10));
      const origin = `${logName}/${projectId}`;
      const project: Project = {
        projectId,
        organizationId,
        environment,
        auditOrigin: `${origin}/audit`,
        meteringOrigin: `${origin}/metering/0`,
      };
      return { project, genesis: genesisLeaf(project, keys, nowMs) };
    },
    configSigner: configSignerOf(logName, keys),
    seal: createSeal(keys.storeKey, randomBytes),
    cosigner: createCosigner(keys.storeKey, logName),
  };
}

/** The Ed25519 key of the installation's logs, under the name of plane configurations. */
function configSignerOf(logName: string, { signers }: HostKeys): NoteSigner {
  const [signer] = signers(configKeyName(logName));
  if (signer === undefined) throw new Error('expected an Ed25519 signer, got none');
  return signer;
}

/**
 * Checks that every process of an installation has the keys of the first one. Another process could sign
 * checkpoints that verify nowhere, and could not open cursors and stored answers. STORAGE_FAULT names the
 * files. Only the first start writes, so that a later one works on a full disk.
 */
export const refuseOtherKeys = async (
  store: Pick<Store, 'installation' | 'claimInstallation'>,
  keys: HostKeys,
): Promise<void> =>
  assertSameKeys(
    (await store.installation()) ?? (await store.claimInstallation(JSON.stringify(fingerprints(keys)))),
    keys,
  );

/** `installation`: the text that the first process stored. */
export function assertSameKeys(installation: string, keys: HostKeys): void {
  const own = fingerprints(keys);
  const first = JSON.parse(installation) as Readonly<Record<string, string>>; // a process of this installation wrote it
  const files = [...new Set([...Object.keys(own), ...Object.keys(first)])];
  const differing = files.filter((file) => own[file] !== first[file]);
  if (differing.length === 0) return;
  const what = differing.map(
    (file) => `${file} (expected ${first[file] ?? 'none'}, got ${own[file] ?? 'none'})`,
  );
  throw new GovError(
    'STORAGE_FAULT',
    `expected the keys of the first process of this installation, but these differ: ${what.join(', ')}; ` +
      'copy keys/ from that process, or restore it from a backup',
  );
}

/** Short fingerprints by file. They identify keys and reveal nothing about them. */
function fingerprints(keys: HostKeys): Readonly<Record<string, string>> {
  const short = (bytes: string | NodeJS.ArrayBufferView): string =>
    createHash('sha256').update(bytes).digest('hex').slice(0, 16);
  const [ed25519, mlDsa44] = keys.signers('gov.installation');
  const storeId = Buffer.from(hkdfSync('sha256', keys.storeKey, '', 'gov.installation/v1', 32));
  return {
    'keys/log.ed25519.pem': short(ed25519?.verifierKey ?? ''),
    ...(mlDsa44 === undefined ? {} : { 'keys/log.mldsa44.pem': short(mlDsa44.verifierKey) }),
    'keys/attestation.p256.pem': short(keys.attestationKey),
    'keys/store.key': short(storeId),
  };
}
