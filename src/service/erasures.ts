/**
 * Erasure (contract I11; docs/erasure.md): salts and values of an event or decision go, or all about a subject; digests,
 * leaves and proofs stay. One append of the `gov.erasure/1` leaf, the audit event and the changed bodies; a crash before
 * the store answers leaves all of it or none. Proven by `test/service/erasures.test.ts`.
 */
import type { Erasure, ErasureDone, ErasureInput, ErasureWhole } from '../contract/erasure.ts';
import { limits } from '../contract/limits.ts';
import { GovError } from '../contract/problems.ts';
import { readErasure, type ErasureTarget } from '../core/decided/erasure.ts';
import { digestOf, disclosureTexts } from '../core/disclosure.ts';
import { eventIndex } from '../core/id.ts';
import { readJson } from '../core/json.ts';
import { systemRun } from '../core/record.ts';
import type { Leaf, Store } from '../store/port.ts';
import { idempotencyWrite, notFound, type Caller, type Handlers, type PlainAnswer } from './call.ts';
import { erase } from './erase.ts';
import { erasureRequest, requireSecondPerson } from './erasurerequest.ts';
import { listPage, pageLimit } from './pages.ts';
import { fieldError } from './schema.ts';
import type { Services } from './services.ts';
import { subjectHasher } from './subjects.ts';

const scope = 'erasure:write';
const reasonDefault = 'unspecified';

export const erasures: Pick<Handlers, 'createErasure' | 'listErasures' | 'getErasure'> = {
  async createErasure({ body, caller, basePath, idempotency }, services) {
    const found = await findTargets(services, caller, body);
    const { targets, complete, subject } = found;
    const { reasonCode = reasonDefault, dryRun = false } = body;
    const isTwo = caller.rules.settings.requireTwoPersonErasure;
    if (dryRun || targets.length === 0) {
      const request = isTwo && dryRun ? { request: erasureRequest(services, caller, body) } : {};
      return { status: 200, body: { ...done(null, targets, { complete, dryRun }), ...request } };
    }
    const requested = isTwo ? { requestedMs: await requireSecondPerson(services, caller, body) } : {};
    const composed = (erasureId: string) =>
      ({
        status: 201,
        body: done(erasureId, targets, { complete, dryRun }),
        headers: { location: `${basePath}/erasures/${erasureId}` },
      }) as const satisfies PlainAnswer;
    const erased = await erase(services, {
      project: caller.project,
      asking: { caller, scopes: [scope] },
      targets,
      reasonCode,
      ...requested,
      ...(subject === undefined ? {} : { subject }),
      kept: (erasureId) => idempotencyWrite(idempotency, composed(erasureId)),
    });
    return 'replayed' in erased ? erased : composed(erased.erasureId);
  },

  async listErasures({ query, caller }, services) {
    const { projectId } = caller.project;
    const { rows, nextCursor } = await listPage(services, {
      scope: { list: 'erasures', projectId, filters: {} },
      cursor: query.cursor,
      limit: pageLimit(query.limit, limits.pageDefault, limits.pageMax),
      read: (page: { after?: number; limit: number }) =>
        services.store.leavesOf(projectId, { type: 'gov.erasure/1' }, { ...page, order: 'desc' }),
      position: ({ index }) => index,
    });
    return { status: 200, body: { data: rows.map((leaf) => summaryOf(leaf)), nextCursor } };
  },

  async getErasure({ params, caller }, { store }) {
    const leaf = await store.leafOf(caller.project.projectId, 'gov.erasure/1', params.erasureId);
    if (leaf === null) throw notFound('erasure');
    const { targets } = recordOf(leaf);
    const body: ErasureWhole = {
      ...summaryOf(leaf),
      targets: targets.map(({ index, digests }) => ({ sequence: index, digests: [...digests] })),
    };
    return { status: 200, body };
  },
};

const done = (
  erasureId: string | null,
  targets: readonly ErasureTarget[],
  { complete, dryRun }: Pick<ErasureDone, 'complete' | 'dryRun'>,
): ErasureDone => ({ erasureId, ...counted(targets), complete, dryRun });

const counted = (targets: readonly ErasureTarget[]) => ({
  leaves: targets.length,
  fields: targets.reduce((sum, { digests }) => sum + digests.length, 0),
});

function recordOf(leaf: Leaf) {
  const erasure = readErasure(leaf.record);
  if (erasure === null)
    throw new GovError('STORAGE_FAULT', `leaf ${leaf.index} is not the erasure it should be`);
  return erasure;
}

function summaryOf(leaf: Leaf): Erasure {
  const { erasureId, reasonCode, requestedAt, executedAt, keyDestroyed, targets } = recordOf(leaf);
  const times = { requestedAt, executedAt };
  return { erasureId, sequence: leaf.index, reasonCode, ...times, keyDestroyed, ...counted(targets) };
}

interface Found {
  readonly targets: readonly ErasureTarget[];
  /** Whether nothing else of what was asked for is left. */
  readonly complete: boolean;
  /** By its keyed hash. */
  readonly subject?: string;
}

/** NOT_FOUND; VALIDATION_ERROR where not exactly one thing is named, or fields that it does not have. */
async function findTargets(services: Services, caller: Caller, input: ErasureInput): Promise<Found> {
  const { eventId, evaluationId, decisionId, subject, fields } = input;
  const named = [eventId, evaluationId, decisionId, subject].filter((each) => each !== undefined);
  if (named.length !== 1) {
    throw refused('', 'expected one of eventId, evaluationId, decisionId and subject', `${named.length}`);
  }
  if (subject !== undefined) {
    if (fields !== undefined)
      throw refused('/fields', 'expected none with a subject: all about it goes', 'some');
    return aboutSubject(services, caller, subject);
  }
  const leaf = await leafNamed(services.store, caller.project.projectId, input);
  return { targets: targetsOf(leaf, fields), complete: true };
}

const refused = (pointer: string, expected: string, got: string): GovError =>
  fieldError({ pointer, in: 'body', code: 'NOT_ALLOWED', detail: `${expected}, got ${got}` });

async function leafNamed(
  store: Store,
  projectId: string,
  { eventId, evaluationId, decisionId }: ErasureInput,
): Promise<Leaf> {
  if (evaluationId !== undefined) {
    const leaf = await store.leafOf(projectId, 'gov.evaluation/1', evaluationId);
    if (leaf === null) throw notFound('evaluation');
    return leaf;
  }
  if (decisionId !== undefined) {
    const leaf = await store.leafOf(projectId, 'gov.decision/1', decisionId);
    if (leaf === null) throw notFound('risk decision');
    return leaf;
  }
  const index = eventIndex(eventId ?? '');
  const leaf = index === null ? null : await store.leaf(projectId, index);
  const event = leaf === null ? null : (JSON.parse(leaf.record) as { eventId?: string; runId?: string });
  if (leaf === null || event?.eventId !== eventId) throw notFound('event');
  if (event?.runId !== systemRun) return leaf;
  const expected = `expected an event of another run than ${systemRun}: keys, projects and policies follow from its events`;
  throw refused('/eventId', expected, event?.runId ?? '');
}

/** What is left of a leaf, or of it what these pointers name: fields, or members that hold several. */
function targetsOf({ index, disclosures }: Leaf, fields: readonly string[] | undefined): ErasureTarget[] {
  const left = (disclosureTexts(disclosures ?? '[]') ?? []).map((text) => ({
    // what the store serves is what was committed
    pointer: (readJson(text) as [string, string])[1],
    digest: digestOf(text),
  }));
  const wanted = fields?.map((field, at) => {
    const matching = left.filter(({ pointer }) => pointer === field || pointer.startsWith(`${field}/`));
    if (matching.length > 0) return matching;
    const holder = left.find(({ pointer }) => field.startsWith(`${pointer}/`))?.pointer;
    const expected =
      holder === undefined
        ? 'expected a field that is there and not erased yet'
        : `expected ${holder}, which was committed to as a whole`;
    throw refused(`/fields/${at}`, expected, JSON.stringify(field.slice(0, limits.echoChars)));
  });
  const digests = [...new Set((wanted?.flat() ?? left).map(({ digest }) => digest))];
  return digests.length === 0 ? [] : [{ index, digests }];
}

const pageLeaves = 100;

/** As much as one erasure takes. CONFLICT where the project names no subjects, since nothing could be found. */
async function aboutSubject(
  services: Services,
  { project, rules }: Caller,
  value: NonNullable<ErasureInput['subject']>,
): Promise<Found> {
  if (rules.settings.subjectPointers.length === 0) {
    const detail =
      'expected a project with subjectPointers, got none, so nothing was recorded by subject; ' +
      'set them, and erase older events by their ids';
    throw new GovError('CONFLICT', detail);
  }
  const subject = subjectHasher(project, services)(value);
  const slice = services.slices.of(project.projectId);
  const targets: ErasureTarget[] = [];
  let digests = 0;
  let after = -1;
  for (;;) {
    await slice.next();
    const leaves = await services.store.leavesAbout(project.projectId, subject, { after, limit: pageLeaves });
    for (const leaf of leaves) {
      after = leaf.index;
      const [target] = targetsOf(leaf, undefined);
      if (target === undefined) continue;
      digests += target.digests.length;
      if (targets.length === limits.erasureTargets || digests > limits.erasureDigests) {
        return { targets, complete: false, subject };
      }
      targets.push(target);
    }
    if (leaves.length < pageLeaves) return { targets, complete: true, subject };
  }
}
