/**
 * The tenants of a store: organizations, people, projects, credentials. A plane has one project and none of the rest.
 * What changes them is part of an append (`TenantEffect`), so that it is in the log in the same transaction; only what
 * makes a project cannot be, and makes its log instead (`createTenant`).
 */
import type { Environment } from '../../contract/auth.ts';
import type { MeteredType } from '../../contract/operation.ts';
import type { LeafDraft } from '../../core/event/record.ts';
import type { RequiredCaller } from './caller.ts';
import type { IdempotencyWrite, Page, ByAge, Project, StoredResponse } from './store.ts';
import type { TelemetryEffect, TelemetryReader } from './planes.ts';

export interface StoredOrganization {
  readonly organizationId: string;
  readonly name: string;
  /** At the payment provider. */
  readonly customerId: string | null;
  /**
   * Whose logs tell of the organization itself. Where one of them is deleted it moves to another project (`src/store/rules/homes.ts`),
   * of the other environment where there is none of its own.
   */
  readonly home: Readonly<Record<Environment, string>>;
  readonly createdMs: number;
}

/** A person, named by (issuer, subject). */
export interface StoredUser {
  readonly userId: string;
  readonly organizationId: string;
  readonly issuer: string;
  readonly subject: string;
  /** Null unless the issuer says that it is verified. */
  readonly email: string | null;
  readonly name: string;
  readonly createdMs: number;
}

export interface StoredSession {
  /** SHA-256 of the token. */
  readonly digest: Uint8Array;
  readonly kind: 'browser' | 'cli';
  readonly userId: string;
  readonly organizationId: string;
  readonly createdMs: number;
  /** To the minute. */
  readonly lastUsedMs: number;
  readonly expiresMs: number;
  readonly endedMs: number | null;
}

/** What of a project may change. A project of a plane has none of it. */
export interface StoredProject {
  readonly project: Project;
  readonly name: string;
  /** JSON of what was set; what is not set has its default. */
  readonly settings: string;
  /** Set by the operator; absent: the default of the environment; null: unlimited. */
  readonly quotas: Readonly<Partial<Record<MeteredType, number | null>>>;
  readonly createdMs: number;
  readonly updatedMs: number;
  readonly deletedMs: number | null;
}

/** What lists show of a project: not its settings, of which a thousand projects have 32 MiB. */
export type NamedProject = Pick<StoredProject, 'project' | 'name' | 'createdMs' | 'updatedMs'>;

/** What a project used in a month. */
export interface ProjectUsage {
  readonly projectId: string;
  readonly name: string;
  readonly environment: Environment;
  readonly deletedMs: number | null;
  readonly used: Readonly<Record<MeteredType, number>>;
  /** What data planes reported for the month (`TelemetryReader.planeUsage`). */
  readonly planes: Readonly<Record<MeteredType, number>>;
}

export interface ApiKeyRow {
  readonly keyId: string;
  readonly projectId: string;
  readonly digest: Buffer;
  readonly prefix: string;
  readonly last4: string;
  readonly name: string;
  readonly description: string | null;
  readonly scopes: readonly string[];
  readonly createdMs: number;
  /** Key or user id, or `operator`. */
  readonly createdBy: string;
  readonly updatedMs: number;
  /** To the minute. */
  readonly lastUsedMs: number | null;
  readonly expiresMs: number | null;
  /** May lie ahead: a rotated key works until then. */
  readonly revokedMs: number | null;
  readonly rotatedFrom: string | null;
}

export interface NewProject {
  readonly stored: StoredProject;
  /** Its first leaves; the genesis leaf comes first. */
  readonly leaves: readonly LeafDraft[];
  readonly keys: readonly ApiKeyRow[];
}

/** Made in one transaction, whole or not at all. */
export interface NewTenant {
  /** Null at a sign-up, which nobody has to be known for. */
  readonly by: RequiredCaller | null;
  /** Both null where the organization is there already. */
  readonly organization: StoredOrganization | null;
  readonly user: StoredUser | null;
  readonly projects: readonly NewProject[];
  /** As `AppendRequest.toHome`, for the home of the first project, unless that is made here. */
  readonly toHome?: readonly LeafDraft[];
  /** Kept in the log's project of the caller. */
  readonly idempotency?: IdempotencyWrite & { readonly projectId: string };
}

export type Created =
  /** `home`: the project whose log got `toHome`. */
  | { readonly outcome: 'stored'; readonly home?: string }
  | { readonly outcome: 'replayed'; readonly response: StoredResponse }
  | { readonly outcome: 'key_reused' };

/** Rows of tenants that change with an append to a project of theirs. */
export type TenantEffect =
  | RequiredCaller
  | TelemetryEffect
  /** Refused with CONFLICT where the project has `limits.keysPerProject` keys that are not revoked, be it ahead. */
  | { readonly kind: 'saveApiKey'; readonly key: ApiKeyRow }
  /** Refused with NOT_FOUND where the key is unknown, or revoked at `atMs`. */
  | {
      readonly kind: 'changeApiKey';
      readonly keyId: string;
      readonly name: string;
      readonly description: string | null;
      readonly scopes: readonly string[];
      readonly expiresMs: number | null;
      readonly atMs: number;
    }
  /** Ends it at `revokedMs`, or when it was to end already, if that is earlier. Refused as above. */
  | {
      readonly kind: 'revokeApiKey';
      readonly keyId: string;
      readonly revokedMs: number;
      readonly atMs: number;
    }
  /**
   * Of the project that is appended to; what is not given stays. Where it is deleted or restored, homes of its
   * organization move. Refused with NOT_FOUND where it is deleted and
   * `deletedMs` is not given, and where it is to be deleted a second time; NAME_TAKEN where another project of the
   * organization and environment that is not deleted has the name, compared without case.
   */
  | {
      readonly kind: 'changeProject';
      readonly name?: string;
      readonly settings?: string;
      readonly quotas?: StoredProject['quotas'];
      readonly deletedMs?: number | null;
      readonly atMs: number;
    }
  | { readonly kind: 'openSession'; readonly session: StoredSession }
  /** Refused with NOT_FOUND where it is unknown, or ended already. */
  | { readonly kind: 'endSession'; readonly digest: Uint8Array; readonly atMs: number }
  /** Refused with NOT_FOUND where it is not the organization of the project that is appended to. */
  | {
      readonly kind: 'setCustomer';
      readonly organizationId: string;
      readonly customerId: string | null;
    };

/** That a credential was used; times are kept to the minute and never run backwards. */
export type Use =
  | { readonly projectId: string; readonly keyId: string; readonly atMs: number }
  | { readonly digest: Uint8Array; readonly atMs: number };

export interface TenantReader extends TelemetryReader {
  organization(organizationId: string): Promise<StoredOrganization | null>;
  user(issuer: string, subject: string): Promise<StoredUser | null>;
  /** By the digest of its token, also where it has ended. */
  session(digest: Uint8Array): Promise<{
    readonly session: StoredSession;
    readonly user: StoredUser;
    readonly organization: StoredOrganization;
  } | null>;
  /** Those that are not deleted, newest first. */
  projects(organizationId: string): Promise<NamedProject[]>;
  /**
   * For the operator alone: of one organization or of all, deleted ones too, newest first by id; `after` is a project
   * id. A plane has none.
   */
  everyProject(filter: { readonly organizationId?: string }, page: Page<string>): Promise<StoredProject[]>;
  /** Also where it is deleted; null for a project of another organization. */
  storedProject(organizationId: string, projectId: string): Promise<StoredProject | null>;
  /**
   * Units counted in a month (`2026-11`, UTC) by the projects of an organization: those that are not deleted, newest
   * first, and those that are and used anything, last deleted first. Of the latter the `limits.projectsPerOrganization`
   * that were deleted last are looked at; `complete` says whether there are no more.
   */
  usageOf(
    organizationId: string,
    month: string,
  ): Promise<{ readonly projects: readonly ProjectUsage[]; readonly complete: boolean }>;
  /** As above, of one project. */
  usage(projectId: string, month: string): Promise<Readonly<Record<MeteredType, number>>>;

  /** Across projects: the credential decides the tenant. `stored` is null on a plane. */
  apiKey(digest: Uint8Array): Promise<{
    readonly key: ApiKeyRow;
    readonly project: Project;
    readonly stored: StoredProject | null;
  } | null>;
  apiKeyOf(projectId: string, keyId: string): Promise<ApiKeyRow | null>;
  /** Newest first. `liveAtMs`: only those that are not revoked then. */
  apiKeys(projectId: string, filter: { readonly liveAtMs?: number }, page: Page<ByAge>): Promise<ApiKeyRow[]>;

  /** What the first process of an installation said about it (its keys), or null. */
  installation(): Promise<string | null>;
}

export interface TenantStore {
  /**
   * USER_EXISTS where (issuer, subject) is known, NAME_TAKEN as above, CONFLICT where the organization has
   * `limits.projectsPerOrganization` projects that are not deleted; and as `by` is refused.
   */
  createTenant(tenant: NewTenant): Promise<Created>;
  /** Keeps what is not kept yet and answers what is kept: the first one stays. */
  claimInstallation(text: string): Promise<string>;
  /** In one transaction per tenant at most. What is not known is passed over, and a session that has ended. */
  used(uses: readonly Use[]): Promise<void>;
}
