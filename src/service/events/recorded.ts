/**
 * What recording answers, in two forms that say the same: the answer itself, and the template that is kept for a
 * repeat while the events have no ids yet. Proven by `test/service/events/handlers.engines.test.ts`.
 */
import type { BatchResult } from '../../contract/events.ts';
import type { Assigned, ResponseTemplate } from '../../store/port/store.ts';
import type { PlainAnswer } from '../call/handler.ts';
import { rejection, type Judged } from './judge.ts';

export function createdAnswer(assigned: Assigned | undefined, runId: string, basePath: string) {
  const eventId = assigned === undefined || assigned.outcome === 'conflict' ? null : assigned.eventId;
  if (eventId === null) throw new Error('the store assigned no id to an event');
  const headers = { location: `${basePath}/events/${eventId}` };
  return { status: 201, body: { eventId, runId }, headers } as const satisfies PlainAnswer;
}

export function createdTemplate(runId: string, basePath: string): ResponseTemplate {
  const one = { pieces: [0], conflict: '' };
  return {
    status: 201,
    body: { ...one, event: ['{"eventId":"', `","runId":${JSON.stringify(runId)}}`] },
    headers: { location: { ...one, event: [`${basePath}/events/`, ''] } },
  };
}

export function batchAnswer(results: readonly Judged[], assigned: readonly Assigned[]) {
  let next = 0;
  const body = results.map((result): BatchResult => {
    if ('fault' in result) return rejected(rejection(result.fault));
    const place = assigned[next++];
    if (place === undefined) throw new Error('the store assigned fewer places than events');
    if (place.outcome === 'conflict') return conflict;
    return { eventId: place.eventId, status: 'accepted' };
  });
  return { status: 201, body: { results: body } } as const satisfies PlainAnswer;
}

export function batchTemplate(results: readonly Judged[]): ResponseTemplate {
  const pieces: (string | number)[] = ['{"results":['];
  let leaf = 0;
  results.forEach((result, at) => {
    if (at > 0) pieces.push(',');
    pieces.push('fault' in result ? JSON.stringify(rejected(rejection(result.fault))) : leaf++);
  });
  pieces.push(']}');
  const event = ['{"eventId":"', '","status":"accepted"}'] as const;
  return { status: 201, body: { pieces, event, conflict: JSON.stringify(conflict) }, headers: {} };
}

const rejected = (reason: string): BatchResult => ({ eventId: null, status: 'rejected', reason });

const conflict = rejected('client_event_id_conflict: the clientEventId was used with other content');
