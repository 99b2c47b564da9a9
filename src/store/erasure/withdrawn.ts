/**
 * Copies of erased values beside bodies: results of replays, which show actions and members of events, and answers
 * that are kept for repeats. Statements of both engines are made of these parts; proven by `test/service/erasure/copies.test.ts`.
 */
import type { Copies } from '../port/rows.ts';

/** How requests begin that compare a run with one of these: they are canonical. */
export const comparing = ({ runIds }: Copies): string[] =>
  runIds.map((runId) => `{"compareRunId":${JSON.stringify(runId)}`);

/** SQL: whether a request compares two runs; it is kept as long as its result. */
export const comparesSql = `(type = 'replay' AND status = 'completed' AND substr(request, 1, 16) = '{"compareRunId":')`;

/** SQL: the id of an evaluation or decision that an answer is about; `at` finds a text in another. */
export const answeredId = (prefix: 'pev_' | 'rsk_', at: string): string =>
  `substr(body, ${at}(body, '"${prefix}') + 1, 30)`;
