/**
 * Redaction before hashing (contract O11). A project names places in its events by JSON pointers (RFC 6901) into actor,
 * resource and metadata; what stands there is replaced, before anything is committed to, by
 *
 *   {"redacted": true, "fingerprint": "hmac-sha256:<64 hex digits>"}
 *
 * and the event says which places were replaced in its metadata, member `gov.redacted`, in order of the pointers. The
 * fingerprint is HMAC-SHA-256, under a key of the installation, over `gov.redaction/1 LF projectId LF JCS(value)`: equal
 * values of a project have equal ones, and without the key it confirms no guess. Whoever may record events can try
 * values all the same, so it hides nothing from them. Proven by `test/service/events/redaction.test.ts`.
 */
import type { EventInput } from '../../contract/events.ts';
import type { FieldError } from '../../contract/problems.ts';
import { canonicalize, type Json, type JsonObject } from '../../core/json/parse.ts';
import type { Caller } from '../call/handler.ts';
import type { Services } from '../dependencies.ts';

/** In the metadata of an event: the pointers at which something was replaced. */
export const redactedMember = 'gov.redacted';

/** What stands below a place: to be replaced whole, or looked into. */
type Places = 'replaced' | ReadonlyMap<string, Places>;

/** A redacted event, or why it cannot be one. */
export type Redacted = { readonly event: EventInput } | { readonly fault: FieldError };

/** Null where a project redacts nothing, which costs nothing. */
export type Redact = ((event: EventInput) => Redacted) | null;

/** How events of a project are redacted. */
export function redactionOf(
  { rules, project }: Caller,
  { fingerprint }: Pick<Services, 'fingerprint'>,
): Redact {
  const { redactionKeys } = rules.settings;
  if (redactionKeys.length === 0) return null;
  const places = placesOf(redactionKeys);
  const label = `gov.redaction/1\n${project.projectId}\n`;
  const stampOf = (value: Json): Json => ({
    redacted: true,
    fingerprint: `hmac-sha256:${fingerprint(label + canonicalize(value))}`,
  });
  return (event) => redact(event, places, stampOf);
}

/** Made once for the settings that it is of: rules are kept for some seconds, and batches are long. */
const made = new WeakMap<readonly string[], ReadonlyMap<string, Places>>();

function placesOf(pointers: readonly string[]): ReadonlyMap<string, Places> {
  const known = made.get(pointers);
  if (known !== undefined) return known;
  const root = new Map<string, Places>();
  for (const pointer of pointers) addPlace(root, pointer.slice(1).split('/').map(nameOf));
  made.set(pointers, root);
  return root;
}

/** RFC 6901 §4. */
const nameOf = (token: string): string => token.replaceAll('~1', '/').replaceAll('~0', '~');

/** What is replaced whole is not looked into, in whichever order the pointers stand. */
function addPlace(root: Map<string, Places>, path: readonly string[]): void {
  let places = root;
  for (const name of path.slice(0, -1)) {
    let next = places.get(name);
    if (next === 'replaced') return;
    if (next === undefined) places.set(name, (next = new Map<string, Places>()));
    places = next as Map<string, Places>;
  }
  places.set(path.at(-1) ?? '', 'replaced');
}

function redact(
  event: EventInput,
  places: ReadonlyMap<string, Places>,
  stampOf: (value: Json) => Json,
): Redacted {
  const { metadata } = event;
  if (metadata !== undefined && Object.hasOwn(metadata, redactedMember)) {
    const detail = `expected no member ${redactedMember}: the service sets it in projects that redact`;
    return { fault: { pointer: `/metadata/${redactedMember}`, in: 'body', code: 'NOT_ALLOWED', detail } };
  }
  const replaced: string[] = [];
  // an event that matches the schema came out of a body: it is JSON
  const whole = event as unknown as JsonObject;
  const result = replaceIn(whole, places, { at: '', stampOf, replaced }) as unknown as EventInput;
  if (replaced.length === 0) return { event };
  return { event: { ...result, metadata: withMember(result.metadata ?? {}, replaced.toSorted()) } };
}

interface Walk {
  readonly at: string;
  readonly stampOf: (value: Json) => Json;
  readonly replaced: string[];
}

/** A copy with what stands at these places replaced. Cost: the containers on the way to them. */
function replaceIn(value: Json, places: ReadonlyMap<string, Places>, walk: Walk): Json {
  if (typeof value !== 'object' || value === null) return value;
  const isList = Array.isArray(value);
  const copy = isList ? ([...value] as unknown as Record<string, Json>) : copyOf(value);
  for (const [name, below] of places) {
    if (!Object.hasOwn(copy, name) || (isList && !isIndex(name))) continue;
    const old = copy[name] as Json;
    const at = `${walk.at}/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`;
    if (below !== 'replaced') {
      copy[name] = replaceIn(old, below, { ...walk, at });
      continue;
    }
    copy[name] = walk.stampOf(old);
    walk.replaced.push(at);
  }
  return copy as Json;
}

/** RFC 6901 §4: without leading zeros. */
const isIndex = (token: string): boolean => /^(?:0|[1-9][0-9]*)$/.test(token);

/** A copy without a prototype, so that a member `__proto__` is a member like any other. */
const copyOf = (value: object): Record<string, Json> => Object.assign(Object.create(null), value);

function withMember(metadata: object, replaced: Json): Record<string, Json> {
  const copy = copyOf(metadata);
  copy[redactedMember] = replaced;
  return copy;
}
