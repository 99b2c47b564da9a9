/**
 * Finds copies of erased values outside bodies; both engines build their statements from these parts.
 * Copies are in results of replays, which show actions and members of events, and in answers stored for
 * repeats.
 * Proven by `test/service/erasure/copies.test.ts`.
 */
import type { Copies } from '../port/rows.ts';

/** The first characters of requests that compare one of these runs; requests are canonical JSON. */
export const comparing = ({ runIds }: Copies): string[] =>
  runIds.map((runId) => `{"compareRunId":${JSON.stringify(runId)}`);

/** SQL: whether a request compares two runs. The request is kept as long as its result. */
export const comparesSql = `(type = 'replay' AND status = 'completed' AND substr(request, 1, 16) = '{"compareRunId":')`;

/** SQL: the id of the evaluation or decision in an answer. `at` finds a text in another. */
export const answeredId = (prefix: 'pev_' | 'rsk_', at: string): string =>
  `substr(body, ${at}(body, '"${prefix}') + 1, 30)`;
