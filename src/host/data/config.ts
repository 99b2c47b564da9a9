/**
 * The configuration of a plane: flag > GOV_* environment > plane.json > default. Proven by
 * `test/host/data/config.test.ts`.
 */
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { policyModes, type PolicyMode } from '../../contract/plane-config.ts';
import { limits } from '../../contract/limits.ts';
import { GovError } from '../../contract/problems.ts';
import { contentCaptures, subjectPointerPattern, type ContentCapture } from '../../contract/projects.ts';
import { agentClients } from '../../core/agents/clients.ts';
import type { DrillSchedule } from '../../core/agents/drills.ts';
import type { JsonSchema } from '../../service/call/explain.ts';
import type { StoredSettings } from '../../service/call/settings.ts';
import type { Project } from '../../store/port/store.ts';
import { oneOf, readConfigFile, text, whole, type Variables } from '../config/layers.ts';
import { folderMembers, type SendersFile } from '../outbound/senders.ts';
import {
  servingConfigOf,
  servingFileMembers,
  type ServingConfig,
  type ServingFile,
  type ServingFlags,
} from '../serving/config.ts';

/** Settings for the configuration that a plane takes from its service. */
export interface PlaneSync {
  /**
   * `beside`, the default: policies of the service apply together with those of the plane. `service`: only
   * policies of the service apply. `off`: the plane takes nothing, and may change policies that it took
   * earlier.
   */
  readonly policies?: PolicyMode;
  /** Seconds between requests. */
  readonly intervalSeconds?: number;
  /** The plane decides only while its configuration is at most this old. Absent: without a limit. */
  readonly maxAgeSeconds?: number;
  /** Project and verifier keys of the service. They replace those of the enrolment. */
  readonly projectId?: string;
  readonly keys?: readonly string[];
}

/** `plane.json`, as `gov plane init` writes it. */
export interface PlaneFile extends ServingFile, SendersFile {
  readonly projectId: string;
  readonly organizationId: string;
  readonly environment: 'production' | 'sandbox';
  readonly origin: string;
  readonly meteringOrigin: string;
  readonly name?: string;
  /** Days until bodies are erased (at least 183 in production). Null or absent: never. */
  readonly retentionDays?: number | null;
  /** Blocks every erasure. */
  readonly legalHold?: boolean;
  /** The person who requests an erasure cannot carry it out. */
  readonly requireTwoPersonErasure?: boolean;
  /** See `subjectPointers` of a project of a service. */
  readonly subjectPointers?: readonly string[];
  /** What is kept of the content of received telemetry. Absent: `hashes`. */
  readonly contentCapture?: ContentCapture;
  readonly config?: PlaneSync;
  /**
   * `signed`: what an agent's key asked for is approved only with a signature of an enrolled approver. `none`: any key with
   * the scope approves it. Absent, on planes of older releases: `signed` once there is an approver.
   */
  readonly presence?: Presence;
  /** How long hooks and MCP proxies wait for the decision of a person. Absent: they do not wait. */
  readonly hold?: { readonly seconds: number };
  /** How often drills of agents must pass. Absent: a failed drill is reported, a missing one is not. */
  readonly drills?: DrillSchedule;
}

const presences = ['signed', 'none'] as const;
export type Presence = (typeof presences)[number];

const typeIdOf = (prefix: string): JsonSchema => ({
  type: 'string',
  pattern: `^${prefix}_[0-7][0-9a-hjkmnp-tv-z]{25}$`,
});

export const planeFileSchema: JsonSchema = {
  type: 'object',
  required: [
    'listen',
    'metricsListen',
    'projectId',
    'organizationId',
    'environment',
    'origin',
    'meteringOrigin',
  ],
  properties: {
    ...servingFileMembers,
    ...folderMembers,
    projectId: typeIdOf('prj'),
    organizationId: typeIdOf('org'),
    environment: oneOf(['production', 'sandbox']),
    origin: text(255),
    meteringOrigin: text(255),
    name: text(100),
    retentionDays: {
      anyOf: [{ type: 'integer', minimum: 1, maximum: limits.retentionDays }, { type: 'null' }],
    },
    legalHold: { type: 'boolean' },
    requireTwoPersonErasure: { type: 'boolean' },
    presence: oneOf(presences),
    hold: {
      type: 'object',
      required: ['seconds'],
      properties: { seconds: whole(1, limits.holdMostSeconds) },
      additionalProperties: false,
    },
    contentCapture: oneOf(contentCaptures),
    subjectPointers: {
      type: 'array',
      maxItems: limits.subjectPointers,
      uniqueItems: true,
      items: { type: 'string', pattern: subjectPointerPattern, maxLength: limits.subjectPointerChars },
    },
    drills: {
      type: 'object',
      properties: {
        everyHours: whole(1, limits.drillHours),
        clients: {
          type: 'object',
          properties: Object.fromEntries(agentClients.map((client) => [client, whole(1, limits.drillHours)])),
          additionalProperties: false,
        },
      },
      additionalProperties: false,
    },
    config: {
      type: 'object',
      properties: {
        policies: oneOf(policyModes),
        intervalSeconds: whole(limits.configIntervalLeastSeconds, 24 * 3600),
        maxAgeSeconds: whole(limits.configAgeLeastSeconds, limits.configAgeMostSeconds),
        projectId: typeIdOf('prj'),
        keys: {
          type: 'array',
          items: text(limits.verifierKeyChars),
          minItems: 1,
          maxItems: limits.trustKeys,
        },
      },
      additionalProperties: false,
    },
  },
  additionalProperties: false,
};

export interface PlaneConfig extends Omit<PlaneFile, keyof ServingConfig>, ServingConfig {}

/** Reads and checks the configuration. VALIDATION_ERROR names the invalid file, variable or flag. */
export function readPlaneConfig(dataDir: string, flags: ServingFlags, env: Variables): PlaneConfig {
  const path = join(dataDir, 'plane.json');
  const file = readPlaneFile(path);
  return { ...file, ...servingConfigOf(file, flags, { dataDir, path, env }) };
}

/**
 * SHA-256 of the whole configuration, whatever its layers. Equal hashes mean that two processes serve alike.
 */
export const configHash = (config: PlaneConfig): string =>
  `sha256:${createHash('sha256')
    .update(canonicalText({ ...config, dataDir: '', targets: undefined }))
    .digest('hex')}`;

/** JSON with sorted object members. */
const canonicalText = (value: unknown): string =>
  JSON.stringify(value, (_name, each: unknown) =>
    typeof each === 'object' && each !== null && !Array.isArray(each)
      ? Object.fromEntries(Object.entries(each).toSorted(([one], [other]) => (one < other ? -1 : 1)))
      : each,
  );

/** Reads `plane.json`. NOT_FOUND where there is no file. */
export const readPlaneFile = (path: string): PlaneFile =>
  // the schema checks what the type says
  readConfigFile(
    path,
    planeFileSchema,
    `expected a plane at ${path}; make one with gov plane init`,
  ) as PlaneFile;

/** The one project of a plane. */
export const projectOf = (file: PlaneFile): Project => ({
  projectId: file.projectId,
  organizationId: file.organizationId,
  environment: file.environment,
  auditOrigin: file.origin,
  meteringOrigin: file.meteringOrigin,
});

/**
 * The project settings in a plane's configuration. VALIDATION_ERROR where the retention in production is too
 * short.
 */
export function settingsOf(config: PlaneConfig): Partial<StoredSettings> {
  const { retentionDays = null, legalHold = false, requireTwoPersonErasure = false, environment } = config;
  const { subjectPointers: pointers = [], contentCapture = 'hashes' } = config;
  const least = limits.retentionDaysProduction;
  if (environment === 'production' && retentionDays !== null && retentionDays < least) {
    const detail = `expected at least ${least} days in production, or null to keep everything, got ${retentionDays}`;
    throw new GovError('VALIDATION_ERROR', `${join(config.dataDir, 'plane.json')}: retentionDays: ${detail}`);
  }
  return {
    retentionDays,
    legalHold,
    requireTwoPersonErasure,
    subjectPointers: [...pointers],
    contentCapture,
  };
}
