/**
 * `gov plane init`: makes a plane's data directory offline, completely or not at all.
 * It never changes an existing directory. Proven by `test/plane/data/init.test.ts`.
 */
import { existsSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { formatTrust } from '../../src/core/note/checkpoint.ts';
import { agentScopes } from '../../src/core/agents/clients.ts';
import { typeId } from '../../src/core/id.ts';
import type { LeafDraft } from '../../src/core/events/record.ts';
import { parseVerifierKey } from '../../src/core/note/key.ts';
import { now, randomBytes } from '../../src/host/process/clock.ts';
import { projectOf, readPlaneFile, type PlaneFile, type Presence } from '../../src/host/data/config.ts';
import { syncDirectory } from '../../src/files/durable.ts';
import { makeHeld } from '../../src/host/files/drafts.ts';
import { writePrivate } from '../../src/host/files/private.ts';
import { genesisLeaf } from '../../src/host/keys/genesis.ts';
import { createKeys, type HostKeys } from '../../src/host/keys/disk.ts';
import { refuseOther } from '../../src/host/config/made-before.ts';
import { parseAddress, parseOptionalAddress } from '../../src/host/config/layers.ts';
import { Checkpoints } from '../../src/service/log/checkpoints.ts';
import { createKey } from '../../src/service/credentials/token-format.ts';
import { silentLog } from '../../src/service/call/log.ts';
import { keyCreated } from '../../src/service/writes/system.ts';
import type { Project } from '../../src/store/port/store.ts';
import { openStore } from '../../src/store/sqlite/store.ts';

export interface InitOptions {
  readonly dataDir: string;
  /** Display name of the plane. Defaults to the name of the directory. */
  readonly name?: string | undefined;
  readonly listen?: string | undefined;
  /** `off` for none. */
  readonly metricsListen?: string | undefined;
  readonly environment?: Project['environment'] | undefined;
  /** `none`: no person decides; the plane gets `approver.key`. Default: `signed`. */
  readonly presence?: Presence | undefined;
}

export interface InitResult {
  /** False where the plane already existed. The call changed nothing then. */
  readonly created: boolean;
  readonly dataDir: string;
  readonly name: string;
  readonly projectId: string;
  readonly environment: Project['environment'];
  readonly listen: string;
  /** Paths of the operator's key, that of agents, and the trust file. */
  readonly keyFile: string;
  /** Path of the key that decides approvals. Null where a person signs them. */
  readonly approverKeyFile: string | null;
  /** Key of hooks and proxies of agents. */
  readonly agentKeyFile: string;
  readonly trustFile: string;
}

const defaultListen = '127.0.0.1:7460';
const defaultMetricsListen = '127.0.0.1:7461';

/** Makes a plane or finds an existing one. CONFLICT where the directory has other content, or a plane of other settings. */
export async function planeInit(options: InitOptions): Promise<InitResult> {
  const dataDir = resolve(options.dataDir);
  const path = join(dataDir, 'plane.json');
  if (existsSync(path)) {
    const file = readPlaneFile(path);
    refuseOther(path, [
      { flag: '--listen', asked: options.listen, is: file.listen, member: 'listen' },
      {
        flag: '--metrics-listen',
        asked: options.metricsListen,
        is: file.metricsListen ?? 'off',
        member: 'metricsListen',
      },
      {
        flag: '--environment',
        asked: options.environment,
        is: file.environment,
        remedy: 'A plane keeps its environment: make another plane, with another --data',
      },
      {
        flag: '--presence',
        asked: options.presence,
        is: file.presence ?? 'signed',
        member: 'presence',
      },
    ]);
    return describe(dataDir, file, false);
  }
  const file = planeFile(dataDir, options);
  await makeHeld({ what: 'the plane', path: dataDir }, (draft) =>
    fillPlane(draft, file, createKeys(draft, randomBytes)),
  );
  return describe(dataDir, file, true);
}

function planeFile(dataDir: string, options: InitOptions): PlaneFile {
  const {
    listen = defaultListen,
    metricsListen = defaultMetricsListen,
    environment = 'production',
    presence = 'signed',
  } = options;
  parseAddress({ value: listen, from: '--listen' });
  parseOptionalAddress({ value: metricsListen, from: '--metrics-listen' });
  const nowMs = now();
  const projectId = typeId('prj', nowMs, randomBytes(10));
  return {
    name: options.name ?? basename(dataDir),
    listen,
    metricsListen: metricsListen === 'off' ? null : metricsListen,
    projectId,
    organizationId: typeId('org', nowMs, randomBytes(10)),
    environment,
    origin: `gov.local/${projectId}/audit`,
    meteringOrigin: `gov.local/${projectId}/metering/0`,
    presence,
  };
}

/** Fills a directory that has its keys. `leaves` follow the leaves of the local keys. */
export async function fillPlane(
  dataDir: string,
  file: PlaneFile,
  keys: HostKeys,
  leaves: readonly LeafDraft[] = [],
): Promise<void> {
  const verifierKeys = keys.signers(file.origin).map(({ verifierKey }) => verifierKey);
  // the plane signs everything with both of its keys
  const keysOfLog = verifierKeys.map(parseVerifierKey);
  const trust = {
    origin: file.origin,
    keys: keysOfLog,
    require: 'each-algorithm',
    witnesses: [],
    quorum: 0,
  } as const;
  writePrivate(join(dataDir, 'trust'), formatTrust(trust));
  writePrivate(join(dataDir, 'attestation.pub'), keys.attestationKey);
  const tokens = await fillStore(dataDir, file, keys, leaves);
  writePrivate(join(dataDir, 'local.key'), `${tokens.operator}\n`);
  if (tokens.approver !== null) writePrivate(join(dataDir, 'approver.key'), `${tokens.approver}\n`);
  writePrivate(join(dataDir, 'agent.key'), `${tokens.agent}\n`);
  writePrivate(join(dataDir, 'plane.json'), `${JSON.stringify(file, null, 2)}\n`);
  syncDirectory(join(dataDir, 'keys'));
}

/**
 * Decides approvals where no person signs them. It is not the operator's key, because a key may not approve its own request.
 * Elsewhere a person makes such a key, and only a phrase opens it (`src/cli/approvals/sealed.ts`).
 */
const approver = {
  name: 'local approver',
  scopes: ['governance:read', 'approvals:decide', 'events:read'],
} as const;

/**
 * Hooks and proxies use it. An agent can read it, and so can a program that listens on the port of a plane that is down;
 * neither can change policies or decide approvals with it.
 */
const agent = { name: 'local agents', scopes: agentScopes } as const;

interface Tokens {
  readonly operator: string;
  readonly approver: string | null;
  readonly agent: string;
}

/**
 * Writes the genesis leaf, the local keys, their events and a first checkpoint. Returns the keys in
 * clear.
 */
async function fillStore(
  dataDir: string,
  file: PlaneFile,
  keys: HostKeys,
  leaves: readonly LeafDraft[],
): Promise<Tokens> {
  const project = projectOf(file);
  const { projectId } = project;
  const store = await openStore({ dataDir, clock: { now }, randomBytes });
  try {
    await store.createProject(project, genesisLeaf(project, keys, now()));
    const made = { nowMs: now(), randomBytes };
    const operatorKey = createKey(project, { name: 'local operator', scopes: ['*'], ...made });
    const approverKey = file.presence === 'none' ? createKey(project, { ...approver, ...made }) : null;
    const agentKey = createKey(project, { ...agent, ...made });
    const rows = [operatorKey, approverKey, agentKey].flatMap((key) => (key === null ? [] : [key.row]));
    for (const row of rows) await store.saveApiKey(row);
    const events = rows.map((row) => keyCreated(row, made));
    await store.append({ projectId, leaves: [...events, ...leaves] });
    const checkpoints = new Checkpoints({ store, now, log: silentLog, signers: keys.signers });
    await checkpoints.sign(projectId, 'audit');
    await checkpoints.sign(projectId, 'metering');
    return { operator: operatorKey.token, approver: approverKey?.token ?? null, agent: agentKey.token };
  } finally {
    await store.close();
  }
}

const describe = (dataDir: string, file: PlaneFile, created: boolean): InitResult => ({
  created,
  dataDir,
  name: file.name ?? basename(dataDir),
  projectId: file.projectId,
  environment: file.environment,
  listen: file.listen,
  keyFile: join(dataDir, 'local.key'),
  approverKeyFile: file.presence === 'none' ? join(dataDir, 'approver.key') : null,
  agentKeyFile: join(dataDir, 'agent.key'),
  trustFile: join(dataDir, 'trust'),
});
