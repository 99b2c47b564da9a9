/**
 * The answers to recording, as templates: the store fills one with the event ids, and stores it for a repeat of the request.
 * The same template answers the request itself. Proven by `test/service/events/handlers.engines.test.ts`.
 */
import type { BatchResult } from '../../contract/events.ts';
import { answerOf, type LeafOutcome, type ResponseTemplate } from '../../store/port/store.ts';
import type { WrittenBody } from '../call/answer.ts';
import { rejection, type JudgedEvent } from './judge.ts';

/** The answer to the first of identical requests. Throws where an event has no id. */
export function recordedAnswer(template: ResponseTemplate, assigned: readonly LeafOutcome[]): WrittenBody {
  const { body, ...answer } = answerOf(template, assigned);
  return { ...answer, raw: body };
}

export function createdTemplate(runId: string, basePath: string): ResponseTemplate {
  const one = { pieces: [0], conflict: '' };
  return {
    status: 201,
    body: {
      ...one,
      event: {
        before: '{"eventId":"',
        beforeHash: `","runId":${JSON.stringify(runId)},"leafHash":"`,
        after: '"}',
      },
    },
    headers: { location: { ...one, event: { before: `${basePath}/events/`, after: '' } } },
  };
}

export function batchTemplate(results: readonly JudgedEvent[]): ResponseTemplate {
  const pieces: (string | number)[] = ['{"results":['];
  let leaf = 0;
  results.forEach((result, at) => {
    if (at > 0) pieces.push(',');
    pieces.push('fault' in result ? JSON.stringify(rejected(rejection(result.fault))) : leaf++);
  });
  pieces.push(']}');
  const event = { before: '{"eventId":"', beforeHash: '","leafHash":"', after: '","status":"accepted"}' };
  return { status: 201, body: { pieces, event, conflict: JSON.stringify(conflict) }, headers: {} };
}

const rejected = (reason: string): BatchResult => ({ eventId: null, status: 'rejected', reason });

const conflict = rejected('client_event_id_conflict: the clientEventId was used with other content');
