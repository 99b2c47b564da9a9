/**
 * Endpoints as documents (contract N4), and their lanes. An endpoint is what its owner set. Its lane is the state of
 * its sending, which workers change, so that neither conflicts with the other. Secrets and addresses are sealed: the
 * path of an address often is a secret.
 * Proven by `test/service/webhooks/handlers.test.ts`.
 */
import { GovError } from '../../contract/problems.ts';
import type { WebhookEventKind } from '../../contract/webhook-events.ts';
import type { DisabledReason, WebhookEndpoint, WebhookSigning } from '../../contract/webhooks.ts';
import { formatTimestamp } from '../../core/time.ts';
import { newWebhookKeyPair, newWebhookSecret } from '../../core/webhooks/signature.ts';
import type { DocumentChange, StoredDocument } from '../../store/port/store.ts';
import { maskedTarget } from '../outbox/masked.ts';
import type { Services } from '../port/services.ts';
import type { Seal } from '../call/secrets.ts';
import { withoutProject } from './stored.ts';

export const endpointKind = 'webhook_endpoint';
export const laneKind = 'webhook_lane';

export interface EndpointData {
  /** Masked, as the interface shows it. Whole in documents of earlier versions, which have no sealed one. */
  readonly url: string;
  readonly sealedUrl?: string;
  readonly events: readonly ('*' | WebhookEventKind)[];
  readonly description: string;
  readonly updatedMs: number;
  /** Sealed: `whsec_…`, or `whsk_…` of `v1a`. */
  readonly secret: string;
  /** Of `v1a`: `whpk_…`. */
  readonly publicKey?: string;
  /** The sealed secret before, as long as messages carry its signature too. */
  readonly previous: (WebhookKeys & { readonly untilMs: number }) | null;
  readonly disabledReason: DisabledReason | null;
  /** The first leaf whose events it gets. */
  readonly fromIndex: number;
}

/** What signs, as it is stored. */
export type WebhookKeys = Pick<EndpointData, 'secret' | 'publicKey'>;

/** A `ready` lane has a quick receiver, a `slow` one does not; workers of one never wait for the other. */
export type LaneClass = 'ready' | 'slow';

export interface LaneData {
  /** The class after the worker is done: a claimed lane has the status `busy`. */
  readonly class: LaneClass;
  /** Failed attempts since the last success. */
  readonly failures: number;
  readonly failingSinceMs: number | null;
  /** No attempt before this time. */
  readonly heldUntilMs: number;
  /** Counts the calls while a worker had the lane. */
  readonly calls: number;
}

// only this room writes these documents
export const endpointData = ({ data }: Pick<StoredDocument, 'data'>): EndpointData =>
  JSON.parse(data) as EndpointData;
export const laneData = ({ data }: StoredDocument): LaneData => JSON.parse(data) as LaneData;

const quiet: LaneData = { class: 'ready', failures: 0, failingSinceMs: null, heldUntilMs: 0, calls: 0 };

/** The documents of a new endpoint. */
export const newEndpoint = (
  endpointId: string,
  { data, enabled, nowMs, most }: { data: EndpointData; enabled: boolean; nowMs: number; most: number },
): DocumentChange[] => [
  {
    save: {
      ...blank,
      kind: endpointKind,
      documentId: endpointId,
      ...stateOf(enabled),
      createdMs: nowMs,
      data: JSON.stringify(data),
    },
    most,
  },
  {
    save: {
      ...blank,
      kind: laneKind,
      documentId: endpointId,
      status: 'ready',
      createdMs: nowMs,
      data: JSON.stringify(quiet),
    },
  },
];

const blank = { key: null, parentId: null, dueMs: null, version: 0 } as const;
const stateOf = (enabled: boolean) => ({ status: enabled ? 'enabled' : 'disabled' });

/** The change of a stored endpoint. */
export const changedEndpoint = (
  stored: StoredDocument,
  data: EndpointData,
  enabled: boolean,
): DocumentChange => ({
  save: { ...withoutProject(stored), ...stateOf(enabled), data: JSON.stringify(data) },
});

export const isEnabled = ({ status }: Pick<StoredDocument, 'status'>): boolean => status === 'enabled';

/**
 * The change that calls a worker: the lane is due now, or when it may send again. A lane that a worker has stays with
 * it, and the new version tells the worker to look again.
 */
export function calledLane(lane: StoredDocument, nowMs: number): DocumentChange {
  const data = laneData(lane);
  const stored = withoutProject(lane);
  const isBusy = lane.status === 'busy' && (lane.dueMs ?? 0) > nowMs;
  if (isBusy) return { save: { ...stored, data: JSON.stringify({ ...data, calls: data.calls + 1 }) } };
  const dueMs = Math.max(nowMs, data.heldUntilMs);
  return { save: { ...stored, status: data.class, dueMs: Math.min(dueMs, lane.dueMs ?? dueMs) } };
}

/** The same, and past failures do not count. */
export function restedLane(stored: StoredDocument, nowMs: number): DocumentChange {
  const data: LaneData = { ...quiet, calls: laneData(stored).calls };
  return calledLane({ ...stored, data: JSON.stringify(data) }, nowMs);
}

/** The secrets that sign a message now. STORAGE_FAULT where another installation sealed them. */
export function secretsOf({ secret, previous }: EndpointData, seal: Seal, nowMs: number): string[] {
  const sealed = previous !== null && previous.untilMs > nowMs ? [secret, previous.secret] : [secret];
  return sealed.map((each) => opened(each, seal, 'a secret'));
}

/** New keys as they are stored, and the secret that the owner gets once; null with `v1a`. */
export function newKeys(
  signing: WebhookSigning,
  { randomBytes, seal }: Pick<Services, 'randomBytes' | 'seal'>,
): { readonly keys: WebhookKeys; readonly shown: string | null } {
  if (signing === 'v1') {
    const secret = newWebhookSecret(randomBytes);
    return { keys: { secret: seal.seal(secret) }, shown: secret };
  }
  const { secret, publicKey } = newWebhookKeyPair(randomBytes);
  return { keys: { secret: seal.seal(secret), publicKey }, shown: null };
}

export const signingOf = ({ publicKey }: Pick<EndpointData, 'publicKey'>): WebhookSigning =>
  publicKey === undefined ? 'v1' : 'v1a';

/** The keys that verify messages now, the current one first. */
function publicKeysOf({ publicKey, previous }: EndpointData, nowMs: number): WebhookEndpoint['publicKeys'] {
  const old = previous !== null && previous.untilMs > nowMs ? previous : null;
  return [
    ...(publicKey === undefined ? [] : [{ publicKey, until: null }]),
    ...(old?.publicKey === undefined
      ? []
      : [{ publicKey: old.publicKey, until: formatTimestamp(old.untilMs) }]),
  ];
}

/** An address as it is stored. */
export const sealedUrl = (url: string, seal: Seal): Required<Pick<EndpointData, 'url' | 'sealedUrl'>> => ({
  url: maskedTarget('webhook', url),
  sealedUrl: seal.seal(url),
});

/** The whole address. STORAGE_FAULT where another installation sealed it. */
export const urlOf = (data: Pick<EndpointData, 'url' | 'sealedUrl'>, seal: Seal): string =>
  data.sealedUrl === undefined ? data.url : opened(data.sealedUrl, seal, 'the address');

function opened(sealed: string, seal: Seal, what: string): string {
  const text = seal.open(sealed);
  if (text !== null) return text;
  throw new GovError(
    'STORAGE_FAULT',
    `expected ${what} of a webhook that was sealed with the keys of this service`,
  );
}

export function endpointBody(
  stored: Pick<StoredDocument, 'documentId' | 'status' | 'createdMs' | 'data'>,
  lane: StoredDocument | null,
  nowMs: number,
): WebhookEndpoint {
  const data = endpointData(stored);
  const { url, events, description, updatedMs, disabledReason } = data;
  const failingSinceMs = lane === null ? null : laneData(lane).failingSinceMs;
  return {
    endpointId: stored.documentId,
    url: maskedTarget('webhook', url),
    events: [...events],
    enabled: isEnabled(stored),
    description,
    signing: signingOf(data),
    publicKeys: publicKeysOf(data, nowMs),
    createdAt: formatTimestamp(stored.createdMs),
    updatedAt: formatTimestamp(updatedMs),
    failingSince: failingSinceMs === null ? null : formatTimestamp(failingSinceMs),
    disabledReason,
  };
}
