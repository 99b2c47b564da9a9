/**
 * Finds the targets of an erasure: values of an event or decision, or as much about a subject as fits into
 * one leaf. The last erasure of a subject destroys its key, where that key seals all remaining values. Proven
 * by `test/service/erasure/handlers.test.ts` and `test/service/erasure/subject-keys.test.ts`.
 */
import type { ErasureInput } from '../../contract/erasure.ts';
import { limits } from '../../contract/limits.ts';
import { GovError } from '../../contract/problems.ts';
import type { ErasureTarget } from '../../core/decided/erasure.ts';
import { digestOf, disclosureTexts } from '../../core/events/disclosure.ts';
import { unkeptOf } from '../../core/events/erased.ts';
import { eventIndex } from '../../core/id.ts';
import { readJson } from '../../core/json/parse.ts';
import { systemRun } from '../../core/events/record.ts';
import { recordDigests } from '../../core/events/run-entry.ts';
import type { Leaf, Store } from '../../store/port/store.ts';
import { notFound } from '../call/answer.ts';
import type { Caller } from '../call/caller.ts';
import { fieldError } from '../call/schema.ts';
import type { Services } from '../port/services.ts';
import { subjectHasher } from '../call/subjects.ts';

export interface ErasureTargets {
  readonly targets: readonly ErasureTarget[];
  /** Whether these are all remaining targets. */
  readonly complete: boolean;
  /** The keyed hash of the subject. */
  readonly subject?: string;
  /** Whether the subject has a key, and whether these are the last values that it seals. */
  readonly hasKey?: boolean;
  readonly destroysKey?: boolean;
}

/**
 * NOT_FOUND. VALIDATION_ERROR where the input names not exactly one thing, or fields that it does not have.
 */
export async function findTargets(
  services: Services,
  caller: Caller,
  input: ErasureInput,
): Promise<ErasureTargets> {
  const { eventId, evaluationId, decisionId, subject, fields } = input;
  const named = [eventId, evaluationId, decisionId, subject].filter((each) => each !== undefined);
  if (named.length !== 1) {
    throw refused('', 'expected one of eventId, evaluationId, decisionId and subject', `${named.length}`);
  }
  if (subject !== undefined) {
    if (fields !== undefined)
      throw refused('/fields', 'expected none with a subject: everything about it is erased', 'some');
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
  const expected = `expected an event of another run than ${systemRun}: keys, projects and policies depend on its events`;
  throw refused('/eventId', expected, event?.runId ?? '');
}

/**
 * The remaining fields of a leaf, or those that the pointers name: fields, or members that contain several.
 */
function targetsOf(leaf: Leaf, fields: readonly string[] | undefined): ErasureTarget[] {
  const { index, disclosures } = leaf;
  // where no key can open a body any more, the log records all of it as erased, whatever the request names
  if (leaf.isGone === true) return goneOf(leaf);
  const left = (disclosureTexts(disclosures ?? '[]') ?? []).map((text) => ({
    // the store returns the committed text
    pointer: (readJson(text) as [string, string])[1],
    digest: digestOf(text),
  }));
  const wanted = fields?.map((field, at) => {
    const matching = left.filter(({ pointer }) => pointer === field || pointer.startsWith(`${field}/`));
    if (matching.length > 0) return matching;
    const holder = left.find(({ pointer }) => field.startsWith(`${pointer}/`))?.pointer;
    const expected =
      holder === undefined
        ? 'expected a field that exists and is not erased yet'
        : `expected ${holder}, which has one commitment for the whole`;
    throw refused(`/fields/${at}`, expected, JSON.stringify(field.slice(0, limits.echoChars)));
  });
  const digests = [...new Set((wanted?.flat() ?? left).map(({ digest }) => digest))];
  return digests.length === 0 ? [] : [{ index, digests }];
}

function goneOf({ index, record, erased }: Leaf): ErasureTarget[] {
  const kept = { disclosures: '[]', erased: erased ?? null };
  const { missing } = unkeptOf(recordDigests(record) ?? [], kept);
  return missing.length === 0 ? [] : [{ index, digests: missing }];
}

const pageLeaves = 100;

/**
 * As many targets as fit into one erasure. CONFLICT where the project names no subjects, because none could
 * be found.
 */
async function aboutSubject(
  services: Services,
  { project, rules }: Caller,
  value: NonNullable<ErasureInput['subject']>,
): Promise<ErasureTargets> {
  if (rules.settings.subjectPointers.length === 0) {
    const detail =
      'expected a project with subjectPointers, got none, so nothing was recorded by subject; ' +
      'set them, and erase older events by their ids';
    throw new GovError('CONFLICT', detail);
  }
  const subject = subjectHasher(project, services)(value);
  const slice = services.slices.of(project.projectId);
  const hasKey = await services.store.hasSubjectKey(project.projectId, subject);
  const targets: ErasureTarget[] = [];
  const inClear: ErasureTarget[] = [];
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
        return { targets, complete: false, subject, hasKey };
      }
      targets.push(target);
      if (leaf.keys === undefined) inClear.push(target);
    }
    if (leaves.length < pageLeaves) break;
  }
  // erases unsealed values first, so that the log's statement about the key covers all values of the last
  // erasure
  if (inClear.length > 0 && inClear.length < targets.length)
    return { targets: inClear, complete: false, subject, hasKey };
  const destroysKey = inClear.length === 0 && (targets.length > 0 || hasKey);
  return { targets, complete: true, subject, hasKey, destroysKey };
}
