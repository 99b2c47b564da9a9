/**
 * The checks of changes of tenants, the same for both engines: keys, projects, sessions, new tenants.
 * Each change is judged by the rows that earlier requests left, then written. `planes.ts` judges changes of
 * data planes.
 * Proven by `test/store/suite/tenancy/tenants.ts`.
 */
import { limits } from '../../contract/limits.ts';
import { GovError } from '../../contract/problems.ts';
import { isRevoked } from '../../core/credential.ts';
import { judgeCaller, type CallerState, type Credential } from '../port/caller.ts';
import { areSame, homesAmong, type Homes, type LivingProject, type Membership } from './homes.ts';
import type { Project } from '../port/store.ts';
import { applyTelemetryEffect, type TelemetryRows } from './planes.ts';
import type { ApiKeyRow, NewTenant, StoredSession, TenantEffect } from '../port/tenancy.ts';
import type { StoredProject } from '../port/store.ts';

type EffectOf<Kind extends TenantEffect['kind']> = Extract<TenantEffect, { kind: Kind }>;

/** The changeable parts of a project. */
export type ProjectProfile = Pick<StoredProject, 'name' | 'settings' | 'quotas' | 'deletedMs'>;

/** The rows that effects read and write: of the project of the append, and of its organization. */
export interface TenantRows extends TelemetryRows {
  /** Reads the credential in this transaction; null if it is unknown. */
  caller(credential: Credential): CallerState | null;
  /** Counts keys without a `revokedMs`, past or future. */
  unrevokedKeys(): number;
  addApiKey(key: ApiKeyRow): void;
  apiKey(keyId: string): Pick<ApiKeyRow, 'revokedMs' | 'updatedMs'> | null;
  changeApiKey(effect: EffectOf<'changeApiKey'>): void;
  revokeApiKey(effect: EffectOf<'revokeApiKey'>): void;
  /** Null for a project of a plane. */
  profile(): ProjectProfile | null;
  /** Whether another project of the organization and environment has this `nameKey` and is not deleted. */
  isNameTaken(key: string): boolean;
  saveProfile(profile: ProjectProfile, updatedMs: number): void;
  /** Null for a project of a plane. */
  membership(): Membership | null;
  /** Projects of the organization that are not deleted, oldest first. A restored project may come last. */
  living(): readonly LivingProject[];
  saveHomes(organizationId: string, homes: Homes): void;
  openSession(session: StoredSession): void;
  /** False if there is no open session. */
  endSession(effect: EffectOf<'endSession'>): boolean;
  setCustomer(effect: EffectOf<'setCustomer'>): void;
}

/** Time that a session is kept after its end, in milliseconds. */
export const sessionKeptMs = 24 * 3_600_000;

/**
 * The form in which names of projects are compared. It unites compatible characters (NFKC, UAX #15), removes
 * invisible ones (Cf and default ignorables, UAX #44), ignores case (ẞ, ß and ss are equal), and has one
 * space for any white space. Similar letters of different scripts stay different.
 */
export const nameKey = (name: string): string =>
  name
    .normalize('NFKC')
    .replaceAll(/[\p{Cf}\p{DI}]/gu, '')
    .toLowerCase()
    .toUpperCase()
    .toLowerCase()
    .normalize('NFKC')
    .replaceAll(/\s+/gu, ' ')
    .trim();

export function applyTenantEffect(rows: TenantRows, effect: TenantEffect): void {
  switch (effect.kind) {
    case 'requireCaller':
      return judgeCaller(rows.caller(effect.credential), effect);
    case 'saveApiKey':
      return addApiKey(rows, effect.key);
    case 'changeApiKey':
      livingKey(rows, effect);
      return rows.changeApiKey(effect);
    case 'revokeApiKey': {
      const { revokedMs } = livingKey(rows, effect);
      // a key with an earlier end keeps it
      return rows.revokeApiKey({
        ...effect,
        revokedMs: Math.min(effect.revokedMs, revokedMs ?? effect.revokedMs),
      });
    }
    case 'changeProject':
      return changeProject(rows, effect);
    case 'openSession':
      return rows.openSession(effect.session);
    case 'endSession':
      if (rows.endSession(effect)) return;
      throw new GovError('NOT_FOUND', 'expected an open session, got an unknown or ended one');
    case 'setCustomer':
      return setCustomer(rows, effect);
    default:
      return applyTelemetryEffect(rows, effect);
  }
}

function setCustomer(rows: TenantRows, effect: EffectOf<'setCustomer'>): void {
  if (rows.membership()?.organizationId !== effect.organizationId) {
    throw new GovError(
      'NOT_FOUND',
      `expected the organization of this project, got ${effect.organizationId}`,
    );
  }
  rows.setCustomer(effect);
}

function addApiKey(rows: TenantRows, key: ApiKeyRow): void {
  if (rows.unrevokedKeys() >= limits.keysPerProject) {
    throw new GovError(
      'CONFLICT',
      `expected at most ${limits.keysPerProject} keys of a project, got one more; revoke an unused one`,
    );
  }
  rows.addApiKey(key);
}

function livingKey(rows: TenantRows, { keyId, atMs }: { keyId: string; atMs: number }) {
  const key = rows.apiKey(keyId);
  if (key === null || isRevoked(key, atMs)) {
    throw new GovError('NOT_FOUND', `expected a key of this project that is not revoked, got ${keyId}`);
  }
  return key;
}

function changeProject(rows: TenantRows, effect: EffectOf<'changeProject'>): void {
  const before = rows.profile();
  const { name, deletedMs, atMs } = effect;
  if (before === null || (before.deletedMs !== null && deletedMs !== null)) {
    throw new GovError('NOT_FOUND', 'expected a project that is not deleted, got an unknown or deleted one');
  }
  const after: ProjectProfile = {
    name: name ?? before.name,
    settings: effect.settings ?? before.settings,
    quotas: effect.quotas ?? before.quotas,
    deletedMs: deletedMs === undefined ? before.deletedMs : deletedMs,
  };
  const claims = name !== undefined || (before.deletedMs !== null && after.deletedMs === null);
  if (claims && after.deletedMs === null && rows.isNameTaken(nameKey(after.name))) throw taken(after.name);
  rows.saveProfile(after, atMs);
  if (after.deletedMs !== before.deletedMs) moveHomes(rows);
}

/** Call it after projects were created, deleted or restored. */
export function moveHomes(rows: Pick<TenantRows, 'membership' | 'living' | 'saveHomes'>): void {
  const membership = rows.membership();
  if (membership === null) return;
  const homes = homesAmong(membership.home, rows.living());
  if (!areSame(homes, membership.home)) rows.saveHomes(membership.organizationId, homes);
}

/** The existing rows that decide about a new tenant. */
export interface TenantSurroundings {
  /** Whether (issuer, subject) is known. */
  readonly userExists: boolean;
  /** Projects of the organization that are not deleted. */
  readonly projects: number;
  isNameTaken(environment: Project['environment'], key: string): boolean;
}

/** Refuses a tenant that cannot be created. Call it before the first write. */
export function judgeTenant({ projects }: NewTenant, known: TenantSurroundings): void {
  if (known.userExists) {
    throw new GovError('USER_EXISTS', 'expected a new person, got a known one; sign in instead');
  }
  const most = limits.projectsPerOrganization;
  if (known.projects + projects.length > most) {
    throw new GovError(
      'CONFLICT',
      `expected at most ${most} projects of an organization, got one more; delete one first`,
    );
  }
  const names = new Set<string>();
  for (const { stored } of projects) {
    const { environment } = stored.project;
    const key = nameKey(stored.name);
    const own = `${environment}/${key}`;
    if (names.has(own) || known.isNameTaken(environment, key)) throw taken(stored.name);
    names.add(own);
  }
}

const taken = (name: string): GovError =>
  new GovError(
    'NAME_TAKEN',
    `expected a name that no project of this environment has, got ${JSON.stringify(name)}`,
  );
