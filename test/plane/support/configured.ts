/** Planes that take configurations, and configurations that a service of the test signed. */
import { generateKeyPairSync } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { planeInit } from '../../../plane/data/init.ts';
import { planeServe, type RunningPlane, type ServeOptions } from '../../../plane/serve/start.ts';
import type { ConfiguredPolicy, PlaneConfigDocument } from '../../../src/contract/plane-config.ts';
import { signPlaneConfig } from '../../../src/core/planes/config.ts';
import type { Json } from '../../../src/core/json/parse.ts';
import { ed25519Signer, type NoteSigner } from '../../../src/core/note/signed.ts';
import { canonicalCondition } from '../../../src/core/policies/language/canonical.ts';
import { parseCondition } from '../../../src/core/policies/language/parse.ts';
import { policyHash, policySetHash } from '../../../src/core/policies/language/hash.ts';
import { defaultRiskConfig, effectiveConfig } from '../../../src/core/risk/config.ts';
import type { PlaneSync } from '../../../src/host/data/config.ts';
import { silentLog } from '../../../src/service/call/log.ts';
import { checkedCalls, type CallOptions } from '../../support/serving.ts';
import type { Answer } from '../../support/answer.ts';

const { privateKey } = generateKeyPairSync('ed25519');
export const signer = ed25519Signer('gov.example/config', privateKey);
export const serviceProject = 'prj_01jzzzzzzzzzzzzzzzzzzzzzzz';

export function policy(policyId: string, members: Partial<ConfiguredPolicy> = {}): ConfiguredPolicy {
  const { condition = { 'tool.name': policyId } } = members;
  const canonical = canonicalCondition(parseCondition(condition as Json));
  const fixed = {
    policyId,
    version: 1,
    action: 'deny',
    severity: null,
    ...members,
    condition: canonical,
  } as const;
  return { name: `Policy ${policyId}`, description: null, ...fixed, policyHash: policyHash(fixed) };
}

export const riskConfig: PlaneConfigDocument['riskConfig'] = {
  algorithm: 'gov.risk/1',
  config: { ...effectiveConfig(defaultRiskConfig), mode: 'strict' } as never,
};

/** A configuration with these policies, whole. */
export function bundleOf(
  bundleVersion: number,
  policies: readonly ConfiguredPolicy[],
  members: Partial<PlaneConfigDocument> = {},
): PlaneConfigDocument {
  const sorted = policies.toSorted((one, other) => (one.policyId < other.policyId ? -1 : 1));
  return {
    schemaVersion: 'gov.bundle/1',
    bundleVersion,
    projectId: serviceProject,
    environment: 'production',
    issuedAt: '2026-11-20T10:00:00.000Z',
    engine: 'gov.cond/1',
    policies: sorted,
    policySetHash: policySetHash(sorted),
    riskConfig: null,
    settings: { redactionKeys: [] },
    ...members,
  };
}

export const textOf = (bundle: PlaneConfigDocument, by: NoteSigner = signer): string =>
  JSON.stringify(signPlaneConfig(bundle, by).signed);

export interface ConfiguredPlane extends RunningPlane {
  readonly dataDir: string;
  readonly key: string;
  call(method: string, path: string, options?: CallOptions): Promise<Answer>;
  /** Puts a configuration in force as a file would be. */
  apply(text: string): Promise<Answer>;
  /** Ids and versions of the policies in force, in order. */
  inForce(): Promise<string[]>;
  /** Events of a type in the system run, oldest first. */
  told(eventType: string): Promise<Record<string, unknown>[]>;
  /** Stops it and serves the directory again, with other members of `plane.json`'s config. */
  again(sync?: PlaneSync): Promise<ConfiguredPlane>;
  end(): Promise<void>;
}

/** A plane that trusts the signer above for its project, unless told otherwise. */
export async function startConfigured(
  sync: PlaneSync = {},
  options: Partial<ServeOptions> = {},
): Promise<ConfiguredPlane> {
  const folder = mkdtempSync(join(tmpdir(), 'gov-config-'));
  const dataDir = join(folder, 'plane');
  await planeInit({ dataDir, listen: '127.0.0.1:0', metricsListen: 'off' });
  configure(dataDir, { projectId: serviceProject, keys: [signer.verifierKey], ...sync });
  return serve(dataDir, options);
}

export function configure(dataDir: string, sync: PlaneSync): void {
  const path = join(dataDir, 'plane.json');
  const file = JSON.parse(readFileSync(path, 'utf8')) as Record<string, unknown>;
  writeFileSync(path, JSON.stringify({ ...file, config: { ...(file['config'] as object), ...sync } }));
}

export async function serve(dataDir: string, options: Partial<ServeOptions> = {}): Promise<ConfiguredPlane> {
  const plane = await planeServe({ log: silentLog, env: {}, overloadDelayMs: 60_000, ...options, dataDir });
  const key = readFileSync(join(dataDir, 'local.key'), 'utf8').trim();
  const checked = checkedCalls(plane.baseUrl);
  const call: ConfiguredPlane['call'] = (method, path, more = {}) =>
    checked.call(method, path, { key, ...more });
  return {
    ...plane,
    dataDir,
    key,
    call,
    apply: (text) => call('POST', '/governance/bundle', { body: { parts: partsOf(text) } }),
    inForce: async () => {
      const { body } = await call('GET', '/governance/policies?status=active&limit=200');
      return (body.data as { id: string; activeVersion: number }[])
        .map(({ id, activeVersion }) => `${id} ${activeVersion}`)
        .sort();
    },
    told: async (eventType) => {
      const { body } = await call('GET', `/events?runId=gov.system&eventType=${eventType}&order=asc`);
      return body.events as Record<string, unknown>[];
    },
    again: async (sync = {}) => {
      await plane.close();
      configure(dataDir, sync);
      return serve(dataDir, options);
    },
    end: async () => {
      await plane.close();
      rmSync(join(dataDir, '..'), { recursive: true, force: true });
    },
  };
}

/** As a file is sent: in parts that no character is torn by. */
const partsOf = (text: string): string[] => {
  const characters = [...text];
  const parts: string[] = [];
  for (let at = 0; at < characters.length; at += 20_000)
    parts.push(characters.slice(at, at + 20_000).join(''));
  return parts.length === 0 ? [''] : parts;
};
