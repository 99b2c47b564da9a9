/** What tests of projects, keys and quotas do with a hosted service: people beside keys, and what the log tells. */
import type { AppendRequest } from '../../../src/store/port/store.ts';
import type { CallOptions } from '../../support/serving.ts';
import type { Answer } from '../../support/answer.ts';
import type { TestService } from '../../support/hosted.ts';

export interface SystemEvent {
  readonly eventType: string;
  readonly action: string;
  readonly actor: { readonly id: string; readonly type: string };
  readonly resource: { readonly id: string; readonly type: string };
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly clientEventId: string | null;
}

type Caller = (method: string, path: string, options?: CallOptions) => Promise<Answer>;

/** Calls as somebody who signed in at the identity provider; below `/sandbox/api/v1` where `sandbox` is said. */
export function asPerson(service: TestService, name: string, sandbox = false): Caller {
  const base = `${service.origin}${sandbox ? '/sandbox' : ''}/api/v1`;
  const token = service.idToken(name);
  return async (method, path, options = {}) =>
    service.call(method, `${base}${path}`, { key: await token, ...options });
}

/** Events of the system run, oldest first, of one type where one is named. */
export async function told(
  call: Caller,
  eventType?: string,
  options: CallOptions = {},
): Promise<SystemEvent[]> {
  const type = eventType === undefined ? '' : `&eventType=${eventType}`;
  const { body, text } = await call('GET', `/events?runId=gov.system&limit=1000${type}`, options);
  if (body?.events === undefined) throw new Error(text);
  return body.events;
}

/** As above, about one thing. */
export async function toldOf(call: Caller, eventType: string, id: string): Promise<SystemEvent[]> {
  return (await told(call, eventType)).filter(({ resource }) => resource.id === id);
}

/** Asks until it holds: an event about an answer is recorded a moment after the answer. */
export async function until<Value>(
  ask: () => Promise<Value>,
  holds: (value: Value) => boolean,
): Promise<Value> {
  const deadline = performance.now() + 20_000;
  for (;;) {
    const value = await ask();
    if (holds(value)) return value;
    if (performance.now() > deadline) throw new Error(`still ${JSON.stringify(value)}`);
  }
}

/** Status and code of an answer, for tables. */
export const said = ({ status, body }: Answer): unknown[] => [status, body?.code ?? null];

/** Headers of a person's call on what belongs to a project. */
export const inProject = (projectId: string): { headers: Record<string, string> } => ({
  headers: { 'gov-project': projectId },
});

/** What is appended while `work` runs. */
export async function appendedBy(
  { services: { store } }: TestService,
  work: () => Promise<unknown>,
): Promise<AppendRequest[]> {
  const append = store.append.bind(store);
  const requests: AppendRequest[] = [];
  store.append = (request) => {
    requests.push(request);
    return append(request);
  };
  try {
    await work();
    return requests;
  } finally {
    store.append = append;
  }
}
