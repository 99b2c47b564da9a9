/**
 * Settings of a project (contract I4, I9, I11): the stored values, and defaults for the others. Proven by
 * `test/service/access/projects.test.ts`.
 */
import { limits } from '../../contract/limits.ts';
import type { MeteredType } from '../../contract/operation.ts';
import type { ProjectSettings } from '../../contract/projects.ts';
import { canonicalize, type Json, type JsonObject } from '../../core/json/parse.ts';
import type { Project, StoredProject } from '../../store/port/store.ts';

import { fieldError } from './schema.ts';

/** The settings of `PUT /projects/{id}`, and those that billing and metering set. */
export interface StoredSettings extends ProjectSettings {
  readonly legalHold: boolean;
  readonly thresholds: readonly number[];
}

/** Quotas and settings of the project of a call. */
export interface TenantRules {
  /** Units a month; null for unlimited. */
  readonly quotas: Readonly<Record<MeteredType, number | null>>;
  readonly settings: StoredSettings;
  /** When the project last changed. Absent on a plane, whose project never changes. */
  readonly revisedMs?: number;
}

export const defaultSettings: StoredSettings = {
  retentionDays: null,
  auditFailureMode: 'strict',
  timezone: 'UTC',
  webhookDefaults: {},
  redactionKeys: [],
  subjectPointers: [],
  requireTwoPersonErasure: false,
  requireTwoPersonPublish: false,
  quotaMode: 'block',
  contentCapture: 'hashes',
  legalHold: false,
  thresholds: [50, 80, 90, 100],
};

export type Quotas = Readonly<Record<MeteredType, number | null>>;

/** A plane counts units and refuses none. */
export const unlimited: Quotas = {
  audit_event: null,
  compliance_proof: null,
  risk_decision: null,
  replay_verification: null,
};

/** Quotas of a service that configures none (contract I7). */
export const defaultQuotas: Readonly<Record<Project['environment'], Quotas>> = {
  sandbox: {
    audit_event: 100_000,
    compliance_proof: 1_000,
    risk_decision: 10_000,
    replay_verification: 1_000,
  },
  production: unlimited,
};

/** Quotas and settings of the project of a plane. */
const planeRules: TenantRules = { quotas: unlimited, settings: defaultSettings };

/** The same, with the settings that the plane's service decides. */
export const planeRulesWith = (decided: Partial<StoredSettings> | undefined): TenantRules =>
  decided === undefined ? planeRules : { ...planeRules, settings: { ...defaultSettings, ...decided } };

/** Quotas and settings of a stored project. `fallback`: the quotas of its environment. */
export function rulesOf(stored: StoredProject, fallback: Quotas): TenantRules {
  const quotas = { ...fallback, ...stored.quotas };
  return { quotas, settings: settingsOf(stored), revisedMs: stored.updatedMs };
}

/** The settings of a stored project. The service wrote the text itself. */
export const settingsOf = ({ settings }: Pick<StoredProject, 'settings'>): StoredSettings => ({
  ...defaultSettings,
  ...(JSON.parse(settings) as Partial<StoredSettings>),
});

/** The result of a change of settings. */
export interface SettingsChange {
  readonly after: StoredSettings;
  /** The stored text, without defaults. */
  readonly text: string;
  /** Members that differ; empty where nothing changes. */
  readonly changes: JsonObject;
}

/**
 * The settings of a project with some of them replaced. VALIDATION_ERROR for rules that no schema can state:
 * time zones, minimum retention in production, total size. `pointer`: the place of the settings in the body.
 */
export function settingsChange(
  stored: StoredProject,
  set: Partial<StoredSettings>,
  pointer = '/settings',
): SettingsChange {
  const before = settingsOf(stored);
  const after = { ...before, ...set };
  const text = JSON.stringify({ ...(JSON.parse(stored.settings) as object), ...set });
  requireZone(after, pointer);
  requireEvents(set, pointer);
  requireRetention(after, stored.project, pointer);
  requireSize(text, pointer);
  return { after, text, changes: changesOf(before, after) };
}

/** Members that differ, each with its old and new value. Both objects are JSON. */
export function changesOf(before: object, after: object): JsonObject {
  const old = new Map(Object.entries(before) as [string, Json][]);
  const changes: Record<string, Json> = {};
  for (const [name, to] of Object.entries(after) as [string, Json][]) {
    const from = old.get(name) ?? null;
    if (canonicalize(from) === canonicalize(to)) continue;
    // webhook defaults may contain credentials of other systems
    changes[name] = name === 'webhookDefaults' ? true : { from, to };
  }
  return changes;
}

function requireZone({ timezone }: StoredSettings, pointer: string): void {
  if (isTimeZone(timezone)) return;
  const detail = 'expected the IANA name of a time zone, such as Europe/Zurich or UTC';
  throw fieldError({ pointer: `${pointer}/timezone`, in: 'body', code: 'BAD_FORMAT', detail });
}

/** `*` stands alone, as in an endpoint (contract N4). */
function requireEvents({ webhookDefaults }: Partial<StoredSettings>, pointer: string): void {
  const detail = eventsFault(webhookDefaults?.events);
  if (detail === null) return;
  throw fieldError({ pointer: `${pointer}/webhookDefaults/events`, in: 'body', code: 'NOT_ALLOWED', detail });
}

/** What is wrong with `*` beside kinds, which a reader would take for a choice; null for another list. */
export const eventsFault = (events: readonly string[] | undefined): string | null =>
  events === undefined || events.length === 1 || !events.includes('*')
    ? null
    : `expected ["*"] alone for all kinds, or kinds without *, got ${JSON.stringify(events)}`;

/** Whether Intl knows the zone. Offsets such as +01:00, which Intl accepts too, name no zone. */
export function isTimeZone(name: string): boolean {
  if (!/^[A-Za-z]/.test(name)) return false;
  try {
    return new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone !== '';
  } catch (error) {
    if (error instanceof RangeError) return false;
    throw error;
  }
}

/**
 * Requires six months of retention in production, the minimum for logs of high-risk systems: Regulation (EU)
 * 2024/1689, Articles 19 and 26(6).
 */
function requireRetention(
  { retentionDays }: StoredSettings,
  { environment }: Project,
  pointer: string,
): void {
  const limit = limits.retentionDaysProduction;
  if (environment !== 'production' || retentionDays === null || retentionDays >= limit) return;
  const detail = `expected at least ${limit} days in production, or null to keep everything, got ${retentionDays}`;
  throw fieldError({ pointer: `${pointer}/retentionDays`, in: 'body', code: 'TOO_SMALL', detail, limit });
}

function requireSize(text: string, pointer: string): void {
  const bytes = Buffer.byteLength(text);
  const limit = limits.settingsBytes;
  if (bytes <= limit) return;
  const detail = `expected settings of at most ${limit} bytes in all, got ${bytes}`;
  throw fieldError({ pointer, in: 'body', code: 'TOO_LARGE', detail, limit });
}
