/**
 * The list of recorded evaluations (contract O5, O12). Decision, tool and time are answered by the search index; a run, or
 * nothing, by the index of decisions. Proven by `test/service/policies/evaluation-list.engines.test.ts`.
 */
import type { PolicyEvaluationRecord } from '../../contract/governance.ts';
import { limits } from '../../contract/limits.ts';
import { evaluationRecordBody, openEvaluation } from '../../core/decided/evaluation.ts';
import { openLeaf } from '../../core/decided/leaf.ts';
import type { EvaluationSearch } from '../../core/search/terms.ts';
import type { Leaf } from '../../store/port/store.ts';
import type { Handlers } from '../port/handler.ts';
import { pageLimit, sizedPage, timeRange } from '../call/pages.ts';
import type { Services } from '../port/services.ts';
import { searchPage } from '../search/page.ts';

export const evaluationList: Pick<Handlers, 'listPolicyEvaluations'> = {
  async listPolicyEvaluations({ query, caller }, services) {
    const { projectId } = caller.project;
    const { cursor, limit, startTime: _start, endTime: _end, ...asked } = query;
    const search: EvaluationSearch = { ...asked, ...timeRange(query) };
    const { runId, ...searched } = search;
    const request = {
      projectId,
      list: 'policyEvaluations',
      cursor,
      limit: pageLimit(limit, limits.pageDefault, limits.pageMax),
    };
    const { items, nextCursor } =
      Object.keys(searched).length === 0
        ? await ofRun(services, { ...request, runId })
        : await searchPage(services, {
            ...request,
            wanted: { kind: 'evaluation', search },
            open: async (leaf) => recordOf(leaf),
          });
    return { status: 200, body: { data: items, nextCursor } };
  },
};

interface OfRun {
  readonly projectId: string;
  readonly list: string;
  readonly cursor: string | undefined;
  readonly limit: number;
  /** Absent: of all runs. */
  readonly runId: string | undefined;
}

function ofRun(services: Services, { projectId, list, cursor, limit, runId }: OfRun) {
  const filters = runId === undefined ? {} : { runId };
  return sizedPage(services, {
    scope: { list, projectId, filters },
    cursor,
    limit,
    read: (page: { after?: number; limit: number }) =>
      services.store.leavesOf(
        projectId,
        { type: 'gov.evaluation/1', ...filters },
        { ...page, order: 'desc' },
      ),
    position: ({ index }) => index,
    item: (leaf) => ({
      item: recordOf(leaf),
      bytes: leaf.record.length + (leaf.disclosures?.length ?? 0),
    }),
  });
}

function recordOf(leaf: Leaf): PolicyEvaluationRecord {
  const record = evaluationRecordBody(leaf.index, openEvaluation(openLeaf(leaf)));
  return { ...record, evaluationId: record.id };
}
