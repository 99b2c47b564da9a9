/** Settings of a project (contract I4, I9, I11): what is kept, with the defaults of what was never set. */
import type { MeteredType } from '../contract/operation.ts';
import type { ProjectSettings } from '../contract/projects.ts';
import type { Project, StoredProject } from '../store/port.ts';
import type { TenantRules } from './call.ts';

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

/** `fallback`: the quotas of the project's environment. */
export function rulesOf(stored: StoredProject, fallback: Quotas): TenantRules {
  return { quotas: { ...fallback, ...stored.quotas }, settings: settingsOf(stored) };
}

/** The text is our own. */
export const settingsOf = ({ settings }: Pick<StoredProject, 'settings'>): StoredSettings => ({
  ...defaultSettings,
  ...(JSON.parse(settings) as Partial<StoredSettings>),
});
