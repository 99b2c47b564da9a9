/**
 * Sign-up (contract I1, C8): one transaction creates an organization, its first person, a project with a key
 * in each environment, and the first leaves of both logs. Only its answer shows the keys. Proven by
 * `test/service/access/auth.test.ts`.
 */
import type { Environment, SignedUp } from '../../contract/auth.ts';
import { GovError } from '../../contract/problems.ts';
import { sha256 } from '../../core/hash.ts';
import { typeId } from '../../core/id.ts';
import type { NewProject, StoredOrganization, StoredProject, StoredUser } from '../../store/port/store.ts';
import { keyReused } from '../writes/append.ts';
import { sealedWrite, type Idempotency } from '../call/idempotency.ts';
import type { ReplayedResponse } from '../call/answer.ts';
import type { VerifiedPerson } from '../hosting/parts.ts';
import { createKey } from '../credentials/token-format.ts';
import { projectCreated, type EventContext } from './project-events.ts';
import { hostingOf } from './projects.ts';
import type { Services } from '../port/services.ts';
import { keyCreated } from '../writes/system.ts';
import { organizationCreated } from './tenant-events.ts';

/** Names that a person chose. */
interface SignUpBody {
  readonly name: string;
  readonly organizationName: string;
}

const projectNames: Readonly<Record<Environment, string>> = { production: 'Production', sandbox: 'Sandbox' };

/**
 * USER_EXISTS where the person has an organization, also one that a concurrent request creates;
 * IDEMPOTENCY_KEY_REUSE. `idempotency` is the person's own (`ofPerson`).
 */
export async function signUp(
  services: Services,
  {
    person,
    body,
    idempotency,
    basePath,
  }: { person: VerifiedPerson; body: SignUpBody; idempotency: Idempotency | null; basePath: string },
): Promise<SignUpAnswer | ReplayedResponse> {
  // checked before anything is created, because most repeats find a known person
  const earlier = await earlierSignUp(services, person, idempotency);
  if (earlier === 'known') throw userExists();
  if (earlier !== null) return earlier;
  const { organization, user, projects, answer } = newTenant(services, person, { ...body, basePath });
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

/** The same error for every conflict, so that it reveals nothing about others (contract C8). */
const userExists = (): GovError =>
  new GovError('USER_EXISTS', 'expected somebody who has not signed up yet; sign in instead');

/**
 * The stored answer of the person's earlier sign-up under the same key, `known` for a person without one,
 * null for a new person.
 */
async function earlierSignUp(
  { store }: Services,
  { issuer, subject }: VerifiedPerson,
  idempotency: Idempotency | null,
): Promise<ReplayedResponse | 'known' | null> {
  const user = await store.user(issuer, subject);
  if (user === null) return null;
  const organization = idempotency === null ? null : await store.organization(user.organizationId);
  if (idempotency === null || organization === null) return 'known';
  const kept = await store.keptResponse(organization.home.production, idempotency.key);
  if (kept === null) return 'known';
  if (kept.fingerprint !== idempotency.fingerprint) throw keyReused();
  return { replayed: kept.response };
}

/** Makes a client's key the person's own, because others may use the same text. */
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

interface SignUpAnswer {
  readonly status: 201;
  readonly body: SignedUp;
  readonly headers: { readonly location: string };
}

interface NewOrganization {
  readonly organization: StoredOrganization;
  readonly user: StoredUser;
  readonly projects: readonly NewProject[];
  readonly answer: SignUpAnswer;
}

function newTenant(
  services: Services,
  { issuer, subject, email }: VerifiedPerson,
  { name, organizationName, basePath }: SignUpBody & { readonly basePath: string },
): NewOrganization {
  const { randomBytes, salt } = services;
  const hosting = hostingOf(services);
  const nowMs = services.now();
  const organizationId = typeId('org', nowMs, randomBytes(10));
  const userId = typeId('usr', nowMs, randomBytes(10));
  const context: EventContext = { nowMs, salt, by: { id: userId, type: 'person' } };
  const production = hosting.makeProject(organizationId, 'production');
  const sandbox = hosting.makeProject(organizationId, 'sandbox');
  const home = { production: production.project.projectId, sandbox: sandbox.project.projectId };
  const organization = { organizationId, name: organizationName, customerId: null, home, createdMs: nowMs };
  const live = firstProject(services, production, context);
  const test = firstProject(services, sandbox, context);
  const [genesis, ...otherLeaves] = live.made.leaves;
  const leaves =
    genesis === undefined ? [] : [genesis, organizationCreated(organization, context), ...otherLeaves];
  return {
    organization,
    user: { userId, organizationId, issuer, subject, email, name, createdMs: nowMs },
    projects: [{ ...live.made, leaves }, test.made],
    answer: {
      status: 201,
      body: {
        orgId: organizationId,
        organizationId,
        projectId: home.sandbox,
        apiKeys: { sandbox: test.token, production: live.token },
      },
      headers: { location: `${basePath}/projects/${home.sandbox}` },
    },
  };
}

/** A project of a new organization, with a key that has every scope in it. */
function firstProject(
  { randomBytes }: Services,
  { project, genesis }: ReturnType<ReturnType<typeof hostingOf>['makeProject']>,
  context: EventContext,
): { readonly token: string; readonly made: NewProject } {
  const { nowMs, by } = context;
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
  const leaves = [genesis, projectCreated(stored, context), keyCreated(row, { nowMs, randomBytes, by })];
  return { token, made: { stored, leaves, keys: [row] } };
}
