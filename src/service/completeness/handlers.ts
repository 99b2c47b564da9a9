/**
 * `GET /log/answers`: how many events of a run or type the log has, or that it has none, as a file that is verified offline.
 * Proven by `test/service/completeness/ask.engines.test.ts`.
 */
import { limits } from '../../contract/limits.ts';
import { GovError } from '../../contract/problems.ts';
import { answerMediaType, answerText } from '../../core/proofs/answer.ts';
import { pathText } from '../../core/proofs/bundle.ts';
import { ceilTimestamp, formatTimestamp } from '../../core/time.ts';
import type { Handlers } from '../port/handler.ts';
import { untilStored } from '../call/overtaken.ts';
import { fieldError } from '../call/schema.ts';
import type { IndexQuestion, IndexAnswer } from '../call/work.ts';
import type { Services } from '../port/services.ts';
import { openOwn } from '../log/checkpoints.ts';
import { inclusionAt } from '../log/tree-proofs.ts';
import { missingLeaf } from '../log/contradiction.ts';

/** A type of the log's own records, such as `gov.policy/1`; any other is a type of events. */
const recordType = /^gov\.[a-z]+\/[0-9]+$/;

export const answers: Pick<Handlers, 'askLog'> = {
  async askLog({ query, caller }, services) {
    const { projectId } = caller.project;
    const { runId, type } = query;
    if ((runId === undefined) === (type === undefined)) {
      const detail = 'expected one of runId and type';
      throw fieldError({ pointer: '/runId', in: 'query', code: 'NOT_ALLOWED', detail });
    }
    const key =
      runId !== undefined ? ['run', runId] : [recordType.test(type ?? '') ? 'leaf' : 'type', type ?? ''];
    const ask = { key, sinceMs: msOf(query.since, 'since'), untilMs: msOf(query.until, 'until') };
    if (ask.untilMs !== null && ask.untilMs > services.now()) {
      const detail = 'expected a time that has passed';
      throw fieldError({ pointer: '/until', in: 'query', code: 'NOT_ALLOWED', detail });
    }
    const { text } = await answerFile(services, projectId, ask);
    return { status: 200, raw: Buffer.from(text) };
  },
};

/**
 * The file that answers a question, its count, and whether as many witnesses cosigned as the service waits for.
 * `waitSeconds`: how long to wait for them where the service does not say. UNAVAILABLE where the log has no index yet.
 */
export async function answerFile(
  services: Services,
  projectId: string,
  ask: IndexQuestion,
  waitSeconds = 0,
): Promise<{ readonly text: string; readonly count: number; readonly isCosigned: boolean }> {
  const { leafIndex, answer } = await answered(services, projectId, ask);
  const signed = await services.checkpoints.sign(projectId);
  await services.witnesses?.cosigned(projectId, signed, waitSeconds);
  const cosigned = await services.store.witnessedCheckpoint(projectId, 'audit', leafIndex + 1);
  const checkpoint = cosigned ?? signed.note;
  const { size } = openOwn(checkpoint);
  const leaf = await services.store.leaf(projectId, leafIndex);
  if (leaf === null) throw missingLeaf(leafIndex);
  const inclusion = pathText(await inclusionAt(services.store, projectId, { index: leafIndex, size }));
  const timeText = (ms: number | null): string | null => (ms === null ? null : formatTimestamp(ms));
  const text = answerText({
    mediaType: answerMediaType,
    question: { key: ask.key, since: timeText(ask.sinceMs), until: timeText(ask.untilMs) },
    checkpoint,
    index: { index: leafIndex, record: leaf.record, inclusion },
    ...answer,
  });
  return { text, count: countOf(answer), isCosigned: cosigned !== null };
}

function countOf({ entry, range }: NonNullable<IndexAnswer['answer']>): number {
  if (range !== undefined) return range.to - range.from;
  return entry.end !== null && 'value' in entry.end ? entry.end.value.n : 0;
}

/** The bound in whole milliseconds, as server times are. Rounding up is exact for `since` and for `until`. */
function msOf(text: string | undefined, name: string): number | null {
  if (text === undefined) return null;
  const ms = ceilTimestamp(text);
  if (ms === null)
    throw fieldError({
      pointer: `/${name}`,
      in: 'query',
      code: 'BAD_FORMAT',
      detail: 'expected a time (RFC 3339)',
    });
  return ms;
}

/** Other leaves may be stored in between; then the map is extended again. */
const answered = (
  { checkpoints, indexer }: Services,
  projectId: string,
  ask: IndexQuestion,
): Promise<{ leafIndex: number; answer: NonNullable<IndexAnswer['answer']> }> =>
  untilStored('the log', async () => {
    const { size, root } = (await checkpoints.sign(projectId)).checkpoint;
    const input = { projectId, mode: 'leaf', signed: { size, root }, treeSize: 0, lists: [], ask } as const;
    const indexed = await indexer.ask(input);
    if (indexed === null) {
      const detail =
        'the log has no index yet; gov log index build makes one, and so does a serving process in time';
      throw new GovError('UNAVAILABLE', detail, { retryAfterSeconds: limits.overloadRetrySeconds });
    }
    const { leafIndex, answer } = indexed;
    return leafIndex === null || answer === undefined ? null : { leafIndex, answer };
  });
