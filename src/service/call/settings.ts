/** Settings of a project (contract I4, I9, I11): what is kept, with the defaults of what was never set. */
import { limits } from '../../contract/limits.ts';
import type { MeteredType } from '../../contract/operation.ts';
import type { ProjectSettings } from '../../contract/projects.ts';
import { canonicalize, type Json, type JsonObject } from '../../core/json/parse.ts';
import type { Project, StoredProject } from '../../store/port/store.ts';
import type { TenantRules } from './handler.ts';
import { fieldError } from './schema.ts';

/** Beside what `PUT /projects/{id}` sets: what billing and metering set. */
export interface StoredSettings extends ProjectSettings {
  readonly legalHold: boolean;
  readonly thresholds: readonly number[];
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
  legalHold: false,
  thresholds: [50, 80, 90, 100],
};

export type Quotas = Readonly<Record<MeteredType, number | null>>;

/** A plane meters, and refuses nothing. */
export const unlimited: Quotas = {
  audit_event: null,
  compliance_proof: null,
  risk_decision: null,
  replay_verification: null,
};

/** Amounts of a service that configures none (contract I7). */
export const defaultQuotas: Readonly<Record<Project['environment'], Quotas>> = {
  sandbox: {
    audit_event: 100_000,
    compliance_proof: 1_000,
    risk_decision: 10_000,
    replay_verification: 1_000,
  },
  production: unlimited,
};

/** What holds in a project of a plane. */
export const planeRules: TenantRules = { quotas: unlimited, settings: defaultSettings };

/** The same, with what the plane's service decides. */
export const planeRulesWith = (decided: Partial<StoredSettings> | undefined): TenantRules =>
  decided === undefined ? planeRules : { ...planeRules, settings: { ...defaultSettings, ...decided } };

/** `fallback`: the quotas of the project's environment. */
export function rulesOf(stored: StoredProject, fallback: Quotas): TenantRules {
  const quotas = { ...fallback, ...stored.quotas };
  return { quotas, settings: settingsOf(stored), revisedMs: stored.updatedMs };
}

/** The text is our own. */
export const settingsOf = ({ settings }: Pick<StoredProject, 'settings'>): StoredSettings => ({
  ...defaultSettings,
  ...(JSON.parse(settings) as Partial<StoredSettings>),
});

/** What a change of settings comes to. */
export interface SettingsChange {
  readonly after: StoredSettings;
  /** As it is stored: defaults are not. */
  readonly text: string;
  /** What differs; empty where nothing does. */
  readonly changes: JsonObject;
}

/**
 * The settings of a project with some of them set; the others stay. VALIDATION_ERROR for what no schema can tell: time
 * zones, how long production is kept at least, size in all. `pointer`: where the settings stand in the body.
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
  requireRetention(after, stored.project, pointer);
  requireSize(text, pointer);
  return { after, text, changes: changesOf(before, after) };
}

/** Members that differ, each with what it was and what it is. Both sides are JSON. */
export function changesOf(before: object, after: object): JsonObject {
  const old = new Map(Object.entries(before) as [string, Json][]);
  const changes: Record<string, Json> = {};
  for (const [name, to] of Object.entries(after) as [string, Json][]) {
    const from = old.get(name) ?? null;
    if (canonicalize(from) === canonicalize(to)) continue;
    // they may hold what opens other systems
    changes[name] = name === 'webhookDefaults' ? true : { from, to };
  }
  return changes;
}

function requireZone({ timezone }: StoredSettings, pointer: string): void {
  if (isTimeZone(timezone)) return;
  const detail = 'expected the IANA name of a time zone, such as Europe/Zurich or UTC';
  throw fieldError({ pointer: `${pointer}/timezone`, in: 'body', code: 'BAD_FORMAT', detail });
}

/** Offsets such as +01:00, which Intl takes too, name no zone. */
function isTimeZone(name: string): boolean {
  if (!/^[A-Za-z]/.test(name)) return false;
  try {
    return new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone !== '';
  } catch (error) {
    if (error instanceof RangeError) return false;
    throw error;
  }
}

/** Six months, for what is logged of high-risk systems: Regulation (EU) 2024/1689, Articles 19 and 26(6). */
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
