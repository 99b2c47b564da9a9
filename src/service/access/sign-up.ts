/**
 * Sign-up (interface §4.8; contract I1, C8): an organization, its first person, a project and a key in each
 * environment, and the first leaves of both logs in one transaction. The keys are shown in its answer alone.
 * Proven by `test/service/access/auth.test.ts`.
 */
import type { Environment, SignedUp } from '../../contract/auth.ts';
import { GovError } from '../../contract/problems.ts';
import { sha256 } from '../../core/hash.ts';
import { typeId } from '../../core/id.ts';
import type { NewProject, StoredOrganization, StoredProject, StoredUser } from '../../store/port/store.ts';
import { keyReused } from '../events/append.ts';
import { sealedWrite, type Idempotency, type Replayed } from '../call/handler.ts';
import type { VerifiedPerson } from '../hosting.ts';
import { createKey } from './token-format.ts';
import { projectCreated, type Telling } from './project-events.ts';
import { hostingOf } from './projects.ts';
import type { Services } from '../dependencies.ts';
import { keyCreated } from '../system.ts';
import { organizationCreated } from './tenant-events.ts';

/** What somebody says of themselves. */
export interface SignUpBody {
  readonly name: string;
  readonly organizationName: string;
}

const projectNames: Readonly<Record<Environment, string>> = { production: 'Production', sandbox: 'Sandbox' };

/**
 * USER_EXISTS where the person has an organization, also one that a parallel request is just making;
 * IDEMPOTENCY_KEY_REUSE. `idempotency` is the person's own (`ofPerson`).
 */
export async function signUp(
  services: Services,
  {
    person,
    body,
    idempotency,
  }: { person: VerifiedPerson; body: SignUpBody; idempotency: Idempotency | null },
): Promise<{ status: 201; body: SignedUp } | Replayed> {
  // before anything is made: most who come twice are known
  const earlier = await earlierSignUp(services, person, idempotency);
  if (earlier === 'known') throw userExists();
  if (earlier !== null) return earlier;
  const { organization, user, projects, answer } = newTenant(services, person, body);
  const kept = sealedWrite(idempotency, answer, services).idempotency;
  try {
    await services.store.createTenant({
      by: null,
      organization,
      user,
      projects,
      ...(kept === undefined ? {} : { idempotency: { ...kept, projectId: organization.home.production } }),
    });
  } catch (error) {
    if (!(error instanceof GovError) || error.code !== 'USER_EXISTS') throw error;
    const meanwhile = await earlierSignUp(services, person, idempotency);
    if (meanwhile === null || meanwhile === 'known') throw userExists();
    return meanwhile;
  }
  for (const { stored } of projects) services.checkpoints.grew(stored.project.projectId);
  return answer;
}

/** Tells nothing of what is there already (contract C8). */
const userExists = (): GovError =>
  new GovError('USER_EXISTS', 'expected somebody who has not signed up yet; sign in instead');

/** The kept answer of the person's own sign-up under the same key, `known` without one, null for somebody new. */
async function earlierSignUp(
  { store }: Services,
  { issuer, subject }: VerifiedPerson,
  idempotency: Idempotency | null,
): Promise<Replayed | 'known' | null> {
  const user = await store.user(issuer, subject);
  if (user === null) return null;
  const organization = idempotency === null ? null : await store.organization(user.organizationId);
  if (idempotency === null || organization === null) return 'known';
  const kept = await store.keptResponse(organization.home.production, idempotency.key);
  if (kept === null) return 'known';
  if (kept.fingerprint !== idempotency.fingerprint) throw keyReused();
  return { replayed: kept.response };
}

/** A client's key is the person's: somebody else may use the same text. */
export const ofPerson = (
  idempotency: Idempotency | null,
  { issuer, subject }: VerifiedPerson,
): Idempotency | null =>
  idempotency === null
    ? null
    : {
        ...idempotency,
        key: sha256(JSON.stringify(['gov.idempotency/1', issuer, subject, idempotency.key])).toString('hex'),
      };

interface Made {
  readonly organization: StoredOrganization;
  readonly user: StoredUser;
  readonly projects: readonly NewProject[];
  readonly answer: { readonly status: 201; readonly body: SignedUp };
}

function newTenant(
  services: Services,
  { issuer, subject, email }: VerifiedPerson,
  { name, organizationName }: SignUpBody,
): Made {
  const { randomBytes, salt } = services;
  const hosting = hostingOf(services);
  const nowMs = services.now();
  const organizationId = typeId('org', nowMs, randomBytes(10));
  const userId = typeId('usr', nowMs, randomBytes(10));
  const telling: Telling = { nowMs, salt, by: { id: userId, type: 'person' } };
  const production = hosting.makeProject(organizationId, 'production');
  const sandbox = hosting.makeProject(organizationId, 'sandbox');
  const home = { production: production.project.projectId, sandbox: sandbox.project.projectId };
  const organization = { organizationId, name: organizationName, customerId: null, home, createdMs: nowMs };
  const live = firstProject(services, production, telling);
  const test = firstProject(services, sandbox, telling);
  const [genesis, ...told] = live.made.leaves;
  const leaves = genesis === undefined ? [] : [genesis, organizationCreated(organization, telling), ...told];
  return {
    organization,
    user: { userId, organizationId, issuer, subject, email, name, createdMs: nowMs },
    projects: [{ ...live.made, leaves }, test.made],
    answer: {
      status: 201,
      body: {
        orgId: organizationId,
        projectId: home.sandbox,
        apiKeys: { sandbox: test.token, production: live.token },
      },
    },
  };
}

/** A project of a new organization with a key that may do everything in it. */
function firstProject(
  { randomBytes }: Services,
  { project, genesis }: ReturnType<ReturnType<typeof hostingOf>['makeProject']>,
  telling: Telling,
): { readonly token: string; readonly made: NewProject } {
  const { nowMs, by } = telling;
  const wanted = { name: 'Sign-up key', scopes: ['*'], createdBy: by.id };
  const { token, row } = createKey(project, { ...wanted, nowMs, randomBytes });
  const stored: StoredProject = {
    project,
    name: projectNames[project.environment],
    settings: '{}',
    quotas: {},
    createdMs: nowMs,
    updatedMs: nowMs,
    deletedMs: null,
  };
  const leaves = [genesis, projectCreated(stored, telling), keyCreated(row, { nowMs, randomBytes, by })];
  return { token, made: { stored, leaves, keys: [row] } };
}
