/**
 * Redaction before hashing (contract O11). A project names places in its events by JSON pointers (RFC 6901)
 * into actor, resource and metadata. The service replaces the values there, before it computes commitments,
 * by
 *
 * {"redacted": true, "fingerprint": "hmac-sha256:<64 hex digits>"}
 *
 * The member `gov.redacted` of the event's metadata lists the replaced places in the order of the pointers.
 * The fingerprint is HMAC-SHA-256, under a key of the installation, over `gov.redaction/1 LF projectId LF
 * JCS(value)`. Equal values of a project have equal fingerprints; without the key, a fingerprint confirms no
 * guess. A caller that may record events can still test guesses by recording them. Proven by
 * `test/service/events/redaction.test.ts`.
 */
import type { EventInput } from '../../contract/events.ts';
import type { FieldError } from '../../contract/problems.ts';
import { canonicalize, type Json, type JsonObject } from '../../core/json/parse.ts';
import type { Caller } from '../call/caller.ts';
import type { Services } from '../port/services.ts';
import type { PolicyInput } from '../../core/policies/evaluate/compile.ts';
import { memberName, pointerToken } from '../../core/json/pointer.ts';

/** The member of an event's metadata that lists the pointers of replaced values. */
const redactedMember = 'gov.redacted';

/** Places below a container: replace the whole value, or look into it. */
type Places = 'replaced' | ReadonlyMap<string, Places>;

/** A redacted event, or the reason why it cannot be redacted. */
type RedactionResult = { readonly event: EventInput } | { readonly fault: FieldError };

/** Null where a project redacts nothing, which costs nothing. */
export type Redact = ((event: EventInput) => RedactionResult) | null;

/** The redaction of a project's events. */
export function redactionOf(caller: Caller, services: Pick<Services, 'fingerprint'>): Redact {
  const { redactionKeys } = caller.rules.settings;
  if (redactionKeys.length === 0) return null;
  const places = placesOf(redactionKeys);
  const stampOf = stamping(caller, services);
  return (event) => redact(event, places, stampOf);
}

/** Returns the function that makes the replacement of a redacted value. */
function stamping({ project }: Caller, { fingerprint }: Pick<Services, 'fingerprint'>) {
  const label = `gov.redaction/1\n${project.projectId}\n`;
  return (value: Json) => ({
    redacted: true,
    fingerprint: `hmac-sha256:${fingerprint(label + canonicalize(value))}`,
  });
}

/** An input without its redacted values, and the fingerprints of those by their place. */
interface MaskedInput {
  readonly shown: JsonObject;
  readonly masked: Readonly<Record<string, string>>;
}

/** Members of a canonical action whose texts come from the arguments of the call. */
const fromArguments = ['commands', 'paths', 'hosts', 'endpoints', 'code', 'money'];

/**
 * Places of a policy input that no recorded reason shows: those that the project redacts, as `masking` reads them, and, where the
 * input has a redacted argument, the members of its action that may repeat it.
 */
export function reasonMasks(
  { rules }: Pick<Caller, 'rules'>,
  input: PolicyInput,
): readonly (readonly string[])[] {
  const context: Json = { context: input.context ?? null };
  const masks = rules.settings.redactionKeys
    .map((pointer) => [
      'context',
      ...pointer
        .replace(/^\/metadata(?=\/)/, '')
        .slice(1)
        .split('/')
        .map(memberName),
    ])
    .filter((path) => isThere(context, path));
  const repeats = masks.some(([, member]) => member === 'arguments');
  return repeats ? [...masks, ...fromArguments.map((name) => ['context', 'action', name])] : masks;
}

const isThere = (value: Json, path: readonly string[]): boolean => {
  let at: Json | undefined = value;
  for (const name of path) {
    if (typeof at !== 'object' || at === null || !Object.hasOwn(at, name)) return false;
    at = Array.isArray(at) ? at[Number(name)] : at[name];
    if (at === undefined) return false;
  }
  return true;
};

/**
 * Replaces the redacted values in what the policies saw of a call, for readers. Metadata of a call's events repeats members
 * of this context, so `/metadata/arguments/card` also names `/arguments/card` here.
 */
export function masking(
  caller: Caller,
  services: Pick<Services, 'fingerprint'>,
): (context: JsonObject) => MaskedInput {
  const { redactionKeys } = caller.rules.settings;
  if (redactionKeys.length === 0) return (context) => ({ shown: context, masked: {} });
  const places = placesOf(redactionKeys.map((pointer) => pointer.replace(/^\/metadata(?=\/)/, '')));
  const stampOf = stamping(caller, services);
  return (context) => {
    const stamps: string[] = [];
    const replaced: string[] = [];
    const stamp = (value: Json): Json => {
      const made = stampOf(value);
      stamps.push(made.fingerprint);
      return made;
    };
    const shown = replaceIn(context, places, { at: '', stampOf: stamp, replaced }) as JsonObject;
    return { shown, masked: Object.fromEntries(replaced.map((at, each) => [at, stamps[each] ?? ''])) };
  };
}

/** Built once for each settings object: rules are cached for seconds, and batches are long. */
const made = new WeakMap<readonly string[], ReadonlyMap<string, Places>>();

function placesOf(pointers: readonly string[]): ReadonlyMap<string, Places> {
  const known = made.get(pointers);
  if (known !== undefined) return known;
  const root = new Map<string, Places>();
  for (const pointer of pointers) addPlace(root, pointer.slice(1).split('/').map(memberName));
  made.set(pointers, root);
  return root;
}

/** Adds a place. A place inside a replaced value has no effect, in whatever order the pointers come. */
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
): RedactionResult {
  const { metadata } = event;
  if (metadata !== undefined && Object.hasOwn(metadata, redactedMember)) {
    const detail = `expected no member ${redactedMember}: the service sets it in projects that redact`;
    return { fault: { pointer: `/metadata/${redactedMember}`, in: 'body', code: 'NOT_ALLOWED', detail } };
  }
  const replaced: string[] = [];
  // an event that matches the schema comes from a body, so it is JSON
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

/** A copy with the values at these places replaced. Cost: the containers on the way to them. */
function replaceIn(value: Json, places: ReadonlyMap<string, Places>, walk: Walk): Json {
  if (typeof value !== 'object' || value === null) return value;
  const isList = Array.isArray(value);
  const copy = isList ? ([...value] as unknown as Record<string, Json>) : copyOf(value);
  for (const [name, below] of places) {
    if (!Object.hasOwn(copy, name) || (isList && !isIndex(name))) continue;
    const old = copy[name] as Json;
    const at = `${walk.at}/${pointerToken(name)}`;
    if (below !== 'replaced') {
      copy[name] = replaceIn(old, below, { ...walk, at });
      continue;
    }
    copy[name] = walk.stampOf(old);
    walk.replaced.push(at);
  }
  return copy as Json;
}

/** Whether a token is an array index: no leading zeros (RFC 6901 §4). */
const isIndex = (token: string): boolean => /^(?:0|[1-9][0-9]*)$/.test(token);

/** A copy without a prototype, so that `__proto__` is an ordinary member. */
const copyOf = (value: object): Record<string, Json> => Object.assign(Object.create(null), value);

function withMember(metadata: object, replaced: Json): Record<string, Json> {
  const copy = copyOf(metadata);
  copy[redactedMember] = replaced;
  return copy;
}
