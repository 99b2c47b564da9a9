/**
 * Which projects are an organization's home, whose logs tell of the organization itself. A home that is deleted moves,
 * so that the log of an organization can be read as long as it has a project. Proven by `test/store/suite/tenancy/homes.ts`.
 */
import type { Environment } from '../../contract/auth.ts';
import type { StoredOrganization } from '../port/tenancy.ts';

export type Homes = StoredOrganization['home'];

/** A project that is not deleted. */
export interface LivingProject {
  readonly projectId: string;
  readonly environment: Environment;
}

/** A project's place in its organization. */
export interface Membership extends LivingProject {
  readonly organizationId: string;
  readonly home: Homes;
}

/**
 * The homes once these projects are living, oldest first. A home stays while it is living and of its environment; else
 * it is the oldest project of the environment, else one of the other environment, else what it was.
 */
export function homesAmong(homes: Homes, living: readonly LivingProject[]): Homes {
  const homeOf = (wanted: Environment): string => {
    const current = homes[wanted];
    const own = living.filter(({ environment }) => environment === wanted);
    for (const candidates of [own, living]) {
      const [oldest] = candidates;
      if (candidates.some(({ projectId }) => projectId === current)) return current;
      if (oldest !== undefined) return oldest.projectId;
    }
    return current;
  };
  return { production: homeOf('production'), sandbox: homeOf('sandbox') };
}

export const areSame = (one: Homes, other: Homes): boolean =>
  one.production === other.production && one.sandbox === other.sandbox;

/** The home that a project's changes are told to, null where it is its own or there is none. */
export function homeBeside(membership: Membership | null): string | null {
  if (membership === null) return null;
  const { projectId, environment, home } = membership;
  return home[environment] === projectId ? null : home[environment];
}

/** Of a row of `project` joined with its organization. */
export interface MembershipRow {
  project_id: string;
  organization_id: string;
  environment: Environment;
  home_production: string;
  home_sandbox: string;
}

export const membershipOf = (row: MembershipRow): Membership => ({
  projectId: row.project_id,
  organizationId: row.organization_id,
  environment: row.environment,
  home: { production: row.home_production, sandbox: row.home_sandbox },
});
